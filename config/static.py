"""Static files storage with hashed names that also minifies our own files.

Unused rules are removed from Pico, the largest style sheet. Imports between ES modules are
rewritten to the hashed names.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from rcssmin import cssmin
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Parts of Pico selectors that our pages do not use (tests/config/test_static.py).
UNUSED = re.compile(
    r"data-tooltip|data-placement|dialog|\.modal|dropdown|role=switch|role=search|hgroup|aria-busy"
    r"|type=(?:range|color|date|time|month|week|search)|^\[data-theme=dark|\.grid|\.container"
    r"|\.contrast|:indeterminate|^\[role=link|^:host|aria-label=breadcrumb|aria-invalid=false"
)
EXCEPT = re.compile(r":not\([^()]*\)")  # a selector may exclude an unused part
LIST = re.compile(r",(?![^(]*\))")  # commas between selectors, not those inside :is(...)


def without_unused(css: str) -> str:
    """Return a minified style sheet without rules that match only parts listed in UNUSED."""
    rules = []
    for head, body in _blocks(css):
        if head.startswith(("@media", "@supports")):
            inner = without_unused(body)
            rules += [f"{head}{{{inner}}}"] if inner else []
            continue
        selectors = [head] if head.startswith("@") else LIST.split(head)
        used = [selector for selector in selectors if not UNUSED.search(EXCEPT.sub("", selector))]
        rules += [f"{','.join(used)}{{{body}}}"] if used else []
    return "".join(rules)


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    depth = start = opened = 0
    for part in re.finditer(r""""[^"]*"|'[^']*'|[{}]""", css):
        if part[0] == "{":
            opened = opened if depth else part.start()
            depth += 1
        elif part[0] == "}":
            depth -= 1
            if not depth:
                yield css[start:opened], css[opened + 1 : part.start()]
                start = part.end()


MINIFY = {"css/": cssmin, "js/": jsmin, "vendor/pico": without_unused}


class _Minified:
    def __init__(self, storage: Storage, minify: Any):
        self.storage, self.minify = storage, minify

    def open(self, path: str) -> File:
        with self.storage.open(path) as file:
            return ContentFile(self.minify(file.read().decode()).encode())


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True

    def post_process(
        self, paths: dict[str, tuple[Any, str]], *args: Any, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        """Minify our own files before hashing, to keep an annotator's first visit small."""
        ours = {
            name: (_Minified(storage, minify), path)
            for folder, minify in MINIFY.items()
            for name, (storage, path) in paths.items()
            if name.startswith(folder)
        }
        yield from super().post_process(paths | ours, *args, **options)

    def stored_name(self, name: str) -> str:
        """Return the hashed name, or the plain name if collectstatic has not run."""
        return super().stored_name(name) if self.hashed_files else name
