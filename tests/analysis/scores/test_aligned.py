"""Numbers are right-aligned at their decimal points; rows with results come first."""

import re

import lxml.html
import pytest
from django.urls import reverse

from analysis.scores import performance
from annotation.models import Kind
from annotation.templatetags.frame import is_number
from tests import factories
from tests.annotation.study.test_cross_task import make_cross_task


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("12", True), ("83.7 ± 0.6", True), ("28.4 to 100.0", True), ("3 of 4", True),
        ("< .001", True), ("-8.8", True), ("12 min", True), ("–", True),
        ("84.0 ± 11.9 (n=5)", True), ("– (fewer than five annotators)", True),
        ("3.00 CHF", True), ("80.0 ± –", True), ("90.0 ± – (n=1), – (one annotator)", True),
        ("92.5 ± 3.5 (n=2), 60.7 to 100.0 †", True), ("12 monkeys", False),
        ("MNLI v1", False), ("2 golds differ", False), ("", False), ("people", False),
        ("0 shots against 10", False),
    ],
)  # fmt: skip
def test_is_number_recognises_numbers_in_text(text, is_one):
    assert is_number(text) is is_one


@pytest.fixture
def study(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], annotators=2, rehearsal=True
    )
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario, Kind.SIMULATED))
    return study


@pytest.mark.long
@pytest.mark.parametrize("name", ["recruit", "people", "analysis"])
def test_numeric_cells_of_recruit_and_results_are_marked(ada, study, name):
    page = lxml.html.fromstring(ada.get(reverse(name, args=[study.name])).content.decode())
    cells = page.xpath("//td[contains(@class, 'list-number')]")
    assert cells
    alone = re.compile(r"\d+(\.\d+)?")
    of_lists = page.xpath("//table[contains(@class, 'table-numbers')]//tbody//td[not(*)]")
    unmarked = [
        cell.text_content()
        for cell in of_lists
        if alone.fullmatch(cell.text_content().strip()) and not cell.get("class")
    ]
    assert not [text for text in unmarked if "." in text]


@pytest.mark.long
def test_a_kind_with_results_comes_before_people_without_results(ada, study):
    assert performance.kinds(study) == [Kind.SIMULATED, Kind.PERSON]
    files = [
        ada.get(reverse("human_performance_file", args=[study.name, ext])).content.decode()
        for ext in ("csv", "tex")
    ]
    assert files[0].splitlines()[1].startswith("simulated")
    pages = [
        ada.get(reverse(name, args=[study.name]), follow=True).content.decode()
        for name in ("human_performance", "training")
    ]
    for shown in pages:
        assert shown.index("Simulated (not people)") < shown.index(">People</a>")
    assert "Human performance</h2>" not in pages[0]
    factories.work_through(factories.seat(study.scenarios.first()))
    assert performance.kinds(study) == [Kind.PERSON, Kind.SIMULATED]


def test_the_scores_of_one_kind_have_their_shot_curve(ada, study):
    factories.work_through(factories.seat(study.scenarios.first()))
    address = reverse("human_performance", args=[study.name])
    for kind, shown in (("person", "People"), ("simulated", "Simulated")):
        page = ada.get(f"{address}?kind={kind}")
        text = page.content.decode()
        assert [table.kind for table in page.context["tables"]] == [kind]
        assert f'for="fact-result-mean">{shown}</tip-word>' in text
        assert f"?show=training&amp;kind={kind}" in text
    assert ada.get(f"{address}?kind=model").status_code == 404


def test_a_rehearsal_fills_the_table_until_there_are_results(ada, researcher):
    task = factories.make_task()
    real = factories.make_study(researcher, task, shots=[0], annotators=1, name="real")
    address = reverse("human_performance", args=["real"])
    page = ada.get(address).content.decode()
    assert "press <em>Rehearse</em>" in page
    others = {"name": "real-rehearsal", "rehearsal": True, "annotators": 1}
    rehearsal = factories.make_study(researcher, task, shots=[0], **others)
    factories.work_through(factories.seat(rehearsal.scenarios.get(), kind="simulated"))
    page = ada.get(address).content.decode()
    grey = page[page.index('class="scores-rehearsed"') :]
    assert "100.0" in grey
    assert "100.0" not in page[: page.index('class="scores-rehearsed"')]
    assert "Simulated: as a preview, the table below" in page
    for other in ("human_performance_file", "api_human_performance", "report"):
        args = ["real", "csv"] if other.endswith("file") else ["real"]
        assert b"real-rehearsal" not in ada.get(reverse(other, args=args)).content
    factories.work_through(factories.seat(real.scenarios.get()))
    assert "scores-rehearsed" not in ada.get(address).content.decode()


def test_a_rehearsal_of_another_design_or_team_is_not_shown(ada, researcher, other_researcher):
    task = factories.make_task()
    factories.make_study(researcher, task, shots=[0], annotators=1, name="real")
    for owner, shots, name in ((researcher, [2], ""), (other_researcher, [0], "-2")):
        rehearsal = factories.make_study(
            owner, task, shots=shots, annotators=1, name=f"real-rehearsal{name}", rehearsal=True
        )
        factories.work_through(factories.seat(rehearsal.scenarios.get(), kind="simulated"))
    page = ada.get(reverse("human_performance", args=["real"])).content.decode()
    assert "scores-rehearsed" not in page


@pytest.mark.long
def test_kinds_have_one_order_if_people_worked_in_arms_outside_the_table_only(researcher):
    study = make_cross_task(researcher)
    for arm, kind in (("sham", Kind.PERSON), ("direct", Kind.SIMULATED)):
        factories.work_through(factories.seat(study.scenarios.filter(arm=arm).first(), kind))
    kinds = [Kind.PERSON, Kind.SIMULATED]
    assert performance.kinds(study) == kinds


def test_text_like_many_units_is_checked_at_once():
    """Each additional word in an answer like this used to double the time of the check."""
    assert not is_number("1 " + "h " * 200 + "x")
