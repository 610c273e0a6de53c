"""The minutes announced to annotators depend on the task's size and the number of shots."""

import json
import re
from decimal import Decimal

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse

from analysis.documents import blocks, preregistration
from annotation.models import Study
from annotation.monitoring import progress
from annotation.prolific import drafts
from annotation.recruitment import consent
from annotation.study import consequences, design, minutes
from tests import factories


@pytest.fixture
def tasks(db):
    """A short task and a long one."""
    short = factories.make_task(name="short", test_size=5)
    return short, factories.make_task(name="long", labels=factories.LABELS, test_size=400)


@pytest.fixture
def study(researcher, tasks):
    return factories.make_study(
        researcher, *tasks, estimated_minutes=None, shots=[2], title="Two tasks", annotators=2
    )


def told(study) -> dict[str, int]:
    return {s.task.name: s.estimated_minutes for s in study.scenarios.select_related("task")}


def words(page: bytes) -> str:
    return " ".join(lxml.html.fromstring(page).text_content().split())


@pytest.mark.long
def test_each_task_states_the_minutes_of_its_examples(researcher, study, client):
    of = told(study)
    assert of["short"] == 5
    assert of["long"] > 20
    # The landing page shows a range, because only the seat determines the task and its minutes.
    landing = reverse("landing", args=[study.link_code])
    page = words(Client().get(landing).content)
    assert re.search(rf"about 5 to {of['long']} minutes ?depending on the task", page)
    for _two in range(2):
        seat = factories.join(study)
        scenario = seat.scenario
        consent.record(seat, agree=True)
        shown = words(Client().get(reverse("work", args=[seat.token])).content)
        assert f"About {scenario.estimated_minutes} minutes." in shown
    # In the manifest, the preregistration and the design page.
    frozen = json.loads(study.manifest)
    assert frozen["estimated_minutes"] is None
    assert {s["task"]: s["minutes"] for s in frozen["scenarios"]} == of
    written = blocks.as_markdown(preregistration.for_study(study))
    assert (
        f"The announced duration is 5 to {of['long']} minutes, depending on the scenario."
        in written
    )
    assert "Announced minutes" in written
    client.force_login(researcher)
    shown = words(client.get(reverse("study_design", args=[study.name])).content)
    assert f"long, 2 shots: {of['long']} minutes; short, 2 shots: 5 minutes" in shown


def test_promised_money_and_time_left_depend_on_the_scenario(study):
    of, seen = told(study), progress.for_study(study)
    rate = 100 * study.hourly_rate / 60
    by_hand = sum(2 * rate * number for number in of.values())  # two seats per task
    assert seen.money.promised == pytest.approx(float(by_hand), abs=2)
    left = {row.scenario.task.name: row.seconds_left for row in seen.seats}
    assert left == {name: 2 * 60 * number for name, number in of.items()}


def test_the_suggested_cap_depends_on_the_longest_task(researcher, tasks):
    draft = factories.make_study(researcher, *tasks, status="draft", estimated_minutes=None)
    longest = minutes.longest(draft, tasks)
    assert longest == max(told(draft).values()) > 20
    hours = design.suggested_hours(draft, tasks)
    assert consequences.for_study(draft).suggested_hours == hours
    assert Decimal(3 * longest) / 60 <= hours < Decimal(3 * longest) / 60 + Decimal("0.1")


def test_the_researchers_minutes_of_a_task_override_the_estimate(researcher, tasks):
    draft = factories.make_study(
        researcher, *tasks, status="draft", estimated_minutes=30, task_minutes="long: 90\n"
    )
    assert told(draft) == {"short": 30, "long": 90}
    assert consequences.for_study(draft).promised == "30 to 90"
    assert ", 30 to 90 minutes announced for each, " in consequences.for_study(draft).sum_in_words


@pytest.mark.long
def test_a_pilot_replaces_reading_speed_in_the_announced_minutes(researcher, tasks):
    short, _long = tasks
    piloted = factories.make_task(name="piloted", labels=factories.LABELS, test_size=30)
    pilot = factories.make_study(researcher, piloted, shots=[2])
    factories.work_through(factories.seat(pilot.scenarios.get()))
    draft = factories.make_study(researcher, short, piloted, status="draft", estimated_minutes=None)
    cells = {(c.load.task.name, c.load.shots): c for c in consequences.for_study(draft).cells}
    assert cells["piloted", 2].pilot == 30
    assert cells["short", 2].pilot == 0
    # Simulated annotators take almost no time, so this is the minimum of five minutes.
    assert cells["piloted", 2].announced == 5
    assert told(draft)["piloted"] == 5


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("long 90", "Line 1: expected a task name, a colon and whole minutes"),
        ("lang: 90", "Line 1: lang is not in this study: short, long."),
        ("long: 0", "Line 1: expected 1 to 10000 minutes."),
        ("long: 90\nlong: 80", "Line 2: long already has a line."),
    ],
)
def test_an_invalid_line_of_task_minutes_is_refused(researcher, tasks, line, said):
    head = factories.bearer(researcher, "run")
    sent = {"name": "wrong", "title": "T", "tasks": ["short", "long"], "shots": [2],
            "task_minutes": line}  # fmt: skip
    reply = Client().post(
        reverse("api_studies"), sent, content_type="application/json", headers=head
    )
    assert reply.status_code == 422
    assert said in reply.content.decode()
    assert not Study.objects.exists()
    sent["task_minutes"] = "long: 90"
    made = Client().post(
        reverse("api_studies"), sent, content_type="application/json", headers=head
    )
    assert made.status_code == 201, made.content
    assert told(Study.objects.get()) == {"short": 5, "long": 90}


def test_prolific_gets_each_scenarios_minutes_or_the_longest(researcher, study):
    (draft,) = drafts.plan(study, 0, researcher)
    assert draft.minutes == max(told(study).values())
    factories.force_options(study, participants_choose_scenario=True)
    drafted = {
        draft.scenarios.get().task.name: draft.minutes
        for draft in drafts.plan(study, 0, researcher)
    }
    assert drafted == told(study)
