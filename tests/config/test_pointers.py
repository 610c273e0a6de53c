"""Files and code that comments and docstrings mention exist."""

import ast
import importlib
import inspect
import io
import pkgutil
import re
import tokenize
from collections import defaultdict
from pathlib import Path

from tests.config.test_docs import ROOT, code_files, name, text

POINTER = re.compile(
    r"(?<![\w/.:<>{}*@-])(?:(?:[\w-]+/)+[\w-]+\.(?:py|html|mjs|js|css)|[^\W\d]\w*(?:\.[^\W\d]\w*)+)"
    r"\b(?![\w/*-])"
)
# Data files, other projects' files and modules, and attributes of a sentence's subject.
THEIRS = re.compile(
    r".+\.(?:csv|jsonl?|md|xml|toml|cff|pdf|zip|sig|bundle|svg|N)|(?:lm_eval|eval|dataloader)/.+"
    r"|(?:Dataset|DatasetDict|importlib|inspect|scipy|stats|str|datasets)\..+"
    r"|(?:answer|block|doc|job|line|request|score|upload)\.\w+"
)


def prose(source: str) -> str:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, documented))
    return " ".join([*comments, *(ast.get_docstring(node) or "" for node in nodes)])


def leads_on(place, names: list[str]) -> bool:
    if not names or hasattr(place, names[0]):
        return not names or leads_on(getattr(place, names[0]), names[1:])
    ours = [each for each in getattr(place, "__mro__", ()) if each.__module__ != "builtins"]
    return any(re.search(rf"\b{names[0]}\b\s*[:=]", inspect.getsource(each)) for each in ours)


def test_every_pointer_in_a_comment_or_docstring_resolves():
    files = {f"/{name(path)}"[start:] for path in [*code_files(), ROOT / "manage.py"]
             for start in (m.end() for m in re.finditer("/", f"/{name(path)}"))}  # fmt: skip
    known, stale = defaultdict(list), []
    packages = [importlib.import_module(p) for p in ("config", "tasks", "annotation", "analysis")]
    inner = [n for p in packages for _, n, _ in pkgutil.walk_packages(p.__path__, f"{p.__name__}.")]
    ours = [n for n in inner if not re.search(r"\.(migrations|celery|wsgi|verify)", n)]
    for module in (modules := [*packages, *map(importlib.import_module, ours)]):
        known[module.__name__.rpartition(".")[2]].append(module)
        for word in vars(module):
            known[word] += [vars(module)[word]] if inspect.isclass(vars(module)[word]) else []
    for module in modules:
        path = Path(module.__file__)
        for pointer in sorted(set(POINTER.findall(prose(text(path)))) - files):
            head, *rest = pointer.split(".")
            places = [*known[head], *([vars(module)[head]] if head in vars(module) else [])]
            if not THEIRS.fullmatch(pointer) and not any(leads_on(p, rest) for p in places):
                stale.append(f"{name(path)}: {pointer}")
    assert stale == []
