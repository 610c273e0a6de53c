"""The checklist of Wei et al. 2025 (arXiv 2506.13776), filled in.

The 71 items are numbered as in the authors' form (CC BY-NC-SA 4.0); item 5.1 is only a heading.
Titles, answers and evidence are in our own words. The sentences are in
templates/documents/wei.txt; the other answers are in wei_answers.py.
"""

from typing import NamedTuple

from analysis.documents import wording
from analysis.documents.blocks import Entry, Form, Reply
from analysis.documents.checklists import wei_answers, wei_sentences
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import NOT_STATED, Answers, joined, prose

SOURCE = (
    "Items are numbered as in the checklist of Wei et al. (2025, arXiv 2506.13776) and stated in"
    " our own words."
)
STATUS, TEXT, CHOICES = Reply.STATUS, Reply.TEXT, Reply.CHOICES


class Item(NamedTuple):
    """An item of the form. `field` is the short-form field that supplies the answer, or ""."""

    number: str
    reply: Reply
    title: str
    field: str = ""


ITEMS = [
    Item("0.1", TEXT, "Title of the paper"),
    Item("0.2", TEXT, "Link to the paper", "paper"),
    Item("0.3", TEXT, "Year", "paper"),
    Item("0.4", TEXT, "Venue", "paper"),
    Item("0.5", CHOICES, "What the evaluation measures", "paper"),
    Item("0.6", CHOICES, "Modality of the items"),
    Item("0.7", TEXT, "Language of the items"),
    Item("0.8", TEXT, "Items of the dataset"),
    Item("0.9", TEXT, "Items on which models were run"),
    Item("0.10", TEXT, "Model outputs per item"),
    Item("1.1", TEXT, "Number of annotators"),
    Item("1.2", TEXT, "Items annotated by humans"),
    Item("1.2.1", TEXT, "Selection of the items"),
    Item("1.3", TEXT, "Annotators per item"),
    Item("1.4", TEXT, "Items per annotator"),
    Item("1.5", STATUS, "Fairness to humans and models", "1.5"),
    Item("1.6", STATUS, "Pilots and iterations of the design", "1.6"),
    Item("1.7", STATUS, "Effort control", "3.4"),
    Item("1.8", STATUS, "Power analysis", "1.8"),
    Item("1.8.1", TEXT, "Smallest detectable difference"),
    Item("1.9", STATUS, "Ethics review", "1.9"),
    Item("1.10", STATUS, "Preregistration", "5.2"),
    Item("2.1", STATUS, "Population of interest", "2.1"),
    Item("2.1.1", CHOICES, "Characteristics of that population", "criteria"),
    Item("2.2", CHOICES, "Annotator sampling", "2.2"),
    Item("2.3", STATUS, "Annotator admission"),
    Item("2.3.1", TEXT, "Admission criteria"),
    Item("2.3.2", TEXT, "Excluded by these criteria"),
    Item("2.4", STATUS, "Authors among the annotators", "2.4"),
    Item("2.5", STATUS, "Annotators' prior exposure to the items"),
    Item("2.6", STATUS, "Annotator training"),
    Item("2.6.1", TEXT, "Type of training"),
    Item("2.6.2", STATUS, "Pay for the training"),
    Item("2.6.2.1", TEXT, "Amount of pay for the training"),
    Item("2.7", STATUS, "Pay for the annotation"),
    Item("2.7.1", TEXT, "Amount of the pay"),
    Item("2.7.2", STATUS, "Performance bonus"),
    Item("2.7.2.1", TEXT, "Amount of the bonus"),
    Item("2.7.3", STATUS, "Equal pay for all annotators"),
    Item("2.7.3.1", TEXT, "Differences in pay"),
    Item("3.1", TEXT, "Items per session"),
    Item("3.1.1", TEXT, "Random order of items"),
    Item("3.2", STATUS, "Quality control during annotation"),
    Item("3.2.1", TEXT, "Quality criteria"),
    Item("3.2.2", TEXT, "Excluded by these criteria"),
    Item("3.3", STATUS, "Same interface"),
    Item("3.3.1", Reply.CHECKBOX, "Graphical interface for humans, API for models"),
    Item("3.3.2", STATUS, "Adjustment for different interfaces", "3.4"),
    Item("3.4", STATUS, "Same instructions", "3.4"),
    Item("3.4.1", STATUS, "Adjustment for different instructions", "3.4"),
    Item("3.5", STATUS, "Same tools", "3.5"),
    Item("3.5.1", STATUS, "Oversight of tools"),
    Item("3.6", STATUS, "Annotator explanations"),
    Item("4.1", STATUS, "Statistical test of humans against models"),
    Item("4.1.1", TEXT, "Statistical tests used"),
    Item("4.2", STATUS, "Uncertainty of the results"),
    Item("4.2.1", CHOICES, "Type of estimate"),
    Item("4.3", STATUS, "Same metric"),
    Item("4.4", STATUS, "Same rubric"),
    Item("4.5", STATUS, "Same scoring procedure"),
    Item("4.6", STATUS, "Robustness to exclusions"),
    Item("5.1.1", STATUS, "Description of the sample"),
    Item("5.1.2", STATUS, "Instructions"),
    Item("5.1.3", STATUS, "Time"),
    Item("5.1.4", STATUS, "Use of AI tools by annotators"),
    Item("5.1.5", STATUS, "Completion rate"),
    Item("5.2", STATUS, "Public data", "5.2"),
    Item("5.2.1", STATUS, "Annotator-level data", "5.2"),
    Item("5.2.2", TEXT, "Why data are not public", "5.2"),
    Item("5.3", STATUS, "Public materials", "5.2"),
    Item("5.4", STATUS, "Public analysis code", "5.2"),
]


def form(facts: Facts, answers: Answers) -> Form:
    values = wei_sentences.context(facts, answers)
    said = wording.rendered("wei", values)
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
