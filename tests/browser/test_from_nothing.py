"""An empty server becomes a printed report and a verified bundle, without a terminal.

An owner and an analyst import datasets in three formats, rehearse with simulated annotators, and
run a paid study, all by clicking in Chromium. Each participant uses a separate browser.
"""

import io
import re
import subprocess
import sys
import zipfile

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from config import users
from tests.tasks.datasets import files

MOODS = [
    {"text": f"Film {n} was {'fine' if n % 3 else 'dull'}.", "mood": "good" if n % 3 else "bad"}
    for n in range(60)
]
CITIES = ["Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Paris", "Riga", "Dakar", "Perth", "Sofia"]
SUMS = [
    {"text": f"Ann has {n} coins and finds one.", "question": "How many coins has she?",
     "options": f"(A) {n} (B) {n + 1} (C) {n + 2}", "answer": str(n + 1)}
    for n in range(60)
]  # fmt: skip
PLACES = [
    {"text": f"Bus {n} goes to {city} today.", "question": "Where does it go?",
     "answers": {"text": [city], "answer_start": [len(f"Bus {n} goes to ")]}}
    for n, city in enumerate(CITIES * 6)
]  # fmt: skip
TRAINED, TESTED = 2, 4
LOADS = 30  # for the owner and the analyst together


@pytest.fixture(autouse=True)
def _var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"


def create_the_first_account(page: Page) -> None:
    """Open the address that an empty server prints, and enter the code that it prints."""
    page.goto("/first-owner/")
    page.get_by_label("Code").fill(users.first_owner_code())
    page.get_by_label("Name", exact=True).fill("ada")
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("Password", exact=True).fill("right horse")
    page.get_by_label(re.compile("Repeat the password", re.I)).fill("right horse")
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/studies/")


def bring_datasets_in(page: Page, folder) -> None:
    """Import a CSV with labels, an XLSX with multiple choice, and a JSON Lines file with spans."""
    paths = [
        files.write_csv(folder / "moods.csv", MOODS),
        files.write_xlsx(folder / "sums.xlsx", SUMS),
        files.write_jsonl(folder / "places.jsonl", PLACES),
    ]
    page.goto("/tasks/add/")
    page.get_by_label("Files", exact=True).set_input_files(paths)
    page.get_by_role("button", name="Upload and check").click()
    for path in paths:
        expect(page.get_by_role("heading", name=f"Columns in {path.name}")).to_be_visible()
        if path.stem == "moods":
            page.get_by_label("mood", exact=True).select_option("Answer")
        else:
            page.get_by_label("question", exact=True).select_option("Question")
        page.get_by_label("Training set sizes").fill(str(TRAINED))
        page.get_by_label("Training sets per size").fill("1")
        page.get_by_label("Test examples").fill(str(TESTED))
        page.get_by_role("button", name="Sample and preview").click()
        expect(page.get_by_role("heading", name="Data report")).to_be_visible(timeout=60_000)
        next_step = "create a study" if path == paths[-1] else "add another task"
        page.get_by_role("button", name=f"Import and {next_step}").click()
    page.wait_for_url("**/new-study/?task=places", timeout=60_000)
    for task in ("moods", "sums"):
        page.get_by_role("group", name="Tasks", exact=True).get_by_label(f"{task} v1").check()


def design(page: Page) -> None:
    """Design a paid study of the three tasks."""
    for label, value in (
        ("Name", "moods"), ("Title", "Moods of films"), ("Shots", str(TRAINED)),
        ("Annotators per scenario", "1"), ("Estimated minutes", "10"),
        ("Maximum paid hours", "1"), ("Study budget", "100"),
    ):  # fmt: skip
        page.get_by_label(label, exact=True).fill(value)


def go(page: Page, *names: str) -> None:
    """Follow links: a study's tab ("" for the current one), then optionally a page and a view."""
    navigations = (re.compile("^Moods of films"), "Pages of this tab", "Views")
    for navigation, name in zip(navigations, names, strict=False):
        if not name:  # already shown
            continue
        links = page.get_by_role("navigation", name=navigation)
        links.get_by_role("link", name=name, exact=True).click()
        page.wait_for_load_state()


def open_study(page: Page) -> None:
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("The study is now open.")).to_be_visible()


def rehearse(page: Page) -> None:
    """Rehearse with one click, and wait for the simulated annotators."""
    page.get_by_role("button", name="Save and rehearse").click()
    page.wait_for_url("**/moods-rehearsal/human-performance/", timeout=90_000)
    expect(page.get_by_text("Simulated annotators (not people)").first).to_be_visible()


def invite_an_analyst(page: Page, analyst: Page) -> None:
    """Invite an analyst by a link; she creates an account and opens the study."""
    go(page, "Settings")
    page.get_by_label("Role").first.select_option("analyst")
    page.get_by_role("button", name="Invite", exact=True).click()
    analyst.goto(page.get_by_label("Invitation link").input_value())
    analyst.get_by_label("Name", exact=True).fill("bea")
    analyst.get_by_label("Email").fill("bea@example.org")
    analyst.get_by_label("Password", exact=True).fill("left horse")
    analyst.get_by_label(re.compile("Repeat the password", re.I)).fill("left horse")
    analyst.get_by_role("button", name="Create account and join").click()
    expect(analyst.get_by_role("heading", name="Moods of films")).to_be_visible()


def link_of(page: Page) -> str:
    """Return the link that *Copy link* on the overview copies."""
    return page.locator("[data-copy]", has_text="Copy link").locator("input").input_value()


def answer(person: Page, count: int) -> None:
    """Choose the first answer this many times, continuing after reveals and the review."""
    for _ in range(count):
        person.wait_for_selector(".turn-work[data-ready] [data-submit]:not([aria-disabled])")
        key = person.locator("#turn").get_attribute("data-key")
        choices = "[data-labels] input, [data-options] input, [data-text] [data-t]"
        person.locator(choices).first.click()
        submit = person.locator("[data-submit]")
        submit.click()
        after = f"[data-state=reveal], [data-state=review], main:not(:has(#turn[data-key='{key}']))"
        person.wait_for_selector(after)
        for state in ("reveal", "review"):
            if person.locator(f"[data-state={state}]").count():
                submit.click()
                person.wait_for_selector(f"main:not(:has(#turn[data-state={state}]))")


def train(person: Page, link: str) -> None:
    person.goto(link)
    person.get_by_role("button", name="Start").click()
    person.get_by_role("button", name="Yes, I agree").click()
    person.get_by_role("button", name="Start the training").click()
    answer(person, TRAINED)


def exclude_one(page: Page) -> None:
    go(page, "Participants", "Annotators")
    page.get_by_role("checkbox", name=re.compile("^Select A-")).first.check()
    page.get_by_label("Reason").fill("Pressed one key throughout.")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("Excluded from the analysis: 1.")).to_be_visible()


def pay(page: Page) -> None:
    go(page, "", "Payments")
    page.get_by_role("button", name="Prepare payment").click()
    page.get_by_role("button", name="Mark as paid").click()
    batch = page.get_by_role("region", name="Batches").locator("tbody tr")
    expect(batch).to_contain_text("paid")


def close(page: Page) -> None:
    go(page, "Overview")
    expect(page.get_by_text("Hidden until the study is closed.")).to_be_visible()
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Close permanently").click()
    expect(page.get_by_text("Hidden until the study is closed.")).to_have_count(0)


def take_the_figure_and_the_table(page: Page) -> None:
    """Look at the closed study's shot curve, and download the table as LaTeX."""
    expect(page.locator("svg.result-plot").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_text("Export: Results", exact=True).click()
        page.get_by_role("link", name="Results as LaTeX").click()
    assert "\\toprule" in download.value.path().read_text()


def print_the_report(page: Page, folder) -> None:
    """Print the report to a PDF with A4 pages, like the browser's print dialog."""
    go(page, "Publish")
    page.pdf(path=folder / "report.pdf", prefer_css_page_size=True)
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF")


def verify_the_bundle(page: Page, folder) -> None:
    go(page, "", "Data")
    page.get_by_role("button", name="Prepare the bundle").click()
    with page.expect_download(timeout=90_000) as download:
        page.get_by_role("link", name="Download the bundle").click(timeout=90_000)
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as bundle:
        bundle.extractall(folder / "bundle")
    (script,) = (folder / "bundle").rglob("verify.py")
    table = pd.read_csv(script.with_name("human_performance.csv"))
    assert sorted(table["task"]) == ["moods", "places", "sums"]
    assert table["n"].sum() == 1
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Consistent" in done.stdout


# With the tests' in-memory SQLite, reading a page that updates would block writes.
@pytest.mark.long
@pytest.mark.journey
@pytest.mark.postgres
@pytest.mark.timeout(400)  # about forty pages
def test_a_study_goes_from_an_empty_server_to_a_printed_report(page, open_browser, tmp_path):
    loaded: list[str] = []
    page.on("load", lambda page: loaded.append(page.url))
    create_the_first_account(page)
    bring_datasets_in(page, tmp_path)
    design(page)
    rehearse(page)
    page.goto("/studies/moods/")
    open_study(page)
    analyst = open_browser()
    analyst.on("load", lambda page: loaded.append(page.url))
    link = link_of(page)
    invite_an_analyst(page, analyst)
    people = [open_browser(), open_browser()]
    for person in people:
        train(person, link)
        answer(person, TESTED)
        expect(person.get_by_role("heading", name="Thank you")).to_be_visible()
    exclude_one(page)
    pay(page)
    close(page)
    take_the_figure_and_the_table(page)
    print_the_report(analyst, tmp_path)
    verify_the_bundle(analyst, tmp_path)
    print(f"{len(loaded)} page loads")
    assert len(loaded) <= LOADS, loaded
