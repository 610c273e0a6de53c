"""Test data, created through the real steps: import, design, join, consent, begin, submit."""

import itertools
import json
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Sum
from django.urls import reverse
from django.utils import timezone

from annotation import guards
from annotation.models import (
    ApiToken,
    Channel,
    Kind,
    Participation,
    PaymentBatch,
    Scenario,
    Status,
    Study,
    Turn,
    Worker,
)
from annotation.prolific import studies
from annotation.protocol import answering, training_step
from annotation.recruitment import consent, identities, seats
from annotation.study import consequences, design, lifecycle
from tasks.cards import Card, parse_card
from tasks.comparison import Comparison, compare_answer
from tasks.formats import Record, SplitFile
from tasks.importing import import_task
from tasks.models import Example, PredictionFile, Task
from tasks.predictions.store import PredictionUpload, add
from tasks.spans import GivenAnswer

LABELS = [
    {"name": "positive", "definition": "The writer likes it.", "example": "I loved the soup."},
    {"name": "negative", "definition": "The writer dislikes it.", "example": "The soup was cold."},
]
PLACES = ["Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Turin", "Perth", "Hanoi", "Riga", "Accra"]


def card_data(**changes: Any) -> dict[str, Any]:
    """Return the card of a small span task; `labels=LABELS` makes it a label task."""
    data: dict[str, Any] = {
        "name": "toy-places",
        "title": "Places",
        "family": "sequence_labelling",
        "description": "Find the places in a sentence.",
        "instructions": "Read the sentence.\n\nHighlight every place.",
        "submit_hint": "Highlight the places, then submit.",
        "segments": ["Sentence"],
        "no_answer": True,
        "question_selectable": False,
        "gold_rule": "set",
        "language": "en",
        "direction": "ltr",
        "source": "made up for the tests",
        "licence": "CC0",
        **changes,
    }
    if "labels" in data:
        data.update(no_answer=False, family="classification")
    return {key: value for key, value in data.items() if value is not None}


def place_records(prefix: str, number: int) -> list[Record]:
    """Return sentences with one place, two places or no place, in turn."""
    records = []
    for index in range(number):
        places = [PLACES[(index + step) % len(PLACES)] for step in range(index % 3)]
        text = f"{prefix} {index}: we went to {' and '.join(places) or 'bed'}, then home."
        records.append(
            Record(
                id=f"{prefix}-{index}",
                context=(text,),
                question="Which places are named?",
                gold=tuple(places),
                gold_starts=None,
            )
        )
    return records


def label_records(prefix: str, number: int) -> list[Record]:
    return [
        Record(
            id=f"{prefix}-{index}",
            context=(f"{prefix} {index}: it was {'good' if index % 2 else 'bad'}.",),
            question="positive or negative?",
            gold=("positive" if index % 2 else "negative",),
            gold_starts=None,
        )
        for index in range(number)
    ]


def record(prefix: str, index: int, text: str, question: str, *gold: str, options=()) -> Record:
    return Record(f"{prefix}-{index}", (text,), question, gold, options=tuple(options))


def option_records(prefix: str, number: int) -> list[Record]:
    """Return questions with three places as options; the second question lists one twice."""
    records = []
    for index in range(number):
        options = [PLACES[(index + step) % len(PLACES)] for step in range(3)]
        text = f"{prefix} {index}: the train left for {options[index % 3]}."
        listed = [*options, options[0]] if index == 1 else options
        question = "Where did it go?"
        records.append(record(prefix, index, text, question, options[index % 3], options=listed))
    return records


def several_records(prefix: str, number: int) -> list[Record]:
    """Return questions whose answer is one or two of four places."""
    records = []
    for index in range(number):
        options = [PLACES[(index + step) % len(PLACES)] for step in range(4)]
        gold = options[: 1 + index % 2]
        text = f"{prefix} {index}: by way of {' and '.join(gold)}."
        records.append(record(prefix, index, text, "By way of?", *gold, options=options))
    return records


def number_records(prefix: str, number: int) -> list[Record]:
    """Return marks from 0 to 4.5, in steps of one half."""
    return [
        record(
            prefix,
            index,
            f"{prefix} {index}: the jury gave {index % 10 / 2} marks.",
            "How many marks?",
            f"{index % 10 / 2:g}",
        )
        for index in range(number)
    ]


def short_records(prefix: str, number: int) -> list[Record]:
    """Return questions answered by a place, with two accepted spellings."""
    return [
        record(
            prefix,
            index,
            f"{prefix} {index}: the capital is {PLACES[index % len(PLACES)]}.",
            "What is the capital?",
            PLACES[index % len(PLACES)],
            PLACES[index % len(PLACES)].upper(),
        )
        for index in range(number)
    ]


def long_records(prefix: str, number: int) -> list[Record]:
    """Return sentences to be paraphrased."""
    return [
        record(
            prefix,
            index,
            f"{prefix} {index}: on day {index} they stayed at home, as it rained.",
            "Tell it in other words.",
            f"Because of the rain nobody left the house on day {index}.",
        )
        for index in range(number)
    ]


def typed_records(prefix: str, number: int) -> list[Record]:
    """Return a place to highlight and one to type that the text does not contain."""
    return [
        record(
            prefix,
            index,
            f"{prefix} {index}: the road to {PLACES[index % len(PLACES)]} leads through a village.",
            "Which places are meant?",
            PLACES[index % len(PLACES)],
            f"Village {index}",
        )
        for index in range(number)
    ]


# Answer type -> additional fields of its card, and its examples.
KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "spans": ({}, place_records),
    "typed": ({"typed": True, "no_answer": False}, typed_records),
    "label": ({"labels": LABELS}, label_records),
    "option": ({"answer": "option", "no_answer": False}, option_records),
    "options": ({"answer": "options", "no_answer": False}, several_records),
    "number": (
        {
            "answer": "number", "no_answer": False, "lowest": 0, "highest": 5, "step": 0.5,
            "unit": "marks",
        },
        number_records,
    ),
    "short text": (
        {"answer": "short text", "no_answer": False, "gold_rule": "any_of", "longest": 40},
        short_records,
    ),
    "long text": (
        {"answer": "long text", "no_answer": False, "longest": 300, "words": [5, 20]},
        long_records,
    ),
}  # fmt: skip


def make_kind(kind: str, **changes: Any) -> Task:
    """Import the small task for that answer type (KINDS), with changes to its card."""
    said, _records = KINDS[kind]
    return make_task(**{"name": f"toy-{kind.replace(' ', '-')}", "title": kind, **said, **changes})


def right_texts(example: Example) -> list[str]:
    """Return the texts of a correct answer."""
    gold = list(dict.fromkeys(example.gold))
    card = example.split.task.card
    return gold if card.is_highlighted or card.answered_by == "options" else gold[:1]


def wrong_texts(example: Example) -> list[str]:
    """Return the texts of a valid answer that is incorrect."""
    card = example.split.task.card
    if card.labels:
        return [label.name for label in card.labels if label.name not in example.gold][:1]
    if card.answered_by == "number":
        return ["1" if example.gold != ["1"] else "2"]
    if example.options:
        return [text for text in example.options if text not in example.gold][:1]
    return ["home"] if card.is_highlighted and not card.typed else ["Nowhere at all"]


def make_task(
    *,
    train: dict[int, list[Record]] | None = None,
    test: list[Record] | None = None,
    shots: Sequence[int] = (2, 4),
    test_size: int = 4,
    splits: int = 1,
    by: Any = None,
    **card: Any,
) -> Task:
    """Import a task with nested training files of these sizes and a test file.

    The training files are numbered from 1 to `splits`. `by` is the importing user; None means the
    command line.
    """
    data = card_data(**card)
    kind = data.get("answer", "label" if "labels" in data else "spans")
    make = KINDS["typed" if data.get("typed") else kind][1]
    pool = make("train", max(shots, default=0))
    files = [
        SplitFile("train", size, number, f"toy_train_{size}_{number}.jsonl", records)
        for size, records in (train or {size: pool[:size] for size in shots}).items()
        for number in range(1, splits + 1)
    ]
    files.append(SplitFile("test", None, None, "toy_test.jsonl", test or make("test", test_size)))
    return import_task(parse_card(data, "test card"), files, by=by).task


def make_study(owner, *tasks: Task, status: str = "open", **fields: Any) -> Study:
    """Create a study of these tasks with its scenarios, open by default."""
    defaults = {
        "name": f"study-{secrets.token_hex(4)}",
        "title": "A small study",
        "shots": [0, 2],
        "annotators": 2,
        "seed": 7,
        "estimated_minutes": 60,  # study/test_minutes.py covers the time of each task
        # Most tests read scores; protocol/test_scores_hidden.py covers the default.
        "hide_test_scores": False,
    }
    study = Study(owner=owner, **(defaults | fields))
    design.save_draft(study, list(tasks))
    if status != "draft":
        design.suggest_limits(study, tasks)
        study.save()
        lifecycle.change_status(study, "open")
    return study


def force_options(study: Study, **values: Any) -> None:
    """Change options of an open study, which the guards refuse."""
    connection.check_constraints()  # PostgreSQL alters no table with pending checks
    guards.lift(connection)
    for name, value in values.items():
        setattr(study, name, value)
    study.save(update_fields=["options"])
    guards.install(connection)


def opening(study: Study) -> dict[str, str]:
    """Return what the button that opens a draft sends: the action and the total shown."""
    return {"action": "open", "agreed": consequences.for_study(study).sum_in_words}


def total(batch: PaymentBatch) -> int:
    """What a batch pays, in cents."""
    return batch.payments.aggregate(cents=Sum("entry__cents"))["cents"]


def publishing(draft: Any) -> dict[str, str]:
    """Return what the button that publishes on Prolific sends: the action and the total shown."""
    return {"action": "publish", "agreed": studies.sum_in_words(draft)}


_identities = itertools.count()


def join(study: Study, kind: str = Kind.PERSON, identity: str = "") -> Participation:
    """Seat a new participant."""
    platform = "link" if kind == Kind.PERSON else "simulated"
    identity = identity or f"person-{next(_identities)}-{secrets.token_hex(4)}"
    return seats.join(study.pk, identities.worker_key(platform, identity), platform, kind)


def confirm_password(client) -> None:
    """Enter the account's password again, as pages that change accounts and tokens require."""
    client.post(reverse("account_reauthenticate"), {"password": "right horse"})


def may_spend(user) -> None:
    """Grant a user the permission to spend."""
    user.user_permissions.add(Permission.objects.get(codename="spend"))


def seat(scenario: Scenario, kind: str = Kind.PERSON) -> Participation:
    """Seat a new participant in this scenario, at its first example."""
    platform = "link" if kind == Kind.PERSON else "simulated"
    worker = Worker.objects.create(key=secrets.token_hex(32), platform=platform, kind=kind)
    with Study.locking(scenario.study_id):  # else a backup could split the rows of a seat
        participation = seats.take_seat(scenario.study, scenario, worker)
    consent.record(participation, agree=True)
    training_step.begin(participation.token)
    participation.refresh_from_db()
    return participation


def fields_for(example: Example, texts: Sequence[str]) -> dict[str, str]:
    """Return the form fields of an answer; spans mark the first occurrence of each text."""
    card = example.split.task.card
    if card.answered_by == "label":
        return {"label": texts[0]}
    if card.typed:
        return {"typed": "\n".join(texts)} if texts else {"no_answer": "1"}
    if not card.is_highlighted:
        return _fields_beside(card.answered_by, example, texts)
    if not texts:
        return {"answer": json.dumps({"v": 1, "no_answer": True, "spans": []})}
    spans = []
    for text in texts:
        index, start = next(
            (index, segment.index(text))
            for index, segment in enumerate(example.context)
            if text in segment
        )
        spans.append({"field": "context", "index": index, "start": start, "end": start + len(text)})
    return {"answer": json.dumps({"v": 1, "no_answer": False, "spans": spans})}


def _fields_beside(kind: str, example: Example, texts: Sequence[str]) -> dict[str, str]:
    if not texts:
        return {"no_answer": "1"}
    if kind == "option":
        return {"option": str(example.options.index(texts[0]))}
    if kind == "options":
        return {f"option-{example.options.index(text)}": "1" for text in texts}
    return {"number" if kind == "number" else "text": texts[0]}


def go_on(token: str) -> tuple[Participation, Turn | None]:
    """Continue after a reveal, and after the review that may end the training step."""
    left, turn = training_step.go_on(token, "reveal")
    if left.status == Status.WORKING and turn is not None and turn.given is not None:
        left, turn = training_step.go_on(token, "review")
    return left, turn


def work_through(participation: Participation, answer=None, limit: int = 10_000, rate=None) -> int:
    """Answer every remaining example of this participation; return the number of answers.

    `answer(turn)` returns the texts of the answer, by default the gold. `rate(turn)` returns the
    fields of the reply about confidence, by default those of a skipped question.
    """
    rate = rate or (lambda turn: {"skip": "1"})
    answer = answer or (lambda turn: right_texts(turn.example))
    for count in range(limit):
        turn: Turn | None = participation.latest_turn()
        participation.refresh_from_db()
        if participation.status != Status.WORKING:
            return count
        if turn.awaits_confidence:
            sent = (participation.token, turn.pk, rate(turn), Channel.PAGE)
            _participation, turn = answering.rate_confidence(*sent)
            if turn is None:
                return count
        if turn.given is not None:
            _participation, turn = go_on(participation.token)
        answering.submit(participation.token, turn.pk, fields_for(turn.shown_example, answer(turn)))
    return limit


def prediction_lines(task: Task, predict=None) -> bytes:
    """Return a file of predictions; `predict(example)` returns the texts, by default the gold."""
    predict = predict or (lambda example: example.gold)
    lines = [
        json.dumps({"id": example.source_id, "predicted": predict(example)})
        for example in task.test_split.examples.all()
    ]
    return "\n".join(lines).encode() + b"\n"


def predict(owner, model: str, task: Task, shots: int, number: int | None = None, predict=None):
    """Store a model's predictions for one task, number of shots and split."""
    name = f"{task.name}_{shots}{f'_{number}' if number else ''}.jsonl"
    upload = PredictionUpload(name, prediction_lines(task, predict), task, shots, number)
    (file,) = add(model, [upload], owner)
    return PredictionFile.objects.with_scores().get(pk=file.pk)


def bearer(owner, *scopes: str, study=None, days: float = 1) -> dict[str, str]:
    """Return the header of a request with a new token; its scope is "read" by default."""
    token, row = ApiToken.draw()
    row.owner, row.name, row.study = owner, "script", study
    for scope in ("read", "run", "pay"):
        setattr(row, f"may_{scope}", scope in (scopes or ("read",)))
    row.expires_at = timezone.now() + timedelta(days=days)
    row.save()
    return {"Authorization": f"Bearer {token}"}


def span_card(question: str = "", **changes: Any) -> Card:
    """Return a card of spans; a question can be highlighted too."""
    return parse_card(card_data(question_selectable=bool(question), **changes), "card")


def read_spans(payload: str, segments: Sequence[str], question: str = "", **card: Any):
    """Read a highlighter's payload as the form does."""
    asked = Record("1", tuple(segments), question, ())
    given = span_card(question, **card)
    return given.kind.read(given, asked, {"answer": payload})


def read_typed(typed: str, segments: Sequence[str], is_none: bool = False, **card: Any):
    """Read typed lines as the form does."""
    asked = Record("1", tuple(segments), "", ())
    given = span_card(**card)
    return given.kind.read(given, asked, {"typed": typed, "no_answer": "1" if is_none else ""})


def compare(
    answer: GivenAnswer,
    gold: Sequence[str],
    rule: str,
    segments: Sequence[str],
    question: str = "",
    **card: Any,
) -> Comparison:
    """Compare an answer to one example with its gold."""
    asked = Record("1", tuple(segments), question, tuple(gold))
    return compare_answer(span_card(question, gold_rule=rule, **card), asked, answer, gold)
