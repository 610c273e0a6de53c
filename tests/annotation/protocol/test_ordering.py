"""Orders of examples are seeded and complete, and separate questions about one sentence."""

from hypothesis import given
from hypothesis import strategies as st

from annotation.models import Study
from annotation.protocol.training_step import order_examples

APART, TOGETHER, FILE = Study.Order.SHUFFLED_APART, Study.Order.CONTEXTS_TOGETHER, "file_order"
THREE_EACH = [(number, number // 3) for number in range(600)]


@given(
    contexts=st.lists(st.integers(0, 5), max_size=40),
    how=st.sampled_from(list(Study.Order)),
    seed=st.text(max_size=5),
)
def test_every_example_comes_exactly_once(contexts, how, seed):
    examples = list(enumerate(contexts))
    assert sorted(order_examples(examples, how, seed)) == list(range(len(contexts)))


def test_order_depends_on_the_seed():
    assert order_examples(THREE_EACH, APART, "1") == order_examples(THREE_EACH, APART, "1")
    assert order_examples(THREE_EACH, APART, "1") != order_examples(THREE_EACH, APART, "2")


def test_questions_of_a_sentence_are_a_sixth_of_the_step_apart():
    for seed in range(20):
        order = order_examples(THREE_EACH, APART, str(seed))
        place = {example: index for index, example in enumerate(order)}
        gaps = [
            abs(place[first] - place[second])
            for group in range(200)
            for first in range(3 * group, 3 * group + 3)
            for second in range(first + 1, 3 * group + 3)
        ]
        assert min(gaps) > 60


def test_questions_of_a_sentence_are_not_always_in_file_order():
    order = order_examples(THREE_EACH, APART, "1")
    place = {example: index for index, example in enumerate(order)}
    firsts = [min(range(3 * g, 3 * g + 3), key=place.__getitem__) % 3 for g in range(200)]
    assert {firsts.count(0) > 30, firsts.count(1) > 30, firsts.count(2) > 30} == {True}


def test_contexts_together_are_in_a_row_and_in_file_order():
    order = order_examples(THREE_EACH, TOGETHER, "1")
    assert all(order[i + 1] == order[i] + 1 == order[i + 2] - 1 for i in range(0, 600, 3))
    assert order != list(range(600))


def test_file_order_does_not_shuffle():
    assert order_examples(THREE_EACH, FILE, "1") == list(range(600))
