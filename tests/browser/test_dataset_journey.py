"""From a file of labelled texts to an open study; counts clicks and page loads."""

import pytest
from playwright.sync_api import expect

from annotation.models import Study
from tasks.models import Task
from tests.browser.test_accessibility import violations
from tests.tasks.datasets import files

ROWS = [
    {"text": f"Film {n} was {'fine' if n % 3 else 'dull'}.", "mood": "good" if n % 3 else "bad"}
    for n in range(400)
]
CLICKS, LOADS = 10, 6
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


@pytest.mark.journey
def test_a_file_becomes_an_open_study_in_ten_clicks(ada, tmp_path):
    path = files.write_csv(tmp_path / "moods.csv", ROWS)
    pressed, loaded = [], []
    ada.expose_function("pressed", lambda: pressed.append(1))
    ada.add_init_script(COUNT)
    ada.on("load", lambda page: loaded.append(page.url))

    ada.goto("/tasks/add/")
    assert violations(ada) == []
    ada.get_by_label("Files", exact=True).set_input_files(path)
    pressed.append(1)  # the button opens a file dialog, which tests cannot use
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
    assert len(pressed) <= CLICKS, len(pressed)
    assert len(loaded) <= LOADS, loaded
    print(f"{len(pressed)} clicks, {len(loaded)} page loads")
