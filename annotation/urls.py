"""URLs of the pages. The URLs of the API are in urls_api.py."""

from django.urls import path
from django.views.generic import TemplateView

from annotation.accounts import pages as accounts
from annotation.audit import pages as audit
from annotation.library import dataset_import, gym_import, task_import
from annotation.library import tasks as library
from annotation.monitoring import pages as monitoring
from annotation.monitoring import participants
from annotation.notices import pages as notices
from annotation.participation import pages as participation
from annotation.participation import preview, question
from annotation.payout import pages as pay
from annotation.privacy import pages as retention
from annotation.prolific import pages as platforms
from annotation.recruitment import pages as lists
from annotation.simulation import pages as simulation_pages
from annotation.study import pages as studies
from annotation.study import team_pages as team
from annotation.web import menu

STUDY = "studies/<str:name>/"
ANNOTATOR = STUDY + "annotators/<str:pseudonym>/"
PROLIFIC = STUDY + "platforms/prolific/"
TASK = "tasks/<str:name>/<int:version>/"
UPLOAD = "tasks/import/<uuid:pk>/"
PREVIEW = STUDY + "preview/<int:scenario>/<str:step>/<int:position>/"
UPLOADED = UPLOAD + "preview/<int:number>/"

RECRUIT = {"links": lists.links_page, "platforms": platforms.page}  # maps values of ?show= to views
TASK_VIEWS = {"examples": library.task_examples, "edit": library.task_edit}
EDIT = menu.posted(library.task_edit, to="task", show="edit")
COLUMNS = menu.posted(dataset_import.dataset_columns, to="task_upload", show="columns")
GYM = menu.posted(gym_import.gym_tasks, to="task_upload")
# Former addresses, each with its name, the page it leads to, and that page's view.
MOVED = (
    (STUDY + "behaviour/", "behaviour", "people", participants.FLAGGED),
    (STUDY + "platforms/", "platforms", "recruit", "platforms"),
    (STUDY + "robots/", "robots", "rehearsal", ""),
    ("deleted-studies/", "deleted_studies", "studies", "deleted"),
    *((f"tasks/{old}/", "task_add_moved", "task_add", "") for old in ("dataset", "gym", "import")),
)
EXAMPLES = {"to": "task", "show": "examples", "by": "file"}  # also a former address
POSTS = library.POSTS | monitoring.POSTS | notices.POSTS | platforms.POSTS

urlpatterns = [
    # Annotators come first, because Django tries the patterns in this order.
    path("join/<str:code>/", participation.landing, name="landing"),
    path("join/<str:code>/start/", participation.start, name="start"),
    path("join/<str:code>/refused/", participation.refused, name="refused"),
    path("work/<str:token>/", participation.work, name="work"),
    path("work/<str:token>/consent/", participation.consent, name="consent"),
    path("work/<str:token>/begin/", participation.begin, name="begin"),
    path("work/<str:token>/try/<int:number>/", participation.try_tool, name="try_tool"),
    path("work/<str:token>/answer/", participation.answer, name="answer"),
    path("work/<str:token>/confidence/", participation.confidence, name="confidence"),
    path("work/<str:token>/continue/", participation.go_on, name="continue"),
    path("work/<str:token>/comprehend/", participation.comprehend, name="comprehend"),
    path("work/<str:token>/wait/", participation.wait, name="wait"),
    path("work/<str:token>/ping/", participation.ping, name="ping"),
    path("work/<str:token>/draft/", participation.draft, name="draft"),
    path("work/<str:token>/questions/", participation.custom_questions, name="own_questions"),
    path("work/<str:token>/questionnaire/", participation.exit_questionnaire, name="questionnaire"),
    path("work/<str:token>/resume/", participation.resume, name="resume"),
    path("work/<str:token>/withdraw/", participation.withdraw, name="withdraw"),
    path("work/<str:token>/problem/", participation.problem, name="problem"),
    path("work/<str:token>/data/", participation.own_data, name="own_data"),
    path("declined/", participation.declined, name="declined"),
    path("images/<str:name>", question.image, name="image"),
    path("work/<str:token>/next-task/", participation.next_task, name="next_task"),
    # Researchers
    *(path(old, menu.moved, {"to": to, "show": show}, name=name) for old, name, to, show in MOVED),
    path(TASK + "examples/", menu.moved, EXAMPLES, name="task_examples"),
    *(path(post.below[0] + post.path, view, name=post.row) for post, view in POSTS.items()),
    path(
        "", TemplateView.as_view(template_name="home.html", http_method_names=["get"]), name="home"
    ),
    path("studies/", menu.select(monitoring.studies, deleted=retention.deleted), name="studies"),
    path("invitation/<str:token>/", accounts.invitation, name="invitation"),
    path("first-study/", accounts.first_study, name="first_study"),
    path("new-study/", studies.study_new, name="study_new"),
    path(STUDY, monitoring.study, name="study"),
    path(STUDY + "edit/", menu.posted(studies.study_edit, to="study_design"), name="study_edit"),
    path(STUDY + "clone/", studies.clone, name="study_clone"),
    path(STUDY + "delete/", notices.study_delete, name="study_delete"),
    path(STUDY + "rehearsal/", simulation_pages.rehearse, name="rehearsal"),
    path(STUDY + "rehearsal/<int:pk>/run/", simulation_pages.simulation_run, name="rehearsal_run"),
    path(STUDY + "recruit/", menu.select(monitoring.recruit, **RECRUIT), name="recruit"),
    path(STUDY + "people/", monitoring.people, name="people"),
    path(STUDY + "design/", studies.study_design, name="study_design"),
    path(STUDY + "progress/", monitoring.study_progress, name="study_progress"),
    path(STUDY + "status/", monitoring.study_status, name="study_status"),
    path(PREVIEW, preview.scenario_preview, name="scenario_preview"),
    path(ANNOTATOR, monitoring.participation, name="participation"),
    path(ANNOTATOR + "data/", monitoring.personal_data_file, name="participation_data"),
    path(ANNOTATOR + "score/", monitoring.show_score, name="participation_score"),
    path(STUDY + "links/", lists.links, name="personal_links"),
    path(STUDY + "platforms/panels/", platforms.panel_new, name="panel_new"),
    path(STUDY + "platforms/panels/<int:pk>/", platforms.panel_visit, name="panel_visit"),
    path(PROLIFIC, platforms.prolific_plan, name="prolific_plan"),
    path(PROLIFIC + "<int:pk>/", platforms.prolific_study, name="prolific_study"),
    path(STUDY + "pay/", pay.pay_page, name="pay"),
    path(STUDY + "pay/<int:pk>.csv", pay.batch_file, name="pay_batch_file"),
    path(STUDY + "log/", audit.log, name="audit_log"),
    path(STUDY + "settings/", notices.study_settings, name="study_settings"),
    path(STUDY + "notices/", notices.switches, name="notice_switches"),
    path("notices/", notices.notices, name="notices"),
    path("log/", audit.site_log, name="site_log"),
    path(STUDY + "team/", team.team, {"show": notices.show_settings}, name="team"),
    path("tasks/", library.tasks, name="tasks"),
    path(TASK, menu.select(library.task, **TASK_VIEWS), name="task"),
    path(TASK + "task.toml", library.task_card, name="task_card"),
    path(TASK + "task.zip", library.task_files, name="task_files"),
    path(TASK + "edit/", EDIT, name="task_edit"),
    path(TASK + "checks/", library.task_checks, name="task_checks"),
    path("tasks/add/", task_import.task_add, name="task_add"),
    path("tasks/dataset/<uuid:pk>/", COLUMNS, name="dataset_columns"),
    path("tasks/gym/<uuid:pk>/", GYM, name="gym_tasks"),
    path("tasks/gym/<uuid:pk>/run/", task_import.task_upload_run, name="gym_run"),
    path(UPLOAD, task_import.task_upload, name="task_upload"),
    path(UPLOAD + "files/", task_import.task_upload_files, name="task_upload_files"),
    path(UPLOAD + "run/", task_import.task_upload_run, name="task_upload_run"),
    path(UPLOAD + "confirm/", task_import.task_upload_confirm, name="task_upload_confirm"),
    path(UPLOAD + "discard/", task_import.task_upload_discard, name="task_upload_discard"),
    path(UPLOADED, task_import.task_upload_preview, name="task_upload_preview"),
]
