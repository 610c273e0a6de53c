"""Actions that a study requires from its researchers, with links to the relevant pages."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

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
KINDS = tomllib.loads(Path(__file__).with_name("todo.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Need:
    """A required action of one of the kinds in todo.toml.

    `subject` changes if the action is required again, because each subject is reported only once.
    """

    name: str
    subject: str
    title: str
    detail: str
    action: str
    address: str
    warns: bool = False
    right: str = "see"


def _need(name: str, subject: str = "study", /, **values: object) -> Need:
    kind = KINDS[name]
    texts = {key: kind[key].format(**values) for key in ("title", "detail", "action")}
    return Need(name, subject, **kind | texts)


def needs(study: Study, progress: Progress, now: datetime) -> list[Need]:
    """Return the required actions that this reader may see, most urgent first."""
    return [need for need in all_needs(study, progress, now) if need.right in study.rights]


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
    oldest = localtime(min((row.since for row in progress.waiting if row.since), default=now))
    yield _need(
        "waiting",
        max((str(row.since) for row in progress.waiting if row.since), default=""),
        annotators="1 annotator is waiting" if number == 1 else f"{number} annotators are waiting",
        decider="your" if "own" in study.rights else "an owner's",
        since=f"{oldest:%H:%M %Z}",
        minutes=study.decision_minutes,
        decide="Decide" if "own" in study.rights else "Show annotators",
    )


def _rejected(progress: Progress) -> Iterator[Need]:
    if rejected := progress.rejected:
        names = ", ".join(rejected[:NAMED]) + (" and others" if len(rejected) > NAMED else "")
        pronoun = "it" if len(rejected) == 1 else "each"
        yield _need("rejected", number=len(rejected), names=names, pronoun=pronoun)


def _recruitment(study: Study, progress: Progress, now: datetime) -> Iterator[Need]:
    people = progress.people
    judged = people.screened_out + people.qualified
    if people.screened_out >= FEWEST_SCREENED_OUT and 2 * people.screened_out > judged:
        # Reported again each time the number has doubled.
        level = f"level {(people.screened_out // FEWEST_SCREENED_OUT).bit_length()}"
        yield _need("screened-out", level, number=people.screened_out, judged=judged)
    if study.status != StudyStatus.OPEN or study.rehearsal:
        return
    free = progress.free
    if not free:
        at_work = f"{people.at_work} in progress. Add seats to recruit more annotators."
        next_step = at_work if people.at_work else "Close the study, or add seats."
        yield _need("full", f"{progress.all_seats} seats", next_step=next_step)
        return
    if not budget.has_room(study, Kind.PERSON):
        yield _need("budget", budget=study.budget, currency=study.currency)
        return
    latest = max(filter(None, (progress.pace.last_arrival, study.opened_at)), default=None)
    if latest and now - latest >= QUIET:
        hours = in_words(timedelta(hours=(now - latest) // timedelta(hours=1)))
        since = f"since {latest:%Y-%m-%d %H:%M:%S}"
        yield _need("quiet", since, hours=hours.removesuffix(" 0 min"), free=free)


def _paused_on_prolific(study: Study) -> Iterator[Need]:
    if study.status != StudyStatus.OPEN:
        return
    for row in study.prolific_studies.filter(status="PAUSED").exclude(pause_reason=""):
        subject = f"{row.pk} {row.pause_reason}"[:80]
        yield _need("platform", subject, name=row.name, reason=row.pause_reason)


def _wage(study: Study, progress: Progress) -> Iterator[Need]:
    """Yield an action if annotators earned less per hour than the design promises."""
    if not study.hourly_rate or progress.people.completed < FEWEST_PAID:
        return
    median = progress.wage
    if median is not None and median < ENOUGH * ledger.cents(study.hourly_rate):
        wage = ledger.in_currency(round(median))
        yield _need("wage", wage=wage, currency=study.currency, promised=study.hourly_rate)


def _pay_and_flags(progress: Progress) -> Iterator[Need]:
    if progress.money.due > 0:
        yield _need("pay", due=progress.money.in_words["due"])
    if (flagged := progress.flagged).people:
        counts = ", ".join(f"{label}: {count}" for label, count in flagged.by_flag)
        yield _need("flags", number=flagged.people, completed=flagged.completed, counts=counts)
