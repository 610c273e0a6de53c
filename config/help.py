"""Public help pages under /help/, rendered from docs/, and a search across studies and help.

The URL of a page is the path of its document without `.md`; docs/README.md is /help/ itself.
Anchors follow GitHub's rules, so that links work in both places.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import nh3
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from annotation.models import Participation, Study
from annotation.monitoring.participants import text_for_payers
from annotation.web.access import ResearcherRequest, signed_in
from tasks.models import Example, Split

DOCS = settings.BASE_DIR / "docs"
TAGS = {"p", "br", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "a", "img", "h1",
        "h2", "h3", "h4", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip
PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}
MOST = 8  # results of each type in a search
SCROLLED = '<div class="overflow-auto" tabindex="0" role="region" aria-label="Table">'
COMMENT = re.compile(r"^<!--.*?-->\n?", re.M | re.S)


@dataclass(frozen=True)
class Page:
    """A document as HTML, with its title, and the anchor and text of each h2 heading."""

    title: str
    html: SafeString
    contents: tuple[tuple[str, str], ...]


@cache
def documents() -> dict[str, str]:
    """Map URLs, relative to /help/, to the paths of documents in docs/."""
    files = {}
    for path in sorted(DOCS.rglob("*.md")):
        file = path.relative_to(DOCS).as_posix()
        files[_address(file)] = file
    return files


def anchors(markdown: str) -> list[str]:
    """Return the anchors of a document's headings in order, as GitHub generates them."""
    return [anchor for anchor, _text, _token in _headings(_parser().parse(markdown))]


@require_safe
def help_page(request: HttpRequest, address: str = "") -> HttpResponseBase:
    if address in _pictures():
        return FileResponse(
            (DOCS / address).open("rb"), content_type=PICTURES[Path(address).suffix]
        )
    if address not in documents():
        raise Http404
    page = rendered(documents()[address])
    return render(request, "help.html", {"page": page, "is_index": not address})


@signed_in("GET")
def search(request: ResearcherRequest) -> HttpResponse:
    query = " ".join(request.GET.get("q", "").split())
    results = list(_results(request.user, query)) if query else []
    return render(request, "search.html", {"query": query, "results": results})


def _results(user: User, query: str) -> Iterator[tuple[str, str, str]]:
    visible_to = Study.objects.visible_to
    visible, readable, paid = (visible_to(user, right) for right in ("see", "read", "pay"))
    for study in visible.filter(Q(title__icontains=query) | Q(name__icontains=query))[:MOST]:
        yield "Study", study.title, reverse("study", args=[study.name])
    by_pseudonym = Q(pseudonym__iexact=query, study__in=visible.values("pk"))
    by_code = Q(completion_code__iexact=query, study__in=paid.values("pk"))
    people = Participation.objects.select_related("study", "scenario__task")
    for person in people.filter(by_pseudonym | by_code)[:MOST]:
        if query.casefold() in text_for_payers(person).casefold():
            address = reverse("participation", args=[person.study.name, person.pseudonym])
            yield "Annotator", f"{person}, {person.study.title}", address
    tests = Example.objects.filter(split__kind=Split.Kind.TEST, source_id__iexact=query)
    for study in readable.filter(pk__in=tests.values("split__task__studies"))[:MOST]:
        for example in tests.filter(split__task__in=study.tasks.all()):
            address = reverse("example", args=[study.name, example.pk])
            yield "Item", f"{example.source_id}, {study.title}", address
    for address, file in documents().items():
        page = rendered(file)
        for anchor, title in (("", page.title), *page.contents):
            if query.casefold() in title.casefold():
                label = f"{page.title}: {title}" if anchor else title
                yield "Help", label, f"{reverse('help_index')}{address}#{anchor}"


@cache
def rendered(file: str) -> Page:
    """Render a document, with caching, because documents don't change while a server runs."""
    parser = _parser()
    tokens = parser.parse(COMMENT.sub("", (DOCS / file).read_text(encoding="utf-8")))
    title, contents = "", []
    for anchor, heading, token in _headings(tokens):
        token.attrSet("id", anchor)
        if token.tag == "h1":
            title = heading
        elif token.tag == "h2":
            contents.append((anchor, heading))
    for token in tokens:
        _rewrite_links(token.children or [], posixpath.dirname(file))
    html = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=TAGS,
        attributes={
            "a": {"href"}, "img": {"src", "alt"}, **{f"h{level}": {"id"} for level in range(1, 5)},
        },
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )  # fmt: skip
    html = html.replace("<table>", f"{SCROLLED}<table>").replace("</table>", "</table></div>")
    return Page(title, mark_safe(html), tuple(contents))


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _headings(tokens: Sequence[Token]) -> list[tuple[str, str, Token]]:
    """Return the anchor and text of each heading, with its token."""
    counts: Counter[str] = Counter()
    anchored = []
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            heading = "".join(part.content for part in following.children or [])
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            number = f"-{counts[anchor]}" if counts[anchor] else ""
            anchored.append((f"{anchor}{number}", heading, token))
            counts[anchor] += 1
    return anchored


def _rewrite_links(tokens: Sequence[Token], folder: str) -> None:
    for token in tokens:
        if token.type == "image":
            token.attrSet("src", _link_target(str(token.attrGet("src")), folder))
        elif token.type == "link_open":
            target = _link_target(str(token.attrGet("href")), folder)
            token.attrSet("href", target)
            if not target:
                del token.attrs["href"]


def _link_target(target: str, folder: str) -> str:
    """Resolve a link in a document of this folder. Return "" if its target isn't served."""
    if re.match(r"[a-z]+:|#", target):
        return target
    path, hash_, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(folder, path))
    if file in _pictures():
        return reverse("help", args=[file])
    address = _address(file)
    if documents().get(address) != file:
        return ""
    return (reverse("help", args=[address]) if address else reverse("help_index")) + hash_ + anchor


def _address(file: str) -> str:
    return f"{file.removesuffix('.md')}/".removesuffix("README/")


@cache
def _pictures() -> frozenset[str]:
    return frozenset(
        path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.suffix in PICTURES
    )
