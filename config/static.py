"""Static files under hashed names, our own without comments and needless blanks.

The imports between ES modules are rewritten to the hashed names too.
"""

from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from rcssmin import cssmin
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

MINIFY = {"css/": cssmin, "js/": jsmin}


class _Minified:
    """A storage whose scripts and style sheets are read without comments."""

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
        """Minify our own files on their way: a first visit is counted in kB on a phone."""
        ours = {
            name: (_Minified(storage, minify), path)
            for folder, minify in MINIFY.items()
            for name, (storage, path) in paths.items()
            if name.startswith(folder)
        }
        yield from super().post_process(paths | ours, *args, **options)

    def stored_name(self, name: str) -> str:
        """The hashed name, or the plain one where collectstatic has not run (tests, runserver)."""
        return super().stored_name(name) if self.hashed_files else name
