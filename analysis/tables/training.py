"""Learning in the training step: mean S1 by examples, and blocks of equal training sets."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count

from analysis.tables import frames
from analysis.tables.columns import points
from analysis.tables.performance import kinds
from annotation.models import Kind, Study
from tasks.columns import Column
from tasks.models import Example, Split


@dataclass(frozen=True)
class Block:
    """Training examples first met at one size: "in the 10", "in the 20, not the 10"."""

    size: int
    smaller: int | None
    hashes: frozenset[str]
    is_nested: bool

    @property
    def name(self) -> str:
        return f"in the {self.size}" + (f", not the {self.smaller}" if self.smaller else "")


def blocks(contents: dict[int, frozenset[str]]) -> list[Block]:
    """The blocks of a task's training splits of one number: size -> content hashes.

    A block is nested when every smaller split lies in it; where one does not, no number of that
    block can be compared between groups.
    """
    ordered = []
    sizes = sorted(contents)
    for index, size in enumerate(sizes):
        smaller = sizes[index - 1] if index else None
        inner = contents[smaller] if smaller else frozenset()
        ordered.append(Block(size, smaller, contents[size] - inner, inner <= contents[size]))
    return ordered


def _contents(study: Study) -> dict[int, dict[int, frozenset[str]]]:
    """Key of each task -> size of its training splits in this study -> content hashes."""
    examples = Example.objects.filter(
        split__task__in=study.tasks.all(),
        split__kind=Split.Kind.TRAIN,
        split__shots__in=study.shots,
        split__number=study.split_number,
    )
    contents: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for task, size, digest in examples.values_list("split__task", "split__shots", "content_hash"):
        if size is not None:
            contents[task][size].add(digest)
    return {
        task: {size: frozenset(hashes) for size, hashes in sizes.items()}
        for task, sizes in contents.items()
    }


@dataclass(frozen=True)
class TrainingRow:
    """One group of a task: mean S1 x 100 on each block; None where it did not meet the block."""

    task: str
    shots: int
    n: int
    values: list[float | None]
    block_names: list[str]
    is_nested: list[bool]

    @property
    def texts(self) -> list[str]:
        """The cell of each block."""
        return [
            points(value) if nested else "not nested"
            for value, nested in zip(self.values, self.is_nested, strict=True)
        ]


def columns(rows: list[TrainingRow]) -> list[Column]:
    """The columns of the page: groups by blocks."""
    names = rows[0].block_names if rows else []
    return [
        Column("task", "Task"),
        Column("shots", "Group", show=lambda shots: f"{shots} shots"),
        Column("n", "n", "Annotators of the group who completed and are in the analysis."),
        *(_of_block(place, name) for place, name in enumerate(names)),
    ]


def _of_block(place: int, name: str) -> Column:
    return Column(
        "",
        name,
        "Mean over the group's n annotators of their mean S1 x 100 on these training examples. A"
        " dash: the group did not meet them.",
        "S1 x 100",
        get=lambda row: row.texts[place],
    )


@dataclass(frozen=True)
class BlockScore:
    """One group and block, for files and programs; no mean where the block is not nested."""

    kind: str
    task: str
    shots: int
    examples: str
    mean_s1_x100: float | None
    n: int
    nested: int


BLOCK_SCORES = [
    Column("kind", meaning="person, simulated or model"),
    Column("task", meaning="name of the task"),
    Column("shots", meaning="of the group"),
    Column("examples", meaning="which block of the training examples"),
    Column(
        "mean_s1_x100",
        meaning="mean over annotators of their mean over the block, S1 x 100",
        unit="S1 x 100",
    ),
    Column("n", meaning="annotators who completed and are in the analysis"),
    Column("nested", meaning="1 if the block compares between groups"),
]


def block_scores(study: Study) -> list[BlockScore]:
    """The training tables of all kinds, one row per group and block."""
    return [
        BlockScore(kind, row.task, row.shots, name, mean if nested else None, row.n, int(nested))
        for kind in kinds(study)
        for row in training(study, kind)
        for name, mean, nested in zip(row.block_names, row.values, row.is_nested, strict=True)
    ]


def training(study: Study, kind: str = Kind.PERSON) -> list[TrainingRow]:
    """Appendix A.3: each group's S1 on the training examples of each block.

    The mean over annotators of their mean over the block's examples; annotators who completed and
    are in the analysis.
    """
    answers = frames.training_answers(study, kind)
    groups = dict(
        study.participations.analysed()
        .filter(kind=kind)
        .order_by()
        .values_list("scenario")
        .annotate(n=Count("pk"))
    )
    contents = _contents(study)
    rows = []
    scenarios = study.scenarios.filter(shots__gt=0).select_related("task")
    for scenario in scenarios.order_by("task__name", "shots"):
        own_blocks = blocks(contents[scenario.task_id])
        given = answers[answers["scenario"] == scenario.pk]
        values: list[float | None] = []
        for block in own_blocks:
            inside = given[given["example_hash"].isin(block.hashes)]
            if block.size > scenario.shots or inside.empty:
                values.append(None)
            else:
                values.append(100 * inside.groupby("participation")["s1"].mean().mean())
        # A group's own block is comparable if every chain up to it is nested.
        nested = [all(b.is_nested for b in own_blocks[: i + 1]) for i in range(len(own_blocks))]
        n, names = groups.get(scenario.pk, 0), [b.name for b in own_blocks]
        rows.append(TrainingRow(scenario.task.name, scenario.shots, n, values, names, nested))
    return rows
