"""Sentences of the pure core that annotators read: marked here, translated by the page above.

`sentence` and `counted` mark a sentence for the catalogues (.ci/catalogues.py looks for their
names, so they are given literals). What they return holds the English and the values of its
placeholders; the pages look up the translation (annotation/wording.py).
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sentence:
    """A whole sentence with named placeholders; `plural` and `number` where it is counted."""

    text: str
    values: dict[str, object] = field(default_factory=dict)
    plural: str = ""
    number: int = 1

    def __str__(self) -> str:
        """In English."""
        return (self.plural if self.plural and self.number != 1 else self.text) % self.values


def sentence(text: str, /, **values: object) -> Sentence:
    """That sentence, with the values of its placeholders."""
    return Sentence(text, values)


def counted(text: str, plural: str, number: int, /, **values: object) -> Sentence:
    """That sentence for one, or for any other number."""
    return Sentence(text, values, plural, number)
