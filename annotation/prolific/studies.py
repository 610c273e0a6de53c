"""Create and publish studies on Prolific from their drafts (drafts.py), each only once.

Creating a study costs money, so only one of two simultaneous requests may proceed.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from annotation.models import (
    AuditEntry,
    Kind,
    Participation,
    ProlificStudy,
    Qualification,
    Study,
    Topic,
)
from annotation.pay import budget, ledger, promises
from annotation.prolific import audience
from annotation.prolific.accounts import client_of
from annotation.prolific.client import Client
from annotation.prolific.drafts import CREATING, NOT_CREATED, PlanError, check_currency, check_pay
from annotation.prolific.errors import ProlificError
from annotation.recruitment.platform_adapters import OUTCOMES
from annotation.study import minutes
from annotation.study.prolific_rewards import LEAST_HOURLY
from tasks.clock import database_now

SLOTS_PER_PLACE = 10  # paid screen-outs per place, after which Prolific pauses a study
PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
VALUES = [
    field.name
    for field in ProlificStudy._meta.concrete_fields
    if not (field.is_relation or field.name.startswith("creation"))
]
LONGEST_CREATION = timedelta(minutes=2)


def publish(draft: ProlificStudy, root: str, by: User, agreed: str | None = None) -> None:
    """Create and publish the study on behalf of a user who may spend.

    `agreed` is the amount that a person confirmed (`sum_in_words`), or None for a program. Raises
    PermissionDenied, BudgetError, and the errors of `create`.
    """
    budget.check_may_spend(by)
    _check(draft, agreed)
    create(draft, root, agreed=agreed)


def _check(draft: ProlificStudy, agreed: str | None) -> None:
    budget.check_publication(draft.study, rewards(draft))
    if agreed is not None:
        check_agreed(draft, agreed)


def create(
    draft: ProlificStudy, root: str, client: Client | None = None, agreed: str | None = None
) -> None:
    """Create the study on Prolific and publish it. `root` is this server's base URL.

    Calling this again continues where it stopped. Raises ProlificError, and PlanError if Prolific
    doesn't allow the pay or currency, or while another request is creating the study.
    """
    client = client or client_of(draft)
    if draft.external_id:
        client.has_acted = True  # an earlier request may have published it
    else:
        creation = _claim(draft)
        try:
            # The draft may have changed since it was read. From now on, it cannot change.
            draft.refresh_from_db(fields=VALUES)
            _check(draft, agreed)
            created = _create(draft, root, client)
        except BaseException:
            _release(draft, creation, status=NOT_CREATED)
            raise
        draft.external_id = created["id"].lower()
        draft.status = str(created.get("status") or "UNPUBLISHED")[:20]
        values = {name: getattr(draft, name) for name in ("external_id", "status", "signing_keys")}
        if not _release(draft, creation, **values):
            raise PlanError(
                "Creating the study took too long, and another request has created it in the"
                f" meantime. Delete the duplicate study {draft.external_id} on Prolific."
            )
    if draft.status == "UNPUBLISHED":
        published = client.transition(draft.external_id, "PUBLISH")
        with transaction.atomic():
            draft.store(status=str(published.get("status") or "ACTIVE")[:20])
            AuditEntry.objects.record(
                "published on Prolific", Topic.PLATFORM, study=draft.study, about=draft.name,
                before={"status": "UNPUBLISHED"}, after={"status": draft.status},
            )  # fmt: skip


def _create(draft: ProlificStudy, root: str, client: Client) -> dict[str, Any]:
    workspace = client.workspace()
    project = client.project(workspace)
    currency = client.currency(workspace)
    check_currency(draft.study, currency)
    check_pay(draft, _least_hourly(client, workspace, currency))
    if draft.signed:
        draft.signing_keys = client.signing_keys()
    # Later parts may only be entered by participants who qualified in the first part.
    filters = audience.filters(draft.study, client, workspace) if draft.part <= 1 else []
    _groups(draft, client, workspace)
    try:
        return client.create_study(payload(draft, root, project, filters))
    except ProlificError as error:
        # Only certain workspaces have these features, and the error messages are undocumented.
        advice = ""
        if error.refused and draft.screen_out_cents and draft.part == 0:
            advice += (
                " If your workspace has no paid screen-outs, set that reward to 0 (it is then"
                " paid as a bonus, and the place is requested back), or draft the study in parts."
            )
        if error.refused and draft.signed:
            advice += " If it has no signed URLs, clear that checkbox."
        if not advice:
            raise
        raise ProlificError(f"{error}{advice}", error.status, refused=True) from None


def _least_hourly(client: Client, workspace: str, currency: str) -> int:
    """Return the minimum rate per hour in cents: the current or documented one, if larger."""
    with suppress(ProlificError):
        return max(client.minimum_hourly(workspace, currency) or 0, LEAST_HOURLY[currency])
    return LEAST_HOURLY[currency]


def _claim(draft: ProlificStudy) -> str:
    """Claim the creation of a study, so that only one of two simultaneous requests proceeds.

    Returns a name for this creation, which is valid for LONGEST_CREATION. Raises PlanError.
    """
    now, creation = database_now(), secrets.token_hex(16)
    # Of two requests, the conditional update of the second one matches no row.
    free = ProlificStudy.objects.filter(free_to_create(now), pk=draft.pk, external_id=None)
    claimed = free.update(status=CREATING, creation=creation, creation_until=now + LONGEST_CREATION)
    if not claimed:
        raise PlanError("The study is already being created. Check again in two minutes.")
    return creation


def free_to_create(now: datetime) -> Q:
    """Return a filter for drafts that aren't being created, or whose creation timed out."""
    return Q(creation_until=None) | Q(creation_until__lte=now)


def _release(draft: ProlificStudy, creation: str, **fields: Any) -> bool:
    """End this creation and store its result. Return False if another one has started."""
    ours = ProlificStudy.objects.filter(pk=draft.pk, creation=creation)
    return bool(ours.update(creation="", creation_until=None, **fields))


def _groups(draft: ProlificStudy, client: Client, workspace: str) -> None:
    family = draft.study.prolific_studies.filter(scenarios__in=draft.scenarios.all())
    if draft.part == 1 and not draft.qualified_group:
        group = client.create_group(f"{draft.study.name} {draft.pk} qualified", workspace)
        family.filter(part__gte=1).update(qualified_group=group)
        draft.qualified_group = group
    if draft.part > 1 and not draft.qualified_group:
        raise ProlificError("Create part 1 first: its group determines who can enter this part.")
    if draft.part <= 1 and not draft.blocklist_id:
        blocked = draft.study.prolific_studies.exclude(blocklist_id="").first()
        group = blocked.blocklist_id if blocked else ""
        group = group or client.create_group(f"{draft.study.name} barred", workspace)
        draft.store(blocklist_id=group)


@dataclass(frozen=True)
class Forecast:
    """Prolific's figures for a draft: eligible people, and the cost of its places.

    `eligible` ignores the blocklist, and is 0 if fewer than 25 people are eligible.
    """

    draft: ProlificStudy
    eligible: int
    cost: str


def ask(study: Study, client: Client | None = None) -> list[Forecast]:
    """Ask Prolific about drafts that don't exist there yet. Raises ProlificError and PlanError."""
    client = client or client_of(study.prolific_studies.first())
    workspace = client.workspace()
    eligible = client.eligible(audience.filters(study, client, workspace), workspace)
    return [
        Forecast(draft, eligible, ledger.in_currency(client.cost(draft.reward_cents, draft.places)))
        for draft in study.prolific_studies.filter(external_id=None, places__gt=0)
    ]


def payload(
    draft: ProlificStudy, root: str, project: str, audience_filters: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the JSON for creating the study in a project, for people who pass the filters."""
    address = root.rstrip("/") + reverse("landing", args=[draft.code])
    ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in PARAMETERS)
    name, group = "participant_group_blocklist", draft.blocklist_id
    if draft.part > 1:
        name, group = "participant_group_allowlist", draft.qualified_group
    return {
        "project": project,
        "name": draft.name,
        "internal_name": f"{draft.study.name} {draft.pk}",
        "description": description(draft),
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
        "filters": [{"filter_id": name, "selected_values": [group]}, *audience_filters],
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
        },
        "study_labels": ["annotation"],
        **audience.warning(draft.study),
    }


def description(draft: ProlificStudy) -> str:
    """Return the description that people read on Prolific before they start.

    If one study contains all scenarios, it mentions neither tasks nor shots, so that self-selection
    is the same in all of them.
    """
    scenarios = list(draft.scenarios.select_related("task"))
    if draft.study.participants_choose_scenario:
        sentences = sorted({scenario.task.card.description for scenario in scenarios})
        return " ".join([*sentences, *_screening(draft)])
    sentences = ["You read short texts and answer questions about them."]
    if len(scenarios) > 1:
        sentences.append("You are assigned to one of several versions when you start.")
    estimates = {scenario.estimated_minutes for scenario in scenarios}
    if len(estimates) > 1 and not draft.part:
        sentences.append(f"They take {minutes.in_words(list(estimates))} minutes.")
    if draft.study.hourly_rate:
        sentences.append(
            f"Pay: {promises.promise(draft.study)}. Anything that the reward does not cover is"
            " paid as a bonus."
        )
    return " ".join([*sentences, *_screening(draft)])


def _screening(draft: ProlificStudy) -> list[str]:
    """Return the notice, required by Prolific, that some participants can't continue."""
    screens = draft.study.qualification != Qualification.NONE
    if draft.part > 1 or not screens or not (draft.part or draft.screen_out_cents):
        return []
    return [
        "Not all participants continue after the first part; the others are paid for that part."
    ]


def _code(draft: ProlificStudy, outcome: str) -> dict[str, Any]:
    """Return a completion code with its actions, which never include a rejection."""
    actions: list[dict[str, Any]]
    if outcome == "completed":
        actions = [{"action": "MANUALLY_REVIEW"}]
        if draft.part == 1:
            actions.append(
                {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": draft.qualified_group}
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


def sum_in_words(draft: ProlificStudy) -> str:
    """Format the total reward for all of a draft's places, excluding Prolific's fees."""
    return f"{ledger.in_currency(draft.places * draft.reward_cents)} {draft.study.currency}"


def check_agreed(draft: ProlificStudy, agreed: str) -> None:
    """Raise PlanError unless the user agreed to these rewards (`sum_in_words`)."""
    now = sum_in_words(draft)
    if not agreed:
        raise PlanError(f"Not published. Confirm the rewards first: {now}.")
    if agreed != now:
        raise PlanError(
            "Not published, because the draft changed after you opened the page. You agreed to"
            f" {agreed} in rewards; it is now {now}."
        )


def rewards(draft: ProlificStudy) -> int:
    """Return what Prolific pays a participant for all parts together, in cents."""
    family = draft.study.prolific_studies.filter(scenarios__in=draft.scenarios.all()).distinct()
    return sum(part.reward_cents for part in family)


def free_seats(draft: ProlificStudy) -> int:
    scenarios = draft.scenarios.all()
    seated = Participation.objects.holding_seats(database_now(), draft.study)
    people = seated.filter(kind=Kind.PERSON, scenario__in=scenarios)
    return sum(scenario.seats for scenario in scenarios) - people.count()
