"""The average relative gain (ARG): the paper's example, order of averaging, and intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.stats import arg

NAMES = ("glue-sst2", "glue-cola")


def test_the_papers_example_is_seven_and_a_half_percent():
    result = arg.average_relative_gain([("a", [50], [70]), ("b", [40], [30])])
    assert result.arg == pytest.approx(0.075)
    assert result.difference == pytest.approx(5)
    assert math.isnan(result.interval[0])
    assert result.why_no_interval == "an arm has one annotator"


def test_people_are_averaged_before_anything_is_divided():
    result = arg.average_relative_gain([("a", [0.50, 0.60], [0.70, 0.60])])
    assert result.arg == pytest.approx(0.1818, abs=1e-4)  # the mean of ratios would be .20


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        ([0.0, 0.0], "at or below zero"),
        ([-0.1, -0.1], "at or below zero"),
        ([0.005, 0.005], "below 0.01"),
        ([0.3, 0.0, 0.0], "standard errors from zero"),
        ([math.nan, 0.5], "undefined"),
    ],
)
def test_a_refused_base_near_zero_still_has_a_difference(base, reason):
    tasks = [("good", [0.5, 0.6, 0.55], [0.7, 0.66, 0.6]), ("bad", base, [0.4, 0.5, 0.4])]
    result = arg.average_relative_gain(tasks)
    (refused,) = result.refused
    assert refused.task == "bad"
    assert reason in refused.refused
    assert math.isnan(refused.relative)
    # No mean is taken over the other tasks, because chance decides which ones remain.
    assert math.isnan(result.arg)
    assert all(map(math.isnan, result.interval))
    assert (result.method, result.why_no_interval) == ("", "a task has no relative gain")
    alone = arg.average_relative_gain(tasks[:1])
    good, _bad = result.gains
    assert good.relative == alone.arg
    assert math.isfinite(alone.interval[0])
    assert math.isnan(result.difference) or result.difference != alone.difference


def test_one_refused_base_leaves_no_mean_over_tasks():
    """With bases of .15 and an SD of .15 between people, chance decides which tasks are refused."""
    draw = np.random.default_rng(4)
    means = []
    for _ in range(500):
        tasks = [
            (str(task), draw.normal(0.15, 0.15, 5), draw.normal(0.18, 0.15, 5)) for task in range(3)
        ]
        result = arg.average_relative_gain(tasks)
        refused = len(result.refused)
        assert math.isnan(result.arg) == (refused > 0)
        assert math.isfinite(result.difference)
        means.append(refused)
    assert sum(0 < number < 3 for number in means) > 100  # a mean would be over only some tasks


def test_an_undefined_mean_of_an_arm_leaves_no_mean_over_tasks():
    good = ("good", [0.5, 0.6, 0.55], [0.7, 0.66, 0.6])
    result = arg.average_relative_gain([good, ("bad", [0.5, 0.4], [math.nan, 0.5])])
    (refused,) = result.refused
    assert (refused.task, refused.refused) == ("bad", "the mean of the arm is undefined")
    assert math.isnan(result.arg)
    assert math.isnan(result.interval[0])
    assert result.gains[0].relative == arg.average_relative_gain([good]).arg
    assert math.isnan(result.difference)
    assert all(map(math.isnan, result.difference_interval))


def test_arg_is_undefined_if_every_base_is_refused():
    result = arg.average_relative_gain([("bad", [0.0, 0.0], [0.4, 0.5])])
    assert math.isnan(result.arg)
    assert result.why_no_interval == "no task has a base to divide by"
    assert result.difference == pytest.approx(0.45)


def test_an_arm_that_scores_zero_has_a_gain_and_no_interval():
    """A gain of -100 % has no variance, by which the delta method used to divide."""
    result = arg.average_relative_gain([("a", [0.5, 0.6, 0.55], [0.0, 0.0, 0.0])])
    assert result.arg == -1
    assert math.isnan(result.interval[0])
    assert result.why_no_interval == "annotators tie"
    assert all(map(math.isfinite, result.difference_interval))


def test_fieller_interval_holds_the_ratios_a_t_test_accepts():
    draw = np.random.default_rng(3)
    base, new = draw.normal(0.5, 0.1, 8), draw.normal(0.6, 0.1, 8)
    result = arg.average_relative_gain([("a", base, new)])
    assert result.method == "Fieller"
    (gain,) = result.gains
    t = stats.t.ppf(0.975, arg.satterthwaite(gain.parts()))
    for end in result.interval:
        ratio = 1 + end
        error = math.sqrt(new.var(ddof=1) / 8 + ratio**2 * base.var(ddof=1) / 8)
        assert abs(new.mean() - ratio * base.mean()) == pytest.approx(t * error)
    low, high = result.interval
    assert result.arg - low < high - result.arg  # unlike the delta method's, it is skewed


def test_delta_method_agrees_with_bootstrap_for_many_annotators():
    draw = np.random.default_rng(5)
    tasks = [(name, draw.normal(0.6, 0.08, 80), draw.normal(0.7, 0.08, 80)) for name in NAMES]
    result = arg.average_relative_gain(tasks)
    assert result.method == "delta method"
    means = [[draw.choice(arm, (10_000, 80)).mean(1) for arm in task[1:]] for task in tasks]
    resampled = np.mean([new / base - 1 for base, new in means], axis=0)
    assert np.quantile(resampled, [0.025, 0.975]) == pytest.approx(result.interval, abs=0.006)


def test_an_empty_arm_and_a_study_without_tasks_are_refused():
    with pytest.raises(ValueError, match="a: an arm without participants"):
        arg.average_relative_gain([("a", [], [0.5])])
    with pytest.raises(ValueError, match="no unseen task"):
        arg.average_relative_gain([])


def test_people_needed_for_a_given_width_of_the_gain():
    """Base 70, SD 6: 10 people per arm give ± 7.5 %, and ± 5 % takes 23 (24 with Student's t)."""
    plan = [arg.TaskGain("a", 70, 70, 6, 6, 1, 1)]
    assert arg.half_width(plan, 10, t=False) == pytest.approx(0.0751, abs=1e-4)
    assert arg.people_needed(0.05, plan, t=False) == 23
    people = arg.people_needed(0.05, plan)
    assert people == 24
    assert arg.half_width(plan, people, t=True) <= 0.05 < arg.half_width(plan, people - 1, t=True)
    # Four such tasks halve the width, with the same number of people in each.
    assert arg.half_width(plan * 4, 10, t=False) == pytest.approx(0.0751 / 2, abs=1e-4)


def test_a_plan_needs_a_width_a_base_and_an_sd():
    plan = arg.TaskGain("a", 70, 70, 6, 6, 1, 1)
    with pytest.raises(ValueError, match="above 0"):
        arg.people_needed(0, [plan])
    with pytest.raises(ValueError, match="base to divide by"):
        arg.people_needed(0.05, [arg.TaskGain("a", 0, 70, 6, 6, 1, 1, refused="zero")])
    with pytest.raises(ValueError, match="requires an SD"):
        arg.people_needed(0.05, [arg.TaskGain("a", 70, 70, 0, 0, 1, 1)])


@pytest.mark.parametrize("tasks", [1, 3])
def test_p_is_5_percent_if_the_interval_ends_at_zero(tasks):
    base, spread = [0.5, 0.6, 0.55, 0.7], np.array([-0.06, 0.02, 0.0, 0.04])

    def of(shift: float) -> arg.Arg:
        new = list(0.6 + shift + spread)
        return arg.average_relative_gain([(f"task {n}", base, new) for n in range(tasks)])

    low, high = 0.0, 0.3
    for _ in range(50):
        shift = (low + high) / 2
        low, high = (low, shift) if of(shift).interval[0] > 0 else (shift, high)
    assert of(shift).p == pytest.approx(0.05)
    assert of(0.3).p < 0.05 < of(0.01).p
    assert math.isnan(arg.average_relative_gain([("a", [0.5], [0.7])]).p)


def test_the_shares_of_gains_in_the_paper():
    """CrossFit prints 51.47, 35.93 and 12.60 %. These are the smallest counts that give them."""
    gains = [0.06] * 719 + [0.0] * 502 + [-0.06] * 176
    shares = [f"{100 * share:.2f}" for share, _low, _high in arg.bands(gains).values()]
    assert shares == ["51.47", "35.93", "12.60"]
