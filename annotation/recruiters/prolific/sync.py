"""What Prolific knows, brought over: statuses, freed seats, missing places, who is barred.

Run by `manage.py sync_prolific` (fit for cron), by a button, and for one submission by its webhook.
The API is the truth: an event only says where to look, so events may come late, twice or in any
order.
"""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from annotation import eligibility, exclusion, identities, pay, qualification, recruitment
from annotation.models import (
    Decision,
    Exposure,
    Participation,
    ProlificStudy,
    Study,
    Submission,
    Worker,
)
from annotation.recruiters.prolific.client import Client, status_of
from annotation.recruiters.prolific.door import ProlificDoor
from annotation.recruiters.prolific.studies import free_seats

# Submissions that hold one of the study's places on Prolific.
TAKE_A_PLACE = {"RESERVED", "ACTIVE", "AWAITING_REVIEW", "APPROVED", "PROCESSING"}


@dataclass
class Synced:
    """What one run did."""

    submissions: int = 0
    changed: int = 0
    freed: int = 0
    barred: int = 0
    places_added: int = 0


def sync(study: Study) -> Synced:
    """Bring over everything of a study. Raises client.ProlificError; what was done stays done."""
    client, done = Client(), Synced()
    recruitment.expire_idle(study)
    for waiting in study.participations.filter(status=Participation.Status.WAITING):
        qualification.move_on(waiting.token)
    for one in study.prolific_studies.exclude(external_id=None):
        found = list(client.submissions(one.external_id))
        for row in found:
            done.submissions += 1
            _take_over(row["id"], row["status"], done)
        one.status = str(client.study(one.external_id)["status"])
        one.synced_at = timezone.now()
        one.save(update_fields=["status", "synced_at"])
        _add_places(one, found, client, done)
    _bar(study, client, done)
    return done


def sync_submission(session: str) -> bool:
    """Bring over one submission; False where it is not of a study here. Raises ProlificError."""
    key = recruitment.submission_key(ProlificDoor.recruiter, session)
    if not Submission.objects.filter(key=key).exists():
        return False
    return _take_over(session, Client().submission(session)["status"], Synced())


def _take_over(session: str, text: str, done: Synced) -> bool:
    """Store a submission's status and do what follows from it, once: both or neither."""
    key = recruitment.submission_key(ProlificDoor.recruiter, session)
    status = status_of(text)
    with transaction.atomic():
        one = Submission.objects.filter(key=key).first()
        if one is None or one.status == status:
            return one is not None
        # The order of all locks: study, participation, and its submission last.
        Study.objects.select_for_update(no_key=True).get(pk=one.study_id)
        locked = Participation.objects.select_for_update(no_key=True)
        participation = locked.filter(pk=one.participation_id).first()
        one = Submission.objects.select_for_update(no_key=True).filter(pk=one.pk).first()
        if one is None or one.status == status:
            return one is not None
        one.status = status
        one.save(update_fields=["status"])
        _follow(one, participation, done)
    done.changed += 1
    return True


def _follow(one: Submission, participation: Participation | None, done: Synced) -> None:
    """What a new status leads to; the caller holds the locks."""
    if participation is None or participation.submissions.order_by("-pk").first() != one:
        return  # a later submission of the same person speaks for their work
    status = one.status
    if status == "RETURNED":
        done.freed += recruitment.give_back(participation, Participation.Status.RETURNED)
    elif status == "TIMED_OUT":
        done.freed += recruitment.give_back(participation, Participation.Status.EXPIRED)
    elif status == "REJECTED":
        done.freed += recruitment.give_back(participation, Participation.Status.RETURNED)
        _was_rejected(participation)


def _was_rejected(participation: Participation) -> None:
    """Rejected on Prolific: not paid, and not in the analysis; two facts, each logged."""
    reason = "rejected on Prolific"
    participation.refresh_from_db()
    if participation.status == Participation.Status.COMPLETED:
        exclusion.decide(participation, False, reason, None)
    if participation.is_paid and not participation.decisions.filter(
        about=Decision.About.PAY
    ).exists():  # fmt: skip
        pay.decide(participation, False, reason, None)


def _add_places(one: ProlificStudy, found: list[dict], client: Client, done: Synced) -> None:
    """Seats that are free here and have no place there: places can only grow."""
    if one.status not in ("ACTIVE", "PAUSED", "AWAITING REVIEW", "AWAITING_REVIEW", "COMPLETED"):
        return
    if one.study.status != Study.Status.OPEN or one.part > 1:
        return
    held = sum(status_of(row["status"]) in TAKE_A_PLACE for row in found)
    wanted = held + free_seats(one)
    if wanted > one.places:
        client.set_places(one.external_id, wanted)
        done.places_added += wanted - one.places
        one.places = wanted
        one.save(update_fields=["places"])


def _bar(study: Study, client: Client, done: Synced) -> None:
    """Put whoever may not take part on the exclusion list, so that they never arrive.

    Known by id are only those whose id is not purged; the others are refused at the door, by hash.
    """
    group = (
        study.prolific_studies.exclude(barred_group="").values_list("barred_group", flat=True)
    ).first()  # fmt: skip
    if not group:
        return
    tasks = study.tasks.values_list("name", flat=True)
    met = Exposure.objects.filter(task_name__in=tasks).values("worker_key")
    # Whoever expired or returned may come back to what they began.
    back = study.participations.filter(status__in=Participation.MAY_COME_BACK).values("worker")
    workers = Worker.objects.filter(recruiter=ProlificDoor.recruiter, key__in=met)
    workers = workers.exclude(pk__in=back)
    if study.tasks_per_worker > 1:
        workers = workers.exclude(participations__study=study)
    known = Submission.objects.filter(recruiter=ProlificDoor.recruiter).exclude(person="")
    barred = set(workers.values_list("pk", flat=True))
    if study.access_rules.filter(ended_at=None).exists():
        theirs = Worker.objects.filter(submissions__in=known).distinct()
        barred |= {one.pk for one in theirs if not eligibility.admits(study, one.key)}
    shown = known.filter(worker__in=barred).values_list("person", flat=True)
    people = {identities.show(person) for person in shown}
    missing = people - client.group(group)
    if missing:
        client.add_to_group(group, sorted(missing))
        done.barred += len(missing)
    study.prolific_studies.filter(barred_group=group).update(barred_count=len(people))
