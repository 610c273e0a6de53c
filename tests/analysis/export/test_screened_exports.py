"""Exports of a study with a screening set, and the alterations that verify.py finds."""

import json

import pytest
from django.core.management import call_command

from analysis.documents import preregistration, report
from annotation.models import Kind, Study
from annotation.privacy import withdrawal
from tests import factories
from tests.analysis.export.tampering import Export, make_agree

pytestmark = pytest.mark.django_db

NOT_GOLD = "home"


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Some pass four screening examples, some fail, one withdraws and one is still answering."""
    task = factories.make_task(test_size=6, train={
        2: factories.place_records("train", 2), 8: factories.place_records("train", 8),
    })  # fmt: skip
    study = factories.make_study(
        module_researcher, task, shots=[0, 2], annotators=3, screening_examples=4,
        qualification="minimum", qualification_threshold=60, max_screen_outs_in_a_row=None,
    )  # fmt: skip
    zero, two = study.scenarios.order_by("shots")

    def wrong_in(step, number):
        answered = []

        def answer(turn):
            answered.append(turn.step)
            gold = list(dict.fromkeys(turn.example.gold))
            return [NOT_GOLD] if answered.count(step) <= number and turn.step == step else gold

        return answer

    for number in (0, 1, 3):  # errors on four examples: two people pass
        factories.work_through(factories.seat(zero), wrong_in("screening", number))
    factories.work_through(factories.seat(two))
    failed = factories.seat(two)
    factories.work_through(failed, wrong_in("training", 2), limit=2)
    factories.go_on(failed.token)
    withdrawal.withdraw(factories.seat(zero).token)
    factories.work_through(factories.seat(zero), limit=2)
    factories.work_through(factories.seat(zero, Kind.SIMULATED))
    return study.pk


@pytest.fixture
def study(stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def export(study, tmp_path):
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    return Export(tmp_path / "export")


@pytest.mark.long
def test_the_answers_are_exported_with_their_step_and_agree(export, study, capsys):
    assert export.verify() == 0, capsys.readouterr().out
    set_of = [row for row in export["examples.csv"] if row["file_kind"] == "screening"]
    (frozen,) = json.loads(study.manifest)["screening_hashes"].values()
    assert [row["hash"] for row in set_of] == frozen
    assert {row["file"] for row in set_of} == {"toy_train_8_1.jsonl"}
    answers = [row for row in export["answers.csv"] if row["step"] == "screening"]
    assert len(answers) == 3 * 4 + 3 + 4  # three people to the end, one at the third, one simulated
    assert {row["shots"] for row in answers} == {"0"}
    assert {row["hash"] for row in answers} == set(frozen)
    zero = [row for row in export["annotators.csv"] if row["shots"] == "0"]
    assert {row["stage"] for row in zero if row["status"] == "completed"} == {"qualified"}
    assert {row["stage"] for row in zero if row["status"] == "screened_out"} == {"trained"}
    assert {row["mean_s1"] for row in zero if row["status"] == "completed"} == {"1.0"}


def decision(export, outcome: str) -> dict[str, str]:
    arms = {row["annotator"]: row["shots"] for row in export["annotators.csv"]}
    return next(
        row
        for row in export["decisions.csv"]
        if row["about"] == "qualification"
        and row["outcome"] == outcome
        and arms[row["annotator"]] == "0"
    )


@pytest.mark.long
def test_a_screening_answer_that_is_left_out_is_found(export, monkeypatch, capsys):
    name = decision(export, "1")["annotator"]
    gone = [
        row
        for row in export["answers.csv"]
        if (row["annotator"], row["step"]) == (name, "screening")
    ][-1]
    export.keep("answers.csv", lambda row: row is not gone)
    export.keep(
        "spans.csv",
        lambda row: (
            (row["annotator"], row["step"], row["example"]) != (name, "screening", gone["example"])
        ),
    )
    make_agree(export, monkeypatch)
    assert export.verify() == 1
    assert "expected 'the status for 3 and 6 answers'" in capsys.readouterr().out


@pytest.mark.long
def test_another_screening_set_than_the_frozen_one_is_found(export, capsys):
    design = export.design()
    trained = next(row for row in export["examples.csv"] if row["file_kind"] == "train")
    design["screening_hashes"]["toy-places"][0] = trained["hash"]
    export.freeze(design)
    export.write()
    assert export.verify() == 1
    assert "examples of ('screening', 'toy-places'" in capsys.readouterr().out


@pytest.mark.long
def test_another_order_of_screening_answers_is_found(export, capsys):
    name = decision(export, "1")["annotator"]
    own = [
        row
        for row in export["answers.csv"]
        if (row["annotator"], row["step"]) == (name, "screening")
    ]
    own[0]["position"], own[1]["position"] = own[1]["position"], own[0]["position"]
    export["answers.csv"].sort(
        key=lambda row: (row["annotator"] == name, row["step"] != "screening")
    )
    export.write()
    assert export.verify() == 1
    assert f"order of {name}" in capsys.readouterr().out


def test_report_and_preregistration_say_that_a_set_was_used(study):
    for document, verb in (
        (report.for_study(study), "was"),
        (preregistration.for_study(study), "is"),
    ):
        text = json.dumps(document.sections, default=str)
        assert f"a screening set of 4 examples {verb} used in place of the training" in text
        assert "but not at 0 shots" not in text
