"""The planner and the sensitivity table: worked numbers, and who may see what."""

import csv
import io
import math
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse

from analysis.stats import significance
from analysis.tables import performance, planner, sensitivity
from annotation.models import Participation
from tests import factories

WANTED = {
    "source": "published", "half_width": 3.0, "annotators": 3, "examples": 210,
    "difference": 5.0, "comparisons": 1,
}  # fmt: skip


@pytest.fixture
def study(researcher):
    """At each of 0 and 2 shots two annotators who are always right and one who never is."""
    task = factories.make_task(test_size=6)
    pilot = factories.make_study(researcher, task, shots=[0, 2], annotators=3, title="A pilot")
    for scenario in pilot.scenarios.all():
        for answer in (None, None, lambda turn: [turn.example.context[0].split()[0]]):
            factories.work_through(factories.seat(scenario), answer)
    return pilot


def published(task: str, shots: int) -> planner.Known:
    return next(
        row for row in planner.known(None, "published") if (row.task, row.shots) == (task, shots)
    )


# The numbers -------------------------------------------------------------------------------------


def test_three_annotators_cannot_give_a_small_p():
    floor, apart = planner.sentences(WANTED)
    assert "no exact permutation p below 0.1 " in floor
    assert "takes groups of 4 or more" in floor
    assert "3.07 SDs" in apart


def test_six_comparisons_take_more():
    floor, apart = planner.sentences(WANTED | {"comparisons": 6})
    assert "p below 0.0083 among 6 comparisons takes groups of 5 or more" in floor
    assert "5.04 SDs" in apart


def test_hopeless_wishes_are_said_in_words():
    _floor, apart = planner.sentences(WANTED | {"annotators": 2, "comparisons": 1000})
    assert "more than 50 SDs" in apart


def test_a_plan_from_the_published_sds():
    row = planner.plan(published("SST-2", 0), WANTED)
    assert (row.mean, row.sd, row.n) == pytest.approx((83.5, 0.6, 3))
    # t(.975, 2) = 4.303 times 0.6 / sqrt(3).
    assert row.half_width == pytest.approx(1.4905, abs=1e-3)
    assert row.detectable == pytest.approx(3.07 * 0.6, abs=0.01)
    assert row.wilson_low < 83.5 < row.wilson_high
    assert math.isnan(row.half_width_both)


def test_the_widest_published_spread_shows_only_25_points():
    row = planner.plan(published("SQuADv2", 10), WANTED)
    assert row.detectable == pytest.approx(24.6, abs=0.1)
    assert row.power < 0.1
    assert row.annotators_needed == significance.annotators_needed(0.03, 0.08)
    # Not a label task: its scores are not all right or wrong.
    assert math.isnan(row.wilson_low)


def test_wilson_of_one_annotator():
    known = planner.Known("toy", 0, 175 / 210, 0.01, 3, None, True)
    row = planner.plan(known, WANTED)
    assert (row.wilson_low, row.wilson_high) == pytest.approx((77.70, 87.77), abs=5e-3)


def test_the_components_of_a_pilot_say_what_other_people_on_other_examples_give():
    matrix = np.array([[1, 1, 0, 1], [1, 0.5, 0, 1], [0, 1, 0, 1]])
    part = pd.DataFrame(
        [(row, column, s1) for (row, column), s1 in np.ndenumerate(matrix)],
        columns=["annotator", "example", "s1"],
    )
    known = planner.measured_by("toy", 10, part, labelled=False)
    assert (known.mean, known.sd, known.n) == pytest.approx((0.625, 0.125, 3))
    row = planner.plan(known, WANTED | {"examples": 4})
    assert row.half_width_both == pytest.approx(196 * math.sqrt(0.048032), abs=0.01)
    twice = planner.plan(known, WANTED | {"examples": 8})
    assert twice.half_width_both < row.half_width_both


def test_one_annotator_alone_plans_nothing_about_others():
    row = planner.plan(planner.Known("toy", 0, 0.8, math.nan, 1, None, False), WANTED)
    assert row.annotators_needed is row.group_needed is None
    assert row.examples_needed == 683
    cells = [column.text(row) for column in planner.columns(WANTED)]
    assert cells.count("–") == 8


def test_annotators_who_tie_plan_nothing_about_others():
    row = planner.plan(planner.Known("toy", 0, 1.0, 0.0, 3, None, False), WANTED)
    assert row.annotators_needed is row.group_needed is None
    assert math.isnan(row.power)
    assert math.isnan(row.detectable)


@pytest.mark.parametrize(("n", "sds"), [(3, 3.08), (20, 0.92), (30, 0.745)])
def test_the_annotators_a_side_that_a_difference_needs(n, sds):
    assert significance.group_needed(sds) == n
    assert significance.power(sds, n) >= 0.8 > significance.power(sds, n - 1)


def test_what_cannot_be_shown_by_anyone_is_said_so():
    assert significance.group_needed(0.001) is None
    assert significance.group_needed(40) == 2
    assert significance.detectable(2, level=0.0005) == math.inf
    with pytest.raises(ValueError, match="above 0"):
        significance.group_needed(0)


def test_the_annotators_that_an_interval_needs_are_the_fewest():
    def reach(n: int, sd: float) -> float:
        return float(planner.stats.t.ppf(0.975, n - 1)) * sd / math.sqrt(n)

    for width, sd in ((1.0, 1.0), (0.5, 8.0), (3.0, 0.1), (0.1, 30.0)):
        n = significance.annotators_needed(width, sd)
        assert reach(n, sd) <= width
        assert n == 2 or reach(n - 1, sd) > width


# The page ----------------------------------------------------------------------------------------


def test_the_page_starts_full_and_takes_nothing_but_wishes(ada):
    reply = ada.get(reverse("planner"))
    page = reply.content.decode()
    assert "From: CLUES, Table 4, as published." in page
    assert page.count('<tr><th scope="row"') == 24
    assert "Once an annotator has completed a study of yours" in page
    assert ada.post(reverse("planner")).status_code == 405


def test_each_number_is_explained(ada):
    page = unescape(ada.get(reverse("planner"), WANTED).content.decode())
    for column in planner.columns(WANTED)[2:]:
        assert column.meaning
        assert f">{column.heading}</dt>" in page
        assert column.meaning[1:] in page


def test_a_study_of_mine_feeds_the_planner(ada, study):
    page = ada.get(reverse("planner")).content.decode()
    assert f'value="person:{study.name}"' in page
    wanted = WANTED | {"source": f"person:{study.name}"}
    page = ada.get(reverse("planner"), wanted).content.decode()
    assert "From: A pilot: people." in page
    # Means of 100, 100 and 0.
    assert "<td>3</td><td>66.7</td><td>57.7</td>" in page


def test_who_is_not_in_the_analysis_feeds_nothing(ada, study):
    Participation.objects.filter(scenario__shots=0).update(in_analysis=False, seat_number=None)
    rows = planner.known(study.owner, f"person:{study.name}")
    assert [row.shots for row in rows] == [2]


def test_a_study_without_results_or_of_somebody_else_is_no_source(
    client, other_researcher, researcher, study
):
    empty = factories.make_study(researcher, factories.make_task(name="other"))
    assert [value for value, _words in planner.sources(researcher)] == [
        "published",
        f"person:{study.name}",
    ]
    assert empty.name not in dict(planner.sources(researcher))
    client.force_login(other_researcher)
    wanted = WANTED | {"source": f"person:{study.name}"}
    page = client.get(reverse("planner"), wanted).content.decode()
    assert "Select a valid choice" in page
    assert "Task by task" not in page
    assert study.title not in page


def test_the_analysis_of_a_pilot_leads_to_a_plan_from_it(ada, study):
    analysis = ada.get(reverse("analysis", args=[study.name])).content.decode()
    (address,) = re.findall(r'href="(/planner/\?source=[^"]+)"', analysis)
    page = ada.get(address).content.decode()
    assert "Task by task" in page
    assert f'<option value="person:{study.name}" selected>' in page


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("half_width", "0", "greater than or equal to 0.5"),
        ("half_width", "wide", "Enter a number"),
        ("annotators", "1", "greater than or equal to 2"),
        ("examples", "", "This field is required"),
        ("comparisons", "2000", "less than or equal to 1000"),
        ("difference", "nan", "Enter a number"),
    ],
)
def test_a_bad_wish_is_named_at_its_field(ada, field, value, words):
    page = ada.get(reverse("planner"), WANTED | {field: value}).content.decode()
    assert words in page.split(f'id="id_{field}_error"')[1].split("</p>")[0]
    assert "Task by task" not in page


def test_the_planner_is_for_researchers(client):
    assert client.get(reverse("planner")).status_code == 302


# Sensitivity -------------------------------------------------------------------------------------


def cells(study) -> dict[tuple[str, int], tuple[float, int]]:
    """(rule, shots) -> mean and n."""
    rows = sensitivity.rows(sensitivity.people(study, "person"))
    return {(row.rule, row.shots): (row.mean, row.n) for row in rows}


def test_the_first_line_is_the_table(study):
    shown = cells(study)
    for (_task, shots), cell in performance.performance(study).cells.items():
        assert shown["reported", shots] == pytest.approx((cell.mean, cell.n))


def test_a_minimum_in_training_leaves_out_those_who_failed_it(study):
    shown = cells(study)
    assert shown["reported", 2] == pytest.approx((200 / 3, 3))
    assert shown["training_s1>=50", 2] == (100, 2)


def test_who_had_no_training_cannot_fail_it(study):
    assert cells(study)["training_s1>=90", 0][1] == 3


def test_an_exclusion_by_hand_can_be_taken_back(study):
    out = study.participations.filter(scenario__shots=2).last()
    out.in_analysis, out.seat_number = False, None
    out.save()
    shown = cells(study)
    assert shown["reported", 2] == (100, 2)
    assert shown["with_excluded", 2] == pytest.approx((200 / 3, 3))
    # The other rules stand on the analysis, not on everybody.
    assert shown["training_s1>=50", 2] == (100, 2)


def test_a_minimum_of_seconds_is_about_the_median():
    people = pd.DataFrame(
        {
            "task": "toy", "shots": 0, "annotator": ["a", "b"], "analysed": True,
            "mean_s1": [0.5, 1.0], "training_s1": math.nan, "median_seconds": [1.5, 5.0],
        }
    )  # fmt: skip
    rows = {row.rule: row for row in sensitivity.rows(people)}
    assert [rows[f"median_seconds>={least}"].n for least in (1, 2, 5, 10)] == [2, 1, 1, 0]
    assert rows["median_seconds>=2"].mean == 100
    assert math.isnan(rows["median_seconds>=10"].mean)


def test_the_page_of_it_marks_what_moved(ada, study):
    page = ada.get(reverse("sensitivity", args=[study.name])).content.decode()
    assert "<td>66.7 ± 57.7 (n=3)</td>" in page
    assert "<td><strong>100.0 ± 0.0 (n=2)</strong></td>" in page
    # Nobody in a test takes a second.
    assert "<td><strong>– (n=0)</strong></td>" in page


def test_it_can_be_had_as_csv_with_all_digits(ada, study):
    reply = ada.get(reverse("sensitivity_file", args=[study.name]))
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    assert len(rows) == 2 * len(sensitivity.RULES)
    assert rows[0]["rule"] == "reported"
    assert rows[0]["kind"] == "person"
    assert float(rows[0]["mean"]) == pytest.approx(200 / 3, abs=1e-12)


def test_an_empty_study_says_what_to_do(ada, researcher):
    study = factories.make_study(researcher, factories.make_task())
    page = ada.get(reverse("sensitivity", args=[study.name])).content.decode()
    assert "Give out its link" in page
    assert ada.get(reverse("sensitivity_file", args=[study.name])).status_code == 200


def test_somebody_elses_sensitivity_is_not_found(client, other_researcher, study):
    client.force_login(other_researcher)
    for name in ("sensitivity", "sensitivity_file"):
        assert client.get(reverse(name, args=[study.name])).status_code == 404
