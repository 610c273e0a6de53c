"""The checklist is filled in from the study, and stores what researchers answer."""

import pytest
from django.urls import reverse

from analysis.documents import checklist
from annotation.models import ReportAnswer, Study
from annotation.study import lifecycle
from tests import factories
from tests.analysis.reports import items, make_study


@pytest.fixture(scope="module")
def stored(module_researcher):
    return make_study(module_researcher).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def test_every_item_is_filled_in_or_asked_for(study):
    shown = items(study)
    assert all(item.known or item.asks for item in shown.values())
    assert set(checklist.ASKED) < set(shown)
    assert len(shown) == 45


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("0.7", "en"),
        ("0.8", "toy-places 6"),
        ("1.1", "6 planned in 2 scenarios; 4 included in the analysis."),
        ("1.8", "0.1."),
        ("1.8.1", "3 and 3 annotators: 3.51 SDs"),
        ("1.9", "4 consented, 1 declined, and 0 withdrew later"),
        ("2.3.2", "1 of 5 who took a seat (20%)"),
        ("3.1.1", "Seed 7."),
        ("5.1.5", "4 of 5 who took a seat (80%)"),
    ],
)
def test_what_the_platform_knows_is_filled_in(study, item, words):
    assert words in items(study)[item].known


def test_added_seats_own_questions_and_the_ethics_board_are_told(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=2,
        ethics_contact="Board 7, board@example.org",
        own_questions="age, before, number: How old are you?",
    )  # fmt: skip
    known = items(study)
    assert "2 planned in 1 scenario; 0 included" in known["1.1"].known
    assert "Annotators were told: Board 7, board@example.org" in known["1.9"].known
    assert "asks questions of its own" in known["5.1.1"].known
    lifecycle.add_seats(study.scenarios.get(), 1, researcher)
    assert "2 planned in 1 scenario, 1 added after it was opened;" in items(study)["1.1"].known


def test_an_answer_is_stored_shown_and_can_be_changed_and_taken_away(ada, researcher, study):
    address = reverse("report", args=[study.name])
    reply = ada.post(address, {"item-1.9": "Board 7, <b>no 12</b>", "item-2.4": ""})
    assert reply.status_code == 302
    stored = ReportAnswer.objects.get()
    assert (stored.item, stored.text, stored.by) == ("1.9", "Board 7, <b>no 12</b>", researcher)
    reply = ada.get(address)
    page = reply.content.decode()
    assert "Board 7, &lt;b&gt;no 12&lt;/b&gt;" in page
    assert "<b>no 12" not in page
    assert "Board 7" in ada.get(reverse("report_file", args=[study.name])).content.decode()
    ada.post(address, {"item-1.9": "Board 8", "versions": reply.context["answers_versions"]})
    assert ReportAnswer.objects.get().text == "Board 8"
    versions = ada.get(address).context["answers_versions"]
    ada.post(address, {"item-1.9": " ", "versions": versions})
    assert not ReportAnswer.objects.exists()


def test_two_tabs_cannot_overwrite_each_others_answer(ada, study):
    address = reverse("report", args=[study.name])
    versions = ada.get(address).context["answers_versions"]
    ada.post(address, {"item-1.9": "Board 7", "item-2.4": "", "versions": versions})
    reply = ada.post(address, {"item-1.9": "none", "item-2.4": "No.", "versions": versions})
    assert reply.status_code == 409
    page = reply.content.decode()
    assert "item 1.9, now “Board 7”" in page
    assert ">none</textarea>" in page
    assert ReportAnswer.objects.get().text == "Board 7"
    again = {"item-1.9": "none", "versions": reply.context["answers_versions"]}
    assert ada.post(address, again).status_code == 302
    assert ReportAnswer.objects.get().text == "none"


def test_an_answer_that_was_not_touched_in_the_other_tab_stays(ada, study):
    address = reverse("report", args=[study.name])
    versions = ada.get(address).context["answers_versions"]
    ada.post(address, {"item-1.9": "Board 7", "item-2.4": "", "versions": versions})
    ada.post(address, {"item-1.9": "", "item-2.4": "No.", "versions": versions})
    stored = dict(ReportAnswer.objects.values_list("item", "text"))
    assert stored == {"1.9": "Board 7", "2.4": "No."}


def test_items_that_are_not_asked_are_not_stored(ada, study):
    ada.post(reverse("report", args=[study.name]), {"item-1.1": "x", "item-9": "x"})
    assert not ReportAnswer.objects.exists()


def test_an_answer_too_long_is_refused_whole_and_stays_on_the_page(ada, study):
    sent = {"item-1.9": "short", "item-2.4": "y" * 5001}
    reply = ada.post(reverse("report", args=[study.name]), sent)
    assert reply.status_code == 422
    page = reply.content.decode()
    assert "Item 2.4: keep the answer under 5000 characters." in page
    assert ">short</textarea>" in page
    assert not ReportAnswer.objects.exists()
