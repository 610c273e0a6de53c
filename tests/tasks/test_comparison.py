"""The reveal compares texts: right, missed, extra, partly right (docs/protocol.md#the-reveal)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.spans import GivenAnswer, Source
from tasks.tokens import tokens
from tests.factories import LABELS, compare, read_typed

TEXT = "Ann Lee met Bo in Rio, and Bo left Rio for New York."
NOTHING = GivenAnswer((), "", True)


def verdicts(typed: str, gold: list[str], rule: str = "set", text: str = TEXT):
    answer = read_typed(typed, [text]) if typed else NOTHING
    return compare(answer, gold, rule, [text])


def test_a_right_text_is_right_wherever_it_was_highlighted():
    second = GivenAnswer((list(Source([TEXT]).occurrences("Bo"))[1],), "", False)
    result = compare(second, ["Bo"], "set", [TEXT])
    assert (result.right, result.missed, result.s1) == (["Bo"], [], 1)
    assert [mark.start for mark in result.marks] == [TEXT.rindex("Bo")]


def test_both_places_of_a_right_text_are_right():
    both = GivenAnswer(tuple(Source([TEXT]).occurrences("Bo")), "", False)
    assert [m.verdict for m in compare(both, ["Bo"], "set", [TEXT]).marks] == ["right", "right"]


def test_a_missed_text_is_marked_once_where_it_occurs():
    result = verdicts("Rio", ["Rio", "New York"])
    assert result.missed == ["New York"]
    missed = [mark for mark in result.marks if mark.verdict == "missed"]
    assert [(m.start, m.text) for m in missed] == [(TEXT.index("New"), "New York")]


def test_a_chosen_text_that_is_not_gold_is_extra():
    result = verdicts("Ann Lee\nRio", ["Rio"])
    assert (result.extra, result.right, result.partial) == (["Ann Lee"], ["Rio"], [])


def test_a_text_that_overlaps_gold_is_partly_right_and_scores_0():
    result = verdicts("York", ["New York"])
    assert (result.partial, result.extra, result.missed) == (["York"], [], ["New York"])
    assert result.s1 == 0
    pieces = [
        (p.text, p.verdict, p.missed) for p in result.pieces(0, TEXT) if p.verdict or p.missed
    ]
    assert pieces == [("New ", "", True), ("York", "partial", True)]


def test_the_scoring_alternative_is_the_one_compared():
    result = verdicts("New York", ["York", "New York", "for New York"], "any_of")
    assert (result.right, result.missed, result.partial) == (["New York"], [], [])
    assert result.also_accepted == ["York", "for New York"]


def test_with_no_alternative_right_a_touched_one_is_shown():
    result = verdicts("New", ["Rio", "New York"], "any_of")
    assert (result.missed, result.partial) == (["New York"], ["New"])
    assert result.also_accepted == ["Rio"]
    assert verdicts("Ann", ["Rio", "New York"], "any_of").missed == ["Rio"]


@pytest.mark.parametrize("typed", ["then", "1850s", ""])
def test_an_alternative_that_can_be_highlighted_is_preferred(typed):
    result = verdicts(typed, ["1850", "the 1850s"], "any_of", "In the 1850s and then.")
    assert (result.missed, result.also_accepted) == (["the 1850s"], ["1850"])
    assert result.unreachable == []


def test_gold_that_cannot_be_highlighted_is_marked():
    result = verdicts("Rio", ["Rio", '"Anns" House'])
    assert result.unreachable == ['"Anns" House']
    assert result.missed == ['"Anns" House']
    assert [mark.verdict for mark in result.marks] == ["right"]


@pytest.mark.parametrize(("gold", "s1", "missed"), [([], 1, []), (["Rio"], 0, ["Rio"])])
def test_no_answer_is_right_only_if_the_gold_is_empty(gold, s1, missed):
    result = verdicts("", gold)
    assert (result.s1, result.missed) == (s1, missed)


def test_a_highlight_is_extra_if_the_answer_is_empty():
    assert verdicts("Rio", []).extra == ["Rio"]


def test_labels_have_no_marks_in_the_text():
    result = compare(
        GivenAnswer((), "no", False), ["yes"], "set", [TEXT], labels=LABELS, no_answer=False
    )
    assert (result.marks, result.extra, result.missed, result.unreachable) == (
        (), ["no"], ["yes"], [],
    )  # fmt: skip


@pytest.mark.long
@given(st.text("ab .😀", min_size=1, max_size=30), st.data())
def test_pieces_always_join_to_the_text(text, data):
    cut = tokens(text)
    if not cut:
        return
    places = st.integers(0, len(cut) - 1)
    chosen = text[cut[data.draw(places)][0] :].strip()[:3].strip()
    gold = text[cut[data.draw(places)][0] :].strip()[:4]
    spans = tuple(Source([text]).occurrences(chosen))[:1]
    result = compare(GivenAnswer(spans, "", not spans), [gold], "set", [text])
    assert "".join(piece.text for piece in result.pieces(0, text)) == text


def test_missed_texts_are_in_the_order_of_the_text():
    text = "Mountain, New England and West South Central, they say; nowhere else."
    gold = ["West South Central", "El Dorado", "New England", "Mountain"]
    result = compare(GivenAnswer((), "", True), gold, "set", [text])
    assert result.missed == ["Mountain", "New England", "West South Central", "El Dorado"]


def test_a_gold_text_in_a_selectable_question_is_marked_there():
    asked = "Which of the two, Bo or Al?"
    result = compare(GivenAnswer((), "", True), ["Al"], "set", [TEXT], asked)
    assert [(m.verdict, m.segment, m.text) for m in result.marks] == [("missed", -1, "Al")]
    assert "Al" in compare(GivenAnswer((), "", True), ["Al"], "set", [TEXT]).unreachable
