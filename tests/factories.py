"""Made-up data, always through the real steps: import, design, join, consent, begin, submit."""

import itertools
import json
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from annotation.models import ApiToken, Kind, Participation, Scenario, Status, Study, Turn, Worker
from annotation.platforms.prolific import studies
from annotation.recruitment import consent, identities, seats
from annotation.steps import answering, training_step
from annotation.study import consequences, design, lifecycle
from tasks.cards import parse_card
from tasks.formats import Record, SplitFile
from tasks.importing import import_task
from tasks.models import Example, PredictionFile, Task
from tasks.predictions.store import PredictionUpload, add

LABELS = [
    {"name": "positive", "definition": "The writer likes it.", "example": "I loved the soup."},
    {"name": "negative", "definition": "The writer dislikes it.", "example": "The soup was cold."},
]
PLACES = ["Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Turin", "Perth", "Hanoi", "Riga", "Accra"]


def card_data(**changes: Any) -> dict[str, Any]:
    """The card of a small span task; `labels=LABELS` makes it a label task."""
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
    """Sentences with one place, two places or none, in turn."""
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


def _record(prefix: str, index: int, text: str, question: str, *gold: str, options=()) -> Record:
    return Record(f"{prefix}-{index}", (text,), question, gold, options=tuple(options))


def option_records(prefix: str, number: int) -> list[Record]:
    """One of three places, which differ from example to example; some texts stand twice."""
    records = []
    for index in range(number):
        options = [PLACES[(index + step) % len(PLACES)] for step in range(3)]
        text = f"{prefix} {index}: the train left for {options[index % 3]}."
        listed = [*options, options[0]] if index == 1 else options
        question = "Where did it go?"
        records.append(_record(prefix, index, text, question, options[index % 3], options=listed))
    return records


def several_records(prefix: str, number: int) -> list[Record]:
    """One or two of four places."""
    records = []
    for index in range(number):
        options = [PLACES[(index + step) % len(PLACES)] for step in range(4)]
        gold = options[: 1 + index % 2]
        text = f"{prefix} {index}: by way of {' and '.join(gold)}."
        records.append(_record(prefix, index, text, "By way of?", *gold, options=options))
    return records


def number_records(prefix: str, number: int) -> list[Record]:
    """Whole and half marks out of five."""
    return [
        _record(
            prefix,
            index,
            f"{prefix} {index}: the jury gave {index % 10 / 2} marks.",
            "How many marks?",
            f"{index % 10 / 2:g}",
        )
        for index in range(number)
    ]


def short_records(prefix: str, number: int) -> list[Record]:
    """A place, in either of two spellings."""
    return [
        _record(
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
    """A sentence to be said again."""
    return [
        _record(
            prefix,
            index,
            f"{prefix} {index}: on day {index} they stayed at home, as it rained.",
            "Tell it in other words.",
            f"Because of the rain nobody left the house on day {index}.",
        )
        for index in range(number)
    ]


def typed_records(prefix: str, number: int) -> list[Record]:
    """A place of the text, and one beside it that only who knows it can name."""
    return [
        _record(
            prefix,
            index,
            f"{prefix} {index}: the road to {PLACES[index % len(PLACES)]} leads through a village.",
            "Which places are meant?",
            PLACES[index % len(PLACES)],
            f"Village {index}",
        )
        for index in range(number)
    ]


# A kind of answer -> what its card says besides the usual, and its made-up examples.
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
    """The small task that is answered in that way (KINDS), changed where said."""
    said, _records = KINDS[kind]
    return make_task(**{"name": f"toy-{kind.replace(' ', '-')}", "title": kind, **said, **changes})


def right_texts(example: Example) -> list[str]:
    """An answer that is right."""
    gold = list(dict.fromkeys(example.gold))
    card = example.split.task.card
    return gold if card.is_highlighted or card.answered_by == "options" else gold[:1]


def wrong_texts(example: Example) -> list[str]:
    """An answer that fits the card of the example and is not right."""
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
    """Import a task: nested training files of these sizes (numbers 1 to `splits`), a test file.

    `by` is who imports it; None is the command line.
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
    """A study of these tasks with its scenarios; open unless said otherwise."""
    defaults = {
        "name": f"study-{secrets.token_hex(4)}",
        "title": "A small study",
        "shots": [0, 2],
        "annotators": 2,
        "seed": 7,
        "estimated_minutes": 60,  # tests/annotation/test_minutes.py has those of each task
        # What most tests look at; tests/annotation/test_scores_hidden.py has the default.
        "hide_test_scores": False,
    }
    study = Study(owner=owner, **(defaults | fields))
    design.save_draft(study, list(tasks))
    if status != "draft":
        design.suggest_limits(study, tasks)
        study.save()
        lifecycle.change_status(study, "open")
    return study


def opening(study: Study) -> dict[str, str]:
    """What the button that opens a draft sends: the action, and the sum that stands beside it."""
    return {"action": "open", "agreed": consequences.for_study(study).sum_in_words}


def publishing(draft: Any) -> dict[str, str]:
    """What the button that publishes on Prolific sends: the action, and the sum beside it."""
    return {"action": "publish", "agreed": studies.sum_in_words(draft)}


_identities = itertools.count()


def join(study: Study, kind: str = Kind.PERSON, identity: str = "") -> Participation:
    """Somebody new takes a seat."""
    platform = "link" if kind == Kind.PERSON else "simulated"
    identity = identity or f"somebody-{next(_identities)}-{secrets.token_hex(4)}"
    return seats.join(study.pk, identities.worker_key(platform, identity), platform, kind)


def confirm_password(client) -> None:
    """Type the password of the account again, as pages ask that change accounts and tokens."""
    client.post(reverse("account_reauthenticate"), {"password": "right horse"})


def may_spend(user) -> None:
    """Give an account the permission to spend."""
    user.user_permissions.add(Permission.objects.get(codename="spend"))


def seat(scenario: Scenario, kind: str = Kind.PERSON) -> Participation:
    """Somebody new on a seat of this very scenario, at its first example."""
    platform = "link" if kind == Kind.PERSON else "simulated"
    worker = Worker.objects.create(key=secrets.token_hex(32), platform=platform, kind=kind)
    participation = seats.take_seat(scenario.study, scenario, worker)
    consent.record(participation, agree=True)
    training_step.begin(participation.token)
    participation.refresh_from_db()
    return participation


def fields_for(example: Example, texts: Sequence[str]) -> dict[str, str]:
    """The form fields of an answer of these texts, of spans the first occurrence of each."""
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
    """Continue after a reveal, and after the review at the end of the training step, if any."""
    left, turn = training_step.go_on(token, "reveal")
    if left.status == Status.WORKING and turn is not None and turn.given is not None:
        left, turn = training_step.go_on(token, "review")
    return left, turn


def work_through(participation: Participation, answer=None, limit: int = 10_000) -> int:
    """Answer everything that is put before this participation; return how many were answered.

    `answer(turn)` gives the texts of the answer (the gold, unless it is given).
    """
    answer = answer or (lambda turn: right_texts(turn.example))
    for count in range(limit):
        turn: Turn | None = participation.latest_turn()
        participation.refresh_from_db()
        if participation.status != Status.WORKING:
            return count
        if turn.given is not None:
            _participation, turn = go_on(participation.token)
        answering.submit(participation.token, turn.pk, fields_for(turn.example, answer(turn)))
    return limit


def prediction_lines(task: Task, predict=None) -> bytes:
    """A file of predictions; `predict(example)` gives the texts (the gold, unless it is given)."""
    predict = predict or (lambda example: example.gold)
    lines = [
        json.dumps({"id": example.source_id, "predicted": predict(example)})
        for example in task.test_split.examples.all()
    ]
    return "\n".join(lines).encode() + b"\n"


def predict(owner, model: str, task: Task, shots: int, number: int | None = None, predict=None):
    """Store predictions of a model for one task, shots and split; as `prediction_lines` says."""
    name = f"{task.name}_{shots}{f'_{number}' if number else ''}.jsonl"
    upload = PredictionUpload(name, prediction_lines(task, predict), task, shots, number)
    (file,) = add(model, [upload], owner)
    return PredictionFile.objects.with_scores().get(pk=file.pk)


def bearer(owner, *scopes: str, study=None, days: float = 1) -> dict[str, str]:
    """The header of a request by a new token; scope "read" unless others are given."""
    token, row = ApiToken.draw()
    row.owner, row.name, row.study = owner, "script", study
    for scope in ("read", "run", "pay"):
        setattr(row, f"may_{scope}", scope in (scopes or ("read",)))
    row.expires_at = timezone.now() + timedelta(days=days)
    row.save()
    return {"Authorization": f"Bearer {token}"}
