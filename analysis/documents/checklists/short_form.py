"""The short form: checklist questions that only the researchers can answer.

Several checklists share its fields. An answer that starts with Yes, Partial or No has that status;
any other answer counts as Yes. Lines and lists are parsed here so that pages, the API and documents
agree.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from analysis.documents.blocks import Entry, Reply


class Status(StrEnum):
    """The answers allowed in fixed-answer items."""

    YES = "Yes"
    PARTIAL = "Partial"
    NO = "No"
    UNKNOWN = "Unknown"
    NOT_APPLICABLE = "N/A"


NOT_STATED = "not stated"


def status(number: str, title: str, answer: Status, *evidence: str, field: str = "") -> Entry:
    return Entry(number, title, Reply.STATUS, str(answer), joined(evidence), field)


def text(number: str, title: str, answer: str, *evidence: str, field: str = "") -> Entry:
    return Entry(number, title, Reply.TEXT, answer or NOT_STATED, joined(evidence), field)


def joined(sentences: Sequence[str]) -> str:
    """Join sentences on one line, skipping empty ones."""
    return " ".join(" ".join(sentence.split()) for sentence in sentences if sentence.strip())


def prose(words: str) -> str:
    """Add a full stop to user-entered text that lacks final punctuation."""
    return words if not words or words.endswith((".", "!", "?")) else f"{words}."


BEGINNINGS = {
    "yes": Status.YES,
    "partial": Status.PARTIAL,
    "partially": Status.PARTIAL,
    "partly": Status.PARTIAL,
    "no": Status.NO,
    "none": Status.NO,
    "not": Status.NO,
    "nothing": Status.NO,
    "unknown": Status.UNKNOWN,
    "n/a": Status.NOT_APPLICABLE,
}
FIRST_WORD = re.compile(r"\s*(n/a|[a-z]+)(?![\w-])[\s.,:;]*", re.IGNORECASE)
# Matches the start of a reference, such as "No. 12 of the board", which is not a negative answer.
NUMBERED = re.compile(r"\s*no\.?\s*\d", re.IGNORECASE)

EVALUATION = ("knowledge", "capabilities", "propensity", "agent")
CRITERIA = {
    "expertise": "Expertise",
    "education": "Education",
    "language": "Language",
    "gender": "Gender or sex",
    "race": "Race",
    "status": "Socioeconomic status",
    "age": "Age",
    "disability": "Disabilities or impairments",
    "politics": "Political orientation",
    "digital": "Digital literacy",
    "ai": "AI literacy",
    "experience": "Experience with baselines or AI evaluations",
    "other": "Other",
}
# Maps the start of a short-form answer to the answer on the checklist.
SAMPLING = {
    "crowdsource": "Crowdsource",
    "convenience": "Convenience sample",
    "simple random": "Simple random sample",
    "stratified": "Stratified random sample",
    "other": "Other",
}


@dataclass(frozen=True)
class Field:
    """A form field. `lines` holds the keys that start its lines; `choices` holds its options."""

    label: str
    help: str = ""
    lines: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)


BEGIN = "Start with Yes, Partial or No."
# Numeric keys date from earlier versions, which stored one answer per item.
FIELDS = {
    "paper": Field(
        "The paper",
        "One per line, all optional: “link: https://…”, “year: 2026”, “venue: …”,"
        f" “type: {', '.join(EVALUATION)}” (what the evaluation measures, one or more).",
        lines=("link", "year", "venue", "type"),
    ),
    "2.1": Field(
        "To which population should the results generalise?",
        "Describe people, not the platform: which people would you expect to score the same?",
    ),
    "criteria": Field("Which characteristics define that population?", choices=CRITERIA),
    "2.2": Field(
        "How were the annotators sampled?",
        "Start with Crowdsource, Convenience, Simple random, Stratified or Other, then say how.",
    ),
    "2.4": Field(
        "Were authors or their colleagues among the annotators?", f"{BEGIN} If yes, state how many."
    ),
    "1.5": Field(
        "Were texts and instructions designed to be equally fair to humans and models?",
        f"{BEGIN} State what was adjusted for humans or models.",
    ),
    "3.4": Field(
        "Did models that ran outside Handful receive the annotators' instructions?",
        f"{BEGIN} State how prompts and pages differed, how you adjusted for it, and what the runs"
        " cost (money, tokens or hours).",
    ),
    "3.5": Field(
        "Were humans and models allowed the same tools?",
        f"{BEGIN} Name the tools (search, AI with its version) and how limits were enforced.",
    ),
    "1.6": Field("Was there a pilot study?", f"{BEGIN} State what changed as a result."),
    "1.8": Field(
        "Was the number of annotators based on a power analysis?",
        f"{BEGIN} State the smallest meaningful difference.",
    ),
    "1.9": Field(
        "Did an ethics board approve or exempt the study?",
        f"{BEGIN} Name the board, the reference number, and any risks for annotators.",
    ),
    "5.2": Field(
        "What is public, and where?",
        "One per line, all optional: “preregistration: https://…”, “data: https://…”,"
        " “materials: …”, “code: …” (of the analysis), “models: …” (code that ran the models)."
        " Where data are not public: “data: No, because …”.",
        lines=("preregistration", "data", "materials", "code", "models"),
    ),
}


class Answers:
    def __init__(self, given: Mapping[str, str]):
        self._given = {name: given.get(name, "").strip() for name in FIELDS}
        self.title = " ".join(given.get("title", "").split())
        self.licence = given.get("licence", "")

    def __getitem__(self, name: str) -> str:
        """Return the answer on one line, or "" if there is none."""
        return " ".join(self._given[name].split())

    def status(self, name: str) -> Status:
        """Return the status at the start of an answer, or Unknown if unanswered."""
        return verdict(self._given[name])

    def entry(self, number: str, title: str, *evidence: str, field: str = "") -> Entry:
        """Build an item from the answer to `field`, or to the item's own number by default."""
        name = field or number
        said = prose(self[name]), *evidence
        return Entry(number, title, Reply.STATUS, str(self.status(name)), joined(said), name)

    def line(self, name: str, key: str) -> str:
        """Return the text of one line in a multi-line field, or "" if the line is missing."""
        return lines(FIELDS[name], self._given[name]).get(key, "")

    def chosen(self, name: str) -> list[str]:
        """Return the selected options in form order."""
        ticked = {part.strip() for part in self._given[name].split(",")}
        return [key for key in FIELDS[name].choices if key in ticked]

    @property
    def evaluation(self) -> list[str]:
        named = {part.strip().lower() for part in self.line("paper", "type").split(",")}
        return [kind.capitalize() for kind in EVALUATION if kind in named]

    @property
    def sampling(self) -> str:
        """Return the SAMPLING value that matches the start of the answer, or ""."""
        said = self["2.2"].lower()
        return next((name for begin, name in SAMPLING.items() if said.startswith(begin)), "")


def verdict(answer: str) -> Status:
    """Return the status that an answer expresses.

    >>> verdict("Partial: two of three"), verdict("Board 7"), verdict("No. 12 of Board 7")
    (<Status.PARTIAL: 'Partial'>, <Status.YES: 'Yes'>, <Status.YES: 'Yes'>)
    """
    if not answer.strip():
        return Status.UNKNOWN
    first = FIRST_WORD.match(answer)
    if first is None or NUMBERED.match(answer):
        return Status.YES
    return BEGINNINGS.get(first[1].lower(), Status.YES)


def lines(asked: Field, answer: str) -> dict[str, str]:
    """Parse an answer's lines by key. Lines without a known key continue the previous line."""
    found: dict[str, str] = {}
    name = ""
    for line in answer.splitlines():
        begin, colon, rest = line.partition(":")
        if colon and begin.strip().lower() in asked.lines:
            name = begin.strip().lower()
            found[name] = rest.strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}"
    return found


def problem(name: str, answer: str) -> str:
    """Return an error message with the line number, or "" if the answer is valid."""
    asked = FIELDS[name]
    if asked.choices:
        unknown = [p.strip() for p in answer.split(",") if p.strip() not in ("", *asked.choices)]
        known = ", ".join(asked.choices)
        return f"“{unknown[0]}” is not a choice. Choices: {known}." if unknown else ""
    if not asked.lines or not answer.strip():
        return ""
    known = ", ".join(f"“{line}:”" for line in asked.lines)
    seen: set[str] = set()
    for number, line in enumerate(answer.splitlines(), start=1):
        begin, colon, _rest = line.partition(":")
        word = begin.strip().lower() if colon else ""
        if word in seen:
            return f"Line {number}: “{word}:” appears twice."
        if word not in asked.lines and not seen and line.strip():
            return f"Line {number}: start with one of {known}."
        seen |= {word} & set(asked.lines)
    return _wrong_line(lines(asked, answer))


def _wrong_line(said: Mapping[str, str]) -> str:
    """Return an error message if an evaluation's year or type is invalid."""
    if (year := said.get("year", "")) and not re.fullmatch(r"[0-9]{4}", year):
        return f"“year: {year[:40]}”: enter four digits, such as 2026."
    named = [part.strip() for part in said.get("type", "").split(",") if part.strip()]
    if wrong := [part for part in named if part.lower() not in EVALUATION]:
        return f"“type: {wrong[0][:40]}”: enter one or more of {', '.join(EVALUATION)}."
    return ""
