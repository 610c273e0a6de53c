"""The task card (task.toml): everything about a task that is not an example.

All of it goes into a study's manifest. Reading is strict: a missing key and an unknown key are both
refused by name, because a misspelt option that is silently ignored changes what annotators see.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from tasks.answer_keys import (
    LABEL,
    LONG_TEXT,
    LONGEST_TEXTS,
    OF_KINDS,
    OPTION,
    OPTIONS,
    SPANS,
    problems,
)
from tasks.metrics import METRICS, misfit
from tasks.tokens import GRANULARITIES, WORD

FAMILIES = ("classification", "sequence_labelling", "reading_comprehension", "generation")
GOLD_RULES = ("set", "any_of")
DIRECTIONS = ("ltr", "rtl")
S1 = "S1"  # the metric of a card that names none
LONGEST_LABEL = 100  # characters
MAX_BYTES = 100_000  # of a task.toml; the longest that ships has 2,231
# The longest name of the Few-shot Gym has 52 characters.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
MAX_SEED = 2**63 - 1


class CardError(ValueError):
    """A card that cannot be read: which file, which key, what was expected; all of it at once."""

    def __init__(self, *sentences: str):
        super().__init__("; ".join(sentences))
        self.sentences = sentences


@dataclass(frozen=True)
class Label:
    name: str
    definition: str
    example: str


@dataclass(frozen=True)
class QuestionType:
    """One kind of question, recognised by the data's exact wording."""

    match: str
    name: str
    wording: str
    definition: str
    example: str


@dataclass(frozen=True)
class Help:
    """One help window: a definition and one example that is in no split."""

    title: str
    definition: str
    example: str


@dataclass(frozen=True)
class LabelHelp(Help):
    """The window on a label. Pages ask what it means in the language of their interface."""

    label: str


@dataclass(frozen=True)
class KindHelp(Help):
    """The window on a kind of question. Pages ask what counts in the language of theirs."""

    kind: str


def _help_on_label(label: Label) -> LabelHelp:
    title = f"What does “{label.name}” mean?"
    return LabelHelp(title, label.definition, label.example, label.name)


def _help_on_kind(kind: QuestionType) -> KindHelp:
    return KindHelp(f"What counts as {kind.name}?", kind.definition, kind.example, kind.name)


@dataclass(frozen=True)
class Card:
    name: str
    title: str
    family: str
    description: str
    instructions: str
    submit_hint: str
    segments: tuple[str, ...]
    no_answer: bool
    gold_rule: str
    language: str
    direction: str
    source: str
    licence: str
    question: str | None = None
    max_spans: int | None = None
    question_selectable: bool = False
    granularity: str = WORD
    # How it is answered, where that is neither by labels nor by spans in the text.
    answer: str | None = None
    # Spans: may an answer be typed that does not stand in the text?
    typed: bool = False
    # Several options: may all of them be right?
    all_options: bool = False
    # A number: its range, its step and what it counts.
    lowest: float | None = None
    highest: float | None = None
    step: float | None = None
    unit: str | None = None
    # A text: characters at most; of a long one the fewest and most words asked for, a guide only.
    longest: int | None = None
    words: tuple[int, ...] = ()
    metric: str = S1
    labels: tuple[Label, ...] = ()
    question_types: tuple[QuestionType, ...] = ()
    help: tuple[Help, ...] = ()
    # Of a task of the Few-shot Gym: its category, such as cls/nli.
    ontology: str | None = None
    # Are k shots k examples of each right answer, as in the Gym's classification, or k in all?
    shots_per_label: bool = False
    # The corpus's own seed of training split 1, 2, ...
    training_seeds: tuple[int, ...] = ()
    # How many test examples the corpus has, where the test file holds fewer; and the seed by which
    # they were drawn.
    test_of: int | None = None
    test_seed: int | None = None

    @property
    def answered_by(self) -> str:
        """One of tasks.answer_keys.ANSWERS."""
        return self.answer or (LABEL if self.labels else SPANS)

    @property
    def is_highlighted(self) -> bool:
        """Are answers highlighted in the text? All others are chosen or typed beside it."""
        return self.answered_by == SPANS

    @property
    def is_one_text(self) -> bool:
        """Is an answer one text at most? Its S1 is 0 or 1 then."""
        return self.answered_by not in (SPANS, OPTIONS)

    @property
    def is_one_choice(self) -> bool:
        """Is an answer one of those that are listed: a label, or one of the options?"""
        return self.answered_by in (LABEL, OPTION)

    @property
    def is_chosen(self) -> bool:
        """Does an answer consist of what is listed: a label, one option or several?"""
        return self.answered_by in (LABEL, OPTION, OPTIONS)

    @property
    def is_judged(self) -> bool:
        """Is an answer right or not? A long text is never the gold's very words."""
        return self.answered_by != LONG_TEXT

    @property
    def longest_text(self) -> int:
        """Characters that a typed text has at most; 0 where the whole answer is not one."""
        usual, _most = LONGEST_TEXTS.get(self.answered_by, (0, 0))
        return usual if self.longest is None else self.longest

    def misfit(self, metric: str) -> str:
        """Why that metric cannot score the answers to this task, in a sentence; "" if it can."""
        return misfit(metric, self.answered_by, [label.name for label in self.labels])

    @property
    def is_rtl(self) -> bool:
        """Are its texts written from right to left?"""
        return self.direction == "rtl"

    @property
    def examples_per_shot(self) -> int:
        """How many examples one shot is: a context is asked once for each question type."""
        return max(1, len(self.question_types))

    @property
    def help_windows(self) -> tuple[Help, ...]:
        return (
            *map(_help_on_label, self.labels),
            *map(_help_on_kind, self.question_types),
            *self.help,
        )

    def rule_for(self, question: str, gold: Sequence[str]) -> Help | None:
        """What decides that question: the meaning of its gold label, or of the kind asked for."""
        for label in self.labels:
            if label.name in gold:
                return _help_on_label(label)
        for kind in self.question_types:
            if kind.match == question:
                return _help_on_kind(kind)
        return None

    def wording(self, question: str) -> str:
        """What annotators are asked, in the card's words where it has some."""
        for kind in self.question_types:
            if kind.match == question:
                return kind.wording
        return self.question if self.question is not None else question

    def selectable_question(self, question: str) -> str | None:
        """The question as shown, where the task lets it be highlighted; else None."""
        return self.wording(question) if self.question_selectable else None

    def question_type(self, question: str) -> str:
        """The name of the question's type, or "" where the card tells none apart."""
        return next((kind.name for kind in self.question_types if kind.match == question), "")

    def as_dict(self) -> dict[str, Any]:
        """The card as JSON and TOML know it: lists for tuples, nothing for what is absent."""
        return {
            key: [dict(v) if isinstance(v, dict) else v for v in value]
            if isinstance(value, (list, tuple))
            else value
            for key, value in asdict(self).items()
            if value is not None and value != () and UNSAID.get(key) != value
        }


# What a card need not say is left out, so that saying it changes no hash.
UNSAID = {
    "granularity": WORD,
    "metric": S1,
    "shots_per_label": False,
    "typed": False,
    "all_options": False,
}
PARTS = {"labels": Label, "question_types": QuestionType, "help": Help}
CHOICES = {
    "family": FAMILIES,
    "gold_rule": GOLD_RULES,
    "direction": DIRECTIONS,
    "granularity": GRANULARITIES,
    "metric": tuple(METRICS),
}
TEXTS = ("title", "description", "instructions", "submit_hint", "language", "source", "licence")
REQUIRED = (
    "name", "title", "family", "description", "instructions", "submit_hint", "segments",
    "no_answer", "gold_rule", "language", "direction", "source", "licence",
)  # fmt: skip
OPTIONAL = (
    "question", "granularity", "metric", "answer", *OF_KINDS, "question_types", "help", "ontology",
    "shots_per_label", "training_seeds", "test_of", "test_seed",
)  # fmt: skip


def load_card(path: Path) -> Card:
    """Read a task.toml. Raises CardError naming the file, and the line or the key."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CardError(f"{path.name}: larger than {MAX_BYTES // 1000} kB, the limit for a card")
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CardError(
            f"{path.name}: not UTF-8 (byte {error.start + 1}): save the file as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise CardError(f"{path.name}: not valid TOML: {error}") from None
    except RecursionError:
        raise CardError(f"{path.name}: nested too deeply; expected a table of plain keys") from None
    return parse_card(data, path.name)


def parse_card(data: dict[str, Any], source: str) -> Card:
    """Build a card from its keys; `source` names it in errors. Raises CardError."""
    parts: dict[str, Any] = {}

    def read_parts(key: str) -> None:
        parts[key] = _parts(data.get(key, []), PARTS[key], f"{source}: key {key}")

    checks: list[Callable[[], None]] = [
        partial(_only, data, REQUIRED, OPTIONAL, source),
        *(partial(_text, data[key], f"{source}: key {key}") for key in TEXTS if key in data),
        *(
            partial(_text, data[key], f"{source}: key {key}")
            for key in ("question", "ontology")
            if key in data
        ),
        partial(_check_name, data, source),
        partial(_check_segments, data, source),
        *(partial(_check_choice, data, key, source) for key in CHOICES),
        partial(_check_flags, data, source),
        partial(_check_corpus, data, source),
        *(partial(read_parts, key) for key in PARTS),
    ]
    wrong = [sentence for check in checks for sentence in _said(check)]
    if wrong:
        raise CardError(*wrong)
    segments = data["segments"]
    for index, label in enumerate(parts["labels"]):
        # An answer holds the name, and a browser sends a line break back as another one.
        if len(label.name) > LONGEST_LABEL or len(label.name.splitlines()) > 1:
            raise CardError(
                f"{source}: key labels[{index}].name: expected one line of at most"
                f" {LONGEST_LABEL} characters"
            )
    if parts["labels"] and data["no_answer"]:
        raise CardError(f"{source}: key no_answer: expected false where there are labels")
    usual = LABEL if parts["labels"] else SPANS
    answer = data.get("answer", usual)
    for key, expected in problems(data, answer):
        raise CardError(f"{source}: key {key}: {expected}")
    unsaid = {"answer": None if answer == usual else answer}  # said or not, it is the same card
    lists = {"segments": tuple(segments)}
    lists |= {key: tuple(data.get(key, ())) for key in ("words", "training_seeds")}
    card = Card(**{**data, **unsaid, **lists, **parts})
    if reason := card.misfit(card.metric):
        raise CardError(f"{source}: key metric: {reason}")
    return card


def _said(check: Callable[[], None]) -> tuple[str, ...]:
    """What that check finds wrong."""
    try:
        check()
    except CardError as error:
        return error.sentences
    return ()


def _check_name(data: dict[str, Any], source: str) -> None:
    name = data.get("name", "missing")  # which is said above
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise CardError(
            f"{source}: key name: expected 1 to 60 letters, digits, dots, hyphens or underscores"
        )


def _check_segments(data: dict[str, Any], source: str) -> None:
    segments = data.get("segments", ["missing"])
    if not isinstance(segments, list) or not segments:
        raise CardError(f"{source}: key segments: expected a list of one or more names")
    for index, name in enumerate(segments):
        _text(name, f"{source}: key segments[{index}]")


def _check_choice(data: dict[str, Any], key: str, source: str) -> None:
    allowed = CHOICES[key]
    if key in data and data[key] not in allowed:
        raise CardError(f"{source}: key {key}: expected one of {', '.join(allowed)}")


def _check_flags(data: dict[str, Any], source: str) -> None:
    for key in ("no_answer", "question_selectable", "shots_per_label", "typed", "all_options"):
        if not isinstance(data.get(key, False), bool):
            raise CardError(f"{source}: key {key}: expected true or false")
    limit = data.get("max_spans")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise CardError(f"{source}: key max_spans: expected a whole number of at least 1")


def _check_corpus(data: dict[str, Any], source: str) -> None:
    """The keys that say how training and test were drawn from a corpus."""

    def is_seed(value: Any) -> bool:
        return type(value) is int and 0 <= value <= MAX_SEED

    seeds = data.get("training_seeds", [])
    if not isinstance(seeds, list | tuple) or not all(map(is_seed, seeds)):
        raise CardError(f"{source}: key training_seeds: expected a list of whole numbers from 0")
    if "test_seed" in data and "test_of" not in data:
        raise CardError(f"{source}: key test_seed: expected test_of beside it")
    if "test_of" in data and not (type(data["test_of"]) is int and data["test_of"] > 0):
        raise CardError(f"{source}: key test_of: expected a whole number of at least 1")
    if "test_seed" in data and not is_seed(data["test_seed"]):
        raise CardError(f"{source}: key test_seed: expected a whole number from 0")


def _only(
    data: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...], where: str
) -> None:
    missing = [key for key in required if key not in data]
    unknown = [key for key in data if key not in required and key not in optional]
    # A misspelt key is both: it is said once.
    meant = {key: get_close_matches(key, missing, 1)[0] for key in unknown
             if get_close_matches(key, missing, 1)}  # fmt: skip
    known = ", ".join((*required, *optional))
    wrong = [f"{where}: missing key {key}" for key in missing if key not in meant.values()]
    wrong += [
        f"{where}: unknown key {key}; "
        + (f"did you mean {meant[key]}?" if key in meant else f"known keys are {known}")
        for key in unknown
    ]
    if wrong:
        raise CardError(*wrong)


def _text(value: Any, where: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise CardError(f"{where}: expected a non-empty text")
    if "\0" in value:
        raise CardError(f"{where}: U+0000 cannot be stored")


def _parts(value: Any, part_type: type[Any], where: str) -> tuple[Any, ...]:
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise CardError(f"{where}: expected a list of tables")
    keys = tuple(part_type.__dataclass_fields__)
    for index, part in enumerate(value):
        _only(part, keys, (), f"{where}[{index}]")
        for key in keys:
            _text(part[key], f"{where}[{index}].{key}")
    first = [part[keys[0]] for part in value]
    for index, name in enumerate(first):
        if name in first[:index]:
            raise CardError(f"{where}[{index}].{keys[0]}: {name!r} is there twice")
    return tuple(part_type(**part) for part in value)
