"""The tabs on a study's pages.

Pages that the reader may not open are hidden (models.study.RIGHTS). Results pages belong to
`analysis`; this module knows only their names. It also maps each page to its explanation below
/help/; tests/config/test_help_places.py checks that the map is complete.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.urls import reverse

from annotation.models import Study


@dataclass(frozen=True)
class Page:
    """A page of a study: its title, URL name and the right that it requires.

    `below` lists pages without a link of their own, such as those about one annotator. `views`
    lists pages with the same subject: below the sub-tabs, a switch leads from one to the other. In
    it, this page is called `in_switch`.
    """

    name: str
    address: str
    right: str = "see"
    below: tuple[str, ...] = ()
    views: tuple["Page", ...] = ()
    in_switch: str = ""
    unless: str = ""  # "draft", "no_arms" or "real": studies without this page

    def holds(self, here: str) -> bool:
        """Is `here` this page, one below it, or one of its views?"""
        return here in (self.address, *self.below) or any(view.holds(here) for view in self.views)


# Each tab -> its sub-tabs, at most four.
TABS = {
    "Overview": [Page("Overview", "study", below=("study_status",))],
    "Design": [
        Page("Design", "study_design", below=("study_edit", "study_clone")),
        Page("Rehearsal", "robots", "own", unless="real"),
        Page("Preregistration", "preregistration", "read"),
    ],
    "Participants": [
        Page(
            "Recruit", "recruit", in_switch="Link and seats",
            below=("lists", "seats", "switches", "budget"),
            views=(
                Page("Personal links", "personal_links", "pay"),
                Page(
                    "Platforms", "platforms", "own",
                    below=("panel_new", "panel_visit", "prolific_plan", "prolific_study",
                           "prolific_sync"),
                ),
            ),
        ),
        Page(
            "Annotators", "people",
            below=("people_decide", "participation", "participation_decide", "participation_bonus",
                   "participation_free_seat", "participation_withdraw", "participation_review",
                   "behaviour_exclude"),
        ),
        Page("Payments", "pay", "pay"),
    ],
    "Results": [
        Page(
            "Scores", "human_performance", "read", in_switch="Table",
            views=(
                Page("Training", "training_table", "read"),
                Page("Figures", "figures", "read", below=("figure_table",)),
                Page("Sensitivity", "sensitivity", "read"),
            ),
        ),
        Page(
            "Statistics", "analysis", "read", in_switch="Within tasks",
            views=(Page("Cross-task", "cross_task", "read", unless="no_arms"),),
        ),
        Page(
            "Models", "study_models", "read", below=("study_differences",),
            in_switch="Next to humans",
            views=(Page("Leaderboard", "leaderboard", "read"),),
        ),
        Page(
            "Items", "examples", "read", below=("example", "example_comment"),
            in_switch="All items",
            views=(Page("Gold audit", "gold_audit", "read"),),
        ),
    ],
    "Publish": [
        Page("Report", "report", "read"),
        Page("Data", "release", "read", unless="draft"),
        Page("LaTeX", "latex", "read"),
    ],
    "Settings": [
        Page(
            "Settings", "study_settings",
            below=("team", "notice_switches", "retention", "study_erase", "study_delete"),
        ),
        Page("Audit log", "audit_log", "read"),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Link:
    """A page as rendered; `current` is the value of aria-current, or "" for none."""

    name: str
    url: str
    current: str


@dataclass(frozen=True)
class Menu:
    """The navigation above a study's page: tabs, the open tab's sub-tabs, and that one's views."""

    study: Study
    tabs: list[Link]
    subtabs: list[Link]
    views: list[Link]


def for_study(study: Study, here: str) -> Menu:
    """Return that study's navigation for its reader; `here` is the name of the current URL."""
    missing = {"draft"} if study.is_draft else set()
    missing |= set() if study.is_cross_task else {"no_arms"}
    missing |= set() if study.rehearsal else {"real"}

    def open_to_reader(pages: Iterable[Page]) -> list[Page]:
        return [page for page in pages if page.right in study.rights and page.unless not in missing]

    def link(page: Page, name: str = "", holds: bool = False) -> Link:
        current = "page" if here == page.address else "true" if holds or page.holds(here) else ""
        return Link(name or page.name, reverse(page.address, args=[study.name]), current)

    tabs, subtabs, views = [], [], []
    for name, pages in TABS.items():
        if not (shown := open_to_reader(pages)):
            continue
        is_open = any(page.holds(here) for page in shown)
        tabs.append(link(shown[0], name, is_open))
        if not is_open:
            continue
        subtabs = [link(page) for page in shown]
        current = next(page for page in shown if page.holds(here))
        itself = replace(current, name=current.in_switch, views=())
        views = [link(itself), *map(link, open_to_reader(current.views))]
    return Menu(study, tabs, *(links if len(links) > 1 else [] for links in (subtabs, views)))


# Place below /help/ -> names of the pages that it explains.
_PAGES = {
    "researchers/tutorial/": ("studies", "home"),
    "researchers/designs/#what-to-decide": ("study_new", "study_edit", "study_design"),
    "researchers/designs/#preview-open-pause-close": ("scenario_preview", "study_status"),
    "researchers/designs/#seats": ("recruit", "seats", "lists"),
    "researchers/designs/#clone-archive-delete": ("deleted_studies",),
    "researchers/designs/#rehearse-before-you-recruit": ("robots",),
    "researchers/designs/#team": ("study_settings", "team", "invitation"),
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
    "researchers/tasks/#import": ("task_add", "task_upload"),
    "researchers/tasks/#the-card": ("task", "task_edit", "task_upload_preview", "task_examples"),
    "researchers/tasks/#from-any-labelled-dataset": ("dataset_columns", "gym_tasks"),
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
