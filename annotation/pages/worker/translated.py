"""What the pure core says (tasks/sentences.py), in the language of the page."""

from django.utils.translation import gettext, ngettext

from tasks.sentences import Sentence


def translated(sentence: Sentence) -> str:
    """The sentence with its values, as the catalogue of the page has it; else in English."""
    if sentence.plural:
        text = ngettext(sentence.text, sentence.plural, sentence.number)
    else:
        text = gettext(sentence.text)
    return text % sentence.values
