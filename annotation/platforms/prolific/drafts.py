"""Drafts of studies on Prolific, made from Handful's design, within what Prolific allows.

Two designs (docs/prolific.md#what-prolific-allows). One study with a paid screen-out: everything in
one sitting, the code "not qualified" pays a fixed smaller reward. Or parts: the training step is
one study whose code "completed" puts people into a participant group, and the annotation step is
one or more further studies that only this group may enter; each lasts less than a day.
"""

import math
from contextlib import suppress
from decimal import Decimal

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import (
    AuditEntry,
    ProlificStudy,
    Scenario,
    Study,
    StudyStatus,
    Topic,
)
from annotation.money.ledger import cents, in_currency
from annotation.platforms.prolific.client import Client, ProlificError
from annotation.recruitment.codes import new_code
from annotation.recruitment.doors import OUTCOMES
from tasks.models import Example

LONGEST_SITTING = 24 * 60 - 1  # minutes: "under a day"
MAX_PARTS = 10
# What Prolific allows at least, in cents of the currencies that it pays in: an hour, a screen-out.
LEAST_HOURLY = {"GBP": 600, "USD": 800}
LEAST_SCREEN_OUT = {"GBP": 10, "USD": 14}
NOT_CREATED, CREATING = "not created", "being created"


class PlanError(ValueError):
    """Why no such studies can be drafted; the text is for people.

    `field` is the one of the draft's form that it is about, if it is about one.
    """

    def __init__(self, sentence: str, field: str | None = None):
        super().__init__(sentence)
        self.field = field


def shortest_maximum(minutes: int) -> int:
    """The least that Prolific takes as the longest time, in minutes, for an estimate in minutes."""
    return math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))


# A longer estimate would need a longest time of a day or more.
LONGEST_ESTIMATE = max(
    e for e in range(1, LONGEST_SITTING) if shortest_maximum(e) <= LONGEST_SITTING
)


def least_reward(hourly: int, minutes: int) -> int:
    """The least reward in cents for so many minutes at that hourly rate in cents, rounded up."""
    return -(-hourly * minutes // 60)


def new_codes() -> dict[str, str]:
    """An unguessable completion code for each outcome."""
    return {outcome: new_code() for outcome in OUTCOMES}


def plan(study: Study, annotation_parts: int, by: User) -> list[ProlificStudy]:
    """Draft the studies: for each scenario one, or (`annotation_parts` > 0) its parts.

    Drafts of which none was created are drafted again. Nothing is created on Prolific. Raises
    PlanError.
    """
    if study.status != StudyStatus.OPEN:
        raise PlanError(f"Open the study first: it is {study.status}.")
    if not 0 <= annotation_parts <= MAX_PARTS:
        raise PlanError(f"The annotation step can have 1 to {MAX_PARTS} parts.")
    if study.is_cross_task:
        raise PlanError(
            "A cross-task study cannot be drafted here: each scenario would be a study of its own"
            " on Prolific, so that people would choose their arm. Give its link to one study there."
        )
    if study.currency not in LEAST_HOURLY:
        raise PlanError(
            f"Prolific pays in {' or '.join(LEAST_HOURLY)}, this study in {study.currency}: design"
            " a new one in the currency of your workspace."
        )
    if settings.PROLIFIC_TOKEN:
        # Where Prolific does not answer now, it is compared when the study is created.
        with suppress(ProlificError):
            client = Client()
            check_currency(study, client.currency(client.workspace()))
    with transaction.atomic():
        Study.objects.locked().get(pk=study.pk)
        earlier = study.prolific_studies.filter(external_id=None, status=NOT_CREATED)
        if study.prolific_studies.exclude(pk__in=earlier).exists():
            raise PlanError("The studies on Prolific have already been drafted and created.")
        earlier.delete()
        drafts = []
        for scenario in study.scenarios.select_related("task"):
            drafts += _drafts(study, scenario, annotation_parts)
        word = "study" if len(drafts) == 1 else "studies"
        study.events.create(what=f"{len(drafts)} {word} on Prolific drafted", by=by)
    return drafts


def check_currency(study: Study, currency: str) -> None:
    """Raise PlanError where the account pays in another currency than the study promises."""
    if study.currency != currency:
        raise PlanError(
            f"Your workspace on Prolific pays in {currency}, this study in {study.currency}: use a"
            " workspace of that currency (PROLIFIC_WORKSPACE), or design a new study in"
            f" {currency}."
        )


def _drafts(study: Study, scenario: Scenario, annotation_parts: int) -> list[ProlificStudy]:
    training = _sizes(scenario, "train") if scenario.shots else study.screening_examples
    test = _sizes(scenario, "test")
    whole = scenario.estimated_minutes
    minutes = {
        "training": max(1, round(whole * training / (training + test))),
        "annotation": max(1, round(whole * test / (training + test))),
    }
    name = f"{study.title}: {scenario}"[:100]
    if not annotation_parts or not training:
        # Without a step to be judged by, nothing is split off and nobody screened out after it.
        screen_out = _reward(study, minutes["training"]) if training else 0
        return [_draft(study, scenario, name, 0, None, whole, screen_out)]
    drafts = [_draft(study, scenario, f"{name} (part 1)", 1, None, minutes["training"], 0)]
    each = max(1, round(minutes["annotation"] / annotation_parts))
    for number in range(1, annotation_parts + 1):
        last = number == annotation_parts
        until = None if last else round(test * number / annotation_parts)
        title = f"{name} (part {number + 1})"
        drafts.append(_draft(study, scenario, title, number + 1, until, each, 0))
    return drafts


def _sizes(scenario: Scenario, kind: str) -> int:
    examples = Example.objects.filter(split__task=scenario.task, split__kind=kind)
    if kind == "train":
        examples = examples.filter(split__shots=scenario.shots, split__number=scenario.split_number)
    return examples.count()


def _reward(study: Study, minutes: int) -> int:
    return cents(study.hourly_rate * Decimal(minutes) / 60)


def _draft(
    study: Study, scenario: Scenario, name: str, part: int, until: int | None, minutes: int,
    screen_out: int,
) -> ProlificStudy:  # fmt: skip
    if minutes > LONGEST_ESTIMATE:
        raise PlanError(
            f"{name} would take {minutes} minutes, and Prolific allows less than a day for one"
            f" sitting, including a margin: {LONGEST_ESTIMATE} minutes. Draft it in (more) parts."
        )
    reward = max(_reward(study, minutes), 1)
    if part == 0:
        reward = max(reward, cents(study.base_reward))
    draft = ProlificStudy.objects.create(
        study=study,
        name=name,
        part=part,
        until=until,
        minutes=minutes,
        max_minutes=max(shortest_maximum(minutes), min(3 * minutes + 2, LONGEST_SITTING)),
        reward_cents=reward,
        screen_out_cents=min(screen_out, reward - 1),
        places=scenario.seats,
        codes=new_codes(),
    )
    draft.scenarios.set([scenario])
    return draft


def change(draft: ProlificStudy, fields: dict[str, int | str | bool]) -> None:
    """Change what a draft will ask of Prolific. Raises PlanError; an existing study stays."""
    if draft.external_id:
        raise PlanError("It already exists on Prolific: change it there.")
    before = {name: getattr(draft, name) for name in fields}
    for name, value in fields.items():
        setattr(draft, name, value)
    if draft.minutes < 1 or draft.reward_cents < 1:
        field = "minutes" if draft.minutes < 1 else "reward"
        raise PlanError("Minutes and reward must be above zero.", field)
    if draft.minutes > LONGEST_ESTIMATE:
        raise PlanError(
            f"At most {LONGEST_ESTIMATE} minutes: Prolific allows less than a day for one sitting.",
            "minutes",
        )
    least = shortest_maximum(draft.minutes)
    if not least <= draft.max_minutes <= LONGEST_SITTING:
        raise PlanError(
            f"The longest time for {draft.minutes} minutes is {least} to {LONGEST_SITTING}"
            " minutes.",
            "max_minutes",
        )
    check_pay(draft, LEAST_HOURLY.get(draft.study.currency, 0))
    with transaction.atomic():
        draft.save()
        AuditEntry.objects.record(
            "draft of a study on Prolific changed", Topic.PLATFORM, study=draft.study,
            about=draft.name, before=before, after=fields,
        )  # fmt: skip


def check_pay(draft: ProlificStudy, hourly: int) -> None:
    """Raise PlanError for less than that hourly rate (cents), or a screen-out out of bounds."""
    currency = draft.study.currency
    least = least_reward(hourly, draft.minutes)
    if draft.reward_cents < least:
        raise PlanError(
            f"{draft.name}: Prolific asks for at least {in_currency(hourly)} {currency} an hour,"
            f" so {in_currency(least)} for {draft.minutes} minutes; the reward is"
            f" {in_currency(draft.reward_cents)}.",
            "reward",
        )
    if draft.screen_out_cents >= draft.reward_cents:
        raise PlanError("The screen-out reward must be smaller than the full reward.", "screen_out")
    least = LEAST_SCREEN_OUT.get(currency, 0)
    if 0 < draft.screen_out_cents < least:
        raise PlanError(
            f"The screen-out reward must be at least {in_currency(least)} {currency} on Prolific,"
            " or 0: it is then paid as a bonus.",
            "screen_out",
        )
