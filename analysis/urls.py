"""Addresses of tables, exports and figures."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from analysis.pages import api, compare, examples, figures, models, report, tables
from annotation.api.views import Unknown
from annotation.monitoring.sample import LARGEST_EXPORT
from tasks import uploads

urlpatterns = [
    path(
        "studies/<str:name>/human-performance/", tables.human_performance, name="human_performance"
    ),
    path(
        "studies/<str:name>/human-performance.<str:ext>",
        tables.human_performance_file,
        name="human_performance_file",
    ),
    path("studies/<str:name>/cross-task/", tables.cross_task_page, name="cross_task"),
    path(
        "studies/<str:name>/cross-task/<str:table>.csv",
        tables.cross_task_file,
        name="cross_task_file",
    ),
    path("studies/<str:name>/training/", tables.training_table, name="training_table"),
    path("studies/<str:name>/training.csv", tables.training_table_file, name="training_table_file"),
    path("studies/<str:name>/analysis/", tables.analysis, name="analysis"),
    path("studies/<str:name>/analysis/run/", tables.analysis_run, name="analysis_run"),
    path("studies/<str:name>/analysis/<str:table>.csv", tables.analysis_file, name="analysis_file"),
    path("studies/<str:name>/latex/", tables.latex_page, name="latex"),
    path("studies/<str:name>/latex/<str:table>.tex", tables.table_latex, name="table_latex"),
    path("studies/<str:name>/figures/", figures.figures, name="figures"),
    path(
        "studies/<str:name>/figures/<str:figure>/numbers/",
        figures.figure_table,
        name="figure_table",
    ),
    path(
        "studies/<str:name>/figures/<str:figure>/numbers.csv",
        figures.figure_numbers,
        name="figure_numbers",
    ),
    path(
        "studies/<str:name>/figures/<str:figure>.<str:ext>",
        figures.figure_file,
        name="figure_file",
    ),
    path("studies/<str:name>/sensitivity/", tables.sensitivity, name="sensitivity"),
    path(
        "studies/<str:name>/sensitivity.csv",
        tables.sensitivity_file,
        name="sensitivity_file",
    ),
    path("compare/", compare.page, name="compare"),
    path("compare/designs.csv", compare.design_file, name="compare_design"),
    path("compare/studies.<str:ext>", compare.file, name="compare_file"),
    path("planner/", tables.plan, name="planner"),
    path(
        "studies/<str:name>/preregistration/",
        report.preregistration_page,
        name="preregistration",
    ),
    path(
        "studies/<str:name>/preregistration.md",
        report.preregistration_file,
        name="preregistration_file",
    ),
    path("studies/<str:name>/report/", report.report_page, name="report"),
    path("studies/<str:name>/report/run/", report.report_run, name="report_run"),
    path("studies/<str:name>/report.css", report.report_style, name="report_style"),
    path("studies/<str:name>/report.md", report.report_file, name="report_file"),
    path(
        "studies/<str:name>/checklists/<str:form>.<str:ext>",
        report.checklist_file,
        name="checklist_file",
    ),
    path(
        "studies/<str:name>/report/sample/",
        uploads.takes_files(LARGEST_EXPORT, at_once=1)(report.sample_upload),
        name="sample_upload",
    ),
    path("studies/<str:name>/sample.<str:ext>", report.sample_file, name="sample_file"),
    path("studies/<str:name>/release/", report.release_page, name="release"),
    path("studies/<str:name>/release/prepare/", report.release_prepare, name="release_prepare"),
    path("studies/<str:name>/release/<int:pk>/run/", report.release_run, name="release_run"),
    path("studies/<str:name>/release.zip", report.release_zip, name="release_zip"),
    path("studies/<str:name>/examples/", examples.examples, name="examples"),
    path("studies/<str:name>/examples.csv", examples.examples_file, name="examples_file"),
    path("studies/<str:name>/gold-audit/", examples.audit, name="gold_audit"),
    path("studies/<str:name>/gold-audit.csv", examples.audit_file, name="gold_audit_file"),
    path("studies/<str:name>/examples/<int:pk>/", examples.example, name="example"),
    path("studies/<str:name>/examples/<int:pk>/comment/", examples.comment, name="example_comment"),
    path("studies/<str:name>/models/", models.study_models, name="study_models"),
    path(
        "studies/<str:name>/models/differences/",
        models.study_differences,
        name="study_differences",
    ),
    path(
        "studies/<str:name>/models/<str:table>.csv",
        models.study_models_file,
        name="study_models_file",
    ),
    path("studies/<str:name>/leaderboard/", tables.leaderboard_page, name="leaderboard"),
    path("studies/<str:name>/leaderboard.csv", tables.leaderboard_file, name="leaderboard_file"),
    path("models/", models.models, name="models"),
    path("models.csv", models.models_file, name="models_file"),
    path("models/uploads/<int:pk>/", models.model_upload, name="model_upload"),
    path("models/uploads/<int:pk>/run/", models.model_upload_run, name="model_upload_run"),
    path("models/<str:name>/", models.model, name="model"),
    path("models/<str:name>/scores.csv", models.model_file, name="model_file"),
    path(
        "models/<str:name>/archive/",
        models.archive_model,
        {"is_archived": True},
        name="model_archive",
    ),
    path(
        "models/<str:name>/unarchive/",
        models.archive_model,
        {"is_archived": False},
        name="model_unarchive",
    ),
    path("models/<str:name>/delete/", models.delete_model, name="model_delete"),
    path(
        "models/<str:name>/files/<int:pk>/delete/",
        models.delete_file,
        name="prediction_file_delete",
    ),
    path("api/v1/", include("analysis.pages.api_urls")),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", api.Docs.as_view(url_name="schema"), name="api_docs"),
    path("api/<path:path>", Unknown.as_view(), name="api_unknown"),
    path("studies/<str:name>/export.zip", tables.export_zip, name="export_zip"),
]
