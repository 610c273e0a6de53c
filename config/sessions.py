"""How long a researcher stays signed in, and what is stored about the session."""

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.dispatch import Signal, receiver
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from config.addresses import is_of_annotators

RENEWED_AFTER = 3600  # seconds
session_renewed = Signal()  # of a researcher's browser: `request`, `user`


def sliding_session(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """A session ends so long after its last use, not after its first.

    Noted once an hour at most, never on a page of annotators, and not for what a page that lies
    open asks by itself.
    """

    def renew(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if is_of_annotators(request.path_info) or "HX-Request" in request.headers:
            return response
        # A program that signs in by Basic has a user and no session.
        if SESSION_KEY in request.session:
            now = int(time.time())
            if now - request.session.get("renewed_at", 0) >= RENEWED_AFTER:
                request.session["renewed_at"] = now
                if request.user.is_authenticated:  # an account may have been closed meanwhile
                    session_renewed.send(sliding_session, request=request, user=request.user)
        return response

    return renew


@receiver(user_logged_in)
def begin_session(request: HttpRequest, **_signal: object) -> None:
    """Whoever signs in takes the sessions away that have ended."""
    request.session["renewed_at"] = int(time.time())
    import_string(f"{settings.SESSION_ENGINE}.SessionStore").clear_expired()
