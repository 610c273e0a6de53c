"""A study's states (draft, open, paused, closed), cloning, and changes to running studies.

Opening freezes the design and its hash. Pausing, additional seats, a larger budget and the switches
are not part of the design; they are recorded in the audit log.
"""

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import F, ProtectedError

from annotation.models import Kind, Scenario, Status, Study, StudyManifest, Topic
from annotation.pay import budget
from annotation.study import compared_files, consequences, cross_task, design, minutes
from annotation.study.design import DesignError, check_design, missing
from annotation.study.design_file import FORM_FIELDS, LISTS
from annotation.study.manifest import build_manifest
from tasks.clock import database_now
from tasks.formats import canonical

# Warns about the effect of adding seats once results are known.
AFTER_RESULTS = (
    "An annotator has completed the study, so results are visible. Adding annotators until a"
    " desired result appears makes p-values too small and confidence intervals too narrow. If you"
    " confirm, every table will state that these seats were added after results could be seen."
)


class ResultsSeen(DesignError):
    """Raised if seats are to be added after a completion, unless this is confirmed."""


# Maps researchers' actions to (allowed statuses, new status, label, log entry).
TRANSITIONS: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "open": (("draft",), "open", "Open", "opened"),
    "pause": (("open",), "paused", "Pause", "paused"),
    "reopen": (("paused",), "open", "Reopen", "reopened"),
    "close": (("open", "paused"), "closed", "Close", "closed for good"),
    "draft": (("open", "paused"), "draft", "Back to draft", "set back to draft"),
}


def allowed_actions(study: Study) -> list[tuple[str, str]]:
    """Return (action, label) for each action that is currently allowed."""
    has_seats = study.allocations.exists() or study.participations.exists()
    return [
        (action, label)
        for action, (sources, _target, label, _event) in TRANSITIONS.items()
        if study.status in sources and not (action == "draft" and has_seats)
    ]


def change_status(
    study: Study, action: str, by: User | None = None, agreed: str | None = None
) -> None:
    """Open, pause, reopen or close a study, or return it to draft. Updates `study`.

    `agreed` is the amount that a person confirmed before opening (Consequences.sum_in_words), or
    None for programs and rehearsals, which are not asked. Raises DesignError if the study doesn't
    allow the action now, and PermissionDenied if the budget is above this user's limit.
    """
    if action not in TRANSITIONS:
        raise DesignError("This change does not exist.")
    sources, target, label, event = TRANSITIONS[action]
    previous = {"status": study.status}
    # Serialise two clicks on Open, and a participant's Start with a click on "Back to draft".
    with Study.locking(study.pk) as locked:
        if locked.status not in sources:
            raise DesignError(f"“{label}” is not possible: the study is {locked.status}.")
        if action == "draft":
            _thaw(locked)
        if action == "reopen" and budget.is_reached(locked):
            raise DesignError(f"Raise the budget first: {budget.is_reached(locked)}.")
        if action == "open":
            _freeze(locked, by, agreed)
        current: dict[str, Any] = {"status": target}
        if action == "close":
            current["compared_files"] = compared_files.freeze(locked)
        locked.status = target
        locked.save()
        if action == "draft":  # the guards only allow deleting a draft's manifest
            StudyManifest.objects.filter(study=locked).delete()
        locked.events.create(
            what=event, by=by, at=database_now(),
            before=previous, after=current,
        )  # fmt: skip
    study.refresh_from_db()


def _thaw(study: Study) -> None:
    """Undo the freezing of a design. Raises DesignError if any seat was taken."""
    if study.allocations.exists() or study.participations.exists():
        raise DesignError("An annotator has taken a seat, so the design remains frozen.")
    study.upstream_pool.all().delete()  # opening will create it again
    study.manifest_hash = ""
    study.opened_at = None


def _freeze(study: Study, by: User | None, agreed: str | None) -> None:
    """Check the design one last time, and store its manifest, hash and consent text."""
    budget.check_limit(study, by)
    lacks = missing(study)
    if lacks:
        raise DesignError(" ".join(lacks))
    if agreed is not None:
        _check_sum(study, agreed)
    try:
        tasks, upstream = list(study.tasks.all()), list(study.upstream_tasks.all())
        check_design(study, tasks, upstream, is_stored=True)
        cross_task.freeze(study)
    except ValidationError as error:
        raise DesignError(" ".join(error.messages)) from None
    minutes.store(study)  # a pilot may have made progress since the draft was saved
    design.translate_consent(study)
    manifest = canonical(build_manifest(study))
    StudyManifest.objects.create(study=study, text=manifest.decode())
    study.manifest_hash = hashlib.sha256(manifest).hexdigest()
    study.opened_at = database_now()
    newest = study.consent_texts.order_by("-version").first()
    if newest is None or newest.text != study.consent_text:
        number = newest.version + 1 if newest else 1
        study.consent_texts.create(version=number, text=study.consent_text)


def _check_sum(study: Study, agreed: str) -> None:
    """Raise DesignError unless the user confirmed the current amount."""
    now = consequences.for_study(study).sum_in_words
    if not agreed:
        raise DesignError(f"Confirm the amount before you open the study: {now}.")
    if agreed != now:
        raise DesignError(
            "Not opened, because the amount changed after you opened the page. You agreed to"
            f" {agreed}; it is now {now}. Check the amount, then open the study again."
        )


def set_archived(study: Study, is_archived: bool, by: User) -> None:
    with Study.locking(study.pk) as locked:
        if (locked.archived_at is not None) == is_archived:
            return
        locked.store(archived_at=database_now() if is_archived else None)
        event = "archived" if is_archived else "restored from the archive"
        locked.events.create(what=event, topic=Topic.DESIGN, by=by, at=database_now())


def can_be_deleted(study: Study) -> bool:
    parts = (study.allocations, study.participations, study.prolific_studies, study.submissions)
    return study.is_draft and not any(rows.exists() for rows in parts)


def delete_draft(study: Study) -> None:
    """Delete a draft. Raises DesignError if it is not a draft or has had participants."""
    # Another user may be opening the study right now.
    with Study.locking(study.pk) as locked:
        if not can_be_deleted(locked):
            raise DesignError(
                "Only a draft without participants and without a study on Prolific can be deleted."
                " Archive the study to remove it from the list."
            )
        locked.events.record("draft deleted", Topic.DESIGN, study=locked, about=locked.name)
        try:
            locked.delete()
        except ProtectedError:
            problem = "Other stored data refers to this draft. Archive it instead."
            raise DesignError(problem) from None


# Switches for a running study, which are not part of its frozen design.
SWITCHES = ("open_link_on", "shared_computers", "shared_address")


def switch(study: Study, values: dict[str, bool], by: User) -> None:
    with Study.locking(study.pk) as locked:
        for name in SWITCHES:
            if getattr(locked, name) == values[name]:
                continue
            previous = {name: getattr(locked, name)}
            setattr(locked, name, values[name])
            event = f"{Study.design_field(name).verbose_name}: {'yes' if values[name] else 'no'}"
            current = {name: values[name]}
            locked.events.create(what=event, by=by, before=previous, after=current)
        locked.save(update_fields=SWITCHES)


def has_results(study: Study) -> bool:
    """Return whether a person has completed the study and its test scores were not hidden."""
    if study.covers_test_scores:
        return False
    return study.participations.filter(status=Status.COMPLETED, kind=Kind.PERSON).exists()


def add_seats(scenario: Scenario, number: int, by: User, confirmed: bool = False) -> None:
    """Add seats to a scenario of an open or paused study. Logged; the design stays the same.

    If there are already results, this must be `confirmed`, and every table will mention it. Raises
    DesignError, and PermissionDenied for users who may not spend if the study is on Prolific,
    because the next sync buys places for these seats.
    """
    if not 1 <= number <= 1000:
        raise DesignError("Enter a number of seats from 1 to 1000.")
    # Seats are assigned while holding the study's lock.
    with Study.locking(scenario.study_id) as study:
        if not study.is_running:
            raise DesignError(f"The study is {study.status}, so its seats cannot be changed.")
        if study.prolific_studies.exclude(external_id=None).exists():
            budget.check_may_spend(by)
        seen = has_results(study)
        if seen and not confirmed:
            raise ResultsSeen(AFTER_RESULTS)
        study.scenarios.filter(pk=scenario.pk).update(seats=F("seats") + number)
        scenario.added_seats.create(number=number, results_seen=seen, by=by, at=database_now())
        event = f"{number} seat{'' if number == 1 else 's'} added to {scenario}"
        if seen:
            event += ", after results could be seen"
        now = study.scenarios.get(pk=scenario.pk).seats
        study.events.create(what=event, by=by, before={"seats": now - number}, after={"seats": now})


def raise_budget(study: Study, amount: Decimal, by: User) -> None:
    """Raise a running study's budget. Raises DesignError, or PermissionDenied above the limit."""
    with Study.locking(study.pk) as locked:
        if not locked.is_running:
            raise DesignError(f"The study is {locked.status}, so its budget cannot be changed.")
        previous = locked.budget
        if previous is not None and amount <= previous:
            problem = f"The budget is already {previous} {locked.currency}. Enter a larger amount."
            raise DesignError(problem)
        locked.budget = amount
        budget.check_limit(locked, by)
        locked.save(update_fields=["budget"])
        locked.events.create(
            what=f"budget raised from {previous or 'none'} to {amount} {locked.currency}",
            by=by,
            before={"budget": previous},
            after={"budget": amount},
        )


LONGEST = 60  # characters of a name


def with_ending(source: Study, ending: str) -> str:
    return f"{source.name[: LONGEST - len(ending) - 5]}-{ending}"


def free_name(source: Study, ending: str) -> str:
    """Return NAME-ENDING, with a number appended if that name is taken."""
    name, number = with_ending(source, ending), 1
    while Study.objects.filter(name=name).exists():
        number += 1
        name = f"{with_ending(source, ending)}-{number}"
    return name


def copied(source: Study, owner: User) -> Study:
    """Return an unsaved draft with the design of `source`, except for its tasks."""
    fields = {f: getattr(source, f) for f in FORM_FIELDS if f not in LISTS}
    return Study(owner=owner, **fields)


def clone(source: Study, owner: User, changes: Mapping[str, Any]) -> Study:
    """Create a draft. Raises ValidationError by field, or IntegrityError if the name is taken."""
    study = copied(source, owner)
    for field, value in changes.items():
        setattr(study, field, value)
    upstream = list(source.upstream_tasks.all())
    design.save_draft(study, list(source.tasks.all()), upstream=upstream)
    return study
