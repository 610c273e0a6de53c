"""The upstream step in a cross-task study: training on other tasks before the unseen task.

Its turns are answered, stored and revealed like training turns. Before each new task, a page shows
the instructions. When it is shown follows from stored rows (when the last reveal was read), so
reloading or using a second device shows the same page.
"""

from annotation.models import ArmTaken, Exposure, Participation, Reading, Status, Step, Turn
from annotation.study import cross_task
from tasks import frozen
from tasks.cards import Card
from tasks.models import Example, Split


def may_begin(participation: Participation) -> bool:
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


def first_card(participation: Participation) -> Card:
    """Return the card of the participation's first task, which may be an upstream task."""
    order = cross_task.draw(participation) if participation.scenario.arm else []
    card = frozen.card_of_example(order[0]) if order else participation.scenario.task.card
    return participation.shown_card(card)


def ends_a_task(participation: Participation, turn: Turn) -> bool:
    if turn.given is None:
        return False
    order = participation.upstream_order
    if turn.position + 1 == len(order):
        return True
    next_card = frozen.card_of_example(order[turn.position + 1])
    return next_card.name != turn.card.name


def card_shown_after(participation: Participation, turn: Turn | None) -> Card | None:
    """Return the next task's card if its instructions should be shown now, otherwise None."""
    if turn is None or turn.step != Step.UPSTREAM or participation.status != Status.WORKING:
        return None
    if not ends_a_task(participation, turn) or not Reading.objects.filter(turn=turn).exists():
        return None
    order = participation.upstream_order
    if turn.position + 1 == len(order):
        return participation.shown_card(participation.scenario.task.card)
    return participation.shown_card(frozen.card_of_example(order[turn.position + 1]))


def following(participation: Participation, turn: Turn, channel: str) -> Turn:
    """Show the next example. The caller must hold the participation's lock."""
    if turn.position + 1 < len(participation.upstream_order):
        return participation.show(Step.UPSTREAM, turn.position + 1, channel, previous=turn)
    first = Step.TRAINING if participation.training_order else Step.ANNOTATION
    return participation.show(first, 0, channel, previous=turn)
