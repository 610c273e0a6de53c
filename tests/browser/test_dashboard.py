"""The study's page updates while participants answer, without disturbing the researcher."""

from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Participation
from annotation.payout import batches
from annotation.study import lifecycle
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=2)


def visit(page: Page, study, to: str = "") -> None:
    page.clock.install()
    page.goto(f"/sign-in/?next=/studies/{study.name}/{to}")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/studies/{study.name}/{to}")


@pytest.mark.journey
def test_the_page_updates_when_an_answer_is_stored(page, study):
    seat = factories.seat(study.scenarios.get(shots=2))
    visit(page, study, "people/")
    mine = page.locator("#progress-at-work li").filter(has_text=seat.pseudonym)
    expect(mine).to_contain_text("training step, 1 of 2")
    # An update keeps the focus and the scroll position of a wide table.
    page.set_viewport_size({"width": 390, "height": 800})
    wide = page.get_by_role("region", name="From arrival to analysis")
    wide.evaluate("e => { e.scrollLeft = 120; }")
    mine.get_by_role("link").focus()
    factories.work_through(seat, limit=3)
    page.clock.fast_forward(10_000)
    expect(mine).to_contain_text("annotation step, 2 of 4")
    assert wide.evaluate("e => e.scrollLeft") == 120
    assert page.evaluate("document.activeElement.innerText") == seat.pseudonym
    factories.work_through(seat)
    page.clock.fast_forward(10_000)
    expect(mine).to_have_count(0)
    page.goto(f"/studies/{study.name}/")
    expect(page.locator("#progress-completed")).to_have_text("1 of 4")
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    page.clock.fast_forward(10_000)
    expect(page.locator("#progress-completed")).to_have_text("2 of 4")
    # Screen readers do not announce every update.
    assert page.locator(".overview [aria-live], .overview [role=status]").count() == 0


def test_polling_stops_once_the_study_is_closed(page, study):
    visit(page, study)
    expect(page.locator("#progress-poll")).to_contain_text("every ten seconds")
    lifecycle.change_status(study, "close")
    page.clock.fast_forward(10_000)
    expect(page.locator("#progress-poll")).to_contain_text("all annotators have finished")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(60_000)
    page.wait_for_timeout(500)
    assert asked == []


def test_without_javascript_a_reload_shows_current_progress(open_browser, study):
    page = open_browser(java_script_enabled=False)
    visit(page, study)
    expect(page.locator("#progress-completed")).to_have_text("0 of 4")
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    page.reload()
    expect(page.locator("#progress-completed")).to_have_text("1 of 4")


# Numbers are right-aligned, like their headings ---------------------------------------------------

# Returns the alignment errors of all numeric columns.
MISALIGNED = r"""() => [...document.querySelectorAll("table:has(thead th)")].flatMap(table => {
    const heads = [...table.tHead.rows].at(-1).cells;
    const rows = [...table.tBodies].flatMap(body => [...body.rows]);
    return [...heads].map((head, index) => {
        const cells = rows.map(row => row.cells[index]).filter(cell => cell?.tagName === "TD");
        const texts = cells.map(cell => cell.textContent.trim());
        const number = /^([-−<] ?)?\d[\d.,]*( (of|±|to) [\d.,]+)*( (USD|min|s|%))?$|^–$/;
        if (!texts.some(text => /\d/.test(text))) return "";
        if (!texts.every(text => number.test(text))) return "";
        const aligned = [head, ...cells].map(cell => getComputedStyle(cell).textAlign);
        return aligned.every(align => align === "end" || align === "right")
            ? "" : `${head.textContent.trim()}: ${texts[0]}: ${aligned.slice(0, 2)}`;
    }).filter(Boolean);
})"""


def test_column_heads_are_aligned_with_their_numbers(page, researcher):
    task = factories.make_task()
    study = factories.make_study(
        researcher, task, shots=[0, 2], annotators=2, base_reward=Decimal(5)
    )
    for scenario in study.scenarios.all():
        for _ in range(2):
            factories.work_through(factories.seat(scenario))
    factories.predict(researcher, "frog", task, 2, 1)
    batches.prepare(study, researcher)
    visit(page, study)
    example = task.test_split.examples.first()
    own = [
        "", "recruit", "people", "pay", "analysis", "sensitivity", "leaderboard", "report",
        "training", "examples", f"examples/{example.pk}", "models", "preregistration",
    ]  # fmt: skip
    wrong = {}
    for address in [
        *(f"/studies/{study.name}/{each}{'/' if each else ''}" for each in own),
        "/studies/", "/models/frog/", f"/tasks/{task.name}/{task.version}/", "/planner/",
    ]:  # fmt: skip
        assert page.goto(address).status == 200, address
        if found := page.evaluate(MISALIGNED):
            wrong[address] = found
    assert wrong == {}


def test_tools_of_a_list_take_one_line_of_a_laptop(page, study):
    factories.seat(study.scenarios.get(shots=2))
    visit(page, study, "people/")
    page.set_viewport_size({"width": 1366, "height": 800})
    tools = page.locator(".list-tools")
    filters = tools.get_by_role("navigation").get_by_role("link")
    assert len({link.bounding_box()["y"] for link in filters.all()}) == 1
    edges = [
        each.evaluate("each => each.getBoundingClientRect().right")
        for each in (tools.get_by_role("link", name="CSV"), tools)
    ]
    assert edges[0] == pytest.approx(edges[1], abs=1)


# Colours of the bars ----------------------------------------------------------------------------


def light(colour: str) -> float:
    """Return the relative luminance of "rgb(r, g, b)", as WCAG defines it."""
    parts = [int(part) / 255 for part in colour.strip("rgba()").split(",")[:3]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_are_visible_and_keep_their_roles(open_browser, researcher, scheme):
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[0], annotators=2, base_reward=Decimal(5))
    factories.work_through(factories.seat(study.scenarios.get()))
    page = open_browser(color_scheme=scheme)
    visit(page, study)
    sheet = page.locator(".card").first.evaluate("e => getComputedStyle(e).backgroundColor")
    drawn = "e => [getComputedStyle(e).fill, getComputedStyle(e).stroke]"
    for bar in (".stages rect", ".pace div:last-child rect", ".money-due", ".money-open"):
        colours = page.locator(bar).first.evaluate(drawn)
        assert max(contrast(each, sheet) for each in colours if each != "none") >= 3, bar
    due, free = (
        page.locator(f".money-{name}").first.evaluate(drawn)[0] for name in ("due", "open")
    )
    assert light(due) < light(free)


# What a number means -----------------------------------------------------------------------------


def open_tip(page: Page):
    return page.locator(".tip-text:popover-open")


def meanings(page: Page, table: str):
    """Return the list below a table that explains its columns."""
    region = page.get_by_role("region", name=table)
    return region.locator("xpath=following-sibling::details[1]")


def test_a_head_explains_itself_on_hover_until_escape(page, study):
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    visit(page, study)
    page.locator("tip-word", has_text="remaining work").first.hover()
    expect(open_tip(page)).to_contain_text("the study's estimate")
    page.keyboard.press("Escape")
    expect(open_tip(page)).to_have_count(0)
    page.locator("tip-word", has_text="flagged").hover()
    expect(open_tip(page)).to_contain_text("at least one flag")
    page.mouse.move(1, 1)
    expect(open_tip(page)).to_have_count(0)


def test_a_table_has_one_tab_stop_for_all_column_meanings(page, study):
    visit(page, study, "people/")
    listed = meanings(page, "From arrival to analysis")
    meaning = listed.get_by_text("Admitted to the annotation step")
    expect(meaning).to_be_hidden()
    page.get_by_role("region", name="From arrival to analysis").focus()
    page.keyboard.press("Tab")
    expect(listed.locator("summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(meaning).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_flags_take_one_line_and_unfold_by_keyboard(open_browser, study, scripts):
    page = open_browser(java_script_enabled=scripts, viewport={"width": 1366, "height": 800})
    seat = factories.seat(study.scenarios.get(shots=2))
    factories.work_through(seat, limit=3)
    Participation.objects.filter(pk=seat.pk).update(browser="same")
    other = factories.seat(study.scenarios.get(shots=0))
    Participation.objects.filter(pk=other.pk).update(browser="same")
    visit(page, study, "people/")
    flags = page.get_by_role("row", name=seat.pseudonym).get_by_role("button")
    expect(flags).to_have_text("Too fast +1")
    assert flags.bounding_box()["height"] < 30  # a single line
    expect(open_tip(page)).to_have_count(0)
    flags.focus()
    page.keyboard.press("Enter")
    expect(open_tip(page)).to_have_text(
        "3 of 3 answers were too fast to have been read; the same browser was also used under"
        " another id"
    )
    page.keyboard.press("Escape")
    expect(open_tip(page)).to_have_count(0)


def test_a_number_explains_itself_on_hover(page, study):
    zero = study.scenarios.get(shots=0)
    for texts in (None, lambda turn: []):
        factories.work_through(factories.seat(zero), texts)
    visit(page, study)
    page.goto(f"/studies/{study.name}/human-performance/")
    page.locator("tip-word", has_text="75.0 ± 35.4").hover()
    expect(open_tip(page)).to_contain_text("over 2 annotators, ± SD over annotators, ddof 1")
    open_tip(page).hover()
    expect(open_tip(page)).to_have_count(1)
    page.mouse.move(1, 1)
    expect(open_tip(page)).to_have_count(0)


def test_a_tap_opens_the_meanings_within_the_width_of_a_phone(phone, study):
    visit(phone, study, "people/")
    listed = meanings(phone, "From arrival to analysis")
    listed.locator("summary").tap()
    for meaning in listed.locator("dd").all():
        expect(meaning).to_be_visible()
        box = meaning.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_without_javascript_a_click_opens_the_meanings(open_browser, study):
    page = open_browser(java_script_enabled=False)
    visit(page, study, "people/")
    listed = meanings(page, "From arrival to analysis")
    listed.locator("summary").click()
    expect(listed.get_by_text("Admitted to the annotation step")).to_be_visible()
