"""The design form updates its consequences as the user types, on phones too."""

import pytest
from playwright.sync_api import expect

from annotation.models import Study
from tests import factories
from tests.browser.test_accessibility import signed_in, violations

OWN = "age, before, number, required: How old are you?\n\nlast, after, text: What was hard?"


def is_narrow_enough(page) -> bool:
    page.set_viewport_size({"width": 320, "height": 640})
    return page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.journey
def test_the_side_panel_updates_while_typing_without_storing(page, researcher):
    factories.make_task(shots=(2, 4))
    signed_in(page, "/new-study/")
    side = page.get_by_role("complementary", name="Summary")
    expect(side).to_contain_text("To see seats, time and cost, fill in")
    page.get_by_role("group", name="Tasks", exact=True).get_by_label("toy-places v1").check()
    page.get_by_label("Shots", exact=True).fill("0 2")
    expect(side.locator("dd").first).to_have_text("6", timeout=60_000)
    page.get_by_label("Annotators per scenario").fill("5")
    expect(side).to_contain_text("5 annotators each", timeout=60_000)
    expect(side.get_by_text("No SD for this task")).to_be_visible()
    assert not Study.objects.exists()
    assert violations(page) == []
    assert is_narrow_enough(page)


def test_chips_offer_the_sizes_of_the_tasks_and_titles_make_names(page, researcher):
    factories.make_task(shots=(2, 4), by=researcher)
    factories.make_task(name="other", shots=(8,), by=researcher)
    signed_in(page, "/new-study/")
    chips = page.get_by_role("group", name="Sizes of training").get_by_role("button")
    expect(chips).to_have_text(["0", "2", "4", "8"])
    page.get_by_role("group", name="Tasks", exact=True).get_by_label("other v1").check()
    expect(chips).to_have_text(["0", "8"])
    chips.last.click()
    chips.first.press("Enter")
    expect(page.locator("[name=shots]")).to_have_value("0 8")
    chips.last.click()
    expect(page.locator("[name=shots]")).to_have_value("0")
    page.locator("[name=shots]").fill("8")
    pressed = [chip.get_attribute("aria-pressed") for chip in chips.all()]
    assert pressed == ["false", "true"]
    page.get_by_label("Title", exact=True).fill("Été à Paris: 2")
    page.keyboard.press("Tab")
    expect(page.locator("[name=name]")).to_have_value("ete-a-paris-2")


def test_the_summary_takes_the_room_beside_the_fields(page, researcher):
    draft = factories.make_study(researcher, factories.make_task(shots=(2,)), status="draft")
    page.set_viewport_size({"width": 1366, "height": 800})
    signed_in(page, f"/studies/{draft.name}/design/")
    title = page.get_by_label("Title", exact=True).bounding_box()
    summary = page.get_by_role("complementary", name="Summary")
    side = summary.bounding_box()
    boxes = page.get_by_role("group", name="Tasks", exact=True).get_by_role("checkbox")
    assert side["x"] - title["x"] - title["width"] <= 40
    assert abs(boxes.first.bounding_box()["x"] - title["x"]) < 1
    expect(page.get_by_role("button", name="Calculate")).to_have_count(0)
    page.evaluate("scrollTo(0, 600)")
    side = summary.bounding_box()
    assert side["y"] + side["height"] <= 800
    # It has a shadow at its lower edge, because it scrolls.
    assert summary.evaluate("each => each.scrollHeight > each.clientHeight")
    assert "local" in summary.evaluate("each => getComputedStyle(each).backgroundAttachment")


def test_pages_of_tasks_and_previews_are_accessible_and_narrow(page, researcher):
    task = factories.make_task(shots=(2,), by=researcher)
    study = factories.make_study(researcher, task, own_questions=OWN, exit_questionnaire=True)
    scenario = study.scenarios.get(shots=2)
    preview = f"/studies/{study.name}/preview/{scenario.pk}"
    signed_in(page, f"/tasks/{task.name}/1/")
    for address in (
        f"/tasks/{task.name}/1/",
        f"/tasks/{task.name}/1/?show=examples",
        f"/tasks/{task.name}/1/?show=edit",
        *(f"{preview}/{step}/0/" for step in ("consent", "questions", "instructions", "end")),
        f"{preview}/training/0/",
        f"/studies/{study.name}/design/",
    ):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(address)
        assert violations(page) == [], address
        assert is_narrow_enough(page), address
