"""The first account of an empty server, created by whoever can read what the server prints.

Each worker prints the same code: it is made of SECRET_KEY and the id of the database, so none is
stored, and it is worth nothing once the row of the installation says that it was used.
"""

import base64
import hashlib
import hmac
import sys

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.pages.researcher.accounts import FirstOwnerForm
from tasks.clock import database_now
from tasks.models import Installation

GROUP = 4  # characters of the code between two hyphens


class NoMore(Exception):
    """The first account was created meanwhile."""


def code() -> str:
    """80 bits in capitals and digits: "ABCD-EFGH-IJKL-MNOP"."""
    message = f"first owner of {Installation.objects.get().folder_id}".encode()
    digest = hmac.new(settings.SECRET_KEY.encode(), message, hashlib.sha256).digest()
    text = base64.b32encode(digest[:10]).decode()
    return "-".join(text[start : start + GROUP] for start in range(0, len(text), GROUP))


def is_right(typed: str) -> bool:
    """Is it the code, however its letters and hyphens were typed?"""
    plain = "".join(character for character in typed.upper() if character.isalnum())
    return constant_time_compare(plain, code().replace("-", ""))


def is_awaited() -> bool:
    """Has nobody an account yet, and has nobody had the first one?"""
    return not User.objects.exists() and Installation.objects.filter(owned_since=None).exists()


def create(user: User) -> None:
    """Store the first account, which may do everything. Raises NoMore."""
    with transaction.atomic():
        # Two first visits at once: the row is locked by the first, and no longer the second's.
        mine = Installation.objects.filter(owned_since=None).update(owned_since=database_now())
        if not mine or User.objects.exists():
            raise NoMore
        user.is_staff = user.is_superuser = True
        user.save()


def say_code() -> None:
    """Called when a server starts: print the code where the first account is awaited."""
    try:
        if not is_awaited():
            return
        sentence = (
            "Nobody has an account yet. Open /first-owner/ and enter this code, which works once:"
            f" {code()}"
        )
    except DatabaseError:
        sentence = "The database has no tables yet: run python manage.py migrate."
    print(sentence, file=sys.stderr, flush=True)


@require_http_methods(["GET", "POST"])
@never_cache
@sensitive_post_parameters()
def first_visit(request: HttpRequest) -> HttpResponse:
    """GET asks for the code that the server printed; POST creates the first account.

    404 once there is one: so it is for whoever comes second of two at once.
    """
    if not is_awaited():
        raise Http404
    form = FirstOwnerForm(is_right, request.POST or None)
    if not form.is_valid():
        context = {"form": form}
        return render(
            request, "account/first_owner.html", context, status=422 if request.POST else 200
        )
    user = form.save(commit=False)
    try:
        create(user)
    except NoMore:
        raise Http404 from None
    login(request, user)
    return redirect("studies")
