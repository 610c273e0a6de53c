"""Designing a study in the browser and by command: errors at their fields, freezing, status."""

import hashlib
import json

import lxml.html
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.models import Study
from annotation.models.options import default_consent
from annotation.study import design, lifecycle
from tests import factories


@pytest.fixture
def task(db):
    return factories.make_task(shots=(2, 4))


def fields(task, **changes) -> dict:
    """Return the fields that the form for a new study sends."""
    return {
        "name": "spring",
        "title": "Spring",
        "tasks": [task.pk],
        "shots": "0 2",
        "splits": "1",
        "annotators": "3",
        "training_order": "shuffled_apart",
        "annotation_order": "shuffled_apart",
        "interface_language": "en",
        "seed": "5",
        "tasks_per_worker": "1",
        "hourly_rate": "12.00",
        "currency": "USD",
        "estimated_minutes": "20",
        "idle_limit_hours": "48",
        "base_reward": "0",
        "minimum_pay": "0",
        "max_paid_hours": "1.0",
        "budget": "72.00",
        "max_screen_outs_in_a_row": "5",
        "idle_cutoff_seconds": "60",
        "comprehension_attempts": "2",
        "confidence_share": "0",
        "qualification": "none",
        "decision_minutes": "15",
        "attention_checks": "0",
        "anchor_examples": "0",
        "context_free_annotators": "0",
        "screening_examples": "0",
        "consent_text": "You agree.",
        **changes,
    }


def test_a_study_created_in_the_browser_has_its_scenarios(ada, task):
    reply = ada.post(reverse("study_new"), fields(task))
    assert (reply.status_code, reply.url) == (302, reverse("study", args=["spring"]))
    study = Study.objects.get()
    assert study.owner.username == "ada"
    assert [(s.shots, s.split_number, s.seats) for s in study.scenarios.order_by("shots")] == [
        (0, None, 3),
        (2, 1, 3),
    ]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("name", "Spring Time", "lower-case letters"),
        ("tasks", [], "Choose at least one task"),
        ("shots", "", "This field is required"),
        ("shots", "0 two", "Enter whole numbers"),
        ("shots", "0 0", "twice"),
        ("shots", "7", "has no training split of 7; it has 0, 2, 4"),
        ("splits", "4", "no training split 4"),
        ("splits", "1 1", "A training split appears twice"),
        ("splits", "0", "whole numbers of at least 1"),
        ("splits", "one", "such as 1 2 3"),
        ("annotators", "0", "greater than or equal to 1"),
        ("tasks_per_worker", "2", "only 1 task"),
        ("hourly_rate", "-1", "greater than or equal to"),
        ("hourly_rate", "plenty", "Enter a number"),
        ("idle_limit_hours", "0", "greater than or equal to 1"),
        ("idle_limit_hours", "30000000", "at most 8760"),
        ("consent_text", " ", "This field is required"),
        ("comprehension_questions", "Why?\n- One", "Question 1: write at least two"),
        ("comprehension_questions", "Why?\n- One\n- Two", "exactly one option as correct"),
        ("comprehension_questions", "* One\nWhy?\n- Two", "the question first"),
        ("comprehension_attempts", "1", "greater than or equal to 2"),
        ("qualification_threshold", "-1", "greater than or equal to 0"),
        ("attention_checks", "2", "has 0 attention checks"),
        ("max_paid_hours", "0", "greater than or equal to 0.1"),
    ],
)
def test_a_design_that_breaks_a_rule_is_refused_at_its_field(ada, task, field, value, reason):
    reply = ada.post(reverse("study_new"), fields(task, **{field: value}))
    assert reply.status_code == 422
    form = reply.context["form"]
    assert any(reason in message for message in form.errors[field]), form.errors
    page = reply.content.decode()
    assert f'id="id_{field}_error"' in page
    assert 'aria-invalid="true"' in page
    assert not Study.objects.exists()


def test_invalid_input_stays_in_the_form_escaped(ada, task):
    reply = ada.post(reverse("study_new"), fields(task, shots="7", title="<i>My</i> study"))
    page = reply.content.decode()
    assert 'value="7"' in page
    assert "&lt;i&gt;My&lt;/i&gt; study" in page


def test_a_second_study_of_the_same_name_is_refused(ada, task):
    ada.post(reverse("study_new"), fields(task))
    reply = ada.post(reverse("study_new"), fields(task))
    assert reply.status_code == 422
    assert "name" in reply.context["form"].errors
    assert Study.objects.count() == 1


@pytest.mark.long
def test_two_tabs_cannot_overwrite_each_others_design(ada, task):
    ada.post(reverse("study_new"), fields(task))
    edit = reverse("study_edit", args=["spring"])
    opened = ada.get(edit, follow=True).context["form"].initial["version"]
    assert ada.post(edit, fields(task, hourly_rate="20", version=opened)).status_code == 302
    reply = ada.post(edit, fields(task, title="Typed here", version=opened))
    assert reply.status_code == 409
    page = reply.content.decode()
    assert "Hourly rate</a>: 20" in " ".join(page.split())
    assert "Title</a>:" not in page  # unchanged in the other tab
    assert 'value="Typed here"' in page
    stored = Study.objects.get()
    assert (stored.title, stored.hourly_rate) == ("Spring", 20)
    again = reply.context["form"]["version"].value()
    assert ada.post(edit, fields(task, title="Typed here", version=again)).status_code == 302
    assert Study.objects.get().title == "Typed here"


@pytest.mark.long
def test_changed_tasks_are_a_conflicting_design_too(ada, task):
    ada.post(reverse("study_new"), fields(task))
    edit = reverse("study_edit", args=["spring"])
    opened = ada.get(edit, follow=True).context["form"].initial["version"]
    other = factories.make_task(name="toy-2")
    ada.post(edit, fields(other, version=opened))
    reply = ada.post(edit, fields(task, version=opened))
    assert reply.status_code == 409
    assert "Tasks</a>: toy-2 v1" in " ".join(reply.content.decode().split())


def test_a_refused_draft_with_a_new_name_is_sent_to_itself(ada, task):
    ada.post(reverse("study_new"), fields(task))
    ada.post(reverse("study_new"), fields(task, name="autumn"))
    edit = reverse("study_edit", args=["spring"])
    opened = ada.get(edit, follow=True).context["form"].initial["version"]
    for name in ("winter", "autumn"):  # an unused name, and another draft's name
        sent = fields(task, name=name, consent_text="", version=opened)
        reply = ada.post(edit, sent)
        assert reply.status_code == 422
        page = lxml.html.fromstring(reply.content)
        (form,) = page.xpath("//form[contains(@class, 'design')]")
        assert (form.action, form.fields["name"]) == (edit, name)
        assert page.xpath("//form[starts-with(@action, '/studies/spring/clone')]")


def test_a_form_without_its_version_changes_nothing(ada, task):
    ada.post(reverse("study_new"), fields(task))
    edit = reverse("study_edit", args=["spring"])
    assert ada.post(edit, fields(task, title="Mine")).status_code == 409
    assert Study.objects.get().title == "Spring"


def test_a_draft_can_be_changed_and_an_open_study_cannot(ada, task):
    ada.post(reverse("study_new"), fields(task))
    edit = reverse("study_edit", args=["spring"])
    assert 'value="0 2"' in ada.get(edit, follow=True).content.decode()
    ada.post(edit, fields(task, shots="0", version=design.version(Study.objects.get())))
    assert Study.objects.get().scenarios.count() == 1
    sent = fields(task, shots="0 2 4", version=design.version(Study.objects.get()))
    ada.post(reverse("study_status", args=["spring"]), factories.opening(Study.objects.get()))
    reply = ada.post(edit, sent)
    assert reply.status_code == 409
    page = reply.content.decode()
    assert "the design was frozen when the study was opened" in page
    assert 'value="0 2 4"' in page
    assert Study.objects.get().scenarios.count() == 1
    to_draft = {"action": "draft"}
    ada.post(reverse("study_status", args=["spring"]), to_draft)
    assert ada.post(edit, sent).status_code == 302
    assert Study.objects.get().shots == [0, 2, 4]


def test_opening_an_old_draft_translates_its_unedited_consent_text(researcher, task):
    study = factories.make_study(
        researcher, task, status="draft", hourly_rate=0, interface_language="de"
    )
    Study.objects.filter(pk=study.pk).update(consent_text=default_consent("en"))
    lifecycle.change_status(Study.objects.get(pk=study.pk), "open")
    assert Study.objects.get(pk=study.pk).consent_text == default_consent("de")
    assert study.consent_texts.get().text == default_consent("de")


def test_the_translated_consent_text_does_not_count_as_changed(ada, researcher, task):
    study = factories.make_study(
        researcher, task, status="draft", hourly_rate=0, interface_language="de"
    )
    address = reverse("study_edit", args=[study.name])
    assert "Consent text: " not in ada.get(address, follow=True).content.decode()
    Study.objects.filter(pk=study.pk).update(consent_text="You agree.")
    assert "Consent text: You agree." in ada.get(address, follow=True).content.decode()


def test_an_unedited_consent_text_is_in_the_language_of_the_pages(ada, task):
    sent = default_consent("en").replace("\n", "\r\n")  # as browsers do
    ada.post(reverse("study_new"), fields(task, consent_text=sent, interface_language="ar"))
    assert Study.objects.get().consent_text == default_consent("ar") != default_consent("en")
    for given, stored in ((default_consent("ar"), default_consent("de")), ("Agree!", "Agree!")):
        version = design.version(Study.objects.get())
        changed = {"consent_text": given, "interface_language": "de", "version": version}
        ada.post(reverse("study_edit", args=["spring"]), fields(task, **changed))
        assert Study.objects.get().consent_text == stored


def test_opening_freezes_the_design_and_hashes_it(ada, task):
    ada.post(reverse("study_new"), fields(task))
    ada.post(reverse("study_status", args=["spring"]), factories.opening(Study.objects.get()))
    study = Study.objects.get()
    assert study.status == "open"
    assert hashlib.sha256(study.manifest.encode()).hexdigest() == study.manifest_hash
    frozen = json.loads(study.manifest)
    assert frozen["tasks"][0]["content_hash"] == task.content_hash
    assert frozen["tasks"][0]["card"]["title"] == "Places"
    assert frozen["scenarios"] == [
        {"task": task.name, "shots": 0, "split": None, "seats": 3, "minutes": 20},
        {"task": task.name, "shots": 2, "split": 1, "seats": 3, "minutes": 20},
    ]


def test_pausing_and_closing_change_no_hash(task, researcher):
    study = factories.make_study(researcher, task)
    before = study.manifest_hash
    for action in ("pause", "reopen", "pause", "close"):
        lifecycle.change_status(study, action)
    assert study.manifest_hash == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "refused"),
    [
        ([], "pause"),
        ([], "reopen"),
        (["close"], "open"),
        (["close"], "reopen"),
        (["pause"], "open"),
    ],
)
def test_an_invalid_change_of_status_is_409(ada, researcher, task, way, refused):
    study = factories.make_study(researcher, task, status="draft" if not way else "open")
    for action in way:
        lifecycle.change_status(study, action)
    before = study.status
    reply = ada.post(reverse("study_status", args=[study.name]), {"action": refused})
    assert reply.status_code == 409
    study.refresh_from_db()
    assert study.status == before


def test_after_the_first_seat_a_study_cannot_return_to_draft(ada, researcher, task):
    study = factories.make_study(researcher, task)
    factories.join(study)
    reply = ada.post(reverse("study_status", args=[study.name]), {"action": "draft"})
    assert reply.status_code == 409
    assert "An annotator has taken a seat" in reply.content.decode()


# The command -------------------------------------------------------------------------------------


def test_create_study_creates_and_opens_a_study(researcher, task, capsys):
    call_command("create_study", "spring", tasks=[task.name], shots=[0, 2], seed=5, open=True)
    study = Study.objects.get()
    assert (study.status, study.scenarios.count(), study.owner) == ("open", 2, researcher)
    assert f"/join/{study.link_code}/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tasks": ["nothing"]}, "The task nothing does not exist"),
        ({"shots": [7]}, "shots: toy-places has no training split of 7"),
        ({"annotators": 0}, "annotators: "),
        ({"owner": "unknown"}, "The researcher 'unknown' does not exist"),
        ({"hourly_rate": "much"}, "flags: hourly_rate: expected an amount"),
    ],
)
def test_create_study_names_the_field_that_is_wrong(researcher, task, changes, reason):
    options = {"tasks": [task.name], "shots": [0, 2], **changes}
    with pytest.raises(CommandError, match=reason):
        call_command("create_study", "spring", **options)
    assert not Study.objects.exists()


def test_a_wrong_flag_is_not_blamed_on_the_file(researcher, task, tmp_path):
    file = tmp_path / "design.toml"
    file.write_text(f'name = "spring"\ntasks = ["{task.name}"]\nhourly_rate = "12.00"\n')
    with pytest.raises(CommandError, match=r"^flags: hourly_rate: expected an amount"):
        call_command("create_study", design=file, hourly_rate="much")


# Thresholds on their scale -----------------------------------------------------------------------


@pytest.mark.engines
@pytest.mark.parametrize(
    ("rule", "threshold", "reason"),
    [
        ("minimum", "500", "0 to 100, such as 60"),
        ("minimum", "0.8", "enter 80 for 80 %"),
        ("points_below", "101", "0 to 100 points"),
        ("sds_below", "20", "0 to 10 standard deviations"),
        ("sds_below", "", "This rule needs a threshold"),
        ("none", "101", "at most 100"),
    ],
)
def test_a_threshold_off_its_scale_is_refused_at_its_field(
    ada, researcher, task, rule, threshold, reason
):
    wrong = fields(task, qualification=rule, qualification_threshold=threshold)
    reply = ada.post(reverse("study_new"), wrong)
    assert reply.status_code == 422
    assert reason in " ".join(reply.context["form"].errors["qualification_threshold"])
    assert not Study.objects.exists()


@pytest.mark.engines
def test_the_database_refuses_a_threshold_off_its_scale(researcher, task):
    factories.make_study(researcher, task, status="draft")
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.update(qualification_threshold=500)


def test_the_design_page_states_confidence_and_shuffled_options(ada, researcher, task):
    options = {"confidence_share": 0.2, "asks_reasons": True, "shuffles_options": True}
    study = factories.make_study(researcher, task, shots=[2], **options)
    page = " ".join(ada.get(reverse("study_design", args=[study.name])).content.decode().split())
    assert "asked after 20 % of answers, with a reason" in page
    assert "<dt>Labels and options</dt><dd>shuffled for each annotator</dd>" in page


def test_the_design_page_states_each_amount_by_itself(ada, researcher, task):
    study = factories.make_study(researcher, task, minimum_pay=3, base_reward=1)
    page = ada.get(reverse("study_design", args=[study.name])).content.decode()
    assert f"<dt>Base reward</dt><dd>1.00 {study.currency}</dd>" in page
    assert f"<dt>Minimum pay</dt><dd>3.00 {study.currency}</dd>" in page


def test_the_form_asks_for_the_title_from_which_it_makes_the_name_first(ada):
    page = ada.get(reverse("study_new")).content.decode()
    assert page.index('name="title"') < page.index('name="name"')
