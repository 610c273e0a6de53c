"""The training step: k examples, each revealed once its answer is stored, never to be revised.

Zero-shot workers have none. They begin with the annotation step, or with the screening step where
the design gives them one (steps/screening_step.py). In a cross-task study the upstream step comes
before it (steps/upstream_step.py), by the same rules.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils.translation import gettext, gettext_lazy

from annotation.models import (
    JUDGED_STEPS,
    Answer,
    Channel,
    OwnAnswer,
    Participation,
    Reading,
    Status,
    Step,
    Turn,
)
from annotation.steps import (
    attention_checks,
    channels,
    comprehension,
    own_questions,
    qualification,
    training_review,
    upstream_step,
)
from annotation.steps.answering import Conflict
from annotation.steps.locking import lock
from annotation.steps.ordering import order_examples
from annotation.study import cross_task, screening
from tasks.clock import database_now
from tasks.comparison import Comparison, compare_answer
from tasks.models import Example

TALLIED = 10
ALREADY_DONE = gettext_lazy(
    "You have already worked on this task before, so you cannot take part in it again. Thank you!"
)


def begin(token: str, channel: str = Channel.PAGE) -> None:
    """Show the first example: from here on the worker has seen this task.

    A second call changes nothing. Somebody who has met the task elsewhere in the meantime loses
    the seat and is marked as refused. Raises Participation.DoesNotExist,
    channels.PeopleUsePages, and Conflict before consent.
    """
    with transaction.atomic():
        participation = lock(token)
        channels.check(channel, participation.kind, participation.scenario)
        if participation.status == Status.ARRIVED:
            raise Conflict(gettext("Please answer the question about consent first."))
        if participation.status != Status.WORKING or participation.turns.exists():
            return
        if own_questions.asked(participation, OwnAnswer.Moment.BEFORE):
            raise Conflict(gettext("Please answer the questions before the instructions first."))
        if comprehension.is_open(participation):
            raise Conflict(gettext("Please answer the questions about the instructions first."))
        if not upstream_step.may_begin(participation):
            participation.status = Status.REFUSED
            participation.seat_number = None
            participation.save(update_fields=["status", "seat_number"])
            return
        _set_orders(participation)
        steps = (Step.UPSTREAM, *JUDGED_STEPS, Step.ANNOTATION)
        first = next(step for step in steps if participation.order_of(step))
        participation.show(first, 0, channel)


def _set_orders(participation: Participation) -> None:
    """Draw and store the orders of the steps."""
    scenario, study = participation.scenario, participation.study
    # The number of the seat's holder in the study, not the secret token, so that the draw can be
    # repeated from the design by anyone who knows the seed.
    seed = f"{study.seed}:{scenario.shots}:{scenario.task.name}:{participation.pseudonym}"
    if scenario.shots:
        split = scenario.task.train_split(scenario.shots, scenario.split_number)
        participation.training_order = _draw(
            split.examples.order_by("position"), study.training_order, f"{seed}:training"
        )
    else:
        participation.screening_order = _draw(
            screening.examples(study, scenario.task), study.training_order, f"{seed}:screening"
        )
    participation.annotation_order = _draw(
        scenario.task.test_split.examples.order_by("position"),
        study.annotation_order,
        f"{seed}:annotation",
    )
    attention_checks.mix_in(participation, f"{seed}:checks")
    if scenario.arm:
        participation.upstream_order = cross_task.draw(participation)
    orders = ("upstream_order", "training_order", "screening_order", "annotation_order")
    participation.save(update_fields=[*orders, "checks"])


def _draw(examples: Iterable[Example], how: str, seed: str) -> list[int]:
    contexts = [(example.pk, tuple(example.context)) for example in examples]
    return order_examples(contexts, how, seed)


def go_on(
    token: str, leaving: str = "", channel: str = Channel.PAGE
) -> tuple[Participation, Turn | None]:
    """From a reveal to the next example; from the last one over the review to the annotation step.

    Asked anywhere else (a second click, a second tab) it changes nothing: `leaving` is the state of
    the page that asks, so that no second click on a reveal skips the review. Returns the
    participation and its state; raises Participation.DoesNotExist and channels.PeopleUsePages.
    """
    with transaction.atomic():
        participation = lock(token)
        channels.check(channel, participation.kind, participation.scenario)
        turn = participation.latest_turn()
        if (
            participation.status != Status.WORKING
            or turn is None
            or turn.given is None
            or not turn.is_revealed
        ):
            return participation, turn
        is_read = _note_reading(turn, participation.scenario.idle_cutoff)
        if turn.step == Step.UPSTREAM:
            # The instructions of another task are read first.
            if upstream_step.ends_a_task(participation, turn) and (is_read or leaving == "reveal"):
                return participation, turn
            return participation, upstream_step.following(participation, turn, channel)
        if turn.position + 1 < len(participation.training_order):
            following = participation.show(Step.TRAINING, turn.position + 1, channel, after=turn)
            return participation, following
        if training_review.is_due(participation, turn) and (is_read or leaving == "reveal"):
            return participation, turn
        return participation, qualification.after_judged_step(participation, turn, channel)


def _note_reading(turn: Turn, idle_cutoff: timedelta) -> bool:
    """Keep how long the reveal was looked at; False where it was kept before."""
    now = max(database_now(), turn.answer.submitted_at)
    active = turn.active_until(now, idle_cutoff).total_seconds()
    seconds = max(0.0, active - turn.answer.active_seconds)
    _reading, is_new = Reading.objects.get_or_create(
        turn=turn, defaults={"seconds": seconds, "continued_at": now}
    )
    return is_new


def reveal(turn: Turn) -> Comparison:
    """What is shown after an answer of the training step: the answer beside the gold.

    Raises ValueError for any other turn: gold leaves the server only by this door.
    """
    if not turn.is_revealed or turn.given is None:
        raise ValueError("only an answered turn of a training step is revealed")
    card = turn.card
    example = turn.example
    return compare_answer(card, example, turn.answer.as_given(), example.gold)


def tally(participation: Participation, step: str = Step.TRAINING) -> list[bool]:
    """Of the last ten answers of that step, in order: was it right?"""
    answers = Answer.objects.filter(turn__participation=participation, turn__step=step)
    latest = answers.order_by("-pk").values_list("s1", flat=True)[:TALLIED]
    return [s1 == 1 for s1 in reversed(latest)]
