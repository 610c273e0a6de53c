"""The human-performance table in long form, and rendered as Markdown and LaTeX."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from analysis.scores import findings, marks, markup
from analysis.scores.columns import ASSUMES, assuming, between, table_columns
from analysis.scores.markup import PaperTable, explained, markdown, rendered, texts
from analysis.scores.performance import PerformanceTable
from analysis.scores.scores import Score
from analysis.scores.test_sets import S1
from analysis.stats.two_way import BOTH
from annotation.models import Kind
from tasks.columns import NOTHING, Column, points, shots_text

Intervals = Mapping[tuple[str, int], str]  # maps (task, shots) to the interval as printed

# Columns for the result of performance.long_rows.
_WITH_TEST_PART = table_columns(
    "human_performance",
    remark=lambda row: row.cell.remark or None,
    set_recipe=lambda row: row.set_recipe or None,
    floor_random=lambda row: next(
        (s1 for name, s1 in row.bounds.floors if name.startswith("a random")), None
    ),
    floor_frequent=lambda row: dict(row.bounds.floors).get("the most frequent listed entity"),
    published_mean=lambda row: row.cell.published and row.cell.published.mean,
    published_spread=lambda row: row.cell.published and row.cell.published.spread,
    test_part=lambda row: row.task.test_part or None,
)
# In an export, design.json has the last column on the card.
PERFORMANCE = _WITH_TEST_PART[:-1]
# Columns that only appear in the export. The page shows these values outside the table.
_EXPORTED = {"family", "task_version", "baseline_name", "recipe", "set_recipe", "note"}
PERFORMANCE_FILE = [column for column in _WITH_TEST_PART if column.name not in _EXPORTED]


def intervals(table: PerformanceTable) -> Intervals:
    """Return each cell's default 95% interval as text, or {} with excluded annotators included."""
    if table.with_excluded:
        return {}
    _scores, rows = findings.curve(table.study, table.kind, "shots")
    return {
        (row.task, row.shots): assuming(between((row.low, row.high, row.no_interval)), row.n)
        for row in rows
    }


def lines(table: PerformanceTable, intervals: Intervals | None = None) -> Iterator[list[str]]:
    """Yield the rows as printed. Each contains its name, followed by one string per task."""
    for shots, cells in table.rows:
        name = shots_text(shots)
        yield [name, *(f"{cell.text} (n={cell.n})" if cell.n else NOTHING for cell in cells)]
        if intervals and any(cell.n for cell in cells):
            texts = [intervals.get((cell.task, shots), NOTHING) for cell in cells]
            yield [f"{name}, 95 % CI", *texts]
        for metric in dict.fromkeys(each for cell in cells for each, _score in cell.further):
            texts = [dict(cell.further).get(metric, Score()).text for cell in cells]
            yield [f"{name}, {metric}", *texts]
        if any(cell.set_scale for cell in cells):
            yield [f"{name}, as one set", *(cell.as_set.text for cell in cells)]
        if any(cell.split_text for cell in cells):
            yield [f"{name}, training splits", *(cell.split_text or NOTHING for cell in cells)]
        if table.has_published:
            texts = [cell.published.text if cell.published else NOTHING for cell in cells]
            yield [f"{name}, published", *texts]
    yield ["trivial baseline", *(points(limits.baseline) for limits in table.bounds)]
    for name in table.floors:
        floors = (dict(limits.floors).get(name) for limits in table.bounds)
        yield [f"floor: {name}", *map(points, floors)]
    if table.ceilings:
        yield ["ceiling by highlighting", *table.ceilings]


def notes(
    table: PerformanceTable, with_intervals: bool = False, remarks: Sequence[str] | None = None
) -> list[str]:
    """Return the notes below the table. Pass `marks.sentences` as `remarks` if already read."""
    left_out = table.not_counted
    if table.kind == Kind.PERSON:  # people who declined consent have no row
        declined = sum(table.study.scenarios.values_list("declined", flat=True))
        left_out = [*([f"{declined} declined"] if declined else []), *left_out]
    values = {
        "table": table, "one": "model run" if table.kind == Kind.MODEL else "annotator",
        "is_s1": table.metrics == S1, "recipes": "; ".join(table.recipes),
        "with_intervals": with_intervals, "of_both": BOTH, "assumes": ASSUMES,
        "left_out": "; ".join(left_out),
    }  # fmt: skip
    blocks = rendered("performance", values)
    return [
        *texts(blocks, "before_"),
        *table.set_notes,
        *texts(blocks, "after_"),
        *(marks.sentences(table.study) if remarks is None else remarks),
        *texts(blocks, "published"),
    ]


def as_markdown(table: PerformanceTable) -> str:
    names = [markdown(task.name) for task in table.tasks]
    rows = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    limits = intervals(table)
    printed = list(lines(table, limits))
    rows += [f"| {' | '.join(texts)} |" for texts in printed]
    below = "\n\n".join(map(markdown, explained(notes(table, bool(limits)), printed)))
    return (
        f"## {table.heading}: {markdown(table.study.title)}\n\n"
        + "\n".join(rows)
        + f"\n\n{below}\n"
    )


def paper_table(table: PerformanceTable) -> PaperTable:
    limits = intervals(table)
    headings = ["Shots", *(task.name for task in table.tasks)]
    columns = [Column("", name, get=itemgetter(place)) for place, name in enumerate(headings)]
    return PaperTable(
        f"{table.study.name}-human-performance-{table.anchor}",
        f"{table.heading}: {table.study.title}",
        columns,
        list(lines(table, limits)),
        notes(table, bool(limits)),
        table.families,
    )


def as_latex(table: PerformanceTable) -> str:
    return markup.as_latex(paper_table(table))
