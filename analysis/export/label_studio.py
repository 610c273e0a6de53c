"""Answers as Label Studio tasks, one file per task, with a labelling interface.

Human answers are annotations. Simulated annotators' and models' answers are predictions, which
Label Studio groups by `model_version`. Offsets are in code points, as in Label Studio.
"""

import itertools
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from analysis.export import answered
from annotation.models import Answer, Kind, Participation, Study
from tasks.cards import Card

TEXT, SPANS, ANSWER = "text", "spans", "answer"


def write(study: Study, folder: Path) -> dict[str, int]:
    """Write NAME.json and NAME.xml. Return the number of tasks in each. Raises NothingAnswered."""
    counts, numbers = {}, itertools.count(1)
    for card, people in answered.by_task(study):
        tasks: dict[int, dict[str, Any]] = {}
        for participation, rows in people:
            for row in rows:
                key, annotation = _annotation(card, participation, row)
                task = tasks.setdefault(row.turn.example.pk, _task(card, row, len(tasks) + 1))
                task[key].append({"id": next(numbers), **annotation})
        text = json.dumps(list(tasks.values()), ensure_ascii=False, indent=1)
        (folder / f"{card.name}.json").write_text(text + "\n", encoding="utf-8")
        (folder / f"{card.name}.xml").write_text(interface(card), encoding="utf-8")
        counts[f"{card.name}.json"] = len(tasks)
    return counts


def interface(card: Card) -> str:
    parts = ["<View>", '  <Header value="$question"/>', f'  <Text name="{TEXT}" value="$text"/>']
    if card.is_highlighted:
        names = [kind.name for kind in card.question_types] or [answered.ANY_ANSWER]
        labels = [f"    <Label value={quoteattr(name)}/>" for name in names]
        parts += [f'  <Labels name="{SPANS}" toName="{TEXT}">', *labels, "  </Labels>"]
    if card.labels:
        choices = [f"    <Choice value={quoteattr(label.name)}/>" for label in card.labels]
        parts += [f'  <Choices name="{ANSWER}" toName="{TEXT}">', *choices, "  </Choices>"]
    elif card.kind.is_chosen:
        several = "single" if card.kind.is_one_choice else "multiple"
        parts.append(
            f'  <Choices name="{ANSWER}" toName="{TEXT}" choice="{several}" value="$options"/>'
        )
    elif card.typed or not card.is_highlighted:
        parts.append(f'  <TextArea name="{ANSWER}" toName="{TEXT}"/>')
    return "\n".join([*parts, "</View>", ""])


def _task(card: Card, row: Answer, number: int) -> dict[str, Any]:
    example = row.turn.example
    text, _places = answered.joined(card, row)
    data: dict[str, Any] = {
        "id": example.source_id,
        TEXT: text,
        "question": card.wording(example.question),
        "gold": example.gold,
    }
    if example.options:
        data["options"] = [{"value": option} for option in dict.fromkeys(example.options)]
    return {"id": number, "data": data, "annotations": [], "predictions": []}


def _annotation(
    card: Card, participation: Participation, row: Answer
) -> tuple[str, dict[str, Any]]:
    about = answered.about(participation)
    who = f"{about['kind']} {about['annotator']}, {about['shots']} shots"
    result = [
        {**region, "id": f"{about['annotator']}-{number}", "meta": {"text": [who]}}
        for number, region in enumerate(_regions(card, row))
    ]
    if about["kind"] != Kind.PERSON:
        return "predictions", {"result": result, "score": row.s1, "model_version": who}
    return "annotations", {
        "result": result,
        "lead_time": row.active_seconds,
        "was_cancelled": False,
        "ground_truth": False,
        "handful": {**about, "channel": row.channel},
    }


def _regions(card: Card, row: Answer) -> list[dict[str, Any]]:
    _text, places = answered.joined(card, row)
    spans = [
        {
            "from_name": SPANS, "to_name": TEXT, "type": "labels",
            "value": {
                "start": place.start, "end": place.end, "text": place.text,
                "labels": [place.name],
            },
        }
        for place in places
    ]  # fmt: skip
    texts = answered.beside(row)
    if not texts:
        return spans
    kind, key = ("choices", "choices") if card.kind.is_chosen else ("textarea", "text")
    own = {"from_name": ANSWER, "to_name": TEXT, "type": kind, "value": {key: texts}}
    return [*spans, own]
