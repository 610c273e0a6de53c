"""Who may take part in a study besides its design: its allow and deny lists.

The lists stand outside the frozen design: they can change while the study is open, and every change
is kept. Somebody is admitted whom no entry denies and, where there are entries that allow, at least
one of them allows.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from annotation.identities import worker_key
from annotation.models import AccessRule, Exposure, Participation, Study
from tasks.models import Task

MOST_PEOPLE = 10_000


class RuleError(ValueError):
    """Why an entry cannot be made; the text is for people."""


def admits(study: Study, key: str) -> bool:
    """May the worker of that key take part, by the lists as they are now?"""
    rules = list(study.access_rules.filter(ended_at__isnull=True))
    if any(rule.effect == AccessRule.Effect.DENY and _meets(rule, key) for rule in rules):
        return False
    allowing = [rule for rule in rules if rule.effect == AccessRule.Effect.ALLOW]
    return not allowing or any(_meets(rule, key) for rule in allowing)


def _meets(rule: AccessRule, key: str) -> bool:
    if rule.criterion == AccessRule.Criterion.TASK:
        return Exposure.objects.filter(worker_key=key, task_name=rule.value).exists()
    if rule.criterion == AccessRule.Criterion.STUDY:
        return qualified_in(rule.value).filter(worker__key=key).exists()
    return key in rule.keys


def qualified_in(study_name: str):
    """Participations that qualified in the study of that name, or completed it."""
    theirs = Participation.objects.filter(study__name=study_name)
    return theirs.filter(qualified=True) | theirs.filter(
        status=Participation.Status.COMPLETED
    ).exclude(qualified=False)


def add_rule(
    study: Study, effect: str, criterion: str, value: str, by: AbstractBaseUser
) -> AccessRule:
    """Make an entry. For a list of people, `value` has lines of "recruiter id".

    Raises RuleError.
    """
    value, keys = value.strip(), []
    if "\0" in value:
        raise RuleError("The entry contains a sign that is no character.")
    if effect not in AccessRule.Effect.values or criterion not in AccessRule.Criterion.values:
        raise RuleError("Choose whom the entry is about, and whether they may take part.")
    if criterion == AccessRule.Criterion.TASK and not Task.objects.filter(name=value).exists():
        raise RuleError(f"There is no task {value or 'without a name'} here.")
    of_study = criterion == AccessRule.Criterion.STUDY
    if of_study and not Study.objects.of(by).filter(name=value).exists():
        raise RuleError(f"You have no study {value or 'without a name'}.")
    if criterion == AccessRule.Criterion.PEOPLE:
        lines = [line.split(maxsplit=1) for line in value.splitlines() if line.strip()]
        for number, parts in enumerate(lines, start=1):
            if len(parts) != 2:
                raise RuleError(f"Line {number}: write the recruiter, a blank, and the id.")
        if not lines or len(lines) > MOST_PEOPLE:
            raise RuleError(f"Write 1 to {MOST_PEOPLE} people, one on each line.")
        keys = [worker_key(recruiter, identity.strip()) for recruiter, identity in lines]
        value = ""
    with transaction.atomic():
        rule = AccessRule.objects.create(
            study=study, effect=effect, criterion=criterion, value=value, keys=keys, made_by=by
        )
        study.events.create(what=f"list entry made: {rule}"[:200], by=by)
    return rule


def end_rule(study: Study, pk: int, by: AbstractBaseUser) -> None:
    """End an entry; it is kept. A second call changes nothing."""
    with transaction.atomic():
        ended = study.access_rules.filter(pk=pk, ended_at__isnull=True)
        for rule in ended:
            study.events.create(what=f"list entry ended: {rule}"[:200], by=by)
        ended.update(ended_at=timezone.now(), ended_by=by)
