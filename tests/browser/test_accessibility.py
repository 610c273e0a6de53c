"""Automated checks of WCAG 2.2 AA on annotators' pages and the pages of models."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.files.uploadedfile import SimpleUploadedFile
from playwright.sync_api import Error, expect

from analysis.scores import findings
from annotation.models import Panel, Participation, Study
from annotation.pay import ledger
from annotation.payout import batches
from annotation.privacy import withdrawal
from annotation.prolific import drafts
from annotation.protocol import qualification
from annotation.recruitment import consent as consent_step
from annotation.recruitment.links import make_links
from annotation.study import lifecycle
from tasks import jobs, upload_jobs, uploads
from tasks.models import Job, TaskMember, TaskUpload
from tasks.predictions import store as prediction_store
from tasks.predictions import upload_job as prediction_upload
from tests import factories
from tests.annotation.study.test_cross_task import make_cross_task
from tests.browser.conftest import Desk, answer_within, await_reveal, settle
from tests.browser.test_sending import FAILURES
from tests.tasks.test_importing import card_text, line

AXE = Axe().axe_script
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
LONG = "Yesterday Rodrigo Duterte met Mary in Mar-a-Lago and sang for Lothar de Maizière. " * 8


def consenting(researcher, **card) -> Participation:
    """Seat a participant who has not consented yet."""
    task = factories.make_task(**card)
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    return factories.join(study)


def decided_on(researcher) -> Participation:
    """Seat a participant who waits for a decision after the training step."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher"
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    return seat


def signed_in(page, path: str) -> None:
    """Sign in as the researcher and open that page."""
    page.goto(f"/sign-in/?next={path}")
    page.get_by_label("Name", exact=True).fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.locator("main form button").click()
    page.wait_for_url(f"**{path}")


def compared(researcher) -> Study:
    """Create a study with two annotators and a model on two splits, with different answers."""
    task = factories.make_task(splits=5)
    study = factories.make_study(researcher, task, shots=[2], annotators=2)
    for texts in (None, lambda turn: []):
        factories.work_through(factories.seat(study.scenarios.get()), texts)
    for number in (1, 2):
        factories.predict(researcher, "toy", task, 2, number, lambda _example: [LONG])
    return study


@pytest.fixture
def states(researcher, put):
    """Map each state of the annotator's pages to a function that opens it."""

    def landing(page):
        study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
        page.goto(f"/join/{study.link_code}/")

    def full(page):
        study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
        factories.join(study)
        page.goto(f"/join/{study.link_code}/")

    def consent(page):
        page.goto(f"/work/{consenting(researcher).token}/")

    def instructions(page):
        seat = consenting(researcher, labels=factories.LABELS)
        consent_step.record(seat, agree=True)
        page.goto(f"/work/{seat.token}/")
        page.locator("details[data-window] summary").first.click()

    def declined(page):
        seat = consenting(researcher)
        consent_step.record(seat, agree=False)
        page.goto("/declined/")

    def expired(page):
        seat = put(LONG, gold=["Mary"])
        Participation.objects.filter(pk=seat.pk).update(status="expired", seat_number=None)
        page.goto(f"/work/{seat.token}/")

    def withdraw(page):
        page.goto(f"/work/{put(LONG, gold=['Mary']).token}/withdraw/")

    def withdrawn(page):
        seat = put(LONG, gold=["Mary"])
        withdrawal.withdraw(seat.token)
        page.goto(f"/work/{seat.token}/")

    def finished(page):
        seat = put("Home.", train=False)
        factories.work_through(seat)
        page.goto(f"/work/{seat.token}/")

    def questioned(page):
        asked = "How often can you change an answer?\n- Always\n* Never"
        study = factories.make_study(
            researcher, factories.make_task(), shots=[2], comprehension_questions=asked
        )
        seat = factories.join(study)
        consent_step.record(seat, agree=True)
        page.goto(f"/work/{seat.token}/")
        page.get_by_label("Always").check()
        page.get_by_role("button", name="Check my answers").click()
        page.wait_for_selector("[role=alert], .error")

    def waiting(page):
        page.goto(f"/work/{decided_on(researcher).token}/")

    def screened_out(page):
        seat = decided_on(researcher)
        qualification.decide(seat.token, False, "too low")
        page.goto(f"/work/{seat.token}/")

    def between(page):
        seat = decided_on(researcher)
        Participation.objects.filter(pk=seat.pk).update(status="between")
        page.goto(f"/work/{seat.token}/")

    def asked_at_the_end(page):
        study = factories.make_study(
            researcher, factories.make_task(), shots=[0], exit_questionnaire=True
        )
        seat = factories.seat(study.scenarios.get())
        factories.work_through(seat)
        page.goto(f"/work/{seat.token}/")

    def not_admitted(page):
        panel = Panel.objects.create(
            study=factories.make_study(researcher, factories.make_task(), shots=[0]),
            name="SONA",
            id_parameter="id",
        )
        page.goto(f"/join/{panel.code}/")

    def nowhere(page):
        page.goto("/work/nobody/")

    def spans(page):
        Desk(page, put(LONG, gold=["Mary"]))

    def spans_at_work(page):
        one = Desk(page, put(LONG, gold=["Mary"]))
        one.word("Lothar").dblclick()
        one.word("Mary").dblclick()
        page.get_by_text("Type the answer instead").click()
        one.word("Rodrigo").click()
        page.keyboard.press("Shift+ArrowRight")
        one.submit()
        expect(page.locator("[data-error]")).to_contain_text("Finish or cancel")

    def spans_in_question(page):
        Desk(page, put(LONG, gold=["places"], question_selectable=True))

    def revealed(page):
        one = Desk(page, put(LONG, gold=["Mary", "Rodrigo Duterte", "Lothar"]))
        for word in ("Mary", "Rodrigo", "sang"):
            one.word(word).dblclick()
        one.reveal()

    def revealed_empty(page):
        one = Desk(page, put(LONG, gold=["Mary"]))
        page.locator("[name=no_answer]").check()
        one.reveal()

    def labels(page):
        one = Desk(page, put("It was good.", gold=["positive"], labels=factories.LABELS))
        one.submit()

    def revealed_label(page):
        one = Desk(page, put("It was good.", gold=["positive"], labels=factories.LABELS))
        page.get_by_label("negative").check()
        one.reveal()

    def annotation_step(page):
        seat = put(LONG, gold=["Mary"])
        factories.work_through(seat, limit=1)
        factories.go_on(seat.token)
        Desk(page, seat)

    def right_to_left(page):
        Desk(page, put("היא נסעה לירושלים", gold=["לירושלים"], language="he", direction="rtl"))

    def models(page):
        compared(researcher)
        signed_in(page, "/models/")

    def models_refused(page):
        compared(researcher)
        signed_in(page, "/models/")
        page.get_by_label("Name of the model").fill("a/b")
        page.get_by_text("Describe the model (optional)").click()
        page.get_by_label("Shots").fill("2")
        page.get_by_role("button", name="Score and store").click()
        page.wait_for_selector("[role=alert]")

    def model(page):
        compared(researcher)
        signed_in(page, "/models/toy/")
        page.locator("td details summary").first.click()

    def study_models(page):
        signed_in(page, f"/studies/{compared(researcher).name}/models/")
        for summary in page.locator("main details summary").all():
            summary.click()

    return {name: go for name, go in locals().items() if callable(go) and name != "put"}


ALL = [
    "landing", "full", "consent", "instructions", "declined", "finished", "nowhere", "spans",
    "spans_at_work", "spans_in_question", "revealed", "revealed_empty", "labels", "revealed_label",
    "questioned", "waiting", "screened_out", "between", "asked_at_the_end", "not_admitted",
    "annotation_step", "right_to_left", "expired", "withdraw", "withdrawn",
    "models", "models_refused", "model", "study_models",
]  # fmt: skip


def test_the_list_of_states_is_complete(states):
    assert sorted(states) == sorted(ALL)


def violations(page, options=RULES) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    # Request only violations, because passes are most of axe's results and slow to transfer.
    found = answer_within(
        page,
        "options => axe.run(document, options).then(found => found.violations)",
        options | {"resultTypes": ["violations"]},
    )
    return [
        f"{one['id']}: {one['help']}\n  {node['html'][:200]}\n  {node['failureSummary']}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.journey
def test_control_axe_finds_violations(page):
    page.set_content("<main><img src='data:,'><p style='color: #eee'>Pale.</p></main>")
    assert {one.split(":")[0] for one in violations(page)} >= {"image-alt", "color-contrast"}
    assert {one.split(":")[0] for one in violations(page, COLOURS)} == {"color-contrast"}


def test_undrawn_elements_do_not_block_the_wait_for_animations(page):
    """Chromium never ends the transitions of elements in a closed `<details>`."""
    page.set_content(
        "<style>input { transition: color 1s } .on { color: red }</style>"
        "<details><summary>More</summary><input></details>"
        "<p style='animation: turn 1s infinite'>Busy.</p>"
        "<style>@keyframes turn { to { opacity: 0.5 } }</style>"
    )
    page.evaluate(
        "() => { const e = document.querySelector('input'); getComputedStyle(e).color;"
        " e.className = 'on'; getComputedStyle(e).color; }"
    )
    settle(page)
    assert page.evaluate("document.getAnimations().length") == 0
    with pytest.raises(Error, match="no answer within 1 s"):
        answer_within(page, "() => new Promise(() => {})", seconds=1)


# Makes the bars at the lower edge scroll with the page.
RELEASE = """() => [...document.querySelectorAll("main *")].forEach((element) => {
  const { position, bottom } = getComputedStyle(element);
  if (position === "sticky" && bottom !== "auto") element.style.position = "static";
})"""


def is_accessible(page, place: str) -> None:
    """Check the page in light and dark mode, on a desktop and on the narrowest phone."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 800})
            # Otherwise, axe would report targets under a bar as obscured.
            page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
            page.evaluate(RELEASE)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
            # In dark mode, check only colours, because nothing else changes.
            rules = RULES if scheme == "light" else COLOURS
            assert violations(page, rules) == [], f"{place}, {scheme}, {width} px"


@pytest.mark.parametrize("state", ALL)
def test_axe_finds_nothing_and_no_sideways_scroll_at_320_px(open_browser, states, state):
    page = open_browser(tolerate="status of 40[34]")
    states[state](page)
    is_accessible(page, state)


def uploaded(researcher, **changes: str) -> TaskUpload:
    """Upload and check files of a task, which then need a confirmation or a fix."""
    contents = {"task.toml": card_text(), "toy_test.jsonl": line(), **changes}
    upload = TaskUpload.objects.create(owner=researcher)
    made = [SimpleUploadedFile(name, text.encode()) for name, text in contents.items()]
    uploads.add(upload, made)
    upload_jobs.start_check(upload, researcher)
    while upload.job and not (upload.job.is_done or upload.job.has_failed):
        jobs.advance(upload.job)
    return upload


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(3))
def test_axe_finds_nothing_on_the_researchers_pages(page, researcher, settings, tmp_path, part):
    """The pages are split into three parts, which can run in parallel."""
    settings.VAR_DIR = tmp_path
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    factories.make_study(researcher, task, name="a-draft", status="draft")
    panel = Panel.objects.create(study=study, name="SONA", id_parameter="id")
    ledger.add_bonus(study.participations.first(), 150, "thanks", researcher)
    batches.prepare(study, researcher)
    drafts.plan(study, 1, researcher)
    waiting = decided_on(researcher)
    predicted = factories.prediction_lines(task)
    upload = prediction_store.PredictionUpload("toy_0.jsonl", predicted, task, 0, None)
    scored = prediction_upload.begin("large", [upload], researcher)
    jobs.advance(scored)
    page.goto("/sign-in/")
    assert violations(page) == []
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("right horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/studies/")
    TaskMember.objects.create(task_name=task.name, user=researcher)  # to edit the card
    addresses = [
        "/studies/", f"/studies/{study.name}/", f"/studies/{study.name}/human-performance/",
        f"/studies/{study.name}/figures/", f"/studies/{study.name}/sensitivity/", "/planner/",
        "/planner/?half_width=0", "/studies/a-draft/figures/",
        f"/studies/{study.name}/training/", f"/studies/{study.name}/analysis/",
        f"/studies/{study.name}/settings/", f"/studies/{study.name}/pay/",
        f"/studies/{study.name}/preregistration/", f"/studies/{study.name}/report/",
        "/studies/a-draft/preregistration/", "/studies/a-draft/report/",
        f"/studies/{study.name}/links/", f"/studies/{study.name}/examples/",
        f"/studies/{study.name}/examples/{task.test_split.examples.last().pk}/",
        f"/studies/{study.name}/gold-audit/",
        f"/studies/{study.name}/annotators/{study.participations.last().pseudonym}/",
        "/studies/a-draft/", "/studies/a-draft/design/", f"/studies/{study.name}/people/",
        f"/studies/{study.name}/recruit/", f"/studies/{study.name}/design/",
        f"/studies/{study.name}/pay/", f"/studies/{study.name}/platforms/",
        f"/studies/{study.name}/recruit/?show=platforms&panel={panel.pk}",
        f"/studies/{study.name}/people/?show=flagged", f"/studies/{waiting.study.name}/",
        f"/studies/{waiting.study.name}/annotators/{waiting.pseudonym}/",
        f"/studies/{study.name}/release/", f"/models/uploads/{scored.pk}/",
        "/new-study/", "/tasks/", f"/tasks/{task.name}/{task.version}/", "/tasks/add/",
        f"/tasks/{task.name}/1/?show=examples", f"/tasks/{task.name}/1/?show=edit",
        "/password/",
    ]  # fmt: skip
    ready = uploaded(researcher)
    invalid = uploaded(researcher, **{"toy_train_9_1.jsonl": "{", "notes.txt": "x"})
    broken = uploaded(researcher)
    Job.objects.filter(pk=broken.job_id).update(state="failed", done=1, error="It broke.")
    waiting = factories.make_study(researcher, task, name="waiting", shots=[0])
    factories.work_through(factories.seat(waiting.scenarios.get()))
    while not (job := findings.job_of(study, "person", researcher)).is_done:
        jobs.advance(job)
    page.context.route(re.compile("/run/"), lambda route: route.fulfill(status=204))
    addresses += [f"/tasks/import/{one.pk}/" for one in (ready, invalid, broken)]
    addresses += [f"/tasks/import/{ready.pk}/preview/1/", "/studies/waiting/analysis/"]
    for address in addresses[part::3]:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        page.eval_on_selector_all(".design-part", "parts => parts.map(part => part.open = true)")
        is_accessible(page, address)


@pytest.mark.timeout(600)
def test_axe_finds_nothing_on_searches_comparisons_and_payments(page, researcher):
    study, crossed = compared(researcher), make_cross_task(researcher)
    lifecycle.change_status(crossed, "open")
    for scenario in crossed.scenarios.all():
        factories.work_through(factories.seat(scenario))
    make_links(study, "Ida")
    name, seat = study.name, study.participations.first()
    signed_in(page, "/studies/")
    for address in (
        "/search/", f"/search/?q={seat.pseudonym}", "/search/?q=nothing-like-this",
        "/models/toy/", f"/studies/{name}/models/?show=differences",
        f"/studies/{name}/models/?show=overlap",
        f"/studies/{crossed.name}/analysis/?show=cross_task",
        f"/studies/{name}/recruit/?show=links", f"/studies/{name}/human-performance/?kind=person",
        f"/studies/{name}/pay/?q=nothing-like-this", f"/studies/{name}/people/?sort=-mean_s1",
    ):  # fmt: skip
        page.goto(address)
        page.wait_for_load_state("networkidle")
        folded = "main details:not(.export)"
        page.eval_on_selector_all(folded, "parts => parts.map(part => part.open = true)")
        is_accessible(page, address)
    page.locator("input[name=annotators]").first.check()
    page.get_by_label("Reason").fill("asked by mail")
    page.get_by_role("button", name="Withdraw on request").click()
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    is_accessible(page, "people, to confirm")


@pytest.mark.parametrize("state", ["spans_at_work", "revealed", "labels"])
def test_nothing_scrolls_sideways_at_200_percent(open_browser, states, state):
    # Zooming to 200 % halves the width in CSS pixels and doubles the device pixels of each.
    page = open_browser(viewport={"width": 640, "height": 400}, device_scale_factor=2)
    states[state](page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


@pytest.mark.parametrize(("width", "height"), [(320, 480), (640, 400), (1280, 600)])
def test_the_focused_word_is_never_covered(open_browser, put, width, height):
    page = open_browser(viewport={"width": width, "height": height})
    Desk(page, put(LONG * 3, gold=["Mary"]))
    page.locator("#question").focus()
    page.keyboard.press("Tab")
    hidden = """() => { const r = document.activeElement.getClientRects()[0];
        const at = document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
        return document.activeElement.contains(at) ? "" : document.activeElement.innerText; }"""
    for key in ["ArrowDown"] * 25 + ["ArrowUp"] * 25:
        page.keyboard.press(key)
        assert page.evaluate(hidden) == ""


def test_highlights_are_seen_in_forced_colors(open_browser, put):
    page = open_browser(forced_colors="active")
    one = Desk(page, put("Off to Lago and Rome.", gold=["Lago"]))
    word = one.word("Lago")
    before = word.screenshot()
    word.dblclick()
    page.locator("#question").focus()
    page.mouse.move(1, 1)
    assert word.screenshot() != before


def test_changes_of_highlights_are_announced(page, put):
    one = Desk(page, put("Off to Lago and Rome.", gold=["Lago"]))
    said = page.locator("[data-live]")
    one.word("Lago").dblclick()
    expect(said).to_contain_text("Lago")
    page.keyboard.press("Control+z")
    expect(said).to_contain_text("Undone")
    assert page.locator("[data-text]").get_attribute("role") == "listbox"
    one.word("Rome").dblclick()
    assert one.word("Rome").get_attribute("aria-selected") == "true"
    assert one.word("Lago").get_attribute("aria-selected") == "false"


def told(node, name: str) -> str:
    return node.get(name, {}).get("value", "")


class Speech:
    """What a screen reader would say, from the changes of Chromium's accessibility tree."""

    def __init__(self, page):
        self.page, self.tools = page, page.context.new_cdp_session(page)
        self.focused, self.live = self.look()

    def tree(self):
        """Return the tree's nodes, and a function that returns the text below a node."""
        nodes = self.tools.send("Accessibility.getFullAXTree")["nodes"]
        by_id = {node["nodeId"]: node for node in nodes}

        def text(node):
            if told(node, "role") == "StaticText":
                return told(node, "name").strip()
            below = (by_id[child] for child in node.get("childIds", ()) if child in by_id)
            return " ".join(filter(None, map(text, below)))

        return nodes, text

    def read(self, role: str) -> list[str]:
        nodes, text = self.tree()
        return [text(node) for node in nodes if told(node, "role") == role and not node["ignored"]]

    def look(self) -> tuple[str, list[str]]:
        """Return a description of the focused element, and the texts of live regions."""
        nodes, text = self.tree()

        def states(node):
            return {one["name"]: one["value"].get("value") for one in node.get("properties", [])}

        focused = [n for n in nodes if states(n).get("focused")][-1]
        words = [told(focused, what) for what in ("role", "name", "description")]
        words += ["selected"] * bool(states(focused).get("selected"))
        words += ["checked"] * (states(focused).get("checked") == "true")
        live = [n for n in nodes if states(n).get("live") and not n["ignored"]]
        return ", ".join(filter(None, words)), [text(node) for node in live]

    def after(self, *keys: str) -> str:
        """Press the keys; return the new focus and the new texts of live regions."""
        for key in keys:
            self.page.keyboard.press(key)
        self.page.wait_for_timeout(300)  # live regions change in the next frame
        before, (self.focused, self.live) = (self.focused, self.live), self.look()
        said = [self.focused] * (self.focused != before[0])
        return " | ".join([*said, *(one for one in self.live if one and one not in before[1])])


@pytest.mark.long
def test_a_training_example_is_spoken_from_question_to_next(page, put):
    one = Desk(page, put("Rodrigo Duterte met Mary.", "Rome.", gold=["Rodrigo Duterte", "Mary"]))
    page.locator("h1[data-focus]").focus()
    page.wait_for_timeout(700)  # just after a swap, Enter says nothing
    speech = Speech(page)
    assert speech.focused == "heading, Which places?"
    assert "Highlight at least one answer, or choose “No answer”." in speech.after("Enter")
    assert speech.after("r").startswith("option, Rodrigo")
    assert "Selecting “Rodrigo Duterte”." in speech.after("Shift+ArrowRight")
    highlighted = speech.after("Enter")
    assert "option, Duterte" in speech.focused
    assert "selected" in speech.focused
    assert "Highlighted “Rodrigo Duterte”. 1 in total." in highlighted
    page.keyboard.press("Enter")
    await_reveal(page)
    speech.after()
    spoken = " ".join(speech.focused.split())
    assert spoken == "heading, Partly right, The right answer: Rodrigo Duterte , Mary"
    assert not any(speech.live)  # the verdict is not spoken twice
    assert speech.read("mark") == ["[right: Rodrigo Duterte ]", "[missed: Mary ]"]
    assert speech.read("listitem") == ["“ Rodrigo Duterte ” is right.", "You missed “ Mary ” ."]
    one.go_on()
    assert speech.after() == "heading, Which places?"


@pytest.mark.long
def test_a_label_is_spoken_from_question_to_next(page, put):
    one = Desk(page, put("Good.", "Bad.", gold=["negative"], labels=factories.LABELS))
    page.locator("h1[data-focus]").focus()
    page.wait_for_timeout(700)  # just after a swap, Enter says nothing
    speech = Speech(page)
    assert speech.after("2") == "negative The writer dislikes it."
    assert speech.after("Tab") == "radio, negative The writer dislikes it., checked"
    assert speech.after("ArrowUp") == "radio, positive The writer likes it., checked"
    assert speech.after("Tab") == "button, Submit"
    page.keyboard.press("Enter")
    await_reveal(page)
    speech.after()
    assert speech.focused == "heading, Not right, The right answer: negative"
    assert not any(speech.live)
    one.go_on()
    assert speech.after() == "heading, Which places?"


@pytest.mark.long
def test_no_answer_and_a_lost_connection_are_spoken(open_browser, put):
    page = open_browser(tolerate=FAILURES)
    Desk(page, put("Rome.", "Oslo.", gold=["Rome"]))
    page.locator("h1[data-focus]").focus()
    page.wait_for_timeout(700)  # just after a swap, Enter says nothing
    speech = Speech(page)
    assert speech.after("0") == "checkbox, No answer in the text, checked | “No answer” chosen."
    page.context.set_offline(True)
    page.keyboard.press("0")
    expect(page.locator("[data-sending]")).to_contain_text("Trying again")
    # The seconds are visible, but not spoken one by one.
    reassurance = "No connection. Your answer is safe on this page."
    assert speech.after() == f"button, Try now | {reassurance} Try now"
    page.context.set_offline(False)
    await_reveal(page)
    speech.after()
    assert speech.focused == "heading, Not right, The right answer: Rome"
    assert not any(speech.live)
