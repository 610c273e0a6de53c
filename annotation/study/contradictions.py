"""Access rules that would exclude all people, alone, together or with the study's design.

A task cannot be repeated, so a rule that requires having seen a study's only task admits no worker.
This module checks rules outside the frozen design; design.check_design checks the design.
"""

from annotation.models import AccessRule, Participation, Status, Study
from tasks.models import Task

Effect, Criterion = AccessRule.Effect, AccessRule.Criterion


def of_entry(study: Study, effect: str, criterion: str, value: str) -> str:
    """Return why an entry contradicts others in force or excludes all people; else ""."""
    in_force = list(study.access_rules.filter(ended_at=None, criterion=criterion, value=value))
    if any(rule.effect == effect for rule in in_force):
        return f"The same entry is in force already: {in_force[0]}."
    if in_force:
        return f"It contradicts an entry that is in force: {in_force[0]}. End that one first."
    return _admits_nobody(study, effect, criterion, value)


def of_list(study: Study, effect: str, keys: list[str]) -> str:
    """Return why these people (keyed hashes) cannot be listed: some are on an opposite list."""
    opposite = study.access_rules.filter(ended_at=None, criterion=Criterion.PEOPLE)
    for rule in opposite.exclude(effect=effect):
        number = len(set(rule.listed.values_list("key", flat=True)) & set(keys))
        if number:
            return (
                f"{number} of these ids {'is' if number == 1 else 'are'} on a list that says the"
                f" opposite: {rule}. Leave them out, or end that entry first."
            )
    return ""


def of_study(study: Study) -> list[str]:
    """Return the entries in force that would exclude all people from the study as designed."""
    rules = study.access_rules.filter(ended_at=None).exclude(criterion=Criterion.PEOPLE)
    return [
        f"End the access rule “{rule}”: {reason}"
        for rule in rules
        if (reason := _admits_nobody(study, rule.effect, rule.criterion, rule.value))
    ]


def _admits_nobody(study: Study, effect: str, criterion: str, value: str) -> str:
    if effect != Effect.ALLOW:
        return ""
    asked = _tasks(study)
    if criterion == Criterion.TASK:
        met = {value}
        who = f"those who have seen {value}"
    else:
        qualified = Participation.objects.filter(study__name=value)
        over = Study.objects.filter(name=value, status="closed").exists()
        if (
            over
            and not (
                qualified.filter(qualified=True)
                | qualified.filter(status=Status.COMPLETED).exclude(qualified=False)
            ).exists()
        ):
            return f"nobody qualified in {value}, which is closed, so nobody could take part."
        met = _tasks(Study.objects.get(name=value))
        who = f"those who qualified in {value}"
        if len(met) > 1:  # they have seen one of them, unknown which
            return ""
    if asked and asked <= met:
        return (
            f"{who} have done {', '.join(sorted(asked))} already, and nobody may do a task twice,"
            " so nobody could take part."
        )
    return ""


def _tasks(study: Study) -> set[str]:
    return set(Task.objects.filter(studies=study).values_list("name", flat=True))
