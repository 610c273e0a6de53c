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
ASKED: dict[str, str] = short_form.QUESTIONS["title_page"]
# The licence of a bundle: maps its SPDX name to its title and URL.
LICENCES: dict[str, list[str]] = short_form.QUESTIONS["licences"]
OWN_TERMS = "own"


def front(record: StudyRecord, answers: Mapping[str, str]) -> Front:
    study, board = record.study, record.manifest["ethics_contact"]
    facts = [
        Fact("Ethics approval", answers.get(ETHICS) or board or "not stated"),
        Fact("Study", study.name),
        Fact("Frozen and opened", moment(study.opened_at) if study.opened_at else "–"),
        Fact("SHA-256 of the design", study.manifest_hash, is_code=True),
        Fact("Licence", LICENCES.get(answers.get("licence", ""), ["not stated"])[0]),
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
