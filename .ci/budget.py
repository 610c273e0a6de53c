"""Check the size of the project against .ci/budget.toml: `python .ci/budget.py` (`make lint`)."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("annotation", "analysis", "tasks", "config", "client")


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def measured() -> dict[str, int]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    product = {
        path: lines_of(path)
        for path in files
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PRODUCT
    }
    verify = ROOT / "analysis/export/verify.py"
    modules = {path for path in product if path != verify and "migrations" not in path.parts}
    settings = (ROOT / "config/settings.py").read_text()
    middleware = re.search(r"^MIDDLEWARE = \[(.*?)^\]", settings, re.M | re.S)
    makefile = (ROOT / "Makefile").read_text()
    suites = re.search(r"^SUITES := (.*)$", makefile, re.M)
    docs = [
        path for path in files if path.suffix == ".md" and path.parts[len(ROOT.parts)] == "docs"
    ]
    return {
        "product_lines": sum(product.values()),
        "product_files": len(product),
        "verify_lines": product[verify],
        "longest_file": max(product[path] for path in modules),
        "middlewares": len(re.findall(r'"(?:config|annotation)\.', middleware[1])),
        "study_fields": fields_of_study(),
        "long_docs_lines": sum(
            len(line) > 160
            for path in [*docs, ROOT / "README.md"]
            for line in path.read_text(encoding="utf-8").splitlines()
        ),
        "suites": len(suites[1].split()),
        "environments": len(set(re.findall(r"\.venv(?:-\w+)?(?=/(?:ready|core):)", makefile))),
        "locks": len([path for path in files if "--hash=sha256" in first_lines(path)]),
    }


def fields_of_study() -> int:
    tree = ast.parse((ROOT / "annotation/models/study.py").read_text())
    (study,) = [node for node in tree.body if getattr(node, "name", "") == "Study"]
    return sum(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith(("Field", "Key", "money"))
        for node in study.body
    )


def first_lines(path: Path) -> str:
    return path.read_text(encoding="utf-8")[:300] if path.suffix in (".lock", ".txt") else ""


if __name__ == "__main__":
    allowed = tomllib.loads((ROOT / ".ci/budget.toml").read_text())["most"]
    found = measured()
    for name, number in found.items():
        mark = "ABOVE " if number > allowed[name] else ""
        print(f"{mark}{name}: {number} of {allowed[name]}")
    sys.exit(any(number > allowed[name] for name, number in found.items()))
