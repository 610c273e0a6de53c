"""Refuse the words that docs/contributing.md lists, in texts that people read; used by `make lint`.

Looked at are templates, documents for readers, and the docstrings, comments and strings of Python.
"""

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "contributing.md"
FOLDERS = ("config", "tasks", "annotation", "analysis", "templates", "docs")
KINDS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}


def banned() -> dict[str, str]:
    """Each word that is not used -> what is used instead."""
    table = LIST.read_text(encoding="utf-8").split("<!-- words:begin -->")[1]
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|$", table.split("<!-- words:end -->")[0], re.M)
    return dict(rows)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Each text of a file that is looked at, with the number of its first line."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, source
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in KINDS:
            yield token.start[0], token.string


def main() -> int:
    """Print each find as file:line; 1 if there is any."""
    words = banned()
    spaced = (r"\s+".join(map(re.escape, word.split())) for word in words)
    pattern = re.compile(rf"\b(?:{'|'.join(spaced)})\b", re.I)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    status = 0
    for name in filter(None, listed):
        path = ROOT / name
        if path.suffix not in {".py", ".html", ".md"} or path == LIST or not path.exists():
            continue
        for line, text in texts(path):
            for match in pattern.finditer(text):
                number = line + text.count("\n", 0, match.start())
                use = words[" ".join(match[0].lower().split())]
                print(f"{name}:{number}: “{match[0]}”: write “{use}”")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
