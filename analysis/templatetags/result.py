"""Filters for sentences in documents, and tags for the overview page of a study."""

from typing import Any

from django import template

from analysis.documents.blocks import code, fenced
from analysis.documents.wording import count, listed
from analysis.figures import so_far
from analysis.planning import planned_power
from analysis.scores import marks
from analysis.scores.markup import markdown
from annotation.models import Study
from annotation.protocol import blinding

register = template.Library()
for form in (code, count, fenced, listed, markdown):
    register.filter(form.__name__, form)
register.simple_tag(planned_power.contrasts)


@register.filter("format")
def formatted(value: object, specification: str) -> str:
    return format(value, specification)


@register.inclusion_tag("monitoring/_card_result.html")
def result_so_far(study: Study, kind: str = "") -> dict[str, Any]:
    """Return a card with the shot curves of annotators of one kind and of models, with values."""
    if blinding.are_covered(study):
        return {"study": study, "until_closed": blinding.UNTIL_CLOSED}
    result = so_far.for_study(study, kind)
    programs = marks.programs_mark(study) if result else ""
    return {"study": study, "result": result, "programs": programs, "of_kind": kind}
