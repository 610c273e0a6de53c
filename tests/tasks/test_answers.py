"""Each answer type is read strictly: valid answers are normalised, others cause an error."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks import data_report
from tasks.answers import KINDS, GoldError
from tasks.cards import CardError, parse_card
from tasks.folders import read_folder
from tasks.formats import FormatError
from tasks.spans import AnswerError, GivenAnswer
from tests import factories


@dataclass
class Asked:
    """The parts of an example that a form needs."""

    context: tuple[str, ...] = ("Lima and Oslo are far.",)
    question: str = "Which?"
    options: tuple[str, ...] = ("Lima", "Oslo", "Lima", "Riga")


def card(kind, **changes):
    said, _records = factories.KINDS[kind]
    return parse_card(factories.card_data(**{**said, **changes}), "card")


def read(task, fields):
    return task.kind.read(task, Asked(), fields)


def check_gold(task, gold):
    return task.kind.check_gold(task, Asked.options, gold)


def values(kind, fields, **changes):
    return read(card(kind, **changes), fields).values


def refusal(kind, fields, **changes):
    with pytest.raises(AnswerError) as problem:
        read(card(kind, **changes), fields)
    assert str(problem.value.sentence).endswith((".", "?"))
    return problem.value.code


def test_every_kind_that_a_card_can_name_is_read():
    assert set(KINDS) == {task for task in factories.KINDS if task != "typed"}


def test_an_option_is_stored_as_its_text():
    assert values("option", {"option": "1"}) == ("Oslo",)
    assert values("option", {"option": "2"}) == values("option", {"option": "0"}) == ("Lima",)


@pytest.mark.parametrize("place", ["4", "-1", "01", "1.0", "Oslo", "\u0661", "\0", "9" * 5000])
def test_an_unknown_option_is_refused(place):
    assert refusal("option", {"option": place}) == "unknown_option"
    assert refusal("options", {f"option-{place}": "1"}) == "unknown_option"


def test_several_options_are_a_set_in_the_order_of_the_example():
    given = {"option-3": "1", "option-0": "1", "option-2": "1", "option-1": "0"}
    assert values("options", given) == ("Lima", "Riga")


def test_choosing_none_or_all_options_must_be_allowed_by_a_card():
    everything = {f"option-{place}": "1" for place in range(4)}
    assert refusal("options", {}) == "nothing_chosen"
    assert refusal("options", everything) == "all_options"
    assert refusal("options", {"no_answer": "1"}) == "no_answer_impossible"
    assert values("options", everything, all_options=True) == ("Lima", "Oslo", "Riga")
    assert read(card("options", no_answer=True), {"no_answer": "1"}).no_answer
    assert refusal("options", {"no_answer": "1", "option-1": "1"}, no_answer=True) == "both"


@pytest.mark.parametrize(
    ("typed", "stored"),
    [("3", "3"), (" 3.50 ", "3.5"), ("+.5", "0.5"), ("-0", "0"), ("005", "5"), ("2.", "2")],
)
def test_a_number_is_stored_in_one_spelling(typed, stored):
    assert values("number", {"number": typed}) == (stored,)


@pytest.mark.parametrize(
    "typed",
    [
        "1,5",
        "1e400",
        "1e1",
        "\u0663",
        "\uff13",
        "NaN",
        "inf",
        "0x1",
        "1_0",
        "--1",
        "1 2",
        ".",
        "4" * 31,
    ],
)
def test_a_number_not_in_plain_digits_is_refused(typed):
    assert refusal("number", {"number": typed}) == "not_a_number"


def test_a_number_respects_range_and_step():
    assert refusal("number", {"number": "5.5"}) == "out_of_range"
    assert refusal("number", {"number": "-0.5"}) == "out_of_range"
    assert refusal("number", {"number": "5.5"}, lowest=None) == "out_of_range"
    assert refusal("number", {"number": "-1"}, highest=None) == "out_of_range"
    assert refusal("number", {"number": "0.3"}) == "off_step"
    assert values("number", {"number": "0.3"}, step=0.1) == ("0.3",)  # no binary fractions
    assert refusal("number", {"number": ""}) == "nothing_chosen"
    free = {"lowest": None, "highest": None, "step": None}
    assert values("number", {"number": "-12345678901234567890.25"}, **free) == (
        "-12345678901234567890.25",
    )


@pytest.mark.parametrize(("kind", "longest"), [("short text", 40), ("long text", 300)])
def test_the_length_of_a_text_is_limited_in_characters(kind, longest):
    # Limits count characters, not bytes or halves of surrogate pairs.
    text = "\U0001f469" * longest
    assert values(kind, {"text": text}) == (text,)
    assert refusal(kind, {"text": text + "a"}) == "too_long"
    assert refusal(kind, {"text": " \u200b\n"}) == "nothing_chosen"
    assert values(kind, {"text": "  a  b "}) == ("a  b",)


def test_a_short_text_is_one_line_and_a_long_one_has_several():
    assert refusal("short text", {"text": "a\r\nb"}) == "several_lines"
    assert values("long text", {"text": "a\r\nb\rc\n"}) == ("a\nb\nc",)


@pytest.mark.parametrize("kind", factories.KINDS)
def test_characters_that_cannot_be_stored_are_refused(kind):
    fields = {"label": "x\0", "option": "\0", "option-\0": "1", "number": "1\0", "text": "a\0b"}
    fields["typed"] = "Lima\0"
    assert refusal(kind, fields) in ("bad_characters", "unknown_option")
    half = dict.fromkeys(fields, f"a{chr(0xD800)}")
    assert refusal(kind, {**half, "option-9": "1"}) in ("bad_characters", "unknown_option")


def test_typed_answers_may_be_outside_the_text():
    given = read(card("typed"), {"typed": "Peru\nOslo\nPeru"})
    assert [span.text for span in given.spans] == ["Oslo"]
    assert given.values == ("Peru",)
    assert given.texts == ["Oslo", "Peru"]
    payload = '{"v":1,"no_answer":false,"spans":[{"field":"context","index":0,"start":0,"end":4}]}'
    both = read(card("typed"), {"answer": payload, "typed": "Lima\nPeru"})
    assert both == GivenAnswer(both.spans, "", False, ("Peru",))
    assert both.texts == ["Lima", "Peru"]
    assert refusal("typed", {"typed": "a" * 1001}) == "too_long"
    assert refusal("typed", {"typed": "a\nb"}, max_spans=1) == "too_many_spans"
    assert refusal("typed", {}) == "nothing_chosen"


def test_without_the_typed_key_answers_must_be_in_the_text():
    assert refusal("spans", {"typed": "Peru"}) == "not_in_text"


GOLD = [
    ("option", ["Lima"], {}, ("Lima",)),
    ("option", ["Bonn"], {}, "'Bonn' is not one of the example's options"),
    ("option", ["Lima", "Oslo"], {}, "expected one text"),
    ("option", ["Lima", "Oslo"], {"gold_rule": "any_of"}, ("Lima", "Oslo")),
    ("option", [], {}, "no_answer = false"),
    ("options", ["Lima", "Oslo", "Riga"], {}, "all_options = true"),
    ("options", ["Lima", "Oslo", "Riga"], {"all_options": True}, ("Lima", "Oslo", "Riga")),
    ("options", ["Lima"], {"gold_rule": "any_of"}, 'gold_rule = "set"'),
    ("number", ["3.50"], {}, ("3.5",)),
    ("number", ["3,5"], {}, "'3,5' is not a number"),
    ("number", ["7"], {}, "between 0 and 5"),
    ("short text", ["a\nb"], {}, "one line"),
    ("short text", ["a" * 41], {}, "41 characters; the card allows 40"),
    ("long text", ["a", "b"], {}, "expected one text"),
    ("long text", [" a "], {}, ("a",)),
]


@pytest.mark.parametrize(("kind", "gold", "changes", "expected"), GOLD)
def test_gold_must_be_a_possible_answer(kind, gold, changes, expected):
    if isinstance(expected, tuple):
        assert check_gold(card(kind, **changes), gold) == expected
        return
    with pytest.raises(GoldError, match=expected.replace("(", r"\(")):
        check_gold(card(kind, **changes), gold)


BAD_KEYS = [
    ({"answer": "essay"}, "key answer: expected one of label, spans, option"),
    ({"answer": "label"}, "key labels: missing"),
    ({"answer": "number", "step": 0}, "key step: expected a number above 0"),
    ({"answer": "number", "step": True}, "key step: expected a number under"),
    ({"answer": "number", "lowest": float("nan")}, "key lowest"),
    ({"answer": "number", "lowest": 2, "highest": 2}, "key highest: expected a number above"),
    ({"answer": "number", "unit": ""}, "key unit"),
    ({"lowest": 0}, "key lowest: only valid if answer is number"),
    ({"answer": "number", "typed": True}, "key typed: only valid if answer is spans"),
    ({"answer": "short text", "longest": 1001}, "key longest: .* 1 to 1,000"),
    ({"answer": "short text", "words": [1, 2]}, "key words: only valid if answer is"),
    ({"answer": "long text", "words": [5, 2]}, "key words: expected the fewest and the most"),
    ({"answer": "options", "labels": factories.LABELS}, "key labels: only valid if answer is"),
    ({"typed": "yes"}, "key typed: expected true or false"),
    ({"family": "parsing"}, "key family"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD_KEYS)
def test_an_invalid_card_is_refused(changes, sentence):
    with pytest.raises(CardError, match=sentence):
        parse_card(factories.card_data(**changes), "card")


def test_a_card_with_default_values_equals_one_without():
    assert parse_card(factories.card_data(answer="spans", typed=False), "a") == parse_card(
        factories.card_data(), "a"
    )


@pytest.mark.parametrize("kind", factories.KINDS)
def test_a_card_equals_the_card_parsed_from_its_dict(kind):
    assert parse_card(card(kind).as_dict(), "card") == card(kind)


def test_the_data_report_names_odd_gold_and_options():
    lines = [
        {"id": "1", "context": "a", "question": "?", "answer": ["3.50"]},
        {"id": "2", "context": "a", "question": "?", "answer": ["3.5"]},
    ]
    assert reported("number", lines)["respelled"] == [{"file": "toy_test.jsonl", "ids": ["1"]}]
    for line in lines:
        line |= {"answer": ["a"], "options": ["a", "b", "a"][: 1 + int(line["id"])]}
    report = reported("option", lines)
    assert report["same_options"] == [{"file": "toy_test.jsonl", "ids": ["2"]}]
    assert report["floors"] == [{"name": "a random option", "s1": pytest.approx(100 * 7 / 12)}]


def reported(kind, lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "toy_test.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return data_report.build(card(kind), read_folder(Path(folder), card(kind)))


BAD_LINES = [
    ("option", {"options": ["a"]}, "field answer: expected at least two different options"),
    ("option", {"options": "ab"}, "field options: expected a list of texts"),
    ("option", {"options": ["a", " "]}, "field options: expected texts of 1 to 2,000 characters"),
    ("option", {"options": ["a"] * 101}, "field options: expected at most 100 options"),
    ("option", {"options": ["a", "b\0"]}, "field options: contains U\\+0000"),
    ("option", {}, "field options: expected a list"),
    ("number", {"options": ["a", "b"]}, "field options: only allowed if the card has"),
]


@pytest.mark.parametrize(("kind", "fields", "sentence"), BAD_LINES)
def test_a_line_with_bad_options_is_named(kind, fields, sentence):
    line = {"id": "1", "context": "a", "question": "?", "answer": ["a"], **fields}
    with pytest.raises(FormatError, match=f"toy_test.jsonl, line 1, {sentence}"):
        reported(kind, [line])
