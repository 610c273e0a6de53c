"""A filled-in form as data: its items in the order of the form, each with answer and evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """The answers that a form offers where it asks for one of them."""

    YES = "Yes"
    PARTIAL = "Partial"
    NO = "No"
    UNKNOWN = "Unknown"
    NOT_APPLICABLE = "N/A"


class Reply(StrEnum):
    """What kind of answer an item asks for."""

    STATUS = "status"  # one of Status
    TEXT = "text"  # a number or a description
    CHOICES = "choices"  # any of a list
    CHECKBOX = "checkbox"


NOT_STATED = "not stated"


@dataclass(frozen=True)
class Entry:
    """One item: `title` in our own words, the answer, and what it rests on.

    `field` is the field of the short form that the item uses, "" where the study alone answers.
    """

    number: str
    title: str
    reply: Reply
    answer: str
    evidence: str = ""
    field: str = ""


@dataclass(frozen=True)
class Form:
    """A whole form; `source` says whose it is."""

    name: str
    title: str
    source: str
    entries: Sequence[Entry]


def status(number: str, title: str, answer: Status, *evidence: str, field: str = "") -> Entry:
    """An item that is answered by one of Status."""
    return Entry(number, title, Reply.STATUS, str(answer), joined(evidence), field)


def text(number: str, title: str, answer: str, *evidence: str, field: str = "") -> Entry:
    """An item that is answered by a number or in words."""
    return Entry(number, title, Reply.TEXT, answer or NOT_STATED, joined(evidence), field)


def joined(sentences: Sequence[str]) -> str:
    """Sentences on one line, without the empty ones."""
    return " ".join(" ".join(sentence.split()) for sentence in sentences if sentence.strip())
