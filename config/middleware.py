"""What is refused before any page is looked for."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse


def no_null_in_addresses(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """404 for U+0000 in a path: nothing has such a name, and PostgreSQL cannot be asked for it."""

    def refuse(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info:
            raise Http404
        return get_response(request)

    return refuse
