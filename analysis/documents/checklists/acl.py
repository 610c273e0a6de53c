"""The ACL checklist (Responsible NLP, part D) and items 14 and 15 of NeurIPS, in our own words."""

from analysis.documents import wording
from analysis.documents.blocks import Entry, Form
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import Answers, Status, prose, status
from analysis.documents.checklists.wei_sentences import (
    amount,
    consent,
    demographics,
    ethics_contact,
)
from analysis.documents.recruitment import reached
from analysis.scores import marks

TITLE = "Responsible NLP checklist, part D"
SOURCE = (
    "Items follow part D of the ACL Rolling Review Responsible NLP checklist and are stated in our"
    " own words. Answers are Yes, No or N/A; No can also mean that the study does not state it."
)
INSTRUCTIONS = (
    "The release bundle contains the instructions and the consent text verbatim (materials/), and"
    " the consent and instruction pages with a question and a reveal (seen/)."
)


def form(facts: Facts, answers: Answers) -> Form:
    people = facts.flow.arrived > 0
    versions = wording.count(len(facts.consents), "version")
    described, sample = demographics(facts)
    items = [
        _item("D1", "Instructions given to annotators", Status.YES, INSTRUCTIONS),
        _item("D2", "Recruitment and pay", Status.YES, *recruitment(facts)),
        _item(
            "D3", "Consent to the use of data", Status.YES, consent(facts),
            f"The consent text ({versions}) is in the preregistration and in the release bundle.",
        ),
        _item(
            "D4", "Ethics board approval", answers.status("1.9"), prose(answers["1.9"]),
            ethics_contact(facts), field="1.9",
        ),
        _item(
            "D5", "Annotator characteristics", described, prose(answers["2.1"]), sample,
            *reached(facts), field="2.1",
        ),
    ]  # fmt: skip
    unasked = [status(e.number, e.title, Status.NOT_APPLICABLE, field=e.field) for e in items]
    entries = [
        status(
            "D", "Human annotators or participants", Status.YES if people else Status.NO,
            f"Participants who took a seat: {facts.workers['arrived']}."
            if people
            else "No participant has taken a seat yet.",
            marks.programs_mark(facts.study),
        ),
        *(items if people else unasked),
    ]  # fmt: skip
    return Form("acl-d", TITLE, SOURCE, entries)


def _item(number: str, title: str, answer: Status, *evidence: str, field: str = "") -> Entry:
    """Build an item with the answers this form allows: Partial means Yes and Unknown means No."""
    return status(number, title, plain(answer), *evidence, field=field)


def plain(answer: Status) -> Status:
    return {Status.PARTIAL: Status.YES, Status.UNKNOWN: Status.NO}.get(answer, answer)


def recruitment(facts: Facts) -> list[str]:
    paid = wording.is_paid(facts.manifest)
    pay = amount(facts) if paid else facts.pay_sentences["rate"]
    return [f"Seats taken: {facts.sources or 'none yet'}.", *reached(facts), pay]


# Items 14 and 15 of the NeurIPS checklist are about research with human subjects.

NEURIPS_TITLE = "NeurIPS paper checklist, items 14 and 15"
NEURIPS_SOURCE = (
    "Items 14 and 15 of the NeurIPS paper checklist, in our own words. Answers are Yes, No or N/A;"
    " No can also mean that the study does not state it."
)


def neurips_form(facts: Facts, answers: Answers) -> Form:
    people = facts.flow.arrived > 0
    none = "No participant has taken a seat yet."
    entries = [
        status(
            "14", "Participant instructions, screenshots and pay",
            Status.YES if people else Status.NOT_APPLICABLE,
            *([INSTRUCTIONS, *recruitment(facts)] if people else [none]),
            marks.programs_mark(facts.study),
        ),
        status(
            "15", "Participant risks and ethics board approval",
            plain(answers.status("1.9")) if people else Status.NOT_APPLICABLE,
            *(
                [prose(answers["1.9"]), ethics_contact(facts), consent(facts)]
                if people
                else [none]
            ),
            field="1.9",
        ),
    ]  # fmt: skip
    return Form("neurips-14-15", NEURIPS_TITLE, NEURIPS_SOURCE, entries)
