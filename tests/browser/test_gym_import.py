"""Researchers can import Few-shot Gym tasks from a ZIP archive."""

import io
import re
import zipfile

import pytest
from playwright.sync_api import expect

from tasks.models import Task
from tests.browser.test_accessibility import violations
from tests.tasks.test_gym import GYM

NAMES = ("glue-rte", "limit", "web_questions")
pytestmark = [pytest.mark.browser, pytest.mark.real_data]


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


def zipped() -> dict[str, str | bytes]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in NAMES:
            for path in sorted((GYM / name).iterdir()):
                archive.write(path, f"gym/{name}/{path.name}")
    return {"name": "gym.zip", "mimeType": "application/zip", "buffer": content.getvalue()}


def fits(page) -> bool:
    """Return whether the page fits into a window of 320 px."""
    size = page.viewport_size
    page.set_viewport_size({"width": 320, "height": 640})
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(size)
    return width <= 320


def test_gym_tasks_are_uploaded_shown_changed_and_stored(ada):
    ada.goto("/tasks/")
    ada.get_by_role("button", name="Add a task").click()
    ada.locator("summary", has_text="Options").click()
    assert violations(ada) == []
    assert fits(ada)
    ada.get_by_label("Files", exact=True).set_input_files(zipped())
    ada.get_by_role("button", name="Upload and check").click()

    expect(ada.get_by_role("heading", name="3 Few-shot Gym tasks")).to_be_visible()
    assert violations(ada) == []
    assert fits(ada)
    rte, limit, questions = (ada.get_by_role("region", name=name) for name in NAMES)
    expect(rte).to_contain_text("Inferred: label")
    expect(limit).to_contain_text(re.compile(r"Inferred: spans(, or typed)? "))
    expect(questions).to_contain_text("Inferred: short text")
    questions.get_by_text("Three examples").click()
    expect(questions.get_by_role("listitem").first).to_be_visible()
    questions.get_by_role("combobox").select_option("long text")
    limit.get_by_label("Import limit").uncheck()
    ada.get_by_label("Test examples").fill("20")
    assert not Task.objects.exists()
    ada.get_by_role("button", name="Import selected tasks").click()

    expect(ada.get_by_text("2 tasks imported.")).to_be_visible(timeout=60_000)
    kinds = {task.name: task.card.answered_by for task in Task.objects.all()}
    assert kinds == {"glue-rte": "label", "web_questions": "long text"}
    assert {task.test_split.examples.count() for task in Task.objects.all()} == {20}
