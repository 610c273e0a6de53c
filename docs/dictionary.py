"""Write docs/data-dictionary.md from the columns of the exports: `make dictionary`."""

import os
import re
import sys
from pathlib import Path

import django

DOCS = Path(__file__).resolve().parent
HEAD = """\
# Data dictionary

Every column of every file that `export_study` and the release bundle write. This page is made from
`analysis/export/columns.py` by `make dictionary`.

UTF-8, RFC 4180, one grain a file, texts unaltered. A spreadsheet may take a text that begins with
`=`, `+`, `-` or `@` for a formula, and R and pandas the text `NA` for a missing value: the README
beside the files says how to open them. `verify.py` in the same folder needs nothing but Python. It
recomputes numbers, spans, orders, allocations and pay, binds the examples to the frozen design, and
prints which columns no other cell can show to be altered. It reads the files row by row in bounded
memory, so their order counts: a file that was sorted again is named. Scores, shares, and their SDs,
intervals and differences are on the scale from 0 to 1, which pages show x 100. Types are those of
pandas: `Int64` takes whole numbers with empty cells among them. `versions.json` beside them names
the versions of Handful, Python, numpy, scipy and pandas, the seed of the study, and when it
was opened and closed (`opened_at`, `closed_at`; null if it was not).

"""


def page() -> str:
    """The whole page, from the columns as they are now."""
    from analysis.export.dictionary import columns_markdown

    return HEAD + re.sub(r"^\*\*(.+)\*\*$", r"## \1", columns_markdown().strip(), flags=re.M) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    (DOCS / "data-dictionary.md").write_text(page(), encoding="utf-8")
