"""Admission to the annotation step, according to the design's rule.

"Filter annotators whose performance is very low compared to average annotators in the group"
(CLUES, section 4). The rule judges the training step or, for zero-shot annotators, the screening
step if the design has one. The group contains all participations of the same kind that finished
this step in this study with the same task, shots and training file, including those screened out,
but not withdrawals. Screening out is an exit with pay, not a rejection, and frees the seat.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Avg, Count

from annotation.models import (
    JUDGED_STEPS,
    Answer,
    AuditEntry,
    Decision,
    Participation,
    Qualification,
    Status,
    Step,
    Study,
    Topic,
    Turn,
)
from annotation.pay import budget, ledger
from annotation.protocol import blinding
from annotation.recruitment import seats
from annotation.study.screening import OTHERS_NEEDED
from tasks.clock import database_now

# Tolerance for rounding errors in sums of fractions, which must not screen anyone out.
ROUNDING = 1e-6  # points


@dataclass(frozen=True)
class Verdict:
    """The outcome of the rule, which is provisional while the group is too small."""

    passes: bool
    reason: str
    provisional: bool = False


def verdict(
    rule: str, threshold: float | None, score: float, peers: Sequence[float], step: str = "training"
) -> Verdict:
    """Apply a rule to a mean S1 in `step`, compared with the rest of the group (x 100).

    The threshold is in points, or in standard deviations (ddof 1) between the others.
    """
    if rule == Qualification.MINIMUM:
        reason = f"{step} S1 {score:.1f}, at least {threshold:g} is required"
        return Verdict(score >= (threshold or 0) - ROUNDING, reason)
    if rule not in OTHERS_NEEDED:
        return Verdict(True, "this study has no screening rule")
    needed = OTHERS_NEEDED[Qualification(rule)]
    if len(peers) < needed:
        reason = f"{step} S1 {score:.1f}; {len(peers)} others so far, {needed} are needed"
        return Verdict(True, reason, provisional=True)
    mean = statistics.mean(peers)
    below = mean - score
    if rule == Qualification.POINTS_BELOW:
        reason = f"{step} S1 {score:.1f}, {below:.1f} points below the mean {mean:.1f} of"
        return Verdict(below <= (threshold or 0) + ROUNDING, f"{reason} {len(peers)} others")
    spread = statistics.stdev(peers)
    allowed = (threshold or 0) * spread
    reason = f"{step} S1 {score:.1f}; the {len(peers)} others have {mean:.1f} ± {spread:.1f}"
    return Verdict(below <= allowed + ROUNDING, reason)


def judged_means(study: Study) -> dict[int, tuple[int, str, float]]:
    """Map each participation that finished the judged step to (scenario, kind, mean S1 x 100)."""
    answers = Answer.objects.filter(turn__participation__study=study, turn__step__in=JUDGED_STEPS)
    names = ("id", "scenario_id", "kind", "training_order", "screening_order")
    grouped = answers.values_list(*(f"turn__participation__{name}" for name in names))
    rows: Iterable[Any] = grouped.annotate(mean=Avg("s1"), n=Count("pk"))
    return {
        pk: (scenario, kind, 100 * mean)
        for pk, scenario, kind, training, screening, mean, n in rows
        if n == len(training) + len(screening)
    }


def judge(participation: Participation) -> Verdict:
    study = participation.study
    means = judged_means(study)
    if participation.pk not in means:
        return Verdict(True, "no completed step to judge by")
    return _apply(study, means, participation.pk, participation.scenario.shots)


def _apply(study: Study, means: dict[int, tuple[int, str, float]], pk: int, shots: int) -> Verdict:
    """Apply the study's rule to one of the `judged_means`. The reason names the judged step."""
    scenario, kind, score = means[pk]
    peers = [
        mean
        for other_pk, (of, its_kind, mean) in means.items()
        if other_pk != pk and (of, its_kind) == (scenario, kind)
    ]
    step = "training" if shots else "screening"
    return verdict(study.qualification, study.qualification_threshold, score, peers, step)


def after_judged_step(participation: Participation, turn: Turn, channel: str) -> Turn | None:
    """Start the annotation step, let the annotator wait, or exit. The caller must hold the lock."""
    rule = participation.study.qualification
    if rule == Qualification.NONE:
        return _begin_annotation(participation, turn, channel)
    if rule == Qualification.RESEARCHER:
        participation.store(status=Status.WAITING, waiting_since=database_now())
        return None
    judgement = judge(participation)
    if not judgement.passes:
        screen_out(participation, judgement.reason)
        return None
    _note(participation, True, judgement.reason, None)
    return _begin_annotation(participation, turn, channel)


def after_anchors(participation: Participation, turn: Turn, channel: str) -> Turn | None:
    """Show the first example after the anchors. The caller must hold the lock."""
    step = next((step for step in JUDGED_STEPS if participation.order_of(step)), None)
    if step is None:
        return _begin_annotation(participation, turn, channel)
    return participation.show(step, 0, channel, previous=turn)


def _begin_annotation(
    participation: Participation, previous: Turn, channel: str, until: datetime | None = None
) -> Turn | None:
    """Show the first test example, or return None if the part ends. The caller holds the lock."""
    if participation.part and seats.ends_before(participation, 0):
        seats.end_part(participation)
        return None
    return participation.show(Step.ANNOTATION, 0, channel, previous, until)


def decide(token: str, passes: bool, reason: str, by: User | None = None) -> Participation:
    """Admit or screen out a waiting worker. `by` is None at the deadline. Raises DoesNotExist."""
    with transaction.atomic():
        participation = Participation.objects.lock(token)
        if participation.status != Status.WAITING:
            return participation
        participation.decided_at = database_now()
        AuditEntry.objects.record(
            "admitted to the annotation step" if passes else "screened out",
            Topic.PEOPLE, study=participation.study, about=participation.pseudonym, by=by,
            before={"status": Status.WAITING},
        )  # fmt: skip
        if not passes:
            screen_out(participation, reason, by)
            return participation
        participation.status = Status.WORKING
        participation.save(update_fields=["status", "decided_at"])
        _note(participation, True, reason, by)
        last = participation.latest_turn()
        assert last is not None  # waiting starts after the judged step
        _begin_annotation(participation, last, last.channel, until=participation.waiting_since)
        return participation


class CannotDecide(Exception):
    """Raised if some annotators prevent a joint decision. `problems` has messages by pseudonym."""

    def __init__(self, problems: dict[str, str]):
        super().__init__(" ".join(problems.values()))
        self.problems = problems


class NotConfirmed(Exception):
    """Raised unless the consequence of a joint step was confirmed. The message states it."""

    @classmethod
    def check(cls, consequence: str, confirmed: str) -> None:
        if confirmed != consequence:
            raise cls(consequence)


def for_each(
    study: Study,
    pseudonyms: Iterable[str],
    step: Callable[[Participation], None],
    error: type[Exception] = CannotDecide,
) -> None:
    """Run a step for all of these annotators or none. Raises CannotDecide if any raises `error`."""
    names, problems = list(dict.fromkeys(pseudonyms)), {}
    # Lock in a fixed order, so that two concurrent decisions cannot deadlock.
    with Study.locking(study.pk):
        people = study.participations.filter(pseudonym__in=names).order_by("pk")
        locked = {person.pseudonym: person for person in people.select_for_update(no_key=True)}
        for name in names:
            if name not in locked:
                problems[name] = f"The annotator {name} does not exist in this study."
                continue
            try:
                step(locked[name])
            except error as problem:
                problems[name] = f"{name}: {problem}"
        if problems:
            raise CannotDecide(problems)


def decide_in_bulk(
    study: Study, pseudonyms: Iterable[str], passes: bool, reason: str, by: User
) -> None:
    """Apply a decision to either all of these waiting workers or none. Raises CannotDecide."""

    def step(person: Participation) -> None:
        if person.status != Status.WAITING:
            status = person.get_status_display()
            raise CannotDecide({person.pseudonym: f"not waiting, but {status}."})
        decide(person.token, passes, reason, by)

    for_each(study, pseudonyms, step)


def end_of_wait(participation: Participation) -> datetime | None:
    """Return the deadline for a decision, after which the annotator is admitted."""
    since = participation.waiting_since
    return None if since is None else since + participation.study.decision_limit


def move_on(token: str) -> Participation:
    """Admit a waiting participation if the time limit has passed. The page polls for this."""
    participation = Participation.objects.select_related("study").get(token=token)
    end = end_of_wait(participation)
    if participation.status != Status.WAITING or end is None or end > database_now():
        return participation
    minutes = participation.study.decision_minutes
    return decide(token, True, f"no decision within {minutes} minutes")


def screen_out(participation: Participation, reason: str, by: User | None = None) -> None:
    """Screen out with pay. Frees the seat and keeps the answers. The caller must hold the lock."""
    score_seen = blinding.is_seen(participation, by)
    participation.store(
        status=Status.SCREENED_OUT, seat_number=None, in_analysis=False,
        finished_at=database_now(), decided_at=participation.decided_at,
    )  # fmt: skip
    _note(participation, False, reason, by)
    participation.record_decision(
        Decision.About.ANALYSIS, False, f"screened out: {reason}", by, score_seen=score_seen
    )
    seats.note_outcome(participation, "not_qualified")
    ledger.settle(participation)
    budget.watch(participation.study_id)


def _note(participation: Participation, passes: bool, reason: str, by: User | None) -> None:
    participation.store(qualified=passes)
    participation.record_decision(Decision.About.QUALIFICATION, passes, reason, by)


def flagged_again(study: Study) -> dict[int, str]:
    """Return the reasons why admitted annotators would be screened out by now."""
    if study.qualification not in OTHERS_NEEDED:
        return {}
    means = judged_means(study)
    passed = study.participations.filter(qualified=True)
    reasons = {}
    for pk, shots in passed.values_list("pk", "scenario__shots"):
        if pk in means and not (now := _apply(study, means, pk, shots)).passes:
            reasons[pk] = f"would now be screened out: {now.reason}"
    return reasons
