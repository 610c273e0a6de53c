"""What a cross-task study adds to the documents: its arms in words, its planned analysis, gains."""

from typing import Any

from analysis.documents.blocks import Block, Bullets, Grid, Paragraph
from analysis.documents.wording import count
from analysis.tables import cross_task, upstream
from annotation.models import Kind, Study


def arms(manifest: dict[str, Any]) -> str:
    """The arms and what they are trained on, in sentences; "" of an ordinary study."""
    frozen = manifest.get("cross_task")
    if not frozen:
        return ""
    names = {
        arm: [pool["task"] for pool in frozen["pools"] if pool["arm"] == arm]
        for arm in ("upstream", "sham")
    }
    each = frozen["upstream_examples"]
    partition = f" of the partition {frozen['partition']}" if frozen["partition"] else ""
    return (
        "The study is a cross-task study between subjects: arm, unseen task and training split are"
        " a scenario, and each arrival is assigned to the least filled one. Before the training on"
        f" the unseen task the upstream arm does {count(each, 'example')} of each of"
        f" {', '.join(names['upstream'])}{partition} with feedback, tasks in a random order; the"
        f" sham arm does {each * len(names['upstream'])} of {', '.join(names['sham'])}; the direct"
        " arm does nothing. The examples are drawn by the seed from frozen pools that share no text"
        " (by hash) with an unseen task or with each other. Who has met an upstream or sham task"
        " before is for no arm, and nobody is in two arms."
    )


def planned(manifest: dict[str, Any]) -> list[Block]:
    """The planned analysis of the arms, [] of an ordinary study."""
    if not manifest.get("cross_task"):
        return []
    return [
        Bullets(
            [
                "Primary: the average relative gain (ARG) of the upstream arm against the sham arm:"
                " each person's score is that of the test set under the metric of the task's card;"
                " the mean over the people of an arm first, then (upstream - sham) / sham of each"
                " unseen task, then the mean over tasks. Beside it upstream against direct"
                " (transfer and practice) and sham against direct (practice).",
                "Its 95 % interval: Fieller's for one task, the delta method with Satterthwaite's"
                f" degrees of freedom for several; it generalises to {cross_task.QUESTION}. From"
                " ten people in each arm of each task on a bootstrap over people stands beside it.",
                "A base at or below zero, below 0.01, or less than four standard errors from zero"
                " is refused by name, as is an undefined mean. The absolute difference is reported"
                " for all tasks.",
                "Manipulation check: S1 over upstream tasks in their order, the learning curve"
                " within a task, active time. Tables by task and shots count the direct arm alone.",
            ]
        )
    ]


def results(study: Study) -> list[Block]:
    """The gains of people with the models of the paper as published, and the manipulation check."""
    rows = cross_task.gains(study, Kind.PERSON)
    if not rows:
        return [Paragraph("Two arms of one unseen task need a person who has completed it.")]
    return [
        Bullets(list(cross_task.sentences(rows))),
        Grid.of("Gains of the arms", cross_task.GAINS, cross_task.joint(study, Kind.PERSON)),
        Grid.of("ARG of models, as published", cross_task.PUBLISHED, cross_task.published()),
        Grid.of(
            "Manipulation check",
            upstream.MANIPULATION,
            upstream.manipulation(study, Kind.PERSON),
        ),
    ]
