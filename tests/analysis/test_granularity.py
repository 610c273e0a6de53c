"""Texts answered by characters, and answers from before a sign of several parts was one token."""

import csv
import subprocess
import sys

import pytest
from django.core.management import call_command

from annotation.models import AnswerSpan, Channel
from annotation.steps import annotation_step
from annotation.steps.answering import store
from annotation.study import manifest
from tasks.formats import Record
from tasks.spans import GivenAnswer, Span
from tests import factories

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def seat_before(researcher, *records: Record, **card):
    task = factories.make_task(test=list(records), shots=[], **card)
    study = factories.make_study(researcher, task, shots=[0], annotators=1, seed=1)
    return factories.seat(study.scenarios.get())


def exported(seat, folder) -> None:
    call_command("export_study", seat.study.name, str(folder), verbosity=0)


def verify(folder) -> str:
    done = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip
    assert done.returncode == (0 if done.stdout.endswith("Everything agrees.\n") else 1)
    return done.stdout


def test_answers_by_characters_are_exported_and_recomputed(researcher, tmp_path):
    records = [
        Record("ja", ("東京都庁で小池百合子知事が会見した。",), "誰?", ("小池百合子",), None),
        Record("zh", ("昨天李明在上海遇见了王芳。",), "谁?", ("李明", "王芳"), None),
        Record("th", ("เมื่อวานสมชายไปเชียงใหม่กับมาลี",), "ใคร", ("สมชาย", "มาลี"), None),
    ]
    seat = seat_before(researcher, *records, granularity="char")
    factories.work_through(seat)
    assert AnswerSpan.objects.count() == 5
    exported(seat, tmp_path / "out")
    assert "Everything agrees." in verify(tmp_path / "out")
    with (tmp_path / "out" / "examples.csv").open(encoding="utf-8", newline="") as file:
        found = [(row["granularity"], row["reachable"]) for row in csv.DictReader(file)]
    assert found == [("char", "1.0")] * 3


@pytest.mark.parametrize(("tokeniser", "agrees"), [("t5-1", True), ("t5-2", False)])
def test_a_part_of_a_sign_agrees_where_the_study_opened_with_the_first_tokeniser(
    researcher, tmp_path, monkeypatch, tokeniser, agrees
):
    monkeypatch.setattr(manifest, "TOKENISER", tokeniser)
    record = Record("e", (f"So {FAMILY} there",), "Who?", ("there",), None)
    seat = seat_before(researcher, record)
    part = GivenAnswer((Span(0, 3, 4, FAMILY[0]),), "", False)
    turn = seat.latest_turn()
    store(turn, part, "set", seat.scenario.idle_cutoff, Channel.PAGE)
    annotation_step.go_on(seat, turn)
    exported(seat, tmp_path / "out")
    said = verify(tmp_path / "out")
    assert ("Everything agrees." in said) == agrees
    assert ("a boundary of a token" in said) != agrees
