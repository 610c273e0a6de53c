"""The planner: worked examples and permissions."""

import math
import re
from functools import cache
from html import unescape

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from analysis.planning import planner
from analysis.stats import power, two_way
from annotation.models import Participation, Study
from benchmarks.drawn import NODES, WEIGHTS, smoothed
from tasks.columns import on_page
from tests import factories

WANTED = {
    "source": "published", "half_width": 3.0, "annotators": 3, "examples": 210,
    "difference": 5.0, "comparisons": 1, "anchor_r": 0.0,
}  # fmt: skip


@pytest.fixture
def study(researcher):
    """At 0 and 2 shots, two annotators are always right and one is always wrong."""
    task = factories.make_task(test_size=6)
    pilot = factories.make_study(researcher, task, shots=[0, 2], annotators=3, title="A pilot")
    for scenario in pilot.scenarios.all():
        for answer in (None, None, lambda turn: [turn.example.context[0].split()[0]]):
            factories.work_through(factories.seat(scenario), answer)
    return pilot


def published(task: str, shots: int) -> planner.Known:
    return next(
        row
        for row in planner.cells_of(Study.objects.none(), "published")
        if (row.task, row.shots) == (task, shots)
    )


# The numbers -------------------------------------------------------------------------------------


def test_the_api_gives_null_for_unknown_numbers(ada):
    reply = ada.get(reverse("api_planner"), {"difference": 100, "annotators": 2})
    assert reply.status_code == 200
    rows = reply.json()["rows"]
    assert all(row["power"] == [None, None] for row in rows)
    assert any(None in row["detectable"] for row in rows)


def test_the_planner_explains_what_three_annotators_can_show():
    floor, apart, follows, rough, unknown = planner.sentences(WANTED)
    assert "two-sided exact permutation test cannot reach a p below 0.1," in floor
    assert "requires groups of 4 or more" in floor
    assert "3.51 SDs" in apart
    assert "primary test" in apart
    assert "so the SD depends on the mean" in follows
    assert "about half of" in follows
    assert "between 0.52 and 6.28 times an SD from three" in rough
    assert "ignore variation between examples" in unknown
    assert len(planner.sentences(WANTED | {"source": "person:pilot"})) == 4


def test_six_comparisons_need_larger_groups():
    floor, apart, *_rest = planner.sentences(WANTED | {"comparisons": 6})
    assert "p below 0.0083 among 6 comparisons requires groups of 5 or more" in floor
    assert "6.74 SDs" in apart


def test_an_undetectable_difference_is_explained():
    _floor, apart, *_rest = planner.sentences(WANTED | {"annotators": 2, "comparisons": 1000})
    assert "more than 50 SDs" in apart


def test_a_plan_uses_the_published_sds():
    row = planner.plan(published("SST-2", 0), WANTED)
    assert (row.mean, row.sd, row.n) == pytest.approx((83.5, 0.6, 3))
    # t(.975, 2) = 4.303 times 0.6 / sqrt(3).
    assert row.half_width == pytest.approx(1.4905, abs=1e-3)
    # The SD changes with the mean, so a loss must be slightly larger than a gain to be found.
    below, above = row.detectable
    assert above < 3.51 * 0.6 < below
    assert (below, above) == pytest.approx((2.15, 2.06), abs=0.05)
    assert row.wilson_low < 83.5 < row.wilson_high
    assert math.isnan(row.half_width_both)


def test_the_widest_published_spread_shows_only_28_points():
    row = planner.plan(published("SQuADv2", 10), WANTED)
    below, _above = row.detectable
    assert below > 28.1  # with the same SD in both arms
    assert max(row.power) < 0.1
    assert row.annotators_needed == power.annotators_needed(0.03, 0.08)
    assert (row.sd_low, row.sd_high) == pytest.approx((4.17, 50.3), abs=0.05)
    # It isn't a label task, so its scores aren't all 0 or 1.
    assert math.isnan(row.wilson_low)


@pytest.mark.long
def test_about_half_of_studies_reach_a_planned_width(ada):
    """The share exceeds half because n is rounded up and SDs of small samples are skewed."""
    draw = np.random.default_rng(1)
    for sd, width, at_most in ((3.0, 3.0, 0.72), (5.0, 2.0, 0.6), (8.0, 3.0, 0.6)):
        n = power.annotators_needed(width, sd)
        sds = draw.normal(0, sd, (4000, n)).std(1, ddof=1)
        reached = np.mean(stats.t.ppf(0.975, n - 1) * sds / math.sqrt(n) <= width)
        assert 0.5 <= reached <= at_most
    page = " ".join(unescape(ada.get(reverse("planner"), WANTED).content.decode()).split())
    assert "about half of such studies reach the planned width" in page
    assert "is ± 3 points or less in about half of such studies" in page


def test_a_plan_has_the_wilson_interval_of_one_annotator():
    known = planner.Known("toy", 0, 175 / 210, 0.01, 3, None, True)
    row = planner.plan(known, WANTED)
    assert (row.wilson_low, row.wilson_high) == pytest.approx((77.70, 87.77), abs=5e-3)


def test_pilot_components_predict_other_people_on_other_examples():
    matrix = np.array([[1, 1, 0, 1], [1, 0.5, 0, 1], [0, 1, 0, 1]])
    part = pd.DataFrame(
        [(row, column, str(column), s1) for (row, column), s1 in np.ndenumerate(matrix)],
        columns=["annotator", "example", "context", "score"],
    )
    known = planner.measured_by("toy", 10, part, labelled=False)
    assert (known.mean, known.sd, known.n) == pytest.approx((0.625, 0.125, 3))
    row = planner.plan(known, WANTED | {"examples": 4})
    # Annotators vary less than the rest, so their part is raised to the rest's, .118056 / 12.
    df = 0.048032**2 / (0.009838**2 / 2 + 0.048032**2 / 3 + 0.009838**2 / 6)
    quantile = stats.t.ppf(0.975, df)
    assert row.half_width_both == pytest.approx(100 * quantile * math.sqrt(0.048032), abs=0.01)
    twice = planner.plan(known, WANTED | {"examples": 8})
    assert twice.half_width_both < row.half_width_both


def test_a_single_annotator_gives_no_plan_for_annotators():
    row = planner.plan(planner.Known("toy", 0, 0.8, math.nan, 1, None, False), WANTED)
    assert row.annotators_needed is None
    assert row.group_needed == (None, None)
    assert row.examples_needed == 683
    columns = planner.interval_columns(WANTED) + planner.difference_columns(WANTED)
    assert [column.text(row) for column in on_page(columns)].count("–") == 14


@pytest.mark.long
@given(
    st.tuples(*[st.floats(1e-6, 0.3)] * 3),
    st.floats(0.001, 0.3),
    st.integers(2, 40),
    st.integers(40, 700),
    st.floats(0.25, 1),
)
@settings(max_examples=40)
def test_the_numbers_of_a_plan_are_consistent(parts, sd, people, examples, each):
    """The more general interval is never narrower, and the planned numbers just suffice."""
    cell = planner.Known("toy", 0, 0.8, sd, 3, two_way.Components(*parts), False, each)
    wanted = WANTED | {"annotators": people, "examples": examples}
    row = planner.plan(cell, wanted)
    assert row.half_width_both >= row.half_width - 1e-9
    assert (row.half_width <= wanted["half_width"]) == (people >= row.annotators_needed)
    for power_of, needed, least in zip(row.power, row.group_needed, row.detectable, strict=True):
        if needed is not None:
            assert (power_of >= planner.POWER) == (people >= needed)
        if math.isfinite(least):
            assert (power_of >= planner.POWER - 1e-9) == (least <= wanted["difference"] + 1e-7)
    assert row.sd_low < row.sd < row.sd_high
    # More examples or more people never widen an interval.
    for more in ({"examples": 2 * examples}, {"annotators": 2 * people}):
        wider = planner.plan(cell, wanted | more)
        assert wider.half_width <= row.half_width + 1e-9
        assert wider.half_width_both <= row.half_width_both + 1e-9


def test_annotators_who_tie_give_no_plan():
    row = planner.plan(planner.Known("toy", 0, 1.0, 0.0, 3, None, False), WANTED)
    assert row.annotators_needed is None
    assert row.group_needed == (None, None)
    assert all(map(math.isnan, (*row.power, *row.detectable)))


# Mean, SD, difference, people, and power with one SD for both arms. In the simulations, answers are
# right or wrong on 200 examples; annotators and examples are normal on the logit scale.
FOUND = [
    (0.90, 2.7, -10, 3, 0.84), (0.90, 2.7, -8, 5, 0.98), (0.90, 2.7, -5, 10, 0.98),
    (0.82, 4.5, 10, 3, 0.43), (0.82, 4.5, 8, 5, 0.65), (0.82, 4.5, 5, 10, 0.63),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("mean", "sd", "points", "people", "before"), FOUND)
def test_planned_power_matches_simulated_studies_both_ways(mean, sd, points, people, before):
    """Power is within .06 of 1,000 simulated studies (SE .015); one SD for both gave `before`."""
    draw = np.random.default_rng(people)
    noise = _scores(draw, _logit(mean, 0.0), 0.0, 400, 400)
    within = two_way.components(noise).rest / 200
    spread = _spread_for(mean, math.sqrt(sd**2 / 1e4 - within))
    pilot = _scores(draw, _logit(mean, spread), spread, 300, 1000)
    cell = planner.Known("toy", 0, mean, sd / 100, 300, two_way.components(pilot), True)
    assert 100 * cell.planned(200)[0] == pytest.approx(sd, abs=0.4)
    promised = cell.power(points / 100, people, 200, 0.05)

    found = []
    other = _logit(mean + points / 100, spread)
    for _ in range(1000):
        examples = draw.normal(0, 1.5, 200)
        arms = [
            _answers(draw, place, spread, people, examples)
            for place in (_logit(mean, spread), other)
        ]
        found.append(two_way.difference_estimate(*arms).p() < 0.05)
    assert promised == pytest.approx(np.mean(found), abs=0.06)
    # One SD for both arms promises too much power for a loss and too little for a gain.
    same = power.power(abs(points) / sd, people)
    assert same == pytest.approx(before, abs=0.04)
    assert same > np.mean(found) + 0.02 if points < 0 else same < np.mean(found) - 0.02


def _answers(draw, place, spread, people, examples):
    x = place + draw.normal(0, spread, (people, 1)) + examples[None]
    return (draw.random(x.shape) < 1 / (1 + np.exp(-x))).astype(float)


def _scores(draw, place, spread, people, examples):
    return _answers(draw, place, spread, people, draw.normal(0, 1.5, examples))


def _mean_at(place, spread):
    return float(smoothed(np.array(place), math.hypot(1.5, spread)))


@cache
def _logit(mean, spread):
    return optimize.brentq(lambda place: _mean_at(place, spread) - mean, -5, 8)


def _spread_for(mean, wanted):
    """Return the SD on the logit scale at which annotators' true means have the SD `wanted`."""

    def of(spread):
        abilities = smoothed(_logit(mean, spread) + spread * NODES, 1.5)
        return math.sqrt(WEIGHTS @ (abilities - mean) ** 2)

    return optimize.brentq(lambda spread: of(spread) - wanted, 0.01, 2)


def test_a_mean_above_100_is_not_planned():
    row = planner.plan(planner.Known("toy", 0, 0.97, 0.02, 3, None, True), WANTED)
    below, above = row.power
    assert 0 < below < 1
    assert math.isnan(above)
    assert (row.group_needed[0] or 0) > 2
    columns = on_page(planner.difference_columns(WANTED))
    cells = {column.heading: column.text(row) for column in columns}
    assert cells["Power for 5, below"] == f"{below:.0%}"
    assert cells["Power for 5, above"] == "–"


# The page ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_page_starts_with_a_plan_and_refuses_post(ada):
    reply = ada.get(reverse("planner"))
    page = reply.content.decode()
    assert "Source: CLUES, Table 4, as published." in page
    _before, intervals, differences = page.split('id="arg"')[0].split("<h3>")
    for table in (intervals, differences):
        assert table.count('<tr><th scope="row"') == 24
    assert "You can select a study here once an annotator has completed it" in page
    assert ada.post(reverse("planner")).status_code == 405


def test_a_cell_of_the_plan_holds_one_number_or_interval(ada):
    page = unescape(ada.get(reverse("planner"), WANTED).content.decode()).split('id="arg"')[0]
    cells = [cell.strip() for cell in re.findall(r"<td[^>]*>([^<]*)</td>", page)]
    assert len(cells) == 24 * (10 + 9)
    number = r"[0-9][0-9.,]*"
    wrong = [
        cell for cell in cells if not re.fullmatch(rf"–|{number}%?|{number} to {number}", cell)
    ]
    assert wrong == []


@pytest.mark.long
def test_each_number_is_explained(ada):
    page = unescape(ada.get(reverse("planner"), WANTED).content.decode())
    columns = planner.interval_columns(WANTED)[2:] + planner.difference_columns(WANTED)
    for column in on_page(columns):
        assert column.meaning
        assert f">{column.heading}</dt>" in page
        assert column.meaning[1:] in page


@pytest.mark.long
def test_my_study_is_a_source_for_the_planner(ada, study):
    page = ada.get(reverse("planner")).content.decode()
    assert f'value="person:{study.name}"' in page
    wanted = WANTED | {"source": f"person:{study.name}"}
    page = ada.get(reverse("planner"), wanted).content.decode()
    assert "Source: A pilot: people." in page
    # The three means are 100, 100 and 0.
    cells = '<td class="list-number">3</td><td class="list-number">66.7</td>'
    assert f'{cells}<td class="list-number">57.7</td>' in re.sub(r"<td\s+", "<td ", page)


@pytest.mark.long
def test_an_excluded_annotator_is_not_a_source_for_the_planner(ada, study):
    Participation.objects.filter(scenario__shots=0).update(in_analysis=False, seat_number=None)
    rows = planner.cells_of(Study.objects.all(), f"person:{study.name}")
    assert [row.shots for row in rows] == [2]


@pytest.mark.long
def test_an_empty_or_foreign_study_is_not_a_source(client, other_researcher, researcher, study):
    empty = factories.make_study(researcher, factories.make_task(name="other"))
    sources = planner.sources(Study.objects.visible_to(researcher, "read"))
    assert [value for value, _words in sources] == ["published", f"person:{study.name}"]
    assert empty.name not in dict(sources)
    client.force_login(other_researcher)
    wanted = WANTED | {"source": f"person:{study.name}"}
    page = client.get(reverse("planner"), wanted).content.decode()
    assert "Select a valid choice" in page
    assert "By task" not in page
    assert study.title not in page


def test_the_page_has_one_primary_button_and_says_which_test_it_plans_for(ada):
    page = " ".join(ada.get(reverse("planner")).content.decode().split())
    main = page.partition("<main")[2]
    assert re.findall(r"<button>([^<]*)", main) == ["Calculate"]
    assert "All columns assume the primary test, a t test" in main
    assert "One on 200 examples" in main


@pytest.mark.long
def test_the_analysis_of_a_pilot_links_to_a_plan_from_it(ada, study):
    analysis = ada.get(reverse("analysis", args=[study.name])).content.decode()
    (address,) = re.findall(r'href="(/planner/\?source=[^"]+)"', analysis)
    page = ada.get(address).content.decode()
    assert "By task" in page
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
def test_an_invalid_value_has_its_error_at_the_field(ada, field, value, words):
    page = ada.get(reverse("planner"), WANTED | {field: value}).content.decode()
    assert words in page.split(f'id="id_{field}_error"')[1].split("</p>")[0]
    assert "By task" not in page


def test_the_planner_is_for_researchers(client):
    assert client.get(reverse("planner")).status_code == 302


# A gain after upstream tasks ----------------------------------------------------------------------

STATED = {
    "arg-base": 70, "arg-sd": 6, "arg-targets": 1, "arg-gain": 0, "arg-width": 5, "arg-people": 10,
}  # fmt: skip


def stated_rows(page: str) -> list[list[str]]:
    """Return the cells of the plan for a gain: by t, then by the normal quantile."""
    part = page[page.index('id="arg"') :]
    rows = re.findall(r'<tr><th scope="row">(t|normal)</th>(.*?)</tr>', part, re.DOTALL)
    return [[name, *re.findall(r"<td[^>]*>(.*?)</td>", cells)] for name, cells in rows]


@pytest.mark.long
def test_a_stated_sd_gives_the_people_needed_in_an_arm(ada):
    """With base 70, SD 6 and no gain, 10 people give ± 7.5 %; ± 5 % takes 23 (24 by t)."""
    page = unescape(ada.get(reverse("planner"), STATED).content.decode())
    # A change of the gain between two numbers of shots needs twice the people at each number.
    assert stated_rows(page) == [
        ["t", "24", "48", "8.1", "46", "184"], ["normal", "23", "46", "7.5", "46", "184"],
    ]  # fmt: skip
    assert 'href="/help/statistics/#average-relative-gain"' in page
    # Four tasks halve the interval, so each task needs a quarter of the people.
    page = ada.get(reverse("planner"), STATED | {"arg-targets": 4}).content.decode()
    assert stated_rows(page)[1] == ["normal", "6", "48", "3.8", "12", "192"]
    # With a gain, the noise of the base counts more.
    page = ada.get(reverse("planner"), STATED | {"arg-gain": 30}).content.decode()
    assert int(stated_rows(page)[1][1]) == math.ceil((1.959964 * 6 / 70 / 0.05) ** 2 * (1 + 1.3**2))


@pytest.mark.long
@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("base", "0", "The base is at or below zero"),
        ("base", "0.7", "The base is below 0.01"),
        ("base", "nan", "Enter a number"),
        ("sd", "0", "greater than or equal to 0.1"),
        ("targets", "1.5", "whole number"),
        ("gain", "50", "would become 105, above 100: 42.8 % is the highest possible gain"),
        ("gain", "-101", "greater than or equal to -100"),
        ("width", "", "required"),
        ("people", "1", "greater than or equal to 2"),
    ],
)
def test_an_invalid_stated_number_has_its_error_at_the_field(ada, field, value, sentence):
    sent = STATED | {f"arg-{field}": value}
    page = unescape(ada.get(reverse("planner"), sent).content.decode())
    told = re.search(rf'id="id_arg-{field}_error"[^>]*>(.*?)</p>', page)
    assert told is not None
    assert sentence in told[1]
    assert stated_rows(page) == []


def test_the_planner_states_what_anchors_save(ada):
    page = ada.get(reverse("planner"), {"anchor_r": "0.6", "annotators": "8"}).content.decode()
    text = " ".join(page.split())
    assert "by 0.80, so 8 annotators are as informative as 12.5 annotators without" in text
    assert "without anchors" not in ada.get(reverse("planner")).content.decode()
