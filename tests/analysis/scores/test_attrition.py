"""Attrition by arm: completion rates, Fisher's exact test and Lee bounds for each difference."""

import csv
import io
import itertools
import math
from fractions import Fraction

import pytest
from django.urls import reverse

from analysis.documents.blocks import Grid
from analysis.scores import attrition as table
from analysis.stats import significance
from annotation.models import Kind
from annotation.privacy import withdrawal
from annotation.protocol import exclusion
from annotation.recruitment import consent, seats
from tests import factories
from tests.analysis.documents.reports import block


def fisher_by_hand(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Enumerate who could have completed; return the share of outcomes no likelier than ours."""
    (a, rows), (b, others) = first, second
    ways = [
        sum(person < rows for person in chosen)
        for chosen in itertools.combinations(range(rows + others), a + b)
    ]
    likely = {k: ways.count(k) for k in set(ways)}
    return sum(n for n in likely.values() if n <= likely[a]) / len(ways)


@pytest.mark.parametrize(
    ("first", "second"),
    [((3, 3), (1, 4)), ((2, 5), (4, 5)), ((0, 3), (3, 3)), ((4, 6), (5, 7)), ((3, 3), (3, 3))],
)
def test_fisher_p_equals_the_sum_over_all_tables(first, second):
    p = significance.fisher((first[0], second[0]), (first[1], second[1]))
    assert p == pytest.approx(fisher_by_hand(first, second))


def test_an_empty_arm_has_no_test():
    assert math.isnan(significance.fisher((0, 1), (0, 3)))


def bounds_by_hand(first, second, shares) -> tuple[float, float]:
    """Return the extreme differences over all ways to trim, with scores cut into equal pieces."""
    low_share, high_share = sorted(shares)
    trim = (high_share - low_share) / high_share
    trimmed, whole = (first, second) if shares[0] > shares[1] else (second, first)
    pieces = [score for score in trimmed for _ in range(trim.denominator)]
    left = len(trimmed) * trim.denominator - len(trimmed) * trim.numerator
    means = [sum(kept) / left for kept in itertools.combinations(pieces, left)]
    other = sum(whole) / len(whole)
    if shares[0] > shares[1]:
        return other - max(means), other - min(means)
    return min(means) - other, max(means) - other


@pytest.mark.parametrize(
    ("first", "second", "shares"),
    [
        ([70, 82, 91], [60, 75, 99], (Fraction(3, 4), Fraction(1))),
        ([70, 82, 91], [60, 75, 99], (Fraction(1), Fraction(3, 4))),
        ([70, 70, 91, 95], [88, 90], (Fraction(4, 5), Fraction(2, 5))),
        ([50.5, 80], [12, 70, 71, 72], (Fraction(1, 2), Fraction(3, 4))),
        ([50], [60, 80], (Fraction(1), Fraction(1))),
    ],
)
def test_lee_bounds_are_the_extremes_over_every_way_to_trim(first, second, shares):
    found = significance.lee_bounds(first, second, (float(shares[0]), float(shares[1])))
    assert found == pytest.approx(bounds_by_hand(first, second, shares))


def test_an_unknown_score_has_no_bounds():
    bounds = significance.lee_bounds([50, math.nan], [60, 80], (1, 0.5))
    assert all(map(math.isnan, bounds))


# A study ------------------------------------------------------------------------------------------


@pytest.fixture
def study(researcher):
    """At 0 shots, 3 of 3 complete; at 2 shots, 2 of 4, and one more is still working."""
    task = factories.make_task(test_size=4)
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=4)
    zero, two = (study.scenarios.get(shots=shots) for shots in (0, 2))

    def work(scenario, wrong: int):
        seat = factories.seat(scenario)
        factories.work_through(
            seat,
            lambda turn: (
                factories.wrong_texts(turn.example)
                if turn.step == "annotation" and turn.position < wrong
                else factories.right_texts(turn.example)
            ),
        )
        return seat

    for wrong in (1, 2, 3):
        work(zero, wrong)
    for wrong in (0, 2):
        work(two, wrong)
    left = [factories.seat(two) for _ in range(2)]
    withdrawal.withdraw(left[0].token)
    seats.release_seat(left[1], "expired")
    declined = factories.join(study)
    consent.record(declined, agree=False)
    factories.seat(two)  # still working, so not counted
    return study


@pytest.mark.long
def test_attrition_shares_exclude_annotators_still_working(study):
    (row,) = table.attritions(study, Kind.PERSON)
    assert (row.completed_from, row.began_from, row.completed_to, row.began_to) == (3, 3, 2, 4)
    assert (row.share_from, row.share_to, row.trimmed) == (1, 0.5, 0.5)
    assert row.p_fisher == pytest.approx(fisher_by_hand((3, 3), (2, 4)))
    # The scores at 0 shots are 75, 50 and 25; trimming half of them leaves 1.5 scores.
    assert row.difference == pytest.approx(75 - 50)
    assert row.lee_low == pytest.approx(75 - (75 + 0.5 * 50) / 1.5)
    assert row.lee_high == pytest.approx(75 - (25 + 0.5 * 50) / 1.5)


@pytest.mark.long
def test_an_exclusion_is_not_counted_as_attrition(study):
    before = next(table.attritions(study, Kind.PERSON))
    exclusion.decide(study.participations.analysed().first(), False, "asleep", study.owner)
    after = next(table.attritions(study, Kind.PERSON))
    assert (after.completed_from, after.began_from) == (before.completed_from, before.began_from)


@pytest.mark.long
def test_page_csv_api_and_report_have_the_table(ada, study):
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert '<h2 id="attrition">Attrition by number of shots</h2>' in page
    assert "2 of 4 (50%)" in page
    address = reverse("analysis_file", args=[study.name, "attrition"])
    (row,) = csv.DictReader(io.StringIO(ada.get(address).content.decode()))
    (own,) = table.attritions(study, Kind.PERSON)
    assert float(row["lee_low"]) == pytest.approx(own.lee_low / 100)
    (reply,) = ada.get(f"/api/v1/studies/{study.name}/analysis/").json()
    assert reply["attrition"][0]["p_fisher"] == own.p_fisher
    grid = block(study, "Uncertainty and differences", Grid, "Attrition by number of shots")
    assert grid.rows[0][2:4] == ["3 of 3 (100%)", "2 of 4 (50%)"]
