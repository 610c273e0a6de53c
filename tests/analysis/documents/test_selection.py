"""Selection by screening: pass rates of the arms, and warnings about its effect on means."""

import csv
import io
import itertools

import pytest
from django.urls import reverse

from analysis.documents import preregistration, report
from analysis.documents.blocks import Grid
from analysis.scores import attrition
from annotation.models import Kind, Study
from annotation.study.screening import screened, warning
from tests import factories
from tests.analysis.documents import reports


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
def test_zero_shots_warn_if_a_rule_judges_only_the_other_arm(
    rule, shots, screening, warns, screens
):
    told = warning(rule, shots, screening)
    assert bool(told) == warns
    assert ("screening set: 10 examples" in screened(rule, shots, screening)) == screens


@pytest.fixture(scope="module")
def stored(module_researcher):
    """A study that requires a training S1 of 60 over 4 examples; the rule skips 0 shots."""
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
    """Screen out a participant after the training step."""
    study.scenarios.filter(shots=4).update(seats=3)
    seat = factories.seat(study.scenarios.get(shots=4))
    factories.work_through(seat, lambda turn: [turn.example.context[0].split()[0]], limit=4)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "screened_out"


def test_pass_rates_are_shown_with_the_contrasts(ada, study):
    """They replaced a simulated gain, which used only those admitted and was half the true one."""
    fail(study)
    zero, four = attrition.admissions(study, Kind.PERSON)
    assert (zero.judged_by, zero.judged, zero.admitted) == (0, 0, 0)
    assert (four.judged_by, four.judged, four.admitted) == (4, 3, 2)
    text = " ".join(ada.get(reverse("analysis", args=[study.name])).content.decode().split())
    assert "67 %" in text
    assert "not judged" in text
    assert "a low pass rate can raise the mean of an arm" in text
    assert "gain" not in text.split("Admission", 1)[1].split("</table>", 1)[0].split("<table", 1)[1]
    reply = ada.get(reverse("analysis_file", args=[study.name, "admission"])).content.decode()
    table = list(csv.DictReader(io.StringIO(reply, newline="")))
    assert [*table[1]] == ["kind", "task", "shots", "split", "judged_by", "judged", "admitted"]
    assert (table[1]["judged"], table[1]["admitted"]) == ("3", "2")
    (api,) = ada.get(reverse("api_analysis", args=[study.name])).json()
    assert api["admission"][1] == {
        "task": "toy-places", "shots": 4, "split": 1, "judged_by": 4, "judged": 3, "admitted": 2,
    }  # fmt: skip


@pytest.mark.long
def test_page_report_and_preregistration_warn(ada, study):
    told = warning("minimum", [0, 4], 0)
    assert "but not at 0 shots" in told
    assert told in ada.get(reverse("analysis", args=[study.name])).content.decode()
    page = ada.get(reverse("study", args=[study.name])).content.decode()
    assert told in page
    assert "add a screening set to the design" in page  # a remedy
    for document in (report.for_study(study), preregistration.for_study(study)):
        texts = [getattr(block, "text", "") for part in document.sections for block in part.blocks]
        assert told in texts
    grid = reports.block(study, "Uncertainty and differences", Grid, "Admission")
    assert [row[:2] for row in grid.rows] == [["toy-places", "0"], ["toy-places", "4"]]
    assert grid.columns == [
        "Task",
        "Shots",
        "Split",
        "Judged by",
        "Judged",
        "Admitted",
        "Pass rate",
    ]


def test_without_a_rule_no_table_of_pass_rates_is_shown(ada, researcher):
    study = factories.make_study(researcher, factories.make_task())
    assert attrition.ADMISSION.rows(study, Kind.PERSON) == []
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert "Pass rate" not in page
    assert "Screening differs between arms" not in page
