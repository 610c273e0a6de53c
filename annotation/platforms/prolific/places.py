"""Places on Prolific for the seats that are free here, and why a study there is paused."""

from annotation.models import (
    ProlificStudy,
    Study,
    StudyStatus,
)
from annotation.money import budget
from annotation.platforms.prolific.client import Client, status_of
from annotation.platforms.prolific.drafts import PlanError
from annotation.platforms.prolific.rows import Found, Row, Synced
from annotation.platforms.prolific.studies import free_seats

NO_SEAT_FREE = "Handful paused it: no seat is free here"
NO_ROOM = "Handful paused it: the budget is exhausted"
NOT_OPEN = "Handful paused it: the study does not assign seats"


def fit_places(study: Study, found: list[Found], client: Client, done: Synced) -> None:
    """Places there for the seats that are free here and that the budget has room for.

    The room is one for all studies on Prolific. People with a place there and no seat yet are on
    the way to a free seat, and to a part of the room.
    """
    study = Study.objects.get(pk=study.pk)
    room = budget.room(study)
    if room is not None:
        room = max(room - sum(one.coming for one in found), 0)
    is_open = study.status == StudyStatus.OPEN
    found = [one for one in found if one.may_let_in]
    free = [max(free_seats(one.study) - one.coming, 0) if is_open else 0 for one in found]
    for one, free_here, share in zip(found, free, _share_out(free, room), strict=True):
        if_none = NO_ROOM if free_here else NO_SEAT_FREE if is_open else NOT_OPEN
        with done.noting(one.study):
            _fit(study, one, share, if_none, client, done)


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
    study: Study, found: Found, wanted: int, if_none: str, client: Client, done: Synced
) -> None:
    """Add places there, pause or restart, so that this many new arrivals are admitted.

    A place whose return was asked for is not bought again: it comes back, or it is approved.
    """
    one, reason = found.study, "" if wanted else if_none
    needed = found.kept + wanted
    if wanted and needed > one.places:
        more = budget.within(study, one.reward_cents, needed - one.places)
        if more:
            client.set_places(one.id_there, one.places + more)
            done.places_added += more
            one.places += more
            one.save(update_fields=["places"])
            # That alone sets a study that had ended going again.
            one.status = str(client.study(one.id_there)["status"])[:20]
            one.save(update_fields=["status"])
        elif found.open_places <= 0:
            reason = NO_ROOM
    status, has_open = status_of(one.status), found.open_places > 0
    if status == "ACTIVE" and reason and has_open:
        _pause(one, client, reason)
        done.paused += 1
    elif status == "PAUSED" and reason:
        one.pause_reason = reason
        one.save(update_fields=["pause_reason"])
    elif status == "PAUSED" and has_open:
        start(one, client)
        done.started += 1


def _pause(one: ProlificStudy, client: Client, reason: str) -> None:
    """Admit no arrival without a free seat: they would have to return the study, unpaid."""
    client.transition(one.id_there, "PAUSE")
    one.status, one.pause_reason, one.paused_here = "PAUSED", reason, True
    one.save(update_fields=["status", "pause_reason", "paused_here"])


def start(one: ProlificStudy, client: Client) -> None:
    """Set a paused study going again. Raises ProlificError."""
    client.transition(one.id_there, "START")
    one.status, one.pause_reason, one.paused_here = "ACTIVE", "", False
    one.save(update_fields=["status", "pause_reason", "paused_here"])


def start_by_hand(draft: ProlificStudy) -> None:
    """Start a paused study because a researcher asks for it.

    Raises PlanError for one that is not paused, and ProlificError.
    """
    if not draft.external_id or draft.status != "PAUSED":
        raise PlanError(f"{draft.name} is not paused on Prolific.")
    start(draft, Client())


def note_pause(one: ProlificStudy, rows: list[Row], before: str, there: dict) -> None:
    """Why it is paused though Handful did not ask for it."""
    slots = _slots(there)
    screened_out = sum(row.status == "SCREENED_OUT" for row in rows)
    if slots is not None and screened_out >= slots:
        one.pause_reason = (
            f"Prolific paused it: its {slots} paid screen-outs are used up. Raise the slots of the"
            " completion code there, then start it"
        )
    elif before == "AWAITING_REVIEW":
        # Prolific does so when a place is freed after all of them were filled.
        one.pause_reason, one.paused_here = "Prolific paused it: a place was freed", True
    else:
        one.pause_reason = "It was paused on Prolific, not by Handful"
    one.save(update_fields=["pause_reason", "paused_here"])


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
