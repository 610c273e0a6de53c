"""A study's tabs lead to every page that a user may open, and mark the current one."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Role, Study
from annotation.study import lifecycle, team
from annotation.web import menu
from tests import factories

# Maps each page of an open rehearsal, which has simulated annotators, to its tab.
PAGES = {page: tab for tab, pages in menu.TABS.items() for page in pages}
VIEWS = [(page, show) for page in PAGES for show, *_ in page.views]


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


@pytest.mark.long
def test_every_page_writes_one_shot_in_the_singular(ada, researcher, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    task = factories.make_task(shots=(1, 4))
    study = factories.make_study(
        researcher, task, shots=[1, 4], annotators=2, rehearsal=True, hourly_rate=12
    )
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    factories.seat(study.scenarios.get(shots=1))
    factories.predict(researcher, "a-model", task, 1, 1)
    lifecycle.add_seats(study.scenarios.get(shots=1), 1, researcher, confirmed=True)
    study = Study.objects.get(pk=study.pk)
    where = [(page.address, show) for page in PAGES for show in ("", *(v[0] for v in page.views))]
    addresses = {reverse(name, args=[study.name], query={"show": show}) for name, show in where}
    person = study.participations.first().pseudonym
    addresses |= {
        reverse("participation", args=[study.name, person]), reverse("planner"),
        reverse("example", args=[study.name, task.test_split.examples.first().pk]),
    }  # fmt: skip
    pages = {address: " ".join(page(ada, address).split()) for address in addresses}
    said = [(a, s) for a, html in pages.items() for s in re.findall(r".{40}\b1 shots.{9}", html)]
    assert said == []
    assert sum("1 shot" in html for html in pages.values()) > 8
    people = ada.get(reverse("people", args=[study.name]), {"format": "csv"}).content.decode()
    assert '"toy-places, 1 shot"' in people


def navigation(html: str) -> str:
    return "".join(re.findall(r'<nav class="(?:tabs|subtabs)".*?</nav>', html, re.DOTALL))


def links(html: str) -> dict[str, str]:
    """Return the links in the tabs and sub-tabs as name -> address."""
    found = re.findall(r'<a\s+href="([^"]*)"[^>]*>([^<]*)</a>', navigation(html))
    return {unescape(name): address for address, name in found}


def marked(html: str) -> list[tuple[str, str]]:
    """Return (name, aria-current) of the links that are marked as current."""
    found = re.findall(r'aria-current="(\w+)">([^<]*)</a>', navigation(html))
    return [(name, kind) for kind, name in found]


def all_links(client, study) -> dict[str, str]:
    """Return the pages that can be reached through tabs and sub-tabs as name -> address."""
    found, new = {}, {reverse("study", args=[study.name])}
    while new:
        seen = set(found.values()) | new
        for address in new:
            found |= links(page(client, address))
        new = set(found.values()) - seen
    return found


@pytest.mark.long
def test_tabs_lead_to_every_page_of_a_study(ada, study):
    found = all_links(ada, study)
    assert {reverse(each.address, args=[study.name]) for each in PAGES} == set(found.values())


def test_there_are_six_tabs_with_at_most_four_pages():
    assert len(menu.TABS) == 6
    assert all(1 <= len(pages) <= 4 for pages in menu.TABS.values())


@pytest.mark.long
@pytest.mark.parametrize("entry", list(PAGES), ids=lambda entry: entry.address)
def test_a_page_is_titled_like_its_link_and_marked_in_its_tab(ada, study, entry):
    shown = page(ada, reverse(entry.address, args=[study.name]))
    (heading,) = re.findall(r"<h1[^>]*>(.*?)</h1>", shown, re.DOTALL)
    title = re.search(r"<title>(.*?)</title>", shown, re.DOTALL)
    assert title
    assert title[1].split(":")[0] == entry.name
    # The overview's heading is the study's title; printed documents add the title to their name.
    assert heading in (entry.name, study.title, f"{entry.name}: {study.title}")
    tab, *others = [name for name, _kind in marked(shown)]
    assert tab == PAGES[entry]
    assert entry.name in (others or [tab])


@pytest.mark.long
@pytest.mark.parametrize(("entry", "show"), VIEWS, ids=[f"{p.address}-{s}" for p, s in VIEWS])
def test_a_switch_shows_each_view_of_a_page_in_its_place(ada, study, entry, show):
    query = {"show": show} if show else {}
    address = reverse(entry.address, args=[study.name], query=query)
    shown = page(ada, address)
    (switch,) = re.findall(r'<nav class="views" aria-label="Views">.*?</nav>', shown, re.DOTALL)
    assert re.findall(r'href="([^"]*)" aria-current="page"', switch) == [address]
    assert re.findall(r"<a [^>]*>([^<]*)</a>", switch) == [name for _, name, _ in entry.views]
    (heading,) = re.findall(r"<h1[^>]*>(.*?)</h1>", shown, re.DOTALL)
    assert heading in (entry.name, f"{entry.name}: {study.title}")


FORMER = {
    "training": ("human_performance", "training"), "figures": ("human_performance", "figures"),
    "sensitivity": ("human_performance", "sensitivity"), "cross-task": ("analysis", "cross_task"),
    "leaderboard": ("study_models", "leaderboard"), "gold-audit": ("examples", "gold_audit"),
    "links": ("recruit", "links"), "platforms": ("recruit", "platforms"),
    "latex": ("report", "latex"), "overlap": ("study_models", "overlap"),
    "models/differences": ("study_models", "differences"), "robots": ("rehearsal", ""),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("old", FORMER)
def test_a_former_address_redirects_and_keeps_its_query(ada, study, old):
    name, show = FORMER[old]
    reply = ada.get(f"/studies/{study.name}/{old}/?kind=simulated")
    query = {"kind": "simulated"} | ({"show": show} if show else {})
    assert (reply.status_code, reply["Location"]) == (
        302, reverse(name, args=[study.name], query=query),
    )  # fmt: skip
    assert Client().get(f"/studies/{study.name}/{old}/")["Location"].startswith("/sign-in/")


def test_pages_without_a_tab_are_marked_in_the_tab_above_them(ada, study):
    seat = study.participations.get()
    example = study.tasks.get().test_split.examples.first()
    person = page(ada, reverse("participation", args=[study.name, seat.pseudonym]))
    assert marked(person) == [("Participants", "true"), ("Annotators", "true")]
    example_page = page(ada, reverse("example", args=[study.name, example.pk]))
    assert marked(example_page) == [("Results", "true"), ("Items", "true")]


@pytest.mark.long
def test_a_draft_has_no_data_page_and_its_form_has_tabs(ada, researcher):
    draft = factories.make_study(researcher, factories.make_task(), status="draft")
    assert "Data" not in all_links(ada, draft)
    edited = ada.post(reverse("study_edit", args=[draft.name])).content.decode()
    assert marked(edited) == [("Design", "true"), ("Design", "true")]
    assert marked(page(ada, reverse("rehearsal", args=[draft.name]))) == [("Design", "true")]


def test_only_cross_task_studies_have_a_page_of_gains(ada, study):
    address = reverse("analysis", args=[study.name], query={"show": "cross_task"})
    assert ada.get(address).status_code == 404


@pytest.mark.long
@pytest.mark.parametrize("role", [Role.ANALYST, Role.PAYER])
def test_the_tabs_offer_only_pages_the_role_may_open(client, study, other_researcher, role):
    team.add(study, other_researcher.username, role, study.owner)
    client.force_login(other_researcher)
    offered = all_links(client, study)
    assert ("Payments" in offered) is (role == Role.PAYER)
    assert ("Scores" in offered) is (role == Role.ANALYST)
    addresses = {each: reverse(each.address, args=[study.name]) for each in PAGES}
    for entry, address in addresses.items():
        if address not in offered.values():
            assert client.get(address).status_code == 403, entry


@pytest.mark.long
def test_only_pages_of_studies_have_tabs(ada, study):
    task = study.tasks.get()
    for name in ("home", "studies", "planner", "help_index", "your_account", "tasks", "models"):
        assert not navigation(page(ada, reverse(name)))
    assert not navigation(page(ada, reverse("task", args=[task.name, task.version])))


def test_the_title_of_a_study_is_escaped_in_the_frame(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), title="<b>Bold</b>")
    assert "<b>Bold" not in page(ada, reverse("study", args=[study.name]))
