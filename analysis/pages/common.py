"""What the pages of results share: which kind of annotators is asked for, and what marks them."""

from typing import Any

from django.http import Http404, HttpRequest

from analysis.tables import marks
from annotation.models import Study


def results_of(study: Study) -> dict[str, Any]:
    """The study, and what every table of it is marked by."""
    return {"study": study, "marks": marks.sentences(study)}


def chosen_kind(request: HttpRequest, kinds: list[str]) -> str:
    """The kind of annotators that the address names, the first of `kinds` where it names none.

    Raises Http404 for a kind that has no results in this study.
    """
    kind = request.GET.get("kind", kinds[0])
    if kind not in kinds:
        raise Http404
    return kind
