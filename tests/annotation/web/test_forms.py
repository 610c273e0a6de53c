"""Forms show an error at its field, which is marked as invalid and keeps its value."""

from decimal import Decimal
from types import SimpleNamespace

import lxml.html
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Participation, Status
from annotation.prolific import drafts
from annotation.recruitment import consent
from tasks.models import TaskMember
from tests import factories

QUESTION = "How often can you change an answer?\n- As often as I like\n* Never\n"


@pytest.fixture
def world(researcher):
    """A study with a waiting annotator, a completed one, and a draft for Prolific."""
    task = factories.make_task()
    TaskMember.objects.create(task_name=task.name, user=researcher, added_by=researcher)
    study = factories.make_study(
        researcher,
        task,
        shots=[2],
        currency="GBP",
        max_paid_hours=Decimal(2),
        budget=Decimal(100),
        exit_questionnaire=True,
        comprehension_questions=QUESTION,
    )
    done, asked = (factories.join(study) for _annotator in range(2))
    for annotator in (done, asked):
        consent.record(annotator, agree=True)
    Participation.objects.filter(pk=done.pk).update(status=Status.COMPLETED)
    (draft,) = drafts.plan(study, 0, researcher)
    study.members.create(user=researcher, role="analyst")
    factories.make_study(researcher, task, shots=[2], rehearsal=True, name="rehearsed")
    return SimpleNamespace(
        study=study.name, done=done, asked=asked, draft=draft.pk,
        scenario=study.scenarios.get().pk,
    )  # fmt: skip


DRAFT = {
    "action": "change", "name": "Short", "reward": "20", "screen_out": "1", "minutes": "60",
    "max_minutes": "200", "places": "3",
}  # fmt: skip
RULE = {"effect": "deny", "criterion": "task", "value": "toy-places"}
NUL = "Null characters are not allowed."
WHOLE = "Enter a whole number."
AMOUNT = "Enter a number such as 12.50"

# (Address, fields to send, the field whose value is invalid, and its error.) The invalid values
# include full-width digits, superscripts and null characters.
WRONG = [
    ("study_new", {"annotators": "３"}, "annotators", WHOLE),
    ("study_new", {"title": "a\0b"}, "title", NUL),
    ("team", {"action": "add", "username": "a\0b", "role": "payer"}, "username", NUL),
    ("team", {"action": "add", "username": "unknown", "role": "payer"}, "username", "share no"),
    ("team", {"action": "change", "username": "ada", "role": "god"}, "role", "Choose a role"),
    ("team", {"action": "invite", "email": "no address", "role": "payer"}, "email", "valid email"),
    ("users", {"action": "invite", "email": "no address"}, "email", "valid email"),
    ("rehearsal", {"policy": "gold", "number": "３", "seed": "1"}, "number", WHOLE),
    ("notice_switches", {"page": "nothing"}, "page", "Select a valid choice"),
    ("personal_links", {"names": "Ida\0"}, "names", NUL),
    ("personal_links", {"names": "Ida\nIda"}, "names", "already exists"),
    ("lists", RULE | {"value": "a\0b"}, "value", NUL),
    ("lists", RULE | {"platform": "nowhere"}, "platform", "Select a valid choice"),
    ("lists", RULE | {"value": "nothing"}, "value", "task nothing does not exist"),
    ("seats", {"scenario": "SCENARIO", "number": "²"}, "number", WHOLE),
    ("seats", {"scenario": "１", "number": "1"}, "scenario", "Select a valid choice"),
    ("seats", {"scenario": "SCENARIO", "number": "9" * 40}, "number", WHOLE),
    ("seats", {"scenario": "SCENARIO", "number": "0"}, "number", "from 1 to 1000"),
    ("budget", {"amount": "１２"}, "amount", AMOUNT),
    ("budget", {"amount": "1"}, "amount", "Enter a larger amount"),
    ("retention", {"until": "tomorrow"}, "until", "Enter a date, such as"),
    ("study_erase", {"typed": "x\0"}, "typed", NUL),
    ("study_erase", {"typed": "x"}, "typed", "Type the name of the study"),
    ("participation_decide", {"about": "analysis", "outcome": "no", "reason": " "}, "reason",
     "Enter a reason"),
    ("participation_decide", {"about": "pay", "outcome": "no", "reason": "a\0b"}, "reason", NUL),
    ("participation_bonus", {"amount": "1_0", "reason": "kind"}, "amount", AMOUNT),
    ("participation_bonus", {"amount": "99999", "reason": "kind"}, "amount", "at most 10000 GBP"),
    ("participation_bonus", {"amount": "1", "reason": "x" * 201}, "reason", "at most 200"),
    ("panel_new", {"name": "a\0b", "id_parameter": "id"}, "name", NUL),
    ("panel_new", {"name": "a", "id_parameter": "a b"}, "id_parameter", "parameter only"),
    ("prolific_plan", {"annotation_parts": "²"}, "annotation_parts", "Select a valid choice"),
    ("prolific_study", DRAFT | {"minutes": "٣"}, "minutes", WHOLE),
    ("prolific_study", DRAFT | {"reward": "0.01"}, "reward", "Prolific requires at least"),
    ("prolific_study", DRAFT | {"max_minutes": "61"}, "max_minutes", "the maximum time must be"),
    ("behaviour_exclude", {"annotators": "unknown", "reason": " "}, "reason", "Enter a reason"),
    ("people_decide", {"annotators": "unknown", "outcome": "yes", "reason": " "}, "reason",
     "Enter a reason"),
    ("task_team", {"username": "unknown"}, "username", "share no study"),
    ("task_checks", {}, "checks", "Choose a file of at most 1 MB."),
    ("task_edit", {"title": " "}, "title", "This field is required"),
    ("task_checks", {"checks": "FILE"}, "checks", "longer than 200 bytes"),
    ("task_add", {"card": "none of them"}, "card", "Choose one of the cards"),
    ("task_add", {}, "upload", "Found no files. Expected one labelled dataset"),
    ("task_add", {"upload": "FILE"}, "upload", "is too long"),
    ("report", {"item-1.9": "a\0b"}, "item-1.9", NUL),
    ("report", {"item-5.2": "here"}, "item-5.2", "Line 1: start with one of"),
    ("report", {"item-paper": "year: soon"}, "item-paper", "enter four digits, such as 2026"),
    ("sample_upload", {}, "csv", "This field is required"),
    ("sample_upload", {"csv": "FILE"}, "csv", "expected a column"),
    ("models", {"name": "m", "shots": "１"}, "shots", WHOLE),
    ("comprehend", {}, "question-1", "Please answer this question."),
    ("comprehend", {"question-1": "0"}, "question-1", "Please choose again"),
    ("questionnaire", {"ai_used": "maybe"}, "ai_used", "choose one of the answers"),
    ("questionnaire", {"tools": "a\0b"}, "tools", NUL),
    ("questionnaire", {"comments": "x" * 2001}, "comments", "at most 2000 characters"),
]  # fmt: skip


def address(name: str, world) -> str:
    known = {
        "study_new": [], "models": [], "task_add": [],
        "users": [], "rehearsal": ["rehearsed"],
        "task_team": ["toy-places", 1],
        "task_checks": ["toy-places", 1], "task_edit": ["toy-places", 1],
        "comprehend": [world.asked.token],
        "questionnaire": [world.done.token], "prolific_study": [world.study, world.draft],
    }  # fmt: skip
    if name.startswith("participation_"):
        return reverse(name, args=[world.study, world.done.pseudonym])
    return reverse(name, args=known.get(name, [world.study]))


@pytest.mark.long
@pytest.mark.parametrize(("name", "sent", "field", "sentence"), WRONG)
def test_an_error_is_at_its_field_and_the_input_is_retained(
    ada, world, name, sent, field, sentence
):
    values = {
        "SCENARIO": str(world.scenario),
        "FILE": SimpleUploadedFile("x" * 230 + ".jsonl", b"{}"),
    }  # fmt: skip
    User.objects.update(is_superuser=name == "users")  # for administrators only
    if name in ("users", "tokens"):
        factories.confirm_password(ada)
    reply = ada.post(
        address(name, world), {key: values.get(value, value) for key, value in sent.items()}
    )
    assert reply.status_code == 422
    page = lxml.html.fromstring(reply.content.decode().replace("\0", ""))
    (wrong, *_others) = page.xpath(f'//*[@name="{field}" and @aria-invalid="true"]')
    # Radio buttons have their description on the group.
    told = (
        wrong.get("aria-describedby") or wrong.xpath("ancestor::fieldset[1]/@aria-describedby")[0]
    )
    error = page.get_element_by_id(told.split()[-1])
    assert sentence in error.text_content()
    kept = wrong.text_content().strip() if wrong.tag == "textarea" else wrong.get("value")
    if wrong.tag != "select" and wrong.get("type") not in ("radio", "checkbox", "file"):
        assert kept.strip() == sent[field].strip().replace("\0", "")
