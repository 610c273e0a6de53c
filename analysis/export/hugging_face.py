"""Answers as a folder for `datasets.load_from_disk`, with a data card.

The folder uses the `DatasetDict.save_to_disk` format: dataset_dict.json and, for each step of the
protocol, a folder containing state.json, dataset_info.json and an Arrow stream whose schema defines
the types. Participations are written one at a time to limit memory use.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from analysis.export import answered
from analysis.export.answered import NothingAnswered
from analysis.export.columns import ARM, COLUMNS
from analysis.export.files import sha256
from annotation.models import Answer, Channel, Kind, Participation, Study
from tasks.cards import Card
from tasks.columns import grouped

DATA = "data-00000-of-00001.arrow"
# Maps columns that are not in the data dictionary to their meanings.
OWN = {
    "annotator": "pseudonym of the participation",
    "segments": "the texts of the example",
    "question": "the question as displayed",
    "options": "choices: labels of the task, or options of the example",
    "gold": "gold texts; an empty list means that there is no answer",
    "answer": "the distinct texts of the answer; an empty list means “no answer”",
    "spans": "the highlighted spans: segment (-1 is the question), start and end in Unicode code"
    " points, text",
    "in_analysis": "true if the participation is analysed (completed and not excluded)",
}


def write(study: Study, folder: Path) -> dict[str, int]:
    """Write the folder and return each split's number of rows. Raises NothingAnswered."""
    import pyarrow

    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    programs = 0
    schema = _schema()
    with ExitStack() as files:
        writers: dict[str, Any] = {}
        for participation in answered.participations(study).iterator(chunk_size=500):
            for step, rows in _rows(participation).items():
                if step not in writers:
                    (folder / step).mkdir()
                    sink = files.enter_context(pyarrow.OSFile(str(folder / step / DATA), "wb"))
                    writers[step] = files.enter_context(pyarrow.ipc.new_stream(sink, schema))
                writers[step].write_table(pyarrow.Table.from_pylist(rows, schema=schema))
                counts[step] += len(rows)
                kinds[participation.kind] += len(rows)
                if participation.kind == Kind.PERSON:
                    programs += sum(row["channel"] == Channel.API for row in rows)
    if not counts:
        raise NothingAnswered("There are no answers yet, so there is nothing to export.")
    for step in counts:
        _describe(study, folder / step, step)
    _json(folder / "dataset_dict.json", {"splits": list(counts)})
    (folder / "README.md").write_text(_card(study, counts, kinds, programs), encoding="utf-8")
    return dict(counts)


def _schema() -> Any:
    import pyarrow

    text, texts = pyarrow.string(), pyarrow.list_(pyarrow.string())
    int64, share = pyarrow.int64(), pyarrow.float64()
    time = pyarrow.timestamp("us", tz="UTC")
    span = pyarrow.struct({"segment": int64, "start": int64, "end": int64, "text": text}.items())
    return pyarrow.schema(
        {
            "study": text, "manifest": text, "task": text, "task_version": int64, "shots": int64,
            "split": int64, "arm": text, "step": text, "position": int64, "annotator": text,
            "kind": text, "status": text, "in_analysis": pyarrow.bool_(), "example": text,
            "hash": text, "segments": texts, "question": text, "options": texts, "gold": texts,
            "gold_rule": text, "answer": texts, "spans": pyarrow.list_(span), "s1": share,
            "shown_at": time, "submitted_at": time, "active_seconds": share, "channel": text,
        }.items()
    )  # fmt: skip


def _rows(participation: Participation) -> dict[str, list[dict[str, Any]]]:
    metadata, card = answered.metadata(participation), participation.scenario.task.card
    rows = answered.answers(participation)
    return grouped((row.turn.step, {**metadata, **_row(card, row)}) for row in rows)


def _row(card: Card, row: Answer) -> dict[str, Any]:
    example = row.turn.example
    return {
        "step": row.turn.step,
        "position": row.turn.position,
        "example": example.source_id,
        "hash": example.content_hash,
        "segments": example.context,
        "question": card.wording(example.question),
        "options": [label.name for label in card.labels] or example.options,
        "gold": example.gold,
        "gold_rule": card.gold_rule,
        "answer": row.as_given().texts,
        "spans": [span._asdict() for span in row.as_given().spans],
        "s1": row.s1,
        "shown_at": row.turn.shown_at,
        "submitted_at": row.submitted_at,
        "active_seconds": row.active_seconds,
        "channel": row.channel,
    }


def _describe(study: Study, folder: Path, step: str) -> None:
    """Write a split's state.json and dataset_info.json. The fingerprint is a hash of its data."""
    fingerprint = sha256(folder / DATA)[:16]
    _json(
        folder / "state.json",
        {
            "_data_files": [{"filename": DATA}], "_fingerprint": fingerprint,
            "_format_columns": None, "_format_kwargs": {}, "_format_type": None,
            "_output_all_columns": False, "_split": step,
        },
    )  # fmt: skip
    info = {"description": study.title, "citation": "", "homepage": "", "license": ""}
    _json(folder / "dataset_info.json", info)


def _card(study: Study, counts: Counter[str], kinds: Counter[str], programs: int) -> str:
    """Return the data card. `programs` counts human answers submitted by programs."""
    cards = [task.card for task in study.tasks.order_by("name")]
    kinds_text = ", ".join(f"{kind}: {count:,} answers" for kind, count in sorted(kinds.items()))
    if programs:
        kinds_text += f"; programs gave {programs:,} of the human answers (`channel` is api)"
    meanings = COLUMNS["answers.csv"] | ARM | OWN
    values = {
        "title": _cell(study.title),
        "study": study.name,
        "manifest": study.manifest_hash or "none, as the study is a draft",
        "answers": counts.total(),
        "kinds": kinds_text,
        "splits": _table((step, f"{count:,}") for step, count in counts.items()),
        "columns": _table((name, meanings[name]) for name in _schema().names),
        "tasks": _table((card.name, card.language, card.source, card.licence) for card in cards),
    }
    text = render_to_string("export/dataset_card.md", values)
    front_matter = {
        "pretty_name": study.title,
        "language": sorted({card.language for card in cards}),
        "annotations_creators": ["crowdsourced" if "person" in kinds else "machine-generated"],
        "tags": ["human-evaluation", "few-shot"],
    }
    # JSON is valid YAML, except for characters that JSON escapes in pairs.
    is_escaped = max(json.dumps(front_matter, ensure_ascii=False)) <= "\uffff"
    lines = (
        f"{key}: {json.dumps(value, ensure_ascii=is_escaped)}\n"
        for key, value in front_matter.items()
    )
    return f"---\n{''.join(lines)}---\n{text}"


def _table(rows: Iterator[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
