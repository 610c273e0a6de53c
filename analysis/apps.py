"""Django app configuration for analysis. Kinds of jobs are registered at startup."""

from django.apps import AppConfig


class AnalysisConfig(AppConfig):
    name = "analysis"

    def ready(self) -> None:
        from tasks import jobs

        jobs.MODULES["release"] = "analysis.export.bundle_job"
        jobs.MODULES["report"] = "analysis.documents.results"
        jobs.MODULES["bootstrap"] = jobs.MODULES["curves"] = "analysis.scores.findings"
        jobs.MODULES["differences"] = "analysis.models.differences"
        jobs.MODULES["examples"] = "analysis.examples.difficulty"
        jobs.MODULES["overlap"] = "analysis.scores.overlap"
        jobs.MODULES["sensitivity"] = "analysis.scores.sensitivity"
