"""The sample table: answers from annotators in the analysis, with small cells hidden.

There are two sources: the study's custom questions, and Prolific's demographic export. The export
is read when it is uploaded and never stored. Only the resulting table is stored, after its small
cells have been hidden.
"""

import csv
import io
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import AuditEntry, Kind, OwnAnswer, ReportAnswer, Study, Topic
from annotation.prolific.adapter import ProlificAdapter
from annotation.recruitment.identities import worker_key
from annotation.study.own_questions import CHOICE, NUMBER, OwnQuestion, parse

FEWEST = 5  # minimum number of people in a cell that is shown
SMALL, WITHHELD = f"<{FEWEST}", "withheld"
OTHER = "other values"
ITEM = "sample"  # item of the report under which the table from an export is stored
PARTICIPANT = "Participant id"
# Columns of the export that describe the submission rather than the person.
NOT_OF_THE_PERSON = frozenset(
    {
        "Submission id", PARTICIPANT, "Status", "Custom study tncs accepted at", "Started at",
        "Completed at", "Reviewed at", "Archived at", "Time taken", "Completion code",
        "Total approvals",
    }
)  # fmt: skip
AGE = "Age"
NO_DATA = frozenset({"", "DATA_EXPIRED", "CONSENT_REVOKED"})  # as spelled in Prolific's export
LARGEST_EXPORT = 2_000_000  # bytes; proxies accept this much at every URL


class ExportError(ValueError):
    """The export can't be read. The message gives the line and column. Users see it."""


@dataclass(frozen=True)
class Row:
    """A table row for one answer or, if a question asks for a number, for all numbers given.

    `of` is the number of people who answered the question, or None if it is below FEWEST. `hidden`
    is SMALL for cells with fewer than FEWEST people, and WITHHELD for cells that would reveal such
    a cell. The numbers in hidden cells are None.
    """

    question: str
    answer: str
    of: int | None
    n: int | None
    hidden: str = ""
    median: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def share(self) -> float | None:
        return None if self.n is None or not self.of else self.n / self.of


# Hidden cells -------------------------------------------------------------------------------------


def hidden(counts: Sequence[int]) -> list[str]:
    """Return "", SMALL or WITHHELD for each cell, so that hidden counts can't be worked out.

    Readers know the sum of all cells, the cells that are shown, and that a small cell contains
    fewer than FEWEST people. The smallest cells shown are withheld until every hidden cell has more
    than one possible value.
    """
    if sum(counts) < FEWEST:
        return [WITHHELD] * len(counts)
    marks = [SMALL if n < FEWEST else "" for n in counts]
    while any(marks) and not _is_safe(counts, marks):
        visible = [i for i, mark in enumerate(marks) if not mark]
        if not visible:
            return [WITHHELD] * len(counts)
        marks[min(visible, key=lambda i: (counts[i], i))] = WITHHELD
    return marks


def _is_safe(counts: Sequence[int], marks: Sequence[str]) -> bool:
    """Return whether each hidden cell has several possible values, given the sum."""
    total = sum(n for n, mark in zip(counts, marks, strict=True) if mark)
    visible = [n for n, mark in zip(counts, marks, strict=True) if not mark]
    largest = min([total, *visible])  # withheld cells are at most as large as the smallest shown
    ends = [(0, FEWEST - 1) if mark == SMALL else (FEWEST, largest) for mark in marks if mark]
    lowest, highest = sum(low for low, _high in ends), sum(high for _low, high in ends)
    return all(
        min(high, total - (lowest - low)) > max(low, total - (highest - high)) for low, high in ends
    )


def choice_rows(question: str, answers: Mapping[str, int]) -> list[Row]:
    """Return one row per answer, without counting missing answers."""
    total, marks = sum(answers.values()), hidden(list(answers.values()))
    return [
        Row(question, answer, None if total < FEWEST else total, None if mark else n, mark)
        for (answer, n), mark in zip(answers.items(), marks, strict=True)
    ]


def number_rows(question: str, values: Sequence[float]) -> list[Row]:
    """Return a row with the median and quartiles, hidden if fewer than FEWEST people answered."""
    if len(values) < FEWEST:
        return [Row(question, "", None, None, SMALL)]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return [Row(question, "", len(values), len(values), "", median, low, high)]


# Custom questions ---------------------------------------------------------------------------------


def own_rows(study: Study) -> list[Row]:
    """Return rows for custom questions with choices or numbers, but not with free text."""
    questions = [q for q in parse(study.own_questions) if q.kind in (CHOICE, NUMBER)]
    if not questions:
        return []
    people = study.participations.analysed().filter(kind=Kind.PERSON)
    given: dict[str, dict[int, str]] = {question.id: {} for question in questions}
    rows = OwnAnswer.objects.filter(participation__in=people).order_by("pk")
    for name, worker, answer in rows.values_list("question", "participation__worker", "answer"):
        # People who do several tasks are asked more than once. Use their first answer.
        if name in given and answer.strip():
            given[name].setdefault(worker, answer.strip())
    return [row for q in questions for row in _question_rows(q, list(given[q.id].values()))]


def _question_rows(question: OwnQuestion, answers: Sequence[str]) -> list[Row]:
    if question.kind == NUMBER:
        values = [value for value in map(_number, answers) if value is not None]
        return number_rows(question.text, values)
    counts = Counter(answers)
    return choice_rows(question.text, {option: counts[option] for option in question.options})


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


# Prolific's demographic export --------------------------------------------------------------------


def stored_rows(study: Study) -> list[Row]:
    return [Row(**row) for row in _stored(study).get("rows", [])]


def about_export(study: Study) -> str:
    """Return a sentence with the size and date of the stored export, or "" if there is none."""
    stored = _stored(study)
    if not stored:
        return ""
    return (
        f"From Prolific's demographic export, read on {stored['on']}: {stored['people']}"
        f" annotators in the analysis on that day; {stored['others']} other lines in the file were"
        " not used."
    )


def _stored(study: Study) -> dict[str, Any]:
    text = study.report_answers.filter(item=ITEM).values_list("text", flat=True).first()
    return json.loads(text) if text else {}


def store_export(study: Study, text: str, by: User) -> int:
    """Read an export and replace the stored table. Returns the number of people.

    Nothing about individuals is stored. Raises ExportError.
    """
    people, other_lines, rows = read_export(study, text)
    table = {
        "on": timezone.now().date().isoformat(),
        "people": people,
        "others": other_lines,
        "rows": [asdict(row) for row in rows],
    }
    with Study.locking(study.pk):
        ReportAnswer.objects.update_or_create(
            study=study,
            item=ITEM,
            defaults={"text": json.dumps(table), "by": by, "at": timezone.now()},
        )
        AuditEntry.objects.record(
            "sample table created from a demographic export", Topic.RESULTS, study=study, by=by,
            before={}, after={"people": people},
        )  # fmt: skip
    return people


def drop_export(study: Study, by: User) -> None:
    with Study.locking(study.pk):
        if study.report_answers.filter(item=ITEM).delete()[0]:
            AuditEntry.objects.record(
                "sample table deleted", Topic.RESULTS, study=study, by=by,
                before={}, after={},
            )  # fmt: skip


def read_export(study: Study, text: str) -> tuple[int, int, list[Row]]:
    """Return (people in the analysis, other lines, table rows). Raises ExportError."""
    heads, lines = _lines(text)
    described = [head for head in heads if head and head not in NOT_OF_THE_PERSON]
    if not described:
        problem = f"Line 1: no demographic column, such as {AGE} or Sex; found {', '.join(heads)}."
        raise ExportError(problem)
    people = study.participations.analysed().filter(kind=Kind.PERSON)
    wanted = set(people.values_list("worker__key", flat=True))
    used: dict[str, int] = {}
    for number, cells in lines.items():
        key = worker_key(ProlificAdapter.platform, cells[PARTICIPANT])
        if key in wanted:
            used.setdefault(key, number)  # of several submissions, the first one
    if not used:
        raise ExportError(
            f"None of the {len(lines)} submissions in the file belongs to an annotator in this"
            " study's analysis. Choose this study's export from Prolific."
        )
    rows: list[Row] = []
    for head in described:
        cells_of = {number: lines[number][head].strip() for number in used.values()}
        values = {number: value for number, value in cells_of.items() if value not in NO_DATA}
        rows += (
            number_rows(head, [_age(number, value) for number, value in values.items()])
            if head == AGE
            else choice_rows(head, _pooled(values.values()))
        )
    return len(used), len(lines) - len(used), rows


def _lines(text: str) -> tuple[list[str], dict[int, dict[str, str]]]:
    """Parse the CSV into its headings, and its rows by line number. Raises ExportError."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    lines = {}
    try:
        reader.fieldnames = heads = [head.strip() for head in reader.fieldnames or ()]
        for row in reader:
            if any(isinstance(cell, list) or (cell or "").strip() for cell in row.values()):
                lines[reader.line_num] = row
    except csv.Error as error:
        raise ExportError(f"Line {reader.reader.line_num}: not valid CSV ({error}).") from None
    if PARTICIPANT not in heads:
        raise ExportError(
            f"Line 1: expected a column “{PARTICIPANT}”. Choose Prolific's demographic export, a"
            " CSV file."
        )
    if twice := [head for head in heads if head and heads.count(head) > 1]:
        raise ExportError(f"Line 1: the column “{twice[0]}” appears twice.")
    if not lines:
        raise ExportError("Line 2: the file contains no submissions.")
    for number, row in lines.items():
        if None in row or None in row.values():  # too many cells, or too few
            raise ExportError(f"Line {number}: expected {len(heads)} cells, as in line 1.")
    return heads, lines


def _age(number: int, value: str) -> float:
    age = _number(value)
    if age is None or not 0 < age < 130:
        problem = f"Line {number}, column {AGE}: “{value[:40]}” is not an age in years, such as 34."
        raise ExportError(problem)
    return age


def _pooled(values: Iterable[str]) -> dict[str, int]:
    """Count people by value, pooling all values given by fewer than FEWEST people."""
    counts = Counter(values)
    common = {value: n for value, n in sorted(counts.items()) if n >= FEWEST}
    remainder = sum(counts.values()) - sum(common.values())
    return {**common, OTHER: remainder} if remainder else common
