"""Addresses of the annotators' pages."""

from django.urls import path

from annotation.participation import pages as views

urlpatterns = [
    path("join/<str:code>/", views.landing, name="landing"),
    path("join/<str:code>/start/", views.start, name="start"),
    path("join/<str:code>/refused/", views.refused, name="refused"),
    path("work/<str:token>/", views.work, name="work"),
    path("work/<str:token>/consent/", views.consent, name="consent"),
    path("work/<str:token>/begin/", views.begin, name="begin"),
    path("work/<str:token>/try/<int:number>/", views.try_tool, name="try_tool"),
    path("work/<str:token>/answer/", views.answer, name="answer"),
    path("work/<str:token>/continue/", views.go_on, name="continue"),
    path("work/<str:token>/comprehend/", views.comprehend, name="comprehend"),
    path("work/<str:token>/wait/", views.wait, name="wait"),
    path("work/<str:token>/ping/", views.ping, name="ping"),
    path("work/<str:token>/draft/", views.draft, name="draft"),
    path("work/<str:token>/questions/", views.own, name="own_questions"),
    path("work/<str:token>/questionnaire/", views.exit_questionnaire, name="questionnaire"),
    path("work/<str:token>/resume/", views.resume, name="resume"),
    path("work/<str:token>/withdraw/", views.withdraw, name="withdraw"),
    path("work/<str:token>/data/", views.own_data, name="own_data"),
    path("declined/", views.declined, name="declined"),
    path("work/<str:token>/next-task/", views.next_task, name="next_task"),
]
