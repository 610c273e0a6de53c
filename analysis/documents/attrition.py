"""What the report says of attrition: who completed in each arm, and Lee's bounds."""

from analysis.documents.blocks import Block, Grid
from analysis.documents.study_record import StudyRecord
from analysis.tables import attrition
from annotation.models import Kind
from tasks.columns import on_page


def blocks(record: StudyRecord) -> list[Block]:
    """Nothing where there is no difference between shots."""
    rows = attrition.rows(record.study, Kind.PERSON)
    if not rows:
        return []
    shown = on_page(attrition.COLUMNS)
    meanings = " ".join(f"{c.heading}: {c.meaning}." for c in shown if c.meaning)
    return [Grid.of(attrition.TITLE, shown, rows, [attrition.INTRO, meanings])]
