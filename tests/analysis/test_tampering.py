"""Who alters an export and makes everything else agree is found: inside, or by the signature.

The twelve kinds of tampering that passed once; then 500 changes of single cells, at random.
"""

import hashlib
import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.export import files, release, verify
from analysis.export.columns import COLUMNS
from annotation.models import Kind, Study
from annotation.recruitment import consent
from annotation.steps import (
    attention_checks,
    exclusion,
    exit_questionnaire,
    training_step,
    withdrawal,
)
from tests import factories
from tests.analysis.tampering import Export, is_signed, make_agree, make_key
from tests.exhaustive import one_in

ARRIVALS, DECLINE = 20, (5, 14)
CHANGES = 500
# Files with a row for each kind of annotators.
DERIVED = (
    "scenarios.csv", "human_performance.csv", "training.csv", "agreement.csv", "flow.csv",
    "intervals.csv", "contrasts.csv", "ceilings.csv", "items.csv", "sensitivity.csv",
    "model_differences.csv", "attrition.csv",
)  # fmt: skip


@pytest.fixture(scope="module")
def stored(module_researcher, tmp_path_factory):
    """Two tasks at 0, 2 and 4 shots; all arrive by the door: some decline, one withdraws."""
    places = factories.make_task(test_size=9, shots=[2, 4])
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, test_size=8)
    folder = tmp_path_factory.mktemp("checks")
    for task, answer in ((places, "home"), (labels, "positive")):
        lines = [
            {"id": f"c{n}", "context": f"Take home, {n}.", "question": "?", "answer": [answer]}
            for n in range(3)
        ]
        (folder / "checks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        attention_checks.import_checks(task, folder / "checks.jsonl")
    study = factories.make_study(
        module_researcher, places, labels, shots=[0, 2, 4], annotators=3, attention_checks=2,
        base_reward=3, exit_questionnaire=True,
    )  # fmt: skip
    rng = random.Random(5)
    for arrival in range(1, ARRIVALS + 1):
        seat = factories.join(study)
        consent.record(seat, agree=arrival not in DECLINE)
        if arrival in DECLINE:
            continue
        training_step.begin(seat.token)
        limit = 5 if arrival == ARRIVALS else 10_000
        factories.work_through(seat, lambda turn: _sometimes_right(turn, rng), limit)
        if arrival == 6:
            withdrawal.withdraw(seat.token)
        if arrival == 8:
            exit_questionnaire.answer(seat.token, {"seen_before": "yes", "ai_used": "no"})
        if arrival == 7:
            exclusion.decide(seat, False, "slow", module_researcher)
    for scenario in study.scenarios.filter(shots=2):
        factories.work_through(factories.seat(scenario, Kind.SIMULATED))
    factories.predict(module_researcher, "toy", places, 2, 1, lambda example: example.gold[:1])
    return study.pk


def _sometimes_right(turn, rng):
    gold = list(dict.fromkeys(turn.example.gold))
    if turn.example.split.task.card.labels:
        return gold if rng.random() < 0.7 else [{"positive": "negative"}.get(gold[0], "positive")]
    return gold if rng.random() < 0.6 else [*gold, "home"] if "home" not in gold else gold[:1]


@pytest.fixture(scope="module")
def exported(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "export"
    call_command("export_study", Study.objects.get(pk=stored).name, str(folder), verbosity=0)
    return folder


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def export(study, exported, tmp_path):
    return Export(Path(shutil.copytree(exported, tmp_path / "export")))


def analysed(export, kind="person"):
    """Who counts, from the best to the worst."""
    people = [
        row for row in export["annotators.csv"] if row["in_analysis"] == "1" and row["kind"] == kind
    ]
    return sorted(people, key=lambda row: -float(row["mean_s1"]))


def test_the_fixture_is_what_the_suite_needs(export, capsys):
    assert export.verify() == 0, capsys.readouterr().out
    statuses = [row["status"] for row in export["annotators.csv"]]
    assert {"completed", "withdrawn", "working"} <= set(statuses)
    assert sum(int(row["declined"]) for row in export["flow.csv"]) > 0
    assert analysed(export)[-1]["mean_s1"] < analysed(export)[0]["mean_s1"]
    assert {row["step"] for row in export["answers.csv"]} == {"training", "annotation", "check"}
    assert [row["outcome"] for row in export["decisions.csv"]] == ["0"]


# The twelve kinds ---------------------------------------------------------------------------------


@pytest.fixture
def found(export, monkeypatch, capsys):
    """Make all else agree with what was changed; the titles of the checks that still fail."""

    def failed() -> set[str]:
        make_agree(export, monkeypatch)
        capsys.readouterr()
        assert export.verify() == 1
        lines = capsys.readouterr().out.splitlines()
        return {line.split()[1].rstrip(":") for line in lines if line.startswith("FAILED")}

    return failed


def new_gold(export):
    """Another gold of a test example, wherever it stands."""
    example = next(
        row
        for row in export["examples.csv"]
        if row["file_kind"] == "test" and row["task"] == "toy-places" and row["gold"] != "[]"
    )
    content = [json.loads(example["segments"]), example["question"], ["home"]]
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    for name in ("answers.csv", "spans.csv", "predictions.csv"):
        for row in export[name]:
            if row["hash"] == example["hash"]:
                row["hash"] = digest
                if "gold" in row:
                    row["gold"] = '["home"]'
    example["hash"], example["gold"] = digest, '["home"]'


@pytest.mark.long
def test_another_gold_of_a_test_example(export, found):
    new_gold(export)
    assert found() == {"examples"}


@pytest.mark.long
def test_an_annotator_taken_out_of_the_analysis_without_a_decision(export, found):
    worst = analysed(export)[-1]
    for name in ("annotators.csv", "answers.csv"):
        for row in export[name]:
            if row["annotator"] == worst["annotator"]:
                row["in_analysis"] = "0"
    export.keep("metric_values.csv", lambda row: row["name"] != worst["annotator"])
    assert found() == {"decisions"}


@pytest.mark.long
def test_a_decision_about_somebody_who_stays_in_the_analysis(export, found):
    export["decisions.csv"].append(
        export["decisions.csv"][0] | {"annotator": analysed(export)[0]["annotator"]}
    )
    assert found() == {"decisions"}


@pytest.mark.long
def test_an_annotator_deleted_from_every_file(export, found):
    export.delete(analysed(export)[-1]["annotator"])
    assert "allocations" in found()


@pytest.mark.long
def test_an_annotator_deleted_with_the_allocation(export, found):
    """The arrivals after it are numbered anew: the draws of ties and the seats taken do not fit."""
    worst = analysed(export)[-1]
    export.delete(worst["annotator"])
    export.keep("allocations.csv", lambda row: row["arrival"] != worst["arrival"])
    for name in ("allocations.csv", "annotators.csv"):
        for row in export[name]:
            if row["arrival"] and int(row["arrival"]) > int(worst["arrival"]):
                row["arrival"] = str(int(row["arrival"]) - 1)
    assert "allocations" in found()


@pytest.mark.long
def test_the_last_allocations_deleted(export, found):
    del export["allocations.csv"][-5:]
    assert "allocations" in found()


@pytest.mark.long
def test_the_best_annotator_cloned_under_invented_names(export, found):
    best = analysed(export)[0]
    for number in range(3):
        name, last = f"A-CL{number + 2}NE", len(export["allocations.csv"])
        for file, columns in COLUMNS.items():
            if "annotator" in columns:
                own = [row for row in export[file] if row["annotator"] == best["annotator"]]
                export[file].extend(row | {"annotator": name} for row in own)
        export["annotators.csv"][-1]["arrival"] = str(last + 1)
        arrived = export["allocations.csv"][int(best["arrival"]) - 1]
        export["allocations.csv"].append(arrived | {"arrival": str(last + 1)})
    assert {"orders", "flow", "allocations"} <= found()


def trained(export):
    """Somebody who counts and saw four examples."""
    return next(row for row in analysed(export) if row["shots"] == "4")["annotator"]


@pytest.mark.parametrize("first", one_in(2, [0, 2]))
def test_the_training_step_deleted_or_cut_off(export, found, first):
    name = trained(export)
    gone = {
        row["example"]
        for row in export["answers.csv"]
        if row["annotator"] == name and row["step"] == "training" and int(row["position"]) >= first
    }
    for file in ("answers.csv", "spans.csv"):
        export.keep(
            file,
            lambda row: (
                (row["annotator"], row["step"]) != (name, "training") or row["example"] not in gone
            ),
        )
    assert "annotators" in found()


@pytest.mark.long
def test_file_order_in_place_of_the_seeded_shuffle(export, found):
    name = trained(export)
    places = {
        (row["task"], row["example"]): int(row["position"])
        for row in export["examples.csv"]
        if row["file_kind"] == "test"
    }
    own = [
        row
        for row in export["answers.csv"]
        if row["annotator"] == name and row["step"] == "annotation"
    ]
    slots = sorted(int(row["position"]) for row in own)
    by_file = sorted(own, key=lambda row: places[row["task"], row["example"]])
    for slot, row in zip(slots, by_file, strict=True):
        row["position"] = str(slot)
    export["answers.csv"].sort(
        key=lambda row: (row["annotator"], row["step"] != "training", int(row["position"]))
    )
    assert "orders" in found()


def test_a_published_figure_that_the_paper_does_not_print(export, found):
    export["human_performance.csv"][0]["published_mean"] = "99.9"
    export.write()
    assert export.verify() == 1


def test_a_second_column_of_the_same_name(export, capsys):
    path = export.folder / "human_performance.csv"
    lines = path.read_text().splitlines()
    place = list(COLUMNS["human_performance.csv"]).index("mean")
    cut = [line.split(",") for line in lines]
    for number, cells in enumerate(cut):
        cells.insert(place, "mean" if number == 0 else "99.9")
    path.write_text("\r\n".join(map(",".join, cut)) + "\r\n")
    files.write_sums(export.folder)
    assert export.verify() == 1
    assert "human_performance.csv, row 1, mean: found '2 times'" in capsys.readouterr().out


@pytest.mark.long
def test_a_model_compared_after_another_training_than_the_row_says(export, found):
    (row, *_rest) = export["model_differences.csv"]
    assert (row["training"], row["split_numbers"]) == ("same splits", "1")
    for said in ("none", "some of people's splits"):
        row["training"] = said
        assert found() == {"differences"}


@pytest.mark.parametrize(
    ("file", "check"),
    one_in(2, [("ceilings.csv", "ceilings"), ("items.csv", "items"),
               ("sensitivity.csv", "sensitivity"), ("model_differences.csv", "differences"),
               ("wages.csv", "wages")]),
)  # fmt: skip
def test_a_result_that_does_not_please_is_missed_where_its_row_was_deleted(
    export, found, file, check
):
    assert export[file]
    del export[file][0]
    assert check in found()


def test_sums_that_are_missing(export, capsys):
    (export.folder / "SHA256SUMS").unlink()
    assert export.verify() == 1
    assert "SHA256SUMS, row -, -: found 'missing'" in capsys.readouterr().out


def test_a_trace_of_somebody_who_withdrew(export, capsys):
    (withdrawn,) = [row for row in export["annotators.csv"] if row["status"] == "withdrawn"]
    name = withdrawn["annotator"]
    assert set(list(withdrawn.values())[list(withdrawn).index("stage") :]) == {""}
    for file, columns in COLUMNS.items():
        if "annotator" in columns and file != "annotators.csv":
            assert name not in {row["annotator"] for row in export[file]}, file
    for file in ("answers.csv", "decisions.csv", "pay.csv"):
        export[file].append(export[file][-1] | {"annotator": name})
        export.write()
        capsys.readouterr()
        assert export.verify() == 1
        assert f"{file}, row {len(export[file]) + 1}, annotator" in capsys.readouterr().out
        export[file].pop()


# What nothing inside can expose, the signature does.


def all_labels_right(export):
    for row in export["answers.csv"]:
        if row["task"] == "toy-labels" and row["answer"]:
            row["answer"] = row["gold"]


def no_active_seconds(export):
    for row in export["answers.csv"]:
        if row["active_seconds"]:
            row["active_seconds"] = "0.0"


def robots_relabelled(export):
    """As people who were worth nothing, as in a study of volunteers."""
    design = export.design()
    design["hourly_rate"] = design["pay"]["base_reward"] = design["pay"]["minimum_pay"] = "0.00"
    export["pay.csv"].clear()
    export["pay_totals.csv"].clear()
    export.freeze(design)
    for name in DERIVED:
        export.keep(name, lambda row: row["kind"] == "person")
    for row in export["flow.csv"]:
        row["seats"] = str(int(row["seats"]) + 1)
    for name in ("annotators.csv", "answers.csv", "allocations.csv"):
        for row in export[name]:
            row["kind"] = "person"
    export.keep("metrics.csv", lambda row: row["kind"] != "simulated")
    for row in export["metric_values.csv"]:
        row["kind"] = row["kind"].replace("simulated", "person")
    given = Counter()
    for row in export["allocations.csv"]:
        place = row["task"], row["shots"]
        if len(json.loads(row["candidates"])) == 1:  # a robot: it came on a seat of its own
            seats = [row["task"], int(row["shots"]), given[place], 4]
            row["candidates"] = json.dumps([seats], separators=(",", ":"))
        given[place] += 1


@pytest.mark.parametrize(
    "tamper", one_in(3, [all_labels_right, no_active_seconds, robots_relabelled])
)
def test_what_nothing_inside_can_expose(export, monkeypatch, tmp_path, tamper):
    key = make_key(tmp_path)
    sums = export.folder / "SHA256SUMS"
    release.sign(sums, key)
    assert is_signed(sums, key)
    tamper(export)
    make_agree(export, monkeypatch)
    assert export.verify() == 0
    assert not is_signed(sums, key)


# Cell by cell -------------------------------------------------------------------------------------


def other(value: str, rng: random.Random) -> str:
    """Another cell that looks like one of its kind."""
    if not value:
        return rng.choice(["1", "0.5", "x"])
    if value.isdigit():
        return str(int(value) + rng.choice([1, 2, 10]))
    try:
        return repr(float(value) * rng.choice([0.5, 1.01]) + 0.01)
    except ValueError:
        pass
    place = rng.randrange(len(value))
    return value[:place] + ("7" if value[place] != "7" else "6") + value[place + 1 :]


@pytest.mark.long
@pytest.mark.timeout(900)  # some hundred runs of verify.py
def test_500_changes_of_single_cells_are_found_or_their_columns_are_on_the_list(export, capsys):
    rng = random.Random(500)
    columns = [(name, column) for name in COLUMNS for column in COLUMNS[name] if export[name]]
    unnoticed = set()
    for number in range(CHANGES):
        # Each column in turn, in a row at random.
        name, column = columns[number % len(columns)]
        row = rng.choice(export[name])
        before = row[column]
        row[column] = other(before, rng)
        export.write(name)
        if export.verify() == 0:
            unnoticed.add((name, column))
        row[column] = before
        export.write(name)
        capsys.readouterr()
    told = {(name, column) for name, of in verify.NOT_RECOMPUTED.items() for column in of}
    assert unnoticed <= told
    assert export.verify() == 0
