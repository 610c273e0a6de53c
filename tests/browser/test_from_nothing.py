"""From an empty server to a printed report and a verified bundle, without a terminal.

One owner, one analyst, one dataset, a rehearsal with simulated annotators and a paid study with
people, all by clicks in Chromium. Each person answers in a separate browser.
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

ROWS = [
    {"text": f"Film {n} was {'fine' if n % 3 else 'dull'}.", "mood": "good" if n % 3 else "bad"}
    for n in range(60)
]
TRAINED, TESTED = 2, 4
LOADS = 30  # of the owner and the analyst together


@pytest.fixture(autouse=True)
def _var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"


def create_the_first_account(page: Page) -> None:
    """Open the address that an empty server prints, and enter the code printed with it."""
    page.goto("/first-owner/")
    page.get_by_label("Code").fill(users.first_owner_code())
    page.get_by_label("Name", exact=True).fill("ada")
    page.get_by_label("Email").fill("ada@example.org")
    page.get_by_label("Password", exact=True).fill("right horse")
    page.get_by_label(re.compile("Repeat the password", re.I)).fill("right horse")
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/studies/")


def bring_a_dataset_in(page: Page, folder) -> None:
    page.goto("/tasks/add/")
    path = files.write_csv(folder / "moods.csv", ROWS)
    page.get_by_label("Files", exact=True).set_input_files(path)
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_label("mood", exact=True).select_option("Answer")
    page.get_by_label("Training set sizes").fill(str(TRAINED))
    page.get_by_label("Training sets per size").fill("1")
    page.get_by_label("Test examples").fill(str(TESTED))
    page.get_by_role("button", name="Sample and preview").click()
    expect(page.get_by_role("heading", name="Data report")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Import and create a study").click()
    page.wait_for_url("**/new-study/?task=moods", timeout=60_000)


def design(page: Page) -> None:
    """Design a paid study for two people."""
    for label, value in (
        ("Name", "moods"), ("Title", "Moods of films"), ("Shots", str(TRAINED)),
        ("Annotators per scenario", "2"), ("Estimated minutes", "10"),
        ("Maximum paid hours", "1"), ("Study budget", "100"),
    ):  # fmt: skip
        page.get_by_label(label, exact=True).fill(value)


def go(page: Page, *names: str) -> None:
    """Follow a study's tabs: a tab ("" for this one), perhaps one of its pages, and its view."""
    navigations = (re.compile("^Moods of films"), "Pages of this tab", "Views")
    for navigation, name in zip(navigations, names, strict=False):
        if not name:  # this tab is shown
            continue
        links = page.get_by_role("navigation", name=navigation)
        links.get_by_role("link", name=name, exact=True).click()
        page.wait_for_load_state()


def open_study(page: Page) -> None:
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("The study is now open.")).to_be_visible()


def rehearse(page: Page) -> None:
    """Rehearse with one click; simulated annotators work while the page is open."""
    page.get_by_role("button", name="Save and rehearse").click()
    page.wait_for_url("**/moods-rehearsal/human-performance/", timeout=90_000)
    expect(page.get_by_text("Simulated annotators (not people)").first).to_be_visible()


def let_a_researcher_decide(page: Page) -> None:
    """Let people wait after the training step until a researcher has reviewed their answers."""
    page.goto("/studies/moods/edit/")
    page.locator("summary").filter(has_text="Screening").click()
    page.locator("#id_qualification").select_option("researcher")
    page.get_by_role("button", name="Save draft").click()
    page.wait_for_url("**/studies/moods/")


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
    go(page, "Participants")
    return page.get_by_label("Link for annotators").input_value()


def answer(person: Page, count: int) -> None:
    """Choose the first label this many times, continuing after reveals and the final review."""
    for _ in range(count):
        person.wait_for_selector(".turn-work[data-ready] [data-submit]:not([aria-disabled])")
        key = person.locator("#turn").get_attribute("data-key")
        person.locator("[data-labels] input").first.check()
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


def decide_about_both(page: Page) -> None:
    go(page, "", "Annotators")
    for box in page.get_by_role("checkbox", name=re.compile("^Select A-")).all():
        box.check()
    page.get_by_label("Reason").fill("Both read the examples.")
    page.get_by_role("button", name="Qualify").click()
    expect(page.get_by_role("checkbox", name=re.compile("^Select A-"))).to_have_count(0)


def exclude_one(page: Page) -> None:
    page.get_by_role("link", name=re.compile("^A-")).first.click()
    page.get_by_text("Exclude from the analysis").click()
    page.locator("#analysis-reason").fill("Pressed one key throughout.")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("Pressed one key throughout.").first).to_be_visible()


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
    """See the shot curve on the overview, which shows it once the study is closed."""
    expect(page.locator("svg.result-plot").first).to_be_visible()
    go(page, "Results")
    with page.expect_download() as download:
        page.get_by_text("Export: Table", exact=True).click()
        page.get_by_role("link", name="Table as LaTeX").click()
    assert "\\toprule" in download.value.path().read_text()


def print_the_report(page: Page, folder) -> None:
    """Print the report as a PDF of A4 pages, as the browser's dialog does."""
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
    assert list(table["n"]) == [1]
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Consistent" in done.stdout


# The tests' in-memory SQLite blocks writes while a page that updates is being read.
@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(400)  # some forty pages
def test_a_study_goes_from_an_empty_server_to_a_printed_report(page, open_browser, tmp_path):
    loaded: list[str] = []
    page.on("load", lambda page: loaded.append(page.url))
    create_the_first_account(page)
    bring_a_dataset_in(page, tmp_path)
    design(page)
    rehearse(page)
    let_a_researcher_decide(page)
    open_study(page)
    analyst = open_browser()
    analyst.on("load", lambda page: loaded.append(page.url))
    invite_an_analyst(page, analyst)
    link = link_of(page)
    people = [open_browser(), open_browser()]
    for person in people:
        train(person, link)
    decide_about_both(page)
    for person in people:
        # The waiting page polls every five seconds and continues automatically.
        expect(person.locator('[hx-trigger^="every 5s"]')).to_have_count(0, timeout=20_000)
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
