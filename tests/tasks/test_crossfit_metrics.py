"""The metrics of the NLP Few-shot Gym equal the authors' code and other packages."""

import json
import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge import Rouge
from scipy.stats import pearsonr
from sklearn.metrics import f1_score, matthews_corrcoef

from tasks.metrics import METRICS
from tasks.metrics.texts import MAX_WORDS
from tests.conftest import SHARED

WORDS = st.sampled_from(["red", "Red", "dog", "the", "U.N.", "cat.", ".", "!", "a", "on"])
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
LABELS = st.sampled_from(["acceptable", "unacceptable", "Acceptable", "other"])


@pytest.mark.real_data
def test_every_metric_equals_the_authors_code_on_their_175_cases():
    path = SHARED / "data" / "vectors" / "crossfit_metrics.jsonl"
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(cases) == 175
    assert {case["metric"] for case in cases} == set(METRICS) - {"S1"}
    for case in cases:
        value = METRICS[case["metric"]].corpus(case["predictions"], case["golds"])
        assert value == pytest.approx(case["value"], abs=1e-9), case


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_rouge_l_equals_the_package(prediction, golds):
    """They are compared where the package gives a score: it refuses texts without a sentence."""
    golds = [gold for gold in golds if gold.replace(".", "")]
    said = prediction.strip()
    value = METRICS["Rouge-L"].example(prediction, golds)
    if not golds or not said.translate(str.maketrans("", "", string.punctuation)):
        assert value == 0
        return
    best = max(Rouge().get_scores(said, gold)[0]["rouge-l"]["f"] for gold in golds)
    assert value == pytest.approx(best, abs=1e-12)


@pytest.mark.long
@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=30))
def test_classification_f1_and_matthews_equal_scikit_learn(pairs):
    said, right = zip(*pairs, strict=True)
    golds = [[label, "another gold is not looked at"] for label in right]
    f1 = METRICS["Classification-F1"].corpus(said, golds)
    assert f1 == pytest.approx(f1_score(right, said, average="macro"), abs=1e-12)
    acceptable = [[label == "acceptable" for label in labels] for labels in (right, said)]
    expected = matthews_corrcoef(*acceptable)
    assert METRICS["Matthew-Correlation"].corpus(said, golds) == pytest.approx(expected, abs=1e-9)


@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.floats(-1e3, 1e3, allow_nan=False)),
        min_size=3,
        max_size=20,
    ).filter(lambda pairs: all(max(side) - min(side) > 1e-3 for side in zip(*pairs, strict=True)))
)
def test_pearson_equals_scipy(pairs):
    said, right = zip(*pairs, strict=True)
    value = METRICS["Pearson-Correlation"].corpus(
        [f" {x}" for x in said], [[str(y)] for y in right]
    )
    assert value == pytest.approx(pearsonr(said, right)[0], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "prediction", "golds", "expected"),
    [
        ("EM", " The  Dog! ", ["a cat", "dog"], 1),
        ("EM", "a", ["the"], 1),
        ("QA-F1", "a", ["the"], 0),
        ("QA-F1", "red dog dog", ["the dog"], 0.5),
        ("ACC", "POSITIVE ", ["positive"], 1),
        ("ACC", "positive.", ["positive"], 0),
        ("EM", "anything", [], 0),
        ("Rouge-L", "?!", ["?!"], 0),
        ("S1", ["a", "b"], ["b", "c", "d"], 0.4),
    ],
)
def test_worked_examples_of_each_metric(name, prediction, golds, expected):
    assert METRICS[name].example(prediction, golds) == pytest.approx(expected)


def test_a_long_reordered_text_scores_nearly_1_without_recursion():
    sentences = [" ".join(f"w{number * 50 + place}" for place in range(50)) for number in range(20)]
    forth, back = ". ".join(sentences), ". ".join(reversed(sentences))
    assert METRICS["Rouge-L"].example(forth, [back]) == pytest.approx(1, abs=1e-7)
    words = " ".join(f"w{number}" for number in range(MAX_WORDS))
    assert METRICS["Rouge-L"].example(words, [words]) == pytest.approx(1, abs=1e-7)


def test_only_the_first_words_of_a_text_count():
    words = [f"w{number}" for number in range(MAX_WORDS)]
    text, longer = " ".join(words), " ".join([*words, *["more"] * 100_000])
    rouge = METRICS["Rouge-L"]
    assert rouge.example(longer, [text]) == rouge.example(text, [text])
    assert rouge.example(text, [longer]) == rouge.example(text, [text])
    assert rouge.example(text, [" ".join([*["more"] * MAX_WORDS, *words])]) == 0
    in_sentences = ". ".join(words[:10]) + ". " + longer
    assert rouge.example(in_sentences, [longer]) == pytest.approx(1, abs=0.02)
    assert f"first {MAX_WORDS}" in rouge.recipe


def test_a_constant_side_has_a_remark_instead_of_a_bare_nan():
    pearson, matthews = METRICS["Pearson-Correlation"], METRICS["Matthew-Correlation"]
    assert math.isnan(pearson.corpus(["3", "3.0"], [["1"], ["2"]]))
    assert pearson.remark(["3", "3.0"], [["1"], ["2"]]) == "undefined: constant prediction"
    assert pearson.remark(["3", "4"], [["2"], ["2"]]) == "undefined: constant gold"
    assert pearson.remark(["3", "4"], [["1"], ["2"]]) == ""
    golds = [["acceptable"], ["unacceptable"]]
    assert matthews.corpus(["no", "never"], golds) == 0
    assert matthews.remark(["no", "never"], golds) == "constant prediction"
    assert METRICS["EM"].remark(["x", "x"], golds) == ""


@pytest.mark.parametrize(
    ("name", "predictions", "golds", "said"),
    [
        ("EM", [], [], "one example or more"),
        ("ACC", ["a"], [["a"], ["b"]], "1 predictions for 2 examples"),
        ("Classification-F1", ["a", "b"], [["a"], []], "example 2 has no gold"),
        ("Pearson-Correlation", ["1", "1,5"], [["1"], ["2"]], "example 2: '1,5' is not a finite"),
        ("Pearson-Correlation", ["1", "1e400"], [["1"], ["2"]], "example 2: '1e400'"),
        ("Pearson-Correlation", ["1"], [["1"]], "two examples"),
    ],
)
def test_an_unscorable_text_is_refused_with_its_place(name, predictions, golds, said):
    with pytest.raises(ValueError, match=said):
        METRICS[name].corpus(predictions, golds)


def test_set_metrics_do_not_score_a_single_example():
    whole = {name for name, metric in METRICS.items() if not metric.is_mean}
    assert whole == {"Classification-F1", "Matthew-Correlation", "Pearson-Correlation"}
    for name in whole:
        with pytest.raises(TypeError, match="whole test set"):
            METRICS[name].example("1", ["1"])
