"""The sentences of a reveal about an answer, in the order of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.cards import parse_card
from tasks.comparison import Finding, compare_answer, findings, findings_on
from tasks.formats import Record, read_records
from tasks.importing import read_clues
from tasks.spans import GivenAnswer, Source, Span
from tasks.tokens import tokens
from tests import factories
from tests.factories import compare, read_typed

TEXT = "Ann Lee met Bo in Rio, and Bo left Rio for New York."
NOTHING = GivenAnswer((), "", True)


def said(typed: str, gold: list[str], rule: str = "set", text: str = TEXT, other_kinds=()):
    answer = read_typed(typed, [text]) if typed else NOTHING
    comparison = compare(answer, gold, rule, [text])
    return findings(answer, comparison, Source([text]), dict(other_kinds))


def kinds(found: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    """Return (kind, given, first gold) of each finding, in order."""
    return [(one.kind, one.given, one.gold[0] if one.gold else "") for one in found]


def conll(clues, identity: str):
    """Read one row of a published training file, whose text stays out of the repository."""
    card, _files = read_clues(clues, "CoNLL03")
    path = clues / "CoNLL2003" / "conll_train_10_1.jsonl"
    return next(record for record in read_records(path, card) if record.id == identity)


def of_row(record, typed: str):
    answer = read_typed(typed, record.context) if typed else NOTHING
    comparison = compare(answer, record.gold, "set", record.context)
    return findings(answer, comparison, Source(record.context), {})


@pytest.mark.real_data
def test_a_partial_name_is_too_short_and_not_also_missed(clues):
    row = conll(clues, "1459_3")
    assert kinds(of_row(row, "Los\nVenezuela")) == [
        ("too_short", "Los", "Los Angeles"), ("right", "Venezuela", "Venezuela"),
    ]  # fmt: skip


@pytest.mark.real_data
def test_missed_texts_are_reported_in_the_order_of_the_text(clues):
    row = conll(clues, "13250_3")
    assert row.gold == ("West South Central", "New England", "Mountain")
    missed = [finding.gold[0] for finding in of_row(row, "")]
    assert missed == ["New England", "Mountain", "West South Central"]


@pytest.mark.real_data
def test_surplus_words_are_named_at_both_ends(clues):
    (finding,) = of_row(conll(clues, "1822_1"), "Minister Hennady Udovenko said")
    assert (finding.kind, finding.gold) == ("too_long", ("Hennady Udovenko",))
    assert finding.surplus == ("Minister", "said")


@pytest.mark.real_data
def test_one_highlight_over_two_answers_is_joined(clues):
    (finding,) = of_row(conll(clues, "9017_2"), "European Union and NATO")
    assert (finding.kind, finding.gold) == ("joined", ("European Union", "NATO"))


@pytest.mark.parametrize(
    ("typed", "kind", "gold", "missed"),
    [
        ("the University of Oslo", "too_long", ["University of Oslo"], ["Oslo", "Bergen"]),
        ("of Oslo", "too_short", ["University of Oslo"], ["Oslo", "Bergen"]),
        ("University of Oslo and Bergen", "joined", ["University of Oslo", "Bergen"], ["Oslo"]),
    ],
)
def test_an_answer_inside_another_is_not_to_be_highlighted_there(typed, kind, gold, missed):
    text = "He left the University of Oslo and Bergen."
    found = said(typed, ["Oslo", "University of Oslo", "Bergen"], text=text)
    assert (found[0].kind, [*found[0].gold]) == (kind, gold)
    assert kinds(found[1:]) == [("missed", "", text) for text in missed]


@pytest.mark.real_data
def test_an_extra_answer_is_reported_where_it_occurs(clues):
    found = of_row(conll(clues, "7128_3"), "Barbara Rittner\nSlovakia")
    assert kinds(found) == [
        ("extra", "Barbara Rittner", ""), ("missed", "", "Germany"),
        ("right", "Slovakia", "Slovakia"),
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.real_data
def test_no_answer_misses_every_gold_of_the_published_rows(clues):
    for name in ("CoNLL03", "WikiANN", "SQuADv2", "ReCoRD"):
        card, files = read_clues(clues, name)
        for record in (record for file in files for record in file.records):
            comparison = compare(NOTHING, record.gold, card.gold_rule, record.context)
            found = findings(NOTHING, comparison, Source(record.context), {})
            assert {finding.gold[0] for finding in found} == set(comparison.missed), record.id
            assert {finding.kind for finding in found} <= {"missed", "unreachable"}
            places = [(one.segment, one.start) for one in found if one.start is not None]
            assert places == sorted(places), record.id


def test_an_answer_across_the_end_of_the_gold_is_shifted():
    (finding,) = said("left Rio for New", ["New York"])
    assert (finding.kind, finding.gold) == ("shifted", ("New York",))
    assert finding.surplus == ("left Rio for",)


def test_characters_are_compared_with_every_occurrence_of_the_gold():
    asked = Record("1", ("上海，去上海了",), "", ("上海",))
    card = factories.span_card(granularity="char")
    answer = GivenAnswer((Span(0, 4, 7, "上海了"),), "", False)
    comparison = compare_answer(card, asked, answer, asked.gold)
    (finding,) = findings_on(card, asked, answer, comparison, asked.gold)
    assert (finding.kind, finding.gold, finding.surplus) == ("too_long", ("上海",), ("了",))


def test_a_text_highlighted_twice_is_one_finding():
    both = GivenAnswer(tuple(Source([TEXT]).occurrences("Bo")), "", False)
    found = findings(both, compare(both, ["Bo"], "set", [TEXT]), Source([TEXT]), {})
    assert kinds(found) == [("right", "Bo", "Bo")]


def test_gold_that_cannot_be_highlighted_is_not_a_mistake():
    found = said("Rio", ["Rio", "Rio de Janeiro"])
    assert kinds(found) == [("right", "Rio", "Rio"), ("unreachable", "", "Rio de Janeiro")]
    assert not any(finding.is_mistake for finding in found)


def test_words_with_gold_inside_cannot_be_left_out():
    found = said("1850s", ["1850"], text="It began in the 1850s.")
    assert kinds(found) == [("too_long", "1850s", "1850"), ("unreachable", "", "1850")]
    assert found[0].surplus == ()


def test_a_second_right_alternative_is_spare():
    found = said("Rio\nNew York", ["Rio", "New York"], "any_of")
    assert [finding.kind for finding in found] == ["right", "spare"]


def test_the_kind_of_a_name_is_reported_only_if_it_is_given():
    assert kinds(said("Rio", ["Bo"]))[1][:2] == ("extra", "Rio")
    finding = said("Rio", ["Bo"], other_kinds={"Rio": "places"})[1]
    assert (finding.kind, finding.belongs_to) == ("other_kind", "places")


@pytest.mark.parametrize(("label", "kind"), [("yes", "right_label"), ("no", "other_label")])
def test_a_label_is_right_or_another_label(label, kind):
    answer = GivenAnswer((), label, False)
    names = [{"name": name, "definition": "-", "example": "-"} for name in ("yes", "no")]
    card = parse_card(factories.card_data(labels=names), "card")
    asked = Record("1", (TEXT,), "Is it?", ("yes",))
    comparison = compare_answer(card, asked, answer, asked.gold)
    (finding,) = findings_on(card, asked, answer, comparison, asked.gold)
    assert (finding.kind, finding.given, finding.gold) == (kind, label, ("yes",))


def test_a_right_empty_answer_has_no_finding():
    assert said("", []) == ()


@given(st.text("ab .😀", min_size=1, max_size=30), st.data())
def test_a_mistake_is_found_exactly_if_the_score_is_below_1(text, data):
    cut = tokens(text)
    if not cut:
        return
    places = st.integers(0, len(cut) - 1)
    chosen, right = (
        text[cut[min(pair)][0] : cut[max(pair)][1]]
        for pair in (data.draw(st.tuples(places, places)) for _ in range(2))
    )
    answer = GivenAnswer(tuple(Source([text]).occurrences(chosen))[:1], "", False)
    comparison = compare(answer, [right], "set", [text])
    found = findings(answer, comparison, Source([text]), {})
    assert any(finding.is_mistake for finding in found) == (comparison.s1 < 1)
