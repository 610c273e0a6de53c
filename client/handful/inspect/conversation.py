"""Prompt templates, and pure functions that build the conversation and parse a model's replies.

The server sends the texts to insert in the templates. They are what human annotators see: title,
description, instructions, help, questions and reveals.

The conversation is built from the server's states. It contains only the last line ("Answer: ...")
of each reply, so that it can be rebuilt from the server's record after a crash. The answer is all
text after the last "Answer:" at the start of a line. Whether spans occur in the text, at word
boundaries, and whether numbers are in range is checked by the server.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, NotRequired, TypedDict

_TEXTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf-8"))
SYSTEM, HELP, QUESTION, REVEAL, RETRY, COMPREHENSION = (
    Template(_TEXTS[name])
    for name in ("system", "help", "question", "reveal", "retry", "comprehension")
)
OPTION, CONFIDENCE, NO_ANSWER = _TEXTS["option"], _TEXTS["confidence"], _TEXTS["no answer"]
STEPS, VERDICTS, FORMATS = (
    {name.removeprefix(kind): text for name, text in _TEXTS.items() if name.startswith(kind)}
    for kind in ("step ", "verdict ", "format ")
)

CHOICES = {"examples": ("answered", "shown"), "context": ("each", "all"), "images": ("alt", "sent")}

State = Mapping[str, Any]


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
        parts = {"options": options, **_TEXTS}
        return "\n".join(f"=== {name}\n{text}" for name, text in parts.items())

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the template, which is part of a model annotator's identity."""
        return hashlib.sha256(self.template.encode()).hexdigest()


class Message(TypedDict):
    """A message. `images` are URLs on the server, or data URLs once they have been loaded."""

    role: str
    content: str
    images: NotRequired[list[str]]


def system(state: State) -> str:
    """Return the system message, with the instructions that human annotators read."""
    task = state["task"]
    windows = [
        HELP.substitute(
            title=window["title"],
            definition=window["definition"],
            example=f"\nExample: {window['example']}" if window["example"] else "",
        )
        for window in task["help"]
    ]
    return SYSTEM.substitute(
        title=task["title"], description=task["description"], instructions=task["instructions"],
        help="".join(windows), steps=_steps(state), format=answer_format(task),
    )  # fmt: skip


def _steps(state: State) -> str:
    lines = []
    for name, text in STEPS.items():
        number = state.get(f"{name}_total", 0)
        if number:
            lines.append(Template(text).substitute(number=number))
    return "\n".join(lines)


def answer_format(task: Mapping[str, Any]) -> str:
    answer = task["answer"]
    kind = "typed" if answer["typed"] else answer["kind"]
    limit = answer["max_spans"]
    text = Template(FORMATS[kind]).safe_substitute(
        labels=", ".join(label["name"] for label in task["labels"]),
        range=_range(answer),
        longest=answer["longest"],
        most=f" At most {limit}." if limit else "",
    )
    return text + (NO_ANSWER if answer["no_answer"] else "")


def _range(answer: Mapping[str, Any]) -> str:
    labels = {"lowest": "from", "highest": "to", "step": "in steps of"}
    parts = [f"{label} {answer[key]}" for key, label in labels.items() if answer[key] is not None]
    return f" ({' '.join(parts)})" if parts else ""


def question(example: Mapping[str, Any]) -> str:
    segments = [f"{segment['name']}: {segment['text']}" for segment in example["segments"]]
    options = "".join(
        Template(OPTION).substitute(number=number, text=text)
        for number, text in enumerate(example["options"], start=1)
    )
    return QUESTION.substitute(
        segments="\n\n".join(segments), question=example["question"], options=options
    )


def answer_line(kind: str, example: Mapping[str, Any], texts: Sequence[str]) -> str:
    """Format texts as an answer line. An empty list means "no answer"."""
    options = list(example["options"])
    value: Any = list(texts)
    if not texts:
        value = None
    elif kind == "option":
        value = options.index(texts[0]) + 1
    elif kind == "options":
        value = [options.index(text) + 1 for text in texts]
    elif kind in ("label", "number"):
        return f"Answer: {texts[0]}"
    elif kind != "spans":
        value = texts[0]
    return f"Answer: {json.dumps(value, ensure_ascii=False)}"


def reveal(revealed: Mapping[str, Any]) -> str:
    gold = revealed["gold"]
    also, rule = revealed["also_accepted"], revealed["rule"]
    return REVEAL.substitute(
        verdict=VERDICTS[revealed["verdict"]],
        gold=_listed(gold) or "no answer",
        also=f" Also accepted: {_listed(also)}." if also else "",
        explanation=f" {revealed['explanation']}" if revealed["explanation"] else "",
        rule=f" {rule['title']} {rule['definition']}" if rule else "",
    )


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)


def messages(
    lead: State, history: Sequence[State], now: State | None, declared: Declared
) -> list[Message]:
    """Return the messages of the conversation, up to the example `now`.

    `lead` is the state with the instructions, and `history` contains the answered states in order.
    The reveal for an answer comes at the start of the next message.
    """
    feedback = ""
    conversation = [Message(role="system", content=system(lead))]
    for past in history:
        is_test = past["question"]["step"] != "training"
        if is_test and declared.context == "each":
            continue
        example, kind = past["question"], past["task"]["answer"]["kind"]
        texts = past["answer"]["texts"]
        if declared.examples == "shown" and "reveal" in past:
            gold = past["reveal"]["gold"]
            texts = gold if kind in ("spans", "options") else gold[:1]
        conversation.append(_question_message(feedback, example, declared))
        conversation.append(Message(role="assistant", content=answer_line(kind, example, texts)))
        feedback = ""
        if "reveal" in past and declared.examples == "answered":
            feedback = reveal(past["reveal"]) + "\n\n"
    if now is not None:
        conversation.append(_question_message(feedback, now["question"], declared))
    return conversation


def _question_message(feedback: str, example: Mapping[str, Any], declared: Declared) -> Message:
    message = Message(role="user", content=feedback + question(example))
    images = [segment["image"] for segment in example["segments"] if "image" in segment]
    if images and declared.images == "sent":
        message["images"] = images
    return message


def comprehension(questions: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for number, item in enumerate(questions, start=1):
        lines.append(f"{number}. {item['text']}")
        lines += [f"   {place}. {text}" for place, text in enumerate(item["options"], start=1)]
    return COMPREHENSION.substitute(questions="\n".join(lines))


MARK = re.compile(r"^\W*answer\W*?:", re.IGNORECASE | re.MULTILINE)
QUOTES = "\"'“”‘’`"


class Invalid(ValueError):
    """Raised if a reply is not a valid answer. The message is addressed to the model."""


def parse(task: Mapping[str, Any], example: Mapping[str, Any], reply: str) -> dict[str, Any]:
    """Parse a reply into the `answer` for POST work/answer/. Raises Invalid."""
    given = given_text(reply)
    value, kind = _value(given), task["answer"]["kind"]
    if kind == "label":  # a label may be called "none"
        return {"label": _label(task, given if value is None else value, given)}
    if value is None or value in ([], ""):
        if not task["answer"]["no_answer"]:
            raise Invalid("Every example in this task has an answer.")
        return {"no_answer": True}
    if kind == "option":
        return {"option": _place(value, example["options"])}
    if kind == "options":
        places = value if isinstance(value, list) else [value]
        return {"options": sorted({_place(place, example["options"]) for place in places})}
    if kind == "number":
        return {"number": _plain(value, given)}
    if kind == "spans":
        return {"typed": _texts(value)}
    return {"text": value if isinstance(value, str) else given}


def given_text(reply: str) -> str:
    """Return the text after the last "Answer:". Raises Invalid if it does not occur."""
    marks = list(MARK.finditer(reply))
    if not marks:
        raise Invalid("No line begins with “Answer:”.")
    return reply[marks[-1].end() :].strip().strip("*").strip()


def _value(given: str) -> Any:
    """Parse JSON at the start, or return the first line. Returns None for "null" and "none"."""
    try:
        value, _end = json.JSONDecoder().raw_decode(given)
    except (ValueError, RecursionError):
        first = given.partition("\n")[0].strip()
        return None if first.lower().strip(".") in ("null", "none") else first
    return value


def _label(task: Mapping[str, Any], value: Any, given: str) -> str:
    names = [str(label["name"]) for label in task["labels"]]
    plain = str(value).strip().strip(QUOTES).rstrip(".").strip()
    exact = [name for name in names if name in (value, given, plain)]
    alike = [name for name in names if name.casefold() == plain.casefold()]
    for fitting in (exact, alike):
        if len(fitting) == 1:
            return fitting[0]
    raise Invalid(f"“{plain[:80]}” is not one of the labels: {', '.join(names)}.")


def _place(value: Any, options: Sequence[str]) -> int:
    """Return the index of an option, which is given by number (from 1) or by its exact text."""
    if isinstance(value, str) and value in options:
        return list(options).index(value)
    try:
        number = int(str(value).strip().rstrip("."))
    except ValueError:
        number = 0
    if isinstance(value, bool) or not 1 <= number <= len(options):
        raise Invalid(f"Expected the number of an option, 1 to {len(options)}.")
    return number - 1


def _plain(value: Any, given: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Invalid("Expected a number in plain digits.")
    text = given.split()[0] if isinstance(value, int | float) else value
    return str(text).strip(QUOTES + "*")


def _texts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise Invalid("Expected a JSON list of texts.")
    if any("\n" in text for text in texts):
        raise Invalid("A text must not contain a line break.")
    return list(dict.fromkeys(texts))
