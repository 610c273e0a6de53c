"""Files that accompany a publication: citation, licence, Croissant metadata and data card.

They are generated from the design, the report's title block (documents/front.py) and the columns of
the files. Only people listed in the title block are named. Times can be rounded.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from analysis.documents import front
from analysis.export.columns import COLUMNS
from analysis.export.files import sha256
from analysis.heavy import pd
from analysis.scores.columns import type_of
from annotation.models import Study
from tasks.csv_files import write_csv

CITATION, LICENSE, CROISSANT = "CITATION.cff", "LICENSE", "croissant.json"
CROISSANT_TYPES = {
    "integer": "sc:Integer", "number": "sc:Float", "datetime": "sc:DateTime", "string": "sc:Text",
}  # fmt: skip
# The context of Croissant 1.0, copied from its specification.
CONTEXT = json.loads(Path(__file__).with_name("croissant_context.json").read_text("utf-8"))


def title(study: Study, answers: Mapping[str, str]) -> str:
    return " ".join(answers.get("title", "").split()) or study.title


def authors(study: Study, answers: Mapping[str, str]) -> list[str]:
    """Return the authors entered for the report. No one else is ever named."""
    names = front.lines(answers.get("authors", ""))
    return names or [f"The researchers of the study {study.name}"]


def _quoted(text: str) -> str:
    """Quote text for YAML, using the fact that JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)


def citation(study: Study, answers: Mapping[str, str], on: date) -> str:
    """Return CITATION.cff (1.2.0). Only names written as "Family, Given" are split."""
    names = []
    for author in authors(study, answers):
        family, _comma, given = author.partition(",")
        parts = [family.strip(), given.strip()]
        names.append([_quoted(part) for part in parts] if all(parts) else [_quoted(author), ""])
    licence = answers.get("licence")
    context = {
        "study": study,
        "title": _quoted(title(study, answers)),
        "authors": names,
        "released_on": on.isoformat(),
        "licence": licence if licence in front.LICENCES and licence != front.OWN_TERMS else "",
    }
    return render_to_string("export/citation.cff", context)


def licence_text(study: Study, answers: Mapping[str, str]) -> str:
    licence = answers.get("licence", "")
    if licence not in front.LICENCES:
        return ""
    name, address = front.LICENCES[licence]
    terms = answers.get("own-terms", "").strip() or "No terms are stated: all rights reserved."
    context = {
        "terms": terms if licence == front.OWN_TERMS else "",
        "holders": "; ".join(authors(study, answers)),
        "name": name,
        "licence": licence,
        "address": address,
    }
    return render_to_string("export/licence.txt", context)


def front_matter(study: Study, answers: Mapping[str, str]) -> str:
    cards = [task.card for task in study.tasks.order_by("name")]
    fields: dict[str, Any] = {
        "pretty_name": title(study, answers),
        "language": sorted({card.language for card in cards}),
        "annotations_creators": ["crowdsourced"],
        "tags": ["human-evaluation", "few-shot"],
        "configs": [
            {"config_name": name.removesuffix(".csv"), "data_files": name} for name in COLUMNS
        ],
    }
    licence = answers.get("licence", "")
    if licence in front.LICENCES:  # Hugging Face spells SPDX identifiers in lower case
        name = "other" if licence == front.OWN_TERMS else licence.lower()
        fields = {"license": name} | fields
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
    return f"---\n{''.join(lines)}---\n\n"


def croissant(study: Study, answers: Mapping[str, str], folder: Path, on: date) -> dict[str, Any]:
    names = authors(study, answers)
    metadata = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": title(study, answers),
        "description": f"Human answers in the few-shot study {study.name}, with scores, tables and"
        f" the frozen design (SHA-256 {study.manifest_hash}). Created with Handful"
        f" {settings.VERSION}.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "citeAs": f"{'; '.join(names)} ({on.year}). {title(study, answers)}. Data set.",
        "creator": [{"@type": "sc:Person", "name": name} for name in names],
        "datePublished": on.isoformat(),
        "version": "1.0.0",
        # This is an identifier, not a URL. The publisher of the bundle replaces it with the URL.
        "url": f"urn:sha256:{study.manifest_hash}",
        "distribution": [_file(folder, name) for name in COLUMNS],
        "recordSet": [_record_set(name) for name in COLUMNS],
    }
    _title, at = front.LICENCES.get(answers.get("licence", ""), ("", ""))
    if at:  # custom terms have no URL
        metadata["license"] = at
    return metadata


def _file(folder: Path, name: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{(folder / name).stat().st_size} B",
        "encodingFormat": "text/csv",
        "sha256": sha256(folder / name),
    }


def _record_set(name: str) -> dict[str, Any]:
    stem = name.removesuffix(".csv")
    return {
        "@type": "cr:RecordSet",
        "@id": stem,
        "name": stem,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{stem}/{column}",
                "name": column,
                "description": meaning,
                "dataType": CROISSANT_TYPES[type_of(column, name)],
                "source": {"fileObject": {"@id": name}, "extract": {"column": column}},
            }
            for column, meaning in COLUMNS[name].items()
        ],
    }


def files(
    study: Study, answers: Mapping[str, str], folder: Path, on: date
) -> Iterator[tuple[str, str]]:
    yield CITATION, citation(study, answers, on)
    if text := licence_text(study, answers):
        yield LICENSE, text
    metadata = croissant(study, answers, folder, on)
    yield CROISSANT, json.dumps(metadata, ensure_ascii=False, indent=1) + "\n"


# Times in a bundle are rounded down to the hour or day (UTC), except the opening in documents, so
# that they cannot be matched with a platform's log. This does not change their order. Durations are
# not rounded, because response times and pay are derived from them.

HOUR, DAY = "hour", "day"
UNITS = {
    "": "as they were stored",
    HOUR: "rounded down to the hour",
    DAY: "rounded down to the day",
}
KEY = "times_rounded_to"  # key in versions.json, which is covered by SHA256SUMS
COLUMNS_OF_TIMES = {
    "answers.csv": ("shown_at", "submitted_at"),
    "upstream.csv": ("shown_at", "submitted_at"),
    "allocations.csv": ("at",),
    "decisions.csv": ("at",),
}
# Matches times in CSV files (ISO 8601) and the report ("2026-11-21 20:03:00 UTC").
TIME_IN_TEXT = re.compile(r"(\d{4}-\d\d-\d\d)([T ])(\d\d):\d\d:\d\d(\.\d+)?(Z|\+00:00| UTC)")


def round_times_in(text: str, unit: str) -> str:
    def start(match: re.Match[str]) -> str:
        day, between, hour, fraction, zone = match.groups()
        zeros = re.sub(r"\d", "0", fraction or "")
        return f"{day}{between}{'00' if unit == DAY else hour}:00:00{zeros}{zone}"

    return TIME_IN_TEXT.sub(start, text)


def change_columns(path: Path, columns: Mapping[str, Callable[[str], str]]) -> None:
    original = path.rename(path.with_suffix(".original"))
    # By default, Python's csv module limits fields to 131,072 characters, for the entire process.
    exact: dict[str, Any] = {"dtype": str, "na_filter": False, "skip_blank_lines": False}
    with (
        pd.read_csv(original, chunksize=5000, **exact) as parts,
        path.open("w", encoding="utf-8", newline="") as target,
    ):
        changed = (part.assign(**{c: part[c].map(columns[c]) for c in columns}) for part in parts)
        rows = (row for part in changed for row in part.itertuples(index=False, name=None))
        write_csv(target, list(COLUMNS[path.name]), rows)
    original.unlink()


def round_files(folder: Path, unit: str) -> None:
    """Round the times in a folder's CSVs and note this in versions.json and README.md."""
    for name, columns in COLUMNS_OF_TIMES.items():
        change_columns(folder / name, dict.fromkeys(columns, partial(round_times_in, unit=unit)))
    versions = folder / "versions.json"
    stored = json.loads(versions.read_text(encoding="utf-8")) | {KEY: unit}
    # Round these too: a rounded arrival must not be earlier than the opening.
    for name in ("opened_at", "closed_at"):
        stored[name] = round_times_in(stored[name] or "", unit) or None
    versions.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    with (folder / "README.md").open("a", encoding="utf-8") as readme:
        readme.write(render_to_string("export/rounded.md", {"unit": unit}))
