"""Layers of highlights keep every character and count the annotators who highlighted it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats.agreement import groups, level, runs

# Where UTF-16 or escaping could go wrong: non-BMP, combining, joined, right to left, markup.
PIECES = ["a", "é", "e\u0301", "\U0001f600", "\U0001d54f", "\u200d", "ל", "<b>", "&amp;", " ", "\n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@st.composite
def layered(draw):
    """Draw a text, highlights of up to five annotators, and places of gold."""
    text = draw(TEXTS)
    if not text:
        return text, {"a": []}, []
    ends = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
    places = st.lists(ends.map(sorted).map(tuple).filter(lambda p: p[0] < p[1]), max_size=4)
    return text, draw(st.dictionaries(st.sampled_from("abcde"), places)), draw(places)


@pytest.mark.long
@given(layered())
def test_runs_join_to_the_text_and_count_each_character(drawn):
    text, highlights, gold = drawn
    cut = runs(text, highlights, gold)
    assert "".join(run.text for run in cut) == text
    assert all(run.text == text[run.start : run.end] for run in cut)
    for run in cut:
        for point in range(run.start, run.end):
            who = [name for name, own in highlights.items() if covered(own, point)]
            assert list(run.who) == who
            assert run.is_gold == covered(gold, point)
    assert sum(run.opens for run in cut) == sum(run.closes for run in cut) == len(gold)


@pytest.mark.long
@given(layered())
def test_runs_are_cut_only_at_ends_of_highlights(drawn):
    text, highlights, gold = drawn
    ends = {end for own in [gold, *highlights.values()] for place in own for end in place}
    assert {run.start for run in runs(text, highlights, gold)} - {0} <= ends


def covered(places, point) -> bool:
    return any(start <= point < end for start, end in places)


def test_overlapping_highlights_of_one_annotator_count_once():
    (first, both, rest) = runs("abc", {"x": [(0, 2), (1, 2)]}, [(1, 2), (1, 3)])
    assert (first.who, both.who, rest.who) == (("x",), ("x",), ())
    assert (both.opens, both.closes, rest.opens, rest.closes) == (2, 1, 0, 1)


@pytest.mark.parametrize(
    ("count", "n", "expected"),
    [(0, 9, 0), (1, 9, 1), (1, 4, 1), (2, 4, 2), (3, 4, 3), (4, 4, 4), (7, 9, 4), (0, 0, 0)],
)
def test_a_share_has_one_of_four_levels(count, n, expected):
    assert level(count, n) == expected


def test_the_same_texts_are_one_answer_in_whatever_order():
    answers = groups([(1, ["b"]), (2, ["Rio", "Bo"]), (3, []), (4, ["Bo", "Rio"]), (5, ["b", "b"])])
    assert [(group.texts, group.who) for group in answers] == [
        (("Rio", "Bo"), (2, 4)),
        (("b",), (1, 5)),
        ((), (3,)),
    ]
