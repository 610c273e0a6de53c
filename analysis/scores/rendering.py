"""The human-performance table in long form, and rendered as Markdown and LaTeX."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from analysis.scores import findings, marks, markup
from analysis.scores.columns import ASSUMES, RECIPE, TASK, assuming, between
from analysis.scores.markup import PaperTable, explained, markdown, rendered, texts
from analysis.scores.performance import PerformanceTable
from analysis.scores.scores import Score
from analysis.scores.test_sets import S1
from analysis.stats.two_way import BOTH
from annotation.models import Kind
from tasks.columns import NOTHING, Column, points, shots_text

Intervals = Mapping[tuple[str, int], str]  # maps (task, shots) to the interval as printed

_ONE_SPLIT = "; empty for a single split"


def _sds(name: str, score: str, over: str, *empty: str) -> list[Column]:
    notes = [*empty, "", ""]
    return [
        Column(f"{name}_ddof{ddof}", meaning=f"{kind} standard deviation over {over} (ddof {ddof}),"
               f" x 100{note}", unit="points", get=f"{score}.sd_ddof{ddof}")
        for (ddof, kind), note in zip(((1, "sample"), (0, "population")), notes, strict=False)
    ]  # fmt: skip


# Columns for the result of performance.long_rows.
PERFORMANCE = [
    Column("kind", meaning="person, simulated or model; kinds are never pooled"),
    Column("family", meaning="family of the task", get="task.card.family"),
    *TASK,
    Column("shots", meaning="number of examples in the training step", get="cell.shots"),
    Column("metric", meaning="the task's metric, as named in the NLP Few-shot Gym",
           get="cell.metric"),
    Column("mean", meaning="mean over annotators of their score on the test set under that metric,"
           " x 100", unit="points", get="cell.mean"),
    *_sds("sd", "cell", "annotators", "; empty for a single annotator"),
    Column("n", meaning="number of annotators who completed and are in the analysis", get="cell.n"),
    Column("remark", meaning="remark on the mean, or the reason why it is undefined and for how"
           " many", get=lambda row: row.cell.remark or None),
    Column("splits", meaning="number of training splits that these annotators had; 0 at zero shots",
           get="cell.over_splits.n"),
    *_sds("split_sd", "cell.over_splits", "training splits of their means over annotators",
          *[_ONE_SPLIT] * 2),
    Column("set_mean", meaning="for tasks with alternative gold answers: the mean with all gold"
           " answers of an example as one set", unit="S1 x 100", get="cell.as_set.mean"),
    *_sds("set_sd", "cell.as_set", "annotators of that score"),
    Column("set_ceiling", meaning="highest score attainable with the allowed number of texts and"
           " all gold answers as one set", unit="S1 x 100", get="bounds.set_ceiling"),
    Column("set_recipe", meaning="recipe string of set_mean; empty if the gold answers form one"
           " set", get=lambda row: row.set_recipe or None),
    Column("note", meaning="explanation of these two scales, and which of them the paper may use"),
    Column("baseline", meaning="score x 100 of the trivial baseline on the test examples; empty if"
           " the task has neither labels nor “no answer”, or if it is undefined", unit="points",
           get="bounds.baseline"),
    Column("baseline_name", meaning="the constant answer given by the trivial baseline",
           get="bounds.baseline_name"),
    Column(
        "floor_random",
        meaning="chance level: expected score x 100, under the row's metric, of a random label or"
        " option (or no answer, if that is a choice); otherwise, S1 x 100 of an answer drawn from"
        " those that the test file lists for each example; empty if it lists none",
        unit="points",
        get=lambda row: next(
            (s1 for name, s1 in row.bounds.floors if name.startswith("a random")), None
        ),
    ),
    Column("floor_frequent", meaning="S1 x 100 of the answer that the test file lists most often"
           " for an example", unit="S1 x 100",
           get=lambda row: dict(row.bounds.floors).get("the most frequent listed entity")),
    Column("ceiling", meaning="highest score x 100 attainable by highlighting on the test examples;"
           " known for S1 and for tasks with labels", unit="points", get="bounds.ceiling"),
    Column("published_mean", meaning="mean in Table 4 of the CLUES paper, quoted if the test file"
           " is the published one", unit="S1 x 100",
           get=lambda row: row.cell.published and row.cell.published.mean),
    Column("published_spread", meaning="the ± value printed beside that mean, quoted; the paper"
           " does not define it", unit="points",
           get=lambda row: row.cell.published and row.cell.published.spread),
    Column("late_seats", meaning="seats that were added after results could be seen"),
    Column("by_program", meaning="annotators for whom a program gave at least one answer through"
           " the API"),
    Column("recipe", meaning=RECIPE),
]  # fmt: skip
# Columns that only appear in the export. The page shows these values outside the table.
_EXPORTED = {"family", "task_version", "baseline_name", "recipe", "set_recipe", "note"}
# A column that only appears on the page. In an export, design.json has it on the card.
_TEST_PART = Column(
    "test_part",
    meaning="number of the corpus's test examples that are scored; empty: all",
    get=lambda row: row.task.test_part or None,
)
PERFORMANCE_FILE = [*(column for column in PERFORMANCE if column.name not in _EXPORTED), _TEST_PART]


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
