"""The short form: questions from the checklists that only the researchers can answer.

Its fields are shared by several checklists. An answer that starts with the name of a status has
that status; any other answer counts as Yes. Lines and lists are parsed here so that pages, the API
and documents agree with each other.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Status(StrEnum):
    YES = "Yes"
    PARTIAL = "Partial"
    NO = "No"
    UNKNOWN = "Unknown"
    NOT_APPLICABLE = "N/A"


NOT_STATED = "not stated"


def joined(sentences: Sequence[str]) -> str:
    return " ".join(" ".join(text.split()) for text in sentences if text.strip())


def prose(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


BEGINNINGS = {
    "yes": Status.YES,
    **dict.fromkeys(("partial", "partially", "partly"), Status.PARTIAL),
    **dict.fromkeys(("no", "none", "not", "nothing"), Status.NO),
    "unknown": Status.UNKNOWN,
    "n/a": Status.NOT_APPLICABLE,
}
FIRST_WORD = re.compile(r"\s*(n/a|[a-z]+)(?![\w-])[\s.,:;]*", re.IGNORECASE)
# Matches the start of a reference such as "No. 12 of the board", which does not mean "no".
NUMBERED = re.compile(r"\s*no\.?\s*\d", re.IGNORECASE)


@dataclass(frozen=True)
class Field:
    label: str
    help: str = ""
    lines: Sequence[str] = ()
    choices: Mapping[str, str] = field(default_factory=dict)


# The questions of the short form, and the items of the checklists.
QUESTIONS = tomllib.loads((Path(__file__).parent / "questions.toml").read_text(encoding="utf-8"))
FIELDS = {name: Field(**field) for name, field in QUESTIONS["fields"].items()}
CRITERIA = FIELDS["criteria"].choices
EVALUATION = ("knowledge", "capabilities", "propensity", "agent")


class Answers:
    def __init__(self, given: Mapping[str, str]):
        self._given = {name: given.get(name, "").strip() for name in FIELDS}
        self.title = " ".join(given.get("title", "").split())
        self.licence = given.get("licence", "")
        self.paper = lines(FIELDS["paper"], self._given["paper"])
        self.public = lines(FIELDS["5.2"], self._given["5.2"])

    def __getitem__(self, name: str) -> str:
        """Return the answer on a single line, or "" if there is none."""
        return " ".join(self._given[name].split())

    def status(self, name: str) -> Status:
        """Return the status at the start of the answer, or Unknown if unanswered."""
        return verdict(self._given[name])

    def ticked(self, name: str) -> list[str]:
        ticked = {part.strip() for part in self._given[name].split(",")}
        return [key for key in FIELDS[name].choices if key in ticked]

    @property
    def evaluation(self) -> list[str]:
        types = {part.strip().lower() for part in self.paper["type"].split(",")}
        return [kind.capitalize() for kind in EVALUATION if kind in types]

    @property
    def sampling(self) -> str:
        """Return the checklist option that matches the start of the answer, or ""."""
        answer = self["2.2"].lower()
        options = QUESTIONS["sampling"].items()
        return next((name for begin, name in options if answer.startswith(begin)), "")


def verdict(answer: str) -> Status:
    """Return the status expressed by an answer.

    >>> verdict("Partial: two of three"), verdict("Board 7"), verdict("No. 12 of Board 7")
    (<Status.PARTIAL: 'Partial'>, <Status.YES: 'Yes'>, <Status.YES: 'Yes'>)
    """
    if not answer.strip():
        return Status.UNKNOWN
    first = FIRST_WORD.match(answer)
    if first is None or NUMBERED.match(answer):
        return Status.YES
    return BEGINNINGS.get(first[1].lower(), Status.YES)


def lines(field: Field, answer: str) -> dict[str, str]:
    """Parse the lines of an answer by key. Lines without a known key continue the previous one."""
    values = dict.fromkeys(field.lines, "")
    name = ""
    for line in answer.splitlines():
        begin, colon, value = line.partition(":")
        if colon and begin.strip().lower() in field.lines:
            name = begin.strip().lower()
            values[name] = value.strip()
        elif name and line.strip():
            values[name] = f"{values[name]} {line.strip()}"
    return values


def problem(name: str, answer: str) -> str:
    field = FIELDS[name]
    if field.choices:
        unknown = [p.strip() for p in answer.split(",") if p.strip() not in ("", *field.choices)]
        choices = ", ".join(field.choices)
        return f"“{unknown[0]}” is not a choice. Choices: {choices}." if unknown else ""
    if not field.lines or not answer.strip():
        return ""
    choices = ", ".join(f"“{line}:”" for line in field.lines)
    keys: set[str] = set()
    for number, line in enumerate(answer.splitlines(), start=1):
        begin, colon, _value = line.partition(":")
        key = begin.strip().lower() if colon else ""
        if key in keys:
            return f"Line {number}: “{key}:” appears twice."
        if key not in field.lines and not keys and line.strip():
            return f"Line {number}: start with one of {choices}."
        keys |= {key} & set(field.lines)
    return _wrong_line(lines(field, answer))


def _wrong_line(values: Mapping[str, str]) -> str:
    if (year := values.get("year", "")) and not re.fullmatch(r"[0-9]{4}", year):
        return f"“year: {year[:40]}”: enter four digits, such as 2026."
    types = [part.strip() for part in values.get("type", "").split(",") if part.strip()]
    if unknown := [part for part in types if part.lower() not in EVALUATION]:
        return f"“type: {unknown[0][:40]}”: enter one or more of {', '.join(EVALUATION)}."
    return ""
