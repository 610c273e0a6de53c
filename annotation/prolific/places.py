"""Match the places on Prolific to the free seats here, and pause and restart studies."""

from annotation.models import AuditEntry, ProlificStudy, Study, StudyStatus, Topic
from annotation.pay import budget
from annotation.prolific.accounts import client_of
from annotation.prolific.client import Client, status_of
from annotation.prolific.drafts import PlanError
from annotation.prolific.studies import free_seats
from annotation.prolific.submissions import PlaceCounts, Row, SyncReport

NO_SEAT_FREE = "Handful paused it: no seat is free here"
NO_ROOM = "Handful paused it: the budget is exhausted"
NOT_OPEN = "Handful paused it: the study does not assign seats"


def fit_places(
    study: Study, counted: list[PlaceCounts], client: Client, report: SyncReport
) -> None:
    """Set the number of places on Prolific to match the free seats here, within the budget.

    All studies on Prolific share the budget. A person with a place on Prolific who has not been
    seated yet already counts towards seats and budget.
    """
    study = Study.objects.get(pk=study.pk)
    room = budget.room(study)
    if room is not None:
        room = max(room - sum(counts.coming for counts in counted), 0)
    is_open = study.status == StudyStatus.OPEN
    counted = [counts for counts in counted if counts.may_let_in]
    free = [
        max(free_seats(counts.study) - counts.coming, 0) if is_open else 0 for counts in counted
    ]
    for counts, free_here, share in zip(counted, free, _share_out(free, room), strict=True):
        if_none = NO_ROOM if free_here else NO_SEAT_FREE if is_open else NOT_OPEN
        with report.noting(counts.study):
            _fit(study, counts, share, if_none, client, report)


def _share_out(needs: list[int], room: int | None) -> list[int]:
    """Distribute `room` places one at a time, each to the study that needs the most."""
    if room is None:
        return needs
    shares = [0] * len(needs)
    for _ in range(min(room, sum(needs))):
        neediest = max(range(len(needs)), key=lambda at: needs[at] - shares[at])
        shares[neediest] += 1
    return shares


def _fit(
    study: Study, counts: PlaceCounts, seats: int, if_none: str, client: Client, report: SyncReport
) -> None:
    """Add places on Prolific, or pause or restart the study, so that `seats` new people can arrive.

    A place is not replaced while its return is requested: it may still be approved.
    """
    prolific_study, reason = counts.study, "" if seats else if_none
    needed = counts.staying + seats
    if seats and needed > prolific_study.places:
        extra = budget.within(study, prolific_study.reward_cents, needed - prolific_study.places)
        if extra:
            client.set_places(prolific_study.id_there, prolific_study.places + extra)
            report.places_added += extra
            prolific_study.store(places=prolific_study.places + extra)
            # Adding a place also restarts a study that has ended.
            status = str(client.study(prolific_study.id_there)["status"])[:20]
            prolific_study.store(status=status)
        elif counts.open_places <= 0:
            reason = NO_ROOM
    status, has_open = status_of(prolific_study.status), counts.open_places > 0
    if status == "ACTIVE" and reason and has_open:
        # Anyone who arrives without a free seat would have to return their place unpaid.
        client.transition(prolific_study.id_there, "PAUSE")
        prolific_study.store(status="PAUSED", pause_reason=reason, paused_here=True)
        report.paused += 1
    elif status == "PAUSED" and reason:
        prolific_study.store(pause_reason=reason)
    elif status == "PAUSED" and has_open:
        start(prolific_study, client)
        report.started += 1


def start(prolific_study: ProlificStudy, client: Client) -> None:
    """Restart a paused study. Raises ProlificError."""
    client.transition(prolific_study.id_there, "START")
    prolific_study.store(status="ACTIVE", pause_reason="", paused_here=False)


def start_manually(prolific_study: ProlificStudy) -> None:
    """Restart a paused study. Raises PlanError if it isn't paused, and ProlificError."""
    if not prolific_study.external_id or prolific_study.status != "PAUSED":
        raise PlanError(f"{prolific_study.name} is not paused on Prolific.")
    start(prolific_study, client_of(prolific_study))
    AuditEntry.objects.record(
        "restarted on Prolific", Topic.PLATFORM, study=prolific_study.study,
        about=prolific_study.name, before={"status": "PAUSED"},
    )  # fmt: skip


def note_pause(prolific_study: ProlificStudy, rows: list[Row], previous: str, record: dict) -> None:
    slots = _slots(record)
    screened_out = sum(row.status == "SCREENED_OUT" for row in rows)
    paused_here = prolific_study.paused_here
    if slots is not None and screened_out >= slots:
        reason = (
            f"Prolific paused it: its {slots} paid screen-outs are used up. Raise the slots of the"
            " completion code there, then start it"
        )
    elif previous == "AWAITING_REVIEW":
        # Prolific pauses a study if a place becomes free after all of them had been filled.
        reason, paused_here = "Prolific paused it: a place was freed", True
    else:
        reason = "It was paused on Prolific, not by Handful"
    prolific_study.store(pause_reason=reason, paused_here=paused_here)


def _slots(record: dict) -> int | None:
    """Return how many paid screen-outs the study allows, or None if unset or unclear."""
    codes = record.get("completion_codes")
    for code in codes if isinstance(codes, list) else []:
        actions = code.get("actions") if isinstance(code, dict) else None
        for action in actions if isinstance(actions, list) else []:
            slots = action.get("slots") if isinstance(action, dict) else None
            if isinstance(slots, int) and action.get("action") == "FIXED_SCREEN_OUT_PAYMENT":
                return slots
    return None
