"""What the pages of results share: the kind of worker that is asked for, and files to download."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import content_disposition_header


def chosen_kind(request: HttpRequest, kinds: list[str]) -> str:
    """The kind of worker that the address names, the first of `kinds` where it names none.

    Raises Http404 for a kind that has no results in this study.
    """
    kind = request.GET.get("kind", kinds[0])
    if kind not in kinds:
        raise Http404
    return kind


def download(text: str, filename: str, content_type: str) -> HttpResponse:
    """A file that the browser saves under this name."""
    return HttpResponse(
        text,
        content_type=content_type,
        headers={"Content-Disposition": content_disposition_header(True, filename)},
    )
