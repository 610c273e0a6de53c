"""Before the first example, annotators can try the tool on invented sentences, unstored."""

import re

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import translation

from annotation.models import Answer, Draft, Participation, Turn
from annotation.participation import state
from annotation.protocol import training_step
from annotation.recruitment import consent
from tasks.spans import Source
from tests import factories
from tests.factories import LABELS

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def seats(researcher):
    """Return a function that brings an annotator of each scenario to the instructions."""

    def make(**options):
        task = factories.make_kind(options.pop("kind", "spans"))
        study = factories.make_study(researcher, task, **options)
        made = []
        for _scenario in study.scenarios.all():
            seat = factories.join(study)
            consent.record(seat, agree=True)
            made.append(Participation.objects.get(pk=seat.pk))
        return made

    return make


def address(seat, number: int) -> str:
    return reverse("try_tool", args=[seat.token, number])


def text_of(reply) -> str:
    return " ".join(reply.content.decode().split())


@pytest.mark.long
def test_the_instructions_offer_it_unless_disabled_by_the_design(client, seats):
    work = reverse("work", args=[seats()[0].token])
    assert "Try the tool" in client.get(work).content.decode()
    without = seats(try_the_tool=False)[0]
    work = reverse("work", args=[without.token])
    assert "Try the tool" not in client.get(work).content.decode()
    assert client.get(address(without, 1))["Location"] == work


@pytest.mark.long
@pytest.mark.parametrize("kind", factories.KINDS)
def test_three_sentences_lead_back_to_the_instructions_unstored(client, seats, kind):
    seat = seats(kind=kind)[0]
    for number, example in enumerate(state.made_up(seat.scenario.task.card), start=1):
        assert 'data-state="question"' in text_of(client.get(address(seat, number)))
        fields = {"turn": f"try-{number}", "typed": "\n".join(example.gold)}
        fields |= {"label": example.gold[0]} if kind == "label" else {}
        fields |= dict.fromkeys(("number", "text"), example.gold[0]) if example.gold else {}
        for place, option in enumerate(example.options):
            if option in example.gold:
                fields |= {"option": str(place), f"option-{place}": "1"}
        fields |= {} if example.gold else {"no_answer": "1"}
        reveal = client.post(address(seat, number), fields, **HTMX)
        assert 'data-state="reveal"' in text_of(reveal)
        assert re.search('id="verdict"[^>]*data-verdict="right"', text_of(reveal))
    back = client.post(address(seat, 4), {"leaving": "reveal"}, **HTMX)
    assert back["HX-Redirect"] == reverse("work", args=[seat.token])
    assert not Turn.objects.exists()
    assert not Answer.objects.exists()
    assert not Draft.objects.exists()


def test_a_wrong_answer_is_explained_and_an_invalid_one_refused(client, seats):
    seat = seats()[0]
    wrong = client.post(address(seat, 1), {"turn": "try-1", "typed": "bicycle"}, **HTMX)
    assert 'data-finding="too_short"' in text_of(wrong)
    bad = client.post(address(seat, 1), {"turn": "try-1", "typed": "lorry"}, **HTMX)
    assert bad.status_code == 422


def test_the_instructions_show_an_invented_example_with_its_reveal(client, seats):
    page = text_of(client.get(reverse("work", args=[seats(shots=[0])[0].token])))
    figure = page.split("<figure")[1].split("</figure>")[0]
    assert "A made-up example" in figure
    assert "reveal-right" in figure
    assert "red bicycle" in figure


@pytest.mark.long
@pytest.mark.parametrize(("options", "is_invented"), [({"shots": [2]}, False), ({}, True),
    ({"shots": [2], "audience": {"content_warning": "Violence."}}, True)])  # fmt: skip
def test_the_landing_page_shows_an_example_without_its_gold(client, seats, options, is_invented):
    study = seats(**options)[0].study
    page = text_of(client.get(reverse("landing", args=[study.link_code])))
    figure = page.split("<figure")[1].split("</figure>")[0]
    assert ("A made-up example" in figure) == is_invented
    assert ("data-verdict" in figure) == is_invented


def test_all_arms_see_the_same_sentences(client, seats):
    one, other = seats(shots=[0, 2])
    pages = [state.try_out_page(seat, number) for seat in (one, other) for number in (1, 2, 3)]
    assert one.scenario.shots != other.scenario.shots
    shown = [(page.card, page.question.text, page.example.context) for page in pages]
    assert shown[:3] == shown[3:]


@pytest.mark.long
@pytest.mark.parametrize("kind", factories.KINDS)
def test_the_sentences_show_nothing_of_the_task(seats, kind):
    seat = seats(kind=kind)[0]
    card = seat.scenario.task.card
    tried = state.try_out_page(seat, 1).card
    assert not {label.name for label in card.labels} & {label.name for label in tried.labels}
    assert card.instructions not in (tried.instructions, tried.description)


def test_it_is_closed_after_the_first_example(client, seats):
    seat = seats()[0]
    training_step.begin(seat.token)
    assert client.get(address(seat, 1))["Location"] == reverse("work", args=[seat.token])
    post = client.post(address(seat, 1), {"turn": "try-1", "typed": "red bicycle"})
    assert post.status_code == 302


@pytest.mark.long
@pytest.mark.parametrize("card", [{"no_answer": True}, {"no_answer": False}, {"labels": LABELS}])
def test_every_sentence_is_answerable_in_every_language(researcher, card):
    """In a translation, the text to highlight might not start and end at token boundaries."""
    study = factories.make_study(researcher, factories.make_task(**card))
    seat = factories.join(study)
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            for number in (1, 2, 3):
                page = state.try_out_page(seat, number)
                labels = [label.name for label in page.card.labels]
                for gold in page.example.gold:
                    source = Source(page.example.context, None, page.card.granularity)
                    assert gold in labels or source.is_reachable(gold), f"{language}: {gold}"
