"""Addresses of tables, exports and figures."""

from django.urls import path

from analysis import views

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
    path("studies/<str:name>/export.zip", views.export_zip, name="export_zip"),
]
