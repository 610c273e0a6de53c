"""Addresses of tables, exports and figures."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from analysis import api, views, views_examples

urlpatterns = [
    path(
        "studies/<str:name>/human-performance/", views.human_performance, name="human_performance"
    ),
    path(
        "studies/<str:name>/human-performance.<str:ext>",
        views.human_performance_file,
        name="human_performance_file",
    ),
    path("studies/<str:name>/training/", views.training_table, name="training_table"),
    path("studies/<str:name>/training.csv", views.training_table_file, name="training_table_file"),
    path("studies/<str:name>/analysis/", views.analysis, name="analysis"),
    path("studies/<str:name>/analysis/<str:table>.csv", views.analysis_file, name="analysis_file"),
    path("studies/<str:name>/examples/", views_examples.examples, name="examples"),
    path("studies/<str:name>/examples/<int:pk>/", views_examples.example, name="example"),
    path("api/studies/", api.Studies.as_view(), name="api_studies"),
    path("api/studies/<str:name>/", api.OneStudy.as_view(), name="api_study"),
    path(
        "api/studies/<str:name>/human-performance/",
        api.HumanPerformance.as_view(),
        name="api_human_performance",
    ),
    path("api/studies/<str:name>/analysis/", api.Findings.as_view(), name="api_analysis"),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", api.Docs.as_view(url_name="schema"), name="api_docs"),
    path("studies/<str:name>/export.zip", views.export_zip, name="export_zip"),
]
