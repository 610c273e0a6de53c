"""Sentences and formats shared by plans and reports, so that both use the same terms."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.db.models import Count
from django.utils.translation import get_language_info

from analysis.documents.blocks import Block, Bullets, Fact, Paragraph
from analysis.scores.markup import rendered
from analysis.stats.learning import pairs_of_shots
from annotation.models import Arm, Qualification, Study
from annotation.study.consequences import ALSO_IN_TEST
from annotation.study.cross_task import training_in
from tasks.answer_keys import LABEL, SPANS
from tasks.answers import KINDS
from tasks.cards import parse_card
from tasks.columns import grouped
from tasks.gym import catalogue
from tasks.metrics import METRICS
from tasks.models import Example, Split

Manifest = dict[str, Any]

LEVEL = 0.05
POWER = 0.8
# The test used for planning group sizes, and how it differs from the primary test.
WELCH_TEST = "Welch's t test over annotators alone"
LOWER_BOUND = (
    "The primary test also generalises to other examples, so it needs at least this difference."
)


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


ORDERS = dict(Study.Order.choices)


# The verbs in shared sentences: present tense for plans, past tense for reports.
VERBS = {
    "is_": ("is", "was"),
    "are": ("are", "were"),
    "have": ("have", "had"),
    "need": ("need", "needed"),
    "wait": ("wait", "waited"),
    "decides": ("decides", "decided"),
    "proceed": ("proceed", "proceeded"),
    "complete": ("complete", "completed"),
    "completes": ("completes", "completed"),
    "leave": ("leave", "left"),
    "earn": ("earn", "were promised"),
    "choose": ("choose", "chose"),
    "may": ("may", "could"),
    "paid": ("are paid", "were promised"),
    "paid_for": ("are paid for", "were promised pay for"),
}
Verbs = dict[str, str]
PLANNED: Verbs = {verb: plan for verb, (plan, _report) in VERBS.items()}
REPORTED: Verbs = {verb: report for verb, (_plan, report) in VERBS.items()}


# Maps an answer type to a noun for the answer and a verb for what the annotator does.
FORMS = {
    SPANS: (KINDS[SPANS].noun, KINDS[SPANS].action),
    "typed": ("highlighted spans or typed texts", "highlighting spans of the text or typing"),
    **{kind.name: (kind.noun, kind.action) for kind in KINDS.values()},
}


def answer_kind(card: dict[str, Any]) -> str:
    """Return the key of FORMS for a card in the manifest."""
    usual = LABEL if card.get("labels") else "typed" if card.get("typed") else SPANS
    return card.get("answer") or usual


def count(number: int, noun: str) -> str:
    """Format a number with its noun, for example "1 task" or "2 tasks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(items: Iterable[str]) -> str:
    """Join words into a list: "a", "a and b" or "a, b and c"."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def shots_of(manifest: Manifest) -> set[int]:
    return {scenario["shots"] for scenario in manifest["scenarios"]}


def per_label(manifest: Manifest) -> str:
    names = [task["name"] for task in manifest["tasks"] if task["card"].get("shots_per_label")]
    return f" (for {', '.join(names)}: k per correct answer)" if names else ""


def parts_of_tests(manifest: Manifest) -> list[str]:
    return [
        f"{task['name']}, {split['examples']} of {task['card']['test_of']} test examples"
        + (f" drawn with seed {task['card']['test_seed']}" if "test_seed" in task["card"] else "")
        for task in manifest["tasks"]
        for split in task["splits"]
        if split["kind"] == "test" and "test_of" in task["card"]
    ]


def interface_language(manifest: Manifest) -> str:
    return get_language_info(manifest["interface_language"])["name"]


def training_splits(manifest: Manifest) -> str:
    """Format split numbers as "training split 1" or "training splits 1, 2 and 3"."""
    numbers = {scenario["split"] for scenario in manifest["scenarios"]} - {None}
    noun = "training split" if len(numbers) == 1 else "training splits"
    return f"{noun} {listed(map(str, sorted(numbers)))}"


def scenario_is(manifest: Manifest) -> str:
    splits = {scenario["split"] for scenario in manifest["scenarios"]} - {None}
    parts = ["unseen task", "arm"] if manifest["cross_task"] else ["task"]
    parts += ["number of shots", "training split"][: 1 + (len(splits) > 1)]
    return f"a combination of {listed(parts)}"


def minutes_of(manifest: Manifest) -> list[int]:
    return [scenario["minutes"] for scenario in manifest["scenarios"]]


def announced(manifest: Manifest) -> str:
    """Format the duration announced to participants, for example "20 to 60 minutes"."""
    minutes = minutes_of(manifest)
    if len(set(minutes)) == 1:
        return count(minutes[0], "minute")
    return f"{min(minutes)} to {max(minutes)} minutes, depending on the scenario"


def help_at_zero_shots(manifest: Manifest) -> str:
    cards = [parse_card(task["card"], task["name"]) for task in manifest["tasks"]]
    if not any(window.example for card in cards for window in card.help_windows):
        return ""
    return f", {'with' if manifest['help_examples_at_zero_shots'] else 'without'} the help examples"


def is_paid(manifest: Manifest) -> bool:
    amounts = (manifest["hourly_rate"], *map(manifest["pay"].get, ("base_reward", "minimum_pay")))
    return any(float(amount) for amount in amounts)


def has_fixed_amounts(manifest: Manifest) -> bool:
    return any(float(manifest["pay"][key]) for key in ("base_reward", "minimum_pay"))


def context(manifest: Manifest) -> dict[str, Any]:
    """Return the values for sentence templates. Some are functions, which templates call."""
    shots, rule, pay = shots_of(manifest), manifest["qualification"], manifest["pay"]
    steps = {"training": any(shots), "screening": rule["screening_examples"]}
    crossed = manifest["cross_task"]
    arms: list[dict[str, Any]] = [
        {"name": name, "tasks": tasks, "examples": examples}
        for name, (tasks, examples) in (training_in(crossed) if crossed else {}).items()
    ]
    partition = crossed and crossed["partition"]
    held_out = [task["name"] for task in manifest["tasks"]]
    trained = sorted({task for arm in arms[:-2] for task in arm["tasks"]})
    hours = pay["max_paid_hours"]
    amounts = {name: float(pay[name] or 0) for name in ("base_reward", "minimum_pay", "cap")}
    return {
        "m": manifest,
        "rule": rule,
        "step": " or ".join(step for step, is_used in steps.items() if is_used),
        "has_training": any(shots),
        "at_zero": 0 in shots,
        "training_order": ORDERS[manifest["training_order"]],
        "annotation_order": ORDERS[manifest["annotation_order"]],
        "upstream_arms": arms[:-2],
        "named_arms": [arm["name"] for arm in arms[:-2] if "upstream_arms" in crossed],
        "has_gain_tests": bool(crossed) and ("upstream_arms" in crossed or len(shots) > 1),
        "has_several_shots": len(shots) > 1,
        "sham": arms[-2] if arms else None,
        "left_out": catalogue.left_out(partition, held_out, trained) if partition else "",
        "with_images": [task["name"] for task in manifest["tasks"] if "images" in task["card"]],
        "has_plateau": any(
            split["kind"] == Split.Kind.TRAIN and split["examples"] > 2
            for task in manifest["tasks"]
            for split in task["splits"]
        ),
        "confidence_percent": 100 * (manifest.get("confidence_share") or 0),
        "is_paid": is_paid(manifest),
        "is_hourly": float(manifest["hourly_rate"]),
        "waits": rule["rule"] == Qualification.RESEARCHER,
        "max_paid_hours": hours if hours is None else float(hours),
        **amounts,
        **metrics(manifest),
        **{function.__name__: partial(function, manifest) for function in CALLED},
    }


CALLED = (
    per_label, parts_of_tests, interface_language, training_splits, scenario_is, announced,
    help_at_zero_shots,
)  # fmt: skip


def design(
    manifest: Manifest,
    verbs: Verbs = PLANNED,
    strata: Sequence[str] = (),
    on_prolific: bool = True,
) -> dict[str, str]:
    """Map blocks of templates/documents/design.txt to their sentences."""
    values = {"v": verbs, "strata": strata, "on_prolific": on_prolific}
    return rendered("design", context(manifest) | values, conditions=conditions(manifest))


def strata(study: Study) -> list[str]:
    """Return the tasks with strata among their test examples, for example "MNLI (10 strata)"."""
    tests = Example.objects.filter(split__task__in=study.tasks.all(), split__kind=Split.Kind.TEST)
    rows = tests.exclude(stratum="").order_by("split__task__name").values_list("split__task__name")
    counts = rows.annotate(n=Count("stratum", distinct=True))
    return [f"{name} ({n} strata)" for name, n in counts if n > 1]


def pay(manifest: Manifest, verbs: Verbs = PLANNED, **settled: Any) -> dict[str, str]:
    """Map blocks of templates/documents/pay.txt to their sentences.

    `settled` contains the study's amounts so far.
    """
    return rendered("pay", context(manifest), v=verbs, is_plan=verbs is PLANNED, **settled)


def options(manifest: Manifest, verbs: Verbs = PLANNED) -> list[str]:
    """Return the sentences in templates/documents/options.txt for options that are enabled."""
    texts = rendered("options", {"v": verbs, "is_plan": verbs is PLANNED})
    return [text for name, text in texts.items() if text and manifest[name]]


def table_note(table: str, **values: str) -> str:
    """Return the sentences about a table in templates/documents/tables.txt."""
    return rendered("tables", values, only=table)[table]


def can_screen_out(manifest: Manifest) -> bool:
    rule = manifest["qualification"]
    judges = any(shots_of(manifest)) or rule["screening_examples"]
    by_rule = rule["rule"] != Qualification.NONE and judges
    return bool(by_rule or manifest["comprehension_questions"].strip())


def same_recipe(manifest: Manifest) -> list[Fact]:
    sharing = grouped((task["recipe"], task["name"]) for task in manifest["tasks"])
    return [Fact(f"Recipe for {', '.join(names)}", text, True) for text, names in sharing.items()]


def metrics(manifest: Manifest) -> dict[str, Any]:
    """Return the test-set metrics, keyed by the names used in templates/documents/design.txt."""
    tasks = manifest["tasks"]
    by_metric = grouped((task["card"].get("metric", "S1"), task["name"]) for task in tasks)
    names = dict.fromkeys([*by_metric, *manifest["metrics"]])
    return {
        "by_metric": by_metric,
        "has_metrics": set(names) != {"S1"} or bool(manifest["metrics"]),
        "of_crossfit": [name for name in names if "CrossFit" in METRICS[name].source],
        "not_means": [name for name in names if not METRICS[name].is_mean],
    }


def recomputed(manifest: Manifest) -> str:
    exceptions = [
        f"{task['name']} under {task['card']['metric']}"
        for task in manifest["tasks"]
        if task["card"].get("metric", "S1") != "S1"
    ]
    return "the main table" + (f" (except for {', '.join(exceptions)})" if exceptions else "")


def group_sizes(scenarios: list[dict[str, Any]]) -> dict[tuple[str, int], int]:
    """Count the planned annotators of the direct arm by (task, shots), over all training splits."""
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
        for task, fewer, more in pairs_of_shots(sorted(seats))
    ]


def data_warnings(manifest: Manifest) -> list[Block]:
    sentences = manifest["data_warnings"]
    if not sentences:
        return []
    if manifest["accepts_leakage"] and any(each.endswith(ALSO_IN_TEST) for each in sentences):
        sentences = [*sentences, "The leakage was known and accepted before the study opened."]
    return [Paragraph("Warnings from these tasks' data reports:"), Bullets(sentences)]


def sds(difference: float) -> str:
    return f"{difference:.2f} SDs" if math.isfinite(difference) else "more than 50 SDs"


# Maps each key of the audience to the condition's name and suffix.
CONDITIONS = {
    "countries": ("countries", ""),
    "languages": ("languages", ""),
    "minimum_age": ("minimum age", ""),
    "maximum_age": ("maximum age", ""),
    "approval_rate": ("approval rate of at least", " %"),
}


def conditions(manifest: Manifest) -> list[str]:
    """Return the conditions under which participants are recruited on Prolific."""
    limits, stated = manifest["audience"] or {}, []
    for key, (name, end) in CONDITIONS.items():
        if limit := limits.get(key):
            text = ", ".join(limit) if isinstance(limit, list) else limit
            stated.append(f"{name} {text}{end}")
    if limits.get("filters"):
        stated.append(f"Prolific filters {json.dumps(limits['filters'], ensure_ascii=False)}")
    return stated
