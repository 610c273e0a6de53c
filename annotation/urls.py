"""Addresses of the worker's pages; the researcher's stand in urls_researcher.py."""

from django.urls import include, path

from annotation import views_worker

urlpatterns = [
    path("", include("annotation.urls_researcher")),
    path("join/<str:code>/", views_worker.landing, name="landing"),
    path("join/<str:code>/start/", views_worker.start, name="start"),
    path("work/<str:token>/", views_worker.work, name="work"),
    path("work/<str:token>/consent/", views_worker.consent, name="consent"),
    path("work/<str:token>/begin/", views_worker.begin, name="begin"),
    path("work/<str:token>/answer/", views_worker.answer, name="answer"),
    path("work/<str:token>/continue/", views_worker.go_on, name="continue"),
    path("work/<str:token>/comprehend/", views_worker.comprehend, name="comprehend"),
    path("work/<str:token>/wait/", views_worker.wait, name="wait"),
    path("work/<str:token>/ping/", views_worker.ping, name="ping"),
    path("work/<str:token>/questionnaire/", views_worker.exit_questionnaire, name="questionnaire"),
    path("work/<str:token>/come-back/", views_worker.come_back, name="come_back"),
    path("work/<str:token>/withdraw/", views_worker.withdraw, name="withdraw"),
    path("declined/", views_worker.declined, name="declined"),
    path("work/<str:token>/next-task/", views_worker.next_task, name="next_task"),
]
