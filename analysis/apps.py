"""The app of tables and files: its kinds of jobs are known from the start."""

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from tasks import jobs

        jobs.MODULES["release"] = "analysis.export.bundle_job"
        jobs.MODULES["report"] = "analysis.documents.results"
        jobs.MODULES["bootstrap"] = "analysis.tables.findings"
