"""Researchers import tasks in the browser; pages that wait for a job continue automatically."""

import re
import zipfile

import pytest
from playwright.sync_api import expect

from analysis.export import bundle_job
from tasks import jobs, upload_jobs, uploads
from tasks.models import Job, Task, TaskUpload
from tests import factories
from tests.browser.conftest import await_reveal
from tests.browser.test_accessibility import violations


@pytest.fixture(autouse=True)
def _var(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def ada(page, researcher):
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/studies/")
    return page


def choose(page, clues, name: str, folder: str) -> None:
    page.goto("/tasks/")
    page.get_by_role("button", name="Add a task").click()
    page.locator("summary", has_text="Options").click()
    page.get_by_label("Card", exact=True).select_option(name)
    page.get_by_label("Files", exact=True).set_input_files(sorted((clues / folder).iterdir()))
    page.get_by_role("button", name="Upload and check").click()


def drop(page, path) -> None:
    """Drop a file or folder of this computer on the field for files."""
    box = page.get_by_label("Files", exact=True).bounding_box()
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 20}
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    chromium = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        chromium.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})


@pytest.mark.journey
def test_a_folder_is_dropped_as_its_files_would_be(ada, tmp_path):
    """A Few-shot Gym folder with 105 files in it, more than a browser reads at a time."""
    for name in (f"glue-{number}" for number in range(7)):
        for seed in (13, 21, 42, 87, 100):
            for part in ("train", "dev", "test"):
                file = tmp_path / "gym" / name / f"{name}_16_{seed}_{part}.tsv"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("It was fine.\tgood\n")
    ada.goto("/tasks/add/")
    drop(ada, tmp_path / "gym")
    field = ada.get_by_label("Files", exact=True)
    expect(field).to_have_js_property("files.length", 105)
    (tmp_path / "moods.csv").write_text("text,mood\n" + "It was fine.,good\nDull.,bad\n" * 50)
    drop(ada, tmp_path / "moods.csv")
    expect(field).to_have_js_property("files.length", 1)


@pytest.mark.real_data
@pytest.mark.journey
def test_a_dropped_folder_is_imported_like_a_zip(ada, clues):
    ada.goto("/tasks/add/")
    ada.locator("summary", has_text="Options").click()
    ada.get_by_label("Card", exact=True).select_option("MNLI")
    drop(ada, clues / "MNLI")
    ada.get_by_role("button", name="Upload and check").click()
    expect(ada.get_by_role("heading", name="Data report")).to_be_visible(timeout=60_000)
    expect(ada.get_by_text("mnli_test.jsonl: 210 examples")).to_be_visible()


@pytest.mark.real_data
@pytest.mark.journey
def test_mnli_is_uploaded_previewed_and_confirmed(ada, clues):
    choose(ada, clues, "MNLI", "MNLI")
    expect(ada.get_by_role("heading", name="Data report")).to_be_visible(timeout=60_000)
    expect(ada.get_by_text("mnli_test.jsonl: 210 examples")).to_be_visible()
    previews = ada.locator(".upload-previews a")
    expect(previews).to_have_count(10)
    previews.first.click()
    expect(ada.get_by_text("nothing you do here is saved")).to_be_visible()
    ada.get_by_label("neutral").check()
    ada.get_by_role("button", name="Submit").click()
    await_reveal(ada)
    ada.get_by_role("button", name="Continue").click()
    ada.wait_for_url("**/preview/2/")
    ada.get_by_role("link", name="Back to the import").click()
    assert not Task.objects.exists()
    ada.get_by_role("button", name="Import MNLI").click()
    ada.wait_for_url("**/tasks/MNLI/1/")
    expect(ada.get_by_text("MNLI v1 is imported.")).to_be_visible()
    assert Task.objects.get().test_split.examples.count() == 210
    assert not TaskUpload.objects.exists()


@pytest.mark.real_data
def test_a_large_upload_continues_automatically_to_the_task(ada, clues, monkeypatch):
    monkeypatch.setattr(upload_jobs, "SMALL", 0)
    monkeypatch.setattr(jobs, "POLL", 0)
    choose(ada, clues, "CoNLL03", "CoNLL2003")
    expect(ada.locator("progress[max='18']")).to_be_visible()
    expect(ada.get_by_role("heading", name="Data report")).to_be_visible(timeout=90_000)
    ada.get_by_role("button", name="Import CoNLL03").click()
    ada.wait_for_url("**/tasks/CoNLL03/1/")


def test_a_refused_upload_shows_the_reason_and_keeps_the_form(ada, tmp_path):
    dataset = tmp_path / "moods.csv"
    dataset.write_text("text;mood\na;good\n")
    ada.goto("/tasks/add/")
    ada.locator("summary", has_text="Options").click()
    ada.get_by_label("Encoding", exact=True).fill("utf-8")
    ada.get_by_label("Files", exact=True).set_input_files(dataset)
    ada.get_by_role("button", name="Upload and check").click()
    expect(ada.get_by_role("alert").filter(has_text="set “Separator” to")).to_be_focused()
    expect(ada.get_by_label("Encoding", exact=True)).to_have_value("utf-8")
    ada.get_by_label("Separator", exact=True).fill("semicolon")
    ada.get_by_role("button", name="Upload and check").click()  # the file is still selected
    expect(ada.get_by_role("heading", name="Columns in moods.csv")).to_be_visible()


def test_files_that_are_too_large_are_reported_before_sending(ada, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_BYTES", 1_000_000)
    large = tmp_path / "toy_test.jsonl"
    large.write_bytes(b" " * 2_500_000)
    ada.goto("/tasks/add/")
    ada.get_by_label("Files", exact=True).set_input_files(large)
    expect(ada.get_by_text("These files are 3 MB. You can upload at most 1 MB.")).to_be_visible()
    expect(ada.get_by_role("button", name="Upload and check")).to_be_disabled()


@pytest.mark.journey
def test_the_analysis_page_resamples_automatically(ada, researcher, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 0)
    study = factories.make_study(researcher, factories.make_task(test_size=6), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    ada.goto(f"/studies/{study.name}/analysis/")
    expect(ada.get_by_text("Pairwise S1").first).to_be_visible()
    expect(ada.locator("[aria-labelledby=intervals] table")).to_be_visible(timeout=60_000)
    expect(ada.get_by_text("Computing bootstrap intervals")).to_have_count(0)
    assert Job.objects.get().is_done


def test_without_javascript_a_button_runs_each_part(open_browser, researcher, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 0)
    study = factories.make_study(researcher, factories.make_task(), annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    page = open_browser(java_script_enabled=False)
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"/studies/{study.name}/analysis/")
    for done in range(3):
        expect(page.get_by_text(f"{done} of 3 parts done")).to_be_visible()
        page.get_by_role("button", name="Continue").click()
    expect(page.locator("[aria-labelledby=intervals] table")).to_be_visible()


@pytest.mark.timeout(600)  # makes a bundle twice, in 43 requests each
def test_a_release_bundle_is_prepared_and_downloaded(ada, researcher, monkeypatch):
    monkeypatch.setattr(jobs, "POLL", 0)
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=2)
    factories.work_through(factories.seat(study.scenarios.get()))
    ada.goto(f"/studies/{study.name}/")
    ada.get_by_role("link", name="Publish", exact=True).click()
    ada.get_by_role("link", name="Data", exact=True).click()
    ada.get_by_role("button", name="Prepare the bundle").click()
    bar = ada.get_by_role("progressbar", name="Preparing the bundle")
    expect(bar).to_have_attribute("max", str(len(bundle_job.PARTS)))
    expect(bar).to_have_attribute("value", re.compile(r"[1-9]"), timeout=60_000)
    link = ada.get_by_role("link", name="Download the bundle")
    expect(link).to_be_visible(timeout=180_000)
    expect(ada.get_by_text("The study has not changed since then.")).to_be_visible()
    assert violations(ada) == []
    with ada.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == f"{study.name}-release.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.testzip() is None
        assert f"{study.name}/verify.txt" in archive.namelist()
    factories.work_through(factories.seat(study.scenarios.get()))
    ada.reload()
    expect(ada.get_by_text("The study has changed since then.")).to_be_visible()
    ada.get_by_role("button", name="Prepare again").click()
    expect(ada.get_by_text("The study has not changed since then.")).to_be_visible(timeout=180_000)


def test_the_text_about_dropping_files_is_in_the_box_that_takes_them(ada):
    for width in (390, 1366):
        ada.set_viewport_size({"width": width, "height": 800})
        ada.goto("/tasks/import/")
        box = ada.get_by_label("Files", exact=True).bounding_box()
        text = ada.get_by_text("Drop one file, several files").bounding_box()
        heading = ada.get_by_role("heading", name="Add a task").bounding_box()
        assert box["x"] == heading["x"]
        assert box["x"] < text["x"]
        assert text["x"] + text["width"] < box["x"] + box["width"]
        assert box["y"] < text["y"]
        assert text["y"] + text["height"] < box["y"] + box["height"]
