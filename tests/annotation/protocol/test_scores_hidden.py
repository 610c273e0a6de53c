"""If the design hides people's test scores, pages show none until the study is closed."""

import io
import json
import re
import zipfile
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F, OuterRef, Subquery
from django.urls import reverse

from analysis.documents import blocks, preregistration, report
from annotation import guards
from annotation.models import Answer, Decision, Kind, ScoreShown, Study, Turn
from annotation.protocol import exclusion
from annotation.study import design, design_file, lifecycle
from tests import factories
from tests.annotation.study.test_team import ALLOWED

# One person's score of 41.67 and the mean with the other's 100, in any format a page might use.
# Seconds of times are not scores.
SCORES = re.compile(
    r"(?<![\d.])(?<!\d:)(41\.[67]\d*|0\.41[67]\d*|\.41[67]\d*|70\.8\d*|0\.708\d*)(?!\d)"
)


@pytest.fixture
def study(researcher, settings, tmp_path):
    """An open study with hidden test scores, which two people have completed."""
    settings.VAR_DIR = tmp_path
    task = factories.make_task()
    study = factories.make_study(
        researcher, task, shots=[2], annotators=3, hide_test_scores=True, hourly_rate=0
    )
    for answer in (None, _often_wrong):
        seat = factories.seat(study.scenarios.get())
        factories.work_through(seat, answer)
    # Measured durations could contain the digits of the scores.
    guards.lift(connection)
    shown = Subquery(Turn.objects.filter(pk=OuterRef("turn")).values("shown_at"))
    Answer.objects.update(active_seconds=1, submitted_at=shown + timedelta(seconds=1))
    end = F("arrived_at") + timedelta(seconds=20)
    study.participations.update(worked_seconds=9, finished_at=end)
    guards.install(connection)
    return study


def _often_wrong(turn):
    """Answer the training right; of four test answers, two are wrong and one is partly right."""
    if turn.step == "training":
        return factories.right_texts(turn.example)
    return {0: ["home"], 1: turn.example.gold, 2: turn.example.gold[:1], 3: ["home"]}[
        turn.example.position
    ]


def wrong_one(study):
    return study.participations.order_by("pk").last()


def replies(client, study):
    """Yield (name, status, content) for each GET address of the study, with unpacked archives."""
    keys = {
        "pseudonym": wrong_one(study).pseudonym,
        "scenario": study.scenarios.get().pk,
        "example": study.tasks.get().test_split.examples.last().pk,
    }
    names = {(name, rest) for name, rest, fields, _allowed in ALLOWED if fields is None}
    names.add(("api_release_zip", ()))
    for name, rest in sorted(names, key=str):
        if "batch" in rest or "panel" in rest:
            continue  # pay and panels have no scores
        address = reverse(name, args=[study.name, *(keys.get(part, part) for part in rest)])
        reply = client.get(address, follow=True)
        content = reply.getvalue()
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = b"\n".join(archive.read(member) for member in archive.namelist())
        yield name, reply.status_code, content.decode(errors="replace")


def telling(client, study) -> set[str]:
    """Return the names of the addresses that show a test score."""
    told = set()
    for name, status, content in replies(client, study):
        assert status < 500, name
        if SCORES.search(content):
            told.add(name)
    for name in ("studies", "api_studies"):
        if SCORES.search(client.get(reverse(name)).content.decode()):
            told.add(name)
    if f"person:{study.name}" in client.get(reverse("planner")).content.decode():
        told.add("planner")
    return told


@pytest.mark.long
def test_no_address_shows_a_test_score_before_closing(ada, study, researcher):
    exclusion.decide(wrong_one(study), False, "clicked through", researcher)
    exclusion.decide(wrong_one(study), True, "did not", researcher)
    assert telling(ada, study) == set()
    lifecycle.change_status(study, "pause", researcher)
    assert telling(ada, study) == set()
    lifecycle.change_status(study, "close", researcher)
    assert telling(ada, study) >= {
        "study", "planner", "people", "human_performance",
        "human_performance_file", "analysis_file", "figure_file", "report",
        "report_file", "export_zip", "sensitivity", "api_participation", "api_human_performance",
        "api_export_zip",
    }  # fmt: skip


def test_result_pages_explain_hidden_scores_and_files_are_403(ada, study):
    reply = ada.get(reverse("human_performance", args=[study.name]))
    page = reply.content.decode()
    assert reply.status_code == 403
    assert "hidden until the study is closed" in page
    assert reverse("human_performance", args=[study.name], query={"show": "training"}) in page
    assert reverse("study_design", args=[study.name]) in page  # in the tabs
    reply = ada.get(reverse("api_human_performance", args=[study.name]))
    assert (reply.status_code, reply.json()["detail"]) == (
        403, "Human test scores are hidden until the study is closed, as its design specifies, so"
        " that results can't influence the decision to stop.",
    )  # fmt: skip


def test_overview_and_list_of_people_state_hidden_scores(ada, study):
    assert "Hidden until the study is closed" in ada.get(f"/studies/{study.name}/").content.decode()
    people = ada.get(reverse("people", args=[study.name])).content.decode()
    assert people.count(">hidden</td>") == 2


def test_commands_write_no_export_of_hidden_scores(study, tmp_path):
    for command in ("export_study", "release_study"):
        with pytest.raises(CommandError, match="hidden until the study is closed"):
            call_command(command, study.name, str(tmp_path / command))


def test_hidden_scores_cannot_be_shown_and_decisions_are_blind(ada, study):
    seat = wrong_one(study)
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert "Show score and gold" not in page
    token = factories.bearer(study.owner, "read")
    for name, header in (("participation_score", {}), ("api_show_score", token)):
        address = reverse(name, args=[study.name, seat.pseudonym])
        reply = ada.post(address, {}, content_type="application/json", headers=header)
        assert reply.status_code == 403, name
        assert "until the study is closed" in reply.content.decode(), name
    assert not ScoreShown.objects.exists()
    sent = {"about": "analysis", "outcome": "no", "reason": "asleep"}
    ada.post(reverse("participation_decide", args=[study.name, seat.pseudonym]), sent)
    assert Decision.objects.get(about="analysis").score_seen is False


def test_answers_by_the_api_have_no_test_gold_and_no_s1(ada, study, researcher):
    exclusion.decide(wrong_one(study), False, "asleep", researcher)
    rows = ada.get(reverse("api_answers", args=[study.name])).json()["results"]
    tests = [row for row in rows if row["step"] == "annotation"]
    assert len(tests) == 8
    assert {(row["gold"], row["s1"], row["hidden"]) for row in tests} == {(None, None, True)}
    # After a decision, a participant's training answers are visible as usual.
    trained = [row for row in rows if row["step"] == "training" and not row["hidden"]]
    assert {row["annotator"] for row in trained} == {wrong_one(study).pseudonym}


def test_training_scores_are_visible_for_screening_decisions(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher",
        hide_test_scores=True,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert '"list-number">100.0</td>' in page
    assert ada.get(reverse("training", args=[study.name]), follow=True).status_code == 200


def test_seats_added_while_results_are_hidden_are_unmarked(study, researcher):
    lifecycle.add_seats(study.scenarios.get(), 1, researcher)
    assert not study.scenarios.get().added_seats.get().results_seen


@pytest.mark.long
def test_rehearsals_and_studies_without_people_show_scores(ada, researcher):
    task = factories.make_task()
    for fields, kind in (({"rehearsal": True}, Kind.PERSON), ({}, Kind.SIMULATED)):
        study = factories.make_study(researcher, task, shots=[0], hide_test_scores=True, **fields)
        factories.work_through(factories.seat(study.scenarios.get(), kind))
        page = ada.get(reverse("human_performance", args=[study.name]))
        assert page.status_code == 200
        assert "100.0" in page.content.decode()


# The design --------------------------------------------------------------------------------------


def test_new_studies_hide_test_scores_by_default():
    assert Study().hide_test_scores
    assert design_file.from_data("body", {"hide_test_scores": False}).fields == {
        "hide_test_scores": False
    }


@pytest.mark.long
@pytest.mark.parametrize(("hides", "words"), [(True, "hidden from"), (False, "visible to")])
def test_manifest_and_documents_state_whether_scores_are_hidden(researcher, hides, words):
    study = factories.make_study(researcher, factories.make_task(), hide_test_scores=hides)
    assert json.loads(study.manifest)["hide_test_scores"] is hides
    planned = blocks.as_markdown(preregistration.for_study(study))
    assert f"participants' test scores are {words} the researchers" in planned
    lifecycle.change_status(study, "close", researcher)
    told = blocks.as_markdown(report.for_study(study))
    assert f"participants' test scores were {words} the researchers" in told


def test_hiding_test_scores_is_frozen_with_the_design(study):
    with pytest.raises(design.DesignError, match="frozen"):
        design.save_draft(study, list(study.tasks.all()))
