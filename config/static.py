"""Storage for static files with hashed names, which also joins and minifies our own files."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from rcssmin import cssmin
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

STYLE = re.compile(r'^@import "(.+)";$', re.M)
SCRIPT = re.compile(r'^import (?:(?:\* as )?(\{[^}]*\}|\w+) from )?"\./(.+)\.js";$', re.M)
EXPORT = re.compile(r"^export (?=(?:function|const|class) (\w+))", re.M)


def joined_styles(name: str, read: Callable[[str], str]) -> str:
    """Return a style sheet with all sheets it imports. `read` returns the text of a file."""
    return STYLE.sub(lambda found: joined_styles(found[1], read), read(name))


def joined_scripts(name: str, read: Callable[[str], str]) -> str:
    """Return a script with all scripts it imports, so that a page loads a single file.

    Each script becomes a function that returns its exports, so that no other names are shared.
    """
    sources: dict[str, str] = {}  # in order of evaluation

    def add(name: str) -> None:
        source = read(f"{name}.js")
        for _names, imported in SCRIPT.findall(source):
            if imported not in sources:
                add(imported)
        sources[name] = source

    add(name.removesuffix(".js"))
    if len(sources) == 1:
        return sources.popitem()[1]
    return "".join(_function(name, source) for name, source in sources.items())


def _function(name: str, source: str) -> str:
    exports = ", ".join(EXPORT.findall(source))
    body = SCRIPT.sub(lambda found: f"const {found[1] or '{}'} = {_variable(found[2])};", source)
    body = EXPORT.sub("", body)
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"


def _variable(name: str) -> str:
    return f"module_{name.replace('-', '_')}"


class _Joined:
    """Reads our style sheets and scripts from a storage, joined and without comments."""

    def __init__(self, storage: Storage):
        self.storage = storage

    def open(self, path: str) -> File:
        folder, _slash, name = path.rpartition("/")

        def read(name: str) -> str:
            with self.storage.open(f"{folder}/{name}") as file:
                return file.read().decode()

        if name.endswith(".css"):
            return ContentFile(cssmin(joined_styles(name, read)).encode())
        return ContentFile(jsmin(joined_scripts(name, read)).encode())


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    def post_process(
        self, paths: dict[str, tuple[Any, str]], *args: Any, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        """Join and minify our own files before hashing, to keep first visits small."""
        ours = {
            name: (_Joined(storage), path)
            for name, (storage, path) in paths.items()
            if name.startswith(("css/", "js/"))
        }
        yield from super().post_process(paths | ours, *args, **options)

    def stored_name(self, name: str) -> str:
        """Return the hashed name, or the plain name if collectstatic has not been run."""
        return super().stored_name(name) if self.hashed_files else name
