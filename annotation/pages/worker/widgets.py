"""What each kind of answer needs on the page of a turn: its fragment, its element, its scripts.

A page loads the widget of its own kind and no other. Each control works without scripts; what the
elements add is in static/js/.
"""

from dataclasses import dataclass

from tasks.answer_keys import LABEL, LONG_TEXT, NUMBER, OPTION, OPTIONS, SHORT_TEXT, SPANS

BESIDE = "worker/_beside_question.html"  # what is answered beside its text
TYPED = ("answer", "pasting", "texts")


@dataclass(frozen=True)
class Widget:
    """The element (and script) of a kind, the fragment around it, the modules that it imports."""

    element: str
    template: str
    modules: tuple[str, ...]
    # What is typed elsewhere in the turn and goes into it: static/js/turn-keys.js.
    typing: str = ""


WIDGETS = {
    LABEL: Widget("choice-answer", "worker/_label_question.html", ("answer",)),
    SPANS: Widget(
        "span-answer",
        "worker/_span_question.html",
        ("spans", "span-page", "span-pointer", "span-keyboard"),
        "letters",
    ),
    OPTION: Widget("choice-answer", BESIDE, ("answer",)),
    OPTIONS: Widget("choice-answer", BESIDE, ("answer",)),
    NUMBER: Widget("number-answer", BESIDE, ("answer", "pasting", "numbers"), "digits"),
    SHORT_TEXT: Widget("text-answer", BESIDE, TYPED, "both"),
    LONG_TEXT: Widget("text-answer", BESIDE, TYPED, "both"),
}
