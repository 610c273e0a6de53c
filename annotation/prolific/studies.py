"""Create and publish studies on Prolific from their drafts (drafts.py), each only once.

Creating a study costs money, so only one of two simultaneous requests may proceed.
"""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from difflib import get_close_matches
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
    Study,
    Topic,
)
from annotation.pay import budget, ledger
from annotation.prolific.accounts import client_of
from annotation.prolific.client import Client, Json, ProlificError
from annotation.prolific.drafts import (
    CREATING,
    NOT_CREATED,
    PlanError,
    check_currency,
    check_pay,
    description,
)
from annotation.recruitment.platform_adapters import OUTCOMES
from annotation.study.consequences import LEAST_HOURLY
from tasks.clock import database_now

SLOTS_PER_PLACE = 10  # paid screen-outs per place, after which Prolific pauses a study
PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
VALUES = [
    field.name
    for field in ProlificStudy._meta.concrete_fields
    if not (field.is_relation or field.name.startswith("creation"))
]
LONGEST_CREATION = timedelta(minutes=2)
# Maps each key of an audience to a filter's ID and title, either of which identifies it.
CHOICES = {
    "countries": ("current-country-of-residence", "Current country of residence"),
    "languages": ("fluent-languages", "Fluent languages"),
}
RANGES = {
    ("age", "Age"): {"lower": "minimum_age", "upper": "maximum_age"},
    ("approval_rate", "Approval rate"): {"lower": "approval_rate"},
}


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
    filters = audience_filters(draft.study, client, workspace) if draft.part <= 1 else []
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


def ask(study: Study) -> list[tuple[ProlificStudy, int, int]]:
    """Return drafts that aren't on Prolific, the number of eligible people, and the cost in cents.

    The number ignores the blocklist, and is 0 if fewer than 25 people are eligible. The cost is for
    all places, with fees and VAT. Raises ProlificError and PlanError.
    """
    client = client_of(study.prolific_studies.first())
    workspace = client.workspace()
    eligible = client.eligible(audience_filters(study, client, workspace), workspace)
    return [
        (draft, eligible, client.cost(draft.reward_cents, draft.places))
        for draft in study.prolific_studies.filter(external_id=None, places__gt=0)
    ]


def payload(draft: ProlificStudy, root: str, project: str, filters: Sequence[Json] = ()) -> Json:
    """Return the JSON for creating the study in a project, for people who pass the filters."""
    address = root.rstrip("/") + reverse("landing", args=[draft.code])
    ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in PARAMETERS)
    name, group = "participant_group_blocklist", draft.blocklist_id
    if draft.part > 1:
        name, group = "participant_group_allowlist", draft.qualified_group
    text = draft.study.audience.get("content_warning")
    warning = {"content_warnings": ["sensitive"], "content_warning_details": text} if text else {}
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
        "filters": [{"filter_id": name, "selected_values": [group]}, *filters],
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
        },
        "study_labels": ["annotation"],
        **warning,
    }


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


# The audience -------------------------------------------------------------------------------------


def audience_filters(study: Study, client: Client, workspace: str) -> list[Json]:
    """Return Prolific's filters for a study's audience. Raises PlanError if it lacks any.

    study/audience.py has validated the audience. IDs of choices can differ between workspaces, so
    they are looked up whenever a study is created.
    """
    spec = {key: value for key, value in study.audience.items() if value not in (None, [], {})}
    available = client.filters(workspace) if spec.keys() - {"filters", "content_warning"} else []
    selected: dict[str, Json] = {}
    for key, names in CHOICES.items():
        if key in spec:
            match = _filter(available, names, key)
            values = [_choice(match, name, key) for name in spec[key]]
            pk = match["filter_id"]
            selected[pk] = {"filter_id": pk, "selected_values": values}
    for names, bounds in RANGES.items():
        if limits := {bound: spec[key] for bound, key in bounds.items() if key in spec}:
            pk = _filter(available, names, ", ".join(bounds.values()))["filter_id"]
            selected[pk] = {"filter_id": pk, "selected_range": limits}
    return [*selected.values(), *spec.get("filters", [])]


def _filter(available: list[Json], names: tuple[str, str], key: str) -> Json:
    """Return the filter with this ID or title. Raises PlanError."""
    for candidate in available:
        if candidate.get("filter_id") == names[0] or _matches(candidate.get("title"), names[1]):
            return candidate
    titles = [str(candidate.get("title")) for candidate in available]
    raise PlanError(
        f"Audience, {key}: Prolific has no filter “{names[1]}”.{_near(names[1], titles)}"
    )


def _choice(match: Json, name: str, key: str) -> str:
    """Return the ID of the choice with this name in the filter. Raises PlanError."""
    choices = match.get("choices")
    titles = choices if isinstance(choices, dict) else {}
    for pk, title in titles.items():
        if _matches(title, name):
            return str(pk)
    raise PlanError(
        f"Audience, {key}: Prolific's filter “{match.get('title')}” has no choice"
        f" “{name}”.{_near(name, list(map(str, titles.values())))}"
    )


def _matches(title: Any, name: str) -> bool:
    return isinstance(title, str) and title.strip().casefold() == name.strip().casefold()


def _near(name: str, titles: list[str]) -> str:
    near = get_close_matches(name, titles, n=3) or sorted(titles)[:5]
    return f" Similar: {', '.join(near)}." if near else ""
