"""Sentences about recruitment, and report sections about the participants behind a result."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from analysis.documents.blocks import Block, Grid, Paragraph, meanings
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import PLANNED, REPORTED, Manifest, Verbs, shots_of
from analysis.scores import attrition, sensitivity
from analysis.scores.attrition import ADMISSION, ATTRITION
from analysis.scores.markup import ASSUMES, explained
from annotation.models import Kind
from annotation.prolific.adapter import ProlificAdapter
from tasks.columns import on_page, shots_text

# Maps each key of the audience to the condition's name and suffix.
CONDITIONS = {
    "countries": ("countries", ""),
    "languages": ("languages", ""),
    "minimum_age": ("minimum age", ""),
    "maximum_age": ("maximum age", ""),
    "approval_rate": ("approval rate of at least", " %"),
    "quotas": ("quotas", ""),
}


def came_from_prolific(record: StudyRecord) -> bool:
    return ProlificAdapter.label in dict(record.platforms)


def reached(record: StudyRecord) -> list[str]:
    """Return a past-tense description of the audience, or a sentence if Prolific was not used."""
    return list(audience(record.manifest, REPORTED, came_from_prolific(record)))


def audience(manifest: Manifest, verbs: Verbs = PLANNED, on_prolific: bool = True) -> Iterator[str]:
    limits = manifest["audience"] or {}
    conditions = [
        f"{name} {_flat(limits[key])}{end}"
        for key, (name, end) in CONDITIONS.items()
        if limits.get(key)
    ]
    if limits.get("filters"):
        conditions.append(f"Prolific filters {json.dumps(limits['filters'], ensure_ascii=False)}")
    if conditions:
        listed = "; ".join(conditions)
        yield (
            f"On Prolific, participants {verbs.are} recruited under these conditions: {listed}."
            if on_prolific
            else f"The design restricts recruitment on Prolific ({listed}), but no participants"
            " were recruited there."
        )
    if limits.get("content_warning"):
        warning = " ".join(limits["content_warning"].split())
        yield f"Annotators {verbs.are} warned of the content: “{warning}”"


def _flat(value: Any) -> str:
    """Format a condition as text, for example "sex (female 50, male 50)"."""
    if isinstance(value, dict):
        return ", ".join(
            f"{name} ({_flat(each)})" if isinstance(each, dict) else f"{name} {_flat(each)}"
            for name, each in value.items()
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# Report sections about the participants behind a result: attrition, admission and criteria.

SENSITIVITY = "Sensitivity to inclusion criteria"


def attrition_blocks(record: StudyRecord) -> Iterator[Block]:
    if rows := ATTRITION.rows(record.study, Kind.PERSON):
        columns = on_page(ATTRITION.columns)
        yield Grid.of(ATTRITION.title, columns, rows, [ATTRITION.intro, meanings(columns)])


def admission_blocks(record: StudyRecord) -> Iterator[Block]:
    if rows := ADMISSION.rows(record.study, Kind.PERSON):
        yield from map(Paragraph, attrition.warnings(record.study))
        notes = [ADMISSION.intro, meanings(on_page(ADMISSION.columns[5:]))]
        yield Grid.of(ADMISSION.title, ADMISSION.columns, rows, notes)


def sensitivity_to_criteria(record: StudyRecord) -> list[Block]:
    """Return each task's cells as reported and under each criterion that changes any of them."""
    if record.answered.empty:
        return []
    tables = sensitivity.task_tables(sensitivity.table(record.study, Kind.PERSON))
    has_training = any(shots_of(record.manifest))
    unused = {  # criteria that cannot change any cell in this design
        rule.label
        for rule in sensitivity.RULES
        if (rule.name == "passed_checks" and not record.manifest["attention_checks"])
        or (rule.name.startswith("training") and not has_training)
    }
    is_silent = record.manifest["exit_questionnaire"] and not any(record.exit_answers.values())
    silence = " The exit questionnaire has no answers." if is_silent else ""
    return [_criteria(table, unused, silence) for table in tables]


def _criteria(table: SimpleNamespace, unused: set[str], silence: str) -> Grid:
    reported, *further = table.lines
    changed = [line for line in further if any(moved for _text, moved in line[1])]
    rows = [[title, *(text for text, _moved in cells)] for title, cells in [reported, *changed]]
    unchanged = [line[0] for line in further if line not in changed and line[0] not in unused]
    stable = f" No cell changes under: {'; '.join(unchanged)}." if unchanged else ""
    note = f"Mean ± SD over annotators (n), 95 % interval; {ASSUMES}.{stable}{silence}"
    headings = ["Criterion", *(shots_text(shots) for shots in table.shots)]
    return Grid(f"{SENSITIVITY}: {table.task}", headings, rows, explained([note], rows))
