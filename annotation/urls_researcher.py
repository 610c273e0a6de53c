"""Addresses of the researcher's pages."""

from django.urls import path

from annotation import (
    preview,
    views_import,
    views_links,
    views_lists,
    views_participation,
    views_pay,
    views_recruiters,
    views_researcher,
    views_team,
)
from annotation.recruiters.prolific import webhook

urlpatterns = [
    path("", views_researcher.home, name="home"),
    path("studies/", views_researcher.studies, name="studies"),
    path("new-study/", views_researcher.study_new, name="study_new"),
    path("studies/<str:name>/", views_researcher.study, name="study"),
    path("studies/<str:name>/edit/", views_researcher.study_edit, name="study_edit"),
    path("studies/<str:name>/progress/", views_researcher.study_progress, name="study_progress"),
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
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/free-seat/",
        views_participation.free_seat,
        name="participation_free_seat",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/review/",
        views_participation.review,
        name="participation_review",
    ),
    path("studies/<str:name>/behaviour/", views_participation.behaviour_page, name="behaviour"),
    path("studies/<str:name>/links/", views_links.links, name="personal_links"),
    path("studies/<str:name>/links.csv", views_links.links_file, name="personal_links_file"),
    path("studies/<str:name>/recruiters/", views_recruiters.recruiters, name="recruiters"),
    path("studies/<str:name>/recruiters/panels/", views_recruiters.panel_new, name="panel_new"),
    path(
        "studies/<str:name>/recruiters/panels/<int:pk>/",
        views_recruiters.panel_visit,
        name="panel_visit",
    ),
    path(
        "studies/<str:name>/recruiters/prolific/",
        views_recruiters.prolific_plan,
        name="prolific_plan",
    ),
    path(
        "studies/<str:name>/recruiters/prolific/sync/",
        views_recruiters.prolific_sync,
        name="prolific_sync",
    ),
    path(
        "studies/<str:name>/recruiters/prolific/<int:pk>/",
        views_recruiters.prolific_study,
        name="prolific_study",
    ),
    path("recruiters/prolific/webhook/", webhook.receive, name="prolific_webhook"),
    path("studies/<str:name>/pay/", views_pay.pay_page, name="pay"),
    path("studies/<str:name>/pay/<int:pk>.csv", views_pay.batch_file, name="pay_batch_file"),
    path("studies/<str:name>/lists/", views_lists.lists, name="lists"),
    path("studies/<str:name>/seats/", views_lists.seats, name="seats"),
    path("studies/<str:name>/switches/", views_lists.switches, name="switches"),
    path("studies/<str:name>/budget/", views_lists.raise_budget, name="budget"),
    path("studies/<str:name>/team/", views_team.team, name="team"),
    path("tasks/", views_researcher.tasks, name="tasks"),
    path("tasks/<str:name>/<int:version>/", views_researcher.task, name="task"),
    path(
        "tasks/<str:name>/<int:version>/checks/", views_researcher.task_checks, name="task_checks"
    ),
    path("tasks/<str:name>/<int:version>/team/", views_researcher.task_team, name="task_team"),
    path("tasks/import/", views_import.task_import, name="task_import"),
    path("tasks/import/<uuid:pk>/", views_import.task_upload, name="task_upload"),
    path("tasks/import/<uuid:pk>/files/", views_import.task_upload_files, name="task_upload_files"),
    path("tasks/import/<uuid:pk>/run/", views_import.task_upload_run, name="task_upload_run"),
    path(
        "tasks/import/<uuid:pk>/confirm/",
        views_import.task_upload_confirm,
        name="task_upload_confirm",
    ),
    path(
        "tasks/import/<uuid:pk>/discard/",
        views_import.task_upload_discard,
        name="task_upload_discard",
    ),
    path(
        "tasks/import/<uuid:pk>/preview/<int:number>/",
        views_import.task_upload_preview,
        name="task_upload_preview",
    ),
]
