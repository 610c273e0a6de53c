"""Actions that a study requires from its researchers, with links to the relevant pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.timezone import localtime

from annotation.models import Kind, Study, StudyStatus
from annotation.monitoring.progress import Progress
from annotation.pay import budget, ledger
from annotation.web.wording import in_words

QUIET = timedelta(hours=6)
# If most of at least this many annotators are screened out, the rule may be to blame.
FEWEST_SCREENED_OUT = 3
# Completions required for reporting the median wage, and a tolerance for rounding.
FEWEST_PAID = 3
ENOUGH = 0.95
NAMED = 5  # maximum number of annotators to name in a sentence


@dataclass(frozen=True)
class Need:
    """A required action. `address` is the URL name of the page on which it is done.

    `subject` changes if the action is required again, because each subject is reported only once.
    """

    name: str
    title: str
    detail: str
    action: str
    address: str
    warns: bool = False
    subject: str = "study"


# Rights required to see an action, if other than the right to see the study.
RIGHTS = {"rejected": "own", "pay": "pay", "wage": "pay", "flags": "read", "platform": "own"}


def needs(study: Study, progress: Progress, now: datetime) -> list[Need]:
    """Return the required actions that this reader may see, most urgent first."""
    listed = all_needs(study, progress, now)
    return [need for need in listed if RIGHTS.get(need.name, "see") in study.rights]


def all_needs(study: Study, progress: Progress, now: datetime) -> list[Need]:
    return [
        *_waiting(study, progress, now),
        *_rejected(progress),
        *_recruitment(study, progress, now),
        *_paused_on_prolific(study),
        *_wage(study, progress),
        *_pay_and_flags(progress),
    ]


def _waiting(study: Study, progress: Progress, now: datetime) -> Iterator[Need]:
    if not progress.waiting:
        return
    number = len(progress.waiting)
    people = "1 annotator is waiting" if number == 1 else f"{number} annotators are waiting"
    decider = "your" if "own" in study.rights else "an owner's"
    oldest = localtime(min((row.since for row in progress.waiting if row.since), default=now))
    yield Need(
        "waiting",
        f"{people} for {decider} decision",
        f"The first has been waiting since {oldest:%H:%M %Z}. If no decision is made, annotators"
        f" continue after {study.decision_minutes} minutes.",
        "Decide" if "own" in study.rights else "Show annotators",
        "people",
        warns=True,
        subject=max((str(row.since) for row in progress.waiting if row.since), default=""),
    )


def _rejected(progress: Progress) -> Iterator[Need]:
    if names := progress.rejected:
        pronoun = "it" if len(names) == 1 else "each"
        yield Need(
            "rejected",
            f"{len(names)} rejected on the platform but in the analysis",
            f"{', '.join(names[:NAMED])}{' and others' if len(names) > NAMED else ''}: the work is"
            " completed, and rejecting it on the platform doesn't exclude it here. Exclude"
            f" {pronoun} with a reason, or keep it in the analysis.",
            "Decide",
            "people",
            warns=True,
        )


def _recruitment(study: Study, progress: Progress, now: datetime) -> Iterator[Need]:
    people = progress.people
    judged = people.screened_out + people.qualified
    if people.screened_out >= FEWEST_SCREENED_OUT and 2 * people.screened_out > judged:
        yield Need(
            "screened-out",
            f"{people.screened_out} of {judged} screened out",
            "You can no longer change the rule, but you can pause the study.",
            "Review the rule",
            "study_design",
            warns=True,
            # Reported again each time the number has doubled.
            subject=f"level {(people.screened_out // FEWEST_SCREENED_OUT).bit_length()}",
        )
    free = sum(row.free for row in progress.seats)
    if study.status != StudyStatus.OPEN:
        return
    if not free:
        at_work = f"{people.at_work} in progress. Add seats to recruit more annotators."
        yield Need(
            "full",
            "All seats are taken",
            at_work if people.at_work else "Close the study, or add seats.",
            "Add seats",
            "seats",
            subject=f"{progress.all_seats} seats",
        )
    if free and not budget.has_room(study, Kind.PERSON):
        yield Need(
            "budget",
            "The budget does not cover another annotator at the moment",
            "Seats are free, but new annotators are turned away because the budget of"
            f" {study.budget} {study.currency} must cover each annotator's cap.",
            "Raise the budget",
            "budget",
            warns=True,
        )
        return
    latest = max(filter(None, (progress.pace.last_arrival, study.opened_at)), default=None)
    if free and latest and now - latest >= QUIET:
        hours = in_words(timedelta(hours=(now - latest) // timedelta(hours=1)))
        yield Need(
            "quiet",
            f"No new annotators for {hours.removesuffix(' 0 min')}",
            f"{free} seats are free.",
            "Recruit",
            "recruit",
            warns=True,
            subject=f"since {latest:%Y-%m-%d %H:%M:%S}",
        )


def _paused_on_prolific(study: Study) -> Iterator[Need]:
    if study.status != StudyStatus.OPEN:
        return
    for prolific_study in study.prolific_studies.filter(status="PAUSED").exclude(pause_reason=""):
        yield Need(
            "platform",
            f"Paused on Prolific: {prolific_study.name}",
            f"{prolific_study.pause_reason}.",
            "Platforms",
            "platforms",
            warns=True,
            subject=f"{prolific_study.pk} {prolific_study.pause_reason}"[:80],
        )


def _wage(study: Study, progress: Progress) -> Iterator[Need]:
    """Yield an action if annotators earned less per hour than the design promises.

    Apart from rounding, the ledger always pays at least the hourly rate unless the cap on paid
    hours is reached, so a lower wage means that the cap is too low.
    """
    if not study.hourly_rate or progress.people.completed < FEWEST_PAID:
        return
    median = progress.wage
    if median is not None and median < ENOUGH * ledger.cents(study.hourly_rate):
        yield Need(
            "wage",
            f"Annotators earn {ledger.in_currency(round(median))} {study.currency} an hour",
            f"Median for annotators who have finished; the design promises {study.hourly_rate}."
            " Check the cap on paid hours, and consider bonuses.",
            "Pay",
            "pay",
            warns=True,
        )


def _pay_and_flags(progress: Progress) -> Iterator[Need]:
    if progress.money.due > 0:
        amounts = progress.money.in_words
        yield Need("pay", f"{amounts['due']} to pay", "Earned and not yet paid.", "Pay", "pay")
    flagged = progress.flagged
    if flagged.people:
        title = f"{flagged.people} of {flagged.completed} completed annotators flagged"
        yield Need("flags", title, f"{flagged.in_words}.", "Review", "behaviour")
