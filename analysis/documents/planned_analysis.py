"""The planned-analysis section of a preregistration, including parts for cross-task studies."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.cross_task import cross_task, learners, upstream
from analysis.documents import wording
from analysis.documents.blocks import Block, Bullets, Facts, Grid, Paragraph, meanings
from analysis.documents.wording import LEVEL, POWER, Manifest
from analysis.scores import markup
from analysis.stats import power, significance
from analysis.stats.two_way import BOTH, RUNS
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP, RESAMPLES
from annotation.models import Kind, Study
from annotation.study import screening
from tasks.answer_keys import LABEL
from tasks.answers import KINDS
from tasks.columns import Column, on_page


def blocks(manifest: Manifest, sentences: Mapping[str, str]) -> list[Block]:
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


def context(manifest: Manifest) -> dict[str, Any]:
    return {
        "contrasts": len(wording.pairs(manifest["scenarios"])),
        "largest_group": max(wording.group_sizes(manifest["scenarios"]).values()),
        "votes": _votes(manifest),
        "gain_interval": interval(manifest),
        "has_arm_bootstrap": _has_arm_bootstrap(manifest),
        "fewest_for_bootstrap": FEWEST_FOR_BOOTSTRAP,
        "resamples": RESAMPLES,
        "power": POWER,
        "of_people": wording.WELCH_TEST,
        "at_least": wording.LOWER_BOUND,
        "to_both": BOTH,
        "to_runs": RUNS,
        "to_arms": cross_task.QUESTION,
        "arm_family": upstream.FAMILY,
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


# Additional sections for cross-task studies.

ARM_GAINS = "Gains of the arms"  # used as both table caption and section title
LEARNING_CURVE = "Learning curve within an upstream task"


def interval(manifest: Manifest) -> str:
    if len({scenario["task"] for scenario in manifest["scenarios"]}) == 1:
        return "Fieller's method"
    return (
        "the delta method with Satterthwaite's degrees of freedom over all tasks, and Fieller's"
        " method for a single task"
    )


def _has_arm_bootstrap(manifest: Manifest) -> bool:
    """Return whether any two arms have enough planned annotators in each of their tasks."""
    seats: Counter[tuple[int, str, str]] = Counter()
    for scenario in manifest["scenarios"]:
        seats[scenario["shots"], scenario.get("arm", ""), scenario["task"]] += scenario["seats"]
    fewest: dict[tuple[int, str], int] = {}
    for (shots, arm, _task), number in seats.items():
        fewest[shots, arm] = min(number, fewest.get((shots, arm), number))
    enough = Counter(shots for (shots, _arm), n in fewest.items() if n >= FEWEST_FOR_BOOTSTRAP)
    return max(enough.values(), default=0) >= 2


def results(study: Study) -> list[Block]:
    rows = cross_task.gains(study, Kind.PERSON)
    if not rows:
        return [Paragraph("No unseen task has been completed by participants in two arms yet.")]
    published = cross_task.published_for(study)
    completions = upstream.ARM_TABLES["completions"]
    tables: list[tuple[str, Sequence[Column], Sequence[Any]]] = [
        (ARM_GAINS, cross_task.GAINS, cross_task.joint(study, Kind.PERSON)),
        *(
            (table.title, table.columns, table.rows(study, Kind.PERSON))
            for table in (*upstream.SEVERAL_ARMS, *learners.TABLES)
        ),
        (completions.title, completions.columns, completions.rows(study, Kind.PERSON)),
        ("ARG of models, as published (Ye et al., 2021)", cross_task.PUBLISHED, published),
        ("Manipulation check", upstream.MANIPULATION, upstream.manipulation(study, Kind.PERSON)),
        (LEARNING_CURVE, upstream.CURVE, upstream.curve(study, Kind.PERSON)),
    ]
    intros = {completions.title: [completions.intro]}
    return [
        Bullets(list(cross_task.sentences(study, Kind.PERSON))),
        *(
            Grid.of(caption, columns, lines, [*intros.get(caption, []), meanings(on_page(columns))])
            for caption, columns, lines in tables
            if lines
        ),
    ]
