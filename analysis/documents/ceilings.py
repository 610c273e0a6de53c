"""Sections of the report on people among themselves: agreement, aggregates, ceilings, golds."""

from analysis.documents.blocks import Block, Grid, Paragraph
from analysis.documents.differences import meanings
from analysis.documents.study_record import StudyRecord
from analysis.tables import ceilings, findings, findings_columns, gold_audit
from analysis.tables.columns import NOTHING
from tasks.columns import Column, on_page

AGREEMENT = "Agreement"  # caption of its table, by which the methods section knows of it


def agreement(record: StudyRecord) -> list[Block]:
    """Agreement and aggregated answers; nothing where no cell has two annotators."""
    agreements = findings.agreements(record.answered)
    if all(row.n < 2 for row in agreements):
        return []
    tables = (
        findings_columns.table("agreement", agreements),
        findings_columns.table("aggregates", findings.aggregates(record.answered)),
    )
    return [
        Grid.of(it.title, shown, it.rows, [it.about, meanings(shown)])
        for it, shown in ((table, _known(table)) for table in tables)
    ]


def _known(table: findings_columns.Table) -> list[Column]:
    """The columns in which a row has a value."""
    return [c for c in table.columns if any(c.text(row) != NOTHING for row in table.rows)]


def blocks(record: StudyRecord) -> list[Block]:
    """How well people meet each other, and how often they all agree against the gold."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    frame = record.answered
    return [
        Grid.of(
            ceilings.TITLE,
            ceilings.COLUMNS,
            ceilings.ceilings(frame),
            [meanings(on_page(ceilings.COLUMNS[3:]))],
        ),
        Grid.of(
            "All annotators agree against the gold",
            gold_audit.TALLY,
            gold_audit.tallies(frame),
            [f"{meanings(gold_audit.TALLY[1:])} No score was changed."],
        ),
    ]
