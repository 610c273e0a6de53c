"""Checklists of venues, filled in from the design of a study and from what its tables computed.

`for_study` makes all of them; each form has a module of its own (wei.py, acl.py, neurips.py), files
of them are made in files.py. What only a person can answer is asked once (short_form.py), and
several items of several forms can use one answer. Each sentence must hold for the study at hand:
facts.py reads the frozen design and the rows of this study, never what most studies are like.
"""

from collections.abc import Mapping

from analysis.documents.checklists import acl, neurips, wei
from analysis.documents.checklists.entries import Form
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import Answers
from analysis.documents.study_record import StudyRecord

# Name in addresses and files -> how the form is filled in; the order is that of the report.
FORMS = {"wei-2025": wei.form, "acl-d": acl.form, "neurips-14-15": neurips.form}


def for_study(record: StudyRecord, answers: Mapping[str, str]) -> dict[str, Form]:
    """Name -> form, each filled in; `answers` are those of the short form, by field."""
    facts, given = Facts(record), Answers(answers)
    return {name: make(facts, given) for name, make in FORMS.items()}
