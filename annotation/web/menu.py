"""The tabs on a study's pages, and the views of a page, which are selected by `?show=`.

Pages that the reader may not open are hidden (models.study.RIGHTS). Results pages belong to
`analysis`, so menu.toml only contains the names of their URLs. This module also finds the section
of the documents that explains a page (help.toml).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Study
from annotation.web.posts import View


@dataclass(frozen=True, eq=False)
class Page:
    """A page of a study, with the right that it requires.

    `below` lists the URL names of pages that the menu does not link to, such as those about one
    annotator. `views` lists the views of the page: the value of `?show=`, the name and the required
    right.
    """

    name: str
    address: str
    right: str = "see"
    below: Sequence[str] = ()
    views: Sequence[tuple[str, str, str]] = ()
    unless: str = ""  # "draft" or "real" if such studies do not have this page

    def holds(self, address: str) -> bool:
        return address in (self.address, *self.below)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


TABS = {tab: [Page(**page) for page in pages] for tab, pages in _read("menu.toml").items()}


def for_study(study: Study, address: str, parameters: QueryDict) -> dict[str, Any]:
    """Return the menu for the page with URL name `address`, as seen by the study's reader.

    It has all `tabs`, the pages of the current tab (`subtabs`), and the `views` of the page. A link
    has a `name`, a `url`, and in `current` the value of aria-current, or "".
    """
    missing = {"draft"} if study.is_draft else set()
    missing |= set() if study.rehearsal else {"real"}

    def link(page: Page, name: str = "", holds: bool = False) -> dict[str, str]:
        current = (
            "page" if address == page.address else "true" if holds or page.holds(address) else ""
        )
        url = reverse(page.address, args=[study.name])
        return {"name": name or page.name, "url": url, "current": current}

    def view_link(page: Page, show: str, name: str) -> dict[str, str]:
        query = {"show": show, "kind": str(parameters.get("kind", ""))}
        query = {key: value for key, value in query.items() if value}
        current = "page" if address == page.address and parameters.get("show", "") == show else ""
        url = reverse(page.address, args=[study.name], query=query)
        return {"name": name, "url": url, "current": current}

    tabs, subtabs, views = [], [], []
    for name, pages in TABS.items():
        allowed = [p for p in pages if p.right in study.rights and p.unless not in missing]
        current = next((page for page in pages if page.holds(address)), None)
        tabs += [link(page, name, current is not None) for page in allowed[:1]]
        if current is None:
            continue
        subtabs = [link(page) for page in allowed]
        views = [
            view_link(current, show, name)
            for show, name, right in current.views
            if right in study.rights
        ]
    choices = {"subtabs": subtabs, "views": views}
    several = {name: links if len(links) > 1 else [] for name, links in choices.items()}
    return {"study": study, "tabs": tabs, **several}


def select(default: View, **views: View) -> View:
    """Return a page that shows the view selected by `?show=`, or else `default`."""

    def view(request: HttpRequest, **names: Any) -> HttpResponse:
        return views.get(request.GET.get("show", ""), default)(request, **names)

    return view


@login_required
def moved(
    request: HttpRequest, to: str, show: str = "", by: str = "", **names: Any
) -> HttpResponse:
    """Redirect to the page `to`, which checks access, and its view. `by` renames an old `show`."""
    query = request.GET.copy()
    if by and "show" in query:
        query.setlist(by, query.getlist("show"))
    if show:
        query["show"] = show
    return redirect(reverse(to, kwargs=names, query=query))


def posted(view: View, **page: str) -> View:
    """Return the view of a form on another page (`to`, `show` as in `moved`). GET leads there."""

    @wraps(view)
    def answer(request: HttpRequest, **names: Any) -> HttpResponse:
        is_read = request.method == "GET"
        return moved(request, **page, **names) if is_read else view(request, **names)

    return answer


PLACES = {name: place for place, names in _read("help.toml").items() for name in names}


def place_of(url_name: str | None, show: str = "") -> str:
    """Return the path below /help/ that explains a page, or "" for the table of contents."""
    return PLACES.get(f"{url_name} {show}", PLACES.get(url_name or "", ""))
