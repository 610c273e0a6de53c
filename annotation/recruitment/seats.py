"""From arrival to consent: who this is, which seat they get, and whether they agree.

A seat is taken at Start, before consent is asked, and held for ten minutes until consent, then for
the study's idle limit. Allocation is balanced: the least filled scenario that this worker may join,
ties by the study's seed; each choice is logged with what it was made on. Over-filling is impossible
by schema (a seat number is unique per scenario and kind); the lock here is what turns a race for
the last seat into a clear "full" instead of an error.
"""

import random
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, F, ProtectedError, Q

from annotation.models import (
    LIVE,
    MAY_RESUME,
    Allocation,
    DeclinedOffer,
    Exposure,
    Kind,
    Participation,
    Scenario,
    Status,
    Step,
    Study,
    StudyStatus,
    Submission,
    Tombstone,
    Worker,
)
from annotation.money import budget
from annotation.recruitment import eligibility, identities, sittings
from annotation.recruitment.codes import new_code
from annotation.recruitment.doors import Door, Identity
from annotation.recruitment.identities import worker_key
from tasks.clock import database_now

# Before consent, also where the seat was not held any longer: who declines leaves only a count.
UNDECIDED = (Status.ARRIVED, *MAY_RESUME)


class RecruitmentError(Exception):
    """Why there is no seat. `code` is a key of NO_SEAT; the text is for people."""

    def __init__(self, code: str, sentence: str = ""):
        super().__init__(sentence or NO_SEAT[code])
        self.code = code


NO_SEAT = {
    "busy": "Many people are starting at the moment. Please try again in a minute: nothing is lost"
    " by waiting.",
    "link_off": "This link is switched off. If you were invited, please use the link that was sent"
    " to you.",
    "elsewhere": "Somebody with this id has already started. If it was you, continue in the"
    " browser in which you started, or open the personal link that you were shown there. If this"
    " is a further part, the personal link will work in a few minutes.",
    "browser": "Somebody has already taken part in this study from this browser, and each person"
    " can do so only once. If you share a computer, please tell the people who invited you.",
    "full": "All places in this study are taken at the moment. Thank you for your interest.",
    "budget": "The budget of this study is fully committed at the moment, so no more places are"
    " available. Thank you for your interest.",
    "closed": "This study is closed. Thank you for your interest.",
    "paused": "This study is paused. Please try again later with the same link.",
    "draft": "This study is not open yet. Please try again later with the same link.",
    "done": "You have already taken part in this study. Thank you!",
    "not_eligible": "This study is open to certain people only, and you are not eligible. Thank"
    " you for your interest.",
    "not_invited": "This is a later part of a study that you have not started. Thank you for your"
    " interest.",
    "device": "This study requires a desktop or laptop computer: highlighting words on a small"
    " screen would be tedious. Please open the same link on a computer.",
    "rejected": "Your submission to this study was rejected on the platform that you came from, so"
    " you cannot continue.",
    "taken": "Your place was given to somebody else in the meantime, so you cannot continue with"
    " this task. Your answers so far are kept.",
}


def joinable(
    study: Study, key: str, kind: str, among: list[int] | None = None, now: datetime | None = None
) -> list[Scenario]:
    """Scenarios with a free seat of that kind whose task this worker has never seen.

    Of all of the study, or `among` those keys. Each carries `taken`, its number of seats taken by
    that kind at that moment. Ordered by primary key. Whoever declined a scenario a short time ago
    is offered the same one again: nobody can look through them for the shortest.
    """
    seen = Exposure.objects.filter(worker_key=key).values("task_name")
    held = Participation.objects.holding_seats(now or database_now(), study).filter(kind=kind)
    taken = Count("participations", filter=Q(participations__in=held.order_by().values("pk")))
    scenarios = study.scenarios.exclude(task__name__in=seen).annotate(taken=taken).order_by("pk")
    if among is not None:
        scenarios = scenarios.filter(pk__in=among)
    declined = (
        DeclinedOffer.objects.filter(scenario__in=scenarios)
        .fresh(database_now())
        .filter(study=study, worker_key=key)
    )
    if declined.exists():
        scenarios = scenarios.filter(pk__in=declined.values("scenario"))
    return [scenario for scenario in scenarios if scenario.taken < scenario.seats]


def refusal(
    study: Study,
    key: str,
    kind: str,
    among: list[int] | None = None,
    browser: str = "",
    now: datetime | None = None,
) -> str:
    """Why this worker would get no seat now (a code of NO_SEAT), or "" if they would.

    `browser` is the keyed hash of the browser's cookie, "" where it does not matter.
    """
    if study.status != StudyStatus.OPEN:
        return study.status
    if is_rejected(study, key):
        return "rejected"
    if not eligibility.admits(study, key):
        return "not_eligible"
    if _has_left(study, key) or _tasks_begun(study, key) >= study.tasks_per_worker:
        return "done"
    if browser and not study.shared_computers and _took_part(study, key, browser):
        return "browser"
    if not joinable(study, key, kind, among, now):
        return "full"
    return "" if budget.has_room(study, kind, now=now) else "budget"


def _took_part(study: Study, key: str, browser: str) -> bool:
    """Has another worker of the study this browser, at work or with their work done?"""
    done = (Status.COMPLETED, Status.SCREENED_OUT)
    others = study.participations.filter(browser=browser).exclude(worker__key=key)
    return others.filter(status__in=(*LIVE, *done)).exists()


def _has_left(study: Study, key: str) -> bool:
    """Has this worker withdrawn, or been screened out? Then no other task here is theirs."""
    left = (Status.WITHDRAWN, Status.SCREENED_OUT)
    return study.participations.filter(worker__key=key, status__in=left).exists()


def is_rejected(study: Study, key: str) -> bool:
    """Does the platform show work of this worker in the study as rejected? No more work then."""
    return study.submissions.filter(worker__key=key, status="REJECTED").exists()


def _tasks_begun(study: Study, key: str) -> int:
    """How many tasks of the study this worker has begun: participations with an example shown.

    Or that ended before it by what the worker did: there is no second try at the questions.
    """
    theirs = Participation.objects.filter(study=study, worker__key=key)
    ended = (Status.WITHDRAWN, Status.SCREENED_OUT)
    begun = theirs.filter(Q(turns__isnull=False) | Q(status__in=ended))
    return begun.distinct().count()


def arrive(door: Door, who: Identity, browser: str) -> Participation:
    """Assign a seat to the arrival at that door, and store the platform's record of their work.

    `browser` is the random value of the browser's cookie. Raises RecruitmentError.
    """
    # Also where this arrival is refused in the end: what is swept up here stays so.
    expire_idle(door.study)
    budget.settle_left_in_turn(door.study)
    with transaction.atomic():
        participation = join(
            door.study.pk,
            worker_key(door.platform, who.person),
            door.platform,
            door.kind,
            among=door.scenarios(),
            part=door.part,
            browser=worker_key("browser", browser) if browser else "",
            anonymous=door.anonymous,
            verified=who.verified,
            refused=door.refusal(),
        )
        # A panel such as SONA has no id for the work: then the person's own leads back and is paid.
        if who.submission or door.submission_fields():
            _note_submission(door, who, participation.worker, participation)
        return participation


def note_elsewhere(door: Door, who: Identity) -> None:
    """An unverified id arrives again in another browser: have the platform confirm it.

    They are shown nothing. Once Prolific has confirmed that the new submission is that person's,
    `attach` lets what they began go on, by their personal link.
    """
    worker = Worker.objects.filter(key=worker_key(door.platform, who.person)).first()
    if worker is not None and door.confirms:
        _note_submission(door, who, worker, None)


def attach(submission: Submission) -> None:
    """Join a confirmed submission to what its worker has begun; the next part of it can go on."""
    with transaction.atomic():
        study = Study.objects.locked().get(pk=submission.study_id)
        theirs = study.participations.filter(worker=submission.worker_id).order_by("-pk")
        begun = theirs.live().first() or theirs.expired_at_work().first()
        if begun is None:
            return
        submission.participation = begun
        submission.save(update_fields=["participation"])
        if begun.is_live:
            sittings.enter_sitting(begun, submission.prolific_study.part)


def submission_key(platform: str, submission: str) -> str:
    """The keyed hash by which a platform's record of some work is found again."""
    return worker_key(f"submission:{platform}", submission)


def _note_submission(
    door: Door, who: Identity, worker: Worker, participation: Participation | None
) -> None:
    """Store the platform's record of this work, once; without a participation it waits for one."""
    submission = who.submission or f"participation {participation.pk}"
    stored, made = Submission.objects.get_or_create(
        key=submission_key(door.platform, submission),
        defaults={
            "study": door.study,
            "worker": worker,
            "participation": participation,
            "platform": door.platform,
            "person": identities.encrypt(who.person),
            "verified": True if who.verified else None,
            "reference": identities.encrypt(who.submission),
            **door.submission_fields(),
        },
    )
    if made or participation is None or stored.participation_id == participation.pk:
        return
    # They came again with the same submission after a seat that was never worked on had run out.
    before = stored.participation
    if stored.worker_id == worker.pk and not stored.outcome and (
        before is None or not (before.is_live or before.has_seen_an_example())
    ):  # fmt: skip
        stored.participation = participation
        stored.save(update_fields=["participation"])


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
    """Take a seat for this worker, or return the live participation that they already have.

    Where anybody can arrive (`anonymous`), at most a third of the seats is held for people who
    have not consented. Where the id is not `verified`, a participation is handed over only to the
    browser that began it. `refused` is why the door gives no new seat, a code of NO_SEAT.
    Raises RecruitmentError when there is no seat for them.
    """
    now = database_now()
    with transaction.atomic():
        # Two workers (or one, twice) deciding at once would both count the last seat as free:
        # one decision at a time per study.
        study = Study.objects.locked().get(pk=study_id)
        expire_idle(study, now)
        budget.settle_left(study)
        worker = _worker(key, platform, kind)
        theirs = study.participations.filter(worker=worker)
        if not verified and theirs.live().exclude(browser=browser).exists():
            raise RecruitmentError("elsewhere")
        live = theirs.live().first()
        if live is not None:
            return sittings.enter_sitting(live, part)
        # Whoever comes back late goes on with what they began, before anything new.
        begun = theirs.expired_at_work().order_by("-pk").first()
        if begun is not None and study.status == StudyStatus.OPEN:
            if not verified and begun.browser != browser:
                raise RecruitmentError("elsewhere")
            if not eligibility.admits(study, key):
                raise RecruitmentError("not_eligible")
            return sittings.enter_sitting(_reseat(begun), part)
        if part > 1:
            raise RecruitmentError("not_invited")
        code = refused or refusal(study, key, kind, among, browser, now)
        if not code and anonymous and _too_many_unconsented(study):
            code = "busy"
        if code:
            raise RecruitmentError(code)
        scenario = _allocate(study, key, kind, among, now)
        return take_seat(study, scenario, worker, part=part, browser=browser)


def _worker(key: str, platform: str, kind: str) -> Worker:
    """The worker of that key, locked: a "no" in another study deletes who has nothing else."""
    while True:
        Worker.objects.get_or_create(key=key, defaults={"platform": platform, "kind": kind})
        worker = Worker.objects.select_for_update(no_key=True).filter(key=key).first()
        if worker is not None:
            return worker


def _too_many_unconsented(study: Study) -> bool:
    """Do people who have not consented hold a third of all seats, and at least three?

    The caller holds the study's lock and has expired who is idle. Personal links do not count:
    they were given out by hand.
    """
    waiting = study.participations.unconsented().filter(kind=Kind.PERSON)
    waiting = waiting.exclude(worker__platform="personal")
    seats = sum(study.scenarios.values_list("seats", flat=True))
    return waiting.count() >= max(3, seats // 3)


def _allocate(
    study: Study, key: str, kind: str, among: list[int] | None, now: datetime
) -> Scenario:
    """Choose a scenario, and log the choice with the state that it was made on."""
    scenarios = {scenario.pk: scenario for scenario in joinable(study, key, kind, among, now)}
    candidates = [[pk, scenario.taken, scenario.seats] for pk, scenario in scenarios.items()]
    arrival = study.allocations.count() + 1
    chosen = scenarios[choose(study.seed, arrival, candidates)]
    Allocation.objects.create(
        study=study, arrival=arrival, kind=kind, candidates=candidates, scenario=chosen
    )
    return chosen


def choose(seed: int, arrival: int, candidates: list[list[int]]) -> int:
    """The key of the least filled scenario; ties by the study's seed and the arrival's number.

    `candidates` is as in Allocation, so that any logged choice can be made again.
    """
    least = min(taken for _key, taken, _seats in candidates)
    tied = [key for key, taken, _seats in candidates if taken == least]
    return random.Random(f"{seed}:seat:{arrival}").choice(tied)


def resume(participation: Participation) -> Participation:
    """Give an expired participation a seat of its scenario again, if one is free.

    The same participation goes on where it stopped. Raises RecruitmentError where there is no free
    seat or the study gives out none now; does nothing to a participation that has not expired.
    """
    with transaction.atomic():
        study = Study.objects.locked().get(pk=participation.study_id)
        expire_idle(study)
        participation = Participation.objects.get(pk=participation.pk)
        if participation.status not in MAY_RESUME:
            return participation
        if study.status != StudyStatus.OPEN:
            raise RecruitmentError(study.status)
        if not eligibility.admits(study, participation.worker.key):
            raise RecruitmentError("not_eligible")
        if study.participations.live().filter(worker=participation.worker_id).exists():
            raise RecruitmentError("done", "You are working on another task of this study.")
        if not participation.has_seen_an_example() and (
            _tasks_begun(study, participation.worker.key) >= study.tasks_per_worker
        ):
            raise RecruitmentError("done")
        return _reseat(participation)


def _reseat(participation: Participation) -> Participation:
    """The caller holds the study's lock and has expired idle participations."""
    participation = Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
    if participation.status not in MAY_RESUME:
        return participation  # withdrawn while this was decided
    if is_rejected(participation.study, participation.worker.key):
        raise RecruitmentError("rejected")
    seat = free_seat(participation.scenario, participation.kind)
    if seat is None:
        raise RecruitmentError("taken")
    if not budget.has_room(participation.study, participation.kind, returning=participation):
        raise RecruitmentError("budget")
    participation.status = _state_to_go_on_in(participation)
    participation.seat_number = seat
    participation.returned_at = database_now()
    participation.worked_seconds = None  # it goes on
    participation.save(update_fields=["status", "seat_number", "returned_at", "worked_seconds"])
    return participation


def _state_to_go_on_in(participation: Participation) -> str:
    if participation.consented_at is None:
        return Status.ARRIVED
    if participation.waiting_since is not None and participation.decided_at is None:
        return Status.WAITING
    last = participation.latest_turn()
    # It stopped between two parts: an answered example without what follows it. After the training
    # step that alone may be a reveal that is still looked at; the end of a part was noted.
    if last is not None and last.given is not None and (
        last.step != Step.TRAINING or participation.submissions.filter(outcome="completed").exists()
    ):  # fmt: skip
        return Status.BETWEEN
    return Status.WORKING


def free_by_hand(participation: Participation, reason: str, by: AbstractBaseUser) -> None:
    """A researcher frees the seat of an annotator who does not return; logged with the reason.

    Who does come back goes on where they stopped, if a seat is free. Raises ValueError without a
    reason, and where there is no seat to free.
    """
    reason = reason.strip()
    if not reason:
        raise ValueError("Give a reason: it is stored in the log.")
    with transaction.atomic():
        Study.objects.locked().get(pk=participation.study_id)
        if not release_seat(participation, Status.EXPIRED):
            raise ValueError("This annotator has no seat that could be freed.")
        what = f"{freed(participation)}{reason}"
        participation.study.events.create(what=what[:200], by=by)


def freed(participation: Participation) -> str:
    """How the log's line begins on a seat that was freed by hand; the reason follows."""
    return f"seat of {participation.pseudonym} freed: "


def release_seat(participation: Participation, status: str) -> bool:
    """Free the seat of a live participation: the platform, or a researcher, says that it is over.

    `status` is RETURNED or EXPIRED. Returns whether a seat was freed.
    """
    with transaction.atomic():
        one = Participation.objects.select_for_update(no_key=True).get(pk=participation.pk)
        if not one.is_live:
            return False
        one.status, one.seat_number = status, None
        one.save(update_fields=["status", "seat_number"])
        return True


def free_seat(scenario: Scenario, kind: str) -> int | None:
    """The lowest free seat of that kind, or None."""
    seated = scenario.participations.seated().filter(kind=kind)
    taken = set(seated.values_list("seat_number", flat=True))
    return next((seat for seat in range(1, scenario.seats + 1) if seat not in taken), None)


def take_seat(
    study: Study, scenario: Scenario, worker: Worker, *, part: int = 0, browser: str = ""
) -> Participation:
    """Insert the participation on the lowest free seat of the scenario (there is one)."""
    return Participation.objects.create(
        study=study,
        scenario=scenario,
        worker=worker,
        kind=worker.kind,
        arrived_at=database_now(),
        seat_number=free_seat(scenario, worker.kind),
        pseudonym=_new_name(study),
        completion_code=new_code(),
        part=part,
        browser=browser,
    )


def _new_name(study: Study) -> str:
    """A pseudonym that is new in the study and says nothing about who or when."""
    while True:
        name = "A-" + new_code(5)
        if not study.participations.filter(pseudonym=name).exists():
            return name


def sweep() -> int:
    """Free the idle seats of all studies, and forget old declined offers; return the seats.

    Who left is settled too, so that the budget need not work it out at each arrival.
    """
    now, freed = database_now(), 0
    at_work = Participation.objects.live().values("study")
    for study in Study.objects.filter(pk__in=at_work):
        freed += expire_idle(study, now)
    for study in Study.objects.filter(status__in=(StudyStatus.OPEN, StudyStatus.PAUSED)):
        budget.settle_left_in_turn(study)
    DeclinedOffer.objects.exclude(pk__in=DeclinedOffer.objects.fresh(now).values("pk")).delete()
    return freed


def expire_idle(study: Study, now: datetime | None = None) -> int:
    """Free the seats of workers idle at that moment for longer than they may be; return how many.

    Only then is a seat that `holding_seats` counts as free without its number.
    """
    idle = study.participations.idle(now or database_now(), study)
    with transaction.atomic():
        # Who answers at this very moment holds the lock: look again once it is ours.
        candidates = Participation.objects.filter(pk__in=[one.pk for one in idle])
        locked = [one.pk for one in candidates.select_for_update(no_key=True)]
        still = [one.pk for one in idle.all().filter(pk__in=locked)]
        return Participation.objects.filter(pk__in=still).update(
            status=Status.EXPIRED, seat_number=None
        )


def consent(participation: Participation, agree: bool) -> None:
    """Record consent, or leave nothing but a count. Does nothing once the question was answered.

    Of who says no after a bonus or a decision that row stays, as withdrawn.
    """
    arrived = Participation.objects.filter(pk=participation.pk, status=Status.ARRIVED)
    if agree:
        text = participation.study.consent_texts.order_by("-version").first()
        DeclinedOffer.objects.filter(
            study=participation.study_id, worker_key=participation.worker.key
        ).delete()
        arrived.update(status=Status.WORKING, consented_at=database_now(), consent_text=text)
        return
    with transaction.atomic():
        # Study and worker first, as in `join`: they may be starting something at this moment.
        Study.objects.locked().get(pk=participation.study_id)
        worker = Worker.objects.select_for_update().filter(pk=participation.worker_id)
        list(worker)
        # Who agreed in another tab has work to lose: then this "no" says nothing any more.
        undecided = Participation.objects.select_for_update().filter(
            pk=participation.pk, status__in=UNDECIDED, consented_at=None
        )
        one = undecided.first()
        if one is None:
            return
        try:
            with transaction.atomic():
                Submission.objects.filter(participation=one).delete()
                Participation.objects.filter(pk=one.pk).delete()
        except ProtectedError:
            _end_before_consent(one)
            return
        Scenario.objects.filter(pk=participation.scenario_id).update(declined=F("declined") + 1)
        DeclinedOffer.objects.update_or_create(
            study_id=participation.study_id,
            worker_key=participation.worker.key,
            defaults={"scenario_id": participation.scenario_id, "declined_at": database_now()},
        )
        worker.filter(participations__isnull=True).delete()


def _end_before_consent(participation: Participation) -> None:
    """What was earned or decided already stays: a bonus is owed to somebody. Nothing else does."""
    Tombstone.objects.create(participation=participation, turns_erased=0)
    participation.status, participation.seat_number = Status.WITHDRAWN, None
    participation.in_analysis, participation.browser = False, ""
    participation.finished_at = database_now()
    participation.save(
        update_fields=["status", "seat_number", "in_analysis", "browser", "finished_at"]
    )


def next_task_is_offered(participation: Participation) -> bool:
    """May this worker go on with another task of the study?"""
    study, worker = participation.study, participation.worker
    return refusal(study, worker.key, worker.kind) == ""
