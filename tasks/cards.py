"""The task card (task.toml), which contains everything about a task except its examples.

The entire card is part of a study's manifest. Parsing is strict: missing and unknown keys are
errors, because ignoring a misspelt option would change what annotators see.
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from tasks.answer_keys import (
    LABEL,
    LONG_TEXT,
    LONGEST_TEXTS,
    NUMBER,
    OPTIONS,
    SHORT_TEXT,
    SPANS,
    Wrong,
    check_count,
    check_flag,
    check_language,
    check_name,
    check_number,
    check_one_of,
    check_seed,
    check_seeds,
    check_segments,
    check_step,
    check_text,
    check_unit,
    check_words,
)
from tasks.answers import KINDS, Kind, Prompt
from tasks.metrics import GOLD_RULES, METRICS, misfit
from tasks.spans import Source
from tasks.tokens import GRANULARITIES, WORD

FAMILIES = ("classification", "sequence_labelling", "reading_comprehension", "generation")
DIRECTIONS = ("ltr", "rtl")
S1 = "S1"  # the default metric
LONGEST_LABEL = 100  # characters
MAX_BYTES = 100_000  # the longest card in this project has 2,181 bytes


class CardError(ValueError):
    """Raised for an invalid card. Lists all errors with the file, the key and what was expected."""

    def __init__(self, *sentences: str):
        super().__init__("; ".join(sentences))
        self.sentences = sentences


@dataclass(frozen=True)
class Label:
    """A label, which is also a help window. Pages translate its title."""

    name: str
    definition: str
    example: str

    @property
    def title(self) -> str:
        return f"What does “{self.name}” mean?"


@dataclass(frozen=True)
class QuestionType:
    """A type of question, which is recognised by its exact wording in the data.

    It is also a help window. Pages translate its title.
    """

    match: str
    name: str
    wording: str
    definition: str
    example: str

    @property
    def title(self) -> str:
        return f"What counts as {self.name}?"


@dataclass(frozen=True)
class Help:
    """A help window with a definition, and an example that doesn't occur in any split."""

    title: str
    definition: str
    example: str


HelpWindow = Label | QuestionType | Help


def _entries(part: type[Any]) -> Callable[[Any], Wrong]:
    """Return a check for a list of tables with all keys of `part`. The first must be unique."""
    keys = tuple(part.__dataclass_fields__)

    def check(value: Any) -> Wrong:
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            yield "", "expected a list of tables"
            return
        names = []
        for index, entry in enumerate(value):
            yield from ((f"[{index}]", wrong) for wrong in _key_problems(entry, keys, ()))
            for key in keys:
                if key in entry:
                    texts = (
                        (f"[{index}].{key}", expected) for _w, expected in check_text(entry[key])
                    )
                    yield from texts
            if entry.get(keys[0]) in names:
                yield f"[{index}].{keys[0]}", f"{entry[keys[0]]!r} appears twice"
            names.append(entry.get(keys[0]))

    return check


def _labels(value: Any) -> Wrong:
    yield from (wrong := list(_entries(Label)(value)))
    for index, entry in enumerate([] if wrong else value):
        # Answers contain the name, and browsers change line breaks.
        if len(entry["name"]) > LONGEST_LABEL or len(entry["name"].splitlines()) > 1:
            yield (
                f"[{index}].name", f"expected one line of at most {LONGEST_LABEL} characters"
            )  # fmt: skip


def _key(check: Callable[[Any], Wrong], *kinds: str, part: type[Any] | None = None) -> Any:
    """Return metadata for a key: its check, answer types (none: all), and its tables' class."""
    return {"check": check, "kinds": kinds, "part": part}


@dataclass(frozen=True)
class Card:
    name: str = field(metadata=_key(check_name))
    title: str = field(metadata=_key(check_text))
    family: str = field(metadata=_key(check_one_of(FAMILIES)))
    description: str = field(metadata=_key(check_text))
    instructions: str = field(metadata=_key(check_text))
    submit_hint: str = field(metadata=_key(check_text))
    segments: tuple[str, ...] = field(metadata=_key(check_segments))
    no_answer: bool = field(metadata=_key(check_flag))
    gold_rule: str = field(metadata=_key(check_one_of(GOLD_RULES)))
    language: str = field(metadata=_key(check_text))
    direction: str = field(metadata=_key(check_one_of(DIRECTIONS)))
    source: str = field(metadata=_key(check_text))
    licence: str = field(metadata=_key(check_text))
    question: str | None = field(default=None, metadata=_key(check_text))
    max_spans: int | None = field(default=None, metadata=_key(check_count, SPANS))
    question_selectable: bool = field(default=False, metadata=_key(check_flag, SPANS))
    granularity: str = field(default=WORD, metadata=_key(check_one_of(GRANULARITIES)))
    # Where a highlight starts and ends. This rule is quoted if an answer has wrong boundaries.
    boundary_rule: str | None = field(default=None, metadata=_key(check_text, SPANS))
    # The answer type, unless it follows from the labels.
    answer: str | None = field(default=None, metadata=_key(check_one_of(tuple(KINDS))))
    # For spans: whether annotators may type answers that are not in the text.
    typed: bool = field(default=False, metadata=_key(check_flag, SPANS))
    # For several options: whether all of them may be correct.
    all_options: bool = field(default=False, metadata=_key(check_flag, OPTIONS))
    # For numbers: range, step and unit.
    lowest: float | None = field(default=None, metadata=_key(check_number, NUMBER))
    highest: float | None = field(default=None, metadata=_key(check_number, NUMBER))
    step: float | None = field(default=None, metadata=_key(check_step, NUMBER))
    unit: str | None = field(default=None, metadata=_key(check_unit, NUMBER))
    # For text: the maximum length. For long text: the lowest and highest word counts, as a guide.
    longest: int | None = field(default=None, metadata=_key(check_count, SHORT_TEXT, LONG_TEXT))
    words: tuple[int, ...] = field(default=(), metadata=_key(check_words, LONG_TEXT))
    metric: str = field(default=S1, metadata=_key(check_one_of(tuple(METRICS))))
    labels: tuple[Label, ...] = field(default=(), metadata=_key(_labels, LABEL, part=Label))
    question_types: tuple[QuestionType, ...] = field(
        default=(), metadata=_key(_entries(QuestionType), part=QuestionType)
    )
    help: tuple[Help, ...] = field(default=(), metadata=_key(_entries(Help), part=Help))
    # The domain of the texts, such as movie reviews, for use in tables of tasks.
    domain: str | None = field(default=None, metadata=_key(check_text))
    # The default content warning for designs that use this task.
    content_warning: str | None = field(default=None, metadata=_key(check_text))
    # Whether segments may be images (tasks/images.py).
    images: bool = field(default=False, metadata=_key(check_flag))
    # For tasks from the Few-shot Gym: the category, such as cls/nli.
    ontology: str | None = field(default=None, metadata=_key(check_text))
    # Whether k shots are k examples per label, as in the Gym's classification tasks, or in total.
    shots_per_label: bool = field(default=False, metadata=_key(check_flag))
    # The seeds of training splits 1, 2, ... in the corpus.
    training_seeds: tuple[int, ...] = field(default=(), metadata=_key(check_seeds))
    # The number of test examples in the corpus, if the test file has fewer, and the seed used to
    # sample them.
    test_of: int | None = field(default=None, metadata=_key(check_count))
    test_seed: int | None = field(default=None, metadata=_key(check_seed))

    @cached_property
    def answered_by(self) -> str:
        return self.answer or (LABEL if self.labels else SPANS)

    @cached_property
    def kind(self) -> Kind:
        return KINDS[self.answered_by]

    @property
    def is_highlighted(self) -> bool:
        return self.answered_by == SPANS

    @property
    def longest_text(self) -> int:
        """Return the maximum length of typed text, or 0 for all other answer types."""
        usual, _maximum = LONGEST_TEXTS.get(self.answered_by, (0, 0))
        return usual if self.longest is None else self.longest

    def misfit(self, metric: str) -> str:
        """Return why this metric can't score the task's answers, or "" if it can."""
        return misfit(metric, self.answered_by, [label.name for label in self.labels])

    @property
    def is_rtl(self) -> bool:
        return self.direction == "rtl"

    @property
    def help_windows(self) -> tuple[HelpWindow, ...]:
        return (*self.labels, *self.question_types, *self.help)

    def rule_for(self, question: str, gold: Sequence[str]) -> HelpWindow | None:
        right = (label for label in self.labels if label.name in gold)
        return next(right, None) or self._question_type(question)

    def _question_type(self, question: str) -> QuestionType | None:
        return next((kind for kind in self.question_types if kind.match == question), None)

    def wording(self, question: str) -> str:
        if kind := self._question_type(question):
            return kind.wording
        return self.question if self.question is not None else question

    def selectable_question(self, question: str) -> str | None:
        """Return the question as shown if it can be highlighted in this task, otherwise None."""
        return self.wording(question) if self.question_selectable else None

    def source_of(self, prompt: Prompt) -> Source:
        """Return the texts of an example in which answers can be highlighted."""
        return Source(prompt.context, self.selectable_question(prompt.question), self.granularity)

    def question_type(self, question: str) -> str:
        """Return the name of the question's type, or "" if the card does not define any."""
        kind = self._question_type(question)
        return kind.name if kind else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the card for JSON and TOML. Tuples become lists.

        Default values are omitted, so that writing them explicitly does not change the hash. Only
        `question_selectable` has always been included.
        """
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
            if KEYS[key].default != value or key == "question_selectable"
        }


KEYS = {key.name: key for key in fields(Card)}
REQUIRED = tuple(name for name, key in KEYS.items() if key.default is MISSING)
OPTIONAL = tuple(name for name in KEYS if name not in REQUIRED)
# These keys are for spans, but have always been allowed on the cards of label tasks, too.
LENIENT = ("max_spans", "question_selectable")


def load_card(path: Path) -> Card:
    """Read a task.toml. Raises CardError with the file, and the line or key."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CardError(f"{path.name}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise CardError(f"{path.name}: larger than {MAX_BYTES // 1000} kB, the limit for a card")
    try:
        data = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        problem = f"{path.name}: not UTF-8 (byte {error.start + 1}): save the file as UTF-8"
        raise CardError(problem) from None
    except tomllib.TOMLDecodeError as error:
        raise CardError(f"{path.name}: not valid TOML: {error}") from None
    except RecursionError:
        raise CardError(f"{path.name}: nested too deeply; expected a table of plain keys") from None
    return parse_card(data, path.name, is_new=True)


def parse_card(data: dict[str, Any], source: str, is_new: bool = False) -> Card:
    """Build a card from its keys. Raises CardError, in which `source` names the file.

    Only new cards must have a valid language tag, because stored cards may contain any text.
    """
    wrong = [f"{source}: {problem}" for problem in _key_problems(data, REQUIRED, OPTIONAL)]
    wrong += [
        f"{source}: key {name}{within}: {expected}"
        for name, key in KEYS.items()
        if name in data
        for within, expected in key.metadata["check"](data[name])
    ]
    if is_new:
        texts = check_language(data.get("language"))
        wrong += [f"{source}: key language: {expected}" for _within, expected in texts]
    if not wrong:
        wrong = [f"{source}: key {key}: {expected}" for key, expected in _contradictions(data)]
    if wrong:
        raise CardError(*wrong)
    values: dict[str, Any] = {}
    for name, value in data.items():
        part = KEYS[name].metadata["part"]
        items = [part(**entry) for entry in value] if part else value
        values[name] = tuple(items) if isinstance(items, list) else items
    usual = LABEL if values.get("labels") else SPANS
    if values.get("answer") == usual:
        values["answer"] = None  # the hash is the same if the default is stated explicitly
    card = Card(**values)
    if reason := card.misfit(card.metric):
        raise CardError(f"{source}: key metric: {reason}")
    return card


def _contradictions(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (key, what was expected) for valid values that contradict other keys."""
    labels = data.get("labels")
    answer = data.get("answer", LABEL if labels else SPANS)
    if labels and data["no_answer"]:
        yield "no_answer", "expected false where there are labels"
    if answer == LABEL and not labels:
        yield "labels", 'missing; a task with answer = "label" needs labels'
    for name, key in KEYS.items():
        kinds, value = key.metadata["kinds"], data.get(name)
        if value is None or value is False or value == [] or not kinds or answer in kinds:
            continue
        if answer != LABEL or name not in LENIENT:
            yield name, f"only valid if answer is {' or '.join(kinds)}"
    lowest, highest, longest = (data.get(key) for key in ("lowest", "highest", "longest"))
    if lowest is not None and highest is not None and lowest >= highest:
        yield "highest", "expected a number above lowest"
    if longest is not None and longest > (limit := LONGEST_TEXTS.get(answer, (0, longest))[1]):
        yield "longest", f"expected a whole number of characters, 1 to {limit:,}"
    if "test_seed" in data and "test_of" not in data:
        yield "test_seed", "only valid together with test_of"


def _key_problems(
    data: dict[str, Any], required: tuple[str, ...], optional: tuple[str, ...]
) -> Iterator[str]:
    """Yield one sentence per missing or unknown key. A misspelt key is reported only once."""
    missing = [key for key in required if key not in data]
    unknown = [key for key in data if key not in required and key not in optional]
    near = {key: get_close_matches(key, missing, 1) for key in unknown}
    guesses = {key: matches[0] for key, matches in near.items() if matches}
    listed = ", ".join((*required, *optional))
    yield from (f"missing key {key}" for key in missing if key not in guesses.values())
    for key in unknown:
        hint = f"did you mean {guesses[key]}?" if key in guesses else f"known keys are {listed}"
        yield f"unknown key {key}; {hint}"


TASKS = ("SST-2", "MNLI", "CoNLL03", "WikiANN", "SQuADv2", "ReCoRD")  # from CLUES, Table 4


def place(name: str) -> tuple[int, str]:
    """Return a sort key that lists tasks from the paper in its order, then others by name.

    >>> sorted(["ReCoRD", "movies", "MNLI", "SST-2"], key=place)
    ['SST-2', 'MNLI', 'ReCoRD', 'movies']
    """
    return (TASKS.index(name) if name in TASKS else len(TASKS), name)


def place_in_results(family: str, name: str) -> tuple[int, tuple[int, str]]:
    """Return a sort key for the order on pages: by family, then by `place`."""
    return FAMILIES.index(family), place(name)
