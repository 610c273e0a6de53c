"""Learning in the training step: S1 and its spread over blocks of the same training examples.

Source: CLUES, appendix A.3. Table 8 covers the entire 20-shot training set for the 20- and 30-shot
groups, and Table 9 covers the other ten examples of the 30-shot group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

from analysis.heavy import pd
from analysis.scores import findings, frames
from analysis.scores.columns import Table, mean_and_sd, table_columns
from analysis.scores.performance import kinds
from analysis.stats import learning
from annotation.models import Kind, Scenario, Step, Study
from tasks.cards import place
from tasks.columns import Column, shots_text
from tasks.models import Example, Split

# Maps (task key, training split) to a mapping from the file's size to its content hashes.
Contents = dict[tuple[int, int | None], dict[int, set[str]]]


@dataclass(frozen=True)
class Block:
    """A block of training examples: all of a file ("in the 20") or only those new in it."""

    size: int
    smaller: int | None = None

    @property
    def name(self) -> str:
        if self.smaller:
            return f"the {self.size - self.smaller} new examples of the {self.size}"
        return f"in the {self.size}"

    def hashes(self, contents: dict[int, set[str]]) -> set[str]:
        return contents[self.size] - (contents[self.smaller] if self.smaller else set())

    def is_nested(self, contents: dict[int, set[str]], shots: int) -> bool:
        """Return whether each file is part of the next larger one, so groups are comparable."""
        sizes = sorted({self.smaller or self.size, self.size, shots})
        return all(contents[a] <= contents[b] for a, b in pairwise(sizes))


def blocks(sizes: Sequence[int]) -> list[Block]:
    """Return the blocks for training files of these sizes, in column order.

    >>> [block.name for block in blocks([10, 20])]
    ['in the 10', 'in the 20', 'the 10 new examples of the 20']
    """
    ordered = sorted(sizes)
    result = [Block(ordered[0])] if ordered else []
    for smaller, size in pairwise(ordered):
        result += [Block(size), Block(size, smaller)]
    return result


def _contents(study: Study) -> tuple[Contents, dict[int, str]]:
    """Return the content hashes in each training file, and each example's hash by its key."""
    examples = Example.objects.filter(
        split__task__in=study.tasks.all(),
        split__kind=Split.Kind.TRAIN,
        split__shots__in=study.shots,
        split__number__in=study.splits,
    )
    contents: Contents = {}
    hashes: dict[int, str] = {}
    rows = examples.values_list(
        "pk", "split__task", "split__number", "split__shots", "content_hash"
    )
    for pk, task, number, size, digest in rows:
        hashes[pk] = digest
        if size is not None:
            contents.setdefault((task, number), {}).setdefault(size, set()).add(digest)
    return contents, hashes


_BLOCK_NOTE = (
    "Mean ± SD (ddof 1) over the n annotators in the group of their mean S1 x 100 on these training"
    " examples; the CSV has both ddof. A dash means that the group did not see them."
)


def columns(rows: Sequence[SimpleNamespace]) -> list[Column]:
    names = [score.block.name for score in rows[0].scores] if rows else []
    return [
        Column("task", "Task"),
        Column("shots", "Group", show=shots_text),
        *([Column("split", "Split")] if len({row.split for row in rows}) > 1 else []),
        Column("n", "n", "Annotators in the group who completed and are in the analysis."),
        *(
            Column("", name, _BLOCK_NOTE, "S1 x 100",
                   get=partial(lambda place, row: row.texts[place], place))
            for place, name in enumerate(names)
        ),
    ]  # fmt: skip


# Columns for the result of `block_scores`.
BLOCK_SCORES = table_columns("training")


def block_scores(study: Study) -> list[SimpleNamespace]:
    return [score for kind in kinds(study) for row in training(study, kind) for score in row.scores]


def training(study: Study, kind: str = Kind.PERSON) -> list[SimpleNamespace]:
    """Return each group's S1 on the training examples of each block, in column order.

    Scores are first averaged over the examples of the block. The mean and SDs are over annotators
    who completed the study and are in the analysis.
    """
    contents, hashes = _contents(study)
    answers = frames.answers_in_order(study, kind, Step.TRAINING)
    answers["example_hash"] = answers["example"].map(hashes)
    scenarios = sorted(
        study.scenarios.in_cells().filter(shots__gt=0).select_related("task"),
        key=lambda scenario: (place(scenario.task.name), scenario.shots, scenario.split_number),
    )
    rows = []
    for scenario in scenarios:
        of_file = contents.get((scenario.task_id, scenario.split_number), {})
        given = answers[answers["scenario"] == scenario.pk]
        n = given["participation"].nunique()
        scores = [
            _score(kind, scenario, block, of_file, given, n) for block in blocks(list(of_file))
        ]
        rows.append(
            SimpleNamespace(
                task=scenario.task.name,
                shots=scenario.shots,
                split=scenario.split_number,
                n=n,
                scores=scores,
                texts=[score.text for score in scores],
            )
        )
    return rows


def _score(
    kind: str,
    scenario: Scenario,
    block: Block,
    contents: dict[int, set[str]],
    given: pd.DataFrame,
    n: int,
) -> SimpleNamespace:
    """Return a group's mean S1 x 100 on a block. `given` contains its n annotators' answers.

    The mean is NaN if the group did not see the block or if the files are not nested.
    """
    is_met = block.size <= scenario.shots
    nested = block.is_nested(contents, scenario.shots)
    mean = sd_ddof1 = sd_ddof0 = math.nan
    if is_met and nested and n:
        inside = given[given["example_hash"].isin(block.hashes(contents))]
        means = 100 * inside.groupby("participation")["s1"].mean()
        mean, sd_ddof1, sd_ddof0 = means.mean(), means.std(ddof=1), means.std(ddof=0)
    return SimpleNamespace(
        kind=kind, task=scenario.task.name, task_version=scenario.task.version,
        shots=scenario.shots, split=scenario.split_number, block=block, nested=int(nested),
        mean=mean, sd_ddof1=sd_ddof1, sd_ddof0=sd_ddof0, n=n,
        text=mean_and_sd(mean, sd_ddof1) if nested else "not nested",
    )  # fmt: skip


PLATEAU = Table(
    "plateau",
    "Point of no further gain",
    table_columns("plateau"),
    lambda study, kind: findings.remembered(
        ["plateau", findings.parameters(study, kind)],
        lambda: learning.plateau_rows(
            frames.answers_in_order(study, kind, Step.TRAINING), study.seed
        ),
    ),
)
