"""Sentences and formats that documents share, so that plan and report use the same words."""

import math
from datetime import UTC, datetime
from typing import Any

from analysis.documents.blocks import Fact
from annotation.models import Qualification, Study
from tasks.cards import parse_card

Manifest = dict[str, Any]

LEVEL = 0.05
POWER = 0.8


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


ORDERS = dict(Study.Order.choices)


def order(name: str) -> str:
    """An order of examples in words."""
    return ORDERS.get(name, name)


def count(number: int, word: str) -> str:
    """1 task, 2 tasks."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def shots_of(manifest: Manifest) -> set[int]:
    return {one["shots"] for one in manifest["scenarios"]}


def help_at_zero_shots(manifest: Manifest) -> str:
    """Whether help examples stand beside the instructions there; "" where no card has any."""
    cards = [parse_card(task["card"], task["name"]) for task in manifest["tasks"]]
    if not any(window.example for card in cards for window in card.help_windows):
        return ""
    return f", {'with' if manifest['help_examples_at_zero_shots'] else 'without'} the help examples"


NEEDED = {
    Qualification.MINIMUM: "a mean training S1 (x 100) of at least {:g}",
    Qualification.POINTS_BELOW: "a mean training S1 (x 100) at most {:g} points below the others'",
    Qualification.SDS_BELOW: "a mean training S1 at most {:g} SDs below the others'",
}


def rule_text(manifest: Manifest) -> str:
    """The rule after the training step in sentences."""
    rule, shots = manifest["qualification"], shots_of(manifest)
    if not any(shots):
        return "There is no training step, so nobody is screened out by score."
    if rule["rule"] == Qualification.NONE:
        return "After the training step everybody goes on: nobody is screened out by score."
    if rule["rule"] == Qualification.RESEARCHER:
        found = (
            "After the training step a researcher decides who goes on, while the worker waits,"
            f" paid, for at most {count(rule['decision_minutes'], 'minute')}; without a decision"
            " everybody goes on."
        )
    else:
        needed = NEEDED[Qualification(rule["rule"])].format(rule["threshold"])
        found = f"To go on after the training step takes {needed}."
    found += " Who does not is paid for the time worked, and the seat is given to somebody else."
    if rule["others_needed"]:
        found += f" The rule judges nobody before {rule['others_needed']} others have finished."
    if 0 in shots:
        found += " At zero shots everybody goes on."
    return found


def pay_sentences(manifest: Manifest) -> list[str]:
    """What was promised, as sentences."""
    pay, currency = manifest["pay"], manifest["currency"]
    found = [
        f"{manifest['hourly_rate']} {currency} per hour of active time, in the training step as in"
        " the annotation step, the same for everybody and whatever the score.",
        f"Active time is the {pay['active_time']}.",
    ]
    return found + least_and_most(manifest)


def least_and_most(manifest: Manifest) -> list[str]:
    """The bounds of what is paid, as sentences; none where there are none."""
    pay, currency = manifest["pay"], manifest["currency"]
    found = []
    if float(pay["base_reward"]):
        found.append(f"Who completes earns at least {pay['base_reward']} {currency}.")
    if float(pay["minimum_pay"]):
        found.append(
            "Whoever saw an example, also who leaves or is screened out, earns at least"
            f" {pay['minimum_pay']} {currency}."
        )
    if pay["max_paid_hours"] is not None:
        found.append(f"Paid are at most {float(pay['max_paid_hours']):g} h.")
    # A study that opened before there were caps and budgets does not tell of them.
    if pay.get("cap") is not None and float(pay["cap"]):
        found.append(
            f"One participation earns at most {pay['cap']} {currency}, waiting and top-ups"
            " included, bonuses left aside."
        )
    if pay.get("budget") is not None:
        found.append(
            f"The budget for all annotators is {pay['budget']} {currency}: a seat is given out only"
            " while what is earned, what those at work may still earn and one more cap fit into it."
        )
    return found


def pausing(manifest: Manifest) -> list[str]:
    """When the study pauses by itself for people who are screened out, as sentences."""
    number = manifest.get("max_screen_outs_in_a_row")
    if number is None:
        return []
    return [
        f"The study pauses by itself once {number} people in a row are screened out, until a"
        " researcher has looked and reopens it."
    ]


def same_recipe(manifest: Manifest) -> list[Fact]:
    """Each recipe with the tasks that share it."""
    sharing: dict[str, list[str]] = {}
    for task in manifest["tasks"]:
        sharing.setdefault(task["recipe"], []).append(task["name"])
    return [Fact(f"Recipe of {', '.join(names)}", text, True) for text, names in sharing.items()]


def pairs(scenarios: list[dict[str, Any]]) -> list[tuple[str, int, int, int, int]]:
    """(task, fewer shots, more shots, annotators at fewer, at more) of each planned contrast."""
    found = []
    ordered = sorted(scenarios, key=lambda one: (one["task"], one["shots"]))
    for index, less in enumerate(ordered):
        for more in ordered[index + 1 :]:
            if more["task"] == less["task"]:
                found.append(
                    (less["task"], less["shots"], more["shots"], less["seats"], more["seats"])
                )
    return found


def sds(found: float) -> str:
    return f"{found:.2f} SDs" if math.isfinite(found) else "more than 50 SDs"
