"""Help links lead to the section of the documents that explains the current page."""

import pytest
from django.urls import get_resolver, reverse

from annotation.web.menu import PLACES
from annotation.web.rights import POSTS
from config.addresses import RESEARCHERS
from config.help import DOCS, anchors, documents
from tests import factories

# Addresses that are not pages: parts of pages, redirects, files, and addresses only for POST.
PARTS = {
    "study_progress", "report_style", "task_add_moved", "training", "figures", "sensitivity",
    "cross_task", "leaderboard", "gold_audit", "platforms", "robots", "figure_table", "latex",
    "overlap", "study_differences", "task_examples", "deleted_studies",
}  # fmt: skip
FILES = {
    "task_card", "task_files", "participation_data", "compare_design", "table_latex",
    "figure_numbers", "pay_batch_file", "release_zip", "export_zip",
}  # fmt: skip
POST_ALONE = {
    "first_study", "token_revoke", "prolific_token_remove",
    "study_clone", "study_archive", "study_unarchive",
    "study_delete", "rehearsal_run",
    "people_decide", "participation_decide", "participation_score", "participation_bonus",
    "participation_free_seat", "participation_withdraw", "participation_review",
    "behaviour_exclude", "people_pay", "people_withdraw", "prolific_sync",
    "study_erase", "switches", "budget", "task_archive", "task_unarchive", "gym_run",
    "task_upload_files", "task_upload_run", "task_upload_confirm", "task_upload_discard",
    "analysis_run", "report_run", "release_prepare", "release_run", "example_comment",
    "model_upload",
    "model_archive", "model_unarchive", "model_delete", "prediction_file_delete", "logout",
    "sample_upload",
}  # fmt: skip
MORE = ("/compare", "/planner", "/log", "/notices", "/tokens", "/deleted-studies")


def names(patterns=None, before="/"):
    """Yield the URL names of researchers' addresses."""
    for pattern in patterns or get_resolver().url_patterns:
        route = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from names(pattern.url_patterns, route)
        elif route.startswith((*RESEARCHERS, *MORE)) and pattern.name:
            yield pattern.name


def test_each_page_of_researchers_has_a_help_address():
    """A new page needs a section in the documents, or an entry in the lists of non-pages."""
    pages = {name for name in names() if not name.endswith("_file")}
    assert set(POSTS) >= POST_ALONE
    assert pages - PARTS - FILES - POST_ALONE - set(PLACES) == set()
    assert not set(PLACES) & (PARTS | FILES | POST_ALONE)


@pytest.mark.parametrize("place", sorted(set(PLACES.values())))
def test_each_help_address_exists_in_the_documents(place):
    address, _hash, anchor = place.partition("#")
    assert address in documents()
    text = (DOCS / documents()[address]).read_text(encoding="utf-8")
    assert not anchor or anchor in anchors(text)


def test_pages_link_to_their_help_address(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    for name, place in (
        ("people", "researchers/designs/#watching-it"),
        ("analysis", "researchers/analysis/#statistics"),
    ):
        shown = ada.get(reverse(name, args=[study.name])).content.decode()
        assert f'<a href="/help/{place}">Help</a>' in shown
    assert '<a href="/help/">Help</a>' in ada.get("/nowhere/").content.decode()
