"""A bundle with rounded times reveals no exact time and verifies; alterations are found."""

import re
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.documents.wording import moment
from analysis.export import publishing, release
from annotation.models import Study
from annotation.protocol import exclusion
from tests import factories
from tests.analysis.documents import reports
from tests.analysis.export.tampering import Export

pytestmark = pytest.mark.long

TIME = re.compile(publishing.TIME_IN_TEXT.pattern)


@pytest.fixture(scope="module")
def stored(module_researcher):
    study = reports.make_study(module_researcher)
    excluded = study.participations.filter(kind="person", status="completed").first()
    exclusion.decide(excluded, False, "another person helped", module_researcher)
    factories.work_through(factories.seat(study.scenarios.first()), limit=2)  # still at work
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture(scope="module")
def written(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rounded") / "bundle"
    study = Study.objects.get(pk=stored)
    release.write_release(study, folder, round_times="hour")
    return folder


@pytest.fixture
def bundle(study, written, tmp_path):
    return Export(Path(shutil.copytree(written, tmp_path / "bundle")))


def test_a_rounded_bundle_verifies_and_its_readme_says_so(bundle, capsys):
    assert bundle.verify() == 0, capsys.readouterr().out
    readme = (bundle.folder / "README.md").read_text()
    assert "are rounded down to the hour, UTC" in " ".join(readme.split())
    assert readme.index("## Rounded times") < readme.index("## Also in this folder")


def test_no_text_in_it_shows_a_persons_time_to_the_minute(study, bundle):
    opened = {moment(study.opened_at)}
    read = 0
    for path in bundle.folder.rglob("*"):
        if path.suffix not in (".csv", ".md", ".html", ".json", ".txt", ".cff"):
            continue
        if path.stem == "preregistration":  # states when the design was opened
            continue
        for found in TIME.finditer(path.read_text(encoding="utf-8")):
            assert found[0] in opened or re.search(r":00:00(\.0+)?(Z|\+| UTC)", found[0]), path
            read += 1
    assert read > 50
    assert any(row["at"] for row in bundle["decisions.csv"])


def test_durations_and_pay_are_unchanged(study, bundle, tmp_path):
    call_command("export_study", study.name, str(tmp_path / "exact"), verbosity=0)
    exact = Export(tmp_path / "exact")
    for name, columns in {
        "answers.csv": ("seconds", "active_seconds", "reveal_seconds", "s1", "position"),
        "annotators.csv": ("worked_seconds", "elapsed_seconds", "longest_absence", "flags"),
        "pay.csv": ("cents",),
        "allocations.csv": ("candidates", "arrival"),
    }.items():
        for before, now in zip(exact[name], bundle[name], strict=True):
            assert [before[column] for column in columns] == [now[column] for column in columns]


def test_a_rounded_bundle_that_was_altered_fails(bundle, capsys):
    row = next(row for row in bundle["answers.csv"] if row["s1"])
    row["s1"] = "0.25"
    bundle.write()
    assert bundle.verify() == 1
    assert "answers, predictions: gold, S1" in capsys.readouterr().out


def test_the_command_rounds_to_the_day(study, tmp_path):
    call_command("release_study", study.name, str(tmp_path / "day"), "--no-pictures",
                 "--round-times", "day")  # fmt: skip
    bundle = Export(tmp_path / "day")
    times = {row["shown_at"][10:] for row in bundle["answers.csv"]}
    assert times == {"T00:00:00.000000Z"}
