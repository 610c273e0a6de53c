"""Every table as LaTeX: complete, escaped, and the same from page, API and bundle."""

import re

import lxml.html
import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.documents import paper_tables
from analysis.scores import findings, sensitivity
from analysis.scores.markup import PaperTable, as_latex
from annotation.models import Kind
from tasks.columns import Column
from tests import factories
from tests.analysis.cross_task.test_model_gains import answered_with_model
from tests.analysis.documents.latex_reader import problems

pytestmark = pytest.mark.long

HOSTILE = r"50 % of {a_b} & #1 \input{x} $ ~ ^ < > | [1] *2 “q” -- 大 'n'"


@pytest.fixture
def study(researcher):
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS)
    study = factories.make_study(
        researcher, factories.make_task(), labels, shots=[0, 2], annotators=2, title=HOSTILE,
        metrics=["EM"], qualification="minimum", qualification_threshold=2,
    )  # fmt: skip
    for scenario in study.scenarios.all():
        for _ in range(2):
            factories.work_through(factories.seat(scenario))
    for task in study.tasks.all():
        factories.predict(researcher, "a-model", task, 0)
        factories.predict(researcher, "a-model", task, 2, 1)
    findings.job_of(study, Kind.PERSON, owner=researcher)
    call_command("run_jobs", verbosity=0)
    return study


def latex(client, study, table, **query) -> str:
    reply = client.get(reverse("table_latex", args=[study.name, table]), query)
    assert reply.status_code == 200, table
    assert reply["Content-Type"].startswith("application/x-tex")
    return reply.content.decode()


# The study lacks anchors, confidence, model sizes, seated models, questions and long training.
EMPTY = {"anchors", "confidence", "calibration", "plateau", "figure-sizes", "effort", "sample"}
EMPTY |= {"question_alone", "figure-calibration"}


def test_every_table_is_latex_that_an_engine_sets(ada, study):
    labels = []
    for table in paper_tables.titles(study):
        text = latex(ada, study, table)
        assert problems(text) == [], table
        if text.startswith("% This table has no row"):
            assert table in EMPTY, table
            continue
        assert text.startswith("% \\usepackage{booktabs,threeparttable}\n")
        assert r"\caption{" in text
        assert r"\item Recipe: s1\textbar{}match:exact" in text
        assert r"\input" not in text
        assert "XeLaTeX" in text  # pdfLaTeX lacks a character of the title
        labels += re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels))
    assert all(re.fullmatch(r"tab:[a-z0-9_-]+", label) for label in labels)


def test_the_latex_of_inclusion_criteria_has_a_row_for_each(ada, study):
    """The page merges criteria with the same cells into one row, but files don't."""
    text = latex(ada, study, "sensitivity")
    rows = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()
    criteria = [row.partition(" & ")[0] for row in rows]
    assert criteria[:2] == ["as reported", "with annotators excluded by a researcher"]
    assert r"training S1 $\ge$ 50" in criteria
    assert len(criteria) == len({row.rule for row in sensitivity.table(study, Kind.PERSON)})


def test_the_tables_of_a_cross_task_study_are_valid_latex(ada, researcher):
    study = answered_with_model(researcher)
    # These two need several upstream arms or numbers of shots.
    for table in paper_tables.ARM_TABLES.keys() - {"arm-tests", "changes"}:
        text = latex(ada, study, table)
        assert problems(text) == []
        assert r"\toprule" in text, table


def test_the_latex_checker_finds_what_would_stop_an_engine():
    good = as_latex(PaperTable("x", "a", [Column("a", "A", get=str)], ["b"]))
    assert problems(good) == []
    for bad in (
        good.replace("b \\\\", "b & c \\\\"), good.replace("{a}", "{a"),
        good.replace("b ", "50 % "),
        good.replace("b ", "a_b "), good.replace("b ", "\\input{x} "), good.replace("b ", "$ "),
        good.replace("\nb ", "\n[b] "), good.replace("\\end{tabular}\n", ""),
    ):  # fmt: skip
        assert problems(bad), bad


@pytest.mark.parametrize(
    ("name", "show"),
    [
        ("human_performance", ""), ("human_performance", "training"),
        ("human_performance", "figures"), ("human_performance", "sensitivity"), ("analysis", ""),
        ("study_models", ""), ("study_models", "leaderboard"), ("examples", "gold_audit"),
    ],
)  # fmt: skip
def test_tables_offer_their_files_in_export_menus_only(ada, study, name, show):
    address = reverse(name, args=[study.name], query={"show": show})
    page = lxml.html.fromstring(ada.get(address).content)
    menus = page.xpath("//main//details[@class='export']")
    assert menus
    for menu in menus:
        offered = [link.text for link in menu.xpath(".//a")]
        assert "LaTeX" in offered
        assert any("CSV" in words for words in offered), offered
        assert menu.xpath("summary/span")[0].text.startswith(": ")
    assert not page.xpath("//main//a[.='LaTeX'][not(ancestor::details[@class='export'])]")


def test_the_list_of_tables_leaves_out_those_that_are_empty(ada, study, researcher):
    """The list used to offer tables without any rows."""

    def listed(of) -> list[str]:
        page = ada.get(reverse("latex", args=[of.name]), follow=True).content.decode()
        return re.findall(r"/latex/(.*?)\.tex\?kind=person", page)

    shown = listed(study)
    assert len(shown) == len(set(shown))
    for table in paper_tables.titles(study):
        has_rows = bool(paper_tables.tables(study, Kind.PERSON, table))
        assert (table in shown) == has_rows, table
    empty = factories.make_study(researcher, factories.make_task(name="other"))
    assert listed(empty) == ["tasks"]


def test_page_and_api_give_the_same_latex_for_the_requested_kind(ada, study, researcher):
    robot = factories.seat(study.scenarios.first(), Kind.SIMULATED)
    factories.work_through(robot)
    page = ada.get(reverse("latex", args=[study.name]), follow=True).content.decode()
    for table in paper_tables.titles(study).keys() - EMPTY:
        assert f"/latex/{table}.tex?kind=person" in page
    key = factories.bearer(researcher, "read", study=study)
    for query in ({}, {"kind": "simulated"}):
        told = ada.get(
            reverse("api_table_latex", args=[study.name, "agreement"]), query, headers=key
        )
        assert told.content.decode() == latex(ada, study, "agreement", **query)
    assert "simulated annotators (not people)" in latex(ada, study, "agreement", kind="simulated")
    for address in ("table_latex", "api_table_latex"):
        assert ada.get(reverse(address, args=[study.name, "gains"])).status_code == 404
