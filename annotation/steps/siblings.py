"""The other questions on the text of a turn, and which of their gold may be named beside it.

In named entity recognition the same text is asked for people, organisations and places. That a
marked name is of another kind helps to learn the task, and is gold of another question: it may be
said only in the training step, and only once this participation has answered every question on
that text, in either step (docs/protocol.md#invariants).
"""

from django.db.models import Q

from annotation.models import Answer, Step, Turn
from tasks.models import Example, Split


def other_kinds(turn: Turn) -> dict[str, str]:
    """Gold text -> name of the kind, of the other questions on this text; {} while one is open."""
    participation = turn.participation
    card = participation.scenario.task.card
    if turn.step != Step.TRAINING or turn.given is None or not card.question_types:
        return {}
    asked = (
        Q(split=turn.example.split_id)
        | Q(split__task=participation.scenario.task_id, split__kind=Split.Kind.TEST)
        | Q(pk__in=participation.checks)
    )
    others = Example.objects.filter(asked, context=turn.example.context).exclude(pk=turn.example_id)
    kinds = {
        text: card.question_type(example.question) for example in others for text in example.gold
    }
    answered = Answer.objects.filter(turn__participation=participation, turn__example__in=others)
    return kinds if answered.count() == len(others) else {}
