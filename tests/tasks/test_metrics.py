"""S1 equals the benchmark's own scorer and has the required properties."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics import recipe, s1, score
from tests.conftest import SHARED

TEXTS = st.lists(st.text("ab ", max_size=2), max_size=6)


@pytest.mark.real_data
def test_s1_equals_the_benchmarks_scorer_on_600_cases():
    lines = (SHARED / "data" / "vectors" / "s1.jsonl").read_text().splitlines()
    assert len(lines) == 600
    for line in lines:
        case = json.loads(line)
        assert s1(case["predicted"], case["gold"]) == case["s1"], case


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([], [], 1),
        (["a", "b"], ["b", "c", "d"], 0.4),
        (["a", "b"], ["a"], 2 / 3),
        (["a", "b", "c"], ["a", "b", "c", "d"], 6 / 7),
        (["x"], [], 0),
        ([], ["x"], 0),
        (["A"], ["a"], 0),
        (["a "], ["a"], 0),
        (["é"], ["e\u0301"], 0),
    ],
)
def test_worked_examples_of_s1(predicted, gold, expected):
    assert s1(predicted, gold) == pytest.approx(expected)


@given(TEXTS, TEXTS)
def test_s1_lies_between_0_and_1_and_is_symmetric(texts, other):
    assert 0 <= s1(texts, other) <= 1
    assert s1(texts, other) == s1(other, texts)


@given(TEXTS)
def test_the_gold_scores_1_in_any_order_and_repeated(texts):
    assert s1(texts, texts) == 1
    assert s1(texts[::-1] * 2, texts) == 1


@given(TEXTS, st.lists(st.sampled_from(["x", "y"]), min_size=1))
def test_disjoint_sets_score_0(texts, others):
    assert s1(texts, others) == 0


@given(TEXTS, st.lists(st.text("ab", max_size=2), min_size=1, max_size=5), st.data())
def test_adding_a_right_text_never_lowers_the_score(predicted, gold, data):
    right = data.draw(st.sampled_from(gold))
    assert s1([*predicted, right], gold) >= s1(predicted, gold)


def test_a_bare_string_is_not_an_answer():
    with pytest.raises(TypeError):
        s1("abc", ["a"])
    with pytest.raises(TypeError):
        s1(["a"], "abc")


def test_alternatives_score_by_the_best_and_the_first_on_ties():
    assert score(["b"], ["a", "b", "b"], "any_of") == (1, 1)
    assert score(["x"], ["a", "b"], "any_of") == (0, 0)
    assert score(["b"], ["a", "b"], "set") == (pytest.approx(2 / 3), None)
    assert score([], [], "any_of") == (1, None)
    assert score(["a"], [], "any_of") == (0, None)
    with pytest.raises(ValueError, match="gold rule"):
        score([], [], "best")


def test_the_recipe_names_every_choice():
    assert recipe("set") == "s1|match:exact|empty:1|gold:set|mean:examples|sd:annotators|ddof:1|v:1"
