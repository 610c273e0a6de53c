"""The side menu on a study's pages, and on those for tasks and models.

Entries that the reader may not open are hidden (models.study.RIGHTS). Results pages belong to
`analysis`; this module knows only their names. It also maps each page to its explanation below
/help/; tests/config/test_help_places.py checks that the map is complete.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.urls import reverse

from annotation.models import Study


@dataclass(frozen=True)
class Entry:
    """A page: its name and title, its URL, and the right that it requires.

    `below` lists pages without a separate entry, such as those about one annotator. `is_part`
    indents it under the previous entry.
    """

    name: str
    address: str
    right: str = "see"
    is_part: bool = False
    below: tuple[str, ...] = ()
    unless: str = ""  # "draft", "no_arms" or "real": studies without this page


def _part(name: str, address: str, right: str = "read", **more: str) -> Entry:
    return Entry(name, address, right, is_part=True, **more)  # type: ignore[arg-type]


# Each group's heading -> its pages.
OF_A_STUDY = {
    "": [
        Entry("Overview", "study", below=("study_status",)),
        Entry("Recruit", "recruit"),
        _part("Personal links", "personal_links", "pay"),
        Entry("Simulated annotators", "robots", "own", is_part=True, unless="real"),
        Entry(
            "Platforms", "platforms", "own", is_part=True,
            below=("panel_new", "panel_visit", "prolific_plan", "prolific_study", "prolific_sync"),
        ),
        Entry(
            "Annotators", "people",
            below=("people_decide", "participation", "participation_decide", "participation_bonus",
                   "participation_free_seat", "participation_withdraw", "participation_review"),
        ),
        _part("Quality flags", "behaviour"),
        Entry("Pay", "pay", "pay"),
    ],
    "Results": [
        Entry("Table", "human_performance", "read"),
        _part("Training table", "training_table"),
        _part("Leaderboard", "leaderboard"),
        _part("Cross-task", "cross_task", unless="no_arms"),
        Entry("Analysis", "analysis", "read"),
        Entry("Figures", "figures", "read", below=("figure_table",)),
        Entry("Examples", "examples", "read", below=("example", "example_comment")),
        _part("Gold audit", "gold_audit"),
        Entry("Models", "study_models", "read", below=("study_differences",)),
        Entry("Sensitivity", "sensitivity", "read"),
    ],
    "Publish": [
        Entry("Preregistration", "preregistration", "read"),
        Entry("Report", "report", "read"),
        Entry("LaTeX", "latex", "read"),
        Entry("Bundle", "release", "read", unless="draft"),
    ],
    "Settings": [
        Entry(
            "Design", "study_design",
            below=("study_edit", "study_clone", "study_delete"),
        ),
        Entry("Team", "team", "own"),
        Entry("Access rules", "lists", "read", below=("seats", "switches", "budget")),
        Entry("Notices", "notice_switches"),
        Entry("Audit log", "audit_log", "read"),
        Entry("Retention", "retention", "own", below=("study_erase",)),
    ],
}  # fmt: skip

OF_THE_LIBRARY = {
    "": [
        Entry(
            "Tasks", "tasks",
            below=("task", "task_team", "task_checks", "task_examples", "task_edit"),
        ),
        Entry("Import a dataset", "dataset_import", is_part=True, below=("dataset_columns",)),
        Entry(
            "Import a task", "task_import", is_part=True,
            below=("task_upload", "task_upload_files", "task_upload_confirm"),
        ),
        Entry(
            "Import from the Few-shot Gym", "gym_import", is_part=True,
            below=("gym_tasks", "gym_run"),
        ),
        Entry("Models", "models", below=("model", "model_upload")),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Link:
    """An entry as rendered; `current` is the value of aria-current, or "" for none."""

    name: str
    url: str
    is_part: bool
    current: str


@dataclass(frozen=True)
class Group:
    heading: str
    links: list[Link]


@dataclass(frozen=True)
class Menu:
    """A page's menu: its title and groups of links."""

    title: str
    groups: list[Group]


def for_study(study: Study, here: str) -> Menu:
    """Return that study's menu for its reader; `here` is the name of the current URL."""
    missing = {"draft"} if study.is_draft else set()
    missing |= set() if study.is_cross_task else {"no_arms"}
    missing |= set() if study.rehearsal else {"real"}
    return Menu(study.title, _groups(OF_A_STUDY, here, study.rights, missing, [study.name]))


def for_library(here: str) -> Menu | None:
    """Return the menu for tasks and models, if `here` is one of their pages."""
    entries = [entry for group in OF_THE_LIBRARY.values() for entry in group]
    if not any(here in (entry.address, *entry.below) for entry in entries):
        return None
    return Menu("Tasks and models", _groups(OF_THE_LIBRARY, here, {"see"}, (), []))


def _groups(
    menu: dict[str, list[Entry]],
    here: str,
    rights: Collection[str],
    missing: Collection[str],
    args: list[str],
) -> list[Group]:
    """Return the non-empty groups."""
    groups = [
        Group(
            heading,
            [
                Link(
                    entry.name,
                    reverse(entry.address, args=args),
                    entry.is_part,
                    "page" if here == entry.address else "true" if here in entry.below else "",
                )
                for entry in entries
                if entry.right in rights and entry.unless not in missing
            ],
        )
        for heading, entries in menu.items()
    ]
    return [group for group in groups if group.links]


# Place below /help/ -> names of the pages that it explains.
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
    """Return the path below /help/ that explains that page, or "" for the contents."""
    return PLACES.get(url_name or "", "")
