"""An altered export is found by its content, or by an external hash or signature.

The README.md of an export says which changes need the published hash or key.
"""

import hashlib
import json
import random
import re
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.export import files, release
from analysis.export.columns import COLUMNS
from annotation.models import Kind, Study
from annotation.privacy import withdrawal
from annotation.protocol import attention_checks, exclusion, own_questions, training_step
from annotation.recruitment import consent
from tests import factories
from tests.analysis.export.tampering import SIGNER, Export, make_agree, make_key

ARRIVALS, DECLINE = 20, (5, 14)


@pytest.fixture(scope="module")
def stored(module_researcher, tmp_path_factory):
    """People work on two tasks at 0, 2 and 4 shots; some decline, and one withdraws."""
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
            own_questions.answer_exit(seat.token, {"seen_before": "yes", "ai_used": "no"})
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
    """Return the annotators in the analysis, from the best to the worst."""
    people = [
        row for row in export["annotators.csv"] if row["in_analysis"] == "1" and row["kind"] == kind
    ]
    return sorted(people, key=lambda row: -float(row["mean_s1"]))


def test_the_fixture_has_all_kinds_of_rows(export, capsys):
    assert export.verify() == 0, capsys.readouterr().out
    statuses = [row["status"] for row in export["annotators.csv"]]
    assert {"completed", "withdrawn", "working"} <= set(statuses)
    assert sum(int(row["declined"]) for row in export["flow.csv"]) > 0
    assert analysed(export)[-1]["mean_s1"] < analysed(export)[0]["mean_s1"]
    assert {row["step"] for row in export["answers.csv"]} == {"training", "annotation", "check"}
    assert [row["outcome"] for row in export["decisions.csv"]] == ["0"]


# Found by the content, though all sums were written again ----------------------------------------


def another_gold(export):
    """Replace the gold of a test example, and its hash, wherever they are written."""
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


def a_better_mean(export):
    export["human_performance.csv"][0]["mean"] = "0.999"


def a_narrower_interval(export):
    row = next(row for row in export["intervals.csv"] if row["low_95"])
    row["low_95"] = row["mean"]


def a_right_answer(export):
    row = next(row for row in export["answers.csv"] if row["s1"] == "0.0")
    row["answer"] = row["gold"]


def one_answer_twice(export):
    """Add a right answer in the same position as a wrong one, which it could replace."""
    row = next(row for row in export["answers.csv"] if row["s1"] == "0.0")
    export["answers.csv"].append(row | {"answer": row["gold"], "s1": "1.0"})


def one_example_at_two_places(export):
    row = export["answers.csv"][0]
    export["answers.csv"].append(row | {"position": "99"})


def a_span_elsewhere(export):
    export["spans.csv"][0]["start"] = str(int(export["spans.csv"][0]["start"]) + 1)


def out_without_a_decision(export):
    worst = analysed(export)[-1]
    for name in ("annotators.csv", "answers.csv"):
        for row in export[name]:
            if row["annotator"] == worst["annotator"]:
                row["in_analysis"] = "0"


def decided_and_still_in(export):
    best = analysed(export)[0]["annotator"]
    export["decisions.csv"].append(export["decisions.csv"][0] | {"annotator": best})


def deleted(export):
    export.delete(analysed(export)[-1]["annotator"])


def deleted_with_the_allocation(export):
    """Renumber later arrivals too; the draws of ties and the seats then don't match."""
    worst = analysed(export)[-1]
    export.delete(worst["annotator"])
    export.keep("allocations.csv", lambda row: row["arrival"] != worst["arrival"])
    for name in ("allocations.csv", "annotators.csv"):
        for row in export[name]:
            if row["arrival"] and int(row["arrival"]) > int(worst["arrival"]):
                row["arrival"] = str(int(row["arrival"]) - 1)


def the_best_cloned(export):
    best = analysed(export)[0]
    name, last = "A-CL2NE", len(export["allocations.csv"])
    for file, columns in COLUMNS.items():
        if "annotator" in columns:
            own = [row for row in export[file] if row["annotator"] == best["annotator"]]
            export[file].extend(row | {"annotator": name} for row in own)
    export["annotators.csv"][-1]["arrival"] = str(last + 1)
    arrived = export["allocations.csv"][int(best["arrival"]) - 1]
    export["allocations.csv"].append(arrived | {"arrival": str(last + 1)})


def without_training(export):
    name = next(row for row in analysed(export) if row["shots"] == "4")["annotator"]
    for file in ("answers.csv", "spans.csv"):
        export.keep(file, lambda row: (row["annotator"], row["step"]) != (name, "training"))


def in_another_order(export):
    name = next(row for row in analysed(export) if row["shots"] == "4")["annotator"]
    own = [row for row in export["answers.csv"] if row["annotator"] == name]
    first, second = [row for row in own if row["step"] == "annotation"][:2]
    first["position"], second["position"] = second["position"], first["position"]


def a_seat_that_was_not_free(export):
    row = export["allocations.csv"][-1]
    candidates = json.loads(row["candidates"])
    row["candidates"] = json.dumps([[*own[:2], own[3], *own[3:]] for own in candidates])


def more_pay(export):
    export["pay.csv"][0]["cents"] = "99999"


def a_program_as_a_person(export):
    export["answers.csv"][0]["channel"] = "api"


def a_trace_of_a_withdrawal(export):
    (withdrawn,) = [row for row in export["annotators.csv"] if row["status"] == "withdrawn"]
    export["pay.csv"].append(export["pay.csv"][-1] | {"annotator": withdrawn["annotator"]})


BY_CONTENT = {
    one_answer_twice: "answers", one_example_at_two_places: "orders",
    another_gold: "examples", a_better_mean: "human performance", a_right_answer: "answers",
    a_narrower_interval: "human performance", a_span_elsewhere: "spans",
    out_without_a_decision: "annotators", decided_and_still_in: "annotators",
    deleted: "allocations", deleted_with_the_allocation: "allocations",
    the_best_cloned: "orders", without_training: "annotators", in_another_order: "orders",
    a_seat_that_was_not_free: "allocations", more_pay: "pay", a_program_as_a_person: "answers",
    a_trace_of_a_withdrawal: "pay",
}  # fmt: skip


def failed(export, capsys, *arguments) -> set[str]:
    """Return the titles of the failed checks, up to the first colon or comma."""
    capsys.readouterr()
    status = export.verify(*arguments)
    lines = capsys.readouterr().out.splitlines()
    assert status == (lines[-1] == "Differences found.")
    return {re.split("[:,]", line[7:])[0] for line in lines if line.startswith("FAILED")}


@pytest.mark.long
@pytest.mark.parametrize("tamper", BY_CONTENT)
def test_content_checks_find_a_change_with_matching_sums(export, capsys, tamper):
    tamper(export)
    export.write()
    assert BY_CONTENT[tamper] in failed(export, capsys)


@pytest.mark.long
@pytest.mark.parametrize("tamper", BY_CONTENT)
def test_sums_reveal_a_change_that_was_not_resummed(export, capsys, tamper):
    sums = (export.folder / "SHA256SUMS").read_bytes()
    tamper(export)
    export.write()
    (export.folder / "SHA256SUMS").write_bytes(sums)
    assert "files" in failed(export, capsys)


@pytest.mark.long
@pytest.mark.parametrize("tamper", [another_gold, deleted, out_without_a_decision])
def test_consistent_false_numbers_do_not_hide_these_changes(export, capsys, monkeypatch, tamper):
    tamper(export)
    make_agree(export, monkeypatch)
    assert failed(export, capsys) & {"examples", "allocations", "annotators"}


# Found only by a hash or a signature from outside ------------------------------------------------


def all_labels_right(export):
    for row in export["answers.csv"]:
        if row["task"] == "toy-labels" and row["answer"]:
            row["answer"] = row["gold"]


def no_active_seconds(export):
    for row in export["answers.csv"]:
        if row["active_seconds"]:
            row["active_seconds"] = "0.0"


def invented_reason(export):
    export["decisions.csv"][0]["reason"] = "Admitted to have used a model"


def a_wider_margin(export):
    """Widen the margin in the design, and write the new hash into every row."""
    design = export.design()
    design["equivalence_margin"] = 25
    export.freeze(design)


ONLY_OUTSIDE = {all_labels_right, no_active_seconds, invented_reason, a_wider_margin}


@pytest.mark.long
@pytest.mark.parametrize("tamper", sorted(ONLY_OUTSIDE, key=lambda own: own.__name__))
def test_hash_and_signature_reveal_what_content_cannot(
    export, capsys, monkeypatch, tmp_path, tamper
):
    key = make_key(tmp_path)
    release.sign(export.folder / "SHA256SUMS", key)
    design, sums = hashes(export, capsys)
    outside = ["--design", design, "--sums", sums, "--signers", str(tmp_path / "allowed_signers")]
    assert export.verify(*outside) == 0
    end = capsys.readouterr().out.splitlines()[-1]
    assert end == (
        f"Consistent; anchored to design {design[:12]} and sums {sums[:12]} and the"
        f" signature of {SIGNER} on SHA256SUMS."
    )
    tamper(export)
    make_agree(export, monkeypatch)
    assert failed(export, capsys) == set()
    assert failed(export, capsys, "--sums", sums) == {"files"}
    assert failed(export, capsys, "--signers", outside[-1]) == {"files"}
    of_design = {"files"} if tamper is a_wider_margin else set()
    assert failed(export, capsys, "--design", design) == of_design


def hashes(export, capsys) -> tuple[str, str]:
    """Return the hashes of the design and of the checksums, as verify.py prints them."""
    assert export.verify() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Consistent; not anchored: no external hash was given."
    words = lines[-2].split()
    return words[2], words[4]


def test_a_signature_of_another_key_is_refused(export, capsys, tmp_path):
    (tmp_path / "other").mkdir()
    other = make_key(tmp_path / "other")
    make_key(tmp_path)
    release.sign(export.folder / "SHA256SUMS", other)
    signers = str(tmp_path / "allowed_signers")
    assert failed(export, capsys, "--signers", signers) == {"files"}


def test_a_duplicate_column_is_reported(export, capsys):
    path = export.folder / "human_performance.csv"
    cut = [line.split(",") for line in path.read_text().splitlines()]
    for number, cells in enumerate(cut):
        cells.insert(5, "mean" if number == 0 else "99.9")
    path.write_text("\r\n".join(map(",".join, cut)) + "\r\n")
    files.write_sums(export.folder)
    assert export.verify() == 1
    assert "human_performance.csv, row 1: two columns have the same name" in capsys.readouterr().out


def test_missing_sums_are_reported(export, capsys):
    (export.folder / "SHA256SUMS").unlink()
    assert "files" in failed(export, capsys)


# Cell by cell -------------------------------------------------------------------------------------

# What verify.py recomputes or compares, as listed in the README.md of an export.
CHECKED = {
    "examples.csv": "segments question gold hash",
    "answers.csv": "task shots split step position annotator kind status in_analysis example hash"
    " answer gold gold_rule s1",
    "spans.csv": "annotator example start end text",
    "annotators.csv": "task shots split annotator status in_analysis arrival mean_s1 sd_examples n"
    " training_s1 training_n",
    "human_performance.csv": "kind task shots mean sd_ddof1 sd_ddof0 n",
    "scenarios.csv": "kind task shots split mean sd_ddof1 sd_ddof0 n",
    "intervals.csv": "kind task shots n mean low_95 high_95",
    "allocations.csv": "arrival kind candidates task shots split",
    "decisions.csv": "annotator outcome",
    "flow.csv": "analysed declined",
    "pay.csv": "annotator cents earning currency",
    "pay_totals.csv": "earning currency entries cents",
    "predictions.csv": "example hash predicted s1",
}


@pytest.mark.long
@pytest.mark.parametrize("name", CHECKED)
def test_an_altered_cell_of_what_is_checked_is_found(export, capsys, name):
    """It alters the first, a middle and the last row with a value, and rewrites the checksums."""
    for column in CHECKED[name].split():
        rows = [row for row in export[name] if row[column] and row.get("n") != "0"]
        if name == "annotators.csv":  # no other file names those who withdrew
            rows = [row for row in rows if row["status"] == "completed"]
        for row in {id(row): row for row in (rows[0], rows[len(rows) // 2], rows[-1])}.values():
            before = row[column]
            row[column] = other(before)
            export.write(name)
            assert export.verify() == 1, (name, column, before)
            row[column] = before
    capsys.readouterr()
    export.write()
    assert export.verify() == 0


def other(value: str) -> str:
    """Return another value of the same kind."""
    try:
        return json.dumps(["Elsewhere"]) if value[0] == "[" else repr(float(value) * 1.01 + 0.01)
    except ValueError:
        return value + "x"


def test_every_row_names_the_frozen_design(export, capsys):
    export["wages.csv"][0]["manifest"] = "0" * 64
    export["flow.csv"][0]["manifest"] = "0" * 64
    export.write()
    assert "rows" in failed(export, capsys)
