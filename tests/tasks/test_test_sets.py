"""A test set's score under each metric, and the parts of it that the two-way t uses."""

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import two_way
from tasks.gym.reader import read_task
from tasks.metrics import METRICS, Answers, misfit, over_test_set, recipe
from tests.conftest import SHARED

WHOLE = ("Classification-F1", "Matthew-Correlation", "Pearson-Correlation")
TEXTS = ("S1", "EM", "ACC", "QA-F1", "Rouge-L")


def answers(said, gold, contexts=None, rule="set", no_answer=False) -> Answers:
    """Return answers of one text or a list of texts per example."""
    as_list = [[text] if isinstance(text, str) else text for text in said]
    golds = [[text] if isinstance(text, str) else text for text in gold]
    return Answers(as_list, golds, rule, no_answer, contexts or list(range(len(golds))))


def test_pseudo_values_of_classification_f1_in_a_worked_example():
    # The gold is p, n, n and the answers are p, n, p, so both F1 are 2/3.
    score = over_test_set("Classification-F1", answers(["p", "n", "p"], ["p", "n", "n"]))
    assert score.value == pytest.approx(2 / 3)
    # Without the first: p 0, n 2/3, mean 1/3. Without the second: p 2/3, n 0. Without the third: 1.
    pseudo = [3 * 2 / 3 - 2 * left for left in (1 / 3, 1 / 3, 1)]
    moved = statistics.fmean(pseudo) - 2 / 3
    assert score.values == pytest.approx([value - moved for value in pseudo])
    assert statistics.fmean(score.values) == pytest.approx(score.value)


def test_contexts_are_weighted_by_their_number_of_examples():
    sets = answers(["p", "n", "p", "p"], ["p", "n", "n", "p"], ["a", "a", "b", "c"])
    score = over_test_set("Classification-F1", sets)
    full = (2 / 3 + 4 / 5) / 2
    # Without a: answers p p, gold n p, so p 2/3, n 0. Without b: all right. Without c: as above.
    pseudo = {"a": 2 * full - 1 / 3, "b": 4 * full - 3, "c": 4 * full - 3 * 2 / 3}
    values = [pseudo[context] for context in sets.contexts]
    moved = statistics.fmean(values) - full
    assert score.values == pytest.approx([value - moved for value in values])


LABELS = {
    "Classification-F1": ("a", "b", "c", " c"),
    "Matthew-Correlation": ("acceptable", "no", "never"),
    "Pearson-Correlation": ("1", "2.5", "-4", " 1.0", "1e300"),
}


@pytest.mark.long
@pytest.mark.parametrize("metric", WHOLE)
@given(data=st.data())
def test_leaving_out_a_context_equals_the_metric_of_the_rest(metric, data):
    label = st.sampled_from(LABELS[metric])
    rows = data.draw(st.lists(st.tuples(label, label, st.integers(0, 4)), min_size=2, max_size=15))
    said, gold, groups = (list(column) for column in zip(*rows, strict=True))
    golds = [[text] for text in gold]
    left_out = METRICS[metric].left_out(said, golds, groups)
    for group, value in zip(dict.fromkeys(groups), left_out, strict=True):
        kept = [place for place, own in enumerate(groups) if own != group]
        try:
            right = METRICS[metric].corpus(
                [said[place] for place in kept], [golds[place] for place in kept]
            )
        except ValueError:  # too few are left
            right = math.nan
        assert value == pytest.approx(right, abs=1e-9, nan_ok=True)


def test_jackknife_and_examples_give_a_mean_the_same_interval():
    """So one estimator serves all metrics: a mean's pseudo-values are its contexts' values."""
    rng = random.Random(4)
    contexts = [place // 2 if place < 10 else place for place in range(20)]
    matrix, linear = [], []
    for _person in range(4):
        scores = [rng.random() for _ in contexts]
        mean = statistics.fmean(scores)
        parts = []
        for context in contexts:
            own = [place for place, other in enumerate(contexts) if other == context]
            rest = [score for place, score in enumerate(scores) if place not in own]
            times = len(contexts) / len(own)
            parts.append(times * mean - (times - 1) * statistics.fmean(rest))
        matrix.append(scores)
        linear.append(parts)
    one, other = (two_way.mean_estimate(np.array(rows), contexts) for rows in (matrix, linear))
    assert (one.value, one.se, one.df) == pytest.approx((other.value, other.se, other.df))


def test_a_set_of_texts_is_scored_as_one_text_in_any_order():
    gold = [["Rome", "Oslo"]]
    for said in (["Oslo", "Rome"], ["rome", "OSLO", "Oslo"][:2]):
        assert over_test_set("EM", answers([said], gold)).value == 1
    assert over_test_set("EM", answers([["Oslo"]], gold)).value == 0
    assert over_test_set("QA-F1", answers([["Oslo"]], gold)).value == pytest.approx(0.5)
    assert over_test_set("EM", answers([["Oslo"]], gold, rule="any_of")).value == 1


@pytest.mark.parametrize("metric", ["EM", "ACC", "QA-F1", "Rouge-L", "S1"])
def test_no_answer_scores_as_under_s1_if_it_is_allowed(metric):
    sets = answers([[], [], ["x"]], [[], ["x"], []], no_answer=True)
    assert over_test_set(metric, sets).values == [1, 0, 0]


def test_an_unscorable_test_set_is_undefined_with_a_reason():
    def of(said, gold):
        return over_test_set("Pearson-Correlation", answers(said, gold))

    assert of(["3", "3"], ["1", "2"]).remark == "undefined: constant prediction"
    assert of(["3", "2,5"], ["1", "2"]).remark.startswith("undefined: example 2: '2,5' is not")
    # Without the third example, both sides are constant.
    score = of(["1", "1", "2"], ["1", "1", "2"])
    assert (score.value, score.why_no_values) == (1, "undefined without one context")
    assert score.values == pytest.approx([1, 1, math.nan], nan_ok=True)
    one = over_test_set("Classification-F1", answers(["a", "b"], ["a", "b"], ["c", "c"]))
    assert one.why_no_values == "one context"


@pytest.mark.parametrize("metric", METRICS)
def test_every_recipe_names_metric_gold_rule_and_spread(metric):
    text = recipe("any_of", over="splits", metric=metric)
    assert text.startswith(metric.lower())
    assert "|gold:any_of|" in text
    assert text.endswith("|sd:splits|ddof:1|v:1")


@pytest.mark.parametrize(
    ("metric", "kind", "said"),
    [
        ("Pearson-Correlation", "short text", "needs numbers"),
        ("EM", "number", "-3 and 3"),
        ("Classification-F1", "options", "averages over labels"),
        ("Rouge-L", "number", "words of texts"),
    ],
)
def test_a_metric_names_the_kinds_of_answer_it_does_not_fit(metric, kind, said):
    assert said in misfit(metric, kind)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("task", "metric"),
    [
        ("glue-rte", "ACC"), ("trec", "Classification-F1"), ("sick", "Classification-F1"),
        ("poem_sentiment", "Classification-F1"), ("squad-with_context", "QA-F1"),
        ("e2e_nlg_cleaned", "Rouge-L"),
    ],
)  # fmt: skip
def test_real_gym_test_files_equal_brute_force(task, metric):
    gym = read_task(SHARED / "data" / "gym" / task)
    lines = gym.lines[gym.seeds[0], "test"]
    rng, golds = random.Random(9), [list(line.golds) for line in lines]
    pool = [gold[0] for gold in golds]
    said = [gold[0] if rng.random() < 0.7 else rng.choice(pool) for gold in golds]
    contexts = [line.input for line in lines]
    score = over_test_set(metric, answers(said, golds, contexts, rule="any_of"))
    assert score.value == METRICS[metric].corpus(said, golds)
    assert statistics.fmean(score.values) == pytest.approx(score.value, abs=1e-12)
    if metric in WHOLE:
        groups = {context: contexts.count(context) for context in contexts}
        plain = {}
        for context, size in groups.items():
            kept = [place for place, other in enumerate(contexts) if other != context]
            rest = METRICS[metric].corpus([said[i] for i in kept], [golds[i] for i in kept])
            times = len(said) / size
            plain[context] = times * score.value - (times - 1) * rest
        values = [plain[context] for context in contexts]
        moved = statistics.fmean(values) - score.value
        assert score.values == pytest.approx([value - moved for value in values], abs=1e-9)
