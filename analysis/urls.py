"""URLs of tables, exports and figures, and of the API views that return results.

The other URLs of /api/v1/ are in annotation/urls_api.py.
"""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from analysis.cross_task import pages as cross_task_pages
from analysis.documents import api as documents
from analysis.documents import pages as report
from analysis.examples import pages as examples
from analysis.export import api
from analysis.export import pages as export_pages
from analysis.figures import pages as figures
from analysis.models import api as api_models
from analysis.models import pages as models
from analysis.planning import pages as planning_pages
from analysis.scores import api as results
from analysis.scores import means
from analysis.scores import pages as tables
from annotation.monitoring.sample import LARGEST_EXPORT
from annotation.web import menu
from annotation.web.views import Unknown, file_view, twin
from tasks import uploads

# Views with a former address below studies/NAME/, and the page that replaces them.
MOVED = {
    "training": "human_performance", "figures": "human_performance",
    "sensitivity": "human_performance", "cross_task": "analysis", "leaderboard": "study_models",
    "gold_audit": "examples", "overlap": "study_models", "latex": "report",
}  # fmt: skip
# Below studies/NAME/.
STUDY_URLS = [
    *(path(f"{view.replace('_', '-')}/", menu.moved, {"to": page, "show": view}, name=view)
      for view, page in MOVED.items()),
    path("human-performance/", menu.select(
        tables.human_performance, training=tables.training_table, figures=figures.figures,
        sensitivity=tables.sensitivity), name="human_performance"),
    path("human-performance.<str:ext>", tables.human_performance_file,
         name="human_performance_file"),
    path("cross-task/<str:table>.csv", cross_task_pages.cross_task_file, name="cross_task_file"),
    path("training.csv", tables.training_table_file, name="training_table_file"),
    path("analysis/", menu.select(tables.analysis, cross_task=cross_task_pages.cross_task_page),
         name="analysis"),
    path("analysis/run/", tables.analysis_run, name="analysis_run"),
    path("analysis/<str:table>.csv", report.table_file, name="analysis_file"),
    path("latex/<str:table>.tex", report.table_latex, name="table_latex"),
    path("figures/<str:figure>/numbers/", figures.figure_table, name="figure_table"),
    path("figures/<str:figure>/numbers.csv", figures.figure_numbers, name="figure_numbers"),
    path("figures/<str:figure>.<str:ext>", figures.figure_file, name="figure_file"),
    path("sensitivity.csv", report.table_file, {"table": "sensitivity"}, name="sensitivity_file"),
    path("overlap.csv", report.table_file, {"table": "overlap"}, name="overlap_file"),
    path("preregistration/", report.preregistration_page, name="preregistration"),
    path("preregistration.md", report.preregistration_file, name="preregistration_file"),
    path("report/", menu.select(report.report_page, latex=report.latex_page), name="report"),
    path("report/run/", report.report_run, name="report_run"),
    path("report.css", report.report_style, name="report_style"),
    path("report.md", report.report_file, name="report_file"),
    path("checklists/<str:form>.<str:ext>", report.checklist_file, name="checklist_file"),
    path("report/sample/", uploads.takes_files(LARGEST_EXPORT, at_once=1)(report.sample_upload),
         name="sample_upload"),
    path("sample.<str:ext>", report.sample_file, name="sample_file"),
    path("release/", export_pages.release_page, name="release"),
    path("release/prepare/", export_pages.release_prepare, name="release_prepare"),
    path("release/<int:pk>/run/", export_pages.release_run, name="release_run"),
    path("release.zip", export_pages.release_zip, name="release_zip"),
    path("examples/", menu.select(examples.examples, gold_audit=examples.audit), name="examples"),
    path("examples.csv", examples.examples_file, name="examples_file"),
    path("gold-audit.csv", report.table_file, {"table": "gold-audit"}, name="gold_audit_file"),
    path("examples/<int:pk>/", examples.example, name="example"),
    path("examples/<int:pk>/comment/", examples.comment, name="example_comment"),
    path("models/", menu.select(
        models.study_models, leaderboard=models.leaderboard_page,
        differences=models.study_differences, overlap=tables.error_overlap), name="study_models"),
    path("models/differences/", menu.moved, {"to": "study_models", "show": "differences"},
         name="study_differences"),
    path("models/<str:table>.csv", models.study_models_file, name="study_models_file"),
    path("leaderboard.csv", report.table_file, {"table": "leaderboard"}, name="leaderboard_file"),
    path("export.zip", export_pages.export_zip, name="export_zip"),
]  # fmt: skip
API_OF_STUDY = [
    path("human-performance/", results.HumanPerformance.as_view(), name="api_human_performance"),
    path("analysis/", results.Findings.as_view(), name="api_analysis"),
    path("training/", results.TrainingTable.as_view(), name="api_training"),
    path("figures/<str:figure>/", figures.FigureData.as_view(), name="api_figure"),
    path("models/", api_models.HumansAndModels.as_view(), name="api_study_models"),
    path("leaderboard/", api_models.Leaderboard.as_view(), name="api_leaderboard"),
    path("answers/", api.Answers.as_view(), name="api_answers"),
    path("spans/", api.Spans.as_view(), name="api_spans"),
    path("cross-task/<str:table>/", cross_task_pages.CrossTask.as_view(), name="api_cross_task"),
    path("sensitivity/", results.Sensitivity.as_view(), name="api_sensitivity"),
    path("overlap/", results.TableDetail.as_view(), name="api_overlap"),
    path("strata/", results.TableDetail.as_view(table=means.STRATA), name="api_strata"),
    path("latex/<str:table>.tex", documents.TableLatex.as_view(), name="api_table_latex"),
    path("examples/", examples.Examples.as_view(), name="api_examples"),
    path("examples/<int:pk>/comments/", examples.Comments.as_view(), name="api_comments"),
    path("gold-audit/", examples.GoldAudit.as_view(), name="api_gold_audit"),
    path("preregistration.md", file_view(report.preregistration_file, "text/markdown", str,
         "The preregistration"), name="api_preregistration"),
    path("report.md", file_view(report.report_file, "text/markdown", str, "The report"),
         name="api_report_text"),
    path("report/", documents.Report.as_view(), name="api_report"),
    path("sample/", uploads.takes_files(LARGEST_EXPORT)(documents.Sample.as_view()),
         name="api_sample"),
    path("export.zip", file_view(export_pages.export_zip, "application/zip", bytes,
         "All CSVs with verify.py, streamed"), name="api_export_zip"),
    path("release/", api.Release.as_view(), name="api_release"),
    path("release.zip", api.ReleaseZip.as_view(), name="api_release_zip"),
]  # fmt: skip
# Below models/NAME/.
MODEL_URLS = [
    path("", models.model, name="model"),
    path("scores.csv", models.models_file, name="model_file"),
    *(path(post.path, view, name=post.row) for post, view in models.POSTS.items()),
    path("delete/", models.delete_model, name="model_delete"),
    path("files/<int:pk>/delete/", models.delete_file, name="prediction_file_delete"),
]
API_OF_MODEL = [
    path("", api_models.ModelDetail.as_view(), name="api_model"),
    *(path(post.path, twin(post).as_view(), name=f"api_{post.row}") for post in models.POSTS),
    path("predictions/", api_models.Predictions.as_view(), name="api_predictions"),
    path("files/<int:pk>/", api_models.PredictionFileDetail.as_view(), name="api_prediction_file"),
]
API = [
    path("studies/<str:name>/", include(API_OF_STUDY)),
    path("compare/", figures.SeveralStudies.as_view(), name="api_compare"),
    path("planner/", planning_pages.Planner.as_view(), name="api_planner"),
    path("models/", uploads.takes_files(uploads.MAX_BYTES)(api_models.ModelScores.as_view()),
         name="api_models"),
    path("models/<str:name>/", include(API_OF_MODEL)),
]  # fmt: skip
urlpatterns = [
    path("studies/<str:name>/", include(STUDY_URLS)),
    path("compare/", figures.compare_page, name="compare"),
    path("compare/designs.csv", figures.compare_design, name="compare_design"),
    path("compare/studies.<str:ext>", figures.compare_file, name="compare_file"),
    path("planner/", planning_pages.plan, name="planner"),
    path("models/", models.models, name="models"),
    path("models.csv", models.models_file, name="models_file"),
    path("models/uploads/<int:pk>/", models.model_upload, name="model_upload"),
    path("models/<str:name>/", include(MODEL_URLS)),
    path("api/v1/", include(API)),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", api.Docs.as_view(url_name="schema"), name="api_docs"),
    path("api/<path:path>", Unknown.as_view(), name="api_unknown"),
]
