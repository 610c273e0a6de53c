"""The review at the end of the training step: the most common mistakes, with their rules.

If there were any mistakes, it is shown once, between the last reveal and the annotation step, and
only repeats what was revealed. Whether it is shown follows from stored rows (when the last reveal
was read), so reloading or using a second device shows the same page.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from annotation.models import Participation, Reading, Step, Turn
from tasks.cards import Card, HelpWindow
from tasks.comparison import Finding, compare_answer, findings_on

SHOWN = 3  # number of kinds of mistakes, starting with the most common
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


def commonest(participation: Participation) -> list[Mistake]:
    card = participation.scenario.task.card
    groups: dict[tuple[str, str, str], Mistake] = {}
    turns = participation.turns.filter(step=Step.TRAINING, answer__isnull=False)
    for turn in turns.select_related("answer", "example").prefetch_related("answer__spans"):
        for finding in _mistakes(turn, card):
            given, gold = (finding.given, finding.gold[0]) if card.labels else ("", "")
            key = (finding.kind, given, gold)
            rule = card.rule_for(turn.example.question, turn.example.gold)
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


def _mistakes(turn: Turn, card: Card) -> Iterator[Finding]:
    if turn.answer.s1 == 1:
        return
    example, given = turn.example, turn.answer.as_given
    comparison = compare_answer(card, example, given, example.gold)
    findings = findings_on(card, example, given, comparison, example.gold)
    yield from (finding for finding in findings if finding.is_mistake)


def is_due(participation: Participation, turn: Turn) -> bool:
    """Return whether the review follows this reveal, which must be the last, after a mistake."""
    return _is_last(participation, turn) and bool(commonest(participation))


def shown_after(participation: Participation, turn: Turn) -> list[Mistake]:
    """Return the mistakes if the review should be shown now, otherwise []."""
    is_read = _is_last(participation, turn) and Reading.objects.filter(turn=turn).exists()
    return commonest(participation) if is_read else []


def _is_last(participation: Participation, turn: Turn) -> bool:
    is_answered = turn.step == Step.TRAINING and turn.given is not None
    return is_answered and turn.position + 1 == len(participation.training_order)
