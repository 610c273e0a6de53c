"""Highlighted and typed answers; the server accepts only offsets of its own tokens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.formats import Record
from tasks.importing import read_clues
from tasks.spans import AnswerError, GivenAnswer, Source, Span, ceiling
from tasks.tokens import tokens
from tests.factories import read_spans, read_typed, span_card

# Emoji, a decomposed accent, a double blank, CRLF, markup, right to left.
ODD = "😀 Lago  e\u0301\r\n(x_1) <b>&amp; שלום"


UNREACHABLE = {
    "WikiANN": {"1828_2", "320_2", "3120_1", "3140_2", "829_2", "7887_2", "4862_1", "2580_3",
                "3911_2", "14729_2", "10154_2", "3350_2", "432_2", "432_3"},
    "CoNLL03": {"7888_2", "3793_2", "11530_2", "8668_1"},
    "SQuADv2": set(),
    "ReCoRD": set(),
}  # fmt: skip


@pytest.mark.real_data
def test_all_gold_except_24_known_texts_can_be_highlighted(clues):
    texts = reachable = 0
    for name, known in UNREACHABLE.items():
        _card, files = read_clues(clues, name)
        lost = set()
        for record in (record for file in files for record in file.records):
            for text in set(record.gold):
                texts += 1
                is_known = Source(record.context).is_reachable(text)
                reachable += is_known
                lost |= set() if is_known else {record.id}
        assert lost == known, name
    assert (texts, reachable) == (2693, 2669)


def payload(*spans, no_answer=False, **extra) -> str:
    return json.dumps({"v": 1, "no_answer": no_answer, "spans": list(spans), **extra})


def span(start, end, **changes):
    return {"field": "context", "index": 0, "start": start, "end": end} | changes


def test_offsets_of_a_payload_become_slices_of_the_text():
    answer = read_spans(payload(span(8, 10), span(2, 6)), [ODD])
    assert answer == GivenAnswer((Span(0, 2, 6, "Lago"), Span(0, 8, 10, "e\u0301")), "", False)
    assert read_spans(payload(span(8, 13)), [ODD]).texts == ["e\u0301\r\n("]


FORGED = {
    "start inside a word": (payload(span(3, 6)), "not_on_words"),
    "end inside a word": (payload(span(2, 5)), "not_on_words"),
    "past the end": (payload(span(2, 10_000)), "bad_offsets"),
    "negative": (payload(span(-1, 6)), "bad_offsets"),
    "empty span": (payload(span(2, 2)), "bad_offsets"),
    "boolean offset": (payload(span(True, 6)), "bad_offsets"),
    "fraction": (payload(span(2.0, 6)), "bad_offsets"),
    "text offset": (payload(span("2", 6)), "bad_offsets"),
    "overlap": (payload(span(2, 6), span(2, 10)), "overlap"),
    "unknown field": (payload(span(2, 6, field="gold")), "bad_field"),
    "unknown segment": (payload(span(2, 6, index=1)), "bad_field"),
    "boolean segment": (payload(span(2, 6, index=False)), "bad_field"),
    "question of a task that forbids it": (
        payload({"field": "question", "start": 0, "end": 1}), "bad_field",
    ),
    "text sent along": (payload(span(2, 6, text="Lago")), "bad_field"),
    "no answer and spans": (payload(span(2, 6), no_answer=True), "both"),
    "neither": (payload(), "nothing_chosen"),
    "no_answer is a number": ('{"v":1,"no_answer":1,"spans":[]}', "bad_payload"),
    "another version": ('{"v":2,"no_answer":true,"spans":[]}', "bad_payload"),
    "version true": ('{"v":true,"no_answer":true,"spans":[]}', "bad_payload"),
    "extra key": (payload(no_answer=True, s1=1), "bad_payload"),
    "not JSON": ("{", "bad_payload"),
    "a list": ("[]", "bad_payload"),
    "nested too deeply": ("[" * 10_000, "bad_payload"),
    "two megabytes": ("x" * 2_000_000, "too_long"),
    "too many": (payload(*[span(2, 6)] * 101), "too_many_spans"),
    "a span that is a list": (payload([]), "bad_payload"),
}  # fmt: skip


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_payload_is_refused(case):
    sent, code = FORGED[case]
    with pytest.raises(AnswerError) as refused:
        read_spans(sent, [ODD])
    assert refused.value.code == code
    assert str(refused.value).endswith(".")


def test_the_question_can_be_highlighted_where_the_task_says_so():
    sent = payload({"field": "question", "start": 0, "end": 3})
    assert read_spans(sent, ["x"], "Who?").spans == (Span(-1, 0, 3, "Who"),)


def test_limits_of_the_card_apply_to_highlights_and_typing():
    with pytest.raises(AnswerError, match="only one highlight"):
        read_spans(payload(span(2, 6), span(8, 10)), [ODD], max_spans=1)
    with pytest.raises(AnswerError, match="only one highlight"):
        read_typed("Lago\nx_1", [ODD], max_spans=1)
    with pytest.raises(AnswerError, match="Every example in this task has an answer"):
        read_spans(payload(no_answer=True), [ODD], no_answer=False)
    with pytest.raises(AnswerError, match="Every example in this task has an answer"):
        read_typed("", [ODD], is_none=True, no_answer=False)


def test_typed_lines_are_found_in_the_text():
    answer = read_typed("  Lago \r\n\r\nx_1\nLago", [ODD])
    assert answer.texts == ["Lago", "x_1"]
    assert read_typed("", [ODD], is_none=True) == GivenAnswer((), "", True)


@pytest.mark.parametrize(
    ("typed", "code", "hint"),
    [
        ("Laguna", "not_in_text", "“Laguna” is not in the text. Copy"),
        ("lago", "not_in_text", "Did you mean “Lago”?"),
        ("Ann’s", "not_in_text", "apostrophes"),
        ("THE  cat", "not_in_text", "Did you mean “the cat”?"),
        ("ag", "not_on_words", "only part of “Lago”"),
        ("the cat\ncat", "overlap", "“cat” and “the cat” overlap in the text"),
        ("", "nothing_chosen", "Highlight or type at least one answer"),
        ("a\0b", "bad_characters", "contains an invalid character"),
    ],
)
def test_an_unmatched_typed_line_is_quoted_with_a_hint(typed, code, hint):
    with pytest.raises(AnswerError) as refused:
        read_typed(typed, ["Lago saw Ann's mat and the cat"])
    assert refused.value.code == code
    assert hint in str(refused.value)


@pytest.mark.parametrize("typed", ["the cat\ncat", "cat\nthe cat"])
def test_a_typed_line_takes_a_free_place_in_any_order(typed):
    answer = read_typed(typed, ["the cat met a cat"])
    assert [(s.start, s.end) for s in answer.spans] == [(0, 7), (14, 17)]


@pytest.mark.parametrize(("typed", "places"), [
    ("the cat", [(0, 3), (8, 15)]),  # the first "the cat" overlaps the highlight
    ("the\nmet", [(0, 3), (16, 19)]),  # a highlighted text counts once
])  # fmt: skip
def test_a_typed_line_takes_a_place_beyond_the_highlights(typed, places):
    payload = {
        "v": 1,
        "no_answer": False,
        "spans": [{"field": "context", "index": 0, "start": 0, "end": 3}],
    }
    asked = Record("1", ("the cat the cat met",), "", ())
    card = span_card()
    answer = card.kind.read(card, asked, {"answer": json.dumps(payload), "typed": typed})
    assert [(span.start, span.end) for span in answer.spans] == places


@given(st.text(max_size=40), st.data())
def test_every_highlightable_word_can_also_be_typed(text, data):
    cut = tokens(text)
    if cut:
        first = data.draw(st.integers(0, len(cut) - 1))
        word = text[cut[first][0] : cut[first][1]]
        if word.strip() == word and len(word.splitlines()) == 1:
            assert read_typed(word, [text]).texts == [word]


FAMILY, FLAG, HEART = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "❤\ufe0f",
)


def test_a_part_of_a_grapheme_cannot_be_highlighted_or_typed():
    text = f"So {FAMILY} {FLAG}{HEART}"
    assert read_spans(payload(span(3, 8)), [text]).texts == [FAMILY]
    for start, end in ((3, 4), (5, 8), (9, 10), (10, 11), (11, 12)):
        with pytest.raises(AnswerError) as refused:
            read_spans(payload(span(start, end)), [text])
        assert refused.value.code == "not_on_words"
    assert read_typed(f"{FAMILY}\n{HEART}", [text]).texts == [FAMILY, HEART]
    with pytest.raises(AnswerError, match="only part of"):
        read_typed("\U0001f468", [text])


ASIAN = "東京都庁で小池百合子知事が会見した。"


def test_by_characters_any_range_can_be_highlighted_and_typed():
    name = span(5, 10)
    assert read_spans(payload(name), [ASIAN], granularity="char").texts == ["小池百合子"]
    assert read_typed("小池百合子", [ASIAN], granularity="char").spans == (
        Span(0, 5, 10, "小池百合子"),
    )
    with pytest.raises(AnswerError, match="whole words"):
        read_spans(payload(name), [ASIAN])
    assert Source([ASIAN], None, "char").is_reachable("小池")
    assert not Source([ASIAN]).is_reachable("小池")
    assert ceiling(["小池", "東京"], "set", Source([ASIAN], None, "char")) == 1
    # The vowel mark belongs to its letter: นำ does not occur in น้ำ.
    assert not Source(["น้ำ"], None, "char").is_reachable("น")
