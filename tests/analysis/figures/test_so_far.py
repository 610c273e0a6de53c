"""Results so far on the overview: an inline chart of the numbers in the table."""

import re

import pytest
from django.urls import reverse

from analysis.figures import so_far
from analysis.scores.performance import performance
from annotation.models import Study
from annotation.study import team
from tests import factories


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[0, 2], annotators=6
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def work(study: Study, shots: int, number: int, **seat) -> None:
    """Seat annotators who answer correctly, except the first, who always submits no answer."""
    for index in range(number):
        texts = None if index else lambda turn: []
        factories.work_through(factories.seat(study.scenarios.get(shots=shots), **seat), texts)


def overview(client, study: Study) -> str:
    reply = client.get(reverse("study", args=[study.name]))
    assert reply.status_code == 200
    return reply.content.decode()


@pytest.mark.long
def test_the_panel_has_table_means_with_intervals_however_few_annotators(ada, study):
    work(study, 0, 5)
    work(study, 2, 4)
    (panel,) = so_far.for_study(study).panels
    people = panel.series[0]
    table = performance(study)
    assert people.texts == [f"{table.cells['toy-places', shots].mean:.1f}" for shots in (0, 2)]
    assert people.counts == ["5", "4"]
    # Points of fewer than five people are hollow.
    assert [dot.is_few for dot in people.dots] == [False, True]
    assert len(panel.bars) == 2
    assert len(panel.band.split()) == 4
    assert all(
        high < dot.y < low for dot, (_x, high, low) in zip(people.dots, panel.bars, strict=True)
    )
    shown = overview(ada, study)
    assert shown.count('class="result-bar"') == 2
    assert "Hollow points" in shown
    work(study, 2, 2)
    (panel,) = so_far.for_study(study).panels
    assert [dot.is_few for dot in panel.series[0].dots] == [False, False]
    shown = overview(ada, study)
    assert "Hollow points" not in shown
    assert "Bars: 95 % t interval over annotators" in shown


def test_one_annotator_or_equal_scores_have_no_interval(ada, study):
    work(study, 0, 1)
    for _number in range(2):
        factories.work_through(factories.seat(study.scenarios.get(shots=2)))
    (panel,) = so_far.for_study(study).panels
    assert (panel.bars, panel.band) == ([], "")
    assert "Bars:" not in overview(ada, study)


def test_each_dot_shows_its_values_on_hover(ada, study, researcher):
    work(study, 2, 3)
    factories.predict(researcher, "gpt", study.tasks.get(), 2, 1)
    people, model = so_far.for_study(study).panels[0].series
    (dot,) = people.dots
    assert dot.text == "People, 2 shots: 83.3, 95 % t interval 11.6 to 100.0, n = 3"
    assert model.dots[0].text == "gpt, 2 shots: 100.0"
    plot = re.search(r'<svg class="result-plot".*?</svg>', overview(ada, study), re.DOTALL)[0]
    for text in (dot.text, model.dots[0].text):
        assert f"<g><title>{text}</title>" in plot


def test_higher_dots_mean_better_scores_within_the_scale(study):
    work(study, 0, 2)
    work(study, 2, 1)
    (panel,) = so_far.for_study(study).panels
    zero, two = panel.series[0].dots
    means = [float(text) for text in panel.series[0].texts]
    assert (means[0] > means[1]) is (zero.y < two.y)
    assert all(so_far.TOP <= dot.y <= so_far.HEIGHT for dot in (zero, two))
    assert panel.scale[-1] == (100, so_far.TOP)


def test_all_panels_have_one_scale(researcher):
    tasks = [factories.make_task(name="low"), factories.make_task(name="high")]
    study = factories.make_study(researcher, *tasks, shots=[0], annotators=2)
    for scenario in study.scenarios.select_related("task"):
        texts = (lambda turn: ["home"]) if scenario.task.name == "low" else None
        factories.work_through(factories.seat(scenario), texts)
    high, low = so_far.for_study(study).panels
    assert [high.series[0].texts, low.series[0].texts] == [["100.0"], ["0.0"]]
    assert high.scale == low.scale
    assert high.scale[0][0] == 0


def test_models_are_shown_with_people_under_their_names(study, researcher):
    work(study, 2, 1)
    task = study.tasks.get()
    factories.predict(researcher, "toy", task, 2, 1)
    (panel,) = so_far.for_study(study).panels
    assert [series.name for series in panel.series] == ["People", "toy"]
    assert panel.series[1].texts == ["–", "100.0"]
    assert panel.drawn[-1] is panel.series[0]  # people are drawn above models
    assert "toy –, 100.0" in panel.description


@pytest.mark.long
def test_the_kind_with_results_is_shown_and_named_correctly(ada, study):
    work(study, 2, 1, kind="simulated")
    result = so_far.for_study(study)
    assert (result.kind, result.panels[0].series[0].name) == ("simulated", "Simulated")
    shown = " ".join(overview(ada, study).split())
    assert "so these scores are from simulated annotators." in shown
    work(study, 0, 1)
    assert so_far.for_study(study).kind == "person"


def test_without_completions_it_shows_a_notice_and_no_zeros(ada, study):
    assert so_far.for_study(study) is None
    shown = overview(ada, study)
    assert "once an annotator in the analysis has completed a task" in shown
    assert "result-plot" not in shown


@pytest.mark.long
def test_the_picture_has_a_title_and_a_table_and_escapes_markup(ada, researcher):
    task = factories.make_task(title="<i>x</i>")
    study = factories.make_study(researcher, task, shots=[2], title="<svg onload=alert(1)>")
    factories.work_through(factories.seat(study.scenarios.get()))
    shown = overview(ada, study)
    (plot,) = re.findall(r'<svg class="result-plot".*?</svg>', shown, re.DOTALL)
    assert 'role="img"' in plot
    assert "<title>toy-places, S1 x 100 at 2 shots: People 100.0</title>" in plot
    assert re.search(r"<td>100\.0</td>", shown)
    assert "<svg onload" not in shown
    assert "nan" not in plot.lower()
    assert "style=" not in shown


def test_a_payer_sees_no_result(client, study, other_researcher):
    work(study, 2, 1)
    team.add(study, other_researcher.username, "payer", study.owner)
    client.force_login(other_researcher)
    assert "result-heading" not in overview(client, study)
