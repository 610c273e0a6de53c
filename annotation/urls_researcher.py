"""Addresses of the researcher's pages."""

from django.urls import path

from annotation import preview, views_links, views_participation, views_researcher

urlpatterns = [
    path("", views_researcher.home, name="home"),
    path("studies/", views_researcher.studies, name="studies"),
    path("new-study/", views_researcher.study_new, name="study_new"),
    path("studies/<str:name>/", views_researcher.study, name="study"),
    path("studies/<str:name>/edit/", views_researcher.study_edit, name="study_edit"),
    path("studies/<str:name>/status/", views_researcher.study_status, name="study_status"),
    path(
        "studies/<str:name>/preview/<int:scenario>/<str:step>/<int:position>/",
        preview.scenario_preview,
        name="scenario_preview",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/",
        views_participation.participation,
        name="participation",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/decide/",
        views_participation.decide,
        name="participation_decide",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/bonus/",
        views_participation.bonus,
        name="participation_bonus",
    ),
    path("studies/<str:name>/links/", views_links.links, name="personal_links"),
    path("studies/<str:name>/links.csv", views_links.links_file, name="personal_links_file"),
    path("tasks/", views_researcher.tasks, name="tasks"),
    path("tasks/<str:name>/<int:version>/", views_researcher.task, name="task"),
]
