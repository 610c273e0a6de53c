"""Studies can ask their own questions before and after the work, and name an ethics board."""

import csv
import subprocess
import sys

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse

from analysis.export import files
from annotation.models import Kind, OwnAnswer, Tombstone
from annotation.privacy import withdrawal
from annotation.protocol import answering, training_step
from annotation.recruitment import consent
from annotation.study import own_questions
from tests import factories
from tests.annotation.participation import both_doors
from tests.annotation.participation.test_participants_api import get, post
from tests.annotation.study.test_design import fields

pytestmark = pytest.mark.django_db
QUESTIONS = """\
age, before, number, required: How old are you?

first, before, choice: Is English your first language?
- Yes
- No

effort, after, text: What was <b>hard</b>?
"""
BOARD = "Ethics board of Toyland, approval 7, ethics@example.org"


@pytest.fixture
def study(researcher):
    return both_doors.make_study(
        researcher,
        factories.make_task(shots=(2,)),
        shots=[0],
        own_questions=QUESTIONS,
        ethics_contact=BOARD,
    )


@pytest.fixture
def seat(study):
    """A participant who has consented."""
    participation = factories.join(study)
    consent.record(participation, agree=True)
    participation.refresh_from_db()
    return participation


def told(seat) -> dict[str, str]:
    return dict(OwnAnswer.objects.filter(participation=seat).values_list("question", "answer"))


def finish(client, seat) -> None:
    """Answer the questions before the task, and complete the task."""
    client.post(reverse("own_questions", args=[seat.token]), {"own-age": "30"})
    training_step.begin(seat.token)
    seat.refresh_from_db()
    factories.work_through(seat)
    seat.refresh_from_db()
    assert seat.status == "completed"


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("How old are you?", "Question 1: expected an id"),
        ("age, before, number: Age?\n\nage, after, text: Age?", "Question 2: another question"),
        ("a, before, choice: Which?\n- One", "at least two different options"),
        ("a, before, choice: Which?\nOne\nTwo", "start each option with -"),
        ("a, before, text: Which?\n- One\n- Two", "only a choice has options"),
        ("Age, before, number: Age?", "Question 1: expected an id"),
    ],
)
def test_an_invalid_declaration_is_refused_at_its_field(ada, declared, reason):
    task = factories.make_task(shots=(2, 4))
    reply = ada.post(reverse("study_new"), fields(task, own_questions=declared))
    assert reply.status_code == 422
    assert reason in reply.context["form"].errors["own_questions"][0]


def test_questions_before_are_asked_after_consent(client, seat):
    work, own = (reverse(name, args=[seat.token]) for name in ("work", "own_questions"))
    page = client.get(work).content.decode()
    assert "How old are you? (required)" in page
    assert "Is English your first language?" in page
    assert "Highlight every place." not in page
    with pytest.raises(answering.Conflict):
        training_step.begin(seat.token)
    reply = client.post(own, {"own-first": "Yes"})
    assert (reply.status_code, told(seat)) == (422, {})
    assert "Please answer this question." in reply.content.decode()
    assert client.post(own, {"own-age": "old"}).status_code == 422
    assert client.post(own, {"own-age": "30", "own-first": "Maybe"}).status_code == 422
    assert client.post(own, {"own-age": "30"}).status_code == 302
    assert told(seat) == {"age": "30", "first": ""}
    client.post(own, {"own-age": "31", "own-first": "No"})
    assert told(seat) == {"age": "30", "first": ""}
    assert "Highlight every place." in client.get(work).content.decode()


@pytest.mark.long
def test_questions_at_the_end_are_shown_and_first_answers_count(client, seat):
    finish(client, seat)
    work, end = (reverse(name, args=[seat.token]) for name in ("work", "questionnaire"))
    page = client.get(work).content.decode()
    assert "What was &lt;b&gt;hard&lt;/b&gt;?" in page
    assert "Did you use an AI tool" not in page  # the design asks only its own
    client.post(end, {"own-effort": "The third."})
    client.post(end, {"own-effort": "The fourth."})
    assert told(seat)["effort"] == "The third."
    assert "What was" not in client.get(work).content.decode()


def test_answers_are_immutable_until_a_withdrawal(client, seat):
    finish(client, seat)
    with pytest.raises(DatabaseError), transaction.atomic():
        OwnAnswer.objects.update(answer="31")
    with pytest.raises(DatabaseError), transaction.atomic():
        OwnAnswer.objects.all().delete()
    withdrawal.withdraw(seat.token)
    assert Tombstone.objects.exists()
    assert not OwnAnswer.objects.exists()


def test_simulated_annotators_are_not_asked(study):
    robot = factories.seat(study.scenarios.get(), Kind.SIMULATED)
    factories.work_through(robot)
    robot.refresh_from_db()
    assert robot.status == "completed"
    assert not OwnAnswer.objects.exists()


def test_a_participating_program_is_asked_the_questions_too(seat):
    state = get("work", seat.token).json()
    assert state["step"] == "own_questions"
    assert [question["id"] for question in state["questions"]] == ["age", "first"]
    assert state["questions"][1]["options"] == ["Yes", "No"]
    reply = post("own_questions", seat.token, {"answers": {"first": "No"}})
    assert (reply.status_code, list(reply.json()["fields"])) == (422, ["answers.age"])
    assert post("own_questions", seat.token, {"answers": {"age": "1", "x": "y"}}).status_code == 422
    state = post("own_questions", seat.token, {"answers": {"age": "30", "first": "No"}}).json()
    assert state["step"] == "instructions"
    assert told(seat) == {"age": "30", "first": "No"}


def test_the_ethics_board_is_named_at_consent_and_at_withdrawal(client, study):
    participation = factories.join(study)
    assert BOARD in client.get(reverse("work", args=[participation.token])).content.decode()
    consent.record(participation, agree=True)
    assert BOARD in client.get(reverse("withdraw", args=[participation.token])).content.decode()
    assert get("work", participation.token).status_code == 200


def test_a_preview_shows_the_questions(ada, study):
    scenario = study.scenarios.get()
    address = reverse("scenario_preview", args=[study.name, scenario.pk, "questions", 0])
    assert "How old are you?" in ada.get(address).content.decode()
    end = reverse("scenario_preview", args=[study.name, scenario.pk, "end", 0])
    assert "What was" in ada.get(end).content.decode()
    plain = factories.make_study(study.owner, study.tasks.get(), shots=[0]).scenarios.get()
    nothing = reverse("scenario_preview", args=[plain.study.name, plain.pk, "questions", 0])
    assert ada.get(nothing).status_code == 404


@pytest.mark.long
def test_the_export_has_the_answers(client, seat, tmp_path):
    finish(client, seat)
    client.post(reverse("questionnaire", args=[seat.token]), {"own-effort": "All"})
    out = tmp_path / "out"
    files.write_export(seat.study, out)
    with (out / "own_answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["asked"], row["question"], row["answer"]) for row in rows] == [
        ("before", "age", "30"),
        ("before", "first", ""),
        ("after", "effort", "All"),
    ]
    assert {row["annotator"] for row in rows} == {seat.pseudonym}
    assert rows[0]["wording"] == "How old are you?"
    run = [sys.executable, "-I", str(out / "verify.py")]
    assert subprocess.run(run, capture_output=True, check=False).returncode == 0


def test_a_declaration_is_parsed_into_questions():
    first, second, third = own_questions.parse(QUESTIONS.replace("\n", "\r\n"))
    assert (first.id, first.moment, first.kind, first.is_required) == (
        "age", "before", "number", True,
    )  # fmt: skip
    assert second.options == ("Yes", "No")
    assert (third.moment, third.is_required) == ("after", False)
