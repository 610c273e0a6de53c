"""Who is admitted to the annotation step, by the rule of the design.

"Filter annotators whose performance is very low compared to average annotators in the group"
(CLUES, section 4). It judges by the training step, at zero shots by the screening step where the
design has one. The group is everybody of the same kind who finished this step with the same task,
shots and training file in this study, the screened-out included, those who withdrew not. Screening
out is a paid exit and frees the seat; it is no rejection.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

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
from annotation.money import budget, ledger
from annotation.recruitment import seats
from annotation.steps import annotation_step, blinding
from annotation.steps.locking import lock
from annotation.study.gates import OTHERS_NEEDED
from tasks.clock import database_now

# Sums of fractions are off by less than this: nobody is screened out by how a computer adds.
ROUNDING = 1e-6  # points


@dataclass(frozen=True)
class Verdict:
    """Goes on or not; provisional while the group is too small to say."""

    passes: bool
    reason: str
    provisional: bool = False


def verdict(
    rule: str,
    threshold: float | None,
    own: float,
    others: Sequence[float],
    step: str = "training",
) -> Verdict:
    """Apply the rule to a mean S1 of that step and those of the others in the group, all x 100.

    The threshold is in points, or in standard deviations (ddof 1) of the others.
    """
    if rule == Qualification.MINIMUM:
        words = f"{step} S1 {own:.1f}, at least {threshold:g} is required"
        return Verdict(own >= (threshold or 0) - ROUNDING, words)
    if rule not in OTHERS_NEEDED:
        return Verdict(True, "this study screens nobody out")
    needed = OTHERS_NEEDED[Qualification(rule)]
    if len(others) < needed:
        words = f"{step} S1 {own:.1f}; {len(others)} others so far, {needed} are needed"
        return Verdict(True, words, provisional=True)
    mean = statistics.mean(others)
    below = mean - own
    if rule == Qualification.POINTS_BELOW:
        words = f"{step} S1 {own:.1f}, {below:.1f} points below the mean {mean:.1f} of"
        return Verdict(below <= (threshold or 0) + ROUNDING, f"{words} {len(others)} others")
    spread = statistics.stdev(others)
    allowed = (threshold or 0) * spread
    words = f"{step} S1 {own:.1f}; the {len(others)} others have {mean:.1f} ± {spread:.1f}"
    return Verdict(below <= allowed + ROUNDING, words)


def judged_means(study: Study) -> dict[int, tuple[int, str, float]]:
    """Participation -> (scenario, kind, mean S1 x 100 of the step by which the rule judges).

    Of all who finished that step: the number of answers says so, the order has as many.
    """
    answered = (
        Answer.objects.filter(turn__participation__study=study, turn__step__in=JUDGED_STEPS)
        .values(
            "turn__participation_id",
            "turn__participation__scenario_id",
            "turn__participation__kind",
            "turn__participation__training_order",
            "turn__participation__screening_order",
        )
        .annotate(mean=Avg("s1"), n=Count("pk"))
    )
    return {
        row["turn__participation_id"]: (
            row["turn__participation__scenario_id"],
            row["turn__participation__kind"],
            100 * row["mean"],
        )
        for row in answered
        if row["n"]
        == len(row["turn__participation__training_order"])
        + len(row["turn__participation__screening_order"])
    }


def judge(participation: Participation) -> Verdict:
    """What the study's rule says of this participation now."""
    study = participation.study
    means = judged_means(study)
    if participation.pk not in means:
        return Verdict(True, "no completed step to judge by")
    own = means.pop(participation.pk)
    others = [mean for scenario, kind, mean in means.values() if (scenario, kind) == own[:2]]
    return _apply(study, own[2], others, participation.scenario.shots)


def _apply(study: Study, own: float, others: Sequence[float], shots: int) -> Verdict:
    """The rule of the study; the reason names the step that was judged."""
    step = "training" if shots else "screening"
    return verdict(study.qualification, study.qualification_threshold, own, others, step)


def after_judged_step(participation: Participation, turn: Turn, channel: str) -> Turn | None:
    """From the last reveal or screening answer on: annotation step, wait for a decision, or exit.

    The caller holds the participation's lock. Returns the turn that is shown next, or None.
    """
    rule = participation.study.qualification
    if rule == Qualification.NONE:
        return annotation_step.begin(participation, turn, channel)
    if rule == Qualification.RESEARCHER:
        participation.status = Status.WAITING
        participation.waiting_since = database_now()
        participation.save(update_fields=["status", "waiting_since"])
        return None
    judgement = judge(participation)
    if not judgement.passes:
        screen_out(participation, judgement.reason)
        return None
    _note(participation, True, judgement.reason, None)
    return annotation_step.begin(participation, turn, channel)


def decide(token: str, passes: bool, reason: str, by: User | None = None) -> Participation:
    """A researcher (or the time limit, `by` None) lets a waiting worker go on, or screens them out.

    Does nothing to one who is not waiting (any more). Raises Participation.DoesNotExist.
    """
    with transaction.atomic():
        participation = lock(token)
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
        assert last is not None  # they wait after the step that is judged
        annotation_step.begin(participation, last, last.channel, until=participation.waiting_since)
        return participation


class CannotDecide(Exception):
    """Why nothing was decided about several at once: pseudonym -> sentence."""

    def __init__(self, problems: dict[str, str]):
        super().__init__(" ".join(problems.values()))
        self.problems = problems


def decide_together(
    study: Study, pseudonyms: Iterable[str], passes: bool, reason: str, by: User
) -> None:
    """The same decision about several who wait, each as `decide` makes it; about all or none.

    Raises CannotDecide where any of them does not wait (any more).
    """
    wanted = list(dict.fromkeys(pseudonyms))
    with transaction.atomic():
        # In one order, so that two who decide at once do not wait for each other.
        named = study.participations.filter(pseudonym__in=wanted).order_by("pk")
        locked = {seat.pseudonym: seat for seat in named.select_for_update(no_key=True)}
        problems = {
            name: f"There is no annotator {name} in this study."
            if name not in locked
            else f"{name} is not waiting: {locked[name].get_status_display()}."
            for name in wanted
            if name not in locked or locked[name].status != Status.WAITING
        }
        if problems:
            raise CannotDecide(problems)
        for seat in locked.values():
            decide(seat.token, passes, reason, by)


def end_of_wait(participation: Participation) -> datetime | None:
    """The deadline of a researcher's decision; after it the annotator is admitted."""
    since = participation.waiting_since
    return None if since is None else since + participation.study.decision_limit


def move_on(token: str) -> Participation:
    """What the waiting page asks for again and again: go on once the time limit is over."""
    participation = Participation.objects.select_related("study").get(token=token)
    until = end_of_wait(participation)
    if participation.status != Status.WAITING or until is None or until > database_now():
        return participation
    minutes = participation.study.decision_minutes
    return decide(token, True, f"no decision within {minutes} minutes")


def screen_out(participation: Participation, reason: str, by: User | None = None) -> None:
    """The paid exit: the seat is free again, the answers are kept. The caller holds the lock."""
    score_seen = blinding.is_seen(participation, by)
    participation.status = Status.SCREENED_OUT
    participation.seat_number = None
    participation.in_analysis = False
    participation.finished_at = database_now()
    _note(participation, False, reason, by)
    participation.decisions.create(
        about=Decision.About.ANALYSIS,
        outcome=False,
        reason=f"screened out: {reason}",
        by=by,
        at=database_now(),
        score_seen=score_seen,
    )
    participation.save(
        update_fields=["status", "seat_number", "in_analysis", "finished_at", "decided_at"]
    )
    seats.note_outcome(participation, "not_qualified")
    ledger.settle(participation)
    budget.watch(participation.study_id)


def _note(participation: Participation, passes: bool, reason: str, by: User | None) -> None:
    participation.qualified = passes
    participation.save(update_fields=["qualified"])
    participation.decisions.create(
        about=Decision.About.QUALIFICATION,
        outcome=passes,
        reason=reason,
        by=by,
        at=database_now(),
    )


def flagged_again(study: Study) -> dict[int, str]:
    """Participations that passed while the group was too small and would not pass now, and why."""
    if study.qualification not in OTHERS_NEEDED:
        return {}
    means = judged_means(study)
    passed = study.participations.filter(qualified=True)
    reasons = {}
    for pk, shots in passed.values_list("pk", "scenario__shots"):
        if pk not in means:
            continue
        scenario, kind, own = means[pk]
        others = [
            mean
            for other, (of, its_kind, mean) in means.items()
            if other != pk and (of, its_kind) == (scenario, kind)
        ]
        now = _apply(study, own, others, shots)
        if not now.passes:
            reasons[pk] = f"would now be screened out: {now.reason}"
    return reasons


def after_screening_answer(participation: Participation, answered: Turn) -> Turn | None:
    """Show the next screening example; after the last one the rule judges, None if not admitted.

    Nothing is revealed and no score shown, as in the annotation step; the answers serve the rule of
    the design and count nowhere else. So all arms can be selected alike.

    The caller holds the participation's lock, and runs this in the transaction that stores the
    answer: there is never an answered example without what follows it.
    """
    if answered.position + 1 < len(participation.screening_order):
        given = answered.answer
        return participation.show(
            Step.SCREENING, answered.position + 1, given.channel, after=answered,
            shown_at=given.submitted_at,
        )  # fmt: skip
    return after_judged_step(participation, answered, answered.answer.channel)
