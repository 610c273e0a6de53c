"""A table of findings in LaTeX, with what each column means inside the table (threeparttable)."""

from analysis.tables.findings_columns import Table
from analysis.tables.markup import latex


def as_latex(table: Table, title: str) -> str:
    """The table with booktabs; `title` is the study's. Pasted anywhere, its notes come along."""
    headings = " & ".join(latex(column.heading) for column in table.columns)
    body = "\n".join(f"{' & '.join(latex(text) for text in cells)} \\\\" for cells in table.cells)
    notes = "\n".join(
        f"\\item {latex(f'{column.heading}: {column.meaning}.')}"
        for column in table.columns
        if column.meaning
    )
    return (
        f"% {latex(title)}; needs the packages booktabs and threeparttable\n"
        "\\begin{threeparttable}\n"
        f"\\caption{{{latex(table.title)}}}\n"
        f"\\begin{{tabular}}{{l{'c' * (len(table.columns) - 1)}}}\n\\toprule\n"
        f"{headings} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
        f"\\begin{{tablenotes}}\n\\item {latex(table.intro)}\n{notes}\n"
        "\\end{tablenotes}\n\\end{threeparttable}\n"
    )
