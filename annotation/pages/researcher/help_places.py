"""Where in the documents under /help/ each page of researchers is explained.

tests/config/test_help_places.py counts the pages against the addresses that there are, and looks
each place up.
"""

# A place below /help/ -> the names of the pages that it explains.
_PAGES = {
    "researchers/tutorial/": ("studies", "home"),
    "researchers/designs/#what-to-decide": ("study_new", "study_edit", "study_design"),
    "researchers/designs/#preview-open-pause-close": ("scenario_preview", "study_status"),
    "researchers/designs/#seats": ("recruit", "seats", "lists"),
    "researchers/designs/#clone-archive-delete": ("deleted_studies",),
    "researchers/designs/#rehearse-before-you-recruit": ("robots",),
    "researchers/designs/#team": ("team", "invitation"),
    "researchers/designs/#watching-it": ("study", "people", "participation", "behaviour"),
    "researchers/designs/#notices": ("notices", "notice_switches"),
    "researchers/designs/#cross-task-studies": ("cross_task",),
    "platforms/": ("platforms", "panel_new", "panel_visit"),
    "platforms/#personal-links": ("personal_links",),
    "prolific/#set-up": ("prolific_token",),
    "prolific/#who-arrives": ("prolific_plan", "prolific_study"),
    "researchers/pay/#paying": ("pay",),
    "researchers/ethics/#the-audit-log": ("audit_log", "site_log"),
    "researchers/ethics/#how-long-people-are-known": ("retention",),
    "researchers/analysis/#table": ("human_performance",),
    "researchers/analysis/#training": ("training_table",),
    "researchers/analysis/#analysis": ("analysis",),
    "researchers/analysis/#latex": ("latex",),
    "researchers/analysis/#examples": ("examples", "example", "gold_audit"),
    "researchers/analysis/#figures": ("figures", "figure_table"),
    "researchers/analysis/#several-studies": ("compare",),
    "researchers/analysis/#models": (
        "study_models", "study_differences", "models", "model", "model_upload",
    ),
    "researchers/analysis/#leaderboard": ("leaderboard",),
    "researchers/analysis/#sensitivity": ("sensitivity",),
    "researchers/analysis/#planner": ("planner",),
    "researchers/analysis/#documents": ("preregistration", "report", "release"),
    "researchers/tasks/#import": ("task_import", "task_upload"),
    "researchers/tasks/#the-card": ("task", "task_edit", "task_upload_preview", "task_examples"),
    "researchers/tasks/#from-any-labelled-dataset": (
        "dataset_import", "dataset_columns", "gym_import", "gym_tasks",
    ),
    "researchers/tasks/#whose-a-task-is": ("tasks", "task_team"),
    "researchers/designs/": ("task_checks",),
    "researchers/api/#tokens": ("tokens",),
    "operating/#signing-in": (
        "users", "your_account", "your_address", "your_address_confirm", "password_change",
        "account_reauthenticate", "mfa_reauthenticate", "mfa_index", "mfa_activate_totp",
        "mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_generate_recovery_codes",
        "account_reset_password", "account_reset_password_done", "account_reset_password_from_key",
        "account_reset_password_from_key_done", "login", "account_login", "mfa_authenticate",
        "first_owner", "account_signup",
    ),
}  # fmt: skip

PLACES = {name: place for place, names in _PAGES.items() for name in names}


def place_of(url_name: str | None) -> str:
    """What follows /help/ in the address where that page is explained; "" for the contents."""
    return PLACES.get(url_name or "", "")
