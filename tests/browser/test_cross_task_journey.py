"""A participant in a cross-task study's upstream arm, from the link to the completion code."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Participation, Status, Study
from annotation.study import lifecycle
from tests.annotation.study.test_cross_task import make_cross_task
from tests.browser.conftest import await_reveal

UNSEEN = "unseen-a"


@pytest.fixture
def study(researcher) -> Study:
    study = make_cross_task(researcher, targets=(UNSEEN,), annotators=1)
    lifecycle.change_status(study, "open")
    return study


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def enter_upstream(open_browser, study: Study) -> tuple[Page, Participation]:
    """Join in new browsers until a participant is in the upstream arm; return that page."""
    for _person in range(3):
        page = open_browser()
        page.goto(f"/join/{study.link_code}/")
        page.get_by_role("button", name="Start").click()
        page.get_by_role("button", name="I agree").wait_for()
        person = Participation.objects.latest("pk")
        if person.scenario.arm == "upstream":
            return page, person
    raise AssertionError("three people take the three arms of one seat each")


def question(page: Page) -> str:
    """Return the content of the question's page once it handles answers."""
    listening = "choice-answer[data-ready] [data-submit]:not([aria-disabled])"
    page.wait_for_selector(f"#turn[data-state=question] {listening}")
    return page.content()


def answer(page: Page) -> None:
    page.get_by_label("positive").first.check()
    page.locator("[data-submit]").click()


def train(page: Page) -> str:
    """Answer a training example and continue; return the content of its pages."""
    seen = question(page)
    assert "data-verdict" not in seen
    answer(page)
    await_reveal(page)
    seen += page.content()
    key = page.locator("#turn").get_attribute("data-key")
    go_on = page.locator("[data-submit]")
    expect(go_on).to_be_enabled()  # disabled for a moment
    go_on.click()
    page.wait_for_selector(
        f"#turn:not([data-key='{key}']), #turn[data-state=review], article.sheet"
    )
    return seen


def instructions(page: Page, name: str) -> None:
    """Check that a reload shows the page between two tasks again, and continue."""
    for _look in range(2):
        page.get_by_text(f"Instructions of {name}.").wait_for()
        page.reload()
    press(page, "Continue")


@pytest.mark.long
@pytest.mark.journey
def test_the_upstream_arm_leads_from_link_to_code(open_browser, study):
    page, person = enter_upstream(open_browser, study)
    before = [page.content()]
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start the training").wait_for()
    before.append(page.content())
    press(page, "Start the training")
    question(page)
    first = person.turns.get().card.name
    second = {"up-one": "up-two", "up-two": "up-one"}[first]
    before += [train(page) for _example in range(3)]
    instructions(page, second)
    before += [train(page) for _example in range(3)]
    # Before its instructions, no page may name the unseen task or show its texts.
    assert not [seen for seen in before if UNSEEN in seen]
    instructions(page, UNSEEN)
    for _example in range(4):
        assert f"{UNSEEN} train" in train(page)
    if page.locator("#turn[data-state=review]").count():
        page.locator("[data-submit]").click()
    for number in range(6):
        seen = question(page)
        assert f"{UNSEEN} test" in seen
        key = page.locator("#turn").get_attribute("data-key")
        answer(page)
        following = f"#turn:not([data-key='{key}'])" if number < 5 else "[data-copy-text]"
        page.wait_for_selector(following)
        assert page.locator("[data-verdict]").count() == 0
    person.refresh_from_db()
    assert person.status == Status.COMPLETED
    expect(page.locator("body")).to_contain_text(person.completion_code)
    steps = list(person.turns.order_by("pk").values_list("step", flat=True))
    assert steps == ["upstream"] * 6 + ["training"] * 4 + ["annotation"] * 6
