"""How a task of the Gym is answered: inferred from its category and its files, never silently.

The kinds are those of a task card (docs: researchers/tasks.md). What is inferred is shown with its
reason and can be changed before anything is imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.answer_keys import ANSWERS, LONGEST_TEXTS
from tasks.answers.number import canonical
from tasks.cards import LONGEST_LABEL
from tasks.gym.catalogue import Published
from tasks.gym.reader import SEPARATOR, GymTask, Line
from tasks.gym.shapes import Shape

MAX_LABELS = 200  # discovery, the longest of the Gym, has 174
LONG_TEXT = ("qa/long-form qa", "cg/summarization", "cg/dialogue", "other/generate explanation")


@dataclass(frozen=True)
class Kind:
    """How it is answered, and why that was inferred.

    `name`: label, option, options, spans, number, short text or long text. `typed` says that an
    answer may be typed too, as some gold stands in no text.
    """

    name: str
    why: str
    typed: bool = False


def infer(task: GymTask, shape: Shape, published: Published) -> Kind:
    """The kind of answer of that task, by all of its lines."""
    category = published.ontology
    if category.startswith("cls/") or category in ("qa/binary", "other/linguistic phenomenon"):
        labels = {gold for line in task.all_lines("train") for gold in line.golds}
        return Kind("label", f"{category}: {len(labels)} different outputs in training")
    if shape.has_options:
        several = any(SEPARATOR in gold for line in task.all_lines() for gold in line.golds)
        if several:
            return Kind("options", "options (A) ... in every input, several right ones joined")
        return Kind("option", "options (A) ... in every input, the output is the text of one")
    if category == "other/regression":
        return Kind("number", category)
    if category in LONG_TEXT or published.metric == "Rouge-L":
        return Kind("long text", f"{category}, scored by {published.metric}")
    return _from_texts(task, category)


def _from_texts(task: GymTask, category: str) -> Kind:
    """Spans where the golds stand in the inputs, else a short text."""
    inside, golds = 0, 0
    for line in task.all_lines():
        for gold in line.golds:
            for text in gold.split(SEPARATOR):
                golds += 1
                inside += text in line.input
    if category == "qa/closed-book qa" or golds == 0 or inside / golds < 0.9:
        return Kind("short text", f"{category}: {inside} of {golds} outputs stand in the input")
    return Kind("spans", f"{inside} of {golds} outputs stand in the input", typed=inside < golds)


def problem(name: str, lines: Sequence[Line], shape: Shape) -> str:
    """Why these lines cannot be answered in that way; "" where they can."""
    golds = [gold for line in lines for gold in line.golds]
    if name not in ANSWERS:
        return f"unknown kind of answer {name!r}; one of {', '.join(ANSWERS)}"
    if name == "label":
        if any(len(line.golds) > 1 for line in lines):
            return "has several golds on a line; a label is one"
        if len(set(golds)) > MAX_LABELS:
            return f"has {len(set(golds))} different outputs; at most {MAX_LABELS} can be labels"
        if any(len(gold) > LONGEST_LABEL for gold in golds):
            return f"has an output longer than {LONGEST_LABEL} characters, the limit of a label"
    if name in ("option", "options") and not shape.has_options:
        return "has inputs without options (A) ... (B) ..."
    if name == "options" and any(len(line.golds) > 1 for line in lines):
        return "has several golds on a line; several options are one gold"
    if name == "number" and not all(map(canonical, golds)):
        return "has outputs that are no numbers in plain digits"
    if name in LONGEST_TEXTS and any(len(gold) > LONGEST_TEXTS[name][1] for gold in golds):
        return f"has an output longer than {LONGEST_TEXTS[name][1]:,} characters, the limit"
    return ""


def is_typed(name: str, lines: Sequence[Line]) -> bool:
    """Does some gold of a span task stand in no text, so that it must be typed?"""
    return name == "spans" and any(
        text not in line.input
        for line in lines
        for gold in line.golds
        for text in gold.split(SEPARATOR)
    )
