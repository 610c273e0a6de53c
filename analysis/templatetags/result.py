"""The result of a study so far, for its overview, whose page belongs to `annotation`."""

from typing import Any

from django import template

from analysis.figures import so_far
from annotation.models import Study

register = template.Library()


@register.inclusion_tag("researcher/_card_result.html")
def result_so_far(study: Study) -> dict[str, Any]:
    """The card with the shot curve of people and models, and the table of its numbers."""
    return {"study": study, "result": so_far.for_study(study)}
