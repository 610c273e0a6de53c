"""A study to report on, and the blocks of its report."""

from analysis.documents import report
from analysis.documents.blocks import Form
from annotation.models import Kind, Study
from annotation.recruitment import consent
from tests import factories


def make_study(researcher) -> Study:
    """Four people complete at 0 and 2 shots, one declines, and a simulated annotator completes."""
    study = factories.make_study(
        researcher, factories.make_task(test_size=6), shots=[0, 2], annotators=3,
        title="A study", exit_questionnaire=True,
    )  # fmt: skip
    zero, two = study.scenarios.order_by("shots")
    for scenario in (zero, two):
        for answer in (None, lambda turn: []):
            factories.work_through(factories.seat(scenario), answer)
    consent.record(factories.join(study), agree=False)
    factories.work_through(factories.seat(zero, Kind.SIMULATED), lambda turn: [])
    return study


def block(study, section: str, kind, caption: str = ""):
    """Return the first block of this kind in a section, or the one with this caption."""
    (blocks,) = [part.blocks for part in report.for_study(study).sections if part.title == section]
    fitting = [part for part in blocks if isinstance(part, kind)]
    return next(part for part in fitting if not caption or part.caption == caption)


def items(study) -> dict:
    """Return number -> item of the checklist."""
    part = block(study, "Checklist for human baselines", Form)
    return {item.number: item for item in part.entries}
