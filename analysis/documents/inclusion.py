"""What the report says of the people behind a result: attrition, admission, inclusion criteria."""

from analysis.documents.blocks import Block, Grid, Paragraph, meanings
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import Manifest, shots_of
from analysis.tables import attrition, sensitivity
from analysis.tables.attrition import ADMISSION, ATTRITION
from analysis.tables.columns import ASSUMES, FEW
from annotation.models import Kind
from tasks.columns import on_page

SENSITIVITY = "Sensitivity to inclusion criteria"


def of_attrition(record: StudyRecord) -> list[Block]:
    """Who completed in each arm, and Lee's bounds; nothing without a difference between shots."""
    rows = ATTRITION.rows(record.study, Kind.PERSON)
    if not rows:
        return []
    shown = on_page(ATTRITION.columns)
    return [Grid.of(ATTRITION.title, shown, rows, [ATTRITION.intro, meanings(shown)])]


def of_admission(record: StudyRecord) -> list[Block]:
    """The pass rates of the arms; nothing where the design has no rule."""
    study = record.study
    rows = ADMISSION.rows(study, Kind.PERSON)
    if not rows:
        return []
    notes = [ADMISSION.intro, meanings(on_page(ADMISSION.columns[5:]))]
    return [
        *map(Paragraph, attrition.told(study)),
        Grid.of(ADMISSION.title, ADMISSION.columns, rows, notes),
    ]


def sensitivity_to_criteria(record: StudyRecord) -> list[Block]:
    """For each task its cells as reported and under each criterion that changes one of them."""
    if record.answered.empty:
        return []
    tables = sensitivity.task_tables(sensitivity.table(record.study, Kind.PERSON, record.frame))
    unused = _unused(record.manifest)
    return [_criteria(table, unused, _silence(record)) for table in tables]


def _unused(manifest: Manifest) -> set[str]:
    """The words of criteria that cannot change a cell of this design."""
    has_training = any(shots_of(manifest))
    return {
        rule.words
        for rule in sensitivity.RULES
        if (rule.name == "passed_checks" and not manifest["attention_checks"])
        or (rule.name.startswith("training") and not has_training)
    }


def _silence(record: StudyRecord) -> str:
    """That there are no criteria by the exit questionnaire, as nobody answered it."""
    is_asked = bool(record.manifest["exit_questionnaire"])
    is_silent = is_asked and not any(record.exit_answers.values())
    return " The exit questionnaire has no answers." if is_silent else ""


def _criteria(table: sensitivity.TaskTable, unused: set[str], silence: str) -> Grid:
    reported, *further = table.lines
    changed = [line for line in further if any(moved for _text, moved in line[1])]
    rows = [[words, *(text for text, _moved in cells)] for words, cells in [reported, *changed]]
    same = [line[0] for line in further if line not in changed and line[0] not in unused]
    few = f"; {ASSUMES}" if any(FEW in cell for row in rows for cell in row) else ""
    others = f" No cell changes by: {'; '.join(same)}." if same else ""
    note = f"Mean ± SD over annotators (n), 95 % interval{few}.{others}{silence}"
    headings = ["Criterion", *(f"{shots} shots" for shots in table.shots)]
    return Grid(f"{SENSITIVITY}: {table.task}", headings, rows, [note])
