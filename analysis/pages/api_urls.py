"""Addresses of /api/v1/ that give results; those that give none are in annotation/api/urls.py."""

from django.urls import path

from analysis.pages import api

urlpatterns = [
    path("studies/", api.Studies.as_view(), name="api_studies"),
    path("studies/<str:name>/", api.OneStudy.as_view(), name="api_study"),
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
    path("models/", api.ModelScores.as_view(), name="api_models"),
]
