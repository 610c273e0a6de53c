"""Items 14 and 15 of the paper checklist of NeurIPS: research with people. In our own words."""

from analysis.documents.checklists import acl
from analysis.documents.checklists.entries import Form, Status, status
from analysis.documents.checklists.facts import Facts, prose
from analysis.documents.checklists.short_form import Answers
from analysis.documents.checklists.wei_design import consent, ethics_contact

TITLE = "NeurIPS paper checklist, items 14 and 15"
SOURCE = (
    "Items 14 and 15 of the paper checklist of NeurIPS, phrased in our own words. Answers are Yes,"
    " No or N/A; No also means that it is not stated."
)


def form(facts: Facts, answers: Answers) -> Form:
    """The form, filled in."""
    people = facts.record.whole.arrived > 0
    none = "No person has taken a seat yet."
    entries = [
        status(
            "14", "Instructions, screenshots and pay of participants",
            Status.YES if people else Status.NOT_APPLICABLE,
            *([acl.instructions(facts), *acl.recruitment(facts)] if people else [none]),
        ),
        status(
            "15", "Risks for participants and approval by an ethics board",
            acl.plain(answers.status("1.9")) if people else Status.NOT_APPLICABLE,
            *(
                [prose(answers["1.9"]), ethics_contact(facts), consent(facts)]
                if people
                else [none]
            ),
            field="1.9",
        ),
    ]  # fmt: skip
    return Form("neurips-14-15", TITLE, SOURCE, entries)
