"""README says what the code does: columns, commands, files."""

import hashlib
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands

from analysis.export.columns import columns_markdown
from annotation import models
from tasks import models as task_models
from tests.config.test_hostile_requests import TAKE_FILES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
OPERATING = (ROOT / "docs" / "operating.md").read_text()


def test_the_columns_in_the_readme_are_those_of_the_exports():
    section = README.split("<!-- columns:begin -->\n")[1].split("<!-- columns:end -->")[0]
    assert section.strip() == columns_markdown().strip()


@pytest.mark.parametrize(
    "command",
    ["import_clues", "import_task", "create_study", "simulate_workers", "export_study",
     "replicate_clues", "import_predictions", "fake_prolific", "demo",
     "rehearse", "subscribe_prolific", "prolific_check", "sync_prolific", "pay_study",
     "purge_identities", "import_checks", "run_jobs", "release_study"],
)  # fmt: skip
def test_every_command_of_ours_is_in_the_readme_or_behind_make(command):
    assert command in get_commands()
    assert command in README or command == "demo"


def test_every_command_in_the_readme_exists():
    for command in re.findall(r"python manage\.py (\w+)", README + OPERATING):
        assert command in get_commands(), command


def test_every_file_that_the_docs_name_is_there():
    for text in (README, OPERATING, (ROOT / "docs" / "architecture.md").read_text()):
        for name in re.findall(
            r"`((?:annotation|tasks|analysis|tests|static|deploy|benchmarks)/[\w./-]*)`", text
        ):
            assert (ROOT / name).exists(), name


def test_cron_has_every_command_that_has_to_be_run_again_and_no_other():
    commands = re.findall(r"^[*/\d]+ .*manage\.py ([^#\n]*)", OPERATING, re.M)
    assert sorted(one.strip() for one in commands) == [
        "run_jobs", "sync_prolific", "sync_prolific --events",
    ]  # fmt: skip


def test_the_proxy_takes_large_bodies_where_files_are_taken_alone():
    (folders,) = re.findall(r"location ~ \^/\((.*)\)/ ", (ROOT / "deploy/nginx.conf").read_text())
    assert set(folders.split("|")) == {address.split("/")[1] for address in TAKE_FILES}


def test_what_the_server_needs_is_locked_without_what_only_benchmarks_use():
    assert "gunicorn" not in (ROOT / "requirements.lock").read_text()
    assert "gunicorn" in (ROOT / "requirements-dev.lock").read_text()


def test_each_vendored_file_is_the_one_on_the_list():
    folder = ROOT / "static" / "vendor"
    listed = dict(
        re.findall(
            r"^\| `([^`]+)` .* `([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M
        )
    )
    files = [*folder.glob("*.js"), *folder.glob("*.css")]
    assert {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files} == listed


def test_every_vendored_file_is_listed_with_the_licence_that_lies_beside_it():
    folder = ROOT / "static" / "vendor"
    listed = re.findall(
        r"^\| `([^`]+)` \|.*\| `([^`]+)` \|$", (ROOT / "THIRD-PARTY.md").read_text(), re.M
    )
    licences = {licence for _file, licence in listed}
    assert {file for file, _licence in listed} | licences | {"README.md"} == {
        path.name for path in folder.iterdir()
    }


def test_the_version_is_the_same_wherever_it_has_to_be_written():
    newest = re.search(
        r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    citation = (ROOT / "CITATION.cff").read_text()
    assert newest
    assert newest[1] == settings.VERSION
    assert f"\nversion: {newest[1]}\n" in citation
    assert f"\ndate-released: {newest[2]}\n" in citation


def test_every_word_of_the_glossary_is_a_word_of_the_models():
    for word in ("Study", "Scenario", "Worker", "Participation", "Turn", "Answer"):
        assert hasattr(models, word)
    for word in ("Task", "Example", "Split"):
        assert hasattr(task_models, word)
