"""An empty database becomes a published table, using only the browser."""

import io
import json
import re
import subprocess
import sys
import zipfile

import pandas as pd
import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections
from playwright.sync_api import expect

from annotation.models import Study
from tasks.models import Example, Task


@pytest.fixture(autouse=True)
def _var(settings, tmp_path):
    settings.VAR_DIR = tmp_path


def import_in_browser(page, clues, name: str, folder: str) -> None:
    page.goto("/tasks/add/")
    page.locator("summary", has_text="Options").click()
    page.get_by_label("Card", exact=True).select_option(name)
    page.get_by_label("Files", exact=True).set_input_files(sorted((clues / folder).iterdir()))
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_role("heading", name="Data report")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name=f"Import {name}").click()
    page.wait_for_url(f"**/tasks/{name}/1/", timeout=60_000)


def predictions(folder, task: Task, predict) -> list:
    """Write a file of zero-shot predictions for this task."""
    path = folder / f"{task.name}_0.jsonl"
    examples = Example.objects.filter(split=task.test_split).order_by("position")
    path.write_text(
        "\n".join(
            json.dumps({"id": example.source_id, "predicted": predict(example)})
            for example in examples
        )
    )
    return [path]


def upload_model(page, name: str, files: list) -> None:
    page.goto("/models/")
    page.get_by_label("Name of the model").fill(name)
    page.locator("input[type=file]").set_input_files(files)
    page.get_by_role("button", name="Score and store").click()
    page.wait_for_url(re.compile(rf"/models/{name}/"), timeout=60_000)


# With the tests' in-memory SQLite, reading the page that updates would block writes.
@pytest.mark.long
@pytest.mark.journey
@pytest.mark.postgres
@pytest.mark.real_data
def test_an_evaluation_goes_from_import_to_a_verified_bundle(page, clues, db, tmp_path):
    get_user_model().objects.create_user("ada", password="right horse")
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/studies/")
    import_in_browser(page, clues, "MNLI", "MNLI")
    import_in_browser(page, clues, "CoNLL03", "CoNLL2003")

    page.goto("/new-study/")
    page.get_by_label("Name", exact=True).fill("humans")
    page.get_by_label("Title").fill("What do humans get?")
    # A rehearsal, because simulated annotators take part below.
    page.get_by_label(re.compile("rehearsal", re.IGNORECASE)).check()
    for task in ("MNLI", "CoNLL03"):
        page.get_by_role("group", name="Tasks", exact=True).get_by_label(
            re.compile(rf"\b{task} v1")
        ).check()
    page.get_by_label("Shots", exact=True).fill("0")
    page.get_by_label("Annotators per scenario").fill("2")
    page.get_by_role("button", name="Save draft").click()
    # A paid study needs a budget. The draft says so, and the form suggests one.
    page.get_by_role("button", name="Change the design").click()
    page.get_by_role("button", name="Save draft").click()
    page.wait_for_url("**/studies/humans/")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("The study is now open.")).to_be_visible()

    watched = page.context.new_page()
    watched.goto("/studies/humans/people/")
    call_command("simulate_workers", "humans", policy="noisy:0.8", seed=1, processes=1, verbosity=0)
    connections.close_all()
    simulated = watched.locator("#progress-funnel tr").filter(has_text="Simulated annotators")
    expect(simulated.locator("td").nth(4)).to_have_text("4", timeout=60_000)  # completed
    watched.close()

    study = Study.objects.get()
    gone = study.participations.filter(scenario__task__name="MNLI").first()
    page.goto(f"/studies/humans/annotators/{gone.pseudonym}/")
    page.get_by_text("Exclude from the analysis").click()
    page.locator("#analysis-reason").fill("Answered without reading.")
    page.get_by_role("button", name="Exclude").click()
    undo = page.get_by_text("You excluded this annotator from the analysis: Answered")
    expect(undo).to_be_visible()

    tasks = {task.name: task for task in Task.objects.all()}
    upload_model(page, "always-empty", predictions(tmp_path, tasks["CoNLL03"], lambda example: []))
    upload_model(
        page, "perfect", predictions(tmp_path, tasks["MNLI"], lambda example: example.gold)
    )
    page.goto("/models/always-empty/")
    expect(page.get_by_text("51.3").first).to_be_visible()

    page.goto("/studies/humans/human-performance/?kind=simulated")
    expect(
        page.get_by_role("heading", name="Simulated annotators (not people)", exact=True)
    ).to_be_visible()
    expect(page.get_by_text("with those excluded from the analysis").first).to_be_visible()
    page.goto("/studies/humans/models/?kind=simulated")
    for name in ("always-empty", "perfect"):
        expect(page.get_by_text(name).first).to_be_visible()

    page.goto("/studies/humans/")
    page.get_by_role("link", name="Publish", exact=True).click()
    page.get_by_role("link", name="Data", exact=True).click()
    page.get_by_role("button", name="Prepare the bundle").click()
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("link", name="Download the bundle").click(timeout=60_000)
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as bundle:
        bundle.extractall(tmp_path / "bundle")
    (script,) = (tmp_path / "bundle").rglob("verify.py")
    table = pd.read_csv(script.with_name("human_performance.csv"))
    table = table[table["kind"] == "simulated"]
    assert dict(zip(table["task"], table["n"], strict=True)) == {"MNLI": 1, "CoNLL03": 2}
    scores = pd.read_csv(script.with_name("model_scores.csv"))
    means = scores.set_index("model")["mean"]
    assert means["perfect"] == 1
    assert means["always-empty"] == pytest.approx(0.513, abs=0.0005)
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Consistent" in done.stdout
