"""What is answered whatever the page: addresses of nothing, and those that take POST alone."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from config.addresses import is_of_researchers, page_above


def no_null_in_addresses(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """404 for U+0000 in a path: nothing has such a name, and PostgreSQL cannot be asked for it."""

    def refuse(request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info:
            raise Http404
        return get_response(request)

    return refuse


def post_alone_leads_up(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Whoever opens an address of researchers that takes POST alone sees the page it belongs to.

    They come there by signing in again after a form, by Back, or by a reload.
    """

    def lead(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        is_lost = response.status_code == 405 and request.method in ("GET", "HEAD")
        if is_lost and is_of_researchers(request.path_info):
            return redirect(page_above(request.path_info))
        return response

    return lead
