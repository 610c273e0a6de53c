"""URLs under /api/v1/, except those for results, which are in analysis/urls.py."""

from typing import Any

from django.urls import path
from rest_framework.parsers import MultiPartParser

from annotation.audit import pages as audit_pages
from annotation.library import api as tasks
from annotation.library import tasks as library
from annotation.monitoring import api as annotators
from annotation.notices import pages as notices
from annotation.participation import api as participants
from annotation.participation import api_joining as joining
from annotation.payout import pages as money
from annotation.prolific import pages as platforms
from annotation.recruitment import pages as lists
from annotation.simulation import pages as simulation_pages
from annotation.study import api as studies
from annotation.study import lifecycle
from annotation.urls import POSTS
from annotation.web import access, jobs
from annotation.web.posts import Post
from annotation.web.views import Twin, twin
from tasks import uploads

STUDY = "studies/<str:name>/"
ALL = STUDY + "participations/"
ONE = ALL + "<str:pseudonym>/"
PROLIFIC = STUDY + "prolific/"
WEBHOOK = STUDY + "webhooks/<int:pk>/"
TASK = "tasks/<str:name>/<int:version>/"
files = uploads.takes_files(uploads.MAX_BYTES, uploads.MAX_FILES)

# Counterparts of pages' POST requests that have a GET method or additional fields.
TWINS: dict[type[Post[Any]], type[Twin]] = {
    view.step: view for view in (annotators.Decide, lists.Lists, lists.Switches)
}
checks = twin(library.TaskChecks).as_view(parser_classes=[MultiPartParser])

# For programs that take part: joining through a study's link, and each step after that.
PARTICIPANTS = [
    path("join/<str:code>/", joining.Join.as_view(), name="api_join"),
    path("work/", participants.State.as_view(), name="api_work"),
    path("work/history/", participants.History.as_view(), name="api_history"),
    path("work/consent/", participants.Consent.as_view(), name="api_consent"),
    path("work/begin/", participants.Begin.as_view(), name="api_begin"),
    path("work/own-questions/", participants.OwnQuestions.as_view(), name="api_own_questions"),
    path("work/comprehension/", participants.Comprehension.as_view(), name="api_comprehension"),
    path("work/answer/", participants.Answer.as_view(), name="api_answer"),
    path("work/confidence/", participants.Confidence.as_view(), name="api_confidence"),
    path("work/problem/", participants.Problem.as_view(), name="api_problem"),
    path("work/continue/", participants.Continue.as_view(), name="api_continue"),
    path("work/wait/", participants.Wait.as_view(), name="api_wait"),
    path("work/questionnaire/", participants.Questionnaire.as_view(), name="api_questionnaire"),
    path("work/finish/", participants.Finish.as_view(), name="api_finish"),
    path("work/resume/", participants.Resume.as_view(), name="api_resume"),
    path("work/withdraw/", participants.Withdraw.as_view(), name="api_withdraw"),
    path("work/next-task/", participants.NextTask.as_view(), name="api_next_task"),
]

urlpatterns = [
    *PARTICIPANTS,
    path("studies/", studies.Studies.as_view(), name="api_studies"),
    path(STUDY, studies.StudyDetail.as_view(), name="api_study"),
    *(
        path(STUDY + f"{action}/", studies.Status.as_view(action=action), name=f"api_{action}")
        for action in lifecycle.TRANSITIONS
    ),
    path(STUDY + "clone/", studies.Clone.as_view(), name="api_clone"),
    path(STUDY + "simulate/", simulation_pages.Simulate.as_view(), name="api_simulate"),
    path(STUDY + "progress/", annotators.Progress.as_view(), name="api_progress"),
    path(STUDY + "scenarios/", annotators.Scenarios.as_view(), name="api_scenarios"),
    path(STUDY + "events/", audit_pages.Events.as_view(), name="api_events"),
    *(
        path(
            post.below[1] + post.path,
            (TWINS.get(post) or twin(post)).as_view(),
            name=access.POSTS[post.row].twin,
        )
        for post in POSTS
    ),
    path(STUDY + "team/", studies.Team.as_view(), name="api_team"),
    path(STUDY + "links/", lists.Links.as_view(), name="api_links"),
    path(STUDY + "panels/", platforms.Panels.as_view(), name="api_panels"),
    path(PROLIFIC, platforms.Prolific.as_view(), name="api_prolific"),
    path(
        PROLIFIC + "<int:pk>/", platforms.ProlificStudyDetail.as_view(), name="api_prolific_study"
    ),
    path(STUDY + "pay/", money.Pay.as_view(), name="api_pay"),
    path(STUDY + "pay/<int:pk>.csv", money.BatchFile.as_view(), name="api_pay_batch"),
    path(ALL, annotators.Participations.as_view(), name="api_participations"),
    path(ONE, annotators.ParticipationDetail.as_view(), name="api_participation"),
    path(ONE + "show-score/", annotators.ShowScore.as_view(), name="api_show_score"),
    path(STUDY + "decisions/", annotators.Decisions.as_view(), name="api_decisions"),
    path(STUDY + "webhooks/", notices.Webhooks.as_view(), name="api_webhooks"),
    path(WEBHOOK, notices.WebhookDetail.as_view(), name="api_webhook"),
    path(WEBHOOK + "deliveries/", notices.Deliveries.as_view(), name="api_deliveries"),
    path("tasks/", files(tasks.Tasks.as_view()), name="api_tasks"),
    path("tasks/datasets/", files(tasks.Datasets.as_view()), name="api_datasets"),
    path(TASK, tasks.TaskDetail.as_view(), name="api_task"),
    path(TASK + "card/", tasks.TaskCard.as_view(), name="api_task_card"),
    path(TASK + "report/", tasks.TaskReport.as_view(), name="api_task_report"),
    path(TASK + "checks/", files(checks), name="api_task_checks"),
    path("jobs/<int:pk>/", jobs.JobDetail.as_view(), name="api_job"),
    path("jobs/<int:pk>/run/", jobs.RunJob.as_view(), name="api_job_run"),
]
