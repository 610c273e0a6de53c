"""What a cross-task study adds to the documents: its arms in words, its planned analysis, gains."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.documents.blocks import Block, Bullets, Grid, Paragraph
from analysis.documents.differences import meanings
from analysis.documents.wording import PLANNED, Manifest, Verbs, count
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP
from analysis.tables import cross_task, upstream
from annotation.models import Kind, Study
from tasks.columns import Column, on_page

OF_ARMS = "Gains of the arms"  # caption of the table, and the section
OF_CURVE = "Learning curve within an upstream task"


def arms(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    """The arms and what they are trained on, in sentences; "" of an ordinary study."""
    frozen, v = manifest["cross_task"], verbs
    if not frozen:
        return ""
    names = {
        arm: [pool["task"] for pool in frozen["pools"] if pool["arm"] == arm]
        for arm in ("upstream", "sham")
    }
    each = frozen["upstream_examples"]
    partition = f" of the partition {frozen['partition']}" if frozen["partition"] else ""
    return (
        f"The study {v.is_} a cross-task study between subjects: an unseen task, a training split"
        " and an arm make a scenario. Before the training on the unseen task, the upstream arm"
        f" {v.completes} {count(each, 'example')} of each of"
        f" {', '.join(names['upstream'])}{partition} with feedback, tasks in a random order; the"
        f" sham arm {v.completes} {count(each * len(names['upstream']), 'example')} of"
        f" {', '.join(names['sham'])} with feedback; the direct arm {v.completes} none. The"
        f" examples {v.are} drawn by the seed from frozen pools that share no text (by hash) with"
        f" an unseen task or with each other. People who {v.have} met an upstream or sham task"
        f" before {v.are} eligible for no arm, and no person {v.is_} in two arms."
    )


def planned(manifest: Manifest) -> list[Block]:
    """The planned analysis of the arms, [] of an ordinary study."""
    if not manifest["cross_task"]:
        return []
    return [
        Bullets(
            [
                "Primary: the average relative gain (ARG) of the upstream arm against the sham arm:"
                " each person's score is that of the test set under the metric of the task's card;"
                " the mean over the people of an arm first, then (upstream - sham) / sham of each"
                " unseen task, then the mean over tasks. Secondary: upstream against direct"
                " (transfer and practice) and sham against direct (practice).",
                f"Its 95 % interval: {interval(manifest)}; it generalises to {cross_task.QUESTION}."
                f"{_bootstrap(manifest)} No p value is computed for a gain.",
                "A base at or below zero, below 0.01, or less than four standard errors from zero"
                " is reported as not computable, with its task and the reason, as is an undefined"
                " mean. There is then no ARG, as the mean"
                " over the other tasks would select those with a high base. The absolute difference"
                " is reported for all tasks.",
                "Manipulation check: S1 over upstream tasks in their order, the learning curve"
                " within an upstream task, active time. Tables by task and shots, their intervals"
                " and the comparisons with models include the direct arm alone.",
            ]
        )
    ]


def interval(manifest: Manifest) -> str:
    """How the interval of a gain is computed, by the number of unseen tasks."""
    if len({scenario["task"] for scenario in manifest["scenarios"]}) == 1:
        return "Fieller's"
    return (
        "the delta method with Satterthwaite's degrees of freedom over all tasks, Fieller's for a"
        " single task"
    )


def _bootstrap(manifest: Manifest) -> str:
    """That there is one over people, where two arms are planned large enough in every task."""
    seats: Counter[tuple[str, str]] = Counter()
    for scenario in manifest["scenarios"]:
        seats[scenario.get("arm", ""), scenario["task"]] += scenario["seats"]
    least: dict[str, int] = {}
    for (arm, _task), number in seats.items():
        least[arm] = min(number, least.get(arm, number))
    if sum(number >= FEWEST_FOR_BOOTSTRAP for number in least.values()) < 2:
        return ""
    return (
        f" From {FEWEST_FOR_BOOTSTRAP} people in both arms of each task on, a bootstrap over people"
        " is reported, too."
    )


def results(study: Study) -> list[Block]:
    """The gains of people with the models of the paper as published, and the manipulation check."""
    rows = cross_task.gains(study, Kind.PERSON)
    if not rows:
        return [Paragraph("Two arms of one unseen task need a person who has completed it.")]
    published = [row for row in cross_task.published() if row.partition == study.partition]
    tables: list[tuple[str, Sequence[Column], Sequence[Any]]] = [
        (OF_ARMS, cross_task.GAINS, cross_task.joint(study, Kind.PERSON)),
        ("ARG of models, as published (Ye et al., 2021)", cross_task.PUBLISHED, published),
        ("Manipulation check", upstream.MANIPULATION, upstream.manipulation(study, Kind.PERSON)),
        (OF_CURVE, upstream.CURVE, upstream.curve(study, Kind.PERSON)),
    ]
    return [
        Bullets(list(cross_task.sentences(rows))),
        *(
            Grid.of(caption, columns, found, [meanings(on_page(columns))])
            for caption, columns, found in tables
            if found
        ),
    ]
