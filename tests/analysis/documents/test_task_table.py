"""The table of tasks in the layout of Table 2 in CLUES, in the report and as LaTeX."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.documents import paper_tables
from analysis.scores import columns
from annotation.models import Kind
from tasks.cards import load_card
from tasks.importing import CARDS
from tasks.models import Task
from tests import factories


@pytest.mark.real_data
def test_the_table_of_tasks_counts_the_files_of_the_study(ada, researcher, db, clues):
    for name in ("CoNLL03", "SST-2"):
        call_command("import_clues", str(clues), "--task", name, verbosity=0)
    tasks = list(Task.objects.all())
    study = factories.make_study(
        researcher, *tasks, shots=[0, 10, 30], annotators=1, splits=[2], estimated_minutes=600
    )
    read = columns.as_csv(paper_tables.TASKS.columns, paper_tables.task_rows(study)).splitlines()
    assert read == [
        "corpus,train,test,task,domain",
        'SST-2,"[10,30]",210,Sentence Classification,–',
        'CoNLL03,"[30,90]",600,Named Entity Recognition,–',
    ]
    text = paper_tables.latex(study, Kind.PERSON, "tasks")
    assert r"CoNLL03 & 30, 90 & 600 & Named Entity Recognition & -- \\" in text
    report = ada.get(reverse("report_file", args=[study.name])).content.decode()
    assert "| CoNLL03 | 30, 90 | 600 | Named Entity Recognition | – |" in report


def test_a_card_states_its_domain_and_others_keep_their_hash(researcher, db):
    task = factories.make_task(domain="town news")
    study = factories.make_study(researcher, task)
    (row,) = paper_tables.task_rows(study)
    assert paper_tables.TASKS.columns[-1].text(row) == "town news"
    assert "domain" not in load_card(CARDS / "mnli.toml").as_dict()
