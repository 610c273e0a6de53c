"""An export says when its study was opened and closed, and whether it is a rehearsal."""

import json
import subprocess
import sys

import pytest
from django.core.management import call_command

from annotation.models import Kind
from annotation.study import lifecycle
from tests import factories


def export(study, folder) -> dict:
    factories.work_through(factories.seat(study.scenarios.get()))
    call_command("export_study", study.name, str(folder), verbosity=0)
    return json.loads((folder / "versions.json").read_text())


def verified(folder) -> str:
    verify = [sys.executable, folder / "verify.py"]
    return subprocess.run(verify, capture_output=True, check=False).stdout.decode()


@pytest.fixture
def study(db, researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0], annotators=2)


@pytest.mark.long
def test_opening_and_closing_times_are_in_versions_json(study, tmp_path):
    lifecycle.change_status(study, "close", study.owner)
    written = export(study, tmp_path)
    closed = study.events.get(what="closed for good").at
    assert written["opened_at"] == f"{study.opened_at:%Y-%m-%dT%H:%M:%S.%f}Z"
    assert written["closed_at"] == f"{closed:%Y-%m-%dT%H:%M:%S.%f}Z"


@pytest.mark.long
def test_an_open_study_has_no_closing(study, tmp_path):
    assert export(study, tmp_path)["closed_at"] is None
    assert "Consistent" in verified(tmp_path)


@pytest.mark.long
def test_verify_marks_a_rehearsal_with_people(researcher, tmp_path):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=2, rehearsal=True
    )
    export(study, tmp_path)
    assert "REHEARSAL (manifest.json): not study data; human annotators: 1" in verified(tmp_path)


@pytest.mark.long
def test_verify_marks_no_study_or_simulated_rehearsal(study, researcher, tmp_path):
    export(study, tmp_path)
    assert "REHEARSAL" not in verified(tmp_path)
    rehearsal = factories.make_study(
        researcher, factories.make_task(name="toy-two"), shots=[0], annotators=2, rehearsal=True
    )
    factories.work_through(factories.seat(rehearsal.scenarios.get(), Kind.SIMULATED))
    call_command("export_study", rehearsal.name, str(tmp_path / "robots"), verbosity=0)
    assert "REHEARSAL" not in verified(tmp_path / "robots")
