"""Each test is in at least one suite of `make test-all`, so none is skipped silently."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from _pytest.mark.expression import Expression

from benchmarks.faults.installation import configuration
from tests.conftest import COLLECTED, ONLY_ON

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()


def suites() -> list[tuple[str, str, Expression]]:
    """Return (target, database, markers) of each pytest call in the Makefile."""
    targets = re.findall(r"^(test[\w-]*):.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    return [
        (
            target,
            "postgresql" if "$(ON_POSTGRES)" in line else "sqlite",
            Expression.compile(line.split('-m "')[1].split('"')[0]),
        )
        for target, recipe in targets
        for line in recipe.splitlines()
        if "$(PYTEST)" in line
    ]


def runs(markers: set[str], database: str, expression: Expression) -> bool:
    """Return whether `-m expression` on this database includes a test with these markers."""
    elsewhere = {marker for vendor, marker in ONLY_ON.items() if vendor != database}
    return not elsewhere & markers and expression.evaluate(lambda name, **_: name in markers)


def left_out(tests: dict[str, set[str]]) -> list[str]:
    return [
        test
        for test, markers in tests.items()
        if not any(runs(markers, *suite) for _target, *suite in suites())
    ]


@pytest.mark.long
def test_every_test_is_in_a_suite(request):
    assert left_out(request.config.stash[COLLECTED]) == []


def test_a_test_outside_every_suite_is_named():
    assert left_out({"a": {"browser"}, "b": {"browser", "sqlite"}}) == ["b"]


def test_other_suites_declare_the_markers_they_use():
    """pytest stops before the first test if a suite uses an unknown marker."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        options = tomllib.load(file)["tool"]["pytest"]["ini_options"]
    known = {marker.split(":")[0] for marker in options["markers"]}
    told = {
        path.parent.name: set(re.findall(r"^    (\w+): as in pyproject", path.read_text(), re.M))
        for path in (ROOT / "tests").glob("*/pytest.ini")
    }
    told = {suite: markers for suite, markers in told.items() if markers}
    assert told == dict.fromkeys(["browsers", "r", "tools", "workers"], known)


def test_tests_outside_the_browser_run_on_both_databases():
    databases = {
        database for _target, database, chosen in suites() if runs(set(), database, chosen)
    }
    assert databases == set(ONLY_ON)


def test_all_suites_run_before_a_release_and_each_night():
    names = subprocess.run(
        ["make", "--silent", "suites"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert {target for target, *_ in suites()} <= {"test", *names}
    assert "\ntest-all: test $(SUITES)" in MAKEFILE
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())["jobs"]["suite"]
    assert nightly["strategy"]["matrix"]["suite"] == names


@pytest.mark.parametrize("pattern", ["test_*.py", "check_*.py"])
def test_every_test_file_is_collected(pattern):
    """pytest collects test_*.py; other suites of `make test-all` run check_*.py."""
    files = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").rglob(pattern)}
    here = {"analysis", "annotation", "browser", "config", "tasks"}
    others = {"client", "browsers", "deploy", "faults", "r", "seats", "tools", "workers"}
    assert files <= (here if pattern == "test_*.py" else others)


def test_public_ci_runs_every_test_except_real_data(request):
    """The jobs on both databases deselect only `real_data`."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]
    chosen = {
        name: Expression.compile(step["run"].split('-m "')[1].split('"')[0])
        for name, job in jobs.items()
        for step in job["steps"]
        if "bin/pytest" in step.get("run", "") and name != "r"  # a suite with a separate pytest.ini
    }
    assert set(chosen) == set(ONLY_ON)
    never = [
        test
        for test, markers in request.config.stash[COLLECTED].items()
        if "real_data" not in markers
        and not any(runs(markers, database, expression) for database, expression in chosen.items())
    ]
    assert never == []


def test_the_faults_can_be_run_behind_the_example_of_nginx(tmp_path):
    """The faults replace nginx.conf's addresses and certificates, and fail if one is missing."""
    text = configuration(8443, 8080, [8000, 8001], tmp_path)
    assert "listen 127.0.0.1:8443;" in text
    assert "ssl" not in text
