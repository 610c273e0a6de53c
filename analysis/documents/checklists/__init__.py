"""Checklists of venues, filled in from the design of a study and from what its tables computed.

`for_study` makes all of them; acl.py has those of ACL, NeurIPS, wei_*.py the items of Wei et al.;
files of them are made in files.py. What only a person can answer is asked once (short_form.py), and
several items of several forms can use one answer. Each sentence must hold for the study at hand:
facts.py reads the frozen design and the rows of this study, never what most studies are like.
"""

from collections.abc import Mapping

from analysis.documents.checklists import (
    acl,
    wei_analysis,
    wei_design,
    wei_execution,
    wei_recruitment,
)
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import Answers, Form
from analysis.documents.study_record import StudyRecord

# Wei et al. 2025 (arXiv 2506.13776): 71 items, numbered as in the authors' form, which is under
# CC BY-NC-SA 4.0; titles, answers and evidence are in our own words. 5.1 is no item of its own.
WEI_SOURCE = (
    "Items are numbered as in the checklist of Wei et al. (2025, arXiv 2506.13776) and phrased in"
    " our own words."
)
WEI_PARTS = (wei_design, wei_recruitment, wei_execution, wei_analysis)


def _wei(facts: Facts, answers: Answers) -> Form:
    entries = [entry for part in WEI_PARTS for entry in part.entries(facts, answers)]
    return Form("wei-2025", "Checklist for human baselines", WEI_SOURCE, entries)


# Name in addresses and files -> how the form is filled in; the order is that of the report.
FORMS = {"wei-2025": _wei, "acl-d": acl.form, "neurips-14-15": acl.neurips_form}


def for_study(record: StudyRecord, answers: Mapping[str, str]) -> dict[str, Form]:
    """Name -> form, each filled in; `answers` are those of the short form, by field."""
    facts, given = Facts(record), Answers(answers)
    return {name: make(facts, given) for name, make in FORMS.items()}
