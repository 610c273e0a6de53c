"""Published examples can be answered in the browser, as in a replication."""

import random

import pytest

from annotation.models import Answer, Step
from tasks.spans import Source, Span
from tests.browser.conftest import Desk, await_reveal

pytestmark = pytest.mark.real_data
SPAN_TASKS = ["CoNLL03", "WikiANN", "SQuADv2", "ReCoRD"]


def places_of(record, gold_rule: str) -> list[Span] | None:
    """Return spans that highlight the gold, or None if it cannot be highlighted."""
    chosen: list[Span] = []
    wanted = record.gold[:1] if gold_rule == "any_of" else tuple(dict.fromkeys(record.gold))
    for text in wanted:
        free = [
            place
            for place in Source(record.context).occurrences(text)
            if not any(map(place.overlaps, chosen))
        ]
        if not free:
            return None
        chosen.append(free[0])
    return chosen


def forty(records):
    """Return forty examples whose gold can be highlighted, the same in each run."""
    chosen = [record for record in records if places_of(record, "set") is not None]
    return random.Random(11).sample(chosen, 40)


def by_mouse(one: Desk, place: Span) -> None:
    box = one.page.locator(f"[data-field=context][data-index='{place.segment}']")
    one.drag(
        box.locator(f"[data-s='{place.start}']"), box.locator(f"[data-e='{place.end}']"), into=1
    )


def by_keyboard(one: Desk, place: Span) -> None:
    """Move to the text with Tab and to the word with arrows, extend with Shift, and press Enter."""
    one.page.locator("#question").focus()
    for _ in range(place.segment + 1):
        one.page.keyboard.press("Tab")
    first, last = one.page.evaluate(
        """([start, end]) => {
            const words = [...document.activeElement.closest("[data-text]")
                .querySelectorAll("[data-t]")];
            return [words.findIndex(e => e.dataset.s == start),
                    words.findIndex(e => e.dataset.e == end)];
        }""",
        [place.start, place.end],
    )
    one.page.keyboard.press("Control+Home")
    for _ in range(first):
        one.page.keyboard.press("ArrowRight")
    for _ in range(last - first):
        one.page.keyboard.press("Shift+ArrowRight")
    one.page.keyboard.press("Enter")


@pytest.mark.parametrize("highlight", [by_mouse, by_keyboard])
@pytest.mark.parametrize("name", SPAN_TASKS)
def test_forty_published_gold_sets_are_stored_as_highlighted(page, put_published, name, highlight):
    seat = put_published(name, wanted=forty, train=False)
    one = Desk(page, seat)
    rule = seat.scenario.task.card.gold_rule
    records = examples_of(seat)
    for number, example in enumerate(records):
        for place in places_of(example, rule) or []:
            highlight(one, place)
        if not example.gold:
            page.locator("[name=no_answer]").check()
        if number < len(records) - 1:
            one.go_on()
    one.submit()
    page.wait_for_selector("[data-copy-text]")
    answers = Answer.objects.filter(turn__participation=seat).select_related("turn__example")
    assert len(answers) == 40
    for answer in answers:
        gold = answer.turn.example.gold
        assert set(answer.as_given.texts) == set(gold[:1] if rule == "any_of" else gold)
        assert answer.s1 == 1


def examples_of(seat):
    split = seat.scenario.task.test_split
    order = seat.order_of(Step.ANNOTATION)
    found = split.examples.in_bulk(order)
    return [found[key] for key in order]


@pytest.mark.parametrize(
    ("name", "example", "typed"),
    [("CoNLL03", "883_3", "belg"), ("ReCoRD", "ReCoRD_5_6", "lago")],
    ids=["CoNLL03", "ReCoRD"],
)
def test_a_published_example_is_answered_by_keyboard(page, put_published, name, example, typed):
    one = Desk(page, put_published(name, example))
    page.locator("#question").focus()
    page.keyboard.press("Tab")
    page.keyboard.type(typed)
    page.keyboard.press("Enter")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("'submit' in document.activeElement.dataset"):
            break
    page.keyboard.press("Enter")
    await_reveal(page)
    assert "Right" in one.focused
    assert Answer.objects.get().s1 == 1


@pytest.mark.journey
def test_the_last_word_of_the_longest_text_is_marked_by_keyboard(page, put_published):
    one = Desk(page, put_published("SQuADv2", "5a668682f038b7001ab0bf51"))
    page.locator("#question").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    (chosen,) = one.chips
    one.reveal()
    assert one.stored == [chosen]
    assert page.locator("#right-answer .reveal-whole").inner_text() == "No answer"
    # The browser draws the quotation marks.
    assert page.locator("[data-findings]").inner_text() == f"{chosen} is not an answer."


def test_a_double_click_takes_a_name_without_the_apostrophe(page, put_published):
    def with_apostrophe(records):
        return [next(r for r in records if "Trump's" in r.context[0])]

    one = Desk(page, put_published("ReCoRD", wanted=with_apostrophe))
    word = page.locator("""xpath=//*[@data-t][.="Trump"][following-sibling::*[1][.="'"]]""").first
    word.dblclick()
    assert one.chips == ["Trump"]
