"""Sentences for annotators in the pure core, which are translated by pages.

`sentence`, `counted` and AnswerError (tasks/spans.py) mark a sentence for the catalogues.
.ci/catalogues.py searches for their names, so their arguments must be literals. They keep the
English text with its placeholders, and pages look up the translation (annotation/web/wording.py).
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sentence:
    """A sentence with placeholders. `plural` and `number` are set if it depends on a count."""

    text: str
    values: dict[str, object] = field(default_factory=dict)
    plural: str = ""
    number: int = 1

    def __str__(self) -> str:
        return (self.plural if self.plural and self.number != 1 else self.text) % self.values


def sentence(text: str, /, **values: object) -> Sentence:
    return Sentence(text, values)


def counted(text: str, plural: str, number: int, /, **values: object) -> Sentence:
    """Mark a sentence that has a singular and a plural form."""
    return Sentence(text, values, plural, number)
