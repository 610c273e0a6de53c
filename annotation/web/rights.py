"""Rights that POST requests require on pages and in the API.

The page and its API counterpart look up the same row (`right_to`), so both require the same
right. A URL that does not have a counterpart gives a reason.
tests/annotation/web/test_rights.py compares the table with the existing URLs.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Post:
    """The right that a page's POST request requires, and its API counterpart.

    `right` is one of models.study.RIGHTS, or "" for pages outside studies, where users may
    change their own objects. `twin` is the URL name of the API counterpart, and `reason`
    explains why it is missing. Each POST is recorded in the audit log (config/audit.py) unless
    `unlogged` explains why not. Polling (`is_polled`) is recorded at most once an hour.
    """

    right: str
    twin: str = ""
    reason: str = ""
    is_polled: bool = False
    unlogged: str = ""


ONE_REQUEST = "The API takes all files of a task in one request, which imports or refuses them."
A_PAGE = "It shows a page and stores nothing."
BROWSER = "It concerns the session of a browser, which programs do not have."
TOKENS = "A token that could create or revoke tokens would outlive its own revocation."
OF_PROLIFIC = "It is a secret of another service, which its owner enters in a browser."
NOTICES = "It concerns one person's notices; programs use webhooks."
ASKED = "All users can request an email to their address, and it changes nothing."
CONFIRMED = "It confirms the identity of the user, and changes nothing."
WHOLE = "The API computes the report in the request itself."
PROLIFIC = "Only Prolific sends it, signed; it is stored as a WebhookEvent."

FIRST = "It needs a code that the server printed; the new account is an entry."

# Maps URL names of pages to their POST. "participation_decide" is for decisions on analysis and
# admission; decisions on pay have a separate row.
POSTS = {
    "study_new": Post("", "api_studies"),
    "study_edit": Post("own", "api_study"),
    "study_status": Post("own", "api_open"),
    "study_clone": Post("read", "api_clone"),
    "study_archive": Post("own", "api_archive"),
    "study_unarchive": Post("own", "api_unarchive"),
    "study_delete": Post("own", "api_study"),
    "robots": Post("own", "api_simulate"),
    "robots_run": Post("own", "api_job_run", is_polled=True),
    "team": Post("own", "api_team"),
    "lists": Post("own", "api_lists"),
    "switches": Post("own", "api_switches"),
    "personal_links": Post("own", "api_links"),
    "panel_new": Post("own", "api_panels"),
    "prolific_plan": Post("own", "api_prolific"),
    "prolific_study": Post("own", "api_prolific_study"),
    "prolific_sync": Post("own", "api_prolific_sync"),
    "participation_decide": Post("own", "api_decide"),
    "participation_decide_pay": Post("pay", "api_decide"),
    "people_decide": Post("own", "api_decide_together"),
    "behaviour_exclude": Post("own", "api_exclude_together"),
    "example_comment": Post("read", "api_comments"),
    "participation_score": Post("read", "api_show_score"),
    "pay": Post("pay", "api_pay"),
    "report": Post("own", "api_report"),
    "sample_upload": Post("own", "api_sample"),
    "report_run": Post("read", reason=WHOLE, is_polled=True),
    "analysis_run": Post("read", "api_analysis", is_polled=True),
    "release_prepare": Post("read", "api_release"),
    "release_run": Post("read", "api_job_run", is_polled=True),
    "scenario_preview": Post("read", reason=A_PAGE, unlogged=A_PAGE),
    "task_add": Post("", "api_tasks"),
    "task_upload_files": Post("", reason=ONE_REQUEST),
    "task_upload_run": Post("", "api_job_run", is_polled=True),
    "task_upload_confirm": Post("", "api_tasks"),
    "task_upload_discard": Post("", reason=ONE_REQUEST),
    "task_upload_preview": Post("", reason=A_PAGE, unlogged=A_PAGE),
    "dataset_columns": Post("", "api_datasets"),
    "gym_tasks": Post("", "api_gym"),
    "gym_run": Post("", "api_job_run", is_polled=True),
    "task_edit": Post("", "api_tasks"),
    "task_checks": Post("", "api_task_checks"),
    "task_team": Post("", "api_task_team"),
    "task_archive": Post("", "api_task_archive"),
    "task_unarchive": Post("", "api_task_unarchive"),
    "models": Post("", "api_models"),
    "model_upload": Post("", "api_job_run", is_polled=True),
    "model_delete": Post("", "api_model"),
    "model_archive": Post("", "api_model_archive"),
    "model_unarchive": Post("", "api_model_unarchive"),
    "prediction_file_delete": Post("", "api_prediction_file"),
    "notices": Post("", reason=NOTICES, unlogged="It marks the user's own notices as read."),
    "notice_switches": Post("see", reason=NOTICES),
    "tokens": Post("", reason=TOKENS),
    "token_revoke": Post("", reason=TOKENS),
    "prolific_token": Post("", reason=OF_PROLIFIC),
    "prolific_token_remove": Post("", reason=OF_PROLIFIC),
    "invitation": Post("", reason=BROWSER),
    "first_study": Post("", reason="The API has each of its steps."),
    "your_account": Post("", reason=BROWSER),
    "your_address": Post("", reason=BROWSER),
    "your_address_confirm": Post("", reason="The recipient of the email confirms it in a browser."),
    "users": Post("", reason="Accounts are changed in a browser, with two-factor authentication."),
    "first_owner": Post("", reason=FIRST, unlogged=FIRST),
    "login": Post("", reason=BROWSER),
    "account_login": Post("", reason=BROWSER),
    "mfa_authenticate": Post("", reason=BROWSER),
    "logout": Post("", reason=BROWSER),
    "password_change": Post("", reason=BROWSER),
    "account_set_password": Post("", reason=BROWSER),
    "openid_connect_login": Post("", reason=BROWSER, unlogged="The sign-in is an entry."),
    "account_reset_password": Post("", reason=BROWSER, unlogged=ASKED),
    "account_reset_password_from_key": Post("", reason=BROWSER),
    "account_reauthenticate": Post("", reason=BROWSER, unlogged=CONFIRMED),
    "mfa_reauthenticate": Post("", reason=BROWSER, unlogged=CONFIRMED),
    "mfa_activate_totp": Post("", reason=BROWSER),
    "mfa_deactivate_totp": Post("", reason=BROWSER),
    "mfa_generate_recovery_codes": Post("", reason=BROWSER),
    "prolific_webhook": Post("", reason=PROLIFIC, unlogged=PROLIFIC),
}


def right_to(page: str) -> str:
    return POSTS[page].right
