"""The conversation with a model, built from the states that the server sends. Pure functions.

Answers stand in it as their last line alone ("Answer: ..."), so that it can be built again from the
server's own record after a crash.
"""

import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any, TypedDict

from handful.inspect import templates
from handful.inspect.templates import Declared

State = Mapping[str, Any]


class Message(TypedDict):
    role: str
    content: str


def system(state: State) -> str:
    """What stands before all examples: the instructions as people read them."""
    task = state["task"]
    windows = [
        templates.HELP.substitute(
            title=window["title"],
            definition=window["definition"],
            example=f"\nExample: {window['example']}" if window["example"] else "",
        )
        for window in task["help"]
    ]
    return templates.SYSTEM.substitute(
        title=task["title"],
        description=task["description"],
        instructions=task["instructions"],
        help="".join(windows),
        steps=_steps(state),
        format=answer_format(task),
    )


def _steps(state: State) -> str:
    lines = []
    for name, text in templates.STEPS.items():
        number = state.get(f"{name}_total", 0)
        if number:
            lines.append(Template(text).substitute(number=number))
    return "\n".join(lines)


def answer_format(task: Mapping[str, Any]) -> str:
    """How an answer has to be written, by its kind."""
    asked = task["answer"]
    kind = "typed" if asked["typed"] else asked["kind"]
    most = asked["max_spans"]
    text = Template(templates.FORMATS[kind]).safe_substitute(
        labels=", ".join(label["name"] for label in task["labels"]),
        range=_range(asked),
        longest=asked["longest"],
        most=f" At most {most}." if most else "",
    )
    return text + (templates.NO_ANSWER if asked["no_answer"] else "")


def _range(asked: Mapping[str, Any]) -> str:
    words = {"lowest": "from", "highest": "to", "step": "in steps of"}
    parts = [f"{word} {asked[name]}" for name, word in words.items() if asked[name] is not None]
    return f" ({' '.join(parts)})" if parts else ""


def question(asked: Mapping[str, Any]) -> str:
    """One example."""
    segments = [f"{segment['name']}: {segment['text']}" for segment in asked["segments"]]
    options = "".join(
        Template(templates.OPTION).substitute(number=number, text=text)
        for number, text in enumerate(asked["options"], start=1)
    )
    return templates.QUESTION.substitute(
        segments="\n\n".join(segments), question=asked["question"], options=options
    )


def answer_line(kind: str, asked: Mapping[str, Any], texts: Sequence[str]) -> str:
    """The line with which an answer of these texts is given; no text is no answer."""
    options = list(asked["options"])
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
    """What follows an answer of the training step."""
    gold = revealed["gold"]
    also, rule = revealed["also_accepted"], revealed["rule"]
    return templates.REVEAL.substitute(
        verdict=templates.VERDICTS[revealed["verdict"]],
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
    """The whole conversation up to the example `now`, as a list of messages with their roles.

    `lead` is the state of the instructions, `history` what was answered before, in order. What was
    told after an answer stands at the head of the message that follows it.
    """
    told = ""
    said = [Message(role="system", content=system(lead))]
    for past in history:
        is_test = past["question"]["step"] != "training"
        if is_test and declared.context == "each":
            continue
        asked, kind = past["question"], past["task"]["answer"]["kind"]
        texts = past["answer"]["texts"]
        if declared.examples == "shown" and "reveal" in past:
            gold = past["reveal"]["gold"]
            texts = gold if kind in ("spans", "options") else gold[:1]
        said.append(Message(role="user", content=told + question(asked)))
        said.append(Message(role="assistant", content=answer_line(kind, asked, texts)))
        told = ""
        if "reveal" in past and declared.examples == "answered":
            told = reveal(past["reveal"]) + "\n\n"
    if now is not None:
        said.append(Message(role="user", content=told + question(now["question"])))
    return said


def comprehension(questions: Sequence[Mapping[str, Any]]) -> str:
    """The questions about the instructions."""
    lines = []
    for number, one in enumerate(questions, start=1):
        lines.append(f"{number}. {one['text']}")
        lines += [f"   {place}. {text}" for place, text in enumerate(one["options"], start=1)]
    return templates.COMPREHENSION.substitute(questions="\n".join(lines))
