"""The training step: k examples, each of which is revealed once its answer is stored and final.

The design's anchor examples come first, without reveals (answering.py). Zero-shot workers
start with the annotation step, or with the screening step if the design includes it
(qualification.py). In a cross-task study, the upstream step comes first, and follows the same
rules: its examples come from other tasks, and a page shows the instructions before each new task.

If there were any mistakes, a review is shown once, between the last reveal and the annotation step.
It shows the most common mistakes with their rules, and only repeats what was revealed.

Whether instructions or the review are shown follows from stored rows (when the last reveal was
read), so reloading or using a second device shows the same page.
"""

import random
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models import (
    JUDGED_STEPS,
    ORDERS,
    Answer,
    ArmTaken,
    Channel,
    Exposure,
    OwnAnswer,
    Participation,
    Reading,
    Status,
    Step,
    Study,
    Turn,
)
from annotation.protocol import answering, attention_checks, own_questions, qualification
from annotation.protocol.answering import Conflict
from annotation.study import cross_task, screening
from tasks import frozen
from tasks.cards import Card, HelpWindow
from tasks.clock import database_now
from tasks.columns import grouped
from tasks.comparison import Comparison, Finding, compare_answer, findings_on
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


TALLIED = 10  # answers on the page of a reveal
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
        if own_questions.comprehension_is_open(participation):
            raise Conflict(
                gettext_lazy("First, please answer the questions about the instructions.")
            )
        if not _may_begin(participation):
            participation.store(status=Status.REFUSED, seat_number=None)
            return
        _set_orders(participation)
        steps = (Step.ANCHOR, Step.UPSTREAM, *JUDGED_STEPS, Step.ANNOTATION)
        first = next(step for step in steps if participation.order_of(step))
        participation.show(first, 0, channel)


def _may_begin(participation: Participation) -> bool:
    """Record that the worker has seen the scenario's tasks and arm. Return False if seen before.

    An upstream task counts as seen in all studies. The caller must hold the participation's lock.
    """
    scenario, key = participation.scenario, participation.worker.key
    names = [scenario.task.name]
    if scenario.design.is_cross_task:
        names += cross_task.training(scenario.study)[scenario.arm][0]
        if _has_met_a_text(participation):
            return False
        assigned, _is_new = ArmTaken.objects.get_or_create(
            study_id=scenario.study_id, worker_key=key, defaults={"arm": scenario.arm}
        )
        if assigned.arm != scenario.arm:
            return False
    if Exposure.objects.filter(worker_key=key, task_name__in=names).exists():
        return False
    rows = [Exposure.objects.get_or_create(worker_key=key, task_name=name) for name in names]
    # The same worker may have been recorded in another study in the meantime.
    return all(is_new for _row, is_new in rows)


def _has_met_a_text(participation: Participation) -> bool:
    """Return whether the worker has seen any text of the study in another task (by hash)."""
    turns = Turn.objects.filter(participation__worker=participation.worker_id)
    contexts = turns.values_list("example__context", flat=True)
    met = {text for context in contexts for text in cross_task.texts_of(context)}
    if not met:
        return False
    study, scenario = participation.study, participation.scenario
    pool = Example.objects.filter(pk__in=study.upstream_pool.values("example"))
    unseen = Example.objects.filter(split__task=scenario.task_id).exclude(
        split__kind=Split.Kind.CHECK
    )
    return any(
        not met.isdisjoint(cross_task.texts_of(context))
        for examples in (pool, unseen)
        for context in examples.values_list("context", flat=True)
    )


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
        is_upstream, position = turn.step == Step.UPSTREAM, turn.position + 1
        is_last = position == len(participation.order_of(turn.step))
        # Another task starts with its instructions, and the annotation step with the review.
        pause = _next_card(turn) if is_upstream else _review(turn)
        if pause and (is_read or leaving == "reveal"):
            return participation, turn
        if is_last and not is_upstream:
            return participation, qualification.after_judged_step(participation, turn, channel)
        step = turn.step
        if is_last:
            position, step = 0, Step.TRAINING if participation.training_order else Step.ANNOTATION
        return participation, participation.show(step, position, channel, previous=turn)


def first_card(participation: Participation) -> Card:
    """Return the card of the participation's first task, which may be an upstream task."""
    order = cross_task.draw(participation) if participation.scenario.arm else []
    card = frozen.card_of_example(order[0]) if order else participation.scenario.task.card
    return participation.shown_card(card)


def _next_card(turn: Turn) -> Card | None:
    """Return the next task's card if this is the last answered example of an upstream task."""
    if turn.given is None:
        return None
    order, position = turn.participation.upstream_order, turn.position + 1
    if position == len(order):
        return turn.participation.scenario.task.card
    card = frozen.card_of_example(order[position])
    return None if card.name == turn.card.name else card


def card_shown_after(participation: Participation, turn: Turn | None) -> Card | None:
    """Return the next task's card if its instructions should be shown now, otherwise None."""
    if turn is None or turn.step != Step.UPSTREAM or participation.status != Status.WORKING:
        return None
    card = _next_card(turn)
    if card is None or not Reading.objects.filter(turn=turn).exists():
        return None
    return participation.shown_card(card)


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
    review, only this function lets gold answers leave the server.
    """
    if not turn.is_revealed or turn.given is None or turn.awaits_confidence:
        raise ValueError("only an answered turn of a training step is revealed")
    return compare_answer(turn.card, turn.example, turn.answer.as_given, turn.example.gold)


def tally(participation: Participation, step: str, most: int | None = None) -> list[bool]:
    """Return whether each of the latest answers in the step was correct, in order."""
    answers = Answer.objects.filter(turn__participation=participation, turn__step=step)
    latest = answers.order_by("-pk").values_list("s1", flat=True)[:most]
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


SHOWN = 3  # number of kinds of mistakes in the review, starting with the most common
EXAMPLES = 2  # number of examples of each kind, starting with the latest


@dataclass
class Mistake:
    """A kind of mistake: how often it was made, its latest instances, and the rules."""

    kind: str
    # In label tasks, the chosen label and the correct one.
    given: str = ""
    gold: str = ""
    count: int = 0
    instances: list[Finding] = field(default_factory=list)
    rules: list[HelpWindow] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)  # latest first

    def add(self, finding: Finding, rule: HelpWindow | None, turn: Turn) -> None:
        self.count += 1
        if turn not in self.turns:
            self.turns.insert(0, turn)
        pairs = [(instance.given, instance.gold) for instance in self.instances]
        if (finding.given, finding.gold) not in pairs:
            self.instances = [finding, *self.instances][:EXAMPLES]
        if rule is not None and rule not in self.rules:
            self.rules.append(rule)


def _commonest(participation: Participation) -> list[Mistake]:
    card = participation.scenario.task.card
    groups: dict[tuple[str, str, str], Mistake] = {}
    turns = participation.turns.filter(step=Step.TRAINING, answer__isnull=False)
    for turn in turns.select_related("answer", "example").prefetch_related("answer__spans"):
        if turn.answer.s1 == 1:
            continue
        example, answer = turn.example, turn.answer.as_given
        comparison = compare_answer(card, example, answer, example.gold)
        for finding in findings_on(card, example, answer, comparison, example.gold):
            if not finding.is_mistake:
                continue
            given, gold = (finding.given, finding.gold[0]) if card.labels else ("", "")
            key = (finding.kind, given, gold)
            rule = card.rule_for(example.question, example.gold)
            groups.setdefault(key, Mistake(*key)).add(
                finding, None if finding.is_on_boundaries else rule, turn
            )
    mistakes = sorted(groups.values(), key=lambda mistake: -mistake.count)[:SHOWN]
    used = set[Turn]()
    for place, mistake in enumerate(mistakes):
        # Choose SHOWN turns in total, using one twice only if a mistake has no other turn.
        unused = [turn for turn in mistake.turns if turn not in used] or mistake.turns
        mistake.turns = unused[: 1 if place else SHOWN - len(mistakes) + 1]
        used.update(mistake.turns)
    return mistakes


def review_shown_after(turn: Turn) -> list[Mistake]:
    """Return the mistakes if the review should be shown now, otherwise []."""
    return _review(turn) if Reading.objects.filter(turn=turn).exists() else []


def _review(turn: Turn) -> list[Mistake]:
    """Return the mistakes if the review follows this reveal, which must be the last of the step."""
    participation = turn.participation
    is_answered = turn.step == Step.TRAINING and turn.given is not None
    is_last = is_answered and turn.position + 1 == len(participation.training_order)
    return _commonest(participation) if is_last else []
