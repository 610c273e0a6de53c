"""A study's allow and deny lists, which apply in addition to its design.

The lists aren't part of the frozen design: they can be changed while the study is open, and all
changes are stored. A worker is admitted if no deny entry applies and, if there are allow entries,
at least one of those applies.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, OuterRef
from django.utils import timezone

from annotation.models import AccessRule, Exposure, ListedWorker, Participation, Study
from annotation.recruitment.identities import worker_key
from annotation.recruitment.platform_adapters import ADAPTERS, Source
from annotation.study import consequences
from tasks.models import Task

MAX_PEOPLE = 10_000


class RuleError(ValueError):
    """Raised if the entry can't be created. The message is shown to users."""


def admits(study: Study, key: str) -> bool:
    listed = ListedWorker.objects.filter(rule=OuterRef("pk"), key=key)
    rules = list(study.access_rules.filter(ended_at__isnull=True).annotate(lists=Exists(listed)))
    if any(rule.effect == AccessRule.Effect.DENY and _meets(rule, key) for rule in rules):
        return False
    allowing = [rule for rule in rules if rule.effect == AccessRule.Effect.ALLOW]
    return not allowing or any(_meets(rule, key) for rule in allowing)


def _meets(rule: AccessRule, key: str) -> bool:
    """Return whether an entry applies to this worker. `admits` annotates `lists`."""
    if rule.criterion == AccessRule.Criterion.TASK:
        return Exposure.objects.filter(worker_key=key, task_name=rule.value).exists()
    if rule.criterion == AccessRule.Criterion.STUDY:
        qualified = Participation.objects.qualified_in(rule.value)
        return qualified.filter(worker__key=key).exists()
    return rule.lists  # type: ignore[attr-defined]  # annotated


def sources(study: Study) -> dict[str, Source]:
    """Map platform names, as used in hashes, to sources of IDs. Handful's links come last."""
    return {
        source.platform: source
        for adapter in reversed(ADAPTERS)
        for source in adapter.sources(study)
    }


def add_rule(
    study: Study, effect: str, criterion: str, value: str, by: User, platform: str = ""
) -> AccessRule:
    """Create an entry. For a list of people, `value` contains their IDs, one per line.

    `platform` is one of `sources(study)`. If it is empty, each line starts with the name of a
    platform. Personal links are identified by their names. Raises RuleError, for example if the
    entry would exclude everyone (study/consequences.py).
    """
    value, keys = value.strip(), []
    if criterion == AccessRule.Criterion.TASK and not Task.objects.filter(name=value).exists():
        raise RuleError(f"The task {value or 'without a name'} does not exist.")
    of_study = criterion == AccessRule.Criterion.STUDY
    if of_study and not Study.objects.visible_to(by).filter(name=value).exists():
        raise RuleError(f"You have no study {value or 'without a name'}.")
    if criterion == AccessRule.Criterion.PEOPLE:
        keys = _keys(study, value, platform)
        value = platform
        problem = consequences.list_problem(study, effect, keys)
    else:
        problem = consequences.entry_problem(study, effect, criterion, value)
    if problem:
        raise RuleError(problem[:1].upper() + problem[1:])
    with transaction.atomic():
        rule = AccessRule.objects.create(
            study=study, effect=effect, criterion=criterion, value=value, made_by=by
        )
        ListedWorker.objects.bulk_create(
            [ListedWorker(rule=rule, key=key) for key in keys], batch_size=1000
        )
        study.events.create(what=f"list entry created: {rule}"[:200], by=by)
    return rule


def _keys(study: Study, text: str, selected: str) -> list[str]:
    """Return the keyed hashes of the IDs in `text`, without duplicates. Raises RuleError."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or len(lines) > MAX_PEOPLE:
        raise RuleError(f"Enter 1 to {MAX_PEOPLE} ids, one per line.")
    names = sources(study)
    keys: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        # A platform's name may contain spaces, and one name may be the start of another.
        prefixes = [name for name in names if line.startswith(f"{name} ")]
        platform = selected if selected in names else max(prefixes, key=len, default="")
        if not platform:
            raise RuleError(f"Line {number}: choose the platform of the ids.")
        identity = line if selected in names else line.removeprefix(f"{platform} ").strip()
        if (codes := names[platform].codes) is not None:
            if identity not in codes:
                raise RuleError(f"Line {number}: this study has no personal link with that name.")
            identity = codes[identity]
        keys[worker_key(platform, identity)] = None
    return list(keys)


def in_words(rule: AccessRule) -> str:
    """Return how many people are on a list, and how many of them were in its maker's studies."""
    seats = Participation.objects.filter(study__in=Study.objects.visible_to(rule.made_by))
    known = seats.filter(worker__key__in=rule.listed.values("key"))
    matches = known.aggregate(n=Count("worker", distinct=True))["n"]
    return f"{rule.listed.count()} on the list; {matches} of them have been in your studies before."


def end_rule(study: Study, pk: int, by: User) -> None:
    with transaction.atomic():
        ended = study.access_rules.filter(pk=pk, ended_at__isnull=True)
        for rule in ended:
            study.events.create(what=f"list entry ended: {rule}"[:200], by=by)
        ended.update(ended_at=timezone.now(), ended_by=by)
