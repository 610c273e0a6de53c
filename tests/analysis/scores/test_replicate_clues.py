"""One command rehearses CLUES with anchors and confidence, and recovers the simulated values."""

import io
import math

import pytest
from django.core.management import call_command

from analysis.scores.anchors import ANCHORS
from analysis.scores.columns import as_csv
from analysis.scores.confidence import CALIBRATION, CONFIDENCE
from annotation.models import Kind, Study
from tests.conftest import CLUES

RIGHT, SD = 0.8, 0.1  # of the default policy, noisy:0.8:0.1
PEOPLE, ANCHOR_EXAMPLES, TEST = 10, 12, 210  # ten people, the fewest with bootstrap intervals


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.timeout(600)
def test_anchors_and_confidence_recover_the_values_of_the_default_policy(db):
    """Tolerances are 2.5 standard errors of the estimates, from the values of the policy."""
    out = io.StringIO()
    call_command(
        "replicate_clues", str(CLUES), anchors=12, confidence=0.2, tasks=["SST-2"], shots=[0, 10],
        annotators=PEOPLE, processes=1, stdout=out,
    )  # fmt: skip
    study = Study.objects.get()
    assert study.name == "clues-noisy-08-01"
    spread = math.hypot(SD, math.sqrt((RIGHT * (1 - RIGHT) - SD**2) / TEST))

    (anchors,) = ANCHORS.rows(study, Kind.SIMULATED)
    error = 2.5 * 100 * spread * math.sqrt(2 / PEOPLE)
    assert anchors.raw.difference == pytest.approx(0, abs=error)
    of_anchors = math.hypot(SD, math.sqrt((RIGHT * (1 - RIGHT) - SD**2) / ANCHOR_EXAMPLES))
    correlation = SD**2 / (spread * of_anchors)
    assert correlation == pytest.approx(0.65, abs=0.01)
    assert anchors.adjusted.r == pytest.approx(correlation, abs=2.5 * 0.15)
    assert anchors.adjusted.difference == pytest.approx(0, abs=error)
    assert anchors.adjusted.low < 0 < anchors.adjusted.high
    assert anchors.adjusted.why_not == anchors.raw.why_not == anchors.balance.why_not == ""
    narrower = (anchors.adjusted.high - anchors.adjusted.low) / (anchors.raw.high - anchors.raw.low)
    assert narrower < 1
    for mean in (anchors.anchor_mean_from, anchors.anchor_mean_to):
        assert mean == pytest.approx(100 * RIGHT, abs=2.5 * 100 * of_anchors / math.sqrt(PEOPLE))

    cells = CONFIDENCE.rows(study, Kind.SIMULATED)
    rated = PEOPLE * TEST // 5
    assert [(row.shots, row.n, row.answers) for row in cells] == [
        (shots, PEOPLE, rated) for shots in (0, 10)
    ]
    for row in cells:
        over, low, high, why_not = row.over
        # Calibrated. Which answers are rated differs between runs, so allow four standard errors.
        assert abs(over) < high - low
        assert why_not == ""
        assert row.confidence[0] == pytest.approx(100 * RIGHT, abs=4)
        # Brier score of the share of successes in four trials with the same probability.
        assert row.brier[0] == pytest.approx(RIGHT * (1 - RIGHT) * 3 / 4, abs=0.03)
    points = CALIBRATION.rows(study, Kind.SIMULATED)
    assert {row.point for row in points} >= {2, 3, 4, 5}
    often = [row for row in points if row.answers > 50]
    assert len(often) >= 4
    for row in often:
        error = 4 * math.sqrt(row.chance * (100 - row.chance) / row.answers)
        assert row.s1[0] == pytest.approx(row.chance, abs=error)

    for table in (ANCHORS, CONFIDENCE, CALIBRATION):
        assert as_csv(table.columns, table.rows(study, Kind.SIMULATED)) in out.getvalue()
