"""The human-performance table as CSV, Markdown and LaTeX, beside the page; the training table."""

from collections.abc import Iterator

from analysis.tables import performance, training
from analysis.tables.performance import PerformanceTable
from analysis.values import number
from annotation.models import Study
from tasks.csv_files import csv_text

PUBLISHED_NOTE = "Published: CLUES, Table 4, as printed; the paper does not define its ±."
PERFORMANCE_COLUMNS = [
    "kind", "task", "shots", "mean", "sd_ddof1", "sd_ddof0", "n", "baseline", "ceiling",
    "published_mean", "published_spread",
]  # fmt: skip
TRAINING_COLUMNS = ["kind", "task", "shots", "examples", "mean_s1_x100", "n", "nested"]
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def lines(table: PerformanceTable) -> list[tuple[str, list[str]]]:
    """The rows as printed: name of the row, one text for each task."""
    made = []
    for shots, cells in table.rows:
        made.append((f"{shots} shots", [f"{c.text} (n={c.n})" if c.n else "–" for c in cells]))
        if table.has_published:
            quoted = [c.published for c in cells]
            texts = [f"{q.mean:.1f} ± {q.spread:.1f}" if q else "–" for q in quoted]
            made.append((f"{shots} shots, published", texts))
    made.append(("trivial baseline", [f"{b.baseline:.1f}" for b in table.bounds]))
    made.append(("ceiling by highlighting", [f"{b.ceiling:.1f}" for b in table.bounds]))
    return made


def as_csv(table: PerformanceTable) -> str:
    """The table as printed, but with unrounded numbers, one row per task and shots."""
    return csv_text(PERFORMANCE_COLUMNS, _performance_rows(table))


def _performance_rows(table: PerformanceTable) -> Iterator[list[object]]:
    for shots, cells in table.rows:
        for cell, limits in zip(cells, table.bounds, strict=True):
            quoted = cell.published
            yield [
                table.kind, cell.task, shots, number(cell.mean), number(cell.sd_ddof1),
                number(cell.sd_ddof0), cell.n, number(limits.baseline), number(limits.ceiling),
                number(quoted.mean) if quoted else "", number(quoted.spread) if quoted else "",
            ]  # fmt: skip


def notes(table: PerformanceTable) -> list[str]:
    """The notes below the table: the definition of its numbers, and who is not counted."""
    said = [
        "Mean ± SD over annotators (ddof 1) of each annotator's mean S1 x 100.",
        f"Recipe: {'; '.join(table.recipes)}",
    ]
    if table.not_counted:
        said.append(f"Not counted: {'; '.join(table.not_counted)}.")
    if table.not_compared:
        said.append(table.not_compared)
    return [*said, PUBLISHED_NOTE] if table.has_published else said


def as_markdown(table: PerformanceTable) -> str:
    """The table in Markdown, with its heading and notes."""
    names = [_markdown(task.name) for task in table.tasks]
    rows = [f"| | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    rows += [f"| {name} | {' | '.join(texts)} |" for name, texts in lines(table)]
    below = "\n\n".join(_markdown(note) for note in notes(table))
    return (
        f"## {table.heading}: {_markdown(table.study.title)}\n\n"
        + "\n".join(rows)
        + f"\n\n{below}\n"
    )


def _markdown(text: str) -> str:
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")


def as_latex(table: PerformanceTable) -> str:
    """The table in LaTeX with booktabs, tasks grouped by family."""
    columns = "l" + "c" * len(table.tasks)
    families = " & ".join(
        rf"\multicolumn{{{count}}}{{c}}{{{_latex(name)}}}" for name, count in table.families
    )
    names = " & ".join(_latex(task.name) for task in table.tasks)
    body = "\n".join(
        f"{_latex(name)} & {' & '.join(_latex(text) for text in texts)} \\\\"
        for name, texts in lines(table)
    )
    above = "\n".join(f"% {note}" for note in notes(table))
    return (
        f"% {table.heading}: {_latex(table.study.title)}\n{above}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n & {families} \\\\\n & {names} \\\\\n"
        f"\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )


def _latex(text: str) -> str:
    escaped = "".join(LATEX_SPECIAL.get(sign, sign) for sign in text).replace("\n", " ")
    return escaped.replace("±", r"$\pm$").replace("–", "--")


def training_rows(study: Study) -> Iterator[list[object]]:
    """The training tables of all kinds, one row per group and block (TRAINING_COLUMNS)."""
    for kind in performance.kinds(study):
        for row in training.training(study, kind):
            parts = zip(row.block_names, row.values, row.is_nested, strict=True)
            for block, value, nested in parts:
                text = number(value) if value is not None and nested else ""
                yield [kind, row.task, row.shots, block, text, row.n, int(nested)]
