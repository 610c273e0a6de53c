"""The report has the tables of anchors, confidence etc. of the designs that have them."""

from dataclasses import replace

import pytest

from analysis.documents import checklists, methods, preregistration, report, wording
from analysis.documents.blocks import Grid, as_markdown
from analysis.documents.checklists.facts import Facts
from tests import factories
from tests.analysis.scores.test_anchor_table import compared
from tests.annotation.protocol import test_context_free as context_free

pytestmark = pytest.mark.django_db

OF_SOME_DESIGNS = {
    "Anchors", "Question alone", "Confidence", "Calibration", "Point of no further gain",
    "S1 by stratum",
}  # fmt: skip


def grids(study) -> dict[str, tuple[str, Grid]]:
    """Return each such table of the report and the title of its section, by caption."""
    sections = report.for_study(study).sections
    return {
        part.caption: (section.title, part)
        for section in sections
        for part in section.blocks
        if isinstance(part, Grid) and part.caption in OF_SOME_DESIGNS
    }


def test_the_report_has_the_tables_of_anchors_and_confidence(researcher):
    study = compared(researcher, confidence_share=1, rate=lambda turn: {"confidence": "5"})
    shown = grids(study)
    assert set(shown) == {"Anchors", "Confidence", "Calibration"}
    section, anchors = shown["Anchors"]
    assert section == "Uncertainty and differences"
    (row,) = anchors.rows
    assert row[:3] == ["toy-labels", "0 → 2", "83.3 ± 28.9 (n = 3)"]
    assert "Holm-adjusted over all adjusted contrasts" in " ".join(anchors.notes)
    section, confidence = shown["Confidence"]
    assert section == "Confidence and calibration"
    assert [row[:6] for row in confidence.rows] == [
        ["toy-labels", "0", "People", "3", "12", "0"],
        ["toy-labels", "2", "People", "3", "12", "0"],
    ]
    assert not any("no interval" in cell for row in confidence.rows for cell in row)
    few = "Numbers without an interval are based on fewer than 10 annotators."
    assert confidence.notes.count(few) == 1
    assert [row[3] for row in shown["Calibration"][1].rows] == ["5", "5"]
    assert "| toy-labels | 0 → 2 | 83.3 ± 28.9 (n = 3) |" in as_markdown(report.for_study(study))


def test_the_report_has_the_table_of_questions_without_context(researcher):
    study = context_free.make_study(researcher, context_free.make_task(), annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    shown = grids(study)
    assert set(shown) == {"Question alone"}
    assert shown["Question alone"][0] == "Uncertainty and differences"


def test_the_report_has_the_tables_of_the_plateau_and_of_strata(researcher):
    tests = [
        replace(row, stratum=("fiction", "travel")[index % 2])
        for index, row in enumerate(factories.place_records("test", 6))
    ]
    study = factories.make_study(
        researcher, factories.make_task(shots=(4,), test=tests), shots=[4], annotators=1
    )
    factories.work_through(factories.seat(study.scenarios.get()))
    shown = grids(study)
    assert set(shown) == {"Point of no further gain", "S1 by stratum"}
    assert shown["Point of no further gain"][0] == "Learning in the training step"
    section, strata = shown["S1 by stratum"]
    assert section == "Uncertainty and differences"
    assert [row[2] for row in strata.rows] == ["fiction", "travel"]


def test_other_designs_have_none_of_these_tables(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    assert not grids(study)


def documents(study, **card) -> tuple[str, str, str]:
    """Return preregistration, methods and checklist of a study with a changed card."""
    record = Facts(study)
    record.manifest["tasks"][0]["card"] |= card
    opening = preregistration.Opening("", study.opened_at, 1, 0, wording.strata(study))
    plan = as_markdown(preregistration.document(record.manifest, opening))
    text = " ".join(part.text for part in methods.paragraphs(record, {}))
    entries = checklists.for_study(record, {})["wei-2025"].entries
    return plan, text, " ".join(entry.evidence for entry in entries)


def test_documents_state_images_strata_and_the_plateau_of_designs_that_have_them(researcher):
    tests = [
        replace(row, stratum=("fiction", "travel")[index % 2])
        for index, row in enumerate(factories.place_records("test", 6))
    ]
    study = factories.make_study(
        researcher, factories.make_task(shots=(4,), test=tests), shots=[4], annotators=1
    )
    plain = factories.make_study(researcher, factories.make_task(name="other"), shots=[0, 2])
    sentences = (
        "The test examples of toy-places (2 strata) are grouped into strata.",
        "the point of no further gain",
        "Examples of toy-places contain images with alternative texts",
    )
    with_all, without = documents(study, images=True), documents(plain)
    for sentence in sentences:
        assert [sentence in text for text in with_all] == [True] * 3
        assert [sentence in text for text in without] == [False] * 3
    assert "annotators may enlarge the images" in with_all[0]
    assert "annotators could enlarge the images" in with_all[1]


def test_the_checklist_states_question_alone_and_confidence(researcher):
    task = context_free.make_task()
    study = context_free.make_study(researcher, task, annotators=1, confidence_share=0.2)
    plain = factories.make_study(researcher, task, shots=[0, 2], name="plain")
    for sentence in (
        "an additional group of 3 annotators was given the test questions without their context",
        "Annotators were asked how confident they were in 20 % of their answers.",
    ):
        assert sentence in documents(study)[2]
        assert sentence not in documents(plain)[2]
