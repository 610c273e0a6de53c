"""Places on Prolific for the seats that are free here, and why a study there is paused."""

from typing import Any

from annotation.models import (
    AuditEntry,
    ProlificStudy,
    Study,
    StudyStatus,
    Topic,
)
from annotation.money import budget
from annotation.platforms.prolific.accounts import client_of
from annotation.platforms.prolific.client import Client, status_of
from annotation.platforms.prolific.drafts import PlanError
from annotation.platforms.prolific.studies import free_seats
from annotation.platforms.prolific.submissions import Found, Row, Synced

NO_SEAT_FREE = "Handful paused it: no seat is free here"
NO_ROOM = "Handful paused it: the budget is exhausted"
NOT_OPEN = "Handful paused it: the study does not assign seats"


def fit_places(study: Study, states: list[Found], client: Client, done: Synced) -> None:
    """Places there for the seats that are free here and that the budget has room for.

    The room is one for all studies on Prolific. People with a place there and no seat yet are on
    the way to a free seat, and to a part of the room.
    """
    study = Study.objects.get(pk=study.pk)
    room = budget.room(study)
    if room is not None:
        room = max(room - sum(state.coming for state in states), 0)
    is_open = study.status == StudyStatus.OPEN
    states = [state for state in states if state.may_let_in]
    free = [max(free_seats(state.study) - state.coming, 0) if is_open else 0 for state in states]
    for state, free_here, share in zip(states, free, _share_out(free, room), strict=True):
        if_none = NO_ROOM if free_here else NO_SEAT_FREE if is_open else NOT_OPEN
        with done.noting(state.study):
            _fit(study, state, share, if_none, client, done)


def _share_out(wanted: list[int], room: int | None) -> list[int]:
    """To each what it wants, as long as there is room: always one more to who lacks most."""
    if room is None:
        return wanted
    shares = [0] * len(wanted)
    for _ in range(min(room, sum(wanted))):
        neediest = max(range(len(wanted)), key=lambda at: wanted[at] - shares[at])
        shares[neediest] += 1
    return shares


def _fit(
    study: Study, state: Found, wanted: int, if_none: str, client: Client, done: Synced
) -> None:
    """Add places there, pause or restart, so that this many new arrivals are admitted.

    A place whose return was asked for is not bought again: it comes back, or it is approved.
    """
    prolific_study, reason = state.study, "" if wanted else if_none
    needed = state.kept + wanted
    if wanted and needed > prolific_study.places:
        more = budget.within(study, prolific_study.reward_cents, needed - prolific_study.places)
        if more:
            client.set_places(prolific_study.id_there, prolific_study.places + more)
            done.places_added += more
            _store(prolific_study, places=prolific_study.places + more)
            # That alone sets a study that had ended going again.
            status = str(client.study(prolific_study.id_there)["status"])[:20]
            _store(prolific_study, status=status)
        elif state.open_places <= 0:
            reason = NO_ROOM
    status, has_open = status_of(prolific_study.status), state.open_places > 0
    if status == "ACTIVE" and reason and has_open:
        _pause(prolific_study, client, reason)
        done.paused += 1
    elif status == "PAUSED" and reason:
        _store(prolific_study, pause_reason=reason)
    elif status == "PAUSED" and has_open:
        start(prolific_study, client)
        done.started += 1


def _pause(prolific_study: ProlificStudy, client: Client, reason: str) -> None:
    """Admit no arrival without a free seat: they would have to return the study, unpaid."""
    client.transition(prolific_study.id_there, "PAUSE")
    _store(prolific_study, status="PAUSED", pause_reason=reason, paused_here=True)


def start(prolific_study: ProlificStudy, client: Client) -> None:
    """Set a paused study going again. Raises ProlificError."""
    client.transition(prolific_study.id_there, "START")
    _store(prolific_study, status="ACTIVE", pause_reason="", paused_here=False)


def _store(prolific_study: ProlificStudy, **changes: Any) -> None:
    for field, value in changes.items():
        setattr(prolific_study, field, value)
    prolific_study.save(update_fields=list(changes))


def start_by_hand(prolific_study: ProlificStudy) -> None:
    """Start a paused study because a researcher asks for it.

    Raises PlanError for one that is not paused, and ProlificError.
    """
    if not prolific_study.external_id or prolific_study.status != "PAUSED":
        raise PlanError(f"{prolific_study.name} is not paused on Prolific.")
    start(prolific_study, client_of(prolific_study))
    AuditEntry.objects.record(
        "started again on Prolific", Topic.PLATFORM, study=prolific_study.study,
        about=prolific_study.name, before={"status": "PAUSED"},
    )  # fmt: skip


def note_pause(prolific_study: ProlificStudy, rows: list[Row], before: str, there: dict) -> None:
    """Why it is paused though Handful did not ask for it."""
    slots = _slots(there)
    screened_out = sum(row.status == "SCREENED_OUT" for row in rows)
    paused_here = prolific_study.paused_here
    if slots is not None and screened_out >= slots:
        reason = (
            f"Prolific paused it: its {slots} paid screen-outs are used up. Raise the slots of the"
            " completion code there, then start it"
        )
    elif before == "AWAITING_REVIEW":
        # Prolific does so when a place is freed after all of them were filled.
        reason, paused_here = "Prolific paused it: a place was freed", True
    else:
        reason = "It was paused on Prolific, not by Handful"
    _store(prolific_study, pause_reason=reason, paused_here=paused_here)


def _slots(there: dict) -> int | None:
    """How many paid screen-outs the study allows; None where it has none, or says nothing."""
    codes = there.get("completion_codes")
    for code in codes if isinstance(codes, list) else []:
        actions = code.get("actions") if isinstance(code, dict) else None
        for action in actions if isinstance(actions, list) else []:
            slots = action.get("slots") if isinstance(action, dict) else None
            if isinstance(slots, int) and action.get("action") == "FIXED_SCREEN_OUT_PAYMENT":
                return slots
    return None
