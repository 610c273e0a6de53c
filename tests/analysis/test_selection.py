"""Admission of the arms: pass rates, what the rule does by itself, and who is warned of it."""

import csv
import io
import itertools
import math

import pytest
from django.urls import reverse

from analysis.documents import preregistration, report
from analysis.documents.blocks import Grid
from analysis.stats import selection as simulation
from analysis.tables import findings, resampling, selection
from annotation.models import Kind, Study
from annotation.steps import qualification
from annotation.study import admission
from tasks import jobs
from tests import factories
from tests.analysis import reports


def at_least_70(own, others):
    return own >= 70 - 1e-6


@pytest.mark.parametrize("people", [3, 20])
@pytest.mark.parametrize(
    ("k", "sd", "points"),
    [(10, 5, 0.5), (10, 8, 1.3), (10, 12, 2.7), (30, 5, 0.6), (30, 8, 1.5), (30, 12, 3.4)],
)
def test_the_gains_of_the_review(k, sd, points, people):
    """Training S1 of 70 or more, mean ability 80: measured independently of this code."""
    gain = simulation.gain(80, sd, k, people, at_least_70, seed=7)
    assert gain.mean == pytest.approx(points, abs=0.3)
    assert gain.low < gain.mean < gain.high
    assert gain == simulation.gain(80, sd, k, people, at_least_70, seed=7)


def test_a_rule_that_nobody_fails_gains_nothing():
    gain = simulation.gain(80, 8, 10, 3, lambda own, others: True, seed=1)
    assert gain == simulation.NO_GAIN


def test_a_rule_that_nobody_passes_has_no_gain():
    assert math.isnan(simulation.gain(80, 8, 10, 3, lambda own, others: False, seed=1).mean)


def test_a_rule_against_the_others_sees_who_came_before():
    seen = []

    def rule(own, others):
        seen.append(len(others))
        return True

    simulation.gain(80, 8, 10, 3, rule, seed=1, studies=2)
    assert seen == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("rule", "shots", "screening", "warns", "screens"),
    [
        ("minimum", [0, 10, 20], 0, True, False),
        ("minimum", [0, 10, 20], 10, False, True),
        ("researcher", [0, 10], 0, True, False),
        ("none", [0, 10], 0, False, False),
        ("minimum", [10, 20], 0, False, False),
        ("minimum", [0], 10, False, True),
    ],
)
def test_none_against_k_is_warned_of_where_a_rule_judges_one_alone(
    rule, shots, screening, warns, screens
):
    told = admission.warning(rule, shots, screening)
    assert bool(told) == warns
    assert ("screening set" in told) == warns  # a way out
    assert ("screening set: 10 examples" in admission.screened(rule, shots, screening)) == screens


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Rule: training S1 of 60 or more of 4 examples; nobody is judged at 0 shots."""
    task = factories.make_task(shots=(4,), test_size=6)
    study = factories.make_study(
        module_researcher, task, shots=[0, 4], annotators=2,
        qualification="minimum", qualification_threshold=60,
    )  # fmt: skip
    zero, four = study.scenarios.order_by("shots")
    for scenario in (zero, four):
        factories.work_through(factories.seat(scenario))
        given = itertools.count()

        def right_at_first(turn, given=given):
            is_wrong = next(given) > 5
            return [turn.example.context[0].split()[0]] if is_wrong else turn.example.gold

        factories.work_through(factories.seat(scenario), right_at_first)
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def fail(study):
    """Somebody is screened out after the training step."""
    study.scenarios.filter(shots=4).update(seats=3)
    seat = factories.seat(study.scenarios.get(shots=4))
    factories.work_through(seat, lambda turn: [turn.example.context[0].split()[0]], limit=4)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "screened_out"


def finish(study, owner):
    job = resampling.job_of(study, Kind.PERSON, owner)
    while not job.is_done:
        jobs.advance(job)


def test_pass_rates_stand_beside_the_contrasts_and_gains_after_the_job(ada, researcher, study):
    fail(study)
    page = reverse("analysis", args=[study.name])
    shown = ada.get(page)
    zero, four = selection.admissions(study, Kind.PERSON)
    assert (zero.judged_by, zero.judged, zero.admitted) == (0, 0, 0)
    assert (four.judged_by, four.judged, four.admitted) == (4, 3, 2)
    text = shown.content.decode()
    assert "67 %" in text
    assert "nobody is judged" in text
    assert "The gains appear when the resampling is done." in text
    assert resampling.gains(study, Kind.PERSON) == []  # no GET simulates
    finish(study, researcher)
    rows = resampling.gains(study, Kind.PERSON)
    assert [(row.shots, row.judged_by) for row in rows] == [(0, 0), (4, 4)]
    assert (rows[0].gain, rows[0].low, rows[0].high) == (0, 0, 0)
    # Those of the design and the scores: the SD within both arms, the rule of the study.
    frame = findings.answered(study, Kind.PERSON)
    means = frame.groupby(["shots", "annotator"])["s1"].mean() * 100
    spread = math.sqrt((means[0].var() + means[4].var()) / 2)
    assert rows[1].sd == pytest.approx(spread)
    own = simulation.gain(
        means[4].mean(), spread, 4, 2,
        lambda own, others: qualification.verdict("minimum", 60, own, others).passes,
        study.seed,
    )  # fmt: skip
    assert (rows[1].gain, rows[1].low, rows[1].high) == pytest.approx((own.mean, own.low, own.high))
    reply = ada.get(reverse("analysis_file", args=[study.name, "admission"])).content.decode()
    table = list(csv.DictReader(io.StringIO(reply, newline="")))
    assert float(table[1]["gain"]) == pytest.approx(own.mean)
    assert (table[1]["judged"], table[1]["admitted"]) == ("3", "2")
    (api,) = ada.get(reverse("api_analysis", args=[study.name])).json()
    assert api["admission"][1]["gain"] == pytest.approx(own.mean)


def test_page_report_and_preregistration_warn(ada, researcher, study):
    told = admission.warning("minimum", [0, 4], 0)
    assert "nobody at 0 shots" in told
    assert told in ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert told in ada.get(reverse("study", args=[study.name])).content.decode()
    for document in (report.for_study(study), preregistration.for_study(study)):
        texts = [getattr(block, "text", "") for part in document.sections for block in part.blocks]
        assert told in texts
    finish(study, researcher)
    grid = reports.block(study, "Uncertainty and differences", Grid, "Admission")
    assert [row[:2] for row in grid.rows] == [["toy-places", "0"], ["toy-places", "4"]]
    assert grid.rows[0][-2:] == ["+0.0", "0.0 to 0.0"]


def test_without_a_rule_there_is_no_such_table(ada, researcher):
    study = factories.make_study(researcher, factories.make_task())
    assert selection.admissions(study, Kind.PERSON) == []
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert "Pass rate" not in page
    assert "Arms are admitted differently" not in page
