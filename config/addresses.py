"""Whose pages an address belongs to, and which page stands above it."""

from django.urls import Resolver404, get_script_prefix, resolve

# What follows these in an address is a credential, or nearly one: a personal link, a link to a new
# password, an invitation, a link that confirms an address. Logs hold none of it: config/logs.py is
# made of this list, and deploy/nginx.conf is tested against every route
# (tests/config/test_logs.py).
SECRET = (
    "work",
    "join",
    "api/v1/join",
    "password/reset/key",
    "invitation",
    "account/address/confirm",
)

ANNOTATORS = ("/join/", "/work/", "/declined/")
RESEARCHERS = (
    "/studies/",
    "/new-study/",
    "/first-study/",
    "/tasks/",
    "/models/",
    "/sign-out/",
    "/password/",
    "/account/",
    "/users/",
)


def is_of_annotators(path: str) -> bool:
    return path.startswith(ANNOTATORS)


def is_of_researchers(path: str) -> bool:
    return path.startswith(RESEARCHERS)


def page_above(path: str) -> str:
    """The nearest address above: "/studies/pilot/status/" -> "/studies/pilot/"."""
    parts = path.strip("/").split("/")
    while parts:
        parts.pop()
        above = "/".join(["", *parts, ""])
        try:
            resolve(above)
        except Resolver404:
            continue
        return get_script_prefix().rstrip("/") + above
    return get_script_prefix()
