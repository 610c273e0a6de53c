"""Pages for annotators are small, have one main action, and work with the Back button."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Answer, Participation, Study
from annotation.protocol import training_step
from annotation.recruitment import consent
from tasks.importing import read_clues
from tests import factories
from tests.browser.conftest import Desk

pytestmark = pytest.mark.real_data

MOST = 60 * 1024  # compressed bytes per first visit
# On slow 3G (400 ms, 50 kB/s), a redirect and one file of this size take 1.2 s. The first question
# has to be ready after 2 s.
MOST_AFTER_BEGIN = 20_000


@pytest.fixture
def study(researcher, clues):
    """A study of WikiANN with ten training examples and three test examples."""
    card, files = read_clues(clues, "WikiANN")
    kept = [
        replace(file, records=file.records[:3]) if file.kind == "test" else file
        for file in files
        if file.kind == "test" or (file.shots, file.number) == (10, 1)
    ]
    task = factories.make_task(
        train={10: kept[0].records if kept[0].kind == "train" else kept[1].records},
        shots=[],
        test=next(file.records for file in kept if file.kind == "test"),
        **card.as_dict(),
    )
    return factories.make_study(researcher, task, shots=[10], exit_questionnaire=True)


def weigh(page: Page, address: str) -> int:
    """Return the number of bytes that a new visitor loads, including scripts and styles."""
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    sizes: list[int] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    assert len(sizes) >= 3
    return sum(sizes)


def test_the_way_to_the_first_question_loads_60_kb_in_25_requests(page, study):
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    sizes: list[int] = []
    redirects: list[str] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.on(
        "request",
        lambda request: redirects.append(request.url) if request.redirected_from else None,
    )
    page.goto(f"/join/{study.link_code}/")
    before = []
    for button in ("Start", "Yes, I agree", "Start the training"):
        before = [size for size in sizes if size]
        page.get_by_role("button", name=button, exact=True).click()
        page.wait_for_load_state("networkidle")
    expect(page.locator("span-answer[data-ready]")).to_be_visible()
    loaded = [size for size in sizes if size]  # cached files have no size
    assert len(redirects) == 3
    assert len(loaded) + len(redirects) <= 25
    assert sum(loaded) <= MOST
    (first_question,) = loaded[len(before) :]
    assert first_question <= MOST_AFTER_BEGIN


def wrong_at_first(turn) -> list[str]:
    """Answer the first three training examples wrong and everything else right."""
    gold = list(dict.fromkeys(turn.example.gold))
    if turn.step == "annotation" or turn.position >= 3:
        return gold
    return [] if gold else [turn.example.context[0].split()[0]]


def test_a_first_visit_of_any_page_is_below_60_kb(open_browser, study, put_published):
    """Includes the longest published texts, in English and on Arabic pages."""
    seat = factories.join(study)
    pages = {"landing": f"/join/{study.link_code}/", "consent": f"/work/{seat.token}/"}
    weights = {name: weigh(open_browser(), address) for name, address in pages.items()}
    consent.record(seat, agree=True)
    weights["instructions"] = weigh(open_browser(), pages["consent"])
    for name, task, wanted, language in (
        ("span turn", "SQuADv2", ("5a668682f038b7001ab0bf51",), "en"),
        ("label turn", "MNLI", (), "en"),
        ("Arabic span turn", "SQuADv2", ("5a668682f038b7001ab0bf51",), "ar"),
    ):
        longest = {"wanted": lambda tested: [max(tested, key=lambda r: len(str(r.context)))]}
        options = ({} if wanted else longest) | {"interface_language": language}
        turn = put_published(task, *wanted, train=False, **options)
        weights[name] = weigh(open_browser(), f"/work/{turn.token}/")
        # Translated pages are larger, because they contain the scripts' sentences.
        Study.objects.update(interface_language="ar")
        weights[f"{name} in Arabic"] = weigh(open_browser(), f"/work/{turn.token}/")
        factories.work_through(turn)
        weights[f"end after {name}"] = weigh(open_browser(), f"/work/{turn.token}/")
    assert {name: size for name, size in weights.items() if size > MOST} == {}


def test_the_landing_page_states_examples_and_their_length(page, study):
    page.goto(f"/join/{study.link_code}/")
    trained = study.scenarios.get().task.train_split(10, 1).examples.count()
    main = page.locator("main")
    expect(main).to_contain_text(f"Training: {trained} examples.")
    expect(main).to_contain_text("Main part: 3 examples.")
    expect(main).to_contain_text(re.compile(r"about \d+ words each"))
    expect(main.locator(".visit-example")).to_contain_text("named in the text?")
    expect(main).to_contain_text("about 60 minutes")
    expect(main).to_contain_text("12.00 USD per hour")
    expect(main.locator(".visit-facts")).to_contain_text("Any")


@pytest.mark.parametrize("size", [(390, 844), (1366, 657)])
def test_start_and_begin_are_in_sight_without_scrolling(open_browser, study, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    seat = factories.join(study)
    consent.record(seat, agree=True)
    for address, name in (
        (f"/join/{study.link_code}/", "Start"),
        (f"/work/{seat.token}/", "Start the training"),
    ):
        page.goto(address)
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box["y"] + box["height"] <= size[1]
        facts = page.locator(".visit-facts > div").all()
        assert all(f.bounding_box()["y"] < box["y"] for f in facts)


@pytest.mark.parametrize("size", [(390, 844), (1366, 657)])
def test_the_main_part_can_begin_without_scrolling_the_review(open_browser, study, size):
    page = open_browser(viewport={"width": size[0], "height": size[1]})
    seat = factories.seat(study.scenarios.get())
    trained = seat.scenario.task.train_split(10, 1).examples.count()
    factories.work_through(seat, lambda turn: [turn.example.context[0].split()[0]], limit=trained)
    Desk(page, seat).submit()
    button = page.get_by_role("button", name="Continue to the main part")
    expect(button).to_be_enabled()
    mistakes = page.locator(".review-mistakes").bounding_box()
    assert mistakes["y"] + mistakes["height"] > size[1]
    box = button.bounding_box()
    assert size[1] - 100 < box["y"] + box["height"] <= size[1]
    button.click()
    expect(page.locator("[data-state=question]")).to_be_visible()


def test_header_text_and_footer_begin_on_one_edge(open_browser, study):
    page = open_browser(viewport={"width": 1366, "height": 657})

    def edges(*selectors: str) -> set[int]:
        return {round(page.locator(each).first.bounding_box()["x"]) for each in selectors}

    page.goto(f"/join/{study.link_code}/")
    assert len(edges(".brand", "h1", ".visit-facts", "button.main-action")) == 1
    seat = factories.join(study)
    page.goto(f"/work/{seat.token}/")
    assert len(edges(".brand", "h1", ".visit-document")) == 1
    consent.record(seat, agree=True)
    page.reload()
    assert len(edges(".brand", "h1", ".foot a")) == 1
    training_step.begin(seat.token)
    page.reload()
    assert len(edges(".turn-mark", ".turn-question", ".turn-hint", ".turn-sheet")) == 1


def test_back_after_declining_explains_the_missing_page(open_browser, study):
    page = open_browser(tolerate="status of 404")
    page.goto(f"/join/{study.link_code}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="No, I do not agree").click()
    expect(page.locator("h1")).to_have_text("Thank you for considering it")
    page.go_back()
    expect(page.locator("h1")).to_have_text("This link does not lead to a task")
    expect(page.locator("main")).to_contain_text("If you chose not to take part")
    assert Participation.objects.count() == 0


def test_withdrawing_takes_three_presses_and_looks_distinct(page, put):
    desk = Desk(page, put("Oslo and Rome.", "Rome.", gold=["Oslo"]))
    factories.work_through(desk.seat, limit=1)
    desk.reload()
    withdraw = page.get_by_role("link", name="Withdraw my data")
    expect(withdraw).to_be_hidden()
    page.locator("#help summary").first.click()
    withdraw.click()
    erase = page.get_by_role("button", name="Yes, erase my answers")
    colours = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    back = page.get_by_role("button", name="No, go back")
    assert erase.evaluate(colours) != back.evaluate(colours)
    assert erase.bounding_box()["width"] == back.bounding_box()["width"]
    assert Answer.objects.count() == 1
    erase.click()
    expect(page.locator("main")).to_contain_text("You have withdrawn")
    assert Answer.objects.count() == 0


def test_the_last_page_shows_the_result_and_the_code_first(page, study):
    seat = factories.seat(study.scenarios.get())
    number = factories.work_through(seat, wrong_at_first)
    page.goto(f"/work/{seat.token}/")
    expect(page.locator("h1")).to_contain_text(f"You answered {number} examples")
    seat.refresh_from_db()
    code = page.get_by_text(seat.completion_code)
    below = page.get_by_role("heading", name="A few last questions")
    assert code.bounding_box()["y"] < below.bounding_box()["y"]
    right = [
        s1 == 1 for s1 in Answer.objects.filter(turn__step="training").values_list("s1", flat=True)
    ]
    expect(page.locator(".visit-ticks i")).to_have_count(len(right))
    expect(page.locator(".visit-ticks .visit-right")).to_have_count(sum(right))
    half = min(len(right) // 2, 10)
    expect(page.locator("main")).to_contain_text(
        f"from {sum(right[:half])} of {half} right to {sum(right[-half:])} of {half}."
    )
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the code").click()
    assert page.evaluate("navigator.clipboard.readText()") == seat.completion_code
