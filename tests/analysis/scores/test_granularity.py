"""Export of answers that are highlighted by character."""

import csv
import subprocess
import sys

import pytest
from django.core.management import call_command

from annotation.models import AnswerSpan
from tasks.formats import Record
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
    assert done.returncode == (0 if done.stdout.endswith("no external hash was given.\n") else 1)
    return done.stdout


@pytest.mark.long
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
    assert "Consistent" in verify(tmp_path / "out")
    with (tmp_path / "out" / "examples.csv").open(encoding="utf-8", newline="") as file:
        found = [(row["granularity"], row["reachable"]) for row in csv.DictReader(file)]
    assert found == [("char", "1.0")] * 3
