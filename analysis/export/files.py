"""The CSVs of a study: one grain a file, streamed, every text unaltered.

UTF-8 without a byte order mark, RFC 4180 (CRLF between records), floats as the shortest text that
reads back as the same number, times in ISO 8601 UTC. Texts are never altered, also not to keep a
spreadsheet from taking one that begins with "=" for a formula. Workers appear under pseudonyms; no
link, token or key is ever written.
"""

import csv
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from django.db import connection, transaction

from analysis.export import records
from analysis.tables import frames, performance
from analysis.values import json_list, moment, number
from annotation.models import AnswerSpan, Participation, Study, Turn
from annotation.monitoring import flags
from tasks.metrics import recipe
from tasks.models import Split
from tasks.spans import QUESTION, ceiling

VERIFY = Path(__file__).with_name("verify.py")
PIECE = 1 << 18  # bytes of a file that are compressed and sent at a time

STUDY = {
    "study": "name of the study",
    "manifest": "SHA-256 of the study's frozen design (manifest.json); empty while it is a draft",
}
SCENARIO = {
    "task": "name of the task",
    "task_version": "version of the task",
    "shots": "size of the training step: 0 or the shots of the training file",
    "split": "number of the training file; empty at zero shots",
}
WORKER = {
    "annotator": "pseudonym of the participation",
    "kind": "person, simulated or model",
    "status": "state of the participation: completed, working, expired, ...",
    "in_analysis": "1 if the participation counts in tables: completed and in the analysis; else 0",
}
SPREAD = {
    "mean": "mean over annotators of their mean S1, 0 to 1",
    "sd_ddof1": "standard deviation over annotators, ddof 1; empty for one annotator",
    "sd_ddof0": "standard deviation over annotators, ddof 0",
    "n": "number of annotators: completed, in the analysis",
}

# File -> column -> what it holds. The README's section is made from this, and so are the headers.
COLUMNS: dict[str, dict[str, str]] = {
    "examples.csv": {
        "task": "name of the task",
        "task_version": "version of the task",
        "file": "name of the published file",
        "file_kind": "train, test, or check (attention checks)",
        "shots": "shots of a training file; empty for the test file",
        "split": "number of a training file; empty for the test file",
        "position": "place in the file, from 0",
        "example": "id in the file (unique only there)",
        "segments": "the context as a JSON list of texts",
        "question": "the question as published",
        "question_selectable": "the question as shown, if it can be highlighted; else empty",
        "gold": "gold texts as a JSON list; [] is no answer",
        "gold_rule": "set: all golds together; any_of: golds are alternatives",
        "hash": "SHA-256 of the JSON list [segments, question, gold]: equality across files",
        "reachable": "best S1 that highlighting can reach, 0 to 1",
    },
    "answers.csv": STUDY
    | SCENARIO
    | {
        "step": "training, annotation, or check (an attention check, never in S1)",
        "position": "place in the order in which this annotator met the step's examples, from 0;"
        " attention checks stand in the order of the annotation step",
    }
    | WORKER
    | {
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "answer": "the answer as a JSON list of distinct texts; [] is no answer; empty: none yet",
        "gold": "gold texts as a JSON list; [] is no answer",
        "gold_rule": "set or any_of",
        "s1": "S1 of the answer, 0 to 1",
        "shown_at": "when the example was first shown, UTC",
        "submitted_at": "when the answer was stored, UTC",
        "seconds": "submitted_at minus shown_at",
        "active_seconds": "of these, the active time by the study's rule (manifest.json, pay)",
        "blurs": "how often the page was left, as it told itself",
        "away_seconds": "for how long in all, as it told itself",
        "pastes": "how often something was pasted, as it told itself",
    },
    "spans.csv": {
        "task": "name of the task",
        "step": "training, annotation or check",
        "annotator": "pseudonym of the participation",
        "example": "id of the example in its file",
        "hash": "hash of the example, as in examples.csv",
        "segment": "number of the segment from 0, or question",
        "start": "first code point of the span",
        "end": "code point after the last one",
        "text": "the text between them",
    },
    "annotators.csv": STUDY
    | SCENARIO
    | WORKER
    | {
        "mean_s1": "mean S1 over the answered test examples, 0 to 1",
        "sd_examples": "standard deviation of S1 over these examples, ddof 1",
        "n": "number of answered test examples",
        "training_s1": "mean S1 over the answered training examples, 0 to 1",
        "training_n": "number of answered training examples",
        "seconds": "sum of the seconds of all answers",
        "active_seconds": "sum of the active seconds of all answers",
        "browser": "B1, B2, ...: the same random cookie; empty where there was none",
        "too_fast": "answers under max(1 s, 0.3 of the own median) or under words / 12 s",
        "modal_share": "share of the commonest answer in the annotation step",
        "longest_run": "most equal answers in a row in the annotation step",
        "longest_absence": "longest time between two answers, or over one, in seconds",
        "blurs": "sum over all answers",
        "pastes": "sum over all answers",
        "checks": "answered attention checks",
        "checks_passed": "of these, answered as asked",
        "flags": "what is worth a look, separated by blanks: too_fast (5 % of the answers),"
        " fast_person (log-median 3 SDs below 5 or more others), one_answer (90 % of 10 or more),"
        " run (15), absence (over 1 h), paste, blur (over 0.2 per answer), checks (one failed),"
        " shared_browser",
    },
    "scenarios.csv": STUDY | SCENARIO | {"kind": "person, simulated or model"} | SPREAD,
    "human_performance.csv": STUDY
    | {
        "kind": "person, simulated or model: a row never mixes kinds",
        "family": "family of the task",
        "task": "name of the task",
        "task_version": "version of the task",
        "shots": "size of the training step",
        "mean": "mean over annotators of their mean S1, x 100",
        "sd_ddof1": "standard deviation over annotators, ddof 1, x 100; empty for one annotator",
        "sd_ddof0": "standard deviation over annotators, ddof 0, x 100",
        "n": "number of annotators: completed, in the analysis",
        "baseline": "S1 x 100 of the trivial baseline on the test examples",
        "baseline_name": "what the trivial baseline answers",
        "ceiling": "best mean S1 x 100 that highlighting can reach on the test examples",
        "published_mean": "mean in the paper's Table 4, quoted where the test file is the published"
        " one",
        "published_spread": "the ± printed beside that mean, quoted; the paper does not define it",
        "recipe": "every choice that changes the number",
    },
    **records.COLUMNS,
}

README = """\
Export of the study {name} from Handful.

{manifest}
Every number and every span in these CSVs can be recomputed without Handful:

    python verify.py

The files are UTF-8, RFC 4180. {reading} Rows stand in order, and verify.py says where a file was
sorted anew: examples by position; answers as they were shown, each annotator's by position; the
spans of an answer together; arrivals and decisions as they came. The columns:

{columns}"""
# How to open the CSVs so that every cell stays what it is.
READING = """\
Texts are unaltered. A spreadsheet may take one that begins with =, +, - or @ for a formula, and an
id for a date: do not open a file by a double click but import it, as UTF-8 and every column as
text. An empty cell is a missing value, and a text may well be "NA": in R use
read.csv(file, na.strings = "", encoding = "UTF-8"), in pandas
read_csv(file, keep_default_na=False, na_values=[""])."""


def columns_markdown() -> str:
    """The columns of every file as Markdown tables: the README's section."""
    parts = []
    for file, columns in COLUMNS.items():
        rows = "\n".join(f"| `{column}` | {text} |" for column, text in columns.items())
        parts.append(f"**{file}**\n\n| column | what |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def examples_rows(study: Study) -> Iterator[list[Any]]:
    """Every example that this study may show: the test files and its training files."""
    for task in study.tasks.order_by("name"):
        card = task.card
        sizes = [size for size in study.shots if size]
        splits = task.splits.filter(kind=Split.Kind.TEST) | task.splits.filter(
            kind=Split.Kind.TRAIN, shots__in=sizes, number=study.split_number
        )
        if study.attention_checks:
            splits |= task.splits.filter(kind=Split.Kind.CHECK)
        for split in splits.order_by("kind", "shots"):
            for example in split.examples.order_by("position").iterator(chunk_size=2000):
                question = card.selectable_question(example.question)
                best = (
                    1.0
                    if card.answered_by == "label"
                    else ceiling(example.gold, example.context, card.gold_rule, question)
                )
                yield [
                    task.name, task.version, split.filename, split.kind, split.shots or "",
                    split.number or "", example.position, example.source_id,
                    json_list(example.context), example.question, question or "",
                    json_list(example.gold),
                    card.gold_rule, example.content_hash, number(best),
                ]  # fmt: skip


def _turns(study: Study):
    """The turns of a study in the order of answers.csv."""
    return Turn.objects.filter(participation__study=study).order_by("pk")


def answers_rows(study: Study) -> Iterator[list[Any]]:
    """One row per turn, in the order in which they were shown."""
    rules = {task.pk: task.card.gold_rule for task in study.tasks.all()}
    # Merged with a second stream in the same order, so that memory stays constant.
    spans = texts_by_turn(study)
    turn_of_spans, texts = next(spans, (None, []))
    turns = _turns(study).values_list(
        "pk", "participation__scenario__task_id", "participation__scenario__task__name",
        "participation__scenario__task__version", "participation__scenario__shots",
        "participation__scenario__split_number", "step", "position", "participation__pseudonym",
        "participation__kind", "participation__status", "participation__in_analysis",
        "example__source_id", "example__content_hash", "example__gold", "shown_at",
        "answer__submitted_at", "answer__s1", "answer__label", "answer__active_seconds",
        "activity__blurs", "activity__away_seconds", "activity__pastes",
    )  # fmt: skip
    for (
        pk, task, name, version, shots, split, step, position, pseudonym, kind, status, counts,
        example, digest, gold, shown_at, submitted_at, s1, label, active, blurs, away, pastes,
    ) in turns.iterator(chunk_size=2000):  # fmt: skip
        given: list[str] = [label] if label else []
        if turn_of_spans == pk:
            given = texts
            turn_of_spans, texts = next(spans, (None, []))
        answered = submitted_at is not None
        yield [
            study.name, study.manifest_hash, name, version, shots, split or "", step, position,
            pseudonym, kind, status, _counts(status, counts), example, digest,
            json_list(given) if answered else "", json_list(gold), rules[task],
            number(s1) if answered else "", moment(shown_at),
            moment(submitted_at) if answered else "",
            number((submitted_at - shown_at).total_seconds()) if answered else "",
            number(active) if answered else "", blurs or 0, number(away or 0.0), pastes or 0,
        ]  # fmt: skip


def _spans(study: Study):
    """The spans in the order of spans.csv: those of an answer together, as verify.py needs."""
    return AnswerSpan.objects.filter(answer__turn__participation__study=study).order_by(
        "answer_id", "segment", "start"
    )


def texts_by_turn(
    study: Study, participations: Sequence[int] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """(turn, distinct texts of its spans in order), by turn; of these participations or of all."""
    current, texts = None, {}
    spans = _spans(study)
    if participations is not None:
        spans = spans.filter(answer__turn__participation__in=participations)
    for turn, text in spans.values_list("answer_id", "text").iterator(chunk_size=2000):
        if turn != current:
            if current is not None:
                yield current, list(texts)
            current, texts = turn, {}
        texts[text] = None
    if current is not None:
        yield current, list(texts)


def spans_rows(study: Study) -> Iterator[list[Any]]:
    """One row per highlighted span."""
    rows = _spans(study).values_list(
        "answer__turn__participation__scenario__task__name", "answer__turn__step",
        "answer__turn__participation__pseudonym", "answer__turn__example__source_id",
        "answer__turn__example__content_hash", "segment", "start", "end", "text",
    )  # fmt: skip
    for *before, segment, start, end, text in rows.iterator(chunk_size=2000):
        yield [*before, "question" if segment == QUESTION else segment, start, end, text]


def _counts(status: str, in_analysis: bool) -> int:
    """1 for whom a cell may count: who is still working has taken nobody's place in a table yet."""
    return int(in_analysis and status == Participation.Status.COMPLETED)


def _whole(value: float) -> int | str:
    """A whole number that pandas keeps as a float because others are missing."""
    return "" if pd.isna(value) else int(value)


def annotators_rows(study: Study, frame: pd.DataFrame) -> Iterator[list[Any]]:
    """One row per participation."""
    seen = flags.of_study(study)
    browsers = _browsers(study)
    nothing = flags.signs([])
    for row in frame.itertuples():
        signs, raised = seen.get(row.participation, (nothing, {}))
        share = signs.modal_share
        yield [
            study.name, study.manifest_hash, row.task, row.task_version, row.shots,
            _whole(row.split), row.annotator, row.kind, row.status,
            _counts(row.status, row.in_analysis),
            number(row.mean_s1), number(row.sd_examples), row.n, number(row.training_s1),
            row.training_n, number(signs.seconds), number(signs.active_seconds),
            browsers.get(row.participation, ""), signs.too_fast,
            "" if share is None else number(share), signs.longest_run,
            number(signs.longest_absence), signs.blurs, signs.pastes, signs.checks,
            signs.checks_passed, " ".join(raised),
        ]  # fmt: skip


def _browsers(study: Study) -> dict[int, str]:
    """Participation -> a name for its browser that says nothing but which are the same."""
    names: dict[str, str] = {}
    known = study.participations.exclude(browser="").order_by("pk")
    return {
        pk: names.setdefault(browser, f"B{len(names) + 1}")
        for pk, browser in known.values_list("pk", "browser")
    }


def scenarios_rows(study: Study, frame: pd.DataFrame) -> Iterator[list[Any]]:
    """One row per task, shots, split and kind that somebody completed."""
    for row in frames.scenarios(frame).itertuples():
        yield [
            study.name, study.manifest_hash, row.task, row.task_version, row.shots,
            _whole(row.split), row.kind, number(row.mean), number(row.sd_ddof1),
            number(row.sd_ddof0), row.n,
        ]  # fmt: skip


def performance_rows(study: Study, frame: pd.DataFrame) -> Iterator[list[Any]]:
    """One row per kind, task and shots: the human-performance table in long form."""
    found = {task.pk: performance.bounds(task) for task in study.tasks.all()}
    for kind in performance.kinds_of(frame):
        table = performance.performance(study, kind, frame)
        for task in table.tasks:
            limits = found[task.pk]
            for shots in table.shots:
                cell = table.cells[task.name, shots]
                quoted = cell.published
                yield [
                    study.name, study.manifest_hash, kind, task.card.family, task.name,
                    task.version, shots, number(cell.mean), number(cell.sd_ddof1),
                    number(cell.sd_ddof0), cell.n, number(limits.baseline), limits.baseline_name,
                    number(limits.ceiling), number(quoted.mean) if quoted else "",
                    number(quoted.spread) if quoted else "", recipe(task.card.gold_rule),
                ]  # fmt: skip


def write_csv(file: io.TextIOBase, name: str, rows: Iterable[list[Any]]) -> int:
    """Write header and rows of one of COLUMNS' files; return the number of rows."""
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS[name])
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007
        writer.writerow(row)
    return count


def write_export(study: Study, folder: Path) -> dict[str, int]:
    """Write the whole export into an empty folder; return the rows of each file.

    The folder appears complete or not at all. Raises FileExistsError if it is there and not empty.
    """
    with whole_folder(folder) as building, snapshot():
        counts = write_files(study, building)
        write_sums(building)
    return counts


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder beside it to build in, which takes its name at the end; after an error it is gone.

    Raises FileExistsError if the folder is there and not empty.
    """
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already and not empty: name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield building
        if folder.exists():
            folder.rmdir()
        building.chmod(0o755)
        building.rename(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


@contextmanager
def snapshot() -> Iterator[None]:
    """One state of the database for all files, while people go on working.

    PostgreSQL gives a snapshot; so does SQLite to a transaction that does not begin as a writer.
    """
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    begins, connection.transaction_mode = getattr(connection, "transaction_mode", None), None
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    finally:
        connection.transaction_mode = begins


def write_files(study: Study, folder: Path) -> dict[str, int]:
    """Write the CSVs with manifest, verify.py and README; return the rows of each CSV."""
    frame = frames.annotators(study)
    rows: dict[str, Callable[[], Iterator[list[Any]]]] = {
        "examples.csv": lambda: examples_rows(study),
        "answers.csv": lambda: answers_rows(study),
        "spans.csv": lambda: spans_rows(study),
        "annotators.csv": lambda: annotators_rows(study, frame),
        "scenarios.csv": lambda: scenarios_rows(study, frame),
        "human_performance.csv": lambda: performance_rows(study, frame),
        **{name: partial(make, study) for name, make in records.ROWS.items()},
    }
    counts = {}
    for name, make in rows.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            counts[name] = write_csv(file, name, make())
    (folder / "manifest.json").write_bytes(study.manifest.encode())
    shutil.copyfile(VERIFY, folder / VERIFY.name)
    manifest = (
        f"Manifest (SHA-256 of the frozen design): {study.manifest_hash or 'none: a draft'}\n"
    )
    text = README.format(
        name=study.name, manifest=manifest, reading=READING, columns=columns_markdown()
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
    return counts


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file in the folder and below it, by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Pieces:
    """A file to write to that hands over what was written so far."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> bytes:
        taken, self.written = b"".join(self.written), []
        return taken


def stream_export(study: Study) -> Iterator[bytes]:
    """The whole export as a ZIP, in pieces.

    verify.py goes first, before anything is asked of the database, so that a download begins at
    once. The other files are written whole, in one snapshot, before the first of them is sent: no
    slow connection holds a transaction.
    """
    pieces = _Pieces()
    with zipfile.ZipFile(pieces, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        archive.write(VERIFY, f"{study.name}/{VERIFY.name}")
        yield pieces.taken()
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / study.name
            write_export(study, folder)
            for path in sorted(path for path in folder.iterdir() if path.name != VERIFY.name):
                entry = zipfile.ZipInfo.from_file(path, f"{study.name}/{path.name}")
                entry.compress_type = zipfile.ZIP_DEFLATED
                with path.open("rb") as source, archive.open(entry, "w") as target:
                    while data := source.read(PIECE):
                        target.write(data)
                        yield pieces.taken()
    yield pieces.taken()


def zip_folder(folder: Path, archive: Any) -> None:
    """Zip a folder under its name into a file (open, or a path)."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            bundle.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
