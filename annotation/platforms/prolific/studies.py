"""Studies on Prolific, drafted from Handful's design, created and published there.

Two designs (docs/prolific.md#what-prolific-allows). One study with a paid screen-out: everything in
one sitting, the code "not qualified" pays a fixed smaller reward. Or parts: the training step is
one study whose code "completed" puts people into a participant group, and the annotation step is
one or more further studies that only this group may enter; each lasts less than a day.
"""

import math
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from annotation.models import (
    Kind,
    Participation,
    ProlificStudy,
    Qualification,
    Scenario,
    Study,
    StudyStatus,
)
from annotation.money.ledger import cents, in_currency
from annotation.platforms.prolific.client import Client, ProlificError
from annotation.recruitment.codes import new_code
from annotation.recruitment.doors import OUTCOMES
from tasks.clock import database_now
from tasks.models import Example

LONGEST_SITTING = 24 * 60 - 1  # minutes: "under a day"
MAX_PARTS = 10
# What Prolific allows at least, in cents of the currencies that it pays in: an hour, a screen-out.
LEAST_HOURLY = {"GBP": 600, "USD": 800}
LEAST_SCREEN_OUT = {"GBP": 10, "USD": 14}
SLOTS_PER_PLACE = 10  # paid screen-outs, after which Prolific pauses a study
PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
NOT_CREATED, CREATING = "not created", "being created"
LONGEST_CREATION = timedelta(minutes=2)


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


def plan(study: Study, annotation_parts: int, by: AbstractBaseUser) -> list[ProlificStudy]:
    """Draft the studies: for each scenario one, or (`annotation_parts` > 0) its parts.

    Drafts of which none was created are drafted again. Nothing is created on Prolific. Raises
    PlanError.
    """
    if study.status != StudyStatus.OPEN:
        raise PlanError(f"Open the study first: it is {study.status}.")
    if not 0 <= annotation_parts <= MAX_PARTS:
        raise PlanError(f"The annotation step can have 1 to {MAX_PARTS} parts.")
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
        drafts = study.prolific_studies.filter(external_id=None, status=NOT_CREATED)
        if study.prolific_studies.exclude(pk__in=drafts).exists():
            raise PlanError("The studies on Prolific have already been drafted and created.")
        drafts.delete()
        made = []
        for scenario in study.scenarios.select_related("task"):
            made += _drafts(study, scenario, annotation_parts)
        word = "study" if len(made) == 1 else "studies"
        study.events.create(what=f"{len(made)} {word} on Prolific drafted", by=by)
    return made


def check_currency(study: Study, currency: str) -> None:
    """Raise PlanError where the account pays in another currency than the study promises."""
    if study.currency != currency:
        raise PlanError(
            f"Your workspace on Prolific pays in {currency}, this study in {study.currency}: use a"
            " workspace of that currency (PROLIFIC_WORKSPACE), or design a new study in"
            f" {currency}."
        )


def _drafts(study: Study, scenario: Scenario, annotation_parts: int) -> list[ProlificStudy]:
    training = _sizes(scenario, "train")
    test = _sizes(scenario, "test")
    whole = study.estimated_minutes
    minutes = {
        "training": max(1, round(whole * training / (training + test))),
        "annotation": max(1, round(whole * test / (training + test))),
    }
    name = f"{study.title}: {scenario}"[:100]
    if not annotation_parts or not training:
        # Without a training step there is nothing to split off and nobody to screen out after it.
        screen_out = _reward(study, minutes["training"]) if training else 0
        return [_draft(study, scenario, name, 0, None, whole, screen_out)]
    made = [_draft(study, scenario, f"{name} (part 1)", 1, None, minutes["training"], 0)]
    each = max(1, round(minutes["annotation"] / annotation_parts))
    for number in range(1, annotation_parts + 1):
        last = number == annotation_parts
        until = None if last else round(test * number / annotation_parts)
        title = f"{name} (part {number + 1})"
        made.append(_draft(study, scenario, title, number + 1, until, each, 0))
    return made


def _sizes(scenario: Scenario, kind: str) -> int:
    examples = Example.objects.filter(split__task=scenario.task, split__kind=kind)
    if kind == "train":
        if not scenario.shots:
            return 0
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
    draft.save()


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


def create(draft: ProlificStudy, root: str, client: Client | None = None) -> None:
    """Create the study on Prolific and publish it. `root` is Handful's own address.

    Asked again it goes on where it stopped. Raises ProlificError, and PlanError where pay or
    currency are not Prolific's, or while somebody else is creating it.
    """
    client = client or Client()
    if not draft.external_id:
        creation = _claim(draft)
        try:
            created = _create(draft, root, client)
        except BaseException:
            _release(draft, creation, status=NOT_CREATED)
            raise
        draft.external_id = created["id"].lower()
        draft.status = str(created.get("status") or "UNPUBLISHED")[:20]
        known = {name: getattr(draft, name) for name in ("external_id", "status", "signing_keys")}
        if not _release(draft, creation, **known):
            raise PlanError(
                f"It took too long, and somebody else has created it meanwhile: delete the study"
                f" {draft.external_id} on Prolific, which is one too many."
            )
    if draft.status == "UNPUBLISHED":
        published = client.transition(draft.external_id, "PUBLISH")
        draft.status = str(published.get("status") or "ACTIVE")[:20]
        draft.save(update_fields=["status"])


def _create(draft: ProlificStudy, root: str, client: Client) -> dict[str, Any]:
    """Create it, once everything is as Prolific wants it; what Prolific says of the new study."""
    workspace = client.workspace()
    project = client.project(workspace)
    currency = client.currency(workspace)
    check_currency(draft.study, currency)
    check_pay(draft, _least_hourly(client, workspace, currency))
    if draft.signed:
        draft.signing_keys = client.signing_keys()
    _groups(draft, client, workspace)
    try:
        return client.create_study(payload(draft, root, project))
    except ProlificError as error:
        # Both exist in certain workspaces only, and Prolific's words for it are not documented.
        advice = ""
        if error.refused and draft.screen_out_cents and draft.part == 0:
            advice += (
                " If your workspace has no paid screen-out: set that reward to 0 (it is then"
                " paid as a bonus, and the place is requested back), or draft the study in parts."
            )
        if error.refused and draft.signed:
            advice += " If it has no signed addresses: clear that checkbox."
        if not advice:
            raise
        raise ProlificError(f"{error}{advice}", error.status, refused=True) from None


def _least_hourly(client: Client, workspace: str, currency: str) -> int:
    """The lowest hourly rate in cents: what Prolific says today, never below what it documents."""
    with suppress(ProlificError):
        return max(client.minimum_hourly(workspace, currency) or 0, LEAST_HOURLY[currency])
    return LEAST_HOURLY[currency]


def _claim(draft: ProlificStudy) -> str:
    """Let only one of two simultaneous Publish requests continue: a study there costs money.

    Returns the name of this creation, which holds for LONGEST_CREATION. Raises PlanError.
    """
    now, creation = database_now(), secrets.token_hex(16)
    # A conditional update decides: of two at once the second finds the first one's claim.
    free = ProlificStudy.objects.filter(free_to_create(now), pk=draft.pk, external_id=None)
    claimed = free.update(status=CREATING, creation=creation, creation_until=now + LONGEST_CREATION)
    if not claimed:
        raise PlanError("Somebody is creating it at the moment: check again in two minutes.")
    return creation


def free_to_create(now: datetime) -> Q:
    """Nobody is creating it, or whoever was has not ended in time."""
    return Q(creation_until=None) | Q(creation_until__lte=now)


def _release(draft: ProlificStudy, creation: str, **fields: Any) -> bool:
    """End this creation and store what came of it, unless another one has begun meanwhile."""
    ours = ProlificStudy.objects.filter(pk=draft.pk, creation=creation)
    return bool(ours.update(creation="", creation_until=None, **fields))


def _groups(draft: ProlificStudy, client: Client, workspace: str) -> None:
    """The participant groups that decide who may enter."""
    family = draft.study.prolific_studies.filter(scenarios__in=draft.scenarios.all())
    if draft.part == 1 and not draft.qualified_group:
        group = client.create_group(f"{draft.study.name} {draft.pk} qualified", workspace)
        family.filter(part__gte=1).update(qualified_group=group)
        draft.qualified_group = group
    if draft.part > 1 and not draft.qualified_group:
        raise ProlificError("Create part 1 first: its group determines who may enter this part.")
    if draft.part <= 1 and not draft.blocklist_id:
        known = draft.study.prolific_studies.exclude(blocklist_id="").first()
        group = known.blocklist_id if known else ""
        group = group or client.create_group(f"{draft.study.name} barred", workspace)
        draft.blocklist_id = group
        draft.save(update_fields=["blocklist_id"])


def payload(draft: ProlificStudy, root: str, project: str) -> dict[str, Any]:
    """What is sent to Prolific to create the study in that project."""
    address = root.rstrip("/") + reverse("landing", args=[draft.code])
    ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in PARAMETERS)
    filters = []
    if draft.part > 1:
        filters.append(("participant_group_allowlist", draft.qualified_group))
    else:
        filters.append(("participant_group_blocklist", draft.blocklist_id))
    tasks = {scenario.task.card.description for scenario in draft.scenarios.select_related("task")}
    return {
        "project": project,
        "name": draft.name,
        "internal_name": f"{draft.study.name} {draft.pk}",
        "description": " ".join([*sorted(tasks), *_screening(draft)]),
        "external_study_url": f"{address}?{ids}",
        "is_external_study_url_secure": draft.signed,
        "prolific_id_option": "url_parameters",
        "completion_codes": [_code(draft, outcome) for outcome in OUTCOMES],
        "total_available_places": draft.places,
        "estimated_completion_time": draft.minutes,
        "maximum_allowed_time": draft.max_minutes,
        "reward": draft.reward_cents,
        "device_compatibility": (
            ["desktop"] if draft.study.computer_only else ["desktop", "tablet", "mobile"]
        ),
        "peripheral_requirements": [],
        "filters": [{"filter_id": name, "selected_values": [group]} for name, group in filters],
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
        },
        "study_labels": ["annotation"],
    }


def _screening(draft: ProlificStudy) -> list[str]:
    """Prolific requires a notice that not everybody continues."""
    screens = draft.study.qualification != Qualification.NONE
    if draft.part > 1 or not screens or not (draft.part or draft.screen_out_cents):
        return []
    return [
        "Not everybody continues after the first part; those who do not are paid for that part."
    ]


def _code(draft: ProlificStudy, outcome: str) -> dict[str, Any]:
    """A completion code and what it does. Nobody is ever rejected by a code."""
    actions: list[dict[str, Any]]
    if outcome == "completed":
        actions = [{"action": "MANUALLY_REVIEW"}]
        if draft.part == 1:
            actions.append(
                {
                    "action": "ADD_TO_PARTICIPANT_GROUP",
                    "participant_group": draft.qualified_group,
                }
            )
    elif outcome == "not_qualified" and draft.part == 1:
        actions = [{"action": "MANUALLY_REVIEW"}]
    elif outcome == "not_qualified" and draft.screen_out_cents:
        actions = [
            {
                "action": "FIXED_SCREEN_OUT_PAYMENT",
                "fixed_screen_out_reward": draft.screen_out_cents,
                "slots": SLOTS_PER_PLACE * draft.places,
            }
        ]
    else:
        actions = [{"action": "REQUEST_RETURN", "return_reason": OUTCOMES[outcome]}]
    return {
        "code": draft.codes[outcome],
        "code_type": "COMPLETED" if outcome == "completed" else "OTHER",
        "actor": "participant",
        "actions": actions,
    }


def rewards(draft: ProlificStudy) -> int:
    """What Prolific pays for one whole participation: this study, and the other parts of it."""
    family = draft.study.prolific_studies.filter(scenarios__in=draft.scenarios.all()).distinct()
    return sum(one.reward_cents for one in family)


def free_seats(draft: ProlificStudy) -> int:
    """Seats of people that are free in the scenarios this study leads to."""
    scenarios = draft.scenarios.all()
    held = Participation.objects.holding_seats(database_now(), draft.study)
    taken = held.filter(kind=Kind.PERSON, scenario__in=scenarios)
    return sum(scenario.seats for scenario in scenarios) - taken.count()
