"""Answers as CoNLL files, one per participation, for tasks answered with spans.

Each line contains one token: its text, its start and end offsets in the block's text, and a
BIO tag. Questions about the same text share a block because their spans are of different
kinds. Overlapping spans are excluded because the format cannot express them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from analysis.export import answered
from analysis.export.answered import NothingAnswered, Place
from annotation.models import Answer, Study
from tasks.cards import Card
from tasks.tokens import tokens

ONLY_SPANS = (
    "This format requires highlighted answers to test examples, and the study has none. Choose"
    " another format."
)


class Block(NamedTuple):
    """A text with its non-overlapping spans and the number of spans excluded."""

    text: str
    places: list[Place]
    left_out: int


def write(study: Study, folder: Path) -> dict[str, int]:
    """Write the files and return each file's number of blocks. Raises NothingAnswered."""
    counts, left_out = {}, []
    for participation, rows in answered.tested(study):
        card = participation.scenario.task.card
        if not card.is_highlighted:
            continue
        name = f"{answered.place_name(participation)}_{participation.pseudonym}.conll"
        found = blocks(card, rows)
        text = "".join(f"{line}\n" for block in found for line in lines(card, block))
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        counts[name] = len(found)
        if number := sum(block.left_out for block in found):
            left_out.append(f"{name}: {number} spans overlap other spans and have no tags\n")
    if not counts:
        raise NothingAnswered(ONLY_SPANS)
    if left_out:
        (folder / "LEFT_OUT.txt").write_text("".join(left_out), encoding="utf-8")
    return counts


def blocks(card: Card, rows: list[Answer]) -> list[Block]:
    """Return the texts in test file order, with the spans for all their questions."""
    found: dict[tuple[int, str], list[Place]] = {}
    for row in sorted(rows, key=lambda row: row.turn.example.position):
        text, places = answered.joined(card, row)
        own = 0 if card.question_types else row.turn.example.pk
        found.setdefault((own, text), []).extend(places)
    return [_block(text, places) for (_own, text), places in found.items()]


def _block(text: str, places: list[Place]) -> Block:
    kept: list[Place] = []
    for place in places:
        if all(place.end <= other.start or other.end <= place.start for other in kept):
            kept.append(place)
    return Block(text, kept, len(places) - len(kept))


def lines(card: Card, block: Block) -> Iterator[str]:
    """Yield a block's lines and a blank line, or nothing if the text does not contain tokens."""
    found = tokens(block.text, card.granularity)
    for start, end in found:
        yield f"{block.text[start:end]}\t{start}\t{end}\t{_tag(block, start, end)}"
    if found:
        yield ""


def _tag(block: Block, start: int, end: int) -> str:
    for place in block.places:
        if place.start < end and start < place.end:
            name = "-".join(place.name.split())
            return f"{'B' if start <= place.start else 'I'}-{name}"
    return "O"
