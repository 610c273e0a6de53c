"""Assigning seats at Start, freeing and resuming them, without ever overfilling a scenario.

A seat is taken at Start, before consent. It is held for ten minutes until consent is given, and for
the study's idle limit after that. Allocation is balanced: a worker gets the least full of the
scenarios that they may join, with ties broken by the study's seed. Each choice is logged with its
candidates. The schema makes overfilling impossible, because a seat number is unique per scenario
and kind. The lock here turns a race for the last seat into a clear "full" rather than an error.

A study can be done in parts, because Prolific limits a submission to less than a day and has no
qualifications. The training (or screening) step is then one study on Prolific, and the annotation
step is one or more others (docs/prolific.md#prolifics-constraints). `Participation.part` is 0 for
workers who came by a link, whose work has no parts.
"""

import random
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import get_random_string
from django.utils.translation import gettext

from annotation.models import (
    JUDGED_STEPS,
    MAY_RESUME,
    Allocation,
    DeclinedOffer,
    Kind,
    Participation,
    ProlificStudy,
    Scenario,
    Status,
    Step,
    Study,
    StudyStatus,
    Worker,
)
from annotation.pay import budget
from annotation.recruitment import eligibility, join_errors, platform_adapters
from annotation.recruitment.join_errors import RecruitmentError
from tasks.clock import database_now


def join(
    study_id: int,
    key: str,
    platform: str,
    kind: str,
    *,
    among: list[int] | None = None,
    part: int = 0,
    browser: str = "",
    anonymous: bool = False,
    verified: bool = True,
    refused: str = "",
) -> Participation:
    """Assign a seat to a worker, or return the worker's live participation.

    On `anonymous` links, people who have not consented hold at most a third of the seats. If the ID
    is not `verified`, a participation is returned only to the browser that started it. `refused` is
    a code in join_errors.NO_SEAT if the adapter does not assign new seats. Raises RecruitmentError
    if the worker does not get a seat.
    """
    now = database_now()
    # Without a lock, concurrent requests could both count the last seat as free.
    with Study.locking(study_id) as study:
        expire_idle(study, now)
        budget.settle_left(study)
        worker, is_new = _worker(key, platform, kind)
        existing = None if is_new else _existing(study, worker, browser, verified)
        if existing is not None:
            return enter_part(existing, part)
        if part > 1:
            raise RecruitmentError("not_invited")
        joinable = join_errors.joinable(study, key, kind, among, now)
        code = refused or join_errors.refusal(study, key, kind, among, browser, now, joinable)
        if not code and anonymous and _too_many_unconsented(study):
            code = "busy"
        if code:
            raise RecruitmentError(code)
        scenarios = {scenario.pk: scenario for scenario in joinable}
        candidates = [
            [pk, scenario.taken, scenario.seats_for(kind)]  # type: ignore[attr-defined]  # annotated
            for pk, scenario in scenarios.items()
        ]
        scenario = scenarios[choose(study.seed, study.allocations.count() + 1, candidates)]
        return take_seat(study, scenario, worker, candidates, part=part, browser=browser)


def _existing(study: Study, worker: Worker, browser: str, verified: bool) -> Participation | None:
    """Return the live or resumed participation, under the study's lock. Raises RecruitmentError."""
    participations = study.participations.filter(worker=worker)
    if not verified and participations.live().exclude(browser=browser).exists():
        raise RecruitmentError("elsewhere")
    live = participations.live().first()
    if live is not None:
        return live
    # Workers who return late continue where they stopped rather than starting again.
    expired = participations.expired_at_work().order_by("-pk").first()
    if expired is None or study.status != StudyStatus.OPEN:
        return None
    if not verified and expired.browser != browser:
        raise RecruitmentError("elsewhere")
    if not eligibility.admits(study, worker.key):
        raise RecruitmentError("not_eligible")
    return _reseat(expired)


def next_task(participation: Participation) -> Participation:
    """Assign a seat in another of the study's tasks. Raises RecruitmentError."""
    worker, browser = participation.worker, participation.browser
    study = participation.study_id
    return join(study, worker.key, worker.platform, worker.kind, browser=browser)


def _worker(key: str, platform: str, kind: str) -> tuple[Worker, bool]:
    """Return (worker, whether it is new). The row is locked so that it cannot be deleted."""
    while True:
        defaults = {"platform": platform, "kind": kind}
        worker, is_new = Worker.objects.get_or_create(key=key, defaults=defaults)
        if is_new:
            return worker, True  # no other transaction can see the row yet
        row = Worker.objects.select_for_update(no_key=True).filter(key=key).first()
        if row is not None:
            return row, False


def _too_many_unconsented(study: Study) -> bool:
    """Return whether people without consent hold at least a third of all seats, and at least three.

    The caller must hold the study's lock and have freed idle seats (`expire_idle`). People with a
    personal link do not count, because the researchers know them.
    """
    waiting = study.participations.filter(kind=Kind.PERSON, status=Status.ARRIVED)
    waiting = waiting.exclude(platform_adapters.adapters_with("invited", "worker__platform"))
    seats = sum(study.scenarios.values_list("seats", flat=True))
    return waiting.count() >= max(3, seats // 3)


def choose(seed: int, arrival: int, candidates: list[list[int]]) -> int:
    """Return the least full scenario (ties: seed and arrival). `candidates` as in Allocation."""
    fewest = min(filled for _key, filled, _seats in candidates)
    tied = [key for key, filled, _seats in candidates if filled == fewest]
    return random.Random(f"{seed}:seat:{arrival}").choice(tied)


def resume(participation: Participation) -> Participation:
    """Give a worker whose seat expired or was returned a seat in the same scenario again.

    The worker continues where they stopped. Raises RecruitmentError if no seats are free or the
    study isn't assigning any at present. Does nothing if the status is any other.
    """
    with Study.locking(participation.study_id) as study:
        expire_idle(study)
        participation = Participation.objects.get(pk=participation.pk)
        if participation.status not in MAY_RESUME:
            return participation
        if study.status != StudyStatus.OPEN:
            raise RecruitmentError(study.status)
        if not eligibility.admits(study, participation.worker.key):
            raise RecruitmentError("not_eligible")
        if study.participations.live().filter(worker=participation.worker_id).exists():
            raise RecruitmentError(
                "done", gettext("You are working on another task of this study.")
            )
        if not participation.has_seen_an_example() and (
            join_errors.tasks_begun(study, participation.worker.key) >= study.tasks_per_worker
        ):
            raise RecruitmentError("done")
        return _reseat(participation)


def _reseat(participation: Participation) -> Participation:
    """Assign a seat again. The caller must hold the study's lock and have freed idle seats."""
    participation = Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
    if participation.status not in MAY_RESUME:
        return participation  # it was withdrawn in the meantime
    if join_errors.is_rejected(participation.study, participation.worker.key):
        raise RecruitmentError("rejected")
    seat = free_seat(participation.scenario, participation.kind)
    if seat is None:
        raise RecruitmentError("taken")
    if not budget.has_room(participation.study, participation.kind, returning=participation):
        raise RecruitmentError("budget")
    participation.store(
        status=_state_to_go_on_in(participation), seat_number=seat, returned_at=database_now(),
        worked_seconds=None,  # the work continues
    )  # fmt: skip
    return participation


def _state_to_go_on_in(participation: Participation) -> str:
    if participation.consented_at is None:
        return Status.ARRIVED
    if participation.waiting_since is not None and participation.decided_at is None:
        return Status.WAITING
    last = participation.latest_turn()
    # The work stopped between two parts if an answered example has no successor. After the training
    # step, this could also be a reveal that is still shown, but the end of a part is stored.
    if last is not None and last.given is not None and not last.awaits_confidence and (
        not last.is_revealed or participation.submissions.filter(outcome="completed").exists()
    ):  # fmt: skip
        return Status.BETWEEN
    return Status.WORKING


def free_seat(scenario: Scenario, kind: str) -> int | None:
    """Return the lowest free seat number for this kind of annotators, or None."""
    seated = scenario.participations.seated().filter(kind=kind)
    numbers = set(seated.values_list("seat_number", flat=True))
    seats = range(1, scenario.seats_for(kind) + 1)
    return next((seat for seat in seats if seat not in numbers), None)


def take_seat(
    study: Study,
    scenario: Scenario,
    worker: Worker,
    candidates: list[list[int]] | None = None,
    *,
    part: int = 0,
    browser: str = "",
) -> Participation:
    """Create the participation in the scenario's lowest free seat, which must exist.

    The choice is logged with `candidates` in the format of Allocation, by default only the
    scenario. The caller must hold the study's lock.
    """
    if candidates is None:
        seated = scenario.participations.seated().filter(kind=worker.kind).count()
        candidates = [[scenario.pk, seated, scenario.seats_for(worker.kind)]]
    allocation = Allocation.objects.create(
        study=study,
        arrival=study.allocations.count() + 1,
        kind=worker.kind,
        candidates=candidates,
        scenario=scenario,
    )
    return Participation.objects.create(
        study=study, scenario=scenario, worker=worker, kind=worker.kind, arrived_at=database_now(),
        seat_number=free_seat(scenario, worker.kind), pseudonym=_new_name(study),
        completion_code=new_code(), part=part, browser=browser, arrival=allocation.arrival,
    )  # fmt: skip


def _new_name(study: Study) -> str:
    """Return a pseudonym that is new in the study and reveals neither identity nor time."""
    while True:
        name = "A-" + new_code(5)
        if not study.participations.filter(pseudonym=name).exists():
            return name


LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # omits characters that look alike: I and 1, O and 0


def new_code(length: int = 8) -> str:
    return get_random_string(length, LETTERS)


BEFORE_ANNOTATION = (Step.ANCHOR, Step.UPSTREAM, *JUDGED_STEPS)


def ends_before(participation: Participation, position: int) -> bool:
    """Return whether a position in the annotation step is beyond the end of the worker's part."""
    parts = ProlificStudy.objects.filter(scenarios=participation.scenario_id, part__gt=0)
    ends = dict(parts.order_by("part").values_list("part", "until"))
    if participation.part not in ends:
        return False
    stored = ends[participation.part]
    return position >= (_end(participation, max(ends)) if stored is None else stored)


def _end(participation: Participation, last: int) -> int:
    """Return how many annotation examples a worker has done by the end of the part.

    Part 1 comes before the step. If there are no examples before it, all parts are equally long.
    """
    begins_before = any(participation.order_of(step) for step in BEFORE_ANNOTATION)
    parts, count = (
        (last - 1, participation.part - 1) if begins_before else (last, participation.part)
    )
    return round(len(participation.annotation_order) * count / parts) if parts else 0


def enter_part(participation: Participation, part: int) -> Participation:
    """Continue a part; a new part starts at its first example. Requires the study's lock."""
    if part <= participation.part:
        return participation
    locked = Participation.objects.lock(participation.token)
    locked.store(part=part)
    if locked.status != Status.BETWEEN:
        return locked
    last = locked.latest_turn()
    assert last is not None  # an example was shown before the part ended
    position = 0 if last.step in BEFORE_ANNOTATION else last.position + 1
    if not ends_before(locked, position):
        locked.store(status=Status.WORKING)
        locked.show(Step.ANNOTATION, position, last.channel, previous=last, left_at=last.left_at)
    return locked


def end_part(participation: Participation) -> None:
    """End the part. The worker keeps the seat and leaves with the part's completion code."""
    participation.store(status=Status.BETWEEN)
    note_outcome(participation, "completed")


def note_outcome(participation: Participation, outcome: str) -> None:
    """Store the outcome (a key of OUTCOMES, or "withdrawn") in the latest submission, once."""
    latest = participation.submissions.order_by("-pk").first()
    if latest is not None and not latest.outcome:
        latest.store(outcome=outcome)


# Freeing seats ------------------------------------------------------------------------------------

# Seats are freed if they were idle for too long, returned on the platform or released by a
# researcher. Other steps free seats, too: consent.py (declined), training_step.py (task already
# done), qualification.py (screened out), withdrawal.py, exclusion.py, and prolific/submissions.py
# (rejected).


def free_by_hand(participation: Participation, reason: str, by: User) -> None:
    """Free the seat of an annotator who has not returned, at a researcher's request.

    The reason is logged. An annotator who returns later can continue as long as a seat is free.
    Raises ValueError if there is no seat to be freed.
    """
    with Study.locking(participation.study_id):
        if not release_seat(participation, Status.EXPIRED):
            raise ValueError("This annotator has no seat to free.")
        event = f"{freed(participation)}{reason}"
        pseudonym = participation.pseudonym
        participation.study.events.create(what=event[:200], about=pseudonym, by=by)


def freed(participation: Participation) -> str:
    """Return the log entry for a manually freed seat, up to the reason."""
    return f"seat of {participation.pseudonym} freed: "


def release_seat(participation: Participation, status: str) -> bool:
    """Free the seat of an active annotator, as requested by the platform or a researcher.

    `status` is RETURNED or EXPIRED. Returns whether a seat was freed.
    """
    with Participation.locking(participation.pk) as locked:
        if not locked.is_live:
            return False
        locked.store(status=status, seat_number=None)
        return True


def sweep() -> int:
    """Free idle seats, settle abandoned work and delete old offers. Return the number freed."""
    now, freed = database_now(), 0
    at_work = Participation.objects.live().values("study")
    for study in Study.objects.filter(pk__in=at_work):
        freed += expire_idle(study, now)
    for study in Study.objects.filter(status__in=(StudyStatus.OPEN, StudyStatus.PAUSED)):
        budget.settle_left_in_turn(study)
    DeclinedOffer.objects.exclude(pk__in=DeclinedOffer.objects.fresh(now).values("pk")).delete()
    return freed


def expire_idle(study: Study, now: datetime | None = None) -> int:
    """Free all seats beyond the idle limit, as counted by `holding_seats`. Return their number."""
    idle = study.participations.idle(now or database_now(), study).values_list("pk", flat=True)
    if not (found := list(idle)):
        return 0
    with transaction.atomic():
        # An annotator who is answering right now holds the lock, so check again under the lock.
        candidates = Participation.objects.filter(pk__in=found).select_for_update(no_key=True)
        still = idle.filter(pk__in=[participation.pk for participation in candidates])
        return Participation.objects.filter(pk__in=list(still)).update(
            status=Status.EXPIRED, seat_number=None
        )
