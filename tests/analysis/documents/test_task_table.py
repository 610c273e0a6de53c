"""The table of tasks in the layout of Table 2 in CLUES, in the report and as LaTeX."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.documents import paper_tables
from analysis.scores import columns
from annotation.models import Kind
from tasks.models import Task
from tests import factories


@pytest.mark.real_data
def test_the_table_of_tasks_counts_the_files_of_the_study(ada, researcher, db, clues):
    call_command("import_clues", str(clues), verbosity=0)
    tasks = list(Task.objects.all())
    study = factories.make_study(
        researcher, *tasks, shots=[0, 10, 30], annotators=1, splits=[2], estimated_minutes=6000
    )
    read = columns.as_csv(paper_tables.TASKS.columns, paper_tables.task_rows(study)).splitlines()
    assert read == [
        "corpus,train,test,task,domain",
        'SST-2,"[10,30]",210,Sentence Classification,movie reviews',
        'MNLI,"[10,30]",210,Sentence Classification,miscellaneous',
        'CoNLL03,"[30,90]",600,Named Entity Recognition,news',
        'WikiANN,"[30,90]",600,Named Entity Recognition,Wikipedia',
        'SQuADv2,"[10,30]",200,Machine Reading Comprehension,Wikipedia',
        'ReCoRD,"[10,30]",200,Machine Reading Comprehension,news',
    ]
    text = paper_tables.latex(study, Kind.PERSON, "tasks")
    assert r"CoNLL03 & 30, 90 & 600 & Named Entity Recognition & news \\" in text
    report = ada.get(reverse("report_file", args=[study.name])).content.decode()
    assert "| CoNLL03 | 30, 90 | 600 | Named Entity Recognition | news |" in report


def test_a_card_states_its_domain_or_has_a_dash(researcher, db):
    task = factories.make_task(domain="town news")
    study = factories.make_study(researcher, task)
    (row,) = paper_tables.task_rows(study)
    assert paper_tables.TASKS.columns[-1].text(row) == "town news"
    without = factories.make_task(name="toy-moods")
    assert "domain" not in without.card.as_dict()  # so its hash is the one it has always had
    (row,) = paper_tables.task_rows(factories.make_study(researcher, without))
    assert paper_tables.TASKS.columns[-1].text(row) == "–"
