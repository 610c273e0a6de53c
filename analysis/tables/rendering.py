"""The human-performance table in long form, and as printed in Markdown and LaTeX."""

from operator import attrgetter

from analysis.tables.columns import NOTHING, points
from analysis.tables.markup import latex, markdown
from analysis.tables.models_columns import RECIPE
from analysis.tables.performance import PerformanceTable
from tasks.columns import Column

PUBLISHED_NOTE = "Published: CLUES, Table 4, as printed; the paper does not define its ±."

# Of LongRow.
PERFORMANCE = [
    Column("kind", meaning="person, simulated or model; kinds are never pooled"),
    Column("family", meaning="family of the task", get=attrgetter("task.card.family")),
    Column("task", meaning="name of the task", get=attrgetter("task.name")),
    Column("task_version", meaning="version of the task", get=attrgetter("task.version")),
    Column(
        "shots",
        meaning="number of examples in the training step",
        get=attrgetter("cell.shots"),
    ),
    Column(
        "mean",
        meaning="mean over annotators of their mean S1, x 100",
        unit="S1 x 100",
        get=attrgetter("cell.mean"),
    ),
    Column(
        "sd_ddof1",
        meaning="sample standard deviation over annotators (ddof 1), x 100; empty for a single"
        " annotator",
        unit="points",
        get=attrgetter("cell.sd_ddof1"),
    ),
    Column(
        "sd_ddof0",
        meaning="population standard deviation over annotators (ddof 0), x 100",
        unit="points",
        get=attrgetter("cell.sd_ddof0"),
    ),
    Column(
        "n",
        meaning="number of annotators who completed and are in the analysis",
        get=attrgetter("cell.n"),
    ),
    Column(
        "baseline",
        meaning="S1 x 100 of the trivial baseline on the test examples",
        unit="S1 x 100",
        get=attrgetter("bounds.baseline"),
    ),
    Column(
        "baseline_name",
        meaning="the constant answer given by the trivial baseline",
        get=attrgetter("bounds.baseline_name"),
    ),
    Column(
        "ceiling",
        meaning="highest mean S1 x 100 attainable by highlighting on the test examples",
        unit="S1 x 100",
        get=attrgetter("bounds.ceiling"),
    ),
    Column(
        "published_mean",
        meaning="mean in Table 4 of the CLUES paper, quoted if the test file is the published one",
        unit="S1 x 100",
        get=lambda row: row.cell.published and row.cell.published.mean,
    ),
    Column(
        "published_spread",
        meaning="the ± value printed beside that mean, quoted; the paper does not define it",
        unit="points",
        get=lambda row: row.cell.published and row.cell.published.spread,
    ),
    Column("recipe", meaning=RECIPE),
]
# What only the export has: on the page these stand beside the table.
_EXPORTED = {"family", "task_version", "baseline_name", "recipe"}
PERFORMANCE_FILE = [column for column in PERFORMANCE if column.name not in _EXPORTED]


def lines(table: PerformanceTable) -> list[tuple[str, list[str]]]:
    """The rows as printed: name of the row, one text for each task."""
    printed = []
    for shots, cells in table.rows:
        texts = [f"{cell.text} (n={cell.n})" if cell.n else NOTHING for cell in cells]
        printed.append((f"{shots} shots", texts))
        if table.has_published:
            texts = [cell.published.text if cell.published else NOTHING for cell in cells]
            printed.append((f"{shots} shots, published", texts))
    printed.append(("trivial baseline", [points(limits.baseline) for limits in table.bounds]))
    printed.append(("ceiling by highlighting", [points(limits.ceiling) for limits in table.bounds]))
    return printed


def notes(table: PerformanceTable) -> list[str]:
    """The notes below the table: the definition of its numbers, and who is not counted."""
    sentences = [
        "Mean ± SD over annotators (ddof 1) of each annotator's mean S1 x 100.",
        f"Recipe: {'; '.join(table.recipes)}",
    ]
    if table.not_counted:
        sentences.append(f"Not counted: {'; '.join(table.not_counted)}.")
    if table.not_compared:
        sentences.append(table.not_compared)
    return [*sentences, PUBLISHED_NOTE] if table.has_published else sentences


def as_markdown(table: PerformanceTable) -> str:
    """The table in Markdown, with its heading and notes."""
    names = [markdown(task.name) for task in table.tasks]
    rows = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    rows += [f"| {name} | {' | '.join(texts)} |" for name, texts in lines(table)]
    below = "\n\n".join(markdown(note) for note in notes(table))
    return (
        f"## {table.heading}: {markdown(table.study.title)}\n\n"
        + "\n".join(rows)
        + f"\n\n{below}\n"
    )


def as_latex(table: PerformanceTable) -> str:
    """The table in LaTeX with booktabs, tasks grouped by family."""
    columns = "l" + "c" * len(table.tasks)
    families = " & ".join(
        rf"\multicolumn{{{count}}}{{c}}{{{latex(name)}}}" for name, count in table.families
    )
    names = " & ".join(latex(task.name) for task in table.tasks)
    body = "\n".join(
        f"{latex(name)} & {' & '.join(latex(text) for text in texts)} \\\\"
        for name, texts in lines(table)
    )
    above = "\n".join(f"% {note}" for note in notes(table))
    return (
        f"% {table.heading}: {latex(table.study.title)}\n{above}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n & {families} \\\\\n & {names} \\\\\n"
        f"\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )
