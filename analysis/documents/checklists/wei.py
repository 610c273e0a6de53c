"""A completed version of the checklist by Wei et al. 2025 (arXiv 2506.13776).

The 71 items are numbered as in the authors' form (CC BY-NC-SA 4.0); item 5.1 is only a heading.
Titles (questions.toml), answers and evidence are in our own words. The sentences are in
templates/documents/wei.txt; the other answers are in wei_answers.py.
"""

from typing import NamedTuple

from analysis.documents.blocks import Entry, Form, Reply
from analysis.documents.checklists import wei_answers, wei_sentences
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import NOT_STATED, QUESTIONS, Answers, joined, prose
from analysis.scores import markup

SOURCE = (
    "Items are numbered as in the checklist of Wei et al. (2025, arXiv 2506.13776) and stated in"
    " our own words."
)


class Item(NamedTuple):
    """An item of the form. `field` is the short-form field that supplies the answer, or ""."""

    number: str
    reply: Reply
    title: str
    field: str = ""


ITEMS = [Item(number, Reply(kind), *rest) for number, kind, *rest in QUESTIONS["wei"]]


def form(facts: Facts, answers: Answers) -> Form:
    values = wei_sentences.context(facts, answers)
    said = markup.rendered("wei", values)
    known = wei_answers.answers(facts, answers, said)

    def entry(item: Item) -> Entry:
        answer, evidence = known.get(item.number), said.get(item.number, "")
        if answer is None and item.number == item.field:
            answer = answers.status(item.field)
            evidence = joined([prose(answers[item.field]), evidence])
        if answer is None:
            answer = said[f"answer_{item.number}"]
        asks_models = bool(facts.model_cells) or not item.number.startswith("3.4")
        field = item.field if asks_models else ""
        return Entry(
            item.number, item.title, item.reply, str(answer or NOT_STATED), evidence, field
        )

    entries = [entry(item) for item in ITEMS]
    return Form("wei-2025", "Checklist for human baselines", SOURCE, entries)
