"""Drafts of studies on Prolific, derived from the design within the limits set by Prolific.

By default, one Prolific study contains all scenarios. Arrivals are assigned to a scenario here, so
reward and times are the same for all, and the public name mentions neither tasks nor shots. If the
design lets participants choose, each scenario has its own Prolific study. Each can be done in one
session or in parts (docs/prolific.md#prolifics-constraints). In one session, the code "not
qualified" pays a smaller fixed reward. In parts, the training step is one study, whose code
"completed" adds people to a participant group. The annotation step is then one or more studies that
only this group may enter. Each part lasts less than a day.
"""

import math
import re
from collections.abc import Iterator
from contextlib import suppress

from django.contrib.auth.models import User
from django.db import transaction
from django.template.loader import render_to_string

from annotation.models import (
    AuditEntry,
    ProlificStudy,
    Qualification,
    Scenario,
    Study,
    StudyStatus,
    Topic,
)
from annotation.pay import promises
from annotation.pay.ledger import in_currency
from annotation.prolific.accounts import access, account_of
from annotation.prolific.client import Client, ProlificError
from annotation.recruitment.platform_adapters import OUTCOMES
from annotation.recruitment.seats import new_code
from annotation.study import cross_task
from annotation.study import minutes as study_minutes
from annotation.study.consequences import (
    LEAST_HOURLY,
    least_reward,
    reward_of_one,
    scenario_reward,
)
from tasks.models import Example

LONGEST_SESSION = 24 * 60 - 1  # in minutes: "under a day"
LEAST_SCREEN_OUT = {"GBP": 10, "USD": 14}
# A neutral public name and description, so that participants can't choose by task.
NEUTRAL_NAME = "Read short texts and answer questions about them"
SHOTS = re.compile(r"\bshots?\b")
NOT_CREATED, CREATING = "not created", "being created"


class PlanError(ValueError):
    """The studies can't be drafted. Shown to users, at the `field` of the draft form if set."""

    def __init__(self, message: str, field: str | None = None):
        super().__init__(message)
        self.field = field


def shortest_maximum(minutes: int) -> int:
    """Return the shortest time limit that Prolific allows for this estimate, in minutes."""
    return math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))


# A longer estimate would require a time limit of at least a day.
LONGEST_ESTIMATE = max(
    e for e in range(1, LONGEST_SESSION) if shortest_maximum(e) <= LONGEST_SESSION
)


def plan(study: Study, annotation_parts: int, by: User) -> list[ProlificStudy]:
    """Draft the studies: one for all scenarios or, if `annotation_parts` > 0, one per part.

    If participants choose their scenario, each scenario gets its own drafts. Earlier drafts are
    replaced unless any was created on Prolific. Nothing is created there. Raises PlanError.
    """
    if study.status != StudyStatus.OPEN:
        raise PlanError(f"The study is {study.status}. Open it first.")
    if study.currency not in LEAST_HOURLY:
        raise PlanError(
            f"Prolific pays in {' or '.join(LEAST_HOURLY)}, but this study pays in"
            f" {study.currency}. Design a new study in the currency of your workspace."
        )
    account = account_of(by)
    # Without a token or a response, currencies are only compared when the study is created.
    with suppress(ProlificError):
        client = Client(access(account))
        check_currency(study, client.currency(client.workspace()))
    with Study.locking(study.pk):
        earlier = study.prolific_studies.filter(external_id=None, status=NOT_CREATED)
        if study.prolific_studies.exclude(pk__in=earlier).exists():
            raise PlanError("The Prolific studies have already been drafted and created.")
        earlier.delete()
        drafts = []
        for draft, scenarios in planned(study, annotation_parts):
            draft.account = account
            draft.save()
            draft.scenarios.set(scenarios)
            drafts.append(draft)
        noun = "study" if len(drafts) == 1 else "studies"
        study.events.create(what=f"{len(drafts)} {noun} on Prolific drafted", by=by)
    return drafts


def check_currency(study: Study, currency: str) -> None:
    """Raise PlanError unless the account pays in the currency of the study."""
    if study.currency != currency:
        raise PlanError(
            f"Your workspace on Prolific pays in {currency}, but this study pays in"
            f" {study.currency}. Choose another workspace, or design a study in {currency}."
        )


# The plan -----------------------------------------------------------------------------------------


def planned(study: Study, annotation_parts: int) -> list[tuple[ProlificStudy, list[Scenario]]]:
    """Return unsaved drafts with their scenarios. Raises PlanError."""
    if annotation_parts and study.is_cross_task and 0 in study.shots:
        raise PlanError("A cross-task study at zero shots must be drafted in one session.")
    scenarios = list(study.scenarios.select_related("task", "study"))
    if study.participants_choose_scenario:
        groups = [(f"{study.title}: {scenario}"[:100], [scenario]) for scenario in scenarios]
    else:
        groups = [(public_name(study), scenarios)]
    return [
        (draft, group)
        for name, group in groups
        for draft in _drafts(study, name, group, annotation_parts)
    ]


def public_name(study: Study) -> str:
    """Return the study's title, or a neutral name if the title would give away tasks or shots."""
    title = study.title.casefold()
    names = {
        name.casefold()
        for scenario in study.scenarios.select_related("task")
        for name in (scenario.task.name, scenario.task.card.title)
    }
    shows_message = SHOTS.search(title) or any(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", title) for name in names
    )
    return NEUTRAL_NAME if shows_message else study.title[:100]


def description(draft: ProlificStudy) -> str:
    """Return the description that people read on Prolific before they start.

    If one study contains all scenarios, it mentions neither tasks nor shots, so that self-selection
    is the same in all of them.
    """
    study, scenarios = draft.study, list(draft.scenarios.select_related("task"))
    estimates = {scenario.estimated_minutes for scenario in scenarios}
    varies = len(estimates) > 1 and not draft.part
    screens = study.qualification != Qualification.NONE and draft.part <= 1
    context = {
        "study": study, "scenarios": scenarios,
        "tasks": sorted({scenario.task.card.description for scenario in scenarios}),
        "minutes": study_minutes.in_words(list(estimates)) if varies else "",
        "promise": promises.promise(study),
        # Prolific requires a notice that some participants can't continue.
        "screens": screens and (draft.part or draft.screen_out_cents),
    }  # fmt: skip
    return " ".join(render_to_string("prolific/description.txt", context).split())


def _drafts(
    study: Study, name: str, scenarios: list[Scenario], annotation_parts: int
) -> Iterator[ProlificStudy]:
    """Yield the drafts for a group of scenarios: a single draft, or one per part."""
    reward = study.prolific_reward
    firsts = [before_annotation(scenario) for scenario in scenarios]
    if not any(firsts):
        annotation_parts = 0  # without a judged step, nothing can be separated
    minutes = [
        _minutes_of_parts(scenario, first, annotation_parts)
        for scenario, first in zip(scenarios, firsts, strict=True)
    ]
    for number, estimates in enumerate(zip(*minutes, strict=True)):
        longest = max(estimates)
        if longest > LONGEST_ESTIMATE:
            raise PlanError(
                f"{name} would take {longest} minutes. Prolific allows less than a day for one"
                f" session, or {LONGEST_ESTIMATE} minutes with a margin. Draft it in more parts."
            )
        cents_there, screen_out = scenario_reward(study, estimates, reward), 0
        if not annotation_parts:
            cents_there = reward_of_one(study, estimates, reward)
            shortest = [
                max(1, round(scenario.estimated_minutes * share))
                for scenario, share in zip(scenarios, map(_share_of_first, scenarios), strict=True)
                if share
            ]
            screen_out = scenario_reward(study, shortest, reward) if shortest else 0
        yield ProlificStudy(
            study=study,
            name=f"{name} (part {number + 1})" if annotation_parts else name,
            part=number + 1 if annotation_parts else 0,
            minutes=longest,
            max_minutes=max(shortest_maximum(longest), min(3 * longest + 2, LONGEST_SESSION)),
            reward_cents=cents_there,
            screen_out_cents=min(screen_out, cents_there - 1),
            places=sum(scenario.seats for scenario in scenarios),
            codes={outcome: new_code() for outcome in OUTCOMES},
        )


def before_annotation(scenario: Scenario) -> int:
    upstream = cross_task.length(scenario.study, scenario.arm) if scenario.arm else 0
    examples = upstream + scenario.design.anchor_examples
    return examples + scenario.training_examples + scenario.screening_examples


def _share_of_first(scenario: Scenario) -> float:
    first = before_annotation(scenario)
    test = Example.objects.filter(split__task=scenario.task, split__kind="test").count()
    return first / (first + test)


def _minutes_of_parts(scenario: Scenario, first: int, annotation_parts: int) -> list[int]:
    """Return the minutes of each part of a scenario, or of all of it if done in one session.

    A scenario that begins with the annotation step is split into equal parts.
    """
    minutes = scenario.estimated_minutes
    if not annotation_parts:
        return [minutes]
    if not first:
        return [max(1, round(minutes / (annotation_parts + 1)))] * (annotation_parts + 1)
    share = _share_of_first(scenario)
    part = max(1, round(round(minutes * (1 - share)) / annotation_parts))
    return [max(1, round(minutes * share)), *[part] * annotation_parts]


def change(draft: ProlificStudy, fields: dict[str, int | str | bool]) -> None:
    """Change a draft's values. Raises PlanError if they are invalid or it is on Prolific."""
    previous = {name: getattr(draft, name) for name in fields}
    for name, value in fields.items():
        setattr(draft, name, value)
    if draft.minutes < 1 or draft.reward_cents < 1:
        field = "minutes" if draft.minutes < 1 else "reward"
        raise PlanError("Minutes and reward must be above zero.", field)
    if draft.minutes > LONGEST_ESTIMATE:
        reason = "Prolific allows less than a day for one session."
        raise PlanError(f"At most {LONGEST_ESTIMATE} minutes: {reason}", "minutes")
    shortest = shortest_maximum(draft.minutes)
    if not shortest <= draft.max_minutes <= LONGEST_SESSION:
        raise PlanError(
            f"For {draft.minutes} minutes, the maximum time must be {shortest} to {LONGEST_SESSION}"
            " minutes.",
            "max_minutes",
        )
    check_pay(draft, LEAST_HOURLY.get(draft.study.currency, 0))
    with transaction.atomic():
        # Another request may be publishing it, or have published it since the draft was read.
        if not ProlificStudy.objects.filter(pk=draft.pk, status=NOT_CREATED).update(**fields):
            raise PlanError("The study already exists on Prolific. Change it there.")
        AuditEntry.objects.record(
            "draft of a study on Prolific changed", Topic.PLATFORM, study=draft.study,
            about=draft.name, before=previous, after=fields,
        )  # fmt: skip


def check_pay(draft: ProlificStudy, hourly: int) -> None:
    """Raise PlanError if a draft pays less than `hourly` (cents), or wrongly for screen-outs."""
    currency = draft.study.currency
    minimum = least_reward(hourly, draft.minutes)
    if draft.reward_cents < minimum:
        raise PlanError(
            f"{draft.name}: Prolific requires at least {in_currency(hourly)} {currency} an hour,"
            f" that is {in_currency(minimum)} for {draft.minutes} minutes; the reward is"
            f" {in_currency(draft.reward_cents)}.",
            "reward",
        )
    if draft.screen_out_cents >= draft.reward_cents:
        raise PlanError("The screen-out reward must be smaller than the full reward.", "screen_out")
    minimum = LEAST_SCREEN_OUT.get(currency, 0)
    if 0 < draft.screen_out_cents < minimum:
        raise PlanError(
            f"The screen-out reward must be at least {in_currency(minimum)} {currency} on Prolific,"
            " or 0 to pay it as a bonus.",
            "screen_out",
        )
