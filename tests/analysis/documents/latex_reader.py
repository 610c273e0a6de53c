"""A strict reader of our LaTeX that reports, line by line, what would stop an engine.

It knows only the environments and commands that our tables use. Text must be escaped: a special
character that belongs to no command is an error.
"""

import re

COMMANDS = {
    "begin", "end", "section", "subsection", "textbf",
    "caption", "label", "centering", "toprule", "midrule", "bottomrule",
    "multicolumn", "item", "footnotesize", "emph", "textbackslash", "textasciitilde",
    "textasciicircum", "textbar", "textless", "textgreater", "textasciigrave", "textdagger",
    "pm", "to", "alpha",
    "ge", "le", "times", "surd", "sigma", "Sigma", "Delta", "dots", "cdot", "circ",
}  # fmt: skip
IN_MATH = {"pm", "to", "alpha", "ge", "le", "times", "surd", "sigma", "Sigma", "Delta", "cdot",
           "circ"}  # fmt: skip
TOKEN = re.compile(r"\\([A-Za-z]+)\*?|\\(.)|([{}$&#%~^_])|\n", re.DOTALL)


def problems(text: str) -> list[str]:
    """Return the problems of a LaTeX text; [] if an engine would typeset it."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    return [*_tokens(body), *_environments(body), *_rows(body)]


def _tokens(body: str) -> list[str]:
    found, depth, in_math = [], 0, False
    for token in TOKEN.finditer(body):
        name, escaped, special = token.groups()
        if name and name not in COMMANDS:
            found.append(f"unknown command {name}")
        if name in IN_MATH and not in_math:
            found.append(f"{name} outside of $")
        if escaped and escaped not in "\\&%$#_{},":
            found.append(f"odd escape {escaped}")
        depth += {"{": 1, "}": -1}.get(special, 0)
        if special == "$":
            in_math = not in_math
        if special in ("#", "%", "_") or (special == "^" and not in_math):
            found.append(f"{special} is not escaped: {body[token.start() - 20 : token.end()]!r}")
        if depth < 0:
            found.append("a brace too many")
    return found + (["braces do not match"] if depth else []) + (["$ is open"] if in_math else [])


def _environments(body: str) -> list[str]:
    found: list[str] = []
    stack: list[str] = []
    for which, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", body):
        if which == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            found.append(f"{name} ends what is not begun")
    return found + [f"{name} is not ended" for name in stack]


def _rows(body: str) -> list[str]:
    found = []
    for spec, inside in re.findall(
        r"\\begin\{tabular\}\{([lc]+)\}(.*?)\\end\{tabular\}", body, re.DOTALL
    ):
        for line in inside.strip().splitlines():
            if line in (r"\toprule", r"\midrule", r"\bottomrule"):
                continue
            if not line.endswith(r" \\"):
                found.append(f"a row without its end: {line}")
            if re.match(r"[\[*]", line):
                found.append(f"an option of the line before: {line}")
            over = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line))
            cells = len(re.findall(r"(?<!\\)&", line)) + 1 + over
            if cells != len(spec):
                found.append(f"{cells} cells of {len(spec)}: {line}")
    return found
