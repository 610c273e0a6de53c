"""The sentences of the scripts in an annotator's language: one table for each page.

A script says `gettext("...")` with the English sentence, which is its own key
(static/js/sentences.js). Here the same sentences stand once more, module by module, so that they
are extracted with all others of Python; a test holds both lists together. An English page carries
no table, and any other only the sentences of the scripts that it loads.
"""

from collections.abc import Iterator

from django.utils import translation
from django.utils.translation import gettext_noop as _

Sentence = str | tuple[str, str]
# Forms of a sentence with a number: each with the numbers that take it.
Forms = list[list[str | int]]

# One number at least of every plural category of every language (CLDR's cardinal rules).
SAMPLES = (0, 1, 2, 3, 4, 5, 6, 7, 11, 20, 21, 100, 1_000_000)


def ngettext(one: str, many: str) -> tuple[str, str]:
    """Mark a sentence with a number for extraction, as gettext_noop does one without."""
    return one, many


MODULES: dict[str, tuple[Sentence, ...]] = {
    "sentences": (
        _("%(first)s %(second)s"),
        _("%(minutes)s min"),
        _("%(hours)s h %(minutes)s min"),
    ),
    "copy": (_("Copied."), _("Not copied: please copy it by hand.")),
    "sending": (
        _("No connection."),
        _("The server does not answer."),
        _("The server is busy."),
        _("The server has a problem."),
        _("The server refused this (%(status)s)."),
        _("Saving…"),
        _("Your answer is kept."),
        _("Nothing is lost."),
        _("Trying again in %(seconds)s s."),
        _("Try now"),
        _("Not sent."),
        _("Submit again, or close this page and come back later."),
        _("Loading the page again has not helped."),
        _("Please allow cookies for this site, or open your personal link in another browser."),
        _("Try again"),
        _("Load the page again"),
        _(
            "This page was loaded again, because this browser signed in or lost its cookies after"
            " it was opened."
        ),
        _("This page was loaded again, because the server did not know what was sent."),
        _("Your answer is not stored yet: please submit it again."),
        _("What you sent last was not stored: this task had changed in the meantime."),
        _("This is where you are now."),
    ),
    "answer": (_("Your unfinished answer was restored."),),
    "numbers": (
        _("“%(typed)s” is not a number in plain digits, such as 12 or 3.5."),
        _("The number must lie between %(lowest)s and %(highest)s."),
        _("The number must be %(lowest)s or more."),
        _("The number must be %(highest)s or less."),
        _("The number must go in steps of %(step)s, such as %(first)s or %(second)s."),
    ),
    "pasting": (_("Nothing was pasted: pasting is off in this study. Please type."),),
    "text-answer": (
        ngettext(
            "The answer may have at most %(limit)s character, and yours has %(number)s.",
            "The answer may have at most %(limit)s characters, and yours has %(number)s.",
        ),
        ngettext("%(count)s character too many", "%(count)s characters too many"),
        ngettext("%(count)s character left", "%(count)s characters left"),
        ngettext("%(count)s word", "%(count)s words"),
    ),
    "choice-answer": (ngettext("%(count)s chosen", "%(count)s chosen"),),
    "label-search": (ngettext("%(count)s label", "%(count)s labels"),),
    "spans": (
        _("The highlight starts at the first word already."),
        _("The highlight ends at the last word already."),
        _("The highlight is one word already."),
        _("There is another highlight next to it."),
        _("“%(line)s” is not in the text exactly so. Did you mean “%(meant)s”?"),
        _("“%(line)s” is not in the text, from the beginning of a word to the end of one."),
    ),
    "span-page": (
        _("“%(text)s”"),
        _("Start: %(text)s. Choose the last character."),
        _("Start: %(text)s. Choose the last word."),
        _("Submitting takes it alone."),
        _("Submitting takes it alone. Esc cancels."),
        _("Highlighted %(text)s."),
        ngettext("%(count)s in total.", "%(count)s in total."),
        ngettext("Replaced %(count)s.", "Replaced %(count)s."),
        _("Replaced %(text)s."),
        ngettext("At most %(count)s highlight.", "At most %(count)s highlights."),
        _("Start earlier: %(text)s"),
        _("Start later: %(text)s"),
        _("End earlier: %(text)s"),
        _("End later: %(text)s"),
        _("Remove %(text)s"),
        _("same text as another highlight: counts once"),
    ),
    "span-answer": (
        _("Only %(text)s"),
        _("Selecting %(text)s."),
        _("Cancelled."),
        _("Remove one first."),
        _("Chosen %(text)s, to adjust or remove."),
        _("Removed %(text)s."),
        _("No answer chosen."),
        _("No answer is not chosen any more."),
        _("Undone."),
        _("Done again."),
        _("Your unfinished answer was restored."),
        _("Finish or cancel the highlight you started."),
        _("You began %(text)s: keep it or cancel?"),
        _("Highlight at least one answer, or choose “No answer”."),
        _("Highlight at least one answer."),
    ),
}

# What a page loads in templates/worker/work.html, each with the modules that it imports.
SCRIPTS = {
    "work": ("sending", "sentences"),
    "copy": ("copy", "sentences"),
    "choice-answer": ("choice-answer", "answer", "sentences"),
    "number-answer": ("answer", "numbers", "pasting", "sentences"),
    "text-answer": ("text-answer", "answer", "pasting", "sentences"),
    "label-search": ("label-search", "sentences"),
    "span-answer": ("span-answer", "span-page", "spans", "sentences"),
}


def sentences_of(*scripts: str) -> dict[str, str | Forms]:
    """What those scripts say, by the English sentence, in the language that is active now.

    Only what differs from English: {} for an English page. A sentence with a number stands under
    its English singular.
    """
    modules = dict.fromkeys(module for script in scripts for module in SCRIPTS[script])
    return dict(_translated(sentence for module in modules for sentence in MODULES[module]))


def _translated(sentences: Iterator[Sentence]) -> Iterator[tuple[str, str | Forms]]:
    for sentence in sentences:
        if isinstance(sentence, str):
            if (translated := translation.gettext(sentence)) != sentence:
                yield sentence, translated
        elif forms := _forms(*sentence):
            yield sentence[0], forms


def _forms(one: str, many: str) -> Forms:
    """The forms of that language with the numbers that take them, [] where they are English."""
    forms: dict[str, list[int]] = {}
    for number in SAMPLES:
        forms.setdefault(translation.ngettext(one, many, number), []).append(number)
    if forms.keys() <= {one, many}:
        return []
    return [[form, *numbers] for form, numbers in forms.items()]
