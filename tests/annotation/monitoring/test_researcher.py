"""Researchers' pages; a preview stores nothing."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.apps import apps
from django.db.models.signals import post_init
from django.urls import reverse

from annotation.models import Participation, Role, Scenario
from annotation.monitoring import participants
from annotation.protocol import blinding
from annotation.study import team
from tasks.models import Task
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=2)


def page(client, name, *args) -> str:
    reply = client.get(reverse(name, args=args))
    assert reply.status_code == 200
    return reply.content.decode()


def test_an_empty_dashboard_says_how_to_import_a_task(ada):
    assert reverse("task_add") in page(ada, "tasks")
    assert "import" in page(ada, "studies").lower()


def test_the_list_shows_my_studies_only(ada, study, other_researcher):
    factories.make_study(other_researcher, factories.make_task(), name="theirs", title="Theirs")
    shown = page(ada, "studies")
    assert study.name in shown
    assert "Theirs" not in shown


def test_the_page_of_a_study_counts_seats_by_scenario(ada, study):
    zero, two = study.scenarios.order_by("shots")
    factories.work_through(factories.seat(zero))
    factories.seat(zero)
    factories.seat(two, kind="simulated")
    rows = ada.get(reverse("study", args=[study.name])).context["progress"].seats
    assert [(r.completed, r.working, r.free, r.simulated) for r in rows] == [
        (1, 1, 0, 0),
        (0, 0, 2, 1),
    ]


@pytest.mark.long
def test_the_pages_of_a_study_show_the_link_and_the_participants(ada, study):
    seat = factories.seat(study.scenarios.first())
    overview, people = (page(ada, name, study.name) for name in ("study", "people"))
    assert reverse("landing", args=[study.link_code]) in overview
    assert reverse("landing", args=[study.link_code]) in page(ada, "recruit", study.name)
    assert seat.pseudonym in people
    assert seat.token not in overview + people


@pytest.mark.long
def test_a_bad_annotator_has_a_lower_mean_in_the_list(ada, study):
    two = study.scenarios.get(shots=2)
    factories.work_through(factories.seat(two))
    bad = factories.seat(two)
    factories.work_through(bad, lambda turn: ["home"])
    waiting = factories.seat(study.scenarios.get(shots=0))
    for seat in study.participations.all():
        blinding.show(seat, study.owner)
    rows = ada.get(reverse("people", args=[study.name])).context["participations"]
    means = {row["participation"].pseudonym: row["mean_s1"] for row in rows}
    assert means.pop(bad.pseudonym) == 0
    assert means.pop(waiting.pseudonym) is None
    assert list(means.values()) == [100]


def test_the_page_of_a_study_has_a_bounded_query_count(ada, study, django_assert_max_num_queries):
    for scenario in study.scenarios.all():
        for _ in range(2):
            factories.seat(scenario)
    with django_assert_max_num_queries(24):
        page(ada, "study", study.name)
    with django_assert_max_num_queries(20):  # unchanged parts are cached
        page(ada, "study", study.name)


@contextmanager
def loaded() -> Iterator[Counter]:
    """Count the instances read from the database, by model."""
    counts = Counter()

    def count(sender, **_signal) -> None:
        counts[sender] += 1

    post_init.connect(count)
    try:
        yield counts
    finally:
        post_init.disconnect(count)


@pytest.mark.parametrize("name", ["study", "people"])
def test_pages_load_no_scenario_for_each_annotator(ada, study, name):
    numbers = []
    for scenario in [*study.scenarios.all()] * 2:
        factories.work_through(factories.seat(scenario))
        with loaded() as counts:
            page(ada, name, study.name)
        numbers.append((counts[Scenario], counts[Task]))
    assert numbers[3] == numbers[1]


def test_the_overview_loads_no_annotator_who_completed(ada, study):
    for scenario in [*study.scenarios.all()] * 2:
        factories.work_through(factories.seat(scenario))
    with loaded() as counts:
        page(ada, "study", study.name)
    assert counts[Participation] == 0


def test_the_list_of_studies_reads_no_consent_text(ada, study, django_assert_max_num_queries):
    with django_assert_max_num_queries(9) as seen:
        assert study.title in page(ada, "studies")
    assert not any("consent_" in query["sql"] for query in seen.captured_queries)


@pytest.mark.long
def test_people_are_listed_a_page_at_a_time(ada, study, monkeypatch):
    monkeypatch.setattr(participants, "PER_PAGE", 3)
    seats = [factories.seat(scenario) for scenario in study.scenarios.all() for _ in range(2)]
    address = reverse("people", args=[study.name])
    shown = [
        [
            row["participation"].pk
            for row in ada.get(address, {"page": page}).context["participations"]
        ]
        for page in (1, 2)
    ]
    newest_first = [seat.pk for seat in reversed(seats)]
    assert shown == [newest_first[:3], newest_first[3:]]
    assert "1 to 3 of 4" in ada.get(address).content.decode()


def test_the_page_of_a_task_shows_its_data_report(ada, study):
    task = study.tasks.get()
    shown = page(ada, "task", task.name, task.version)
    assert "toy_test.jsonl" in shown
    assert "Ceiling" in shown


def test_texts_of_researchers_are_escaped(ada, researcher):
    task = factories.make_task(title="<script>alert(1)</script>")
    study = factories.make_study(researcher, task, title="<img src=x onerror=alert(2)>")
    for shown in (page(ada, "study", study.name), page(ada, "landing", study.link_code)):
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


# Preview -----------------------------------------------------------------------------------------


def rows() -> dict[str, int]:
    """Return the number of rows in each of Handful's tables."""
    return {
        model.__name__: model.objects.count()
        for label in ("annotation", "tasks")
        for model in apps.get_app_config(label).get_models()
    }


def walk_preview(client, study, scenario, step, answer) -> list[str]:
    """Answer every example from the first one of this step; return the states that were shown."""
    address = reverse("scenario_preview", args=[study.name, scenario.pk, step, 0])
    seen = []
    for _ in range(20):
        reply = client.get(address)
        if address.endswith("/end/0/"):
            return seen
        turn = reply.context[-1]["turn"]
        seen.append(f"{turn.place.step} {turn.place.number}")
        reply = client.post(address, {"turn": turn.key, **answer})
        if reply.status_code == 200:
            seen.append(reply.context[-1]["turn"].state)
            address = reply.context[-1]["turn"].continue_url
        else:
            address = reply.url
    raise AssertionError("the preview does not end")


@pytest.mark.long
def test_a_preview_walks_both_steps_and_writes_nothing(ada, study):
    before = rows()
    scenario = study.scenarios.get(shots=2)
    seen = walk_preview(ada, study, scenario, "training", {"no_answer": "1"})
    assert seen == [
        "training 1", "reveal", "training 2", "reveal",
        "annotation 1", "annotation 2", "annotation 3", "annotation 4",
    ]  # fmt: skip
    assert rows() == before


def test_a_preview_is_labelled_and_validates_answers(ada, study):
    scenario = study.scenarios.get(shots=2)
    address = reverse("scenario_preview", args=[study.name, scenario.pk, "training", 0])
    assert "nothing you do here is saved" in ada.get(address).content.decode()
    reply = ada.post(address, {"turn": "x", "typed": "Atlantis"})
    assert reply.status_code == 422
    assert "“Atlantis” is not in the text" in reply.content.decode()


def test_a_draft_can_be_previewed_and_a_foreign_study_cannot(ada, researcher, other_researcher):
    mine = factories.make_study(researcher, factories.make_task(), status="draft")
    theirs = factories.make_study(other_researcher, factories.make_task())
    assert page(ada, "scenario_preview", mine.name, mine.scenarios.first().pk, "annotation", 0)
    scenario = theirs.scenarios.first()
    for name in (theirs.name, mine.name):
        address = reverse("scenario_preview", args=[name, scenario.pk, "annotation", 0])
        assert ada.get(address).status_code == 404
    assert not Participation.objects.exists()


# Signing in --------------------------------------------------------------------------------------


def test_signing_in_leads_to_the_requested_page(client, researcher, study):
    wanted = reverse("study", args=[study.name])
    reply = client.get(wanted)
    assert reply.status_code == 302
    reply = client.post(reply.url, {"login": "ada", "password": "right horse"})
    assert (reply.status_code, reply.url) == (302, wanted)


def test_after_eight_wrong_passwords_the_right_one_is_refused(client, researcher):
    address = reverse("login")
    for _ in range(8):
        client.post(address, {"login": "ada", "password": "wrong"})
    reply = client.post(address, {"login": "ada", "password": "right horse"})
    assert reply.status_code == 429
    assert "_auth_user_id" not in client.session


def test_people_show_time_and_money_to_those_who_pay(ada, researcher, other_researcher, client):
    study = factories.make_study(researcher, factories.make_task(), base_reward="1.50")
    finished = factories.seat(study.scenarios.first())
    factories.work_through(finished)
    factories.seat(study.scenarios.first())
    html = page(ada, "people", study.name)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in html.split("<tr>")]
    money = [row[8:10] for row in cells if len(row) == 12]
    assert money == [["–", "–"], ["1.50", "0.00"]]
    team.add(study, other_researcher.username, Role.ANALYST, researcher)
    client.force_login(other_researcher)
    assert "Earned" not in page(client, "people", study.name)


def test_the_costs_of_a_study_with_volunteers_are_one_line(ada, researcher):
    unpaid = {"hourly_rate": 0, "minimum_pay": 0, "base_reward": 0}
    paid, volunteers = (
        factories.make_study(researcher, factories.make_task(name=name), shots=[0], **options)
        for name, options in (("toy-paid", {}), ("toy-unpaid", unpaid))
    )
    line = "Annotators aren't paid in this study."
    for study, is_one_line in ((volunteers, True), (paid, False)):
        page = ada.get(reverse("study", args=[study.name])).content.decode()
        assert (line in page, "progress-committed" not in page) == (is_one_line, is_one_line)
