"""Check the rates of hard-to-read idioms against .ci/budget.toml (`make lint`).

`python .ci/english.py` prints each rate per 10,000 words of templates, documents, docstrings,
comments, strings, browser code, names of tests, scripts and commit subjects. `python .ci/english.py
stand` prints each place of one idiom as file:line.
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IDIOMS = {
    "pronouns": r"nobody|somebody|everybody|anybody|whoever",
    "stand": r"stands?",
    "beside": r"besides?",
    "tell": r"tells?|told",
    "headless_who": r"(?:of|for|to|than|only) who",
    "by_itself": r"by itself|by themselves|of its own|of their own",
    "is_no": r"(?:is|are) no \w+",
}
PATTERNS = {
    name: re.compile(rf"\b(?:{idiom})\b".replace(" ", r"\s+"), re.I)
    for name, idiom in IDIOMS.items()
}
WORD = re.compile(r"[A-Za-z][A-Za-z'’]*")
PYTHON = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
# Comments and strings of browser code and style sheets.
BROWSER = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", re.S)
# Tags and template code, which readers don't see, except for translated sentences.
MARKUP = re.compile(r"<[^>]*>|\{\{.*?\}\}|\{%(?!\s*translate).*?%\}|\{#.*?#\}", re.S)
SUFFIXES = {
    ".py",
    ".html",
    ".md",
    ".txt",
    ".mjs",
    ".js",
    ".css",
    ".toml",
    ".yml",
    ".sh",
    ".ini",
    "",
}
# Third-party code, and files that list the idioms.
LEFT_OUT = ("static/vendor/", ".ci/english.py", ".ci/budget.toml")

Text = tuple[str, int, str]  # file, line, text
LONGEST_SUBJECT = 72


def texts() -> Iterator[Text]:
    for name in run("ls-files", "-co", "--exclude-standard").splitlines():
        path = ROOT / name
        if path.suffix not in SUFFIXES or name.startswith(LEFT_OUT) or not path.is_file():
            continue
        source = path.read_text(encoding="utf-8", errors="ignore")
        if path.suffix == ".py":
            yield from ((name, line, text) for line, text in of_python(source))
        elif path.suffix in {".mjs", ".js", ".css"}:
            yield from ((name, line, text) for line, text in of_matches(BROWSER, source))
        elif path.suffix == ".html":
            # Keep the number of lines, so that reported line numbers are right.
            yield name, 1, MARKUP.sub(lambda match: " " + "\n" * match[0].count("\n"), source)
        elif "--hash=sha256" not in source[:400]:
            yield name, 1, source


def of_python(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in PYTHON:
            yield token.start[0], token.string
        elif token.type == tokenize.NAME and token.string.startswith("test_"):
            yield token.start[0], token.string.replace("_", " ")


def of_matches(pattern: re.Pattern[str], source: str) -> Iterator[tuple[int, str]]:
    for match in pattern.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, match[0]


def subjects(since: str) -> list[Text]:
    """Return the subjects of commits after `since`, or [] if this clone lacks that commit."""
    known = subprocess.run(["git", "cat-file", "-e", f"{since}^{{commit}}"], cwd=ROOT, check=False)
    if known.returncode:
        print(f"english: subjects of commits are not read: this clone lacks {since}")
        return []
    lines = run("log", "--format=%h %s", f"{since}..HEAD").splitlines()
    return [("commit " + line.split()[0], 0, line.partition(" ")[2]) for line in lines]


def run(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def main(only: str = "") -> int:
    budget = tomllib.loads((ROOT / ".ci/budget.toml").read_text())["english"]
    commits = subjects(budget["since"])
    words, found = 0, Counter[str]()
    for name, line, text in [*texts(), *commits]:
        words += len(WORD.findall(text))
        for idiom, pattern in PATTERNS.items():
            for match in pattern.finditer(text):
                found[idiom] += 1
                if idiom == only:
                    print(f"{name}:{line + text.count(chr(10), 0, match.start())}: {match[0]}")
    status = 0
    for idiom in PATTERNS:
        rate, most = 10_000 * found[idiom] / words, budget[idiom]
        mark = "ABOVE " if rate > most else ""
        status |= bool(mark)
        print(f"{mark}{idiom}: {rate:.2f} of {most} per 10,000 words ({found[idiom]})")
    for name, _line, subject in commits:
        if len(subject) > LONGEST_SUBJECT:
            print(f"{name}: {len(subject)} characters of {LONGEST_SUBJECT}: {subject}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
