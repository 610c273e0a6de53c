"""What the report says of admission: pass rates of the arms, and what the rule does by itself."""

from analysis.documents.blocks import Block, Grid, Paragraph
from analysis.documents.study_record import StudyRecord
from analysis.tables import resampling, selection
from annotation.models import Kind
from tasks.columns import on_page


def blocks(record: StudyRecord) -> list[Block]:
    """Nothing where the design has no rule.

    The gains are those of the job of the analysis page; before it is done they are dashes.
    """
    study = record.study
    rows = selection.admissions(study, Kind.PERSON, resampling.gains(study, Kind.PERSON))
    if not rows:
        return []
    meanings = " ".join(f"{c.heading}: {c.meaning}." for c in on_page(selection.COLUMNS[6:]))
    return [
        *map(Paragraph, selection.told(study)),
        Grid.of(selection.TITLE, selection.COLUMNS, rows, [selection.INTRO, meanings]),
    ]
