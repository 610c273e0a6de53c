"""How a task of the Gym is answered: inferred from its category and its files, never silently.

The kinds are those of a task card (docs: researchers/tasks.md). What is inferred is shown with its
reason and can be changed before anything is imported.
"""

from dataclasses import dataclass

from tasks.gym.catalogue import Published
from tasks.gym.reader import SEPARATOR, GymTask
from tasks.gym.shapes import Shape

MOST_LABELS = 200  # discovery, the longest of the Gym, has 174
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
