"""Static files under hashed names; the imports between ES modules are rewritten to them too."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True

    def stored_name(self, name: str) -> str:
        """The hashed name, or the plain one where collectstatic has not run (tests, runserver)."""
        return super().stored_name(name) if self.hashed_files else name
