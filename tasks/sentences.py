"""Sentences for annotators from the pure core: marked here, translated by the pages.

`sentence` and `counted` mark a sentence for the catalogues (.ci/catalogues.py searches for their
names, so their arguments must be literals). They return the English text with the values of its
placeholders; pages look up the translation (annotation/web/wording.py).
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sentence:
    """A sentence with named placeholders, and `plural` and `number` if it depends on a count."""

    text: str
    values: dict[str, object] = field(default_factory=dict)
    plural: str = ""
    number: int = 1

    def __str__(self) -> str:
        return (self.plural if self.plural and self.number != 1 else self.text) % self.values


def sentence(text: str, /, **values: object) -> Sentence:
    """Mark a sentence with its placeholders' values."""
    return Sentence(text, values)


def counted(text: str, plural: str, number: int, /, **values: object) -> Sentence:
    """Mark a sentence with singular and plural forms."""
    return Sentence(text, values, plural, number)
