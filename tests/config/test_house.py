"""Rules of this project that linters don't check, applied to the source of every module."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("annotation", "analysis", "tasks", "config", "tests")


def sources() -> dict[str, str]:
    """Return the source of every module except migrations, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    paths = [
        path
        for path in listed
        if path.split("/")[0] in PACKAGES and "/migrations/" not in path and (ROOT / path).exists()
    ]
    return {path: (ROOT / path).read_text() for path in paths}


def private_names(source: str) -> list[str]:
    """Return private names that this module imports from, or replaces in, other modules."""
    tree = ast.parse(source)
    taken, imported = [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            imported |= {name.asname or name.name for name in node.names}
            taken += [name.name for name in node.names if is_private(name.name)]
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(module), attr=name):
                pass
            case ast.Call(args=[ast.Name(module), ast.Constant(name), *_]):
                pass
            case _:
                continue
        if module in imported and is_private(name):
            taken.append(f"{module}.{name}")
    return taken


def is_private(name: object) -> bool:
    """Return whether a name is private; Django's `_meta` and `_state` are part of its interface."""
    return (
        isinstance(name, str)
        and name.startswith("_")
        and not name.startswith("__")
        and name not in ("_meta", "_state")
    )


def test_no_module_uses_a_private_name_of_another():
    taken = {path: private_names(source) for path, source in sources().items()}
    assert {path: names for path, names in taken.items() if names} == {}


def test_private_names_are_found_however_they_are_used():
    assert private_names("from tasks.jobs import _root") == ["_root"]
    assert private_names("from tasks import jobs\njobs._root()") == ["jobs._root"]
    assert private_names("from tasks import jobs\nset(jobs, '_root', 1)") == ["jobs._root"]
    assert private_names("from tasks.models import Task\nTask._meta") == []
    assert private_names("import os\nos._exit(1)") == []


def test_every_kind_of_job_is_known_once_the_apps_are_ready():
    """`run_jobs` doesn't import pages, so it couldn't run jobs that only a page registers."""
    code = (
        "import sys, django; django.setup(); from tasks import jobs;"
        "print(*sorted(jobs.known_kinds()));"
        "print('config.urls' in sys.modules, 'pandas' in sys.modules);"
        "import importlib; [importlib.import_module(name) for name in jobs.MODULES.values()];"
        "print(jobs.known_kinds() == jobs.KINDS.keys())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines() == [
        "bootstrap check_upload curves differences examples import_gym import_upload import_whole"
        " overlap predictions release report sensitivity simulate",
        "False False",
        "True",
    ]


def test_the_condition_of_the_analysis_is_written_once():
    """Queries use `Participation.objects.analysed()`, or filter by ANALYSED."""
    completed = r"status=(Status\.COMPLETED|\"completed\")"
    pair = re.compile(rf"{completed},\s*\w*in_analysis=True|in_analysis=True,\s*\w*{completed}")
    product = {path: text for path, text in sources().items() if not path.startswith("tests/")}
    assert [path for path, text in product.items() if pair.search(text)] == [
        "annotation/models/participation.py"
    ]
