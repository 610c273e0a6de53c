"""A section of the report: how well people meet each other, and where all are against the gold."""

from analysis.documents.blocks import Block, Grid, Paragraph
from analysis.documents.study_record import StudyRecord
from analysis.tables import ceilings, gold_audit
from tasks.columns import on_page


def blocks(record: StudyRecord) -> list[Block]:
    """How well people meet each other, and how often they all agree against the gold."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    frame = record.answered
    meanings = " ".join(f"{c.heading}: {c.meaning}." for c in on_page(ceilings.COLUMNS[3:]))
    return [
        Grid.of(ceilings.TITLE, ceilings.COLUMNS, ceilings.ceilings(frame), [meanings]),
        Grid.of(
            "All annotators agree against the gold",
            gold_audit.TALLY,
            gold_audit.tallies(frame),
            [
                " ".join(f"{c.heading}: {c.meaning}." for c in gold_audit.TALLY[1:])
                + " The examples are on the page Gold audit. No score was changed."
            ],
        ),
    ]
