"""One menu on every page of a study: one click to each page that the reader may open."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotation.models import Role
from annotation.study import team
from annotation.web import menu
from tests import factories
from tests.exhaustive import one_in

ENTRIES = [entry for group in menu.OF_A_STUDY.values() for entry in group]
LIBRARY = [entry for group in menu.OF_THE_LIBRARY.values() for entry in group]


@pytest.fixture
def study(researcher, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], annotators=2, rehearsal=True
    )
    factories.work_through(factories.seat(study.scenarios.get(shots=2)))
    return study


def page(client, address: str) -> str:
    reply = client.get(address)
    assert reply.status_code == 200, address
    return reply.content.decode()


def links(html: str) -> dict[str, str]:
    """Name of each link of the menu -> its address."""
    (nav,) = re.findall(r'<nav id="menu".*?</nav>', html, re.DOTALL)
    return {
        unescape(name): address
        for address, name in re.findall(r'<a\s+href="([^"]*)"[^>]*>([^<]*)</a>', nav)
    }


def marked(html: str) -> list[tuple[str, str]]:
    """(name, kind of mark) of the entries that are marked as the current page."""
    (nav,) = re.findall(r'<nav id="menu".*?</nav>', html, re.DOTALL)
    return [(name, kind) for kind, name in re.findall(r'aria-current="(\w+)">([^<]*)</a>', nav)]


# The pages of an open rehearsal without arms, which has simulated annotators.
PAGES = [entry for entry in ENTRIES if entry.unless != "no_arms"]


@pytest.mark.parametrize("entry", one_in(3, PAGES), ids=lambda entry: entry.address)
def test_every_page_of_a_study_links_to_every_other(ada, study, entry):
    shown = page(ada, reverse(entry.address, args=[study.name]))
    offered = links(shown)
    assert offered == {other.name: reverse(other.address, args=[study.name]) for other in PAGES}
    assert marked(shown) == [(entry.name, "page")]


@pytest.mark.parametrize("entry", one_in(3, PAGES), ids=lambda entry: entry.address)
def test_title_and_heading_of_a_page_match_its_link(ada, study, entry):
    shown = page(ada, reverse(entry.address, args=[study.name]))
    (heading,) = re.findall(r"<h1[^>]*>(.*?)</h1>", shown, re.DOTALL)
    title = re.search(r"<title>(.*?)</title>", shown, re.DOTALL)
    assert title
    assert title[1].split(":")[0] == entry.name
    # The overview is the study itself; a document says of which study it is, as it is printed.
    assert heading in (entry.name, study.title, f"{entry.name}: {study.title}")


def test_pages_without_a_menu_entry_have_the_menu_too(ada, study):
    seat = study.participations.get()
    example = study.tasks.get().test_split.examples.first()
    person = page(ada, reverse("participation", args=[study.name, seat.pseudonym]))
    assert marked(person) == [("Annotators", "true")]
    example_page = page(ada, reverse("example", args=[study.name, example.pk]))
    assert marked(example_page) == [("Examples", "true")]
    assert links(person) == links(example_page)


@pytest.mark.long
def test_a_draft_has_no_bundle_entry_and_its_form_has_the_menu(ada, researcher):
    draft = factories.make_study(researcher, factories.make_task(), status="draft")
    offered = links(page(ada, reverse("study", args=[draft.name])))
    assert "Bundle" not in offered
    for name in offered.values():
        page(ada, name)
    assert marked(page(ada, reverse("study_edit", args=[draft.name]))) == [("Design", "true")]


@pytest.mark.parametrize("role", [Role.ANALYST, Role.PAYER])
def test_the_menu_offers_only_pages_the_role_may_open(client, study, other_researcher, role):
    team.add(study, other_researcher.username, role, study.owner)
    client.force_login(other_researcher)
    offered = links(page(client, reverse("study", args=[study.name])))
    for address in offered.values():
        page(client, address)
    assert ("Pay" in offered) is (role == Role.PAYER)
    assert ("Table" in offered) is (role == Role.ANALYST)
    for entry in (each for each in PAGES if each.name not in offered):
        reply = client.get(reverse(entry.address, args=[study.name]))
        assert reply.status_code == 403, entry


@pytest.mark.parametrize("entry", LIBRARY, ids=lambda entry: entry.address)
def test_pages_of_tasks_and_models_have_the_library_menu(ada, study, entry):
    shown = page(ada, reverse(entry.address))
    assert set(links(shown)) == {other.name for other in LIBRARY}
    assert marked(shown) == [(entry.name, "page")]


def test_only_pages_of_studies_and_the_library_have_a_menu(ada, study):
    task = study.tasks.get()
    shown = page(ada, reverse("task", args=[task.name, task.version]))
    assert marked(shown) == [("Tasks", "true")]
    for name in ("home", "studies", "planner", "help_index", "tokens"):
        assert 'id="menu"' not in page(ada, reverse(name))


def test_the_title_of_a_study_is_escaped_in_the_frame(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), title="<b>Bold</b>")
    assert "<b>Bold" not in page(ada, reverse("study", args=[study.name]))
