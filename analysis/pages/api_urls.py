"""Addresses of /api/v1/ that give results; those that give none are in annotation/api/urls.py."""

from django.urls import path

from analysis.pages import api, api_models, api_results, api_rows
from annotation.monitoring.sample import LARGEST_EXPORT
from tasks import uploads

urlpatterns = [
    path("", api.Index.as_view(), name="api_index"),
    path(
        "studies/<str:name>/human-performance/",
        api.HumanPerformance.as_view(),
        name="api_human_performance",
    ),
    path("studies/<str:name>/analysis/", api.Findings.as_view(), name="api_analysis"),
    path("studies/<str:name>/training/", api.TrainingTable.as_view(), name="api_training"),
    path(
        "studies/<str:name>/figures/<str:figure>/",
        api.FigureData.as_view(),
        name="api_figure",
    ),
    path("studies/<str:name>/models/", api.HumansAndModels.as_view(), name="api_study_models"),
    path(
        "studies/<str:name>/leaderboard/",
        api.Leaderboard.as_view(),
        name="api_leaderboard",
    ),
    path("studies/<str:name>/answers/", api_rows.Answers.as_view(), name="api_answers"),
    path("studies/<str:name>/spans/", api_rows.Spans.as_view(), name="api_spans"),
    path(
        "studies/<str:name>/cross-task/<str:table>/",
        api_results.CrossTask.as_view(),
        name="api_cross_task",
    ),
    path(
        "studies/<str:name>/sensitivity/", api_results.Sensitivity.as_view(), name="api_sensitivity"
    ),
    path(
        "studies/<str:name>/latex/<str:table>.tex",
        api_results.TableLatex.as_view(),
        name="api_table_latex",
    ),
    path("studies/<str:name>/examples/", api_results.Examples.as_view(), name="api_examples"),
    path(
        "studies/<str:name>/examples/<int:pk>/comments/",
        api_rows.Comments.as_view(),
        name="api_comments",
    ),
    path("studies/<str:name>/gold-audit/", api_results.GoldAudit.as_view(), name="api_gold_audit"),
    path(
        "studies/<str:name>/preregistration.md",
        api_results.Preregistration.as_view(),
        name="api_preregistration",
    ),
    path("studies/<str:name>/report.md", api_results.ReportText.as_view(), name="api_report_text"),
    path("studies/<str:name>/report/", api_results.Report.as_view(), name="api_report"),
    path(
        "studies/<str:name>/checklists/<str:form>.tex",
        api_rows.ChecklistLatex.as_view(),
        name="api_checklist_latex",
    ),
    path(
        "studies/<str:name>/checklists/<str:form>/",
        api_rows.ChecklistForm.as_view(),
        name="api_checklist",
    ),
    path(
        "studies/<str:name>/sample/",
        uploads.takes_files(LARGEST_EXPORT)(api_rows.Sample.as_view()),
        name="api_sample",
    ),
    path("studies/<str:name>/export.zip", api_results.ExportZip.as_view(), name="api_export_zip"),
    path("studies/<str:name>/release/", api_results.Release.as_view(), name="api_release"),
    path(
        "studies/<str:name>/release.zip", api_results.ReleaseZip.as_view(), name="api_release_zip"
    ),
    path("compare/", api_results.SeveralStudies.as_view(), name="api_compare"),
    path("planner/", api_results.Planner.as_view(), name="api_planner"),
    path(
        "models/",
        uploads.takes_files(uploads.MAX_BYTES)(api.ModelScores.as_view()),
        name="api_models",
    ),
    path("models/<str:name>/", api_models.OneModel.as_view(), name="api_model"),
    path(
        "models/<str:name>/archive/",
        api_models.ArchiveModel.as_view(is_archived=True),
        name="api_model_archive",
    ),
    path(
        "models/<str:name>/unarchive/",
        api_models.ArchiveModel.as_view(is_archived=False),
        name="api_model_unarchive",
    ),
    path(
        "models/<str:name>/predictions/",
        api_models.Predictions.as_view(),
        name="api_predictions",
    ),
    path(
        "models/<str:name>/files/<int:pk>/",
        api_models.OnePredictionFile.as_view(),
        name="api_prediction_file",
    ),
]
