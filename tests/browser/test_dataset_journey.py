"""A file of labelled texts becomes an open study or a rehearsal in few clicks and page loads."""

import time

import pytest
from playwright.sync_api import expect

from annotation.models import Study
from tasks.models import Task
from tests.browser.test_accessibility import violations
from tests.tasks.datasets import files

ROWS = [
    {"text": f"Film {n} was {'fine' if n % 3 else 'dull'}.", "mood": "good" if n % 3 else "bad"}
    for n in range(500)
]
CLICKS, LOADS = 10, 6
CLICKS_TO_RESULTS, LOADS_TO_RESULTS, SECONDS_TO_RESULTS = 12, 6, 180
COUNT = "addEventListener('pointerdown', (event) => event.isTrusted && window.pressed(), true)"


@pytest.fixture(autouse=True)
def _var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"


@pytest.fixture
def ada(page, researcher):
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/studies/")
    return page


class Counted:
    """Counts clicks and page loads."""

    def __init__(self, page):
        self.pressed, self.loaded = [], []
        page.expose_function("pressed", lambda: self.pressed.append(1))
        page.add_init_script(COUNT)
        page.on("load", lambda page: self.loaded.append(page.url))

    def check(self, clicks, loads):
        assert len(self.pressed) <= clicks, len(self.pressed)
        assert len(self.loaded) <= loads, self.loaded
        print(f"{len(self.pressed)} clicks, {len(self.loaded)} page loads")


@pytest.mark.postgres  # the rehearsal writes while its page polls
def test_a_file_becomes_a_rehearsal_with_results(ada, tmp_path):
    """The first three steps of the tutorial, which says that they take three minutes."""
    path = files.write_csv(tmp_path / "moods.csv", ROWS)
    began = time.monotonic()
    counted = Counted(ada)
    ada.goto("/tasks/add/")
    ada.get_by_label("Files", exact=True).set_input_files(path)
    counted.pressed.append(1)
    ada.get_by_role("button", name="Upload and check").click()
    ada.get_by_role("button", name="Sample and preview").click()
    ada.get_by_role("button", name="Import and create a study").click()
    ada.wait_for_url("**/new-study/?task=moods", timeout=60_000)
    for label, value in (
        ("Name", "pilot"), ("Title", "Moods"), ("Shots", "0 10"), ("Hourly rate", "0"),
        ("Annotators per scenario", "1"),
    ):  # fmt: skip
        ada.get_by_label(label, exact=True).click()
        ada.keyboard.press("Control+A")
        ada.keyboard.type(value)
    ada.get_by_role("button", name="Save and rehearse").click()
    ada.wait_for_url("**/pilot-rehearsal/human-performance/", timeout=180_000)
    expect(ada.get_by_text("Simulated annotators (not people)").first).to_be_visible()
    seconds = time.monotonic() - began
    assert Study.objects.get(name="pilot-rehearsal").status == "open"
    counted.check(CLICKS_TO_RESULTS, LOADS_TO_RESULTS)
    assert seconds <= SECONDS_TO_RESULTS
    print(f"{seconds:.0f} seconds")


@pytest.mark.journey
def test_a_file_becomes_an_open_study_in_ten_clicks(ada, tmp_path):
    path = files.write_csv(tmp_path / "moods.csv", ROWS)
    counted = Counted(ada)
    ada.goto("/tasks/add/")
    assert violations(ada) == []
    ada.get_by_label("Files", exact=True).set_input_files(path)
    counted.pressed.append(1)  # the button opens a file dialog, which tests cannot use
    ada.get_by_role("button", name="Upload and check").click()

    expect(ada.get_by_role("heading", name="Columns in moods.csv")).to_be_visible()
    assert violations(ada) == []
    expect(ada.get_by_label("text", exact=True)).to_have_value("text")
    expect(ada.get_by_label("mood", exact=True)).to_have_value("gold")
    example = ada.get_by_role("complementary", name="First example")
    expect(example).to_contain_text("Answer in the file: bad")
    ada.get_by_label("mood", exact=True).select_option("Ignore")
    expect(example).to_contain_text("Answer: Choose a column for this role.")
    assert violations(ada) == []
    ada.get_by_label("mood", exact=True).select_option("Answer")
    expect(example.locator(".visit-choice")).to_have_text(["bad", "good"])
    ada.get_by_role("button", name="Sample and preview").click()

    expect(ada.get_by_role("heading", name="Data report")).to_be_visible(timeout=60_000)
    expect(ada.locator(".upload-previews a")).to_have_count(10)
    ada.get_by_role("button", name="Import and create a study").click()

    ada.wait_for_url("**/new-study/?task=moods", timeout=60_000)
    expect(
        ada.get_by_role("group", name="Tasks", exact=True).get_by_label("moods v1")
    ).to_be_checked()
    for label, value in (
        ("Name", "pilot"), ("Title", "Moods"), ("Shots", "0 10"), ("Hourly rate", "0"),
    ):  # fmt: skip
        ada.get_by_label(label, exact=True).click()
        ada.keyboard.press("Control+A")
        ada.keyboard.type(value)
    ada.get_by_role("button", name="Save draft").click()

    ada.wait_for_url("**/studies/pilot/")
    ada.get_by_role("button", name="Open", exact=True).click()
    expect(ada.get_by_text("The study is now open.")).to_be_visible()

    study = Study.objects.get()
    assert study.status == "open"
    assert list(study.tasks.all()) == [Task.objects.get()]
    counted.check(CLICKS, LOADS)
