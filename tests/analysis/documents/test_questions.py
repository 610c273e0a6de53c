"""Every interval states what it generalises to: page, figure, CSV, LaTeX, API and report."""

import csv
import io
from html import unescape

import pytest
from django.urls import reverse

from analysis.documents import blocks, preregistration, report
from analysis.stats.two_way import BOTH, PEOPLE, RUNS
from annotation.models import Study
from tests import factories


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Three annotators at each of 0 and 2 shots, with small differences, and a model at 2 shots."""
    study = factories.make_study(
        module_researcher, factories.make_task(test_size=4), annotators=3, equivalence_margin=5
    )
    for scenario in study.scenarios.all():
        for slips in range(3):
            factories.work_through(
                factories.seat(scenario),
                lambda turn, slips=slips: (
                    [] if turn.example.position < slips else turn.example.gold
                ),
            )
    factories.predict(module_researcher, "toy", study.tasks.get(), 2, 1, lambda _example: [])
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def rows_of(client, name: str, *args) -> list[dict]:
    text = client.get(reverse(name, args=args)).content.decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.long
def test_every_interval_states_what_it_generalises_to(ada, study):
    while ada.get(reverse("analysis", args=[study.name])).context["job"]:
        ada.post(reverse("analysis_run", args=[study.name]), follow=True)
    analysis = unescape(ada.get(reverse("analysis", args=[study.name])).content.decode())
    for words in (BOTH, PEOPLE, "other examples with the same annotators"):
        assert f"generalises to {words}" in analysis or f"generalise to {words}" in analysis, words
    figures = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert f"which generalise to {BOTH}" in figures
    for name, args in (
        ("analysis_file", ("intervals",)),
        ("analysis_file", ("contrasts",)),
        ("figure_numbers", ("shots",)),
        ("figure_file", ("shots", "csv")),
    ):
        rows = rows_of(ada, name, study.name, *args)
        assert all(row["question"] == BOTH for row in rows if row["low_95"]), name
        assert any(row["low_95"] for row in rows), name
    (row,) = rows_of(ada, "study_models_file", study.name, "differences")
    assert row["question"] == RUNS
    assert (
        RUNS
        in ada.get(reverse("study_differences", args=[study.name]), follow=True).content.decode()
    )
    text = blocks.as_markdown(report.for_study(study))
    assert text.count(BOTH) >= 4
    assert f"generalise to {RUNS}" in text


@pytest.mark.parametrize("table", ["intervals", "agreement", "aggregates", "contrasts"])
def test_a_table_in_latex_carries_what_its_columns_mean(ada, study, table):
    reply = ada.get(reverse("table_latex", args=[study.name, table]))
    assert reply["Content-Type"].startswith("application/x-tex")
    text = reply.content.decode()
    inside = text.split(r"\begin{threeparttable}")[1].split(r"\end{threeparttable}")[0]
    assert inside.count(r"\item") > 2
    assert text.count("\\begin{") == text.count("\\end{") == 4
    columns = {line.count(" & ") for line in inside.splitlines() if line.endswith(r"\\")}
    assert len(columns) == 1  # each row has as many cells as the heading
    if table in ("intervals", "contrasts"):
        assert BOTH in inside
    assert ada.get(reverse("table_latex", args=[study.name, "x"])).status_code == 404


def test_the_preregistration_names_test_families_and_margin(study):
    text = blocks.as_markdown(preregistration.for_study(study))
    assert "one family of 1 contrast" in text
    assert "one family: all differences between humans and a model" in text
    assert "lies within ± 5 points" in text
    assert BOTH in text
    assert RUNS in text


def test_a_design_without_a_margin_plans_no_claim_of_equivalence(researcher):
    study = factories.make_study(researcher, factories.make_task())
    assert "no claim of equivalence is planned" in blocks.as_markdown(
        preregistration.for_study(study)
    )
