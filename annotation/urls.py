"""Addresses of the worker's pages; the researcher's stand in urls_researcher.py."""

from django.urls import include, path

from annotation.pages.worker import views as worker_views

urlpatterns = [
    path("", include("annotation.pages.researcher.urls")),
    path("join/<str:code>/", worker_views.landing, name="landing"),
    path("join/<str:code>/start/", worker_views.start, name="start"),
    path("work/<str:token>/", worker_views.work, name="work"),
    path("work/<str:token>/consent/", worker_views.consent, name="consent"),
    path("work/<str:token>/begin/", worker_views.begin, name="begin"),
    path("work/<str:token>/answer/", worker_views.answer, name="answer"),
    path("work/<str:token>/continue/", worker_views.go_on, name="continue"),
    path("work/<str:token>/comprehend/", worker_views.comprehend, name="comprehend"),
    path("work/<str:token>/wait/", worker_views.wait, name="wait"),
    path("work/<str:token>/ping/", worker_views.ping, name="ping"),
    path("work/<str:token>/questionnaire/", worker_views.exit_questionnaire, name="questionnaire"),
    path("work/<str:token>/come-back/", worker_views.come_back, name="come_back"),
    path("work/<str:token>/withdraw/", worker_views.withdraw, name="withdraw"),
    path("declined/", worker_views.declined, name="declined"),
    path("work/<str:token>/next-task/", worker_views.next_task, name="next_task"),
]
