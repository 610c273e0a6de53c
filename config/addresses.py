"""Classify URLs as pages of annotators or researchers, and find the parent of a page."""

from django.urls import Resolver404, get_script_prefix, resolve

# The path segment after each of these prefixes is a secret: a personal link, a password reset key,
# an invitation, or an email confirmation token. config/logs.py removes these segments from logs.
# tests/config/test_logs.py checks that deploy/nginx.conf does the same for every route.
SECRET = (
    "work",
    "join",
    "api/v1/join",
    "password/reset/key",
    "invitation",
    "account/address/confirm",
)

ANNOTATORS = ("/join/", "/work/", "/declined/", "/images/")
RESEARCHERS = (
    "/studies/", "/new-study/", "/first-study/", "/tasks/", "/models/", "/sign-out/", "/password/",
    "/account/", "/users/",
)  # fmt: skip


def is_of_annotators(path: str) -> bool:
    return path.startswith(ANNOTATORS)


def is_of_researchers(path: str) -> bool:
    return path.startswith(RESEARCHERS)


def page_above(path: str) -> str:
    """Return the URL of the nearest parent page: "/studies/pilot/status/" -> "/studies/pilot/"."""
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
