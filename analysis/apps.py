"""The app of tables and files; it registers its kinds of jobs at start."""

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from tasks import jobs

        jobs.MODULES["release"] = "analysis.export.bundle_job"
        jobs.MODULES["report"] = "analysis.documents.results"
        jobs.MODULES["bootstrap"] = "analysis.scores.findings"
