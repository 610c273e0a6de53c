"""Models and people on equal terms: what a run states, equal training splits, covariance."""

import csv
import io
import math
import statistics
from datetime import date

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.models import differences, models_columns
from analysis.models import models as model_tables
from analysis.models.model_runs import Run
from analysis.scores import findings, metrics
from analysis.scores.columns import as_records
from annotation.models import Kind
from annotation.protocol import training_step
from annotation.recruitment import consent, seats
from annotation.recruitment.identities import worker_key
from tasks import jobs
from tasks.models import PredictionFile, Task
from tests import factories

STATED = {
    "numbering": "published", "seen_test": "maybe", "predicted_on": "2026-05-31",
    "revision": "v1.2-abc", "method": "FT", "tuning": "fixed",
}  # fmt: skip


def upload(client, task, **fields):
    file = SimpleUploadedFile(f"{task.name}_2_1.jsonl", factories.prediction_lines(task))
    return client.post(reverse("models"), {"name": "toy", "files": file, **fields})


@pytest.mark.long
def test_a_run_states_numbering_seen_test_date_and_revision(ada, researcher, db, tmp_path):
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    assert upload(ada, task, **STATED).status_code == 302
    file = PredictionFile.objects.get()
    assert (file.numbering, file.seen_test, file.revision) == ("published", "maybe", "v1.2-abc")
    assert file.predicted_on == date(2026, 5, 31)
    told = "may have seen the test set: not known"
    for page in (reverse("model", args=["toy"]), reverse("study_models", args=[study.name])):
        text = ada.get(page).content.decode()
        assert all(part in text for part in (told, "2026-05-31", "v1.2-abc", "as published")), page
    for address in ("models_file", "study_models_file"):
        args = [study.name, "scores"] if address == "study_models_file" else []
        text = ada.get(reverse(address, args=args)).content.decode()
        rows = [row for row in csv.DictReader(io.StringIO(text)) if row.get("source") != "study"]
        assert [{name: row[name] for name in STATED} for row in rows] == [STATED]
    (row,) = ada.get(reverse("api_models")).json()
    assert {name: row[name] for name in STATED} == STATED
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    text = (tmp_path / "out" / "model_scores.csv").read_text(encoding="utf-8")
    (row,) = csv.DictReader(io.StringIO(text))
    assert {name: row[name] for name in STATED} == STATED


def test_unstated_run_facts_are_listed_and_invalid_ones_refused(ada, db):
    task = factories.make_task()
    assert upload(ada, task).status_code == 302
    text = ada.get(reverse("model", args=["toy"])).content.decode()
    for part in ("test set: not stated", "date not stated", "revision not stated"):
        assert part in text
    unstated = (
        "not stated: method, choice of prompts and settings, exposure to the test set, numbers of"
        " splits, date, revision"
    )
    assert Run().text == unstated
    assert Run("published", "maybe", revision="a").text == (
        "may have seen the test set: not known; numbers of splits: as published; revision a;"
        " not stated: method, choice of prompts and settings, date"
    )
    for field, value in (("numbering", "mine"), ("seen_test", "?"), ("predicted_on", "soon")):
        assert upload(ada, task, **{field: value}).status_code == 422
    with pytest.raises(IntegrityError), transaction.atomic():
        PredictionFile.objects.update(seen_test="perhaps")


def test_the_command_states_the_run_too(researcher, db, tmp_path):
    task = factories.make_task()
    (tmp_path / f"{task.name}_2_1.jsonl").write_bytes(factories.prediction_lines(task))
    call_command(
        "import_predictions", "toy", str(tmp_path), "--numbering", "rechained", "--seen-test",
        "no", "--predicted-on", "2026-05-31", "--revision", "r1", verbosity=0,
    )  # fmt: skip
    file = PredictionFile.objects.get()
    run = " ".join(render_to_string("models/_run.html", {"file": file}).split())
    assert run == (
        "numbering renumbered so that they nest; may have seen the test set: no;"
        " predicted on 2026-05-31; revision r1; method not stated; prompts and settings chosen:"
        " not stated"
    )


@pytest.mark.long
def test_a_run_on_the_split_of_the_people_is_the_equal_pairing(researcher, db):
    task = factories.make_task(splits=3)
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=1, splits=[2])
    wrong = {1: 0, 2: 1, 3: 2}
    for number, errors in wrong.items():
        examples = list(task.test_split.examples.all())
        bad = {example.pk for example in examples[:errors]}
        factories.predict(
            researcher, "toy", task, 2, number,
            lambda example, bad=bad: ["bed"] if example.pk in bad else example.gold,
        )  # fmt: skip
    factories.predict(researcher, "toy", task, 0)
    factories.predict(researcher, "single", task, 2, 2)
    tables = {table.shots: table for table in model_tables.tables(study, Kind.PERSON)}
    rows = {row.name: row.scores[0] for row in tables[2].rows if row.source == "uploaded"}
    assert list(rows) == ["single", "toy", "toy, split 2 as people"]
    assert (rows["toy"].n, rows["toy"].of) == (3, 3)
    equal = rows["toy, split 2 as people"]
    assert (equal.mean, equal.n, equal.of) == (pytest.approx(75), 1, 1)
    assert [row.name for row in tables[0].rows if row.source == "uploaded"] == ["toy"]


def split_2_differs(researcher, task, **stated):
    """Import predictions that are always right on split 1 and always empty on split 2."""
    for number, predict in ((1, None), (2, lambda _example: [])):
        factories.predict(researcher, "toy", task, 2, number, predict)
    PredictionFile.objects.update(**stated)


@pytest.mark.long
@pytest.mark.engines
def test_differences_pair_people_with_runs_on_their_own_splits(researcher, db):
    task = factories.make_task(splits=3)
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=1, splits=[2])
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    split_2_differs(researcher, task)
    factories.predict(researcher, "toy", task, 0)
    factories.predict(researcher, "other", task, 2, 3)
    at_0, other, toy = differences.differences(study, Kind.PERSON)
    assert (toy.training, toy.split_numbers, toy.splits) == ("same splits", "2", 1)
    assert toy.model_mean == pytest.approx(50)
    assert sum(pair.model for pair in differences.pairs(study, Kind.PERSON, toy)) == 200
    assert (other.training, other.split_numbers) == ("other splits", "3")
    assert (at_0.training, at_0.split_numbers) == ("none", "")


def test_the_job_stores_the_same_rows_also_for_a_task_without_annotators(
    researcher, db, monkeypatch
):
    tasks = [factories.make_task(name=name) for name in ("first", "second")]
    study = factories.make_study(researcher, *tasks, shots=[0], annotators=2)
    for task in tasks:
        factories.predict(researcher, "toy", task, 0, predict=lambda example: ["bed"])
    for _ in range(2):
        scenario = study.scenarios.get(task__name="second")
        factories.work_through(factories.seat(scenario))

    def rows() -> list[list[dict]]:
        return [
            as_records(models_columns.DIFFERENCES, differences.differences(study, Kind.PERSON)),
            as_records(metrics.COLUMNS, differences.metric_rows(study, Kind.PERSON)),
        ]

    at_once = rows()
    assert list(map(len, at_once)) == [1, 3]
    monkeypatch.setattr(findings, "SMALL", 0)
    job = differences.job_of(study, Kind.PERSON, owner=researcher)
    while jobs.run_chunk(job):
        pass
    job.refresh_from_db()
    assert job.is_done
    findings.caches["process"].clear()
    monkeypatch.setattr(metrics, "own_scores", None)  # any call fails
    monkeypatch.setattr(findings.frames, "answers_in_order", None)
    assert rows() == at_once


@pytest.mark.long
@pytest.mark.parametrize(
    ("renumbered", "numbering", "is_equal"),
    [(False, "", True), (False, "rechained", False), (True, "rechained", True),
     (True, "published", False), (True, "", False)],
)  # fmt: skip
def test_a_number_of_another_split_is_not_an_equal_pairing(
    researcher, db, renumbered, numbering, is_equal
):
    """After --rechain, the people's split can have a different number from its file."""
    task = factories.make_task(splits=2)
    if renumbered:
        Task.objects.filter(pk=task.pk).update(rechained=True)
        task.splits.filter(shots=2, number=2).update(filename="toy_train_2_1.jsonl")
    study = factories.make_study(researcher, task, shots=[2], annotators=1, splits=[2])
    factories.work_through(factories.seat(study.scenarios.get()))
    split_2_differs(researcher, task, numbering=numbering)
    (row,) = differences.differences(study, Kind.PERSON)
    expected = ("same splits", "2") if is_equal else ("other splits", "1; 2")
    assert (row.training, row.split_numbers) == expected
    (table,) = [t for t in model_tables.tables(study, Kind.PERSON) if t.shots == 2]
    assert any("as people" in row.name for row in table.rows) == is_equal


def test_a_number_shared_by_both_numberings_means_the_same_split(researcher, db):
    task = factories.make_task(splits=2)
    Task.objects.filter(pk=task.pk).update(rechained=True)
    study = factories.make_study(researcher, task, shots=[2], annotators=1, splits=[2])
    factories.work_through(factories.seat(study.scenarios.get()))
    split_2_differs(researcher, task, numbering="published")
    (row,) = differences.differences(study, Kind.PERSON)
    assert row.training == "same splits"


def test_people_on_several_splits_have_a_spread_over_splits(researcher, db):
    task = factories.make_task(splits=2)
    study = factories.make_study(researcher, task, shots=[2], annotators=1, splits=[1, 2])
    for scenario in study.scenarios.order_by("split_number"):
        wrong = scenario.split_number - 1
        factories.work_through(
            factories.seat(scenario),
            lambda turn, wrong=wrong: (
                ["bed"]
                if wrong and turn.step == "annotation" and not turn.example.gold
                else list(turn.example.gold)
            ),
        )
    (table,) = [t for t in model_tables.tables(study, Kind.PERSON) if t.shots == 2]
    people, over_splits = table.rows
    assert (people.unit, people.scores[0].n, people.scores[0].of) == ("annotators", 2, 2)
    assert (over_splits.unit, over_splits.scores[0].n) == ("splits", 2)
    assert over_splits.scores[0].sd_ddof1 == pytest.approx(statistics.stdev([100, 50]))


@pytest.mark.long
@pytest.mark.engines
def test_aggregate_sd_includes_the_covariance_between_tasks(researcher, db):
    """If everyone does both tasks, it equals the SD of each person's sum over the tasks."""
    tasks = [factories.make_task(name=name, test_size=6) for name in ("one", "two")]
    study = factories.make_study(
        researcher, *tasks, shots=[0], annotators=3, tasks_per_worker=2, exit_questionnaire=False
    )
    for number in range(3):
        key = worker_key("link", f"w-{number}")
        for _task in tasks:
            person = seats.join(study.pk, key, "link", Kind.PERSON)
            consent.record(person, agree=True)
            training_step.begin(person.token)
            factories.work_through(
                person,
                lambda turn, number=number: (
                    ["home"] if turn.position < 2 * number else list(turn.example.gold)
                ),
            )
    sums, spreads = {}, {}
    for row in study.participations.select_related("scenario__task"):
        mean = 100 * statistics.fmean(turn.answer.s1 for turn in row.turns.all())
        sums[row.worker_id] = sums.get(row.worker_id, 0) + mean
        spreads.setdefault(row.scenario.task.name, []).append(mean)
    (table,) = [t for t in model_tables.tables(study, Kind.PERSON) if t.shots == 0]
    average = table.rows[0].aggregate
    assert len(sums) == 3
    assert average.sd_of_sum == pytest.approx(statistics.stdev(sums.values()))
    assert average.sd_of_average == pytest.approx(statistics.stdev(sums.values()) / 2)
    independent = math.hypot(*(np.std(values, ddof=1) for values in spreads.values()))
    assert average.sd_of_sum > 1.2 * independent
    assert "is the covariance between tasks" in table.rows[0].aggregate_explanation


def test_differences_read_the_answers_of_compared_cells_only(ada, researcher):
    task, other = factories.make_task(), factories.make_task(name="toy-other")
    study = factories.make_study(researcher, task, other, shots=[2], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    with CaptureQueriesContext(connection) as queries:
        assert differences.differences(study, "person") == []
    read = " ".join(query["sql"] for query in queries)
    assert "annotation_answer" not in read
    assert '"context"' not in read
    assert upload(ada, task).status_code == 302
    with CaptureQueriesContext(connection) as queries:
        (row,) = differences.differences(study, "person")
    assert len([query for query in queries if '"context"' in query["sql"]]) == 1
    assert (row.task, row.shots, row.annotators) == (task.name, 2, 1)
