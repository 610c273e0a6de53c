"""Sync with Prolific: statuses, freed seats, places, blocklists, confirmed arrivals.

Run by `manage.py sync_prolific` (fit for cron), by a button, and for one submission by its webhook.
The API is the truth: an event only says where to look, so events may come late, twice or in any
order. One odd row holds up nobody else: it is told of in `Synced.problems`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.models import (
    MAY_RESUME,
    Decision,
    Exposure,
    Participation,
    ProlificStudy,
    Status,
    Study,
    StudyStatus,
    Submission,
    Worker,
)
from annotation.money import budget, ledger
from annotation.platforms.prolific.client import Client, ProlificError, status_of
from annotation.platforms.prolific.door import ProlificDoor
from annotation.platforms.prolific.studies import PlanError, free_seats
from annotation.recruitment import arrivals, eligibility, expiry, identities
from annotation.steps import exclusion, qualification, withdrawal

# Submissions that hold one of the study's places on Prolific.
TAKE_A_PLACE = {
    "RESERVED", "ACTIVE", "AWAITING_REVIEW", "APPROVED", "PARTIALLY_APPROVED", "PROCESSING",
}  # fmt: skip
UNDER_WAY = {"RESERVED", "ACTIVE"}
RECRUITING = {"ACTIVE", "PAUSED", "AWAITING_REVIEW", "COMPLETED"}
# What waits for review is approved by itself, in full, after so long.
AUTO_APPROVAL = timedelta(days=21)
# For so long Prolific's API may not know yet of somebody whom it sent here.
MAY_BE_LATE = timedelta(hours=1)

REJECTED = "rejected on Prolific"
NOT_CONFIRMED = "Prolific does not confirm that this submission belongs to this person"
NO_SEAT_FREE = "Handful paused it: no seat is free here"
NO_ROOM = "Handful paused it: the budget is exhausted"
NOT_OPEN = "Handful paused it: the study does not assign seats"


@dataclass
class Synced:
    """What one run did, and what it could not do."""

    submissions: int = 0
    changed: int = 0
    freed: int = 0
    barred: int = 0
    places_added: int = 0
    paused: int = 0
    started: int = 0
    not_confirmed: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.submissions} submissions, {self.changed} changed, {self.freed} seats freed,"
            f" {self.places_added} places added, {self.barred} people blocked,"
            f" {self.paused} paused, {self.started} started, {self.not_confirmed} not confirmed"
        )

    @contextmanager
    def noting(self, what: object) -> Iterator[None]:
        """Whatever is odd about this one is told of, and the others go on.

        Raises ProlificError only where Prolific cannot be reached at all.
        """
        try:
            yield
        except ProlificError as error:
            if error.unreachable:
                raise
            self.problems.append(f"{what}: {error}"[:400])
        except identities.LostKey as error:
            self.problems.append(f"{what}: {error}")


def sync(study: Study, client: Client | None = None) -> Synced:
    """Sync everything of a study.

    What is odd is in `problems`. Raises client.ProlificError where Prolific cannot be reached; what
    was done stays done.
    """
    client, done = client or Client(), Synced()
    expiry.expire_idle(study)
    for waiting in study.participations.filter(status=Status.WAITING):
        qualification.move_on(waiting.token)
    verify(study, client, done)
    found = []
    for one in study.prolific_studies.exclude(external_id=None):
        with done.noting(one):
            found.append(_sync_one(one, client, done))
    _fit_places(study, found, client, done)
    with done.noting("the exclusion list"):
        _bar(study, client, done)
    return done


@dataclass(frozen=True)
class Row:
    """A submission as Prolific tells of it, checked."""

    session: str
    status: str
    return_requested_at: datetime | None
    completed_at: datetime | None

    @classmethod
    def read(cls, told: Any) -> "Row":
        """Raises ProlificError if this is not a submission."""
        if not isinstance(told, dict) or not isinstance(told.get("id"), str):
            raise ProlificError(f"a submission without an id: {str(told)[:80]!r}")
        return cls(
            told["id"].lower(),
            status_of(told.get("status")),
            _moment(told.get("return_requested")),
            _moment(told.get("completed_at")),
        )

    @property
    def key(self) -> str:
        return arrivals.submission_key(ProlificDoor.platform, self.session)

    @property
    def return_is_open(self) -> bool:
        """The return was asked for, and the participant has not returned it."""
        return self.status == "AWAITING_REVIEW" and self.return_requested_at is not None


def _moment(text: Any) -> datetime | None:
    """A time of Prolific's; None if missing or invalid."""
    try:
        found = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found and timezone.is_naive(found) else found


@dataclass(frozen=True)
class Found:
    """A study on Prolific as this run found it."""

    study: ProlificStudy
    # Submissions that hold a place; how many of them wait for no return, or are on the way here.
    held: int
    kept: int
    coming: int

    @property
    def open_places(self) -> int:
        return self.study.places - self.held

    @property
    def may_let_in(self) -> bool:
        """Is it open to new arrivals, and was it not paused by somebody else?"""
        is_ours = self.study.status != "PAUSED" or self.study.paused_here
        return status_of(self.study.status) in RECRUITING and self.study.part <= 1 and is_ours


def _sync_one(one: ProlificStudy, client: Client, done: Synced) -> Found:
    rows = []
    for told in client.submissions(one.external_id):
        done.submissions += 1
        with done.noting(f"{one}, a submission"):
            rows.append(Row.read(told))
            _take_over(rows[-1], done)
    _note_what_costs(one, rows)
    before, there = status_of(one.status), client.study(one.external_id)
    one.status = str(there["status"])[:20]
    if one.signed:
        one.signing_keys = client.signing_keys()
    one.save(
        update_fields=[
            "status", "signing_keys", "returns_open", "returns_until",
            "approved_unknown",
        ]
    )  # fmt: skip
    if status_of(one.status) == "PAUSED" and not one.paused_here:
        _note_pause(one, rows, before, there)
    held = [row for row in rows if row.status in TAKE_A_PLACE]
    known = Submission.objects.filter(key__in=[row.key for row in held])
    seated = set(known.values_list("key", flat=True))
    coming = sum(row.status in UNDER_WAY and row.key not in seated for row in held)
    kept = sum(not row.return_is_open for row in held)
    return Found(one, len(held), kept, coming if one.part <= 1 else 0)


def sync_submission(session: str, client: Client | None = None) -> bool:
    """Sync one submission; False where it is not of a study here. Raises ProlificError."""
    key = arrivals.submission_key(ProlificDoor.platform, session.lower())
    if not Submission.objects.filter(key=key).exists():
        return False
    told = (client or Client()).submission(session)
    # It is the one that was asked for, whatever it calls itself.
    return _take_over(Row.read({**told, "id": session}), Synced())


def _take_over(row: Row, done: Synced) -> bool:
    """Store a submission's status and do what follows from it, once: both or neither."""
    with transaction.atomic():
        one = Submission.objects.filter(key=row.key).first()
        if one is None or not _is_news(one, row):
            return one is not None
        # The order of all locks: study, participation, and its submission last.
        Study.objects.locked().get(pk=one.study_id)
        locked = Participation.objects.select_for_update(no_key=True)
        participation = locked.filter(pk=one.participation_id).first()
        one = Submission.objects.select_for_update(no_key=True).filter(pk=one.pk).first()
        if one is None or not _is_news(one, row):
            return one is not None
        before, one.status = one.status, row.status
        one.return_requested_at = row.return_requested_at
        one.save(update_fields=["status", "return_requested_at"])
        if before == row.status:
            return True
        _follow(one, before, participation, done)
    done.changed += 1
    return True


def _is_news(one: Submission, row: Row) -> bool:
    return (one.status, one.return_requested_at) != (row.status, row.return_requested_at)


def _follow(
    one: Submission, before: str, participation: Participation | None, done: Synced
) -> None:
    """What a new status leads to; the caller holds the locks."""
    if participation is None or participation.submissions.order_by("-pk").first() != one:
        return  # a later submission of the same person speaks for their work
    if before == "REJECTED":
        _rejection_taken_back(one, participation)
    if one.status == "RETURNED":
        done.freed += expiry.release_seat(participation, Status.RETURNED)
    elif one.status == "TIMED_OUT":
        done.freed += expiry.release_seat(participation, Status.EXPIRED)
    elif one.status == "REJECTED":
        done.freed += participation.is_live
        _was_rejected(one, participation)


def _was_rejected(one: Submission, participation: Participation) -> None:
    """Rejected on Prolific: no more work, not paid, and not in the analysis; each logged.

    Who has ended keeps the state in which they ended.
    """
    one.status_before_rejection = participation.status
    one.save(update_fields=["status_before_rejection"])
    if participation.is_live or participation.status in MAY_RESUME:
        participation.status, participation.seat_number = Status.REJECTED, None
        participation.save(update_fields=["status", "seat_number"])
    elif participation.status == Status.COMPLETED:
        exclusion.decide(participation, False, REJECTED, None)
    participation.refresh_from_db()
    ledger.decide(participation, False, REJECTED, None)


def _rejection_taken_back(one: Submission, participation: Participation) -> None:
    """Undo the consequences of the rejection, unless somebody has decided otherwise since."""
    reason = "the rejection on Prolific was taken back"
    about = Decision.About
    if participation.status == Status.REJECTED:
        ended = one.status_before_rejection
        # Their seat was free from then on: they go on if one still is, by the page that offers it.
        back = ended if ended in MAY_RESUME else Status.RETURNED
        participation.status = back
        participation.save(update_fields=["status"])
    if not participation.in_analysis and _was_ours(participation, about.ANALYSIS):
        try:
            exclusion.decide(participation, True, reason, None)
        except exclusion.ExclusionError as error:
            participation.study.events.create(
                what=f"{reason}, {participation} stays excluded: {error}"[:200]
            )
    participation.refresh_from_db()
    _pay_again(participation, reason)


def _was_ours(participation: Participation, about: str) -> bool:
    """Was the last decision about this automatic, from a status on Prolific?"""
    last = participation.decisions.filter(about=about).order_by("pk").last()
    # A withdrawal in between replaces every reason.
    ours = (REJECTED, NOT_CONFIRMED, withdrawal.REASON)
    return last is not None and last.by_id is None and last.reason in ours


def verify(study: Study, client: Client, done: Synced) -> None:
    """Ask Prolific about each arrival with plain ids: is this submission this person's, here?

    Who is not confirmed is not paid until a payer says so; the study's pages tell of them. They are
    asked about again until then: Prolific may be late, and so may its confirmation.
    """
    asked = study.submissions.filter(prolific_study__external_id__isnull=False)
    asked = asked.exclude(verified=True).exclude(reference="")
    for one in asked.select_related("prolific_study", "participation"):
        with done.noting(f"{one.participation or one}"):
            if one.verified is False and _has_payers_word(one.participation):
                continue
            answer = _is_confirmed(one, client)
            if answer is not None and answer != one.verified:
                done.not_confirmed += not answer
                _settle(one, answer)
                if answer and one.participation_id is None:
                    arrivals.attach(one)


def _settle(one: Submission, is_confirmed: bool) -> None:
    """Store whether Prolific confirms an arrival, and decide on pay if no researcher has."""
    with transaction.atomic():
        locked = Participation.objects.select_for_update(no_key=True)
        participation = locked.filter(pk=one.participation_id).first()
        if one.verified is False and _has_payers_word(participation):
            return
        one.verified = is_confirmed
        one.save(update_fields=["verified"])
        if participation is None:
            return
        if is_confirmed:
            _pay_again(participation, "Prolific has now confirmed who it is")
        else:
            ledger.decide(participation, False, NOT_CONFIRMED, None)


def _has_payers_word(participation: Participation | None) -> bool:
    """Did somebody decide about the pay of it since Handful itself did?"""
    if participation is None:
        return False
    decided = participation.decisions.filter(about=Decision.About.PAY).exists()
    return decided and not _was_ours(participation, Decision.About.PAY)


def _pay_again(participation: Participation, reason: str) -> None:
    """Pay those who were unpaid only because of a status on Prolific that no longer holds."""
    latest = participation.submissions.order_by("-pk").first()
    holds = participation.submissions.filter(verified=False).exists() or (
        latest is not None and latest.status == "REJECTED"
    )
    if not holds and not participation.is_paid and _was_ours(participation, Decision.About.PAY):
        ledger.decide(participation, True, reason, None)


def _is_confirmed(one: Submission, client: Client) -> bool | None:
    """Does Prolific know this submission, of this person and this study? None: not yet, perhaps."""
    try:
        found = client.submission(identities.decrypt(one.reference))
    except ProlificError as error:
        if error.refused and error.status == 404 and one.arrived_at > timezone.now() - MAY_BE_LATE:
            return None
        if error.refused and error.status in (400, 404):
            return False
        raise
    person = str(found.get("participant") or found.get("participant_id") or "").lower()
    return person == identities.decrypt(one.person).lower() and (
        str(found.get("study_id", "")).lower() == one.prolific_study.external_id
    )


def _note_what_costs(one: ProlificStudy, rows: list[Row]) -> None:
    """What Prolific will pay, or has paid, without there being work here."""
    open_yet = [row for row in rows if row.return_is_open]
    since = [row.completed_at or row.return_requested_at for row in open_yet]
    one.returns_open = len(open_yet)
    one.returns_until = min(since) + AUTO_APPROVAL if since else None
    approved = {row.key for row in rows if row.status == "APPROVED"}
    known = Submission.objects.filter(key__in=approved).values_list("key", flat=True)
    one.approved_unknown = len(approved) - len(known)


def _fit_places(study: Study, found: list[Found], client: Client, done: Synced) -> None:
    """Places there for the seats that are free here and that the budget has room for.

    The room is one for all studies on Prolific. Who has a place there and no seat yet is on the way
    to a free one, and to a part of the room.
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
            client.set_places(one.external_id, one.places + more)
            done.places_added += more
            one.places += more
            one.save(update_fields=["places"])
            # That alone sets a study that had ended going again.
            one.status = str(client.study(one.external_id)["status"])[:20]
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
    client.transition(one.external_id, "PAUSE")
    one.status, one.pause_reason, one.paused_here = "PAUSED", reason, True
    one.save(update_fields=["status", "pause_reason", "paused_here"])


def start(one: ProlificStudy, client: Client) -> None:
    """Set a paused study going again. Raises ProlificError."""
    client.transition(one.external_id, "START")
    one.status, one.pause_reason, one.paused_here = "ACTIVE", "", False
    one.save(update_fields=["status", "pause_reason", "paused_here"])


def start_by_hand(draft: ProlificStudy) -> None:
    """The same for a researcher. Raises PlanError for one that is not paused, and ProlificError."""
    if not draft.external_id or draft.status != "PAUSED":
        raise PlanError(f"{draft.name} is not paused on Prolific.")
    start(draft, Client())


def _note_pause(one: ProlificStudy, rows: list[Row], before: str, there: dict) -> None:
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


def _bar(study: Study, client: Client, done: Synced) -> None:
    """Put those who may not take part on the blocklist, so that they never arrive.

    Known by id are only those whose id is neither purged nor lost; the others are refused at the
    door, by hash.
    """
    group = (
        study.prolific_studies.exclude(blocklist_id="").values_list("blocklist_id", flat=True)
    ).first()  # fmt: skip
    if not group:
        return
    tasks = study.tasks.values_list("name", flat=True)
    met = Exposure.objects.filter(task_name__in=tasks).values("worker_key")
    # Whoever expired or returned may come back to what they began.
    back = study.participations.filter(status__in=MAY_RESUME).values("worker")
    workers = Worker.objects.filter(platform=ProlificDoor.platform, key__in=met)
    workers = workers.exclude(pk__in=back)
    if study.tasks_per_worker > 1:
        workers = workers.exclude(participations__study=study)
    known = Submission.objects.filter(platform=ProlificDoor.platform).exclude(person="")
    known = known.exclude(verified=False)
    barred = set(workers.values_list("pk", flat=True))
    if study.access_rules.filter(ended_at=None).exists():
        theirs = Worker.objects.filter(submissions__in=known).distinct()
        barred |= {one.pk for one in theirs if not eligibility.admits(study, one.key)}
    shown = known.filter(worker__in=barred).values_list("person", flat=True)
    people = {identities.decrypt(person) for person in shown if not identities.is_lost(person)}
    missing = people - client.group(group)
    if missing:
        client.add_to_group(group, sorted(missing))
        done.barred += len(missing)
    study.prolific_studies.filter(blocklist_id=group).update(blocklist_size=len(people))
