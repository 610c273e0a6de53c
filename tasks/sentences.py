"""Sentences for annotators in the pure core, which are translated by pages.

`sentence` and AnswerError (tasks/spans.py) mark a sentence for the catalogues. .ci/catalogues.py
searches for their names, so their arguments must be literals, and for the sentences in
answer_errors.toml and answers/kinds.toml. They keep the English text with its placeholders, and
pages look up the translation (annotation/web/wording.py).
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
