"""Strata from the file to the table by stratum; tasks without strata are unaffected."""

import csv
import io
import statistics
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.documents import paper_tables
from analysis.export.rows import examples_rows
from analysis.scores import means
from annotation.models import Kind
from tasks.data_report import lines
from tasks.exporting import files_of
from tasks.formats import content_hash
from tasks.models import Example, Split, Task
from tests import factories

GENRES = (
    "facetoface", "fiction", "government", "letters", "nineeleven", "oup", "slate", "telephone",
    "travel", "verbatim",
)  # fmt: skip


@pytest.fixture
def mnli(db, clues):
    call_command("import_clues", str(clues), "--task", "MNLI", verbosity=0)
    return Task.objects.get()


@pytest.mark.real_data
def test_the_genres_of_mnli_are_its_strata(mnli):
    tested = Example.objects.filter(split__kind=Split.Kind.TEST)
    by_genre = {genre: tested.filter(stratum=genre).count() for genre in GENRES}
    assert by_genre == dict.fromkeys(GENRES, 21)
    assert mnli.report["strata"]["mnli_test.jsonl"] == by_genre
    (told,) = (line for line in lines(mnli.report) if line.startswith("mnli_test"))
    assert "; 21 facetoface, 21 fiction" in told
    assert content_hash(mnli.card, files_of(mnli)) == mnli.content_hash


@pytest.mark.real_data
def test_the_table_by_stratum_is_that_computed_by_hand(mnli, ada, researcher):
    study = factories.make_study(researcher, mnli, shots=[0], annotators=2, splits=[1])
    easy = ({"fiction", "slate"}, {"fiction"})  # genres answered correctly; "neutral" elsewhere
    for correct in easy:
        person = factories.seat(study.scenarios.get())
        factories.work_through(
            person,
            lambda turn, correct=correct: (
                turn.example.gold if turn.example.stratum in correct else ["neutral"]
            ),
        )
    rows = {row.stratum: row for row in means.by_stratum(study, Kind.PERSON)}
    assert (len(rows), rows["slate"].n, rows["slate"].examples) == (10, 2, 21)
    third = 100 / 3  # a genre has seven examples of each label
    assert rows["slate"].mean == pytest.approx(statistics.mean([100, third]))
    assert rows["slate"].sd == pytest.approx(statistics.stdev([100, third]))
    others = [(100 + 8 * third) / 9] * 2  # fiction and eight genres, for both annotators
    contrasts = [100 - others[0], third - others[1]]
    assert rows["slate"].difference == pytest.approx(statistics.mean(contrasts))
    reach = 12.7062 * statistics.stdev(contrasts) / 2**0.5  # t with one degree of freedom
    low = rows["slate"].difference - reach
    assert rows["slate"].low == pytest.approx(low, rel=1e-4)
    assert rows["fiction"].no_interval == ""

    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert '<summary><h2 id="strata-person">S1 by stratum</h2></summary>' in page
    assert 'aria-label="S1 by stratum, by task and shots"' in page
    assert "telephone" in page
    file = ada.get(reverse("analysis_file", args=[study.name, "strata"]))
    read = {row["stratum"]: row for row in csv.DictReader(io.StringIO(file.content.decode()))}
    assert float(read["slate"]["mean"]) == pytest.approx(2 / 3)
    api = ada.get(f"/api/v1/studies/{study.name}/strata/").json()["rows"]
    assert [row["stratum"] for row in api] == sorted(GENRES)
    assert "telephone & 2 & 21" in paper_tables.latex(study, Kind.PERSON, "strata")
    exported = list(examples_rows(study))
    assert {row[-3] for row in exported if row[3] == "test"} == set(GENRES)


def test_tasks_without_strata_have_no_table_and_no_entry(ada, researcher, db):
    task = factories.make_task()
    study = factories.make_study(researcher, task)
    assert "strata" not in task.report
    assert "strata" not in paper_tables.titles(study)
    assert not list(means.by_stratum(study, Kind.PERSON))
    assert b"stratum" not in ada.get(reverse("human_performance", args=[study.name])).content
    files = files_of(task)
    assert content_hash(task.card, files) == task.content_hash
    grouped = [replace(record, stratum="fiction") for record in files[0].records]
    assert [r.content_hash for r in grouped] == [r.content_hash for r in files[0].records]
    changed = [replace(files[0], records=grouped), *files[1:]]
    assert content_hash(task.card, changed) != task.content_hash
