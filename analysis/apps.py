"""The app of tables and files: its kinds of jobs are known from the start."""

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from analysis.export import bundle_job  # noqa: F401 (registers a kind of job)
        from analysis.tables import resampling  # noqa: F401 (the same)
