"""Prompt templates and declared options. Their hash identifies the prompt.

The inserted text is what human annotators see (title, description, instructions, help, questions
and reveals), as sent by the server.
"""

import hashlib
from dataclasses import dataclass
from string import Template

SYSTEM = Template("""\
$title

$description

Instructions
$instructions
$help
$steps

How to answer
$format""")

STEPS = {
    "anchor": "First step: $number examples. The right answers are not shown.",
    "training": "Training step: $number examples. After each of your answers you see the right one."
    " That is how you learn the task.",
    "screening": "Screening step: $number examples. The right answers are not shown.",
    "test": "Annotation step: $number examples. The right answers are not shown.",
}
HELP = Template("\n$title\n$definition$example\n")

QUESTION = Template("$segments\n\nQuestion: $question$options")
OPTION = "\n$number. $text"

REVEAL = Template("$verdict The right answer is: $gold.$also$explanation$rule")
VERDICTS = {
    "right": "Right.",
    "partly": "Partly right.",
    "wrong": "Not right.",
    "compare": "Compare.",
}

RETRY = Template("This answer could not be stored: $why\n$format")

COMPREHENSION = Template("""\
Before you begin, please answer these questions about the instructions.
$questions
End your reply with a line Answer: [the number of the chosen option for each question].""")

CONFIDENCE = """\
How sure are you that your answer is right? 1: 0 %, 2: 25 %, 3: 50 %, 4: 75 %, 5: 100 %.
End your reply with a line Answer: and one of these five numbers."""

# The answer is the last line, so that a model may reason before it: Answer: and JSON.
FORMATS = {
    "label": "End your reply with a line Answer: and the name of one label: $labels.",
    "option": "End your reply with a line Answer: and the number of one option.",
    "options": "End your reply with a line Answer: and a JSON list of the numbers of all options"
    " that are right, such as [1, 3].",
    "number": "End your reply with a line Answer: and a number in plain digits$range.",
    "short text": "End your reply with a line Answer: and a text of at most $longest characters"
    " in double quotes.",
    "long text": "End your reply with a line Answer: and a text of at most $longest characters"
    " as a JSON string in double quotes.",
    "spans": "End your reply with a line Answer: and a JSON list of texts, each copied exactly"
    ' from the example, whole words, such as ["first", "second"].$most',
    "typed": "End your reply with a line Answer: and a JSON list of texts, copied exactly if they"
    ' are in the example, such as ["first", "second"].$most',
}
NO_ANSWER = " Where there is no answer: Answer: null."

EXAMPLES = ("answered", "shown")
CONTEXTS = ("each", "all")
IMAGES = ("alt", "sent")


@dataclass(frozen=True)
class Declared:
    """The declared options of a run.

    `examples`: with "answered", the model answers each training example before its reveal, like
    human annotators; with "shown", training examples are in its context with their gold. `context`:
    with "each", a test example follows the training step only; with "all", it follows all earlier
    test examples as well. `retries`: how often an invalid output is requested again. After that, an
    empty answer is stored and counted as invalid. `images`: with "alt", the model reads the
    alternative text of an image; with "sent", it also gets the image.
    """

    examples: str = "answered"
    context: str = "each"
    retries: int = 2
    images: str = "alt"

    def __post_init__(self) -> None:
        """Raise ValueError for unknown values."""
        if self.examples not in EXAMPLES:
            raise ValueError(f"examples: expected one of {', '.join(EXAMPLES)}")
        if self.context not in CONTEXTS:
            raise ValueError(f"context: expected one of {', '.join(CONTEXTS)}")
        if self.images not in IMAGES:
            raise ValueError(f"images: expected one of {', '.join(IMAGES)}")
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
