"""What the report says of admission: the pass rates of the arms."""

from analysis.documents.blocks import Block, Grid, Paragraph
from analysis.documents.study_record import StudyRecord
from analysis.tables import selection
from annotation.models import Kind
from tasks.columns import on_page


def blocks(record: StudyRecord) -> list[Block]:
    """Nothing where the design has no rule."""
    study = record.study
    rows = selection.admissions(study, Kind.PERSON)
    if not rows:
        return []
    meanings = " ".join(f"{c.heading}: {c.meaning}." for c in on_page(selection.COLUMNS[6:]))
    return [
        *map(Paragraph, selection.told(study)),
        Grid.of(selection.TITLE, selection.COLUMNS, rows, [selection.INTRO, meanings]),
    ]
