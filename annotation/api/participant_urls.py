"""Addresses of those who take part by a program: a study's link, and the steps of their work."""

from django.urls import path

from annotation.api import joining, participants

urlpatterns = [
    path("join/<str:code>/", joining.Join.as_view(), name="api_join"),
    path("work/", participants.State.as_view(), name="api_work"),
    path("work/history/", participants.History.as_view(), name="api_history"),
    path("work/consent/", participants.Consent.as_view(), name="api_consent"),
    path("work/begin/", participants.Begin.as_view(), name="api_begin"),
    path("work/own-questions/", participants.OwnQuestions.as_view(), name="api_own_questions"),
    path("work/comprehension/", participants.Comprehension.as_view(), name="api_comprehension"),
    path("work/answer/", participants.Answer.as_view(), name="api_answer"),
    path("work/continue/", participants.Continue.as_view(), name="api_continue"),
    path("work/wait/", participants.Wait.as_view(), name="api_wait"),
    path("work/questionnaire/", participants.Questionnaire.as_view(), name="api_questionnaire"),
    path("work/finish/", participants.Finish.as_view(), name="api_finish"),
    path("work/resume/", participants.Resume.as_view(), name="api_resume"),
    path("work/withdraw/", participants.Withdraw.as_view(), name="api_withdraw"),
    path("work/next-task/", participants.NextTask.as_view(), name="api_next_task"),
]
