"""Prompt templates and declared options, which a hash identifies.

The server sends the texts to insert. They are what human annotators see: title, description,
instructions, help, questions and reveals.
"""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from string import Template

_TEXTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))
SYSTEM, HELP, QUESTION, REVEAL, RETRY, COMPREHENSION = (
    Template(_TEXTS[name])
    for name in ("system", "help", "question", "reveal", "retry", "comprehension")
)
OPTION, CONFIDENCE, NO_ANSWER = _TEXTS["option"], _TEXTS["confidence"], _TEXTS["no_answer"]
STEPS, VERDICTS, FORMATS = _TEXTS["steps"], _TEXTS["verdicts"], _TEXTS["formats"]

CHOICES = {"examples": ("answered", "shown"), "context": ("each", "all"), "images": ("alt", "sent")}


@dataclass(frozen=True)
class Declared:
    """The options declared for a run.

    With `examples` "answered", the model answers each training example before its gold is revealed,
    like human annotators. With "shown", its context contains the examples with their gold. With
    `context` "each", only the training step precedes a test example. With "all", all earlier test
    examples do, too. `retries` is how often an invalid output is requested again before an empty
    answer is stored and counted as invalid. With `images` "alt", the model reads the alternative
    text of an image. With "sent", it also gets the image.
    """

    examples: str = "answered"
    context: str = "each"
    retries: int = 2
    images: str = "alt"

    def __post_init__(self) -> None:
        """Raise ValueError for unknown values."""
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}")
        if self.retries < 0:
            raise ValueError("retries: expected 0 or more")

    @property
    def template(self) -> str:
        """Return all templates and options as a single string, for the export."""
        images = "" if self.images == "alt" else f" images={self.images}"
        options = f"examples={self.examples} context={self.context} retries={self.retries}{images}"
        parts = {
            "options": options,
            "system": SYSTEM.template,
            **{f"step {name}": text for name, text in STEPS.items()},
            "help": HELP.template,
            "question": QUESTION.template,
            "option": OPTION,
            "reveal": REVEAL.template,
            **{f"verdict {name}": text for name, text in VERDICTS.items()},
            "retry": RETRY.template,
            "comprehension": COMPREHENSION.template,
            "confidence": CONFIDENCE,
            **{f"format {name}": text for name, text in FORMATS.items()},
            "no answer": NO_ANSWER,
        }
        return "\n".join(f"=== {name}\n{text}" for name, text in parts.items())

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the template, which is part of a model annotator's identity."""
        return hashlib.sha256(self.template.encode()).hexdigest()
