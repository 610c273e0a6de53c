"""The effort of an answer: keys, clicks and the way of the pointer, in a real Chromium.

`python benchmarks/hands.py` answers 40 published test examples of each task rightly, by keys, by
mouse and by touch, in the training step, so that a reveal and Continue follow each; labels also in
an annotation step where a choice is the answer. An answer that could not be given exactly is
counted. Seconds are those of the keystroke-level model (Card, Moran and Newell): a key 0.2,
pointing 1.1, a click 0.2, no time to think; nothing is timed, and the page's clock is put on past
the time in which Continue waits. At the end each target is reached or missed, with its figures.
Needs the published files (HANDFUL_SHARED) and Chromium; the database is a temporary SQLite file.
"""

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.effort import CLICK, HEAD, IMPOSSIBLE, KEY, POINTING, Effort, line, targets  # noqa: E402
from benchmarks.run import SHARED, served  # noqa: E402

TASKS = ("SST-2", "MNLI", "CoNLL03", "WikiANN", "SQuADv2", "ReCoRD")
LABELLED = ("SST-2", "MNLI")
SWIPE = 0.6  # of the window's height, by one swipe
NOT_READY = 700  # ms, more than Submit and Continue wait after a swap
WINDOWS = {
    "keys": {"viewport": {"width": 1366, "height": 657}},
    "mouse": {"viewport": {"width": 1366, "height": 657}},
    "touch": {
        "viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True,
    },
    "advance": {"viewport": {"width": 1366, "height": 657}},
}  # fmt: skip
# Where what is clicked stands: the middle of the first and of the last token of each wanted span.
PLACES = """(spans) => spans.map(([from, to]) => {
    const box = document.querySelector("[data-field=context]");
    const token = (selector) => box.querySelector(selector);
    const [a, z] = [token(`[data-s="${from}"]`), token(`[data-e="${to}"]`)];
    if (!a || !z) return null;
    const tokens = [...box.querySelectorAll("[data-t]")];
    return [tokens.indexOf(a), tokens.indexOf(z)];
})"""


@dataclass
class Wanted:
    """The right answer to an example: a label, or where its spans stand in the first text."""

    label: str
    spans: list[tuple[int, int]]
    # Some published answers occur nowhere in their text.
    can_be_given: bool = True

    @property
    def kind(self) -> str:
        if self.label:
            return "label"
        if not self.can_be_given:
            return IMPOSSIBLE
        return "no answer" if not self.spans else "spans"


def seats(number: int, tasks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Somebody before so many examples of each task, for each way: token and right answers."""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from tasks.importing import read_clues
    from tests.browser.conftest import seat_before

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("bench")
    made: dict[str, dict[str, Any]] = {}
    for task in tasks:
        card, files = read_clues(SHARED / "data" / "clues", task)
        records = next(file.records for file in files if file.kind == "test")[:number]
        answers = [wanted(record, card) for record in records]
        for way in ways_of(task):
            advances = way == "advance"
            seat = seat_before(
                owner, card.as_dict(), list(records), not advances,
                name=f"{task}-{way}".lower(), auto_advance=advances,
            )  # fmt: skip
            made.setdefault(task, {"answers": answers})[way] = seat.token
    return made


def ways_of(task: str) -> list[str]:
    """Only a label can be the answer as soon as it is chosen."""
    return [way for way in WINDOWS if way != "advance" or task in LABELLED]


def wanted(record: Any, card: Any) -> Wanted:
    from tasks import spans

    if card.labels:
        return Wanted(record.gold[0], [])
    chosen: list[Any] = []
    for text in record.gold[:1] if card.gold_rule == "any_of" else record.gold:
        places = [p for p in spans.occurrences(text, record.context, None) if p.segment == 0]
        chosen += [place for place in places if not any(map(place.overlaps, chosen))][:1]
    golds = 1 if card.gold_rule == "any_of" and record.gold else len(set(record.gold))
    places = sorted((place.start, place.end) for place in chosen)
    return Wanted("", places, len(places) == golds)


def ahead(texts: list[str], at: int, typed: str) -> int:
    """Where typing leads from a word, as typeAhead of static/js/spans.js; -1 for nowhere."""
    low = [text.lower() for text in texts]
    tries = [(typed.lower(), 1 if len(typed) == 1 else 0)]
    if len(typed) > 1 and len(set(typed.lower())) == 1:
        tries.append((typed[0].lower(), 1))
    for begin, skip in tries:
        for number in range(len(low)):
            if low[(at + skip + number) % len(low)].startswith(begin):
                return (at + skip + number) % len(low)
    return -1


def reach(texts: list[str], at: int, goal: int) -> list[str]:
    """The fewest keys to a word: arrows; or letters of a word near it, or one again and again,
    and then arrows. `at` is the word with the focus, -1 outside of the text: then letters alone
    lead into it."""
    best = arrows(goal - at) if at >= 0 else ["Tab", *arrows(goal)]
    for near in texts[max(0, goal - 3) : goal + 4]:
        for letters in (near, near[0] * len(best)):
            if at < 0 and not letters[0].isalpha():
                continue
            here = at
            for length in range(1, min(len(letters), len(best)) + 1):
                found = ahead(texts, here, letters[:length])
                here = found if found >= 0 else here
                keys = [*letters[:length], *arrows(goal - here)]
                if here >= 0 and len(keys) < len(best):
                    best = keys
    return best


def arrows(steps: int) -> list[str]:
    return ["ArrowRight" if steps > 0 else "ArrowLeft"] * abs(steps)


class Hand:
    """One annotator at the page, whose presses are counted."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def begin(self, token: str) -> None:
        self.page.clock.install()
        self.page.goto(f"/work/{token}/")
        self.ready()
        # As after every Continue; only a page that was just loaded begins at its first link.
        self.page.locator("[data-focus]").first.focus()

    def ready(self) -> None:
        self.page.wait_for_selector("span-answer[data-ready], choice-answer[data-ready]")
        # The panel ignores what is pressed right after a swap.
        self.page.clock.fast_forward(NOT_READY)
        self.page.wait_for_selector("[data-submit]:not([aria-disabled=true])")

    def middle(self, selector: str) -> tuple[float, float]:
        box = self.page.locator(selector).first.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def tokens(self, answer: Wanted) -> list[tuple[int, int]]:
        if not answer.spans:
            return []
        return [place for place in self.page.evaluate(PLACES, answer.spans) if place]

    def word(self, number: int) -> Any:
        return self.page.locator("[data-field=context] [data-t]").nth(number)

    def label(self, answer: Wanted) -> str:
        return f'[name=label][value="{answer.label}"]'

    def is_right(self) -> bool:
        self.page.wait_for_selector("[data-state=reveal]")
        self.page.clock.fast_forward(NOT_READY)
        self.page.wait_for_selector("[data-submit]:not([aria-disabled=true])")
        return self.page.locator("[data-verdict=right]").count() > 0

    # By keys -------------------------------------------------------------------------------------

    def by_keys(self, answer: Wanted, effort: Effort) -> None:
        keys, places = list(self.keys(answer)), self.tokens(answer)
        for key in keys:
            self.page.keyboard.press(key)
        effort.add(KEY * (len(keys) + 1), len(keys) + 1)  # and Enter to continue
        if len(places) == 1 and places[0][0] == places[0][1]:
            effort.one_word.append(len(keys))
        effort.missed += not self.is_right()
        self.page.keyboard.press("Enter")

    def keys(self, answer: Wanted) -> Iterator[str]:
        if answer.label:
            labels = self.page.locator("[name=label]").evaluate_all("all => all.map(e => e.value)")
            yield from (str(labels.index(answer.label) + 1), "Enter")
            return
        places = self.tokens(answer)
        if not places:
            yield from ("0", "Enter")
            return
        texts = self.page.locator("[data-field=context] [data-t]").all_inner_texts()
        at = -1  # outside of the text, from where a letter leads into it
        for first, last in places:
            yield from reach(texts, at, first)
            yield from ["Shift+ArrowRight"] * (last - first)
            yield "Enter"
            at = last
        yield "Enter"

    # By mouse ------------------------------------------------------------------------------------

    def by_mouse(self, answer: Wanted, effort: Effort) -> None:
        """Seconds as in the model; the way leads over Submit and Continue to the next label."""
        pointings, clicks = 1, 1  # Submit
        if answer.spans:
            for first, last in self.tokens(answer):
                if first == last:
                    self.word(first).dblclick()
                    pointings, clicks = pointings + 1, clicks + 2
                else:
                    self.word(first).scroll_into_view_if_needed()
                    self.drag(first, last)
                    pointings, clicks = pointings + 2, clicks + 1
        else:
            what = self.label(answer) if answer.label else "[name=no_answer]"
            start = self.middle(f"label:has({what})")
            self.page.mouse.click(*start)
            pointings, clicks = pointings + 1, clicks + 1
        submit = self.middle("[data-submit]")
        self.page.mouse.click(*submit)
        effort.missed += not self.is_right()
        on = self.middle("[data-submit]")
        moved = math.dist(submit, on) > 20
        effort.add(POINTING * (pointings + moved) + CLICK * (clicks + 1), clicks + 1)
        if not answer.spans:
            effort.travel.append(
                math.dist(start, submit) + math.dist(submit, on) + math.dist(on, start)
            )
        self.page.mouse.click(*on)

    def by_choice(self, answer: Wanted, effort: Effort) -> None:
        """In the annotation step, where the study says that a label is the answer: one click."""
        self.page.mouse.click(*self.middle(f"label:has({self.label(answer)})"))
        effort.add(POINTING + CLICK, 1, 0)

    def drag(self, first: int, last: int) -> None:
        begin, end = self.word(first).bounding_box(), self.word(last).bounding_box()
        self.page.mouse.move(begin["x"] + 2, begin["y"] + begin["height"] / 2)
        self.page.mouse.down()
        at = end["x"] + end["width"] - 1, end["y"] + end["height"] / 2
        self.page.mouse.move(*at, steps=4)
        self.page.mouse.up()

    # By touch ------------------------------------------------------------------------------------

    def by_touch(self, answer: Wanted, effort: Effort) -> None:
        """Swipes are counted from the last word that was tapped to Submit, and on to Continue."""
        taps = 1
        if answer.spans:
            for place in self.tokens(answer):
                for word in place:
                    self.word(word).scroll_into_view_if_needed()
                    self.word(word).tap()
                    taps += 1
        else:
            self.page.locator(self.label(answer) if answer.label else "[name=no_answer]").check(
                force=True
            )
            taps += 1
        swipes = self.swipes()
        self.page.locator("[data-submit]").tap()
        effort.missed += not self.is_right()
        effort.swipes.append(swipes + self.swipes())
        effort.add(POINTING * taps + CLICK * (taps + 1), taps + 1)
        self.page.locator("[data-submit]").tap()

    def swipes(self) -> int:
        """How often one has to swipe until the button is in the window."""
        box, height = self.page.locator("[data-submit]").bounding_box(), 844
        beyond = max(0, box["y"] + box["height"] - height, -box["y"])
        return math.ceil(beyond / (SWIPE * height))


def measure(browser: Any, root: str, seat: dict[str, Any], way: str) -> dict[str, Effort]:
    """Answer all examples of a task that way: kind of answer -> effort."""
    found: dict[str, Effort] = {}
    context = browser.new_context(base_url=root, **WINDOWS[way])
    hand = Hand(context.new_page())
    hand.begin(seat[way])
    answers = {
        "keys": hand.by_keys, "mouse": hand.by_mouse, "touch": hand.by_touch,
        "advance": hand.by_choice,
    }  # fmt: skip
    for answer in seat["answers"]:
        key = hand.page.locator("#turn").get_attribute("data-key")
        effort = found.setdefault(answer.kind, Effort())
        answers[way](answer, effort)
        if answer is seat["answers"][-1] and way == "advance":
            break  # no example follows in the annotation step
        hand.page.wait_for_selector(f"#turn:not([data-key='{key}'])")
        hand.ready()
    context.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=40, help="of each task (40)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--ways", nargs="+", choices=WINDOWS, default=list(WINDOWS))
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    from analysis.export.screenshots import browser as chromium

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with tempfile.TemporaryDirectory(prefix="handful-hands-") as folder:
        environment = {
            "DATABASE_URL": f"sqlite:///{folder}/hands.sqlite3", "HANDFUL_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "1",
            "STATIC_ROOT": f"{folder}/static",
        }  # fmt: skip
        os.environ |= environment
        seated = seats(options.examples, options.tasks)
        print(HEAD)
        with (
            served("granian", "config.wsgi:application", environment) as port,
            sync_playwright() as p,
        ):
            browser = p.chromium.launch(
                executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
            )
            every: dict[tuple[str, str, str], Effort] = {}
            for task in options.tasks:
                for way in ways_of(task):
                    if way not in options.ways:
                        continue
                    found = measure(browser, f"http://127.0.0.1:{port}", seated[task], way)
                    for kind, effort in sorted(found.items()):
                        print(line(task, way, kind, effort), flush=True)
                        every[task, way, kind] = effort
            browser.close()
        print("", *targets(every), sep="\n")


if __name__ == "__main__":
    main()
