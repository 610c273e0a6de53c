"""What the report says of the people behind a result: attrition, admission, inclusion criteria."""

from analysis.documents.blocks import Block, Grid, Paragraph
from analysis.documents.differences import meanings
from analysis.documents.study_record import StudyRecord
from analysis.tables import attrition, selection, sensitivity
from analysis.tables.columns import ASSUMES, FEW
from annotation.models import Kind
from tasks.columns import on_page

SENSITIVITY = "Sensitivity to inclusion criteria"


def of_attrition(record: StudyRecord) -> list[Block]:
    """Who completed in each arm, and Lee's bounds; nothing without a difference between shots."""
    rows = attrition.rows(record.study, Kind.PERSON)
    if not rows:
        return []
    shown = on_page(attrition.COLUMNS)
    return [Grid.of(attrition.TITLE, shown, rows, [attrition.INTRO, meanings(shown)])]


def of_admission(record: StudyRecord) -> list[Block]:
    """The pass rates of the arms; nothing where the design has no rule."""
    study = record.study
    rows = selection.admissions(study, Kind.PERSON)
    if not rows:
        return []
    notes = [selection.INTRO, meanings(on_page(selection.COLUMNS[5:]))]
    return [
        *map(Paragraph, selection.told(study)),
        Grid.of(selection.TITLE, selection.COLUMNS, rows, notes),
    ]


def sensitivity_to_criteria(record: StudyRecord) -> list[Block]:
    """For each task its cells as reported and under each criterion that changes one of them."""
    blocks: list[Block] = []
    cells = sensitivity.table(record.study, Kind.PERSON, record.frame)
    for table in sensitivity.task_tables(cells):
        (words, reported), *further = table.lines
        changed = [line for line in further if any(moved for _text, moved in line[1])]
        shown = [(words, reported), *changed]
        rows = [[words, *(text for text, _moved in cells)] for words, cells in shown]
        few = f"; {ASSUMES}" if any(FEW in cell for row in rows for cell in row) else ""
        others = "Further criteria change no cell." if changed else "No criterion changes a cell."
        note = f"Mean ± SD over annotators (n), 95 % interval{few}. {others}"
        headings = ["Criterion", *(f"{shots} shots" for shots in table.shots)]
        blocks.append(Grid(f"{SENSITIVITY}: {table.task}", headings, rows, [note]))
    return blocks
