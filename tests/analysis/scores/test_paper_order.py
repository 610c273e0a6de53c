"""Pages use one order of tasks, by family and then as in the paper; files have their own order."""

import csv
import io
import re

import pytest
from django.urls import reverse

from analysis.figures import data as figure_data
from analysis.models import models as model_tables
from analysis.models.differences import differences
from analysis.scores import findings, frames, sensitivity, training
from annotation.models import Kind, Study
from tasks.cards import TASKS
from tasks.importing import CLUES
from tasks.models import PredictionFile
from tests import factories

pytestmark = pytest.mark.long

GROUPED = ["SST-2", "MNLI", "CoNLL03", "animals", "ReCoRD"]  # own tasks come last in their family
FLAT = ["SST-2", "MNLI", "CoNLL03", "ReCoRD", "animals"]  # in files
FAMILIES = ["Sentence Classification", "Named Entity Recognition", "Machine Reading Comprehension"]


@pytest.fixture(scope="module")
def stored(module_researcher):
    """The tasks are imported and selected in a different order from the paper's."""
    families = {"ReCoRD": "reading_comprehension"}
    tasks = [
        factories.make_task(
            name=name,
            **({"labels": factories.LABELS} if name in ("SST-2", "MNLI") else {}),
            **({"family": families[name]} if name in families else {}),
        )
        for name in ("animals", "ReCoRD", "CoNLL03", "MNLI", "SST-2")
    ]
    study = factories.make_study(module_researcher, *tasks, shots=[0, 2], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    for task in tasks:
        factories.predict(module_researcher, "toy", task, 0)
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def in_order(text: str) -> list[str]:
    """Return the tasks in the order of their first mention."""
    places = {name: text.find(name) for name in FLAT}
    return sorted((name for name in FLAT if places[name] >= 0), key=places.__getitem__)


def test_the_order_is_that_of_the_shipped_cards():
    assert tuple(CLUES) == TASKS


@pytest.mark.parametrize("ext", ["md", "tex"])
def test_the_human_table_has_the_papers_columns(ada, study, ext):
    text = ada.get(reverse("human_performance_file", args=[study.name, ext])).content.decode()
    names = next(line for line in text.splitlines() if "animals" in line)
    assert in_order(names) == GROUPED
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    head = page.split("<thead>")[1].split("</thead>")[0]
    assert re.findall(r'scope="colgroup"[^>]*>([^<]+)<', head) == FAMILIES
    assert re.findall(r'scope="col">([^<]+)<', head) == ["Shots", *GROUPED]
    if ext == "tex":
        assert [text.index(name) for name in FAMILIES] == sorted(map(text.index, FAMILIES))


@pytest.mark.engines
def test_every_table_of_the_analysis_has_the_papers_order(ada, study):
    frame = findings.answered(study, Kind.PERSON)
    orders = {
        name: [row.task for row in make(frame, study.seed)]
        for name, make in findings.TABLES.items()
    }
    answers = sensitivity.table(study, Kind.PERSON)
    files = PredictionFile.objects.filter(task__in=study.tasks.all())
    orders |= {
        "training": [row.task for row in training.training(study)],
        "sensitivity": [table.task for table in sensitivity.task_tables(answers)],
        "differences": [row.task for row in differences(study, Kind.PERSON)],
        "models": [row.task.name for row in model_tables.model_rows(files)],
        **{
            name: [row.task for row in figure_data.figure(study, Kind.PERSON, name).numbers]
            for name in figure_data.NAMES
        },
    }
    assert {name: list(dict.fromkeys(tasks)) for name, tasks in orders.items()} == dict.fromkeys(
        orders, FLAT
    )


@pytest.mark.parametrize(
    ("name", "show", "starts"),
    [
        ("analysis", "", ["95 % confidence intervals", "Human ceiling"]),
        ("human_performance", "training", ["<tbody>"]),
        ("human_performance", "sensitivity", ["<h1>"]),
        ("study_models", "differences", ["<tbody>"]),
        ("examples", "", ['aria-label="Tasks"']),
        ("report", "", [
            ">Methods<", ">Tasks<", "Means with 95 % intervals", "Human ceiling",
            "Differences between humans and models",
        ]),
        ("study_design", "", [">Tasks<"]),
    ],
)  # fmt: skip
def test_every_page_has_the_order_of_the_results(ada, study, name, show, starts):
    page = ada.get(reverse(name, args=[study.name], query={"show": show})).content.decode()
    for start in starts:
        assert in_order(page.split(start, 1)[1]) == GROUPED, start


def test_figures_and_their_numbers_have_the_order_of_the_results(ada, study):
    for name in figure_data.NAMES:
        figure = figure_data.figure(study, Kind.PERSON, name)
        assert figure.spec["facet"]["sort"] == GROUPED
        assert list(dict.fromkeys(row[0] for row in figure.cells)) == GROUPED
    page = ada.get(reverse("figure_table", args=[study.name, "shots"])).content.decode()
    assert in_order(page) == GROUPED


def test_the_form_of_a_study_has_the_order_of_the_results(ada, study):
    page = ada.get(reverse("study_new")).content.decode()
    assert in_order(page.split('name="tasks"', 1)[1]) == GROUPED


def test_documents_have_the_papers_order(ada, study):
    preregistration = ada.get(reverse("preregistration", args=[study.name])).content.decode()
    tables = [part.split("</tbody>")[0] for part in preregistration.split("<tbody>")[1:]]
    assert [in_order(table) for table in tables if in_order(table)] == [FLAT, FLAT]
    examples = ada.get(reverse("examples", args=[study.name]))
    assert examples.context["task"].name == "SST-2"


def test_the_csv_of_the_table_has_the_order_of_its_columns(ada, study):
    text = ada.get(reverse("human_performance_file", args=[study.name, "csv"])).content.decode()
    rows = csv.DictReader(io.StringIO(text))
    assert list(dict.fromkeys(row["task"] for row in rows)) == GROUPED
    assert frames.annotators(study)["task"].is_monotonic_increasing  # files of rows: sorted by name
