"""Processing of submitted answers, as described in docs/protocol.md#replies.

Only the first stored answer counts. Repeating it returns the current state, a different answer is a
conflict, and an invalid payload isn't stored. The response is built from committed rows, so if the
process is killed between commit and response, reloading shows the same state.

Active time: a page sends pings while it is visible and has been used recently. Each ping adds the
time since the last activity by the server's clock, up to the study's cut-off
(docs/statistics.md#active-time). Waiting for a decision and breaks between two parts do not count:
waiting is paid separately (annotation/pay/ledger.py), and a break is not work. The page's other
reports (REPORTED) come with a ping or an answer, and are only stored as unverified counts.

The annotation step shows the test examples in order, without reveals or scores. If the study is
done in parts (recruitment/seats.py), the step stops at the end of a part until the worker is back.

The design determines after which answers the confidence question is asked (Turn.asks_confidence).
By then, the answer is stored and final, but the gold answer has not been shown.

The page also sends a draft of the answer after a pause in typing (static/js/drafts.js), so that
another tab or device can continue it. The last write wins. A draft is never an answer: only its
size and format are checked, it is never scored, and it is deleted when the answer is stored.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy

from annotation.models import (
    MAY_RESUME,
    Activity,
    Answer,
    AnswerSpan,
    Channel,
    Confidence,
    Draft,
    Kind,
    ModelAnnotator,
    ModelRun,
    Participation,
    ProblemReport,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.models.answers import LONGEST_REASON, insert_together
from annotation.pay import budget, ledger
from annotation.protocol import activity_summary, qualification
from annotation.recruitment import seats
from tasks.answers.kind import NO_ANSWER
from tasks.clock import database_now
from tasks.metrics import score
from tasks.spans import LONGEST_PAYLOAD, AnswerError, GivenAnswer
from tasks.tokens import TOKENISER


class Conflict(Exception):
    """The answer can't be accepted in the current state (409). Nothing changes."""

    ALREADY_REVEALED = gettext_lazy(
        "You have already answered this example. Your first answer counts."
    )
    ALREADY_RECORDED = gettext_lazy(
        "Your answer to this example is already saved. Your first answer counts."
    )
    GIVEN_UP = gettext_lazy(
        "Your last answer was not saved, because your place was released before it arrived."
        " Continue to see that example again."
    )
    ENDED = gettext_lazy("Your last answer was not saved.")  # the page explains why


def submit(
    token: str, turn_id: int, fields: Mapping[str, str], channel: str = Channel.PAGE
) -> tuple[Participation, Turn | None]:
    """Store the answer to a turn if it is the current question.

    Returns the participation and its latest turn, which is None if the work has just ended or
    paused (for a decision or another part). Raises Participation.DoesNotExist or Turn.DoesNotExist
    (404), PeopleUsePages (403), Conflict (409) and AnswerError (422); then nothing is stored.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        check_channel(channel, participation.kind, participation.scenario.design)
        turn = current = participation.latest_turn()
        if turn is None or turn.pk != turn_id:
            turn = participation.turns.select_related("example", "answer").get(pk=turn_id)
        if turn.given is not None:
            _same_or_conflict(turn, fields)
            return participation, current
        if participation.status != Status.WORKING:
            may_resume = participation.status in MAY_RESUME
            raise Conflict(Conflict.GIVEN_UP if may_resume else Conflict.ENDED)
        following = store_answer(turn, _read(turn, fields), channel)
        if not REPORTED.keys().isdisjoint(fields):
            given = {"seconds": turn.answer.active_seconds, "last_at": turn.answer.submitted_at}
            Activity.objects.update_or_create(turn=turn, defaults=given | _reported(turn, fields))
        if following is None and turn.step == Step.ANCHOR:
            following = qualification.after_anchors(participation, turn, channel)
        elif following is None and turn.step == Step.SCREENING:
            following = qualification.after_judged_step(participation, turn, channel)
        elif following is None:
            _end(participation, turn)
        return participation, following


def _read(turn: Turn, fields: Mapping[str, str]) -> GivenAnswer:
    """Parse the answer. If a model gives up, return an empty answer, whatever the task.

    A human can correct an invalid answer, but a model whose output remains invalid would block its
    run (docs/researchers/models.md). Raises AnswerError.
    """
    if fields.get("gives_up") == "1" and turn.participation.kind == Kind.MODEL:
        return NO_ANSWER
    card, options = turn.card, turn.example.options
    given = card.kind.read(card, turn.shown_example, fields)
    if not options:
        return given
    # Answers do not depend on the order in which the options were shown.
    return given._replace(values=tuple(sorted(given.values, key=options.index)))


def _same_or_conflict(turn: Turn, fields: Mapping[str, str]) -> None:
    """Raise Conflict unless the fields repeat the turn's stored answer."""
    try:
        given = _read(turn, fields)
    except AnswerError:
        given = None
    if given != turn.answer.as_given:
        raise Conflict(Conflict.ALREADY_REVEALED if turn.is_revealed else Conflict.ALREADY_RECORDED)


def store_answer(turn: Turn, given: GivenAnswer, channel: str) -> Turn | None:
    """Store an answer and the next turn, and return the turn to show. The caller holds the lock."""
    result = score(given.texts, turn.example.gold, turn.card.gold_rule)
    # Clocks may be set back, but an answer is never submitted before its turn was shown.
    now = max(database_now(), turn.shown_at)
    active = turn.active_until(now, turn.participation.scenario.idle_cutoff)
    turn.answer = Answer(
        turn=turn,
        no_answer=given.no_answer,
        label=given.label,
        values=list(given.values) or None,
        s1=result.s1,
        tokeniser=TOKENISER,
        active_seconds=active.total_seconds(),
        submitted_at=now,
        channel=channel,
    )
    if draft := getattr(turn, "draft", None):
        draft.delete()
    turn.answer.as_given = given
    spans = [AnswerSpan(answer=turn.answer, **span._asdict()) for span in given.spans]
    if turn.is_revealed or turn.awaits_confidence:
        insert_together([turn.answer, *spans])
        return turn
    following = _following(turn, channel, now)
    insert_together([turn.answer, *spans, *([following] if following else [])])
    return following


def _following(answered: Turn, channel: str, shown_at: datetime) -> Turn | None:
    """Return the unsaved next turn, or None after the last example or at the end of a part."""
    participation, position = answered.participation, answered.position + 1
    step = Step.ANNOTATION if answered.step == Step.CHECK else answered.step
    is_last = position == len(participation.order_of(step))
    in_a_part = participation.part and step == Step.ANNOTATION
    if is_last or (in_a_part and seats.ends_before(participation, position)):
        return None
    return participation.show(step, position, channel, answered, shown_at=shown_at, save=False)


def _end(participation: Participation, answered: Turn) -> None:
    """Complete the participation, or end the worker's part. The caller must hold the lock."""
    if answered.position + 1 < len(participation.annotation_order):
        seats.end_part(participation)
        return
    summary = activity_summary.for_participation(participation)._asdict()
    participation.store(
        status=Status.COMPLETED, finished_at=database_now(), activity_summary=summary
    )
    seats.note_outcome(participation, "completed")
    ledger.settle(participation)
    budget.watch(participation.study_id)


# Points of the confidence question. The page shows the probability of being correct next to them.
POINTS = {
    1: gettext_lazy("Not sure at all"),
    2: gettext_lazy("A little sure"),
    3: gettext_lazy("Half sure"),
    4: gettext_lazy("Quite sure"),
    5: gettext_lazy("Completely sure"),
}


def percent(point: int) -> int:
    """Return the probability of a correct answer that a point represents, as a percentage."""
    return 25 * (point - 1)


def rate_confidence(
    token: str, turn_id: int, fields: Mapping[str, str], channel: str
) -> tuple[Participation, Turn | None]:
    """Store a reply; in the annotation step, also show the next example or end the step.

    Repeating a request, or sending it at another time, has no effect. Returns the same as `submit`.
    Raises Participation.DoesNotExist, PeopleUsePages and AnswerError.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        check_channel(channel, participation.kind, participation.scenario.design)
        turn = participation.latest_turn()
        if turn is None or turn.pk != turn_id or not turn.awaits_confidence:
            return participation, turn
        if participation.status != Status.WORKING:
            return participation, turn
        value, reason = _read_confidence(fields)
        now = max(database_now(), turn.answer.submitted_at)
        active = turn.active_until(now, participation.scenario.idle_cutoff).total_seconds()
        turn.confidence = Confidence.objects.create(
            turn=turn,
            value=value,
            reason=reason if participation.scenario.design.asks_reasons else "",
            seconds=max(0.0, active - turn.answer.active_seconds),
            given_at=now,
            channel=channel,
        )
        if turn.is_revealed:
            return participation, turn
        following = _following(turn, channel, now)
        if following is None:
            _end(participation, turn)
        else:
            following.save()
        return participation, following


def _read_confidence(fields: Mapping[str, str]) -> tuple[int | None, str]:
    """Return the point (None if the question was skipped) and the reason. Raises AnswerError."""
    if fields.get("skip"):
        return None, ""
    point, reason = fields.get("confidence", ""), " ".join(fields.get("reason", "").split())
    if point not in map(str, POINTS):
        raise AnswerError("no_confidence", "Please choose one, or skip this question.")
    if len(reason) > LONGEST_REASON or "\0" in reason:
        raise AnswerError("bad_reason", "Please write one line of at most 200 characters.")
    return int(point), reason


class PeopleUsePages(Exception):
    """Raised if a program acts as a human annotator and the design does not allow it."""

    SENTENCE = (
        "Human annotators take part in this study in a browser: open its link or a personal link."
        " A program can take part as a model or a simulated annotator. It can take a human"
        " annotator's seat only if the design allows it (programs_as_people)."
    )

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)


def check_channel(channel: str, kind: str, design: Study) -> None:
    if channel == Channel.API and kind == Kind.PERSON and not design.programs_as_people:
        raise PeopleUsePages


def report_problem(token: str, turn_id: int, text: str, channel: str) -> Participation:
    """Store an annotator's report of a problem with an example. Only the first report counts.

    It affects neither the state nor any score. Raises Participation.DoesNotExist, Turn.DoesNotExist
    (including after the last step), and PeopleUsePages.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        check_channel(channel, participation.kind, participation.scenario.design)
        if not participation.is_live:
            raise Turn.DoesNotExist
        report = {"text": " ".join(text.split()), "reported_at": database_now()}
        turn = participation.turns.get(pk=turn_id)
        ProblemReport.objects.get_or_create(turn=turn, defaults=report)
        return participation


class RunError(Conflict):
    """Raised if the run was not stored. `code` is for programs; users see the message."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


def note(token: str, report: Mapping[str, Any]) -> bool:
    """Store the report on a run, unless it has one. Raises Participation.DoesNotExist, RunError."""
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.kind != Kind.MODEL:
            raise RunError("no_model", "Only a model's run can be reported.")
        if participation.status not in (Status.COMPLETED, Status.SCREENED_OUT):
            raise RunError("not_finished", "A run can be reported only after it has ended.")
        template = hashlib.sha256(report["template"].encode()).hexdigest()
        model = ModelAnnotator.objects.get(worker=participation.worker_id)
        if template != model.prompt_hash:
            raise RunError("template", "The template does not match the hash sent when joining.")
        _run, is_new = ModelRun.objects.get_or_create(participation=participation, defaults=report)
        return is_new


# What the page reports about an example, and the highest value to be stored.
REPORTED = {
    "blurs": 100_000, "away_seconds": 10_000_000, "pastes": 100_000, "copies": 100_000,
    "left_after_copy": 100_000, "automated": 1, "no_input": 1, "narrow": 1, "jumps": 100_000,
}  # fmt: skip


def ping(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Store an activity signal for a turn. Return False if it isn't the current turn.

    Also returns False while the worker is waiting for a decision or between two parts. Raises
    Participation.DoesNotExist.
    """
    with transaction.atomic():
        turn = _current(token, turn_id)
        if turn is None:
            return False
        now = database_now()
        active = turn.active_until(now, turn.participation.scenario.idle_cutoff)
        Activity.objects.update_or_create(
            turn=turn,
            defaults={"seconds": active.total_seconds(), "last_at": now, **_reported(turn, fields)},
        )
        return True


def _current(token: str, turn_id: int) -> Turn | None:
    """Lock a participation, and return the turn if it is current and the worker is working."""
    participation = Participation.objects.lock(token)
    turn = participation.latest_turn()
    is_current = turn is not None and turn.pk == turn_id
    return turn if is_current and participation.status == Status.WORKING else None


def _reported(turn: Turn, fields: Mapping[str, str]) -> dict[str, float]:
    activity = getattr(turn, "activity", None)
    counts = {}
    for name, limit in REPORTED.items():
        text = fields.get(name, "0")
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        counts[name] = min((getattr(activity, name) if activity else 0) + number, limit)
    return counts


def keep_draft(token: str, turn_id: int, fields: Mapping[str, str]) -> bool:
    """Store a draft. Returns False if the turn isn't current. Raises DoesNotExist, AnswerError."""
    text = fields.get("draft", "")
    try:
        content = json.loads(text) if len(text) <= LONGEST_PAYLOAD else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise AnswerError("bad_draft", "The draft could not be read.")
    with transaction.atomic():
        turn = _current(token, turn_id)
        if turn is None or turn.given is not None:
            return False
        stored = {"content": json.dumps(content), "saved_at": database_now()}
        Draft.objects.update_or_create(turn=turn, defaults=stored)
        return True
