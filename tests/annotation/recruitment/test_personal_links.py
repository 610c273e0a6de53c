"""A personal link is one worker on any device, and researchers see its state."""

import csv
import io

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, PersonalLink, Study
from annotation.protocol import training_step
from annotation.recruitment import consent
from annotation.recruitment.links import links_with_states, make_links
from tests import factories

# The query of the table of links as a file.
CSV = {"show": "links", "format": "csv"}


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[0], annotators=3
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def start(link: PersonalLink, client: Client) -> Participation:
    reply = client.post(reverse("start", args=[link.code]))
    return Participation.objects.get(token=reply.url.split("/")[2])


def states(study) -> dict[str, str]:
    return {link.name: state for link, state in links_with_states(study)}


def test_a_link_is_made_for_each_name_and_can_be_had_as_csv(ada, study):
    reply = ada.post(reverse("personal_links", args=[study.name]), {"names": "Ida\r\n\r\n Bo \r\n"})
    assert reply.status_code == 302
    text = ada.get(reverse("recruit", args=[study.name]), CSV).content.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["name"], row["state"]) for row in rows] == [("Ida", "unused"), ("Bo", "unused")]
    assert Client().get(rows[0]["link"]).status_code == 200


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (" \n", "Enter one name"),
        ("Ida\nBo\nIda", "Name 3, “Ida”, already exists"),
        ("x" * 201, "Name 1 is longer"),
        ("\n".join(map(str, range(1001))), "At most 1000"),
    ],
)
def test_invalid_names_are_reported_and_no_link_is_made(ada, study, names, reason):
    reply = ada.post(reverse("personal_links", args=[study.name]), {"names": names})
    assert reply.status_code == 422
    assert reason in reply.content.decode()
    assert not PersonalLink.objects.exists()


def test_a_link_is_the_same_worker_on_any_device(study):
    (link,) = make_links(study, "Ida")
    phone, desk = Client(), Client()
    assert start(link, phone) == start(link, desk)


def test_two_links_in_one_browser_are_two_workers(study):
    link, other = make_links(study, "Ida\nBo")
    Study.objects.update(shared_computers=True)
    browser = Client()
    assert start(link, browser).worker != start(other, browser).worker


@pytest.mark.long
def test_link_states_reflect_the_participation(study):
    links = make_links(study, "active\nexpired\ndone\nunused")
    _active, expired, done = (start(link, Client()) for link in links[:3])
    Participation.objects.filter(pk=expired.pk).update(status="expired", seat_number=None)
    consent.record(done, agree=True)
    training_step.begin(done.token)
    factories.work_through(done)
    assert states(study) == {name: name for name in ("active", "expired", "done", "unused")}
    page = Client().get(reverse("landing", args=[links[2].code])).content.decode()
    assert "already taken part" in page


def test_declining_leaves_a_link_unused(study):
    (link,) = make_links(study, "Ida")
    consent.record(start(link, Client()), agree=False)
    assert states(study) == {"Ida": "unused"}


@pytest.mark.long
def test_no_name_is_in_an_export(study, tmp_path):
    (link,) = make_links(study, "Ida Lovelace")
    start(link, Client())
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir()).decode()
    assert "Lovelace" not in written
    assert link.code not in written


def test_links_of_another_researcher_are_not_found(client, other_researcher, study):
    make_links(study, "Ida")
    client.force_login(other_researcher)
    for name, query in (("personal_links", {}), ("recruit", CSV)):
        assert client.get(reverse(name, args=[study.name]), query, follow=True).status_code == 404


def test_names_are_escaped_against_formulas_in_the_csv(ada, study):
    make_links(study, "=1+1\nDora")
    text = ada.get(reverse("recruit", args=[study.name]), CSV).content.decode()
    assert [line.split(",")[0] for line in text.splitlines()] == ["name", "'=1+1", "Dora"]
