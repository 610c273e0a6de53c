"""Wei et al. 2025 (arXiv 2506.13776), the checklist for human baselines: its 71 items in order.

Numbers are those of the authors' form, which is under CC BY-NC-SA 4.0; titles, answers and evidence
are in our own words. The heading 5.1 of the form is no item of its own.
"""

from analysis.documents.checklists import (
    wei_analysis,
    wei_design,
    wei_execution,
    wei_recruitment,
)
from analysis.documents.checklists.entries import Form
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import Answers

TITLE = "Checklist for human baselines"
SOURCE = (
    "Items are numbered as in the checklist of Wei et al. (2025, arXiv 2506.13776) and phrased in"
    " our own words."
)
PARTS = (wei_design, wei_recruitment, wei_execution, wei_analysis)


def form(facts: Facts, answers: Answers) -> Form:
    """The form, filled in."""
    entries = [entry for part in PARTS for entry in part.entries(facts, answers)]
    return Form("wei-2025", TITLE, SOURCE, entries)
