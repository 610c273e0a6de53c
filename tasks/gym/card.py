"""The card of a task of the Gym, and an example of it: what annotators will read."""

from collections.abc import Sequence

from tasks.cards import Card, parse_card
from tasks.formats import Record
from tasks.gym.catalogue import Published
from tasks.gym.kinds import Kind
from tasks.gym.reader import SEPARATOR, GymTask, Line
from tasks.gym.shapes import Shape

LISTED = 9  # labels that a question lists
NO_EXAMPLE = "No example is given."


def record_of(line: Line, shape: Shape, kind: Kind) -> Record:
    """The example of that line; its id is where it stands, such as glue-rte_16_13_train:5."""
    texts, question = shape.texts(line.input), ""
    if asks(shape, kind):
        question, texts = texts[0], texts[1:]
    place = f"{line.file.removesuffix('.tsv')}:{line.number}"
    return Record(place, texts, question, _gold(line, kind))


def asks(shape: Shape, kind: Kind) -> bool:
    """Is the first text of an input the question of that example?"""
    return shape.has_context and kind.name != "label"


def _gold(line: Line, kind: Kind) -> tuple[str, ...]:
    if kind.name == "spans":
        texts = [text for gold in line.golds for text in gold.split(SEPARATOR)]
        return tuple(dict.fromkeys(texts))
    return line.golds


def card_of(
    published: Published, shape: Shape, kind: Kind, task: GymTask, lines: Sequence[Line]
) -> Card:
    """The card; `lines` are those that become examples. Raises CardError.

    The Gym has no instructions and no meanings of labels: what is said here is a default.
    """
    data = {
        "name": task.name,
        "title": task.name,
        "family": _family(published.ontology, kind),
        "no_answer": False,
        "gold_rule": "set",
        "language": "en",
        "direction": "ltr",
        "source": f"NLP Few-shot Gym (CrossFit), {published.ontology}",
        "licence": "not stated; that of the corpus",
        "ontology": published.ontology,
        "shots_per_label": any(len(task.lines[seed, "train"]) != task.k for seed in task.seeds),
        "training_seeds": task.seeds,
        "segments": _segments(shape.names[1:] if asks(shape, kind) else shape.names),
    }
    return parse_card({**data, **WORDS[kind.name](shape, kind, lines)}, task.name)


def _family(ontology: str, kind: Kind) -> str:
    if ontology.startswith("qa/"):
        return "reading_comprehension"
    if ontology.startswith("cls/") or kind.name in ("label", "option", "options", "number"):
        return "classification"
    return "sequence_labelling" if kind.name == "spans" else "generation"


def _segments(names: Sequence[str]) -> list[str]:
    """Premise, Hypothesis; a text without a name is Text, or Text 1, Text 2."""
    return [
        name[:1].upper() + name[1:] if name else "Text" + (f" {place}" if len(names) > 1 else "")
        for place, name in enumerate(names, 1)
    ]


def _label(_shape: Shape, _kind: Kind, lines: Sequence[Line]) -> dict[str, object]:
    names = sorted({gold for line in lines for gold in line.golds})
    is_short = len(names) <= LISTED
    listed = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return {
        "description": f"Read a text and choose what fits it: {listed}."
        if is_short
        else "Read a text and choose the label that fits it.",
        "instructions": "Read the text. Then choose the label that fits it best.",
        "submit_hint": "Choose one, then submit.",
        "question": f"{listed}?" if is_short else "Which label fits the text?",
        "labels": [
            {
                "name": name,
                "definition": f"Choose this where “{name}” fits best.",
                "example": NO_EXAMPLE,
            }
            for name in names
        ],
    }


def _spans(shape: Shape, kind: Kind, lines: Sequence[Line]) -> dict[str, object]:
    is_set = any(SEPARATOR in gold for line in lines for gold in line.golds)
    are_several = any(len(line.golds) > 1 for line in lines)
    data: dict[str, object] = {
        "description": "Highlight the answer in a text.",
        "instructions": "Read the text and the question. Highlight exactly the words that answer"
        " it, and nothing else.",
        "submit_hint": "Highlight the answer, then submit.",
        "gold_rule": "any_of" if are_several and not is_set else "set",
    }
    if not asks(shape, kind):
        data["question"] = "Which part of the text is the answer?"
    return data if is_set else data | {"max_spans": 1}


WORDS = {"label": _label, "spans": _spans}
