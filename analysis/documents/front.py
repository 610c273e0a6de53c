"""A report's title block (title, authors, ethics approval, design) and its licence.

Details that only the researchers know are stored with the report's checklist answers.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from analysis.documents.blocks import Fact, Front
from analysis.documents.checklists import short_form
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import moment
from annotation.models import Study

ETHICS = "1.9"  # number of the item in the checklist
PUBLISHED = ("title", "authors", "licence")
# Maps the name of an answer to the question shown to researchers.
ASKED = {
    "title": "Title of the report (default: the title of the study)",
    "authors": "Authors, one per line",
    "institute": "Affiliations and correspondence address, one per line",
    "licence": "Licence of the bundle",
    "own-terms": "Licence terms, if you use your own",
    "exhibits": "Tables and figures for the paper",
}


def front(record: StudyRecord, answers: Mapping[str, str]) -> Front:
    study, board = record.study, record.manifest["ethics_contact"]
    facts = [
        Fact("Ethics approval", answers.get(ETHICS) or board or "not stated"),
        Fact("Study", study.name),
        Fact("Frozen and opened", moment(study.opened_at) if study.opened_at else "–"),
        Fact("SHA-256 of the design", study.manifest_hash, is_code=True),
        Fact("Licence", LICENCES.get(answers.get("licence", ""), ("not stated", ""))[0]),
        Fact("Made with", f"Handful {settings.VERSION}"),
    ]
    return Front(lines(answers.get("authors", "")), lines(answers.get("institute", "")), facts)


def title(record: StudyRecord, answers: Mapping[str, str]) -> str:
    return " ".join(lines(answers.get("title", ""))) or f"Report: {record.study.title}"


def to_publish(study: Study, answers: Mapping[str, str]) -> dict[str, Any]:
    """Return each requirement as (name, whether it is met, field in the report), and the count."""
    unanswered = [name for name in short_form.FIELDS if not answers.get(name)]
    answered, of = len(short_form.FIELDS) - len(unanswered), len(short_form.FIELDS)
    rows = [
        *((name.capitalize(), bool(answers.get(name)), name) for name in PUBLISHED),
        ("Ethics board", bool(answers.get(ETHICS) or study.ethics_contact), ETHICS),
        ("Tables and figures", bool(answers.get("exhibits")), "exhibits"),
        (f"Checklist questions: {answered} of {of} answered", answered == of, [*unanswered, ""][0]),
    ]
    return {"to_publish": rows, "met": sum(is_met for _name, is_met, _field in rows)}


def page_style(study: Study) -> str:
    """Return CSS that prints the study, its design and Handful's version in the page footer.

    The study's name needs no escaping, because names cannot contain characters special to CSS.
    """
    footer = (
        f"{study.name} · design {study.manifest_hash[:12] or 'draft'} · Handful {settings.VERSION}"
    )
    return f'@page {{ @bottom-left {{ content: "{footer}"; }} }}\n'


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


# The licence of a bundle, chosen by the researcher from SPDX names.
OWN_TERMS = "own"
_CC = "https://creativecommons.org/"
# Maps the SPDX name to the title and URL of the licence.
LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0", f"{_CC}licenses/by/4.0/"),
    "CC0-1.0": ("CC0 1.0, no rights reserved", f"{_CC}publicdomain/zero/1.0/"),
    "CC-BY-SA-4.0": ("Creative Commons Attribution-ShareAlike 4.0", f"{_CC}licenses/by-sa/4.0/"),
    "CC-BY-NC-4.0": ("Creative Commons Attribution-NonCommercial 4.0", f"{_CC}licenses/by-nc/4.0/"),
    OWN_TERMS: ("custom terms, as stated in LICENSE", ""),
}
