"""Write docs/data-dictionary.md from the columns of the exports: `make dictionary`."""

import os
import re
import sys
import textwrap
from pathlib import Path

import django

DOCS = Path(__file__).resolve().parent
HEAD = """\
# Data dictionary

Look up every column of every file that `export_study` and the release bundle write.
`make dictionary` creates this page from `analysis/export/columns.py`.

Files are UTF-8 CSV (RFC 4180). Each contains one kind of row, with unaltered texts. This means that
a spreadsheet can read a text that begins with `=`, `+`, `-` or `@` as a formula, and that R and
pandas can read the text `NA` as a missing value. The README in the same folder explains how to open
the files without such changes.

`verify.py` in the same folder needs only Python. It recomputes numbers, spans, orders, allocations
and pay, checks the examples against the frozen design, and prints the columns whose changes other
cells cannot reveal. Because it reads the files row by row in bounded memory, their order matters.
If a file has been sorted, the program says which one.

Scores, shares, and their SDs, intervals and differences are on a scale from 0 to 1, while pages
show them x 100. Types are those of pandas, in which `Int64` allows empty cells among whole numbers.
`versions.json` gives the versions of Handful, Python, numpy and pandas, the seed of the study, and
the times at which it was opened and closed (`opened_at` and `closed_at`, null until then).

"""


def page() -> str:
    """The whole page, from the current columns: one item of a list per column."""
    from analysis.export.files import columns_markdown

    lines = []
    for line in columns_markdown().strip().splitlines():
        if row := re.fullmatch(r"\| (`\w+`) \| (\w+) \| (.*) \|", line):
            item = f"- {row[1]} ({row[2]}): {row[3]}"
            lines += textwrap.wrap(item, 110, subsequent_indent="  ", break_long_words=False)
        elif not line.startswith("|"):
            lines.append(re.sub(r"^\*\*(.+)\*\*$", r"## \1", line))
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    (DOCS / "data-dictionary.md").write_text(page(), encoding="utf-8")
