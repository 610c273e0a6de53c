"""Which pages are for annotators or researchers, and a URL's parent page."""

from django.urls import Resolver404, get_script_prefix, resolve

# What follows these in a URL is a credential, or nearly one: a personal link, a password reset
# link, an invitation, a link that confirms an email address. config/logs.py removes them from logs,
# and tests/config/test_logs.py checks deploy/nginx.conf against every route.
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
    """Return the nearest parent page: "/studies/pilot/status/" -> "/studies/pilot/"."""
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
