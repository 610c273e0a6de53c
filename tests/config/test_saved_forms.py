"""If the session ends or changes while a user types, input is kept and no action runs unasked."""

from datetime import timedelta

import lxml.html
import pytest
from django.conf import settings as django_settings
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Study
from annotation.payout import batches
from tests import factories
from tests.annotation.study.test_design import fields

ORIGIN = {"Origin": "http://testserver"}


@pytest.fixture
def study(researcher):
    return factories.make_study(
        researcher, factories.make_task(), shots=[2], name="pilot", base_reward=5
    )


@pytest.fixture
def draft(researcher):
    task = factories.make_task()
    return factories.make_study(researcher, task, shots=[2], name="draft", status="draft")


def forget(client) -> None:
    """End the session, but keep the other cookies."""
    del client.cookies[django_settings.SESSION_COOKIE_NAME]


def form_of(reply, having: str) -> tuple[str, dict[str, str]]:
    """Return the address and the fields of the page's form that has this field."""
    page = lxml.html.fromstring(reply.content.decode())
    (form,) = [form for form in page.forms if having in form.fields or has_words(form, having)]
    sent = {name: value or "" for name, value in form.form_values()}
    for button in form.iter("button"):
        if button.get("name") not in (None, "calculate", "policy"):  # not *Rehearse*
            sent[button.get("name")] = button.get("value")
    return form.action or reply.request["PATH_INFO"], sent


def has_words(form, words: str) -> bool:
    return words in form.text_content()


def sign_in(client, reply, password="right horse"):
    """Fill in the page's sign-in form and send it."""
    address, sent = form_of(reply, "password")
    assert address == reverse("login")
    return client.post(address, sent | {"login": "ada", "password": password})


# GET on an address that takes POST alone ----------------------------------------------------------

LEADS = [
    ("study_status", ["pilot"], "/studies/pilot/"),
    ("seats", ["pilot"], "/studies/pilot/recruit/#seats"),
    ("participation_decide", ["pilot", "A-1"], "/studies/pilot/annotators/A-1/"),
    ("participation_bonus", ["pilot", "A-1"], "/studies/pilot/annotators/A-1/"),
    ("participation_review", ["pilot", "A-1"], "/studies/pilot/annotators/A-1/"),
    ("panel_new", ["pilot"], "/studies/pilot/platforms/"),
    ("prolific_plan", ["pilot"], "/studies/pilot/platforms/"),
    ("prolific_study", ["pilot", 1], "/studies/pilot/platforms/prolific/"),
    ("prolific_sync", ["pilot"], "/studies/pilot/platforms/prolific/"),
    ("task_checks", ["toy-places", 1], "/tasks/toy-places/1/"),
    ("analysis_run", ["pilot"], "/studies/pilot/analysis/"),
    ("report_run", ["pilot"], "/studies/pilot/report/"),
    ("sample_upload", ["pilot"], "/studies/pilot/report/"),
    ("release_prepare", ["pilot"], "/studies/pilot/release/"),
    ("release_run", ["pilot", 1], "/studies/pilot/release/"),
    ("model_delete", ["toy"], "/models/toy/"),
    ("prediction_file_delete", ["toy", 1], "/models/toy/"),
    ("logout", [], "/"),
]


@pytest.mark.parametrize(("name", "args", "page"), LEADS, ids=[case[0] for case in LEADS])
def test_an_address_for_posts_only_redirects_to_its_page(ada, study, name, args, page):
    assert ada.get(reverse(name, args=args))["Location"] == page


def test_signing_in_at_an_address_for_posts_shows_the_study(client, study):
    reply = client.get(reverse("study_status", args=["pilot"]))
    fields = {"login": "ada", "password": "right horse"}
    reply = client.post(reply["Location"], fields, follow=True)
    assert reply.redirect_chain[-1][0] == "/studies/pilot/"
    assert reply.status_code == 200


# A form after the end of the session --------------------------------------------------------------


def test_a_button_after_session_expiry_is_offered_again(ada, study):
    forget(ada)
    reply = ada.post(reverse("study_status", args=["pilot"]), {"action": "pause"})
    assert reply.status_code == 401
    assert "input was saved" in reply.content.decode()
    reply = sign_in(ada, reply)
    assert reply.status_code == 200
    study.refresh_from_db()
    assert study.status == "open"
    address, sent = form_of(reply, "Send")
    assert (address, sent["action"]) == (reverse("study_status", args=["pilot"]), "pause")
    ada.post(address, sent)
    study.refresh_from_db()
    assert study.status == "paused"


@pytest.mark.long
def test_a_design_form_is_restored_at_the_next_sign_in(ada, draft):
    edit = reverse("study_edit", args=["draft"])
    typed = "First line\r\n\r\n<b>Second</b> & third"
    version = ada.get(edit, follow=True).context["form"].initial["version"]
    task = draft.tasks.get()
    sent = fields(task, name="draft", shots="2", consent_text=typed, version=version)
    forget(ada)
    reply = sign_in(ada, ada.post(edit, sent))
    address, kept = form_of(reply, "Open the form again")
    reply = ada.post(address, kept)
    assert reply.status_code == 200
    assert Study.objects.get().consent_text != typed
    address, shown = form_of(reply, "consent_text")
    # Browsers drop the line break after <textarea>, but this parser keeps it.
    assert shown["consent_text"].strip() == typed.replace("\r", "")
    assert shown["version"] == version
    assert ada.post(edit, shown | {"tasks": [task.pk]}).status_code == 302
    assert "<b>Second</b> & third" in Study.objects.get().consent_text


def test_a_restored_design_form_cannot_overwrite_a_newer_one(ada, draft):
    edit = reverse("study_edit", args=["draft"])
    sent = fields(draft.tasks.get(), name="draft", shots="2", title="Late", version="old")
    forget(ada)
    address, kept = form_of(sign_in(ada, ada.post(edit, sent)), "Open the form again")
    _address, shown = form_of(ada.post(address, kept), "consent_text")
    assert ada.post(edit, shown).status_code == 409
    assert Study.objects.get().title == draft.title


@pytest.mark.long
def test_report_answers_are_restored_at_the_next_sign_in(ada, study):
    address = reverse("report", args=["pilot"])
    versions = ada.get(address).context["answers_versions"]
    forget(ada)
    reply = ada.post(address, {"item-1.9": "Board 7", "versions": versions})
    again, kept = form_of(sign_in(ada, reply), "Open the form again")
    reply = ada.post(again, kept)
    assert ">Board 7</textarea>" in reply.content.decode()
    assert not study.report_answers.exists()
    _address, shown = form_of(reply, "item-1.9")
    ada.post(address, shown)
    assert study.report_answers.get().text == "Board 7"


def test_signing_in_never_moves_money(ada, researcher, study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    (batch,) = batches.prepare(study, researcher)
    forget(ada)
    reply = ada.post(reverse("pay", args=["pilot"]), {"action": "mark", "batch": batch.pk})
    reply = sign_in(ada, reply)
    batch.refresh_from_db()
    assert batch.state == "prepared"
    address, sent = form_of(reply, "Send")
    ada.post(address, sent)
    batch.refresh_from_db()
    assert batch.state == "paid"


def test_a_wrong_password_or_a_refusal_does_not_lose_the_form(ada, study):
    forget(ada)
    first = ada.post(reverse("study_status", args=["pilot"]), {"action": "pause"})
    reply = first
    for _ in range(8):
        reply = sign_in(ada, reply, password="wrong")
        assert reply.status_code == 200
    reply = sign_in(ada, reply)
    assert reply.status_code == 429
    assert form_of(reply, "password")[1]["kept"] == form_of(first, "password")[1]["kept"]


def test_files_are_named_and_not_stored(ada, study):
    forget(ada)
    address = reverse("task_checks", args=["toy-places", 1])
    reply = ada.post(address, {"checks": SimpleUploadedFile("secret.jsonl", b"the gold")})
    page = sign_in(ada, reply).content.decode()
    assert "Files weren't stored: secret.jsonl." in page
    assert 'href="/tasks/toy-places/1/"' in page
    assert "the gold" not in page


def test_passwords_and_tokens_are_not_stored(ada, study):
    forget(ada)
    sent = {"old_password": "right horse", "new_password1": "x", "csrfmiddlewaretoken": "y"}
    reply = ada.post(reverse("password_change"), sent)
    assert reply["Location"].startswith(reverse("login"))


def test_a_body_larger_than_the_limit_is_not_stored(ada, study):
    forget(ada)
    reply = ada.post(reverse("study_new"), {"consent_text": "x" * 200_001})
    assert reply.status_code == 302


def test_a_stored_form_with_a_wrong_signature_is_ignored(client, researcher):
    fields = {"login": "ada", "password": "right horse", "kept": "eyJhIjoxfQ:1:x"}
    assert client.post(reverse("login"), fields)["Location"] == reverse("studies")


def test_a_form_of_an_anonymous_visitor_is_not_stored(client, study):
    client.post(reverse("study_new"), {"consent_text": "spam"})
    assert not Session.objects.exists()


def test_a_partial_request_redirects_the_whole_page_to_sign_in(ada, study):
    forget(ada)
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/studies/pilot/"}
    reply = ada.get(reverse("study_progress", args=["pilot"]), headers=headers)
    assert reply["HX-Redirect"] == f"{reverse('login')}?next=/studies/pilot/"


# An old token of a form ---------------------------------------------------------------------------


@pytest.fixture
def strict(researcher):
    """A signed-in browser whose forms carry the CSRF token of an earlier session."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(researcher)
    browser.get(reverse("study_new"))
    return browser


OLD = {"csrfmiddlewaretoken": "o" * 64}


def test_a_form_with_an_old_token_is_shown_again(strict, study):
    address = reverse("study_status", args=["pilot"])
    reply = strict.post(address, {"action": "pause"} | OLD, headers=ORIGIN)
    assert reply.status_code == 403
    assert "input was saved" in reply.content.decode()
    study.refresh_from_db()
    assert study.status == "open"
    again, sent = form_of(reply, "Send")
    assert strict.post(again, sent, headers=ORIGIN).status_code == 302
    study.refresh_from_db()
    assert study.status == "paused"


def test_a_form_from_another_site_is_refused_and_not_restored(strict, study):
    address = reverse("study_status", args=["pilot"])
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {}):
        reply = strict.post(address, {"action": "close"} | OLD, headers=headers)
        assert reply.status_code == 403
        assert 'value="close"' not in reply.content.decode()


def test_signing_in_twice_in_two_tabs_loses_no_form(study):
    browser = Client(enforce_csrf_checks=True)
    browser.get(reverse("login"))
    token = browser.cookies["csrftoken"].value
    address = reverse("study_status", args=["pilot"])
    kept = browser.post(address, {"action": "pause", "csrfmiddlewaretoken": token}, headers=ORIGIN)
    plain = browser.get(reverse("login"))
    assert sign_in(browser, browser.get(reverse("login"))).status_code == 302
    reply = sign_in_strictly(browser, kept)
    assert reply.status_code == 403
    assert form_of(reply, "Send")[1]["action"] == "pause"
    reply = sign_in_strictly(browser, plain)
    assert "You signed in as ada in another tab" in reply.content.decode()


def sign_in_strictly(client, reply):
    address, sent = form_of(reply, "password")
    sent |= {"login": "ada", "password": "right horse"}
    return client.post(address, sent, headers=ORIGIN)


def test_a_field_called_next_is_stored_like_any_other(study):
    for browser in (Client(), Client(enforce_csrf_checks=True)):
        address = reverse("study_status", args=["pilot"])
        reply = browser.post(address, {"action": "pause", "next": "/x/"} | OLD, headers=ORIGIN)
        assert reply.status_code == 401
        assert form_of(reply, "password")[1]["kept"]


def test_annotators_get_their_csrf_page_instead(study):
    browser = Client(enforce_csrf_checks=True)
    reply = browser.post(reverse("start", args=[study.link_code]), {"a": "b"}, headers=ORIGIN)
    assert reply.status_code == 403
    assert "Then go back, reload the page and send the form again." in reply.content.decode()


# A sliding session --------------------------------------------------------------------------------


def used(client, seconds: int) -> None:
    """Move the session's last renewal back by this many seconds."""
    session = client.session
    session["renewed_at"] -= seconds
    session.save()
    Session.objects.update(expire_date=timezone.now() + timedelta(hours=1))


def hours_left() -> float:
    return (Session.objects.get().expire_date - timezone.now()) / timedelta(hours=1)


def test_a_session_is_extended_by_use(ada, study):
    used(ada, 7200)
    ada.get(reverse("studies"))
    assert hours_left() > 11


def test_a_session_is_extended_at_most_once_an_hour(ada, study):
    used(ada, 1800)
    ada.get(reverse("studies"))
    assert hours_left() < 2


def test_polling_and_annotators_pages_do_not_renew_the_session(ada, study):
    used(ada, 7200)
    progress = reverse("study_progress", args=["pilot"])
    ada.get(progress, headers={"HX-Request": "true"})
    ada.get(reverse("landing", args=[study.link_code]))
    assert hours_left() < 2


def test_the_session_of_a_closed_account_is_sent_to_sign_in(ada, researcher):
    researcher.is_active = False
    researcher.save()
    used(ada, 7200)
    assert ada.get(reverse("studies")).url.startswith(reverse("login"))


def test_a_program_with_a_token_gets_no_session_cookie(researcher):
    reply = Client().get(reverse("api_studies"), headers=factories.bearer(researcher))
    assert reply.status_code == 200
    assert not Session.objects.exists()
    assert "sessionid" not in reply.cookies
