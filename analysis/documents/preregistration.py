"""A study's preregistration, which describes its frozen design in prose.

The text is generated from the manifest, whose hash is contained in every export. The only
exceptions are the opening time, the version of the consent text, the number of seats taken before
opening, and the strata of the test examples, which are covered by the tasks' content hashes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from analysis.cross_task import cross_task
from analysis.documents import blocks, wording
from analysis.documents.blocks import Block, Bullets, Fact, Facts, Grid, Paragraph, Quote, Section
from analysis.documents.wording import LEVEL, POWER, Manifest, moment
from analysis.scores import markup
from analysis.scores.performance import FAMILY_NAMES
from analysis.scores.sensitivity import SECONDS, TRAINING
from analysis.stats import power, significance
from analysis.stats.two_way import BOTH, RUNS
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP, RESAMPLES
from annotation.models import Qualification, Study
from annotation.study import screening
from tasks.answer_keys import LABEL
from tasks.answers import KINDS
from tasks.cards import place
from tasks.columns import Column


@dataclass(frozen=True)
class Opening:
    hash: str
    at: datetime
    consent_version: int
    seats_before: int
    strata: Sequence[str] = ()  # tasks whose test examples have strata


def for_study(study: Study) -> blocks.Document | None:
    if study.is_draft or study.opened_at is None:
        return None
    opening = Opening(
        study.manifest_hash,
        study.opened_at,
        # The text was frozen on opening, so the newest version is the one in the manifest.
        study.consent_texts.latest("version").version,
        study.allocations.filter(at__lt=study.opened_at).count()
        + study.participations.filter(arrived_at__lt=study.opened_at).count(),
        wording.strata(study),
    )
    return document(json.loads(study.manifest), opening)


def document(manifest: Manifest, opening: Opening) -> blocks.Document:
    hypotheses = _quoted(manifest, "hypotheses", "As written before opening")
    questions = screening.parse(manifest["comprehension_questions"])
    design = wording.design(manifest, strata=opening.strata)
    texts = markup.rendered("preregistration", _context(manifest, questions), design=design)
    procedure = [*markup.texts(texts, "procedure_"), *wording.options(manifest), texts["tokeniser"]]
    pay = Bullets(markup.texts(wording.pay(manifest)))
    rules: list[Block] = [Bullets(markup.texts(texts, "rules_"))]
    if questions:
        title = "Comprehension questions (* marks the correct option)"
        rules.append(Quote(title, _questions(questions)))
    return blocks.Document(
        f"Preregistration: {manifest['title']}",
        [
            Section("Frozen design", _frozen_design(manifest, opening, texts)),
            *([Section("Hypotheses", hypotheses)] if hypotheses else []),
            Section("Tasks", _tasks(manifest, texts)),
            Section("Scenarios and annotators", _scenarios(manifest, texts)),
            Section("Procedure", [Bullets(procedure)]),
            Section("Screening and exclusion", rules),
            Section("Pay", [pay]),
            Section("Consent", _consent(manifest, opening, texts)),
            Section("Planned analysis", _planned_analysis(manifest, texts)),
        ],
    )


def _context(manifest: Manifest, questions: list[screening.Question]) -> dict[str, Any]:
    is_screened = manifest["qualification"]["rule"] != Qualification.NONE
    return {
        **wording.context(manifest),
        **analysis_context(manifest),
        "questions": questions,
        "pauses": is_screened or manifest["comprehension_questions"].strip(),
        "seats": sum(scenario["seats"] for scenario in manifest["scenarios"]),
        "by_character": [
            task["name"] for task in manifest["tasks"] if task["card"].get("granularity") == "char"
        ],
        "training": list(map(str, TRAINING)),
        "seconds": list(map(str, SECONDS)),
    }


def _frozen_design(manifest: Manifest, opening: Opening, texts: Mapping[str, str]) -> list[Block]:
    none = "None. A draft assigns no seats, so no answer could have been seen."
    return [
        Paragraph(texts["introduction"]),
        Facts(
            [
                Fact("Study", manifest["name"]),
                Fact("Frozen and opened", moment(opening.at)),
                Fact("SHA-256 of the design", opening.hash, is_code=True),
                Fact("Seats taken before opening", str(opening.seats_before or none)),
            ]
        ),
        Paragraph(texts["hash"]),
    ]


# Columns for the tasks in a manifest.
TASKS = [
    Column("", "Task", get=itemgetter("name")),
    Column("", "Version", get=itemgetter("version")),
    Column("", "Family", get=lambda task: FAMILY_NAMES[task["card"]["family"]]),
    Column("", "Answered by", get=lambda task: wording.FORMS[wording.answer_kind(task["card"])][0]),
    Column("", "Gold rule", get=lambda task: task["card"]["gold_rule"]),
    Column("", "Language", get=lambda task: task["card"]["language"]),
    Column("", "Splits renumbered", get=lambda task: "yes" if task["rechained"] else "no"),
]


def _tasks(manifest: Manifest, texts: Mapping[str, str]) -> list[Block]:
    tasks = manifest["tasks"]
    in_order = sorted(tasks, key=lambda task: place(task["name"]))
    return [
        Grid.of("Tasks", TASKS, in_order, [texts["tasks"]]),
        Facts([Fact(f"Hash of {task['name']}", task["content_hash"], True) for task in tasks]),
        Bullets([f"{task['name']}: {task['card']['description']}" for task in tasks]),
        *wording.data_warnings(manifest),
    ]


def _scenarios(manifest: Manifest, texts: Mapping[str, str]) -> list[Block]:
    scenarios = sorted(
        manifest["scenarios"], key=lambda s: (place(s["task"]), s["shots"], s["split"] or 0)
    )
    has_minutes = len(set(wording.minutes_of(manifest))) > 1
    arms = any("arm" in scenario for scenario in scenarios)
    columns = [
        Column("", "Task", get=itemgetter("task")),
        Column("", "Shots", get=itemgetter("shots")),
        Column("", "Training split", get=lambda scenario: scenario["split"] or "none"),
        *([Column("", "Arm", get=lambda scenario: scenario.get("arm") or "none")] if arms else []),
        Column("", "Annotators", get=itemgetter("seats")),
        *([Column("", "Announced minutes", get=itemgetter("minutes"))] if has_minutes else []),
    ]
    design = wording.design(manifest)
    names = ("rehearsal", "programs", "audience", "content_warning", "arms")
    return [
        Paragraph(texts["scenarios"]),
        *(Paragraph(design[name]) for name in names if design[name]),
        Grid.of("Scenarios", columns, scenarios, [texts["scenario_table"]]),
    ]


def _questions(questions: list[screening.Question]) -> str:
    parts = []
    for question in questions:
        options = enumerate(question.options)
        lines = [f"{'*' if index == question.right else '-'} {text}" for index, text in options]
        parts.append("\n".join([question.text, *lines]))
    return "\n\n".join(parts)


def _consent(manifest: Manifest, opening: Opening, texts: Mapping[str, str]) -> list[Block]:
    return [
        Paragraph(texts["consent"]),
        Quote(f"Consent text, version {opening.consent_version}", manifest["consent_text"]),
        *_quoted(manifest, "ethics_contact", "Ethics board, as shown to annotators"),
        *_quoted(manifest, "own_questions", "Study-specific questions, asked once for each task"),
    ]


def _quoted(manifest: Manifest, key: str, title: str) -> list[Quote]:
    text = manifest[key]
    return [Quote(title, text)] if text else []


# The planned analysis, including parts for cross-task studies.


def _planned_analysis(manifest: Manifest, sentences: Mapping[str, str]) -> list[Block]:
    """Return what will be computed, as decided before the first seat is taken.

    `sentences` come from templates/documents/preregistration.txt.
    """
    planned, rule = wording.pairs(manifest["scenarios"]), manifest["qualification"]
    shots = sorted(wording.shots_of(manifest))
    warning = screening.warning(rule["rule"], shots, rule.get("screening_examples", 0))
    arms = markup.texts(sentences, "arms_")
    return [
        Bullets(markup.texts(sentences, "analysis_")),
        Facts(wording.same_recipe(manifest)),
        *([Paragraph(warning)] if planned and warning else []),
        Paragraph(sentences["contrasts"]),
        *([_power([pair[3:] for pair in planned], sentences["power"])] if planned else []),
        *([Bullets(arms)] if arms else []),
    ]


def analysis_context(manifest: Manifest) -> dict[str, Any]:
    return {
        "contrasts": len(wording.pairs(manifest["scenarios"])),
        "largest_group": max(wording.group_sizes(manifest["scenarios"]).values()),
        "votes": _votes(manifest),
        "gain_interval": interval(manifest),
        "fewest_for_bootstrap": FEWEST_FOR_BOOTSTRAP,
        "resamples": RESAMPLES,
        "power": POWER,
        "of_people": wording.WELCH_TEST,
        "at_least": wording.LOWER_BOUND,
        "to_both": BOTH,
        "to_runs": RUNS,
        "to_arms": cross_task.QUESTION,
        "arm_family": cross_task.FAMILY,
    }


def _votes(manifest: Manifest) -> list[str]:
    kinds = {wording.answer_kind(task["card"]) for task in manifest["tasks"]}
    choices = {kind.name for kind in KINDS.values() if kind.is_one_choice}
    votes = {
        "plurality vote on labels and options": kinds & choices,
        "majority vote on sets of texts": kinds - choices,
        "Dawid-Skene on labels": kinds & {LABEL},
    }
    return [method for method, fitting in votes.items() if fitting]


def _power(groups: list[tuple[int, int]], note: str) -> Grid:
    number = len(groups)
    levels = sorted({LEVEL, LEVEL / number}, reverse=True)
    rows = [
        [
            f"{fewer} and {more}",
            str(groups.count((fewer, more))),
            f"{significance.smallest_p(fewer, more):.3g}",
            *(wording.sds(power.detectable(min(fewer, more), level, POWER)) for level in levels),
        ]
        for fewer, more in sorted(set(groups))
    ]
    return Grid(
        "Statistical power of this design",
        [
            "Annotators per group", "Contrasts", "Smallest permutation p",
            *(f"Detectable at p < {level:.2g}" for level in levels),
        ],
        rows,
        [note],
    )  # fmt: skip


def interval(manifest: Manifest) -> str:
    if len({scenario["task"] for scenario in manifest["scenarios"]}) == 1:
        return "Fieller's method"
    return (
        "the delta method with Satterthwaite's degrees of freedom over all tasks, and Fieller's"
        " method for a single task"
    )
