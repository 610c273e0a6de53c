"""The rights required for POST requests on pages and in the API, and their audit log topics.

A page and its API counterpart look up the same row (`right_to`), so both require the same right. A
URL without a counterpart gives a reason. tests/annotation/web/test_rights.py compares this table
with the URLs that exist.
"""

from dataclasses import dataclass

from annotation.models import Topic


@dataclass(frozen=True)
class Post:
    """The right that a page's POST request requires, and its API counterpart.

    `right` is one of models.study.RIGHTS, or "" for pages outside studies, where users may change
    their own objects. `topic` is that of the audit log entry that the middleware adds if the step
    did not write one (config/audit.py), or None if signals write all entries or `unlogged` explains
    why none are written. Polling (`is_polled`) is recorded at most once an hour. `twin` is the URL
    name of the API counterpart, and `reason` explains why it is missing.
    """

    right: str
    topic: Topic | None
    twin: str = ""
    reason: str = ""
    is_polled: bool = False
    unlogged: str = ""


ONE_REQUEST = "The API takes all files of a task in one request, which imports or refuses them."
A_PAGE = "It shows a page and stores nothing."
BROWSER = "It concerns the session of a browser, which programs do not have."
TOKENS = "A token that could create or revoke tokens would outlive its own revocation."
PROLIFIC_SECRET = "It is a secret of another service, which its owner enters in a browser."
NOTICES = "It concerns one person's notices; programs use webhooks."
ASKED = "All users can request an email to their address, and it changes nothing."
CONFIRMED = "It confirms the identity of the user, and changes nothing."
WHOLE = "The API computes the report in the request itself."
PROLIFIC = "Only Prolific sends it, signed; it is stored as a WebhookEvent."
EMAILED = "The recipient of the email confirms it in a browser."
SECURE = "Accounts are changed in a browser, with two-factor authentication."
FIRST = "It needs a code that the server printed; the new account is an entry."

# Maps URL names of pages to their POST. "participation_decide" is for decisions on the analysis and
# on admission; decisions on pay have a separate row.
POSTS = {
    "study_new": Post("", Topic.DESIGN, "api_studies"),
    "study_edit": Post("own", Topic.DESIGN, "api_study"),
    "study_status": Post("own", Topic.DESIGN, "api_open"),
    "study_clone": Post("read", Topic.DESIGN, "api_clone"),
    "study_archive": Post("own", Topic.DESIGN, "api_archive"),
    "study_unarchive": Post("own", Topic.DESIGN, "api_unarchive"),
    "study_delete": Post("own", Topic.DESIGN, "api_study"),
    "rehearsal": Post("own", Topic.DESIGN, "api_simulate"),
    "rehearsal_run": Post("own", Topic.DESIGN, "api_job_run", is_polled=True),
    "retention": Post("own", Topic.DESIGN, "api_retention"),
    "study_erase": Post("own", Topic.DESIGN, "api_erase"),
    "team": Post("own", Topic.TEAM, "api_team"),
    "lists": Post("own", Topic.DESIGN, "api_lists"),
    "switches": Post("own", Topic.DESIGN, "api_switches"),
    "seats": Post("own", Topic.DESIGN, "api_seats"),
    "budget": Post("own", Topic.DESIGN, "api_budget"),
    "personal_links": Post("own", Topic.PLATFORM, "api_links"),
    "panel_new": Post("own", Topic.PLATFORM, "api_panels"),
    "prolific_plan": Post("own", Topic.PLATFORM, "api_prolific"),
    "prolific_study": Post("own", Topic.PLATFORM, "api_prolific_study"),
    "prolific_sync": Post("own", Topic.PLATFORM, "api_prolific_sync"),
    "participation_decide": Post("own", Topic.PEOPLE, "api_decide"),
    "participation_decide_pay": Post("pay", Topic.PAY, "api_decide"),
    "participation_bonus": Post("pay", Topic.PAY, "api_bonus"),
    "participation_free_seat": Post("own", Topic.PEOPLE, "api_free_seat"),
    "participation_withdraw": Post("own", Topic.PEOPLE, "api_withdraw"),
    "participation_review": Post("own", Topic.PEOPLE, "api_review"),
    "people_decide": Post("own", Topic.PEOPLE, "api_bulk_decide"),
    "behaviour_exclude": Post("own", Topic.PEOPLE, "api_exclude_together"),
    "people_pay": Post("pay", Topic.PAY, "api_bulk_pay"),
    "people_withdraw": Post("own", Topic.PEOPLE, "api_bulk_withdraw"),
    "example_comment": Post("read", Topic.RESULTS, "api_comments"),
    "participation_score": Post("read", Topic.PEOPLE, "api_show_score"),
    "pay": Post("pay", Topic.PAY, "api_pay"),
    "report": Post("own", Topic.RESULTS, "api_report"),
    "sample_upload": Post("own", Topic.RESULTS, "api_sample"),
    "report_run": Post("read", Topic.RESULTS, reason=WHOLE, is_polled=True),
    "analysis_run": Post("read", Topic.RESULTS, "api_analysis", is_polled=True),
    "release_prepare": Post("read", Topic.RESULTS, "api_release"),
    "release_run": Post("read", Topic.RESULTS, "api_job_run", is_polled=True),
    "scenario_preview": Post("read", None, reason=A_PAGE, unlogged=A_PAGE),
    "task_add": Post("", Topic.TASK, "api_tasks"),
    "task_upload_files": Post("", Topic.TASK, reason=ONE_REQUEST),
    "task_upload_run": Post("", Topic.TASK, "api_job_run", is_polled=True),
    "task_upload_confirm": Post("", Topic.TASK, "api_tasks"),
    "task_upload_discard": Post("", Topic.TASK, reason=ONE_REQUEST),
    "task_upload_preview": Post("", None, reason=A_PAGE, unlogged=A_PAGE),
    "dataset_columns": Post("", Topic.TASK, "api_datasets"),
    "gym_tasks": Post("", Topic.TASK, "api_gym"),
    "gym_run": Post("", Topic.TASK, "api_job_run", is_polled=True),
    "task_edit": Post("", Topic.TASK, "api_tasks"),
    "task_checks": Post("", Topic.TASK, "api_task_checks"),
    "task_team": Post("", Topic.TASK, "api_task_team"),
    "task_archive": Post("", Topic.TASK, "api_task_archive"),
    "task_unarchive": Post("", Topic.TASK, "api_task_unarchive"),
    "models": Post("", Topic.MODEL, "api_models"),
    "model_upload": Post("", Topic.MODEL, "api_job_run", is_polled=True),
    "model_delete": Post("", Topic.MODEL, "api_model"),
    "model_archive": Post("", Topic.MODEL, "api_model_archive"),
    "model_unarchive": Post("", Topic.MODEL, "api_model_unarchive"),
    "prediction_file_delete": Post("", Topic.MODEL, "api_prediction_file"),
    "notices": Post("", None, reason=NOTICES, unlogged="It marks the user's own notices as read."),
    "notice_switches": Post("see", Topic.ACCOUNT, reason=NOTICES),
    "tokens": Post("", Topic.ACCOUNT, reason=TOKENS),
    "token_revoke": Post("", Topic.ACCOUNT, reason=TOKENS),
    "prolific_token": Post("", Topic.ACCOUNT, reason=PROLIFIC_SECRET),
    "prolific_token_remove": Post("", Topic.ACCOUNT, reason=PROLIFIC_SECRET),
    "invitation": Post("", Topic.ACCOUNT, reason=BROWSER),
    "first_study": Post("", Topic.ACCOUNT, reason="The API has each of its steps."),
    "your_account": Post("", Topic.ACCOUNT, reason=BROWSER),
    "your_address": Post("", Topic.ACCOUNT, reason=BROWSER),
    "your_address_confirm": Post("", Topic.ACCOUNT, reason=EMAILED),
    "users": Post("", Topic.ACCOUNT, reason=SECURE),
    "first_owner": Post("", None, reason=FIRST, unlogged=FIRST),
    "login": Post("", None, reason=BROWSER),
    "account_login": Post("", None, reason=BROWSER),
    "mfa_authenticate": Post("", None, reason=BROWSER),
    "logout": Post("", None, reason=BROWSER),
    "password_change": Post("", None, reason=BROWSER),
    "account_set_password": Post("", None, reason=BROWSER),
    "openid_connect_login": Post("", None, reason=BROWSER, unlogged="The sign-in is an entry."),
    "account_reset_password": Post("", None, reason=BROWSER, unlogged=ASKED),
    "account_reset_password_from_key": Post("", None, reason=BROWSER),
    "account_reauthenticate": Post("", None, reason=BROWSER, unlogged=CONFIRMED),
    "mfa_reauthenticate": Post("", None, reason=BROWSER, unlogged=CONFIRMED),
    "mfa_activate_totp": Post("", None, reason=BROWSER),
    "mfa_deactivate_totp": Post("", None, reason=BROWSER),
    "mfa_generate_recovery_codes": Post("", None, reason=BROWSER),
    "prolific_webhook": Post("", None, reason=PROLIFIC, unlogged=PROLIFIC),
}


def right_to(page: str) -> str:
    return POSTS[page].right
