"""Annotators' pages are in the study's language, or in the browser's if there is no study."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from annotation.models import Study
from tests import factories


@pytest.fixture
def german(researcher, settings):
    """An open study with German pages."""
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]
    return factories.make_study(researcher, factories.make_task(), interface_language="de")


def language(page) -> str:
    return page.content.decode().split('<html lang="')[1].split('"')[0]


def test_a_page_says_its_language_and_direction(german, client):
    address = reverse("landing", args=[german.link_code])
    assert language(client.get(address)) == "de"
    Study.objects.update(interface_language="ar")
    assert '<html lang="ar" dir="rtl">' in client.get(address).content.decode()


def test_the_language_of_the_browser_is_ignored(researcher, client):
    study = factories.make_study(researcher, factories.make_task())
    address = reverse("landing", args=[study.link_code])
    assert language(client.get(address, headers={"Accept-Language": "de"})) == "en"


@pytest.mark.parametrize("name", ["landing", "work"])
def test_a_link_to_no_study_is_answered_in_the_language_of_the_browser(db, client, name):
    address = reverse(name, args=["no-such-link"])
    page = client.get(address, headers={"Accept-Language": "de"})
    assert (page.status_code, language(page)) == (404, "de")
    assert language(client.get(address, headers={"Accept-Language": "xx"})) == "en"


def test_every_page_of_an_annotator_is_in_the_language(german, client):
    pages = [client.post(reverse("start", args=[german.link_code]), follow=True)]
    token = german.participations.get().token
    work = reverse("work", args=[token])
    pages += [
        client.post(reverse("consent", args=[token]), {"agree": "?"}),
        client.post(reverse("consent", args=[token]), {"agree": "yes"}, follow=True),
        client.get(reverse("try_tool", args=[token, 1])),
        client.post(reverse("begin", args=[token]), follow=True),
        client.post(reverse("answer", args=[token]), {"turn": "999"}),
        client.get(reverse("withdraw", args=[token])),
        client.post(reverse("withdraw", args=[token]), follow=True),
        client.get(work),
    ]
    assert [language(page) for page in pages] == ["de"] * len(pages)


def test_the_declined_page_is_in_the_language_of_the_study(german, client):
    client.post(reverse("start", args=[german.link_code]))
    address = reverse("consent", args=[german.participations.get().token])
    assert language(client.post(address, {"agree": "no"}, follow=True)) == "de"
    assert language(client.get(reverse("declined"), {"language": "?"})) == "en"


def test_an_old_form_is_refused_in_the_language(german):
    client = Client(enforce_csrf_checks=True)
    reply = client.post(reverse("start", args=[german.link_code]))
    assert (reply.status_code, language(reply)) == (403, "de")
    token = factories.join(german).token
    reply = client.post(reverse("consent", args=[token]))
    assert (reply.status_code, language(reply)) == (403, "de")


def test_addresses_without_a_study_are_in_english(german, client):
    for address in (
        reverse("landing", args=["nobodys"]),
        reverse("work", args=["nobodys"]),
        reverse("declined"),
        "/nowhere/",
    ):
        assert language(client.get(address)) == "en", address


def test_no_request_inherits_the_language_of_another(german, client):
    """The test client uses one thread, like a server whose thread handles several requests."""
    token = factories.seat(german.scenarios.get(shots=2)).token
    htmx = {"HX-Request": "true"}
    for send in (
        lambda: client.get(reverse("landing", args=[german.link_code])),
        lambda: client.get(reverse("work", args=[token])),
        lambda: client.post(reverse("answer", args=[token]), {"turn": "x"}, headers=htmx),
        lambda: client.post(reverse("continue", args=[token]), headers=htmx),
        lambda: client.post(reverse("wait", args=[token])),
        lambda: client.get(reverse("declined"), {"language": "de"}),
    ):
        send()
        assert translation.get_language() == "en"
        assert language(client.get("/nowhere/")) == "en"


def test_a_preview_is_in_the_language_and_the_dashboard_is_not(german, ada):
    scenario = german.scenarios.get(shots=2)
    address = reverse("scenario_preview", args=[german.name, scenario.pk, "training", 0])
    assert language(ada.get(address)) == "de"
    assert language(ada.get(reverse("study", args=[german.name]))) == "en"


def test_the_form_of_a_study_offers_the_languages(german, ada, settings):
    page = ada.get(reverse("study_new")).content.decode()
    assert '<option value="ar">العربية</option>' in page
    settings.LANGUAGES = [("en", "English")]
    assert "العربية" not in ada.get(reverse("study_new")).content.decode()


def test_a_study_in_a_language_that_is_gone_is_shown_in_english(german, client, settings):
    settings.LANGUAGES = [("en", "English")]
    Study.objects.update(interface_language="tlh")
    page = client.get(reverse("landing", args=[german.link_code]))
    assert page.status_code == 200
    assert b"Start" in page.content


def test_the_language_is_frozen_with_the_design(german):
    assert '"interface_language":"de"' in german.manifest.replace('": "', '":"')
