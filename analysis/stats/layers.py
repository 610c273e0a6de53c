"""The highlights of several annotators, laid over one text (pure).

Offsets are code points, as everywhere. A text is cut into runs wherever a highlight or a gold text
begins or ends: within a run the same annotators highlighted every character.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

Who = TypeVar("Who")
Place = tuple[int, int]
LEVELS = 4


class Run(NamedTuple, Generic[Who]):
    """A stretch of a text, and who highlighted it; `opens` and `closes` count the gold texts that
    begin at its start and end at its end."""

    start: int
    end: int
    text: str
    who: tuple[Who, ...]
    is_gold: bool
    opens: int
    closes: int


def runs(
    text: str, highlights: Mapping[Who, Sequence[Place]], gold: Sequence[Place]
) -> list[Run[Who]]:
    """Cut a text at the ends of all highlights and gold places (start and end of each).

    The runs' texts add up to the text. Somebody whose highlights overlap counts once.
    """
    places = [*gold, *itertools.chain.from_iterable(highlights.values())]
    cuts = sorted({0, len(text), *itertools.chain.from_iterable(places)})
    return [
        Run(
            start,
            end,
            text[start:end],
            tuple(who for who, own in highlights.items() if _covers(own, start, end)),
            _covers(gold, start, end),
            sum(place[0] == start for place in gold),
            sum(place[1] == end for place in gold),
        )
        for start, end in itertools.pairwise(cuts)
    ]


def _covers(places: Sequence[Place], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in places)


def level(count: int, n: int) -> int:
    """The share of annotators as one of few classes: 0 for nobody, 1 up to a quarter, ... 4."""
    return -(-LEVELS * count // n) if n else 0


class Group(NamedTuple, Generic[Who]):
    """An answer, as the set that is scored, and who gave it."""

    texts: tuple[str, ...]
    who: tuple[Who, ...]


def groups(answers: Iterable[tuple[Who, Sequence[str]]]) -> list[Group[Who]]:
    """The distinct answers, the most frequent first; texts stand as the first of a group had them.

    Two answers are the same if they hold the same texts, in whatever order or place.
    """
    by_texts: dict[frozenset[str], list[tuple[Who, Sequence[str]]]] = defaultdict(list)
    for who, texts in answers:
        by_texts[frozenset(texts)].append((who, texts))
    distinct = [
        Group(tuple(dict.fromkeys(given[0][1])), tuple(who for who, _texts in given))
        for given in by_texts.values()
    ]
    return sorted(distinct, key=lambda group: (-len(group.who), group.texts))
