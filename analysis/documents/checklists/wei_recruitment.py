"""Items 2.1 to 2.7.3.1 of Wei et al.: population, sampling, admission, training and pay."""

from analysis.documents import methods, recruitment, wording
from analysis.documents.blocks import Entry, Reply
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import (
    CRITERIA,
    NOT_STATED,
    Answers,
    Status,
    prose,
    status,
    text,
)
from analysis.documents.wording import count
from annotation.models import Qualification, Reason, StudyStatus
from annotation.pay.ledger import in_currency
from annotation.prolific.adapter import ProlificAdapter
from annotation.study import screening

NA = str(Status.NOT_APPLICABLE)


def entries(facts: Facts, answers: Answers) -> list[Entry]:
    return [
        *_population(facts, answers),
        _sampling(facts, answers),
        *_admission(facts),
        answers.entry("2.4", "Authors among the annotators"),
        _exposure(facts),
        *_training(facts),
        *_pay(facts),
    ]  # fmt: skip


def _population(facts: Facts, answers: Answers) -> list[Entry]:
    said, reached = answers["2.1"], recruitment.reached(facts)
    named = Status.PARTIAL if reached and not said else answers.status("2.1")
    criteria = [CRITERIA[key] for key in _criteria(facts, answers)]
    return [
        status(
            "2.1", "Population of interest", named, prose(said),
            f"Audience of the design: {' '.join(reached)}" if reached else "", field="2.1",
        ),
        Entry(
            "2.1.1", "Characteristics of that population", Reply.CHOICES,
            ", ".join(criteria) or NOT_STATED, " ".join(reached), "criteria",
        ),
    ]  # fmt: skip


def _criteria(facts: Facts, answers: Answers) -> list[str]:
    reached, found = facts.manifest["audience"], set(answers.chosen("criteria"))
    if reached.get("languages"):
        found.add("language")
    if reached.get("minimum_age") is not None or reached.get("maximum_age") is not None:
        found.add("age")
    if any(reached.get(key) for key in ("countries", "approval_rate", "filters")):
        found.add("other")
    for quota in reached.get("quotas") or {}:
        found.add("gender" if quota.casefold() in ("sex", "gender") else "other")
    return [key for key in CRITERIA if key in found]


def _sampling(facts: Facts, answers: Answers) -> Entry:
    sources = [name for name, _number in facts.platforms]
    strategy = answers.sampling
    if not strategy:
        crowd = bool(sources) and set(sources) == {ProlificAdapter.words}
        strategy = "Crowdsource" if crowd else str(Status.UNKNOWN)
    if len(facts.manifest["scenarios"]) < 2:
        arms = ""
    elif facts.chose_scenario:
        arms = (
            "On Prolific, each scenario was a separate study and participants chose among them;"
            " scenarios were therefore not randomly assigned."
        )
    else:
        arms = (
            "Participants were assigned on arrival to the least filled scenario for which they were"
            " eligible, with ties broken by a seeded random draw."
        )
    return Entry(
        "2.2", "Annotator sampling", Reply.CHOICES, strategy,
        " ".join(
            filter(None, [
                prose(answers["2.2"]), f"Seats taken: {facts.sources or 'none yet'}.",
                *recruitment.reached(facts), arms,
            ])
        ),
        "2.2",
    )  # fmt: skip


def _rules(facts: Facts) -> list[str]:
    """Return the rules that excluded people at recruitment, apart from earlier participation."""
    manifest = facts.manifest
    found = recruitment.reached(facts) if recruitment.came_from_prolific(facts) else []
    if questions := screening.parse(manifest["comprehension_questions"]):
        attempts = count(manifest["comprehension_attempts"], "attempt")
        found.append(
            f"{count(len(questions), 'question')} about the instructions had to be answered"
            f" correctly within {attempts}."
        )
    rule = manifest["qualification"]
    if rule["rule"] != Qualification.NONE and (
        any(facts.shots) or rule.get("screening_examples", 0)
    ):
        found.append(facts.design["rule"])
    if facts.upstream:
        found.append(
            "Participants who had met an upstream or sham task before were not eligible for any"
            " arm, and participants could join only one arm."
        )
    if manifest["computer_only"]:
        found.append("A desktop or laptop computer was required.")
    if lists := facts.study.access_rules.count():
        found.append(f"Entries in the study's access lists: {lists}.")
    return found


ONCE = "Participants could take part in each task only once, across versions and studies."


def _admission(facts: Facts) -> list[Entry]:
    rules, whole = _rules(facts), facts.whole
    failed = facts.failed_questions
    left = {
        "declined": whole.declined, "returned the seat": whole.returned,
        "exceeded the idle limit": whole.expired, "withdrew": facts.withdrawn,
    }  # fmt: skip
    refused = {str(Reason(why).label): n for why, n in facts.refused_arrivals.items()}
    out = whole.screened_out + whole.refused
    share = f" ({out / whole.arrived:.0%})" if whole.arrived else ""
    return [
        status(
            "2.3", "Annotator admission", Status.YES if rules else Status.PARTIAL,
            "" if rules else "The only criterion:", ONCE,
        ),
        text(
            "2.3.1", "Admission criteria", f"{' '.join([*rules, ONCE])}{methods.per_browser(facts)}"
        ),
        text(
            "2.3.2", "Excluded by these criteria",
            f"{out} of {whole.arrived} participations{share}",
            f"Screened out: {whole.screened_out}"
            + (f" ({failed} by the comprehension questions)" if failed else "")
            + f"; had done the task before: {whole.refused}.",
            f"Left for other reasons: {_named(left)}.",
            "Refused on the landing page, before taking a seat (refusals, not participants):"
            f" {_named(refused)}.",
        ),
    ]  # fmt: skip


def _named(numbers: dict[str, int]) -> str:
    return "; ".join(f"{words} {n}" for words, n in numbers.items() if n) or "none"


def unanswered(facts: Facts) -> str:
    if facts.study.status != StudyStatus.CLOSED:
        return "no answers yet"
    return f"answered by 0 of {facts.whole.completed} participants who completed the study"


def _exposure(facts: Facts) -> Entry:
    seen = facts.exit_answers["seen_before"]
    if not facts.manifest["exit_questionnaire"]:
        asked = "The study did not ask about exposure elsewhere."
    elif not seen:
        asked = f"Exposure elsewhere (exit questionnaire): {unanswered(facts)}."
    else:
        counts = ", ".join(f"{word} {n}" for word, n in sorted(seen.items()))
        asked = f"Exposure elsewhere (exit questionnaire): {counts}; not a reason for exclusion."
    return status(
        "2.5", "Annotators' prior exposure to the items", Status.PARTIAL, ONCE,
        methods.per_browser(facts), asked,
    )  # fmt: skip


def _training(facts: Facts) -> list[Entry]:
    scenarios = facts.manifest["scenarios"]
    trained = [bool(s["shots"]) or s.get("arm", "") in facts.upstream for s in scenarios]
    answer = Status.YES if all(trained) else Status.PARTIAL if any(trained) else Status.NO
    paid, amount = _training_pay(facts, any(trained))
    kinds = _kinds_of_training(facts)
    return [
        status("2.6", "Annotator training", answer, *([] if any(trained) else kinds)),
        text("2.6.1", "Type of training", " ".join(kinds) if any(trained) else NA),
        status("2.6.2", "Pay for the training", paid, _unpaid_so_far(facts, paid)),
        text("2.6.2.1", "Amount of pay for the training", amount),
    ]


def _kinds_of_training(facts: Facts) -> list[str]:
    manifest, sentences = facts.manifest, []
    if facts.upstream:
        names = {
            arm: sorted({p["task"] for p in manifest["cross_task"]["pools"] if p["arm"] == arm})
            for arm in facts.upstream
        }
        arms = "; ".join(
            f"the {arm} arm {count(n, 'example')} of {', '.join(names[arm])}"
            for arm, n in facts.upstream.items()
        )
        sentences.append(
            "Before the training examples of the task, annotators answered examples of other tasks,"
            f" with the gold answer revealed after each: {arms}."
        )
    if any(facts.shots):
        k = f"k examples{wording.per_label(manifest)}"
        sentences.append(f"At k shots: {k}, with the gold answer revealed after each.")
    if 0 in facts.shots:
        helped = wording.help_at_zero_shots(manifest)
        sentences.append(f"At zero shots: the task description and the instructions{helped}.")
    sentences.append(f"Shots: {', '.join(map(str, facts.shots))}.")
    if manifest["try_the_tool"]:
        sentences.append("Annotators could try the tool on made-up sentences.")
    return sentences


def _training_pay(facts: Facts, is_trained: bool) -> tuple[Status, str]:
    if not is_trained:
        return Status.NOT_APPLICABLE, NA
    if float(facts.manifest["hourly_rate"]):
        least = "At least " if facts.has_fixed_amounts else ""
        rate = f"{facts.manifest['hourly_rate']} {facts.manifest['currency']}"
        amount = f"{least}{rate} per hour of active time, as in the annotation step."
        return _paid(facts), amount
    if wording.is_paid(facts.manifest):
        whole = " ".join(wording.texts(facts.pay_sentences, "bound_"))
        return Status.PARTIAL, f"No separate amount: the pay includes the training. {whole}"
    return Status.NO, NA


def _pay(facts: Facts) -> list[Entry]:
    paid = wording.is_paid(facts.manifest)
    answer = _paid(facts) if paid else Status.NO
    why = _unpaid_so_far(facts, answer) if paid else unpaid(facts)
    return [
        status("2.7", "Pay for the annotation", answer, why),
        text("2.7.1", "Amount of the pay", amount(facts) if paid else NA),
        *_bonus(facts, paid),
        *_structure(facts, paid),
    ]


def _paid(facts: Facts) -> Status:
    """Return Yes if there are earnings and all are marked as paid, otherwise Partial."""
    return Status.YES if facts.earned and facts.paid == facts.earned else Status.PARTIAL


def _unpaid_so_far(facts: Facts, paid: Status) -> str:
    if paid != Status.PARTIAL:
        return ""
    if not facts.paid:
        return "Pay was promised; no payment is recorded."
    return "Pay was promised; part of the earnings is recorded as paid."


def unpaid(facts: Facts) -> str:
    return facts.pay_sentences["rate"]


def amount(facts: Facts) -> str:
    sentences = wording.texts(facts.pay_sentences)
    wage = facts.median("per_active_hour")
    if wage is not None:
        median = f"{in_currency(round(wage))} {facts.manifest['currency']}"
        sentences.append(f"Median earnings per active hour: {median}.")
    return " ".join(sentences)


def _bonus(facts: Facts, paid: bool) -> list[Entry]:
    """Return the bonus items. Only researchers know why manual bonuses were paid."""
    number, total = facts.bonuses
    answer, amount = Status.NO, NA
    evidence = "Pay did not depend on scores." if paid else ""
    if number:
        answer, amount = Status.PARTIAL, total
        evidence = (
            f"The design has no score-based pay; bonuses awarded manually: {number}, {total} in"
            " total. The ledger states the reasons."
        )
    elif not paid:
        answer = Status.NOT_APPLICABLE
    return [
        status("2.7.2", "Performance bonus", answer, evidence),
        text("2.7.2.1", "Amount of the bonus", amount),
    ]


def _structure(facts: Facts, paid: bool) -> list[Entry]:
    title, more = "Equal pay for all annotators", "Differences in pay"
    number, total = facts.bonuses
    if not paid:
        return [status("2.7.3", title, Status.NOT_APPLICABLE), text("2.7.3.1", more, NA)]
    differing = []
    if number:
        differing.append(f"bonuses awarded manually: {number}, {total} in total")
    if facts.unpaid:
        differing.append(f"{count(facts.unpaid, 'participation')} not paid")
    if not float(facts.manifest["hourly_rate"]):
        rule = "The same amounts applied to all annotators."
    elif facts.has_fixed_amounts:
        rule = (
            "The same rate and bounds applied to all annotators: active time at the rate, or the"
            " fixed amount if that is higher."
        )
    else:
        rule = "The same rate and bounds applied to all annotators; amounts follow active time."
    answer = Status.PARTIAL if differing else Status.YES
    return [
        status("2.7.3", title, answer, rule),
        text("2.7.3.1", more, f"By decision: {'; '.join(differing)}." if differing else NA),
    ]
