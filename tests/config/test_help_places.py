"""Help links lead to the section of the documents that explains the current page."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver, reverse

from annotation.web.access import POSTS
from annotation.web.menu import PLACES
from config.addresses import RESEARCHERS
from config.help import DOCS, anchors, documents
from tasks import uploads
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


MOST_PAGES = 35  # of researchers, without signing in and two-factor authentication
GLOBAL = {"search", "help_index", "your_account", "users"}
ACCOUNT = {name for name, place in PLACES.items() if place == "operating/#signing-in"} - GLOBAL


def test_researchers_have_few_pages(client, researcher, settings, tmp_path):
    """A page is an address that shows the site's menu; `?show=` selects views of a page."""
    settings.VAR_DIR = tmp_path
    User.objects.filter(pk=researcher.pk).update(is_superuser=True)
    client.force_login(researcher)
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[0], rehearsal=True)
    person = factories.seat(study.scenarios.get(), "simulated")
    factories.work_through(person)
    file = factories.predict(researcher, "a-model", task, 0)
    with uploads.new_upload(researcher) as upload:
        uploads.add(upload, [SimpleUploadedFile("toy_test.jsonl", b"{}")])
    of_study = {
        "name": study.name, "pseudonym": person.pseudonym, "scenario": study.scenarios.get().pk,
        "step": "consent", "position": 0, "pk": task.test_split.examples.first().pk,
    }  # fmt: skip
    parts = {
        "studies": of_study,
        "tasks": {"name": task.name, "version": 1, "pk": upload.pk, "number": 1},
        "models": {"name": file.model.name, "pk": file.model.pk},
    }
    every = {name for name in names() if not name.endswith("_file")} | GLOBAL
    shown = set()
    for name in every - PARTS - FILES - POST_ALONE - ACCOUNT:
        route = get_resolver().reverse_dict.getlist(name)[0][0][0][0]
        address = f"/{route % parts.get(route.partition('/')[0], {})}"
        reply = client.get(address)
        if reply.status_code == 200 and 'class="site-header"' in reply.content.decode():
            shown.add(name)
    assert {"study", "example", "participation", "task_upload", "model"} <= shown
    assert len(shown) <= MOST_PAGES, sorted(shown)


def test_pages_link_to_their_help_address(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    for name, place in (
        ("people", "researchers/designs/#monitor-the-study"),
        ("analysis", "researchers/analysis/#statistics"),
    ):
        shown = ada.get(reverse(name, args=[study.name])).content.decode()
        assert f'<a href="/help/{place}">Help</a>' in shown
    assert '<a href="/help/">Help</a>' in ada.get("/nowhere/").content.decode()
