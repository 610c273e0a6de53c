"""Learning and drift, on numbers that can be checked by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.stats import learning, uncertainty


def frame(**people: list[float]) -> pd.DataFrame:
    """Return the answers of one group: each annotator's S1 in order of position."""
    rows = [
        {"task": "toy", "shots": 10, "annotator": name, "position": position, "s1": s1}
        for name, values in people.items()
        for position, s1 in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(seconds=1.0, step="annotation")


def test_the_slope_is_that_of_a_fitted_line():
    assert learning.slope([0.2, 0.4, 0.6]) == pytest.approx(0.2)
    assert learning.slope([0, 0, 1, 1]) == pytest.approx(0.4)
    assert learning.per_hundred([0, 0, 1, 1]) == pytest.approx(40)
    assert math.isnan(learning.slope([1]))


def test_a_decline_is_negative_in_halves_and_slope():
    assert learning.half_difference([1, 1, 0, 0]) == -1
    assert learning.slope([1, 1, 0, 0]) < 0
    assert math.isnan(learning.half_difference([1]))


def test_the_middle_answer_is_in_neither_half():
    assert learning.half_difference([0, 0, 1, 1, 1]) == 1
    assert learning.half_difference([1, 0, 1]) == 0


def test_the_slope_p_of_one_person_is_over_all_orders():
    # Of the six orders of 0 0 1 1, two are as steep: 0 0 1 1 and 1 1 0 0.
    p = learning.slope_p([[0, 0, 1, 1]], seed=1, resamples=20_000)
    assert p == pytest.approx(1 / 3, abs=0.015)


def test_the_slope_p_of_two_people_shuffles_each_of_them():
    # Of the 6 x 6 orders, two are as steep: both rising or both falling.
    p = learning.slope_p([[0, 0, 1, 1], [0, 0, 1, 1]], seed=1, resamples=20_000)
    assert p == pytest.approx(1 / 18, abs=0.008)


def test_opposite_slopes_cancel():
    assert learning.slope_p([[0, 0, 1, 1], [1, 1, 0, 0]]) == 1


def test_constant_scores_have_a_slope_p_of_1():
    assert learning.slope_p([[1, 1, 1]]) == 1
    assert math.isnan(learning.slope_p([[1]]))


def test_a_seed_gives_the_same_p_again():
    values = [list(np.linspace(0, 1, 12)[::-1] ** 2), [0.0, 1.0] * 6]
    assert learning.slope_p(values, seed=3) == learning.slope_p(values, seed=3)
    assert learning.slope_p(values, seed=3) != learning.slope_p(values, seed=4)


def test_answers_are_grouped_in_blocks_of_five_and_a_rest():
    blocks = learning.by_block(frame(ann=[0] * 5 + [1] * 5 + [0.5, 1]))
    assert list(blocks["s1"]) == [0, 100, 75]
    assert list(zip(blocks["first"], blocks["last"], blocks["n"], strict=True)) == [
        (1, 5, 5),
        (6, 10, 5),
        (11, 12, 2),
    ]


def test_a_step_is_divided_into_ten_equal_parts():
    parts = learning.by_part(frame(ann=[0, 1] * 10, bob=[1.0] * 20))
    assert list(parts.loc[parts["annotator"] == "ann", "s1"]) == [50] * 10
    assert list(parts.loc[parts["annotator"] == "bob", "part"]) == list(range(1, 11))
    assert set(parts["n"]) == {2}


def test_a_short_step_has_a_part_for_each_example():
    assert list(learning.by_part(frame(ann=[0, 1, 0]))["part"]) == [1, 2, 3]


def test_the_mean_of_a_group_is_over_annotators():
    parts = learning.by_part(frame(ann=[0, 0], bob=[1, 0]))
    means = learning.group_means(parts, ["part"])
    assert list(means["s1"]) == [50, 0]
    assert list(means["n"]) == [2, 2]
    # The t interval around 50 is cut at both ends; equal scores have none.
    assert means[["low", "high"]].to_numpy().tolist()[0] == [0, 100]
    assert means[["low", "high"]].iloc[1].isna().all()


def test_the_interval_of_a_group_is_the_t_interval_of_its_annotators():
    scores = [40.0, 50.0, 60.0, 55.0]
    parts = pd.DataFrame({"task": "toy", "shots": 10, "part": 1, "s1": scores})
    (mean,) = learning.group_means(parts, ["part"]).itertuples()
    interval = uncertainty.t_interval(scores)
    assert (mean.low, mean.high) == pytest.approx((interval.low, interval.high))


def test_the_order_of_the_rows_does_not_matter():
    answers = frame(ann=[0, 0, 1, 1], bob=[0, 1, 1, 1])
    mixed = answers.sample(frac=1, random_state=1)
    assert list(learning.drift_rows(mixed)) == list(learning.drift_rows(answers))
    assert list(learning.learning_rows(mixed, 1)) == list(learning.learning_rows(answers, 1))


def test_learning_rows_of_two_annotators():
    (row,) = learning.learning_rows(frame(ann=[0] * 5 + [1] * 5, bob=[1] * 10), seed=1)
    assert (row.task, row.shots, row.n, row.examples) == ("toy", 10, 2, 10)
    assert (row.first_block, row.last_block) == (50, 100)
    # Ann's slope is 12.5 / 82.5 per example and Bob's is 0; the row is in points per ten examples.
    assert row.slope_per_10 == pytest.approx(1000 * 12.5 / 82.5 / 2)
    assert row.p < 0.05


def test_drift_rows_of_two_annotators():
    (row,) = learning.drift_rows(frame(ann=[1, 1, 0, 0], bob=[1, 1, 1, 1]))
    assert row.half == -50
    # t(.975, 1) = 12.706; the standard error of -100 and 0 is 50.
    assert row.half_low == pytest.approx(-50 - 12.7062 * 50, abs=0.01)
    assert row.per_100 == pytest.approx(100 * -40 / 2)


def test_one_annotator_has_no_interval():
    (row,) = learning.drift_rows(frame(ann=[1, 0]))
    assert row.half == -100
    assert math.isnan(row.half_low)


def test_a_fitted_gain_is_at_most_a_hundred_points():
    curve = [0, 0, 1, 1]
    assert learning.plateaus(np.array([curve]))[1] == pytest.approx(12 / 11)
    (row,) = learning.plateau_rows(frame(ann=curve).assign(task="a", shots=4), seed=1)
    assert (row.point[0], row.gain[0]) == (2, 100)


def test_cells_of_equal_size_share_their_resamples():
    people = frame(**{f"p{n}": [0, 0, 1, n % 2] for n in range(10)})
    cells = [people.assign(task=task, shots=shots) for task in ("b", "a") for shots in (20, 10)]
    uncertainty.draws.cache_clear()
    rows = learning.plateau_rows(pd.concat(cells), seed=1)
    assert [(row.task, row.shots) for row in rows] == [("a", 10), ("a", 20), ("b", 10), ("b", 20)]
    assert uncertainty.draws.cache_info().misses == 2
    # The draws depend only on the seed and the number of shots.
    assert (rows[0].point, rows[1].gain) == (rows[2].point, rows[3].gain)
