"""The training step: k examples, each of which is revealed once its answer is stored and final.

The design's anchor examples come first, without reveals (answering.py). Zero-shot workers
start with the annotation step, or with the screening step if the design includes it
(qualification.py). In a cross-task study, the upstream step comes first, and follows the same rules
(upstream_step.py).
"""

import random
from collections.abc import Hashable, Iterable, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models import (
    JUDGED_STEPS,
    ORDERS,
    Answer,
    Channel,
    OwnAnswer,
    Participation,
    Reading,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.protocol import (
    answering,
    attention_checks,
    comprehension,
    own_questions,
    qualification,
    training_review,
    upstream_step,
)
from annotation.protocol.answering import Conflict
from annotation.study import cross_task, screening
from tasks.clock import database_now
from tasks.columns import grouped
from tasks.comparison import Comparison, compare_answer
from tasks.models import Example, Split


def order_examples(examples: Sequence[tuple[int, Hashable]], order: str, seed: str) -> list[int]:
    """Order example IDs without using the gold answers, because the order would reveal them.

    The published NER files ask three questions in a row about each sentence, and at most two of
    their answers are empty, so neighbours reveal each other (docs/protocol.md#orders). The default
    order separates them. `examples` are (ID, context) in file order; examples with equal contexts
    belong together. `order` is one of Study.Order. `seed` determines the shuffle.
    """
    if order == Study.Order.FILE_ORDER:
        return [example for example, _context in examples]
    rng = random.Random(seed)
    of_context = grouped((context, example) for example, context in examples)
    if order == Study.Order.CONTEXTS_TOGETHER:
        groups = list(of_context.values())
        rng.shuffle(groups)
        return [example for group in groups for example in group]
    return _spread(list(of_context.values()), rng)


def _spread(groups: list[list[int]], rng: random.Random) -> list[int]:
    """Shuffle so that the m examples of a context are at least half of 1/m of the step apart.

    Each group gets a random offset in [0, 1/m). Its examples are placed from there at intervals of
    1/m, and then moved by at most a quarter of that, so that the groups differ in order.
    """
    places = []
    for group in groups:
        rng.shuffle(group)
        offset = rng.random()
        for index, example in enumerate(group):
            jitter = rng.uniform(-0.25, 0.25) if len(group) > 1 else 0
            places.append(((index + offset + jitter) / len(group), example))
    return [example for _place, example in sorted(places)]


TALLIED = 10
ALREADY_DONE = gettext_lazy(
    "You have worked on this task before, so you cannot do it again. Thank you!"
)


def begin(token: str, channel: str = Channel.PAGE) -> None:
    """Show the first example. From then on, the worker is recorded as having seen the task.

    A second call has no effect. If the worker has seen the task elsewhere in the meantime, the seat
    is freed and the participation is marked as refused. Raises Participation.DoesNotExist,
    answering.PeopleUsePages, and Conflict before consent or while questions are unanswered.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        answering.check_channel(channel, participation.kind, participation.scenario.design)
        if participation.status == Status.ARRIVED:
            raise Conflict(gettext_lazy("First, please answer the question about consent."))
        if participation.status != Status.WORKING or participation.turns.exists():
            return
        if own_questions.unanswered(participation, OwnAnswer.Moment.BEFORE):
            raise Conflict(
                gettext_lazy("First, please answer the questions before the instructions.")
            )
        if comprehension.is_open(participation):
            raise Conflict(
                gettext_lazy("First, please answer the questions about the instructions.")
            )
        if not upstream_step.may_begin(participation):
            participation.store(status=Status.REFUSED, seat_number=None)
            return
        _set_orders(participation)
        steps = (Step.ANCHOR, Step.UPSTREAM, *JUDGED_STEPS, Step.ANNOTATION)
        first = next(step for step in steps if participation.order_of(step))
        participation.show(first, 0, channel)


def _set_orders(participation: Participation) -> None:
    scenario, study = participation.scenario, participation.study
    # The seed contains the pseudonym rather than the secret token, so that the draw can be
    # reproduced from the design.
    seed = f"{study.seed}:{scenario.shots}:{scenario.task.name}:{participation.pseudonym}"
    participation.anchor_order = _draw(
        screening.anchors(study, scenario.task), study.training_order, f"{seed}:anchor"
    )
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
    participation.save(update_fields=["upstream_order", *ORDERS])


def _draw(examples: Iterable[Example], order: str, seed: str) -> list[int]:
    contexts = [(example.pk, tuple(example.context)) for example in examples]
    return order_examples(contexts, order, seed)


def go_on(
    token: str, leaving: str = "", channel: str = Channel.PAGE
) -> tuple[Participation, Turn | None]:
    """Continue from a reveal to the next example; after the last, to the review and then the test.

    Repeating a request (second click or tab) has no effect. `leaving` is the state of the page that
    sent it, so that a second click on a reveal can't skip the review. Returns the participation and
    its turn. Raises Participation.DoesNotExist and answering.PeopleUsePages.
    """
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        answering.check_channel(channel, participation.kind, participation.scenario.design)
        turn = participation.latest_turn()
        if (
            participation.status != Status.WORKING
            or turn is None
            or turn.given is None
            or not turn.is_revealed
            or turn.awaits_confidence
        ):
            return participation, turn
        is_read = _note_reading(turn, participation.scenario.idle_cutoff)
        if turn.step == Step.UPSTREAM:
            # Another task starts with its instructions.
            if upstream_step.ends_a_task(participation, turn) and (is_read or leaving == "reveal"):
                return participation, turn
            return participation, upstream_step.following(participation, turn, channel)
        if turn.position + 1 < len(participation.training_order):
            following = participation.show(Step.TRAINING, turn.position + 1, channel, previous=turn)
            return participation, following
        if training_review.is_due(participation, turn) and (is_read or leaving == "reveal"):
            return participation, turn
        return participation, qualification.after_judged_step(participation, turn, channel)


def _note_reading(turn: Turn, idle_cutoff: timedelta) -> bool:
    """Store how long the reveal was read. Return False if this was already stored."""
    now = max(database_now(), turn.left_at)
    active = turn.active_until(now, idle_cutoff).total_seconds()
    rated = getattr(turn, "confidence", None)
    seconds = active - turn.answer.active_seconds - (rated.seconds if rated else 0)
    seconds = max(0.0, seconds)
    _reading, is_new = Reading.objects.get_or_create(
        turn=turn, defaults={"seconds": seconds, "continued_at": now}
    )
    return is_new


def reveal(turn: Turn) -> Comparison:
    """Compare a training answer with the gold answer.

    Raises ValueError for any other turn, and while the confidence question is open: besides the
    review (training_review.py), only this function lets gold answers leave the server.
    """
    if not turn.is_revealed or turn.given is None or turn.awaits_confidence:
        raise ValueError("only an answered turn of a training step is revealed")
    return compare_answer(turn.card, turn.example, turn.answer.as_given, turn.example.gold)


def tally(participation: Participation, step: str = Step.TRAINING) -> list[bool]:
    """Return whether each of the last ten answers in the step was correct, in order."""
    answers = Answer.objects.filter(turn__participation=participation, turn__step=step)
    latest = answers.order_by("-pk").values_list("s1", flat=True)[:TALLIED]
    return [s1 == 1 for s1 in reversed(latest)]


def other_kinds(turn: Turn) -> dict[str, str]:
    """Return the types of gold answers to other questions on this text, or {} if any is open.

    In named entity recognition, questions about the same text ask for people, organisations and
    places. If a marked name is of another type, it is the gold answer to another question. It may
    only be revealed in training, after this participation has answered all questions on the text.
    """
    participation = turn.participation
    card = participation.scenario.task.card
    if turn.step != Step.TRAINING or turn.given is None or not card.question_types:
        return {}
    pool = (
        Q(split=turn.example.split_id)
        | Q(split__task=participation.scenario.task_id, split__kind=Split.Kind.TEST)
        | Q(pk__in=participation.checks)
    )
    related = Example.objects.filter(pool, context=turn.example.context).exclude(pk=turn.example_id)
    kinds = {
        text: card.question_type(example.question) for example in related for text in example.gold
    }
    answered = Answer.objects.filter(turn__participation=participation, turn__example__in=related)
    return kinds if answered.count() == len(related) else {}
