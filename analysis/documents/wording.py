"""Sentences and formats shared by plans and reports, so that both use the same terms."""

import itertools
import math
from collections import Counter
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.utils.translation import get_language_info

from analysis.documents.blocks import Block, Bullets, Fact, Paragraph
from annotation.models import Arm, ProlificReward, Qualification, Study
from annotation.study.consequences import IN_TEST
from tasks.answer_keys import LABEL, SPANS
from tasks.answers import KINDS
from tasks.cards import parse_card
from tasks.metrics import METRICS

Manifest = dict[str, Any]

LEVEL = 0.05
POWER = 0.8
# The test used to plan group sizes, and how it differs from the primary test.
OF_PEOPLE = "Welch's t test over annotators alone"
AT_LEAST = (
    "The primary test also generalises to other examples, so it needs at least this difference."
)
ACTIVE_TIME = "Active time is defined as the"  # the methods section leaves this out


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


ORDERS = dict(Study.Order.choices)


class Verbs(NamedTuple):
    """The verbs of shared sentences. Plans use the present tense and reports the past tense."""

    is_: str = "is"
    are: str = "are"
    have: str = "have"
    need: str = "need"
    wait: str = "wait"
    decides: str = "decides"
    proceed: str = "proceed"
    complete: str = "complete"
    completes: str = "completes"
    leave: str = "leave"
    earn: str = "earn"
    choose: str = "choose"
    may: str = "may"
    paid: str = "are paid"
    paid_for: str = "are paid for"


PLANNED = Verbs()
REPORTED = Verbs(
    "was", "were", "had", "needed", "waited", "decided", "proceeded", "completed", "completed",
    "left", "were promised", "chose", "could", "were promised",
    "were promised pay for",
)  # fmt: skip


# Maps an answer type to the noun for an answer and the action of the annotator.
WAYS = {
    SPANS: (KINDS[SPANS].noun, KINDS[SPANS].action),
    "typed": ("highlighted spans or typed texts", "highlighting spans of the text or typing"),
    **{kind.name: (kind.noun, kind.action) for kind in KINDS.values()},
}


def way(card: dict[str, Any]) -> str:
    """Return the WAYS key for a card in the manifest."""
    usual = LABEL if card.get("labels") else "typed" if card.get("typed") else SPANS
    return card.get("answer") or usual


def order(name: str) -> str:
    return ORDERS.get(name, name)


def count(number: int, word: str) -> str:
    """Format a number with its noun, for example "1 task" or "2 tasks"."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def shots_of(manifest: Manifest) -> set[int]:
    return {scenario["shots"] for scenario in manifest["scenarios"]}


def per_label(manifest: Manifest) -> str:
    """Return a clause about tasks with k examples per correct answer at k shots, or ""."""
    names = [task["name"] for task in manifest["tasks"] if task["card"].get("shots_per_label")]
    return f" (for {', '.join(names)}: k per correct answer)" if names else ""


def parts_of_tests(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    """Return a sentence about tests that use only part of the imported file, or ""."""
    parts = [
        f"{task['name']}, {split['examples']} of {task['card']['test_of']} test examples"
        + (f" drawn with seed {task['card']['test_seed']}" if "test_seed" in task["card"] else "")
        for task in manifest["tasks"]
        for split in task["splits"]
        if split["kind"] == "test" and "test_of" in task["card"]
    ]
    if not parts:
        return ""
    return f"A subset of the imported test file {verbs.is_} used: {'; '.join(parts)}."


def interface_language(manifest: Manifest) -> str:
    name: str = get_language_info(manifest["interface_language"])["name"]
    return name


def training_splits(manifest: Manifest) -> str:
    """Format split numbers as "training split 1" or "training splits 1, 2 and 3"."""
    numbers = {scenario["split"] for scenario in manifest["scenarios"]} - {None}
    *first, last = map(str, sorted(numbers))
    return f"training splits {', '.join(first)} and {last}" if first else f"training split {last}"


def scenario_is(manifest: Manifest) -> str:
    splits = {scenario["split"] for scenario in manifest["scenarios"]} - {None}
    parts = ["unseen task", "arm"] if manifest["cross_task"] else ["task"]
    parts += ["number of shots", "training split"][: 1 + (len(splits) > 1)]
    return f"a combination of {', '.join(parts[:-1])} and {parts[-1]}"


def minutes_of(manifest: Manifest) -> list[int]:
    return [scenario["minutes"] for scenario in manifest["scenarios"]]


def announced(manifest: Manifest) -> str:
    """Format the announced duration, for example "20 to 60 minutes"."""
    told = minutes_of(manifest)
    if len(set(told)) == 1:
        return count(told[0], "minute")
    return f"{min(told)} to {max(told)} minutes, depending on the scenario"


def help_at_zero_shots(manifest: Manifest) -> str:
    """Return whether instructions show help examples at zero shots, or "" if cards lack them."""
    cards = [parse_card(task["card"], task["name"]) for task in manifest["tasks"]]
    if not any(window.example for card in cards for window in card.help_windows):
        return ""
    return f", {'with' if manifest['help_examples_at_zero_shots'] else 'without'} the help examples"


NEEDED = {
    Qualification.MINIMUM: "of at least {:g}",
    Qualification.POINTS_BELOW: "at most {:g} points below the mean of the other annotators",
    Qualification.SDS_BELOW: "at most {:g} SDs below the mean of the other annotators",
}


def is_paid(manifest: Manifest) -> bool:
    """Return whether the design promises payment. Manual bonuses are possible in any study."""
    amounts = (manifest["hourly_rate"], *map(manifest["pay"].get, ("base_reward", "minimum_pay")))
    return any(float(amount) for amount in amounts)


def stopping(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    """Return a sentence about optional stopping, or "" for a rehearsal."""
    if manifest["rehearsal"]:
        return ""
    if manifest["hide_test_scores"]:
        return (
            f"To prevent optional stopping, participants' test scores {verbs.are} hidden from the"
            f" researchers until the study {verbs.is_} closed."
        )
    return (
        f"Optional stopping {verbs.is_} possible, as participants' test scores {verbs.are} visible"
        " to the researchers during data collection."
    )


def rule_text(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    rule, shots, v = manifest["qualification"], shots_of(manifest), verbs
    screening = rule["screening_examples"]
    step = " or ".join(
        [*(["training"] if any(shots) else []), *(["screening"] if screening else [])]
    )
    if not step:
        return f"There {v.is_} no training step, and no annotator {v.is_} screened out by score."
    if rule["rule"] == Qualification.NONE:
        return (
            f"After the training step, all annotators {v.proceed} to the annotation step; none"
            f" {v.is_} screened out by score."
        )
    if rule["rule"] == Qualification.RESEARCHER:
        paid = ", with pay," if float(manifest["hourly_rate"]) else ""
        minutes = count(rule["decision_minutes"], "minute")
        sentences = [
            f"After the {step} step, a researcher {v.decides} whether an annotator {v.is_}"
            f" admitted to the annotation step; annotators {v.wait}{paid} for at most {minutes}"
            f" and {v.are} admitted if there {v.is_} no decision by then."
        ]
    else:
        threshold = NEEDED[Qualification(rule["rule"])].format(rule["threshold"])
        sentences = [
            f"To proceed to the annotation step, annotators {v.need} a mean {step} S1 (x 100)"
            f" {threshold}."
        ]
    if float(manifest["hourly_rate"]):
        sentences.append(
            f"Those screened out {v.paid_for} the time worked, and their seats {v.are} reassigned."
        )
    else:
        sentences.append(f"The seats of those screened out {v.are} reassigned.")
    if rule["others_needed"]:
        sentences.append(
            f"No annotator {v.is_} screened out by this rule before {rule['others_needed']} other"
            f" annotators in the scenario {v.have} finished the {step} step."
        )
    if screening:
        sentences.append(
            f"At zero shots, a screening set of {count(screening, 'example')} {v.is_} used in place"
            f" of the training step, without revealing its gold answers. The set {v.is_} drawn with"
            f" the study's seed from training examples that {v.are} shown in no other arm and whose"
            f" texts are not in the test set; its answers {v.are} excluded from every score."
        )
    elif 0 in shots:
        sentences.append(f"At zero shots, there {v.is_} no training step and no such rule.")
    return " ".join(sentences)


def pay_sentences(manifest: Manifest, verbs: Verbs = PLANNED) -> list[str]:
    return [*rate(manifest, verbs), *least_and_most(manifest, verbs)]


def has_fixed_amounts(manifest: Manifest) -> bool:
    return any(float(manifest["pay"][key]) for key in ("base_reward", "minimum_pay"))


def rate(manifest: Manifest, verbs: Verbs, has_fixed_reward: bool = False) -> list[str]:
    """Return sentences about the rate and its time. With fixed amounts, it is a lower bound."""
    if not is_paid(manifest):
        return [f"No payment {verbs.is_} promised."]
    if not float(manifest["hourly_rate"]):
        return [f"There {verbs.is_} no hourly rate."]
    least = "at least " if has_fixed_reward or has_fixed_amounts(manifest) else ""
    return [
        f"Annotators {verbs.paid} {least}{manifest['hourly_rate']} {manifest['currency']} per hour"
        " of active time, at the same rate throughout and regardless of their score.",
        f"{ACTIVE_TIME} {manifest['pay']['active_time']}.",
    ]


def least_and_most(manifest: Manifest, verbs: Verbs = PLANNED) -> list[str]:
    """Return sentences about the bounds on pay, or [] if pay is unbounded."""
    pay, currency, v = manifest["pay"], manifest["currency"], verbs
    sentences = []
    if float(pay["base_reward"]):
        sentences.append(
            f"Annotators who {v.complete} the task {v.earn} at least {pay['base_reward']}"
            f" {currency}."
        )
    if float(pay["minimum_pay"]):
        sentences.append(
            f"Annotators who {v.have} seen an example {v.earn} at least {pay['minimum_pay']}"
            f" {currency}, even if they {v.leave} early or {v.are} screened out."
        )
    if pay["max_paid_hours"] is not None and is_paid(manifest):
        sentences.append(f"Paid time {v.is_} capped at {float(pay['max_paid_hours']):g} h.")
    waits = manifest["qualification"]["rule"] == Qualification.RESEARCHER
    waiting = " and waiting time" if waits else ""
    if pay["cap"] is not None and float(pay["cap"]):
        sentences.append(
            f"Earnings per participation {v.are} capped at {pay['cap']} {currency}, including"
            f" top-ups for time{waiting} but excluding bonuses awarded by a researcher."
        )
    if pay["budget"] is not None:
        sentences.append(
            f"The budget for all annotators {v.is_} {pay['budget']} {currency}; seats {v.are}"
            " assigned only while the earnings to date, the possible further earnings of annotators"
            f" in progress, and the cap for one more annotator {v.are} together within the budget."
        )
    return sentences


# Maps the design's choice to the time that the reward on Prolific covers, and to further pay.
REWARDS = {
    ProlificReward.SHORTEST: "the announced time of the shortest scenario, or Prolific's minimum"
    " reward if that is higher{least}; longer work is topped up with a bonus",
    ProlificReward.LONGEST: "the announced time of the longest scenario{least}",
}


def reward_on_prolific(manifest: Manifest) -> list[str]:
    """Return sentences about how the Prolific reward is set, or [] without an hourly rate."""
    if not float(manifest["hourly_rate"]):
        return []
    same = "fixed in advance and the same in all scenarios"
    least = ", at least the base reward" if float(manifest["pay"]["base_reward"]) else ""
    time = REWARDS[ProlificReward(manifest["prolific_reward"])].format(least=least)
    if manifest["participants_choose_scenario"]:
        same, time = "fixed in advance for each scenario", f"its announced time{least}"
    return [
        f"For participants from Prolific, the reward is {same}: the hourly rate for {time}."
        " This reward is the minimum pay for a completed submission."
    ]


def can_screen_out(manifest: Manifest) -> bool:
    rule = manifest["qualification"]
    judges = any(shots_of(manifest)) or rule["screening_examples"]
    by_rule = rule["rule"] != Qualification.NONE and judges
    return bool(by_rule or manifest["comprehension_questions"].strip())


def pausing(manifest: Manifest) -> list[str]:
    """Return sentences about screen-outs that automatically pause the study, or []."""
    number = manifest["max_screen_outs_in_a_row"]
    screens = manifest["qualification"]["rule"] != Qualification.NONE
    if number is None or not (screens or manifest["comprehension_questions"].strip()):
        return []
    return [
        f"The study pauses automatically once {number} annotators in a row are screened out, until"
        " a researcher reopens it."
    ]


def same_recipe(manifest: Manifest) -> list[Fact]:
    sharing: dict[str, list[str]] = {}
    for task in manifest["tasks"]:
        sharing.setdefault(task["recipe"], []).append(task["name"])
    return [Fact(f"Recipe for {', '.join(names)}", text, True) for text, names in sharing.items()]


def metrics(manifest: Manifest) -> str:
    """Return sentences about the test sets' metrics, or "" if S1 is the only one."""
    by_metric: dict[str, list[str]] = {}
    for task in manifest["tasks"]:
        by_metric.setdefault(task["card"].get("metric", "S1"), []).append(task["name"])
    further = manifest["metrics"]
    if set(by_metric) == {"S1"} and not further:
        return ""
    named = "; ".join(f"{metric} for {', '.join(names)}" for metric, names in by_metric.items())
    names = dict.fromkeys([*by_metric, *further])
    whole = [name for name in names if not METRICS[name].is_mean]
    sentences = [f"Test sets are scored with the task's metric: {named}."]
    if of_crossfit := [name for name in names if "CrossFit" in METRICS[name].source]:
        is_or_are = "is" if len(of_crossfit) == 1 else "are"
        sentences.append(
            f"{', '.join(of_crossfit)} {is_or_are} computed as in CrossFit (Ye et al., 2021,"
            " dataloader/metrics.py)."
        )
    if further:
        sentences.append(
            "Additional metrics, reported where applicable and without tests between groups:"
            f" {', '.join(further)}."
        )
    if whole:
        sentences.append(
            f"Metrics that are not means over examples: {', '.join(whole)}. Their intervals are"
            " two-way t intervals of jackknife pseudo-values (deleting one context at a time); a"
            " mean is undefined if one of its scores is undefined."
        )
    return " ".join(sentences)


def recomputed(manifest: Manifest) -> str:
    others = [
        f"{task['name']} under {task['card']['metric']}"
        for task in manifest["tasks"]
        if task["card"].get("metric", "S1") != "S1"
    ]
    return "the main table" + (f" (except for {', '.join(others)})" if others else "")


def group_sizes(scenarios: list[dict[str, Any]]) -> dict[tuple[str, int], int]:
    """Count the direct arm's planned annotators by (task, shots) over all training splits."""
    seats: Counter[tuple[str, int]] = Counter()
    for scenario in scenarios:
        if scenario.get("arm", Arm.DIRECT) == Arm.DIRECT:
            seats[scenario["task"], scenario["shots"]] += scenario["seats"]
    return seats


def pairs(scenarios: list[dict[str, Any]]) -> list[tuple[str, int, int, int, int]]:
    """Return (task, fewer shots, more shots, n at fewer, n at more) over all training splits."""
    seats = group_sizes(scenarios)
    return [
        (task, fewer, more, seats[task, fewer], seats[task, more])
        for (task, fewer), (other, more) in itertools.combinations(sorted(seats), 2)
        if task == other
    ]


def data_warnings(manifest: Manifest) -> list[Block]:
    """Return the leakage and ceiling warnings frozen with the design, or []."""
    sentences = manifest["data_warnings"]
    if not sentences:
        return []
    if manifest["accepts_leakage"] and any(each.endswith(IN_TEST) for each in sentences):
        sentences = [*sentences, "The leakage was known and accepted before the study opened."]
    return [Paragraph("Warnings from these tasks' data reports:"), Bullets(sentences)]


def sds(difference: float) -> str:
    return f"{difference:.2f} SDs" if math.isfinite(difference) else "more than 50 SDs"
