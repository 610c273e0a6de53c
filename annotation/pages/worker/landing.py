"""What the landing page of a study shows: the study, and Start, or why there is no seat."""

from typing import Any

from django.urls import reverse

from annotation.access import Arrival
from annotation.models import Participation
from annotation.money import ledger
from annotation.recruitment import refusals


def landing_page(
    arrival: Arrival, begun: Participation | None = None, refused: str = ""
) -> dict[str, Any]:
    """What worker/landing.html shows; `begun` is what this visitor would go on with.

    What an id alone leads to is shown in the browser that began it, and nowhere else.
    """
    study, door = arrival.study, arrival.door
    state = refused or arrival.refusal() or "open"
    may_start = state in ("open", "busy")
    ended = None if begun or may_start else arrival.ended()
    if any(theirs and not arrival.owns(theirs) for theirs in (begun, ended)):
        begun, ended, state, may_start = None, None, "elsewhere", False
    has_submission = bool(arrival.who and arrival.who.submission)
    way_out = None
    if not (begun or ended or may_start or state == "elsewhere"):
        outcome = "incompatible_device" if state == "device" else "study_full"
        way_out = door.exit(outcome, arrival.who, "")
    tasks = study.scenarios.select_related("task")
    start_url = reverse("start", args=[arrival.code])
    return {
        "title": study.title,
        "what": sorted({scenario.task.card.description for scenario in tasks}),
        "minutes": study.estimated_minutes,
        "rate": ledger.promise(study),
        "idle_limit_hours": study.idle_limit_hours,
        "preview": arrival.is_preview,
        "state": "open" if begun or may_start else state,
        "sentence": refusals.NO_SEAT.get(state, ""),
        "resume_url": reverse("work", args=[begun.token]) if begun and not has_submission else "",
        # Another submission, or the next part, is noted by pressing Go on: GET writes nothing.
        "goes_on_by_post": bool(begun and has_submission),
        "ended_url": reverse("work", args=[ended.token]) if ended else "",
        "exit": way_out,
        "start_url": f"{start_url}?{arrival.query}" if arrival.query else start_url,
        "ticket": arrival.ticket,
    }
