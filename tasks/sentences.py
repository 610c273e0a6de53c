"""Sentences for annotators in the pure core, which are translated by pages.

They are in answer_errors.toml and answers/kinds.toml, or arguments of AnswerError (tasks/spans.py),
which must be literals, as .ci/catalogues.py searches for its name. Pages look up the translation of
the English text with its placeholders (annotation/web/wording.py).
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
