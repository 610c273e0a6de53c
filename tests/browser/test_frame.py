"""A study's overview and navigation lead to every page quickly, also by keyboard."""

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Kind
from tests import factories


@pytest.fixture
def study(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    return study


def visit(page: Page, study) -> None:
    page.goto(f"/sign-in/?next=/studies/{study.name}/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/studies/{study.name}/")


@pytest.mark.journey
def test_the_result_is_visible_and_reached_early_by_keyboard(page, study):
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, study)
    box = page.locator(".result-plot").first.bounding_box()
    assert box["y"] + box["height"] < 700
    expect(page.locator(".result-numbers td").first).to_have_text("100.0")
    inside = "() => !!document.activeElement.closest('[aria-labelledby=result-heading]')"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "Skip to content"
    stops = 0
    while not page.evaluate(inside):
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 12


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_curves_fill_their_card(page, researcher, tasks):
    made = [factories.make_task(name=f"toy-{number}") for number in range(tasks)]
    study = factories.make_study(researcher, *made, shots=[0, 2], annotators=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    page.set_viewport_size({"width": 1366, "height": 800})
    visit(page, study)
    empty = page.locator(".result").evaluate(
        """result => {
            const rights = [...result.querySelectorAll(".result-numbers")]
              .map((numbers) => numbers.getBoundingClientRect().right);
            return result.getBoundingClientRect().right - Math.max(...rights);
        }"""
    )
    assert empty < 8
    tops = page.locator(".result-plot").evaluate_all(
        "plots => plots.map((plot) => plot.getBoundingClientRect().top)"
    )
    assert len(tops) == tasks
    assert len(set(tops)) == 1
    sizes = """all => all.map((text) =>
        text.getScreenCTM().a * parseFloat(getComputedStyle(text).fontSize))"""
    numbers = page.locator(".result-plot text")
    for width in (1366, 800, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert 11 <= min(numbers.evaluate_all(sizes)) <= max(numbers.evaluate_all(sizes)) < 16
    # The legend's point is hollow, like every annotator's.
    sheet = page.locator(".card").first.evaluate("e => getComputedStyle(e).backgroundColor")
    fill = "e => getComputedStyle(e).fill"
    assert page.locator(".result-people .result-key circle").first.evaluate(fill) == sheet


def test_the_tabs_stay_visible_and_mark_the_current_page(page, study):
    page.set_viewport_size({"width": 1280, "height": 500})
    visit(page, study)
    tabs = page.get_by_role("navigation", name=study.title)
    tabs.get_by_role("link", name="Participants").click()
    page.wait_for_url("**/recruit/")
    expect(tabs.locator("[aria-current]")).to_have_text("Participants")
    pages = page.get_by_role("navigation", name="Pages of this tab")
    expect(pages.locator("[aria-current=page]")).to_have_text("Recruit")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(tabs.get_by_role("link", name="Overview")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("scripts", [True, False])
def test_add_seats_unfolds_its_section(open_browser, study, scripts):
    page = open_browser(java_script_enabled=scripts, viewport={"width": 390, "height": 800})
    visit(page, study)
    page.get_by_role("link", name="Add seats").click()
    page.wait_for_url("**/recruit/#seats")
    expect(page.get_by_label("Seats to add")).to_be_visible()
    expect(page.get_by_role("heading", name="Seats", exact=True)).to_be_in_viewport(ratio=1)
    expect(page.get_by_label("Raise the budget to")).to_be_hidden()
    page.locator("summary", has_text="Budget").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Raise the budget to")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("width", [1366, 390])
@pytest.mark.parametrize("path", ["/nothing/", "/sign-in/"])
def test_a_sheet_begins_at_the_edge_of_the_header(open_browser, path, width):
    page = open_browser(viewport={"width": width, "height": 800}, tolerate="status of 404")
    page.goto(path)
    left = """e => Math.round(
        e.getBoundingClientRect().left + parseFloat(getComputedStyle(e).paddingLeft))"""
    edges = {page.locator(part).first.evaluate(left) for part in (".brand", "main h1")}
    assert max(edges) - min(edges) <= 8


def test_a_phone_shows_the_main_columns_of_lists(phone, study):
    visit(phone, study)
    for path, names in (
        (f"/studies/{study.name}/people/", ("Annotator", "Scenario", "Status")),
        ("/studies/", ("Study", "Status", "Completed")),
    ):
        phone.goto(path)
        for name in names:
            heading = phone.locator(".list thead").get_by_text(name, exact=True)
            heading.scroll_into_view_if_needed()
            box = heading.bounding_box()
            assert box["x"] + box["width"] <= 390, (path, name)
        assert phone.locator(".overflow-auto").first.evaluate("box => box.scrollLeft") == 0


def test_keys_open_the_search_and_lead_to_the_tabs(page, study):
    visit(page, study)
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/human-performance/")
    page.keyboard.press("/")
    window = page.get_by_role("dialog")
    expect(window.get_by_role("textbox")).to_be_focused()
    page.keyboard.type(study.participations.first().pseudonym)  # not shortcuts here
    window.get_by_role("link", name="Annotator").click()
    page.wait_for_url("**/annotators/*/")
    page.keyboard.press("?")
    window.get_by_label("Enable shortcuts without Ctrl").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(window).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(window).to_be_visible()


def test_times_are_in_the_browsers_zone_once_it_is_chosen(open_browser, study):
    page = open_browser(timezone_id="Asia/Tokyo")
    visit(page, study)
    page.goto("/account/")
    page.get_by_role("button", name="Use this browser's time zone: Asia/Tokyo").click()
    expect(page.get_by_label("Time zone")).to_be_focused()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Asia/Tokyo")
    page.goto(f"/studies/{study.name}/people/")
    expect(page.locator("td time").first).to_contain_text("JST")


def test_on_a_phone_the_tabs_scroll_inside_their_row(open_browser, study):
    page = open_browser(viewport={"width": 320, "height": 640})
    visit(page, study)
    tabs = page.get_by_role("navigation", name=study.title)
    tabs.get_by_role("link", name="Settings").click()
    page.wait_for_url("**/settings/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    expect(tabs.locator("[aria-current]")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_long_title_does_not_hide_the_columns_of_studies(page, researcher):
    long = factories.make_study(
        researcher, factories.make_task(), title="x" * 120, name="y" * 60, shots=[0]
    )
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, long)
    page.goto("/studies/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    cells = page.locator("main table thead th")
    rights = cells.evaluate_all("all => all.map((cell) => cell.getBoundingClientRect().right)")
    assert max(rights) <= 1280


def test_all_columns_of_annotators_fit_on_a_laptop(page, researcher):
    task = factories.make_task(name="demo-entities", shots=[10])
    study = factories.make_study(researcher, task, shots=[0, 10], annotators=2)
    for kind, shots in ((Kind.PERSON, 0), (Kind.SIMULATED, 10)):
        factories.work_through(factories.seat(study.scenarios.get(shots=shots), kind=kind))
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, study)
    page.goto(f"/studies/{study.name}/people/")
    table = page.get_by_role("region", name="Annotator list")
    expect(table).to_contain_text("simulated")
    assert table.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_scores_of_four_tasks_and_models_fit_on_a_laptop(page, researcher):
    families = ("classification", "sequence_labelling", "reading_comprehension")
    tasks = [
        factories.make_task(name=f"demo-{name}", family=family, shots=[2])
        for name, family in zip(("inference", "entities", "questions"), families, strict=True)
    ]
    tasks.append(factories.make_task(name="demo-sentiment", family="classification", shots=[2]))
    study = factories.make_study(researcher, *tasks, shots=[2], annotators=2)
    for scenario in study.scenarios.all():
        for _annotator in range(2):
            factories.work_through(factories.seat(scenario))
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, study)
    page.goto(f"/studies/{study.name}/models/")
    table = page.get_by_role("region", name="humans and models by task").first
    expect(table).to_contain_text("100.0")
    assert table.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_names_of_compared_studies_are_next_to_their_titles(page, study):
    visit(page, study)
    page.goto(f"/compare/?study={study.name}")
    label = page.locator("fieldset label").first
    name, box = label.locator("small").bounding_box(), label.locator("input").bounding_box()
    assert abs(name["y"] - box["y"]) < 4
    expect(page.get_by_text("To compare designs, select at least two studies.")).to_be_visible()


def test_a_printed_report_has_no_site_header(page, study):
    visit(page, study)
    page.goto(f"/studies/{study.name}/report/")
    expect(page.locator("header.site-header")).to_be_visible()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 673, "height": 970})  # A4 without its margins
    expect(page.locator("header.site-header")).to_be_hidden()
    expect(page.locator("nav.tabs")).to_be_hidden()


def test_a_printed_report_looks_like_a_paper(page, study):
    """Booktabs rules, figures as wide as the column, and nothing that is wider than the paper."""
    for scenario in study.scenarios.all():  # so that contrasts have a table of many columns
        factories.work_through(factories.seat(scenario), lambda turn: [])
    visit(page, study)
    page.goto(f"/studies/{study.name}/report/")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 673, "height": 970})  # A4 without its margins
    assert page.locator("main table:has(thead th:nth-child(10))").count()
    assert page.evaluate("document.documentElement.scrollWidth") <= 673
    rules = page.locator("main table").evaluate_all(
        """tables => tables.map((table) => {
          const width = (part, edge) =>
            part ? getComputedStyle(part)[`border${edge}Width`] : "0px";
          const head = table.querySelector("thead tr:last-child th");
          const cells = [...table.querySelectorAll("tbody :is(th, td)")];
          return [width(table, "Top"), width(head, "Bottom"), width(table, "Bottom"),
            cells.every((cell) => ["Top", "Right", "Bottom", "Left"].every(
              (edge) => width(cell, edge) === "0px")),
            cells.every((cell) => ["rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"].includes(
              getComputedStyle(cell).backgroundColor))];
        })"""
    )
    assert {tuple(rule) for rule in rules} == {("2px", "1px", "2px", True, True)}
    picture = page.locator(".doc-figure img").first
    assert abs(picture.evaluate("picture => picture.getBoundingClientRect().width") - 648) < 1
    title = page.locator("h1")
    assert title.evaluate("title => getComputedStyle(title).textAlign") == "center"


def test_a_report_loads_its_pictures_later_and_prints_whole(page, study):
    factories.work_through(factories.seat(study.scenarios.first()))
    visit(page, study)
    page.goto(f"/studies/{study.name}/report/", wait_until="domcontentloaded")
    pictures = page.locator(".doc-figure img")
    assert pictures.count()
    # The pictures load in turn after the page, without scrolling.
    for picture in pictures.all():
        expect(picture).to_have_js_property("complete", value=True, timeout=60_000)
        assert picture.evaluate("picture => picture.naturalWidth") > 0
        assert picture.evaluate("picture => picture.loading") == "eager"


EDGES = "all => all.map((each) => Math.round(each.getBoundingClientRect().left))"


def test_the_rows_of_annotators_begin_on_one_edge_and_take_one_line(page, study):
    working = factories.seat(study.scenarios.get(shots=0))  # a row without a check box
    page.set_viewport_size({"width": 1366, "height": 800})
    visit(page, study)
    page.goto(f"/studies/{study.name}/people/")
    names = page.locator(".table-people tbody th a")
    assert names.count() == 3
    assert len(set(names.evaluate_all(EDGES))) == 1
    row = page.get_by_role("row", name=working.pseudonym)
    assert row.locator(".list-time").last.bounding_box()["height"] < 45
    kind = page.get_by_role("columnheader", name="Kind")
    expect(kind).to_be_hidden()  # hidden, because all are people
    factories.seat(study.scenarios.get(shots=2), kind="simulated")
    page.reload()
    expect(kind).to_be_visible()


def test_the_parts_of_a_page_begin_on_one_edge(page, study, researcher):
    task = factories.make_task(name="own", by=researcher)
    visit(page, study)
    page.goto("/account/")
    assert len(set(page.locator("main > .sheet").evaluate_all(EDGES))) == 1
    page.goto(f"/tasks/{task.name}/{task.version}/?show=edit")
    assert len(set(page.locator("main > :is(h1, form)").evaluate_all(EDGES))) == 1


def test_the_menu_of_a_table_is_on_the_line_of_its_heading(page, study):
    visit(page, study)
    page.goto(f"/studies/{study.name}/analysis/")
    middle = "each => { const r = each.getBoundingClientRect(); return (r.top + r.bottom) / 2 }"
    heading = page.get_by_role("heading", name="Agreement")
    menu = page.locator("h2:has-text('Agreement') + .export summary")
    assert heading.evaluate(middle) == pytest.approx(menu.evaluate(middle), abs=2)


def test_a_long_name_does_not_widen_the_form_of_a_study_on_a_phone(open_browser, researcher):
    task = factories.make_task()
    study = factories.make_study(researcher, task, name="long-" * 10 + "name", shots=[0])
    page = open_browser(viewport={"width": 390, "height": 844})
    visit(page, study)
    page.goto("/new-study/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_error_page_has_the_header_of_other_pages(open_browser, study):
    page = open_browser(tolerate="404")
    visit(page, study)
    links = page.locator("header.site-header > nav a")
    looks = """all => all.map((each) => {
        const style = getComputedStyle(each), box = each.getBoundingClientRect()
        return [style.color, style.textDecorationLine, Math.round(box.left / 40)]
    })"""
    page.goto("/studies/")
    usual = links.evaluate_all(looks)
    page.goto("/studies/nowhere/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    assert [look[:2] for look in links.evaluate_all(looks)[1:]] == [look[:2] for look in usual[1:]]
    brand = page.locator("header .brand").bounding_box()
    assert links.first.bounding_box()["x"] - brand["x"] - brand["width"] < 40


def test_the_menu_of_a_table_does_not_cover_its_heading_on_a_phone(phone, study):
    visit(phone, study)
    phone.goto(f"/studies/{study.name}/analysis/")
    # A long heading wraps before the menu.
    below = """all => all.filter((menu) => {
        const words = document.createRange();
        words.selectNodeContents(menu.previousElementSibling);
        const box = menu.querySelector("summary").getBoundingClientRect();
        return [...words.getClientRects()].some((line) =>
            line.right > box.left && line.bottom > box.top && line.top < box.bottom);
    }).map((menu) => menu.previousElementSibling.innerText)"""
    menus = phone.locator("h2 + .export")
    assert menus.count() > 2
    assert menus.evaluate_all(below) == []


def test_on_a_phone_a_shadow_says_that_more_columns_follow(phone, study):
    visit(phone, study)
    phone.goto(f"/studies/{study.name}/people/")
    table = phone.locator(".overflow-auto").first
    assert table.evaluate("box => box.scrollWidth > box.clientWidth")
    # The cover scrolls with the columns, but the shadow below it doesn't.
    style = "box => getComputedStyle(box).backgroundAttachment"
    assert table.evaluate(style) == "local, scroll"
    assert phone.locator("nav.tabs").evaluate(style) == "local, scroll"
    cell = table.locator("tbody td").last
    assert cell.evaluate("cell => getComputedStyle(cell).backgroundColor") == "rgba(0, 0, 0, 0)"


def test_links_are_high_enough_for_a_finger(phone, study):
    visit(phone, study)
    heights = "all => all.map((each) => each.getBoundingClientRect().height)"
    links = ".breadcrumb a, .site-header nav a, .list-tools a, .views a, .card > header a"
    for path in ("", "people/", "human-performance/"):
        phone.goto(f"/studies/{study.name}/{path}")
        assert min(phone.locator(links).evaluate_all(heights)) >= 44, path


def test_text_has_lines_that_the_eye_can_follow(page, study):
    page.set_viewport_size({"width": 1366, "height": 800})
    visit(page, study)
    widths = "all => all.map((each) => each.getBoundingClientRect().width)"
    for path in ("analysis/", "settings/", "release/"):
        page.goto(f"/studies/{study.name}/{path}")
        assert max(page.locator("main p").evaluate_all(widths)) < 750, path


def test_the_head_of_several_columns_is_in_their_middle(page, study, researcher):
    tasks = [factories.make_task(name=f"toy-{number}") for number in range(2)]
    pair = factories.make_study(researcher, *tasks, name="pair", shots=[0], annotators=1)
    for scenario in pair.scenarios.all():
        factories.work_through(factories.seat(scenario))
    visit(page, pair)
    page.goto(f"/studies/{pair.name}/human-performance/")
    head = page.locator("th[scope=colgroup]").first
    assert head.get_attribute("colspan") == "2"
    assert head.evaluate("head => getComputedStyle(head).textAlign") == "center"


def test_the_title_above_the_overview_does_not_link_to_it(page, study):
    visit(page, study)
    above = page.get_by_role("navigation", name="Study", exact=True)
    expect(above.get_by_role("listitem").last).to_have_text(study.title)
    expect(above.get_by_role("link")).to_have_text(["Studies"])
    page.goto(f"/studies/{study.name}/people/")
    above.get_by_role("link", name=study.title).click()
    page.wait_for_url(f"**/studies/{study.name}/")


def test_help_is_text_on_the_page_with_the_name_of_its_menu(page, study):
    visit(page, study)
    page.get_by_role("link", name="Help").click()
    page.goto("/help/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Help")
    expect(page.locator("main a").first).to_have_text("tutorial")
    article = page.locator("main > article")
    assert article.evaluate("each => getComputedStyle(each).boxShadow") == "none"
