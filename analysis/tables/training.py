"""Learning in the training step: mean S1 by examples, and blocks of equal training sets."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count

from analysis.tables import frames
from annotation.models import Kind, Study
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
    made = []
    sizes = sorted(contents)
    for index, size in enumerate(sizes):
        smaller = sizes[index - 1] if index else None
        inner = contents[smaller] if smaller else frozenset()
        made.append(Block(size, smaller, contents[size] - inner, inner <= contents[size]))
    return made


def _contents(study: Study) -> dict[int, dict[int, frozenset[str]]]:
    """Key of each task -> size of its training splits in this study -> content hashes."""
    examples = Example.objects.filter(
        split__task__in=study.tasks.all(),
        split__kind=Split.Kind.TRAIN,
        split__shots__in=study.shots,
        split__number=study.split_number,
    )
    found: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for task, size, digest in examples.values_list("split__task", "split__shots", "content_hash"):
        found[task][size].add(digest)
    return {
        task: {size: frozenset(hashes) for size, hashes in sizes.items()}
        for task, sizes in found.items()
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
        return [
            "not nested" if not nested else "–" if value is None else f"{value:.1f}"
            for value, nested in zip(self.values, self.is_nested, strict=True)
        ]

    @property
    def cells(self) -> list[tuple[str, str]]:
        """(name of the block, text) of each block."""
        return list(zip(self.block_names, self.texts, strict=True))


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
        found = blocks(contents[scenario.task_id])
        given = answers[answers["scenario"] == scenario.pk]
        values: list[float | None] = []
        for block in found:
            inside = given[given["example_hash"].isin(block.hashes)]
            if block.size > scenario.shots or inside.empty:
                values.append(None)
            else:
                values.append(100 * inside.groupby("participation")["s1"].mean().mean())
        # A group's own block is comparable if every chain up to it is nested.
        nested = [all(b.is_nested for b in found[: i + 1]) for i in range(len(found))]
        n, names = groups.get(scenario.pk, 0), [b.name for b in found]
        rows.append(TrainingRow(scenario.task.name, scenario.shots, n, values, names, nested))
    return rows
