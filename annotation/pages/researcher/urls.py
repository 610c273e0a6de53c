"""Addresses of the researcher's pages."""

from django.urls import path

from annotation.pages import prolific_events
from annotation.pages.researcher import (
    annotators,
    dataset_import,
    gym_import,
    links,
    lists,
    pay,
    platforms,
    preview,
    studies,
    task_import,
    team,
    tokens,
)
from annotation.pages.researcher import tasks as task_pages

urlpatterns = [
    path("", studies.home, name="home"),
    path("studies/", studies.studies, name="studies"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("new-study/", studies.study_new, name="study_new"),
    path("studies/<str:name>/", studies.study, name="study"),
    path("studies/<str:name>/edit/", studies.study_edit, name="study_edit"),
    path("studies/<str:name>/recruit/", studies.recruit, name="recruit"),
    path("studies/<str:name>/people/", studies.people, name="people"),
    path("studies/<str:name>/design/", studies.study_design, name="study_design"),
    path("studies/<str:name>/progress/", studies.study_progress, name="study_progress"),
    path("studies/<str:name>/status/", studies.study_status, name="study_status"),
    path(
        "studies/<str:name>/preview/<int:scenario>/<str:step>/<int:position>/",
        preview.scenario_preview,
        name="scenario_preview",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/",
        annotators.participation,
        name="participation",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/decide/",
        annotators.decide,
        name="participation_decide",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/score/",
        annotators.show_score,
        name="participation_score",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/bonus/",
        annotators.bonus,
        name="participation_bonus",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/free-seat/",
        annotators.free_seat,
        name="participation_free_seat",
    ),
    path(
        "studies/<str:name>/annotators/<str:pseudonym>/review/",
        annotators.review,
        name="participation_review",
    ),
    path("studies/<str:name>/behaviour/", annotators.behaviour_page, name="behaviour"),
    path("studies/<str:name>/links/", links.links, name="personal_links"),
    path("studies/<str:name>/links.csv", links.links_file, name="personal_links_file"),
    path("studies/<str:name>/platforms/", platforms.page, name="platforms"),
    path("studies/<str:name>/platforms/panels/", platforms.panel_new, name="panel_new"),
    path(
        "studies/<str:name>/platforms/panels/<int:pk>/",
        platforms.panel_visit,
        name="panel_visit",
    ),
    path(
        "studies/<str:name>/platforms/prolific/",
        platforms.prolific_plan,
        name="prolific_plan",
    ),
    path(
        "studies/<str:name>/platforms/prolific/sync/",
        platforms.prolific_sync,
        name="prolific_sync",
    ),
    path(
        "studies/<str:name>/platforms/prolific/<int:pk>/",
        platforms.prolific_study,
        name="prolific_study",
    ),
    path("platforms/prolific/webhook/", prolific_events.receive, name="prolific_webhook"),
    path("studies/<str:name>/pay/", pay.pay_page, name="pay"),
    path("studies/<str:name>/pay/<int:pk>.csv", pay.batch_file, name="pay_batch_file"),
    path("studies/<str:name>/lists/", lists.lists, name="lists"),
    path("studies/<str:name>/seats/", lists.seats, name="seats"),
    path("studies/<str:name>/switches/", lists.switches, name="switches"),
    path("studies/<str:name>/budget/", lists.raise_budget, name="budget"),
    path("studies/<str:name>/team/", team.team, name="team"),
    path("tasks/", task_pages.tasks, name="tasks"),
    path("tasks/<str:name>/<int:version>/", task_pages.task, name="task"),
    path(
        "tasks/<str:name>/<int:version>/examples/", task_pages.task_examples, name="task_examples"
    ),
    path("tasks/<str:name>/<int:version>/task.toml", task_pages.task_card, name="task_card"),
    path("tasks/<str:name>/<int:version>/task.zip", task_pages.task_files, name="task_files"),
    path("tasks/<str:name>/<int:version>/edit/", task_pages.task_edit, name="task_edit"),
    path("tasks/<str:name>/<int:version>/checks/", task_pages.task_checks, name="task_checks"),
    path("tasks/<str:name>/<int:version>/team/", task_pages.task_team, name="task_team"),
    path("tasks/dataset/", dataset_import.dataset_import, name="dataset_import"),
    path("tasks/dataset/<uuid:pk>/", dataset_import.dataset_columns, name="dataset_columns"),
    path("tasks/gym/", gym_import.gym_import, name="gym_import"),
    path("tasks/gym/<uuid:pk>/", gym_import.gym_tasks, name="gym_tasks"),
    path("tasks/gym/<uuid:pk>/run/", gym_import.gym_run, name="gym_run"),
    path("tasks/import/", task_import.task_import, name="task_import"),
    path("tasks/import/<uuid:pk>/", task_import.task_upload, name="task_upload"),
    path("tasks/import/<uuid:pk>/files/", task_import.task_upload_files, name="task_upload_files"),
    path("tasks/import/<uuid:pk>/run/", task_import.task_upload_run, name="task_upload_run"),
    path(
        "tasks/import/<uuid:pk>/confirm/",
        task_import.task_upload_confirm,
        name="task_upload_confirm",
    ),
    path(
        "tasks/import/<uuid:pk>/discard/",
        task_import.task_upload_discard,
        name="task_upload_discard",
    ),
    path(
        "tasks/import/<uuid:pk>/preview/<int:number>/",
        task_import.task_upload_preview,
        name="task_upload_preview",
    ),
]
