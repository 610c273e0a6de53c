"""Syncing with Prolific: statuses, free seats and places, pauses, blocklists and confirmations.

This runs in `manage.py tick` and when a button is pressed, so that threads serving annotators never
wait for Prolific. A malformed row does not block any others; it is reported in
`SyncReport.problems`.
"""

from datetime import timedelta

from annotation.models import (
    MAY_RESUME,
    AuditEntry,
    Exposure,
    ProlificStudy,
    Status,
    Study,
    StudyStatus,
    Submission,
    Topic,
    Worker,
)
from annotation.pay import budget
from annotation.prolific.accounts import client_of
from annotation.prolific.adapter import ProlificAdapter
from annotation.prolific.client import Client, ProlificError, status_of
from annotation.prolific.drafts import PlanError
from annotation.prolific.studies import free_seats
from annotation.prolific.submissions import (
    IN_PROGRESS,
    TAKE_A_PLACE,
    PlaceCounts,
    Row,
    SyncReport,
    take_over,
    verify,
)
from annotation.protocol import qualification
from annotation.recruitment import eligibility, identities, seats

# How long a submission can go unreviewed before Prolific approves it automatically, in full.
AUTO_APPROVAL = timedelta(days=21)
NO_SEAT_FREE = "Handful paused it: no seat is free here"
NO_ROOM = "Handful paused it: the budget is exhausted"
NOT_OPEN = "Handful paused it: the study does not assign seats"


def sync(study: Study, client: Client | None = None, patient: bool = False) -> SyncReport:
    """Sync a study with its studies on Prolific, which all belong to the same account.

    Problems are collected in `problems`. Raises ProlificError if Prolific is unreachable, in which
    case anything synced until then remains.
    """
    client, report = client or client_of(study.prolific_studies.first(), patient), SyncReport()
    seats.expire_idle(study)
    for waiting in study.participations.filter(status=Status.WAITING):
        qualification.move_on(waiting.token)
    verify(study, client, report)
    counted = []
    for prolific_study in study.prolific_studies.exclude(external_id=None):
        with report.noting(prolific_study):
            counted.append(_sync_one(prolific_study, client, report))
    fit_places(study, counted, client, report)
    with report.noting("the exclusion list"):
        _bar(study, client, report)
    return report


def _sync_one(prolific_study: ProlificStudy, client: Client, report: SyncReport) -> PlaceCounts:
    rows = []
    for data in client.submissions(prolific_study.id_there):
        report.submissions += 1
        with report.noting(f"{prolific_study}, a submission"):
            rows.append(Row.read(data))
            take_over(rows[-1], report)
    # Submissions that Prolific may pay although no work was done here.
    open_yet = [row for row in rows if row.return_is_open]
    ends = [row.completed_at or row.return_requested_at for row in open_yet]
    since = [end for end in ends if end is not None]
    prolific_study.returns_open = len(open_yet)
    prolific_study.returns_until = min(since) + AUTO_APPROVAL if since else None
    approved = {row.key for row in rows if row.status == "APPROVED"}
    seen_here = Submission.objects.filter(key__in=approved).count()
    prolific_study.approved_unknown = len(approved) - seen_here
    previous, record = status_of(prolific_study.status), client.study(prolific_study.id_there)
    prolific_study.status = str(record["status"])[:20]
    if prolific_study.signed:
        prolific_study.signing_keys = client.signing_keys()
    prolific_study.save(
        update_fields=[
            "status", "signing_keys", "returns_open", "returns_until",
            "approved_unknown",
        ]
    )  # fmt: skip
    if status_of(prolific_study.status) == "PAUSED" and not prolific_study.paused_here:
        note_pause(prolific_study, rows, previous, record)
    placed = [row for row in rows if row.status in TAKE_A_PLACE]
    stored = Submission.objects.filter(key__in=[row.key for row in placed])
    seated = set(stored.values_list("key", flat=True))
    coming = sum(row.status in IN_PROGRESS and row.key not in seated for row in placed)
    staying = sum(not row.return_is_open for row in placed)
    coming = coming if prolific_study.part <= 1 else 0
    return PlaceCounts(prolific_study, len(placed), staying, coming)


def _bar(study: Study, client: Client, report: SyncReport) -> None:
    """Block ineligible people on Prolific, if their ID is stored, so that they don't arrive."""
    group = (
        study.prolific_studies.exclude(blocklist_id="").values_list("blocklist_id", flat=True)
    ).first()  # fmt: skip
    if not group:
        return
    tasks = study.tasks.values_list("name", flat=True)
    met = Exposure.objects.filter(task_name__in=tasks).values("worker_key")
    # People who expired or returned may resume their participation.
    back = study.participations.filter(status__in=MAY_RESUME).values("worker")
    workers = Worker.objects.filter(platform=ProlificAdapter.platform, key__in=met)
    workers = workers.exclude(pk__in=back)
    if study.tasks_per_worker > 1:
        workers = workers.exclude(participations__study=study)
    identified = Submission.objects.filter(platform=ProlificAdapter.platform).exclude(person="")
    identified = identified.exclude(verified=False)
    barred = set(workers.values_list("pk", flat=True))
    if study.access_rules.filter(ended_at=None).exists():
        candidates = Worker.objects.filter(submissions__in=identified).distinct()
        barred |= {worker.pk for worker in candidates if not eligibility.admits(study, worker.key)}
    ids = identified.filter(worker__in=barred).values_list("person", flat=True)
    people = {identities.decrypt(person) for person in ids if not identities.is_lost(person)}
    missing = people - client.group(group)
    if missing:
        client.add_to_group(group, sorted(missing))
        report.barred += len(missing)
    study.prolific_studies.filter(blocklist_id=group).update(blocklist_size=len(people))


# Places -------------------------------------------------------------------------------------------


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


# All studies --------------------------------------------------------------------------------------


class NotSynced(Exception):
    """Raised if some items could not be synced. The message describes each problem."""


def sync_all() -> str:
    """Sync all studies on Prolific one by one. Raises NotSynced at the end."""
    # Skip studies without a token. Their pages say that it has been removed.
    active = ProlificStudy.objects.exclude(external_id=None).exclude(account__token="")
    studies, problems = Study.objects.filter(prolific_studies__in=active).distinct(), []
    for study in studies:
        try:
            problems += [f"{study.name}: {one}" for one in sync(study, patient=True).problems]
        except ProlificError as error:
            problems.append(f"{study.name}: {error}")
    if problems:
        raise NotSynced("; ".join(problems))
    return f"{len(studies)} synced"
