"""Context for a study's landing page, which has a Start button or the reason for a refusal."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from annotation.models import Kind, Participation, Study
from annotation.participation.question import Question
from annotation.participation.state import worked_example
from annotation.pay import promises
from annotation.recruitment import join_errors
from annotation.recruitment.links import COOKIE_AGE
from annotation.recruitment.visitors import Arrival
from annotation.study import cross_task, minutes
from tasks.answers import KINDS

REFUSED = "refused"  # both the name and the salt of the cookie


def landing_page(
    arrival: Arrival, live: Participation | None = None, code: str = ""
) -> dict[str, Any]:
    """Return the context for participation/landing.html.

    `live` is the visitor's participation, and `code` is the reason for a refusal, if known. A
    participation found by an unverified ID is shown only in the browser in which it was started.
    """
    study, adapter = arrival.study, arrival.adapter
    state = code or arrival.refusal() or "open"
    may_start = state in ("open", "busy")
    ended = None if live or may_start else arrival.ended()
    if any(seat and not arrival.owns(seat) for seat in (live, ended)):
        live, ended, state, may_start = None, None, "elsewhere", False
    has_submission = bool(arrival.identity and arrival.identity.submission)
    is_refused = not (live or ended or may_start or state == "elsewhere")
    outcome = "incompatible_device" if state == "device" else "study_full"
    study_exit = adapter.exit(outcome, arrival.identity, "") if is_refused else None
    start_url = reverse("start", args=[arrival.code])
    minutes = {scenario.estimated_minutes for scenario in study.scenarios.all()} or {0}
    return {
        "title": study.title,
        **what_it_asks(study),
        "minutes": max(minutes),
        # Only set if the duration depends on the seat.
        "minutes_range": range_text(minutes) if len(minutes) > 1 else "",
        "rate": promises.promise(study, minutes),
        "pay": [part for part in promises.parts(study, minutes) if part],
        "example": _example(study),
        "idle_limit_hours": study.idle_limit_hours,
        "preview": arrival.is_preview,
        "state": "open" if live or may_start else state,
        "sentence": join_errors.NO_SEAT.get(state, ""),
        "resume_url": reverse("work", args=[live.token]) if live and not has_submission else "",
        # Continue sends a POST, to store another submission or start the next part.
        "goes_on_by_post": bool(live and has_submission),
        "ended_url": reverse("work", args=[ended.token]) if ended else "",
        "exit": study_exit,
        # The page sends this in a POST so that the refusal is counted, because GET never writes.
        "refused": state if is_refused and not arrival.is_preview else "",
        "refused_url": reverse("refused", args=[arrival.code]),
        "start_url": f"{start_url}?{arrival.query}" if arrival.query else start_url,
        "ticket": arrival.ticket,
    }


def count_refusal(request: HttpRequest, arrival: Arrival, response: HttpResponse) -> None:
    """Count the refusal shown on the landing page, once per reason and browser.

    The cookie contains only reasons, and is sent only to the URLs of this link.
    """
    state = landing_page(arrival, arrival.live())["refused"]
    if not state or arrival.kind != Kind.PERSON:
        return
    why = join_errors.counted_reason(arrival.study, arrival.key, state, arrival.adapter.scenarios())
    counted = (request.get_signed_cookie(REFUSED, "", salt=REFUSED) or "").split()
    if not why or why in counted:
        return
    join_errors.count(arrival.study, why)
    response.set_signed_cookie(
        REFUSED,
        " ".join([*counted, why]),
        salt=REFUSED,
        path=reverse("landing", args=[arrival.code]),
        max_age=COOKIE_AGE,
        httponly=True,
        secure=settings.HTTPS,
        samesite="Lax",
    )


def what_it_asks(study: Study) -> dict[str, Any]:
    """Return the number and length of examples as ranges, because the task depends on the seat."""
    loads = minutes.workloads(study, list(study.tasks.all()))
    # In a cross-task study, neither the unseen task nor the arm may be given away.
    cards = [load.task.card for load in loads]
    cards += [task.card for task in cross_task.trained_first(study)]
    sizes = set(cross_task.lengths(study).values()) or {0}
    trained = [load.training + size for load in loads for size in sizes]
    counts = {
        "examples": [load.examples - load.upstream + size for load in loads for size in sizes],
        "anchors": [load.anchors for load in loads if load.anchors],
        "training": [number for number in trained if number],
        "screening": [load.screening for load in loads if load.screening],
        "test": [load.test for load in loads],
        "words": [
            roughly(count)
            for load in loads
            for count in (load.words, *[load.upstream_words] * bool(load.upstream))
        ],
        "labels": [len(card.labels) for card in cards if card.labels],
    }
    labels, by = range_text(counts["labels"]), {card.kind for card in cards}
    return {
        "what": [card for _description, card in sorted({c.description: c for c in cards}.items())],
        "always_trains": all(trained),
        "by": [gettext(k.brief.text) % {"labels": labels} for k in KINDS.values() if k in by],
        **{name: range_text(numbers) for name, numbers in counts.items()},
        # The plural form follows the larger number: "10 to 30 examples".
        "most": {name: max(numbers, default=0) for name, numbers in counts.items()},
    }


def _example(study: Study) -> dict[str, Any]:
    """Return a training example without its gold answer, or an invented example.

    The example is invented in cross-task studies, for zero-shot runs, and if texts need a warning.
    """
    task = study.tasks.order_by("name")[0]
    if 0 in study.shots or study.is_cross_task or study.audience.get("content_warning"):
        return worked_example(task.card)
    train = task.train_split(min(study.shots), min(study.splits))
    return {"card": task.card, "question": Question(task.card, train.examples.all()[0])}


def range_text(numbers: Iterable[int]) -> str:
    """Return text such as "20" or "20 to 30", or "" without numbers."""
    ordered = sorted(set(numbers))
    if len(ordered) < 2:
        return "".join(map(str, ordered))
    return gettext("%(least)s to %(most)s") % {"least": ordered[0], "most": ordered[-1]}


def roughly(number: int) -> int:
    """Round a word count: 23 becomes 25, and 187 becomes 200."""
    step = 5 if number < 50 else 10 if number < 100 else 50
    return max(step * round(number / step), 5)
