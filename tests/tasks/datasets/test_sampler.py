"""Drawn sets are nested, disjoint, stratified, and the same for the same texts and seed."""

import itertools
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.making import Plan, draw
from tasks.datasets.table import DatasetError

SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True)


@st.composite
def drawings(draw_from):
    """Draw items of up to five labels, and a plan for which they suffice."""
    sizes = draw_from(SIZES)
    splits, test = draw_from(st.integers(1, 4)), draw_from(st.integers(1, 30))
    number = splits * max(sizes) + test + draw_from(st.integers(0, 20))
    labels = draw_from(st.lists(st.sampled_from("abcde"), min_size=number, max_size=number))
    items = [(f"key {place}", label, "") for place, label in enumerate(labels)]
    return items, Plan(tuple(sizes), splits, test, draw_from(st.integers(0, 2**63 - 1)))


@given(drawings())
def test_sets_have_the_planned_sizes_and_are_nested(drawing):
    items, plan = drawing
    drawn = draw(items, plan)
    assert len(set(drawn.test)) == len(drawn.test) == plan.test
    sizes = sorted(plan.shots)
    largest = []
    for number in range(1, plan.splits + 1):
        sets = [drawn.trains[size, number] for size in sizes]
        assert [len(set(places)) for places in sets] == [len(p) for p in sets] == sizes
        assert all(set(a) < set(b) for a, b in itertools.pairwise(sets))
        largest.append(set(sets[-1]))
    together = [set(drawn.test), *largest, set(drawn.unused)]
    assert sum(map(len, together)) == len(items) == len(set().union(*together))


@pytest.mark.long
@given(drawings(), st.randoms(use_true_random=False))
def test_sets_do_not_depend_on_the_order_of_the_texts(drawing, random):
    items, plan = drawing
    places = list(range(len(items)))
    random.shuffle(places)
    shuffled = [items[place] for place in places]

    def keys(of, drawn):
        return [[of[p][0] for p in places] for places in (drawn.test, *drawn.trains.values())]

    assert keys(items, draw(items, plan)) == keys(shuffled, draw(shuffled, plan))


@pytest.mark.long
@given(drawings())
def test_every_set_is_stratified_as_closely_as_possible(drawing):
    """Until a label is used up, each count is within one of its share, plus rounding."""
    items, plan = drawing
    population = Counter(label for _key, label, _stratum in items)
    drawn = draw(items, plan)
    left = Counter(population)
    for places in (drawn.test, *(drawn.trains[max(plan.shots), n + 1] for n in range(plan.splits))):
        counts = Counter(items[place][1] for place in places)
        if any(left[label] - counts[label] == 0 for label in population):
            return
        left -= counts
        for label in population:
            share = len(places) * population[label] / len(items)
            assert abs(counts[label] - share) <= 1 + len(population) / 2


def test_two_labels_are_drawn_in_exact_proportion_at_every_size():
    items = [(f"{n}", "ab"[n % 4 == 0], "") for n in range(400)]
    drawn = draw(items, Plan((4, 8, 20), 5, 100, 1))
    assert Counter(items[p][1] for p in drawn.test) == {"a": 75, "b": 25}
    for (size, _number), places in drawn.trains.items():
        assert Counter(items[p][1] for p in places) == {"a": size * 3 // 4, "b": size // 4}


def test_strata_have_equal_numbers_in_every_set_and_nested_part():
    sizes = {"fiction": 300, "letters": 60, "travel": 40}
    items = [
        (f"{stratum} {n}", "ab"[n % 4 == 0], stratum)
        for stratum, size in sizes.items()
        for n in range(size)
    ]
    drawn = draw(items, Plan((4, 9), 5, 62, 1))
    for places in (drawn.test, *drawn.trains.values()):
        counts = Counter(items[p][2] for p in places)
        assert max(counts.values()) - min(counts[stratum] for stratum in sizes) <= 1
    tested = Counter(items[p][1:] for p in drawn.test)
    assert all(abs(tested["b", stratum] - 5) <= 1 for stratum in sizes)  # a quarter are labelled b
    # The seed decides which stratum gets one more.
    counts = [Counter(items[p][2] for p in drawn.trains[4, n]) for n in range(1, 6)]
    assert len({of_set.most_common(1)[0] for of_set in counts}) > 1


def test_an_exhausted_stratum_is_filled_up_by_the_others():
    items = [(f"{n}", "", "rare" if n < 3 else "ab"[n % 2]) for n in range(60)]
    drawn = draw(items, Plan((2,), 1, 15, 1))
    assert Counter(items[p][2] for p in drawn.test) == {"rare": 3, "a": 6, "b": 6}


def test_another_seed_draws_other_sets_and_draws_never_change():
    items = [(f"{n}", "", "") for n in range(100)]
    plans = [Plan((2, 4), 2, 5, seed) for seed in (1, 2)]
    assert draw(items, plans[0]).test != draw(items, plans[1]).test
    # Every later version must draw the same sets, unless METHOD gets another name.
    assert draw(items, plans[0]).test == [60, 94, 31, 57, 36]
    code = (
        "from tasks.datasets.making import Plan, draw;"
        "print(draw([(str(n), '', '') for n in range(100)], Plan((2, 4), 2, 5, 1)).trains)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(draw(items, plans[0]).trains)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (((), 1, 1, 0), "--shots: expected different sizes"),
        (((10, 10), 1, 1, 0), "--shots: expected different sizes"),
        (((0,), 1, 1, 0), "--shots: expected 1 to"), (((10,), 0, 1, 0), "--splits"),
        (((10,), 1, 0, 0), "--test"), (((10,), 1, 1, -1), "--seed"),
        (((10, 30), 5, 200, 0), "100 different examples, but 350 are needed: 200 for the test and"),
    ],
)  # fmt: skip
def test_an_impossible_draw_is_refused_with_numbers(plan, sentence):
    with pytest.raises(DatasetError) as caught:
        draw([(str(n), "", "") for n in range(100)], Plan(*plan))
    assert sentence in str(caught.value)
