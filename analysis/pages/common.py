"""What the pages of results share: which kind of annotators is asked for."""

from django.http import Http404, HttpRequest


def chosen_kind(request: HttpRequest, kinds: list[str]) -> str:
    """The kind of annotators that the address names, the first of `kinds` where it names none.

    Raises Http404 for a kind that has no results in this study.
    """
    kind = request.GET.get("kind", kinds[0])
    if kind not in kinds:
        raise Http404
    return kind
