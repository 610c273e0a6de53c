"""Results of a cross-task study: gains, manipulation check, export and verify.py."""

import csv
import io
import math

import pyarrow.parquet
import pytest
from django.urls import reverse

from analysis.cross_task import cross_task, upstream
from analysis.documents import results
from analysis.export import pages_seen, release
from analysis.export.files import write_export
from analysis.scores import performance
from analysis.stats import arg
from annotation.models import Kind, Participation
from annotation.privacy import withdrawal
from annotation.study import lifecycle
from tasks.metrics import METRICS
from tests import factories
from tests.analysis.export.tampering import Export
from tests.annotation.study.test_cross_task import arrive, make_cross_task

pytestmark = pytest.mark.long

WRONG = {"upstream": 1, "sham": 2, "direct": 3}  # errors on six test examples


@pytest.fixture
def study(researcher, db):
    return answered_study(researcher)


def answered_study(researcher, metrics=("S1", "S1"), hopeless=()):
    """Two people in each arm of each of two unseen tasks; more training leaves fewer mistakes.

    In the `hopeless` arm and task, every test answer is wrong.
    """
    study = make_cross_task(researcher, metrics=metrics)
    lifecycle.change_status(study, "open")
    for number in range(12):
        person = arrive(study, f"p{number}")
        wrong = WRONG[person.scenario.arm] + (person.seat_number == 2)
        if (person.scenario.arm, person.scenario.task.name) == hopeless:
            wrong = 6

        def answer(turn, wrong=wrong):
            right = turn.example.gold[0]
            # By their place in the file, because some metrics depend on which are wrong.
            is_wrong = (
                turn.example.position < wrong if turn.step == "annotation" else turn.position < 1
            )
            return [{"positive": "negative", "negative": "positive"}[right] if is_wrong else right]

        factories.work_through(person, answer)
    return study


def score(wrong: int) -> list[float]:
    return [1 - wrong / 6, 1 - (wrong + 1) / 6]


def test_gains_equal_the_relative_gains_of_the_arm_means(study):
    rows = {(row.new_arm, row.base_arm, row.task): row for row in cross_task.gains(study, "person")}
    expected = arg.average_relative_gain(
        [(task, score(2), score(1)) for task in ("unseen-a", "unseen-b")]
    )
    whole = rows["upstream", "sham", cross_task.ALL]
    assert whole.gain == pytest.approx(100 * expected.arg)
    assert (whole.low, whole.high) == pytest.approx([100 * end for end in expected.interval])
    assert whole.meaning == "transfer"
    assert rows["sham", "direct", cross_task.ALL].meaning == "practice"
    assert rows["upstream", "direct", "unseen-a"].method == "Fieller"
    assert len(rows) == 3 * 3
    assert cross_task.gains(study, "simulated") == []


def test_tables_by_task_and_shots_count_the_direct_arm_only(study):
    table = performance.performance(study, Kind.PERSON)
    assert [(cell.task, cell.n) for cell in table.cells.values()] == [
        ("unseen-a", 2),
        ("unseen-b", 2),
    ]
    assert "4 completed in the sham arm" in " ".join(table.not_counted)


def test_manipulation_check_follows_the_order_of_each_annotator(study):
    rows = {(row.arm, row.what): row for row in upstream.manipulation(study, "person")}
    assert rows["upstream", "task 1"].mean == pytest.approx(100 * 2 / 3)
    assert rows["upstream", "task 2"].mean == 100
    assert rows["sham", "sham"].answers == 4 * 6
    assert {what for arm, what in rows if arm == "upstream"} == {
        "task 1", "task 2", "up-one", "up-two",
    }  # fmt: skip
    curve = {(row.arm, row.number): row.mean for row in upstream.curve(study, "person")}
    assert curve["upstream", 1] == 50  # only the first example of the first task is wrong
    assert curve["sham", 6] == 100


def test_published_models_of_the_paper_are_listed():
    gains = {(row.partition, row.method): row.gain for row in cross_task.published()}
    assert len(gains) == 16
    assert gains["train_non_nli_test_nli", "MAML"] == 12.30


def test_a_refused_base_leaves_no_mean_on_page_file_and_report(
    researcher, client, tmp_path, capsys
):
    study = answered_study(researcher, hopeless=("sham", "unseen-b"))
    rows = {(row.new_arm, row.base_arm, row.task): row for row in cross_task.gains(study, "person")}
    whole = rows["upstream", "sham", cross_task.ALL]
    assert math.isnan(whole.gain)
    assert whole.no_interval == "a task has no relative gain"
    assert whole.refused == "unseen-b: the base is at or below zero"
    assert math.isfinite(whole.difference)
    assert math.isfinite(rows["upstream", "sham", "unseen-a"].gain)
    # The other contrasts have a different base.
    assert math.isfinite(rows["upstream", "direct", cross_task.ALL].gain)
    assert {row.base_arm for row in cross_task.plan(study, "person")} == {"direct"}

    client.force_login(researcher)
    why = (
        "No relative gain: unseen-b: the base is at or below zero. No mean over tasks is computed:"
        " a mean over the remaining tasks would favour tasks whose base was high by chance."
    )
    page = client.get(reverse("cross_task", args=[study.name]), follow=True).content.decode()
    assert why in " ".join(page.split())
    file = client.get(reverse("cross_task_file", args=[study.name, "gains"])).content.decode()
    (row, *_others) = csv.DictReader(io.StringIO(file, newline=""))
    assert (row["task"], row["new_arm"], row["base_arm"]) == ("all tasks", "upstream", "sham")
    assert (row["gain"], row["low_95"], row["method"]) == ("", "", "")
    report = client.get(reverse("report_file", args=[study.name])).content.decode()
    assert why in " ".join(report.split())

    write_export(study, tmp_path / "export")
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    release.write_parquet(tmp_path / "export", "gains.csv")
    read = pyarrow.parquet.read_table(tmp_path / "export" / "parquet" / "gains.parquet")
    assert "unseen-b: the base is at or below zero" in read["refused"].to_pylist()


def test_the_page_and_its_files_show_the_same(study, researcher, client):
    client.force_login(researcher)
    page = client.get(reverse("cross_task", args=[study.name]), follow=True).content.decode()
    (whole, *_rest) = cross_task.gains(study, "person")
    assert f"Transfer: the upstream arm gains {whole.gain:+.1f} %" in page
    assert "+35.1 %" in page  # the paper's models, marked as published
    assert "ARG, as published" in page
    for table, number in (("gains", 9), ("manipulation", 6), ("curve", 9), ("plan", 12)):
        text = client.get(reverse("cross_task_file", args=[study.name, table])).content.decode()
        assert len(text.splitlines()) == number + 1, table
    assert client.get(reverse("study", args=[study.name])).status_code == 200
    assert client.get(reverse("cross_task_file", args=[study.name, "no"])).status_code == 404


def test_the_documents_state_the_arms_the_plan_and_the_gains(study, researcher, client):
    client.force_login(researcher)
    plan = client.get(reverse("preregistration_file", args=[study.name])).content.decode()
    assert "the upstream arm completes 3 examples of each of up-one, up-two with feedback" in plan
    assert (
        "Primary outcome: the average relative gain (ARG) of the upstream arm over the sham" in plan
    )
    report = client.get(reverse("report_file", args=[study.name])).content.decode()
    (whole, *_rest) = cross_task.gains(study, "person")
    assert "the sham arm completed 6 examples of sham" in report
    assert f"Transfer: the upstream arm gains {whole.gain:+.1f} %" in report
    assert "as published" not in report  # the study has no partition
    study.partition = "random"
    captions = [block.caption for block in results.arm_blocks(study) if block.kind == "grid"]
    assert "ARG of models, as published (Ye et al., 2021)" in captions


def test_a_pilot_plans_as_many_people_as_its_own_interval_says(study):
    rows = {(row.new_arm, row.base_arm, row.width): row for row in cross_task.plan(study, "person")}
    tasks = [arg.task_gain(task, score(2), score(1)) for task in ("unseen-a", "unseen-b")]
    planned = rows["upstream", "sham", 5.0]
    assert planned.people == arg.people_needed(0.05, tasks)
    assert planned.people_normal == arg.people_needed(0.05, tasks, t=False)
    assert planned.people_in_all == 4 * planned.people


def corpus_scores(study, task: str, arm: str, metric: str) -> list[float]:
    """Return each annotator's metric over all test answers in an arm, from texts and golds."""
    people = study.participations.filter(scenario__task__name=task, scenario__arm=arm)
    scores = []
    for person in people.order_by("pseudonym"):
        turns = person.turns.filter(step="annotation").order_by("example__position")
        pairs = list(turns.values_list("answer__label", "example__gold"))
        said = [[label] if metric == "S1" else label for label, _gold in pairs]
        scores.append(METRICS[metric].corpus(said, [gold for _label, gold in pairs]))
    return scores


def test_each_task_counts_in_the_arg_by_the_metric_of_its_card(researcher, tmp_path, capsys):
    metrics = {"unseen-a": "Classification-F1", "unseen-b": "S1"}
    study = answered_study(researcher, list(metrics.values()))
    rows = {(row.new_arm, row.base_arm, row.task): row for row in cross_task.gains(study, "person")}
    tasks = [
        (task, *(corpus_scores(study, task, arm, metric) for arm in ("sham", "upstream")))
        for task, metric in metrics.items()
    ]
    assert tasks[0][1] != pytest.approx(tasks[1][1])  # same mistakes, different metrics
    expected = arg.average_relative_gain(tasks)
    whole = rows["upstream", "sham", cross_task.ALL]
    assert whole.gain == pytest.approx(100 * expected.arg)
    assert (whole.low, whole.high) == pytest.approx([100 * end for end in expected.interval])
    assert whole.metric == "Classification-F1; S1"
    assert rows["upstream", "sham", "unseen-a"].metric == "Classification-F1"
    by_place = {(row.arm, row.what): row for row in upstream.manipulation(study, "person")}
    assert by_place["upstream", "task 1"].mean == pytest.approx(100 * 2 / 3)  # always S1

    write_export(study, tmp_path / "export")
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out


def test_the_pages_seen_show_what_each_arm_was_trained_on(study):
    pages = pages_seen.pages(study)
    names = {"up-one", "up-two", "sham", "unseen-a", "unseen-b"}
    assert set(pages) == {"consent", "consent-upstream", "consent-sham"} | {
        f"{name}-{what}" for name in names for what in ("instructions", "question", "reveal")
    }
    first = {"consent": "unseen-a", "consent-upstream": "up-one", "consent-sham": "sham"}
    for page, name in first.items():
        assert f"Description of {name}." in pages[page]
    for name in names:
        assert f"Instructions of {name}." in pages[f"{name}-instructions"]
        assert "data-verdict" in pages[f"{name}-reveal"]
        assert "data-verdict" not in pages[f"{name}-question"]
        assert f"{name} t" in pages[f"{name}-question"]  # a text of this task
    assert "4 of 10" in pages["up-two-question"]
    assert "10 examples" in pages["sham-instructions"]
    assert "4 examples" in pages["unseen-a-instructions"]  # in the direct arm


ALTERED = [
    ("upstream.csv", "answer", '["positive"]', "s1"),
    ("upstream.csv", "s1", "0.5", "s1"),
    ("upstream.csv", "arm", "sham", "example"),
    ("upstream.csv", "hash", "0" * 64, "hash"),
    ("upstream_pool.csv", "gold", '["negative"]', "hash"),
    ("upstream_pool.csv", "arm", "upstream", "examples of"),
    ("annotators.csv", "arm", "direct", "arm"),
    ("allocations.csv", "arm", "sham", "arm"),
]


def test_verify_recomputes_arms_and_upstream_answers(study, tmp_path, capsys):
    """The export is verified as written, then with one altered cell and new checksums at a time."""
    write_export(study, tmp_path / "export")
    export = Export(tmp_path / "export")
    assert export.verify() == 0
    for file, column, value, named in ALTERED:
        other = '["negative"]' if column == "answer" else None
        row = next(r for r in export[file] if r[column] != value and other in (None, r[column]))
        kept, row[column] = row[column], value
        export.write(file)
        assert export.verify() == 1, (file, column)
        told = capsys.readouterr().out
        failed = [line for line in told.splitlines() if line.startswith("         ")]
        assert any(named in line for line in failed), (file, column, told)
        row[column] = kept
        export.write(file)
    export.delete(next(row["annotator"] for row in export["upstream.csv"]))
    export.write()
    assert export.verify() == 1


def test_attrition_by_arm_is_beside_the_gains(study, researcher, client):
    """One of the two people in an arm withdraws, as page, CSV, API and report show."""
    left = Participation.objects.filter(scenario__arm="sham", scenario__task__name="unseen-a")
    withdrawal.withdraw(left.first().token)
    client.force_login(researcher)
    rows = {(row.new, row.base, row.task): row for row in cross_task.attritions(study, "person")}
    assert len(rows) == 3 * 2
    row = rows["upstream", "sham", "unseen-a"]
    assert (row.completed_from, row.began_from) == (1, 2)
    assert (row.completed_to, row.began_to) == (2, 2)
    # The bounds trim half of the other arm's two scores: the higher or the lower one.
    scores, other = [100 * s for s in score(1)], [100 * s for s in score(2)]
    assert row.lee_low == pytest.approx(min(scores) - other[1])
    assert row.lee_high == pytest.approx(max(scores) - other[1])
    page = client.get(reverse("cross_task", args=[study.name]), follow=True).content.decode()
    assert '<h2 id="attrition">Attrition by arm</h2>' in page
    assert "1 of 2 (50%)" in page
    file = client.get(reverse("cross_task_file", args=[study.name, "completions"]))
    (first, *_rest) = csv.DictReader(io.StringIO(file.content.decode(), newline=""))
    assert (first["new_arm"], first["base_arm"], first["completed_from"]) == (
        "upstream",
        "sham",
        "1",
    )
    (reply, *_rest) = client.get(f"/api/v1/studies/{study.name}/cross-task/completions/").json()[
        "rows"
    ]
    assert reply["share_from"] == 0.5
    captions = [block.caption for block in results.arm_blocks(study) if block.kind == "grid"]
    assert "Attrition by arm" in captions
