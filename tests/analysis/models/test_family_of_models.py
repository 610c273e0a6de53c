"""Which models people are compared with: those of the study's team, frozen when it is closed."""

import csv
import io

import pytest
from django.db.models import ProtectedError
from django.urls import reverse

from analysis.models import differences
from annotation.models import ComparedFile, Kind, Role
from annotation.study import lifecycle, team
from tasks.models import PredictionFile
from tests import factories
from tests.annotation.protocol.test_model_annotators import exported


@pytest.fixture
def study(researcher):
    """Three people with one, two and three mistakes, and one model of the owner."""
    task = factories.make_task(shots=[2], test_size=6)
    study = factories.make_study(researcher, task, shots=[2], annotators=3)
    for fault in range(3):
        factories.work_through(
            factories.seat(study.scenarios.get()),
            lambda turn, fault=fault: (
                factories.wrong_texts(turn.example)
                if turn.step == "annotation" and turn.position <= fault
                else factories.right_texts(turn.example)
            ),
        )
    factories.predict(researcher, "own", task, 2, 1, lambda example: example.gold[:1])
    return study


def rows(client, study) -> dict[str, dict[str, str]]:
    """Return model -> its row in the CSV of the page."""
    address = reverse("study_models_file", args=[study.name, "differences"])
    text = client.get(address + "?kind=person").content.decode()
    return {row["model"]: row for row in csv.DictReader(io.StringIO(text))}


@pytest.mark.long
def test_a_file_of_another_account_is_not_part_of_the_study(ada, study, other_researcher):
    before = rows(ada, study)
    for number in range(9):
        factories.predict(
            other_researcher, f"theirs-{number}", study.tasks.get(), 2, 1, lambda example: []
        )
    assert rows(ada, study) == before
    assert list(before) == ["own"]


@pytest.mark.long
def test_a_member_of_the_team_adds_a_model(ada, study, other_researcher):
    team.add(study, other_researcher.username, Role.ANALYST, study.owner)
    factories.predict(other_researcher, "theirs", study.tasks.get(), 2, 1)
    assert set(rows(ada, study)) == {"own", "theirs"}


@pytest.mark.long
def test_closing_freezes_the_family_and_logs_it(ada, study):
    lifecycle.change_status(study, "close", study.owner)
    (compared,) = ComparedFile.objects.all()
    assert compared.file.model.name == "own"
    entry = study.events.get(what="closed for good")
    assert entry.after["compared_files"] == [f"own: {compared.file.filename}"]
    before = rows(ada, study)["own"]
    factories.predict(study.owner, "late", study.tasks.get(), 2, 1, lambda example: [])
    after = rows(ada, study)
    assert after["own"] == before
    assert before["p_holm"] == before["p"] != ""
    assert (after["late"]["in_family"], after["late"]["p_holm"]) == ("0", "")
    assert after["late"]["difference"] != ""
    page = ada.get(reverse("study_differences", args=[study.name]), follow=True).content.decode()
    assert (
        "Uploaded after the study was closed and therefore excluded from the Holm adjustment"
        in page
    )


@pytest.mark.long
def test_a_later_run_of_a_model_of_the_family_changes_no_number(ada, researcher):
    task = factories.make_task(shots=[2], splits=2, test_size=6)
    study = factories.make_study(researcher, task, shots=[2], splits=[1, 2], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    factories.predict(researcher, "own", task, 2, 1, lambda example: example.gold[:1])
    lifecycle.change_status(study, "close", study.owner)
    before = rows(ada, study)
    factories.predict(researcher, "own", task, 2, 2, lambda example: [])
    assert rows(ada, study) == before


@pytest.mark.long
def test_a_file_of_the_family_cannot_be_deleted(ada, study, researcher):
    file = PredictionFile.objects.get()
    lifecycle.change_status(study, "close", study.owner)
    before = rows(ada, study)
    page = ada.post(reverse("prediction_file_delete", args=["own", file.pk]), follow=True)
    assert "cannot be deleted" in page.content.decode()
    header = factories.bearer(researcher, "read", "run")
    for address in (f"files/{file.pk}/", ""):
        reply = ada.delete(f"/api/v1/models/own/{address}", headers=header)
        assert reply.status_code == 409
    assert "Delete its files first." in reply.content.decode()
    with pytest.raises(ProtectedError):
        file.delete()
    assert rows(ada, study) == before


@pytest.mark.long
def test_a_file_of_an_open_study_can_be_deleted(ada, study):
    file = PredictionFile.objects.get()
    ada.post(reverse("prediction_file_delete", args=["own", file.pk]))
    assert rows(ada, study) == {}


@pytest.mark.long
def test_the_export_says_which_are_in_the_family_and_verifies(study, tmp_path):
    lifecycle.change_status(study, "close", study.owner)
    factories.predict(study.owner, "late", study.tasks.get(), 2, 1, lambda example: [])
    files = exported(study, tmp_path / "export")
    assert {row["model"]: row["in_family"] for row in files["model_differences.csv"]} == {
        "own": "1", "late": "0",
    }  # fmt: skip
    assert [row.model for row in differences.differences(study, Kind.PERSON)] == ["late", "own"]
