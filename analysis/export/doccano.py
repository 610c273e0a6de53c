"""Answers as doccano's JSON Lines, a file for each task and participation.

{id, text, label, ...}: the spans as [start, end, name] in code points of `text`, or the labels or
texts of the answer. What doccano does not know becomes the metadata of its document.
"""

import json
from pathlib import Path

from analysis.export import answered
from annotation.models import Study


def write(study: Study, folder: Path) -> dict[str, int]:
    """Write the files; return the lines of each. Raises NothingAnswered."""
    counts = {}
    for participation, rows in answered.tested(study):
        card, about = participation.scenario.task.card, answered.about(participation)
        name = f"{answered.place_name(participation)}_{participation.pseudonym}.jsonl"
        with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
            for row in rows:
                text, places = answered.joined(card, row)
                spans = [[place.start, place.end, place.name] for place in places]
                line = {
                    "id": row.example.source_id,
                    "text": text,
                    "label": spans if card.is_highlighted else answered.beside(row),
                    "question": card.wording(row.example.question),
                    "gold": row.example.gold,
                    "s1": row.s1,
                    **({"typed": answered.beside(row)} if card.typed else {}),
                    **about,
                }
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        counts[name] = len(rows)
    return counts
