"""One study on Prolific assigns all scenarios, or participants choose among one study each."""

import random
import re
from collections import Counter
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db.models import F
from django.urls import reverse

from analysis.documents import paper_tables
from analysis.scores import marks
from annotation.models import Participation, ProlificStudy, Study
from annotation.pay import ledger
from annotation.prolific import drafts, studies, sync
from annotation.prolific.adapter import ProlificAdapter
from annotation.recruitment import arrivals
from annotation.recruitment.platform_adapters import Identity
from annotation.study import consequences, lifecycle
from tests import factories
from tests.annotation.prolific.fixtures import HOST, begin, pay_all
from tests.annotation.study.test_cross_task import make_cross_task

CHOSEN = "Participants chose their scenario on Prolific"
MINUTES = {0: 10, 2: 20, 4: 60}  # shots -> minutes


def make_study(researcher, shots=(0, 2, 4), **fields) -> Study:
    """Create a study whose scenarios differ in length."""
    fields = {"currency": "GBP", "hourly_rate": 12, "annotators": 2, **fields}
    task = factories.make_task(name=f"task-{Study.objects.count()}", title="Sentiment of tweets")
    study = factories.make_study(researcher, task, shots=list(shots), **fields)
    for scenario in study.scenarios.all():
        scenario.minutes = MINUTES[scenario.shots]
        scenario.save()
    return study


def publish(study, researcher, parts=0, **changes) -> list[ProlificStudy]:
    for draft in drafts.plan(study, parts, researcher):
        ProlificStudy.objects.filter(pk=draft.pk).update(**changes)
        studies.create(ProlificStudy.objects.get(pk=draft.pk), HOST)
    return list(study.prolific_studies.all())


def arrive(fake, there, person: str) -> tuple[str, Participation]:
    """Arrive from Prolific with a verified identity; return the session id and the seat."""
    session = fake.arrive(there.external_id, person)["session_id"]
    who = Identity(person, session, verified=True)
    return session, arrivals.arrive(ProlificAdapter(there), who, "")


# One study for all scenarios ----------------------------------------------------------------------


def test_all_scenarios_share_a_study_there_timed_by_the_longest(fake, researcher):
    study = make_study(researcher, qualification="minimum", qualification_threshold=50)
    (there,) = publish(study, researcher)
    assert set(there.scenarios.all()) == set(study.scenarios.all())
    shown = fake.study(there.external_id)
    assert shown["total_available_places"] == 6
    assert (shown["estimated_completion_time"], there.minutes) == (60, 60)
    assert shown["maximum_allowed_time"] == 3 * 60 + 2
    screening = [
        action["fixed_screen_out_reward"]
        for code in shown["completion_codes"]
        for action in code["actions"]
        if "fixed_screen_out_reward" in action
    ]
    assert len(screening) == 1


@pytest.mark.parametrize(
    "title",
    [
        "A small study", "Sentiment of tweets, a pilot", "Reading with 4 shots", "task-0 again",
        "Zero-shot reading",
    ],
)  # fmt: skip
@pytest.mark.parametrize("parts", [0, 1])
def test_title_and_description_there_mention_no_task_or_shots(fake, researcher, title, parts):
    study = make_study(researcher, title=title)
    for draft in drafts.plan(study, parts, researcher):
        told = f"{draft.name} {studies.payload(draft, HOST, 'p')['description']}".casefold()
        assert not re.search(r"\bshots?\b", told)
        for task in study.tasks.all():
            for word in (task.name, task.card.title, task.card.description):
                assert word.casefold() not in told
    assert draft.name.startswith("A small study") == (title == "A small study")


def test_with_chosen_scenarios_each_study_there_names_its_own(fake, researcher):
    study = make_study(researcher, participants_choose_scenario=True)
    names = [draft.name for draft in drafts.plan(study, 0, researcher)]
    assert [name.rpartition(", ")[2] for name in names] == ["0 shots", "2 shots", "4 shots"]


# The reward ---------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("choice", "rate", "reward"),
    [
        ("shortest", 12, 600),  # Prolific's minimum for 60 minutes is 6.00
        ("shortest", 60, 1000),
        ("longest", 12, 1200),
        ("shortest", 6, 600),
    ],
)
def test_reward_is_for_the_shortest_or_longest_above_the_minimum(
    fake, researcher, choice, rate, reward
):
    study = make_study(researcher, hourly_rate=rate, prolific_reward=choice)
    (there,) = publish(study, researcher)
    assert fake.study(there.external_id)["reward"] == there.reward_cents == reward


def finish(fake, there, person: str) -> Participation:
    """Arrive, and work exactly as long as announced."""
    session, seat = arrive(fake, there, person)
    begin(seat)
    factories.work_through(seat)
    seat.refresh_from_db()
    seat.worked_seconds = 60 * MINUTES[seat.scenario.shots]
    seat.save()
    fake.complete(session, there.codes["completed"])
    return seat


@pytest.mark.long
@pytest.mark.parametrize("choice", ["shortest", "longest"])
def test_the_cost_shown_is_paid_and_earnings_are_within_bounds(fake, researcher, choice):
    study = make_study(researcher, hourly_rate=15, prolific_reward=choice, annotators=1)
    (there,) = publish(study, researcher)
    people = [finish(fake, there, letter * 24) for letter in "abc"]
    sync.sync(study)
    pay_all(study)
    paid = {person: account["paid_cents"] for person, account in fake.books().items()}
    cells = [(scenario.seats, scenario.estimated_minutes) for scenario in study.scenarios.all()]
    costs = {cost["choice"]: cost["total"] for cost in consequences.costs_of_design(study, cells)}
    assert costs[choice] == sum(paid.values())
    most = ledger.cap(study)
    for letter, seat in zip("abc", people, strict=True):
        by_time = ledger.for_time(study, timedelta(seconds=seat.worked_seconds))
        assert paid[letter * 24] == max(by_time, there.reward_cents)
        assert paid[letter * 24] <= most


def test_a_design_shows_what_either_reward_would_cost(researcher, ada):
    task = factories.make_task(name="short"), factories.make_task(name="long")
    fields = {"task_minutes": "short: 10\nlong: 60", "hourly_rate": 60, "currency": "GBP"}
    study = factories.make_study(
        researcher, *task, shots=[0], annotators=2, estimated_minutes=None, max_paid_hours=2,
        budget=900, status="draft", **fields,
    )  # fmt: skip
    page = reverse("study_design", args=[study.name])
    shown = " ".join(ada.get(page).content.decode().split())
    assert "shortest scenario's reward</dt><dd><b>140.00 GBP</b>: 10.00 per reward, 100.00" in shown
    assert "longest scenario's reward</dt><dd><b>240.00 GBP</b>: 60.00 per reward, 0.00" in shown
    study.task_minutes = ""
    study.estimated_minutes = 10
    study.save()
    assert "scenario's reward" not in ada.get(page).content.decode()


# Assigned and chosen scenarios --------------------------------------------------------------------


def four_hundred_arrive(fake, study, seed=20261124) -> Counter:
    """Let 400 people choose among the studies on Prolific, with a preference for short ones."""
    draw, arms = random.Random(seed), Counter()
    offered = list(study.prolific_studies.all())
    for number in range(400):
        tastes = [2 ** (-there.minutes / 10) for there in offered]
        (there,) = draw.choices(offered, tastes)
        person = f"{number:024x}"
        arms[arrive(fake, there, person)[1].scenario.shots] += 1
    return arms


@pytest.fixture
def crowded(fake, researcher):
    """Return a function that publishes a study with enough seats for all arrivals."""
    fake.mode(signing="on")

    def make(**fields) -> Study:
        study = make_study(researcher, budget=99_999, **fields)
        study.scenarios.update(seats=F("seats") * 200)
        publish(study, researcher, signed=True)
        return study

    return make


@pytest.mark.long
@pytest.mark.timeout(480)
def test_assigned_arms_are_balanced(fake, crowded):
    study = crowded()
    arms = four_hundred_arrive(fake, study)
    assert sum(arms.values()) == 400
    assert max(arms.values()) - min(arms.values()) <= 1
    assert marks.sentences(study) == []


@pytest.mark.long
@pytest.mark.timeout(480)
def test_chosen_scenarios_are_biased_by_their_length(fake, crowded):
    study = crowded(participants_choose_scenario=True)
    arms = four_hundred_arrive(fake, study)
    expected = 400 / 3
    chi_squared = sum((number - expected) ** 2 / expected for number in arms.values())
    assert chi_squared > 13.8  # p < .001, two degrees of freedom
    assert arms[0] > arms[2] > arms[4]
    assert [mark[: len(CHOSEN)] for mark in marks.sentences(study)] == [CHOSEN]


@pytest.mark.long
@pytest.mark.parametrize("is_chosen", [True, False])
def test_every_table_says_that_participants_chose_if_they_did(fake, researcher, ada, is_chosen):
    study = make_study(researcher, participants_choose_scenario=is_chosen)
    publish(study, researcher)
    told = marks.sentences(study)
    assert [mark[: len(CHOSEN)] for mark in told] == [CHOSEN] * is_chosen
    for number in range(6):
        seat = factories.join(study, identity=f"person {number}")
        begin(seat)
        factories.work_through(seat)
    for page in (
        "human_performance", "analysis", "latex", "figures", "examples", "training",
        "leaderboard",
    ):  # fmt: skip
        shown = ada.get(reverse(page, args=[study.name]), follow=True).content.decode()
        assert (CHOSEN in shown) == is_chosen, page
    filled = [
        name for name in paper_tables.titles(study) if paper_tables.tables(study, "person", name)
    ]
    assert {"human-performance", "contrasts"} <= set(filled)
    for name in filled:
        assert (CHOSEN in paper_tables.latex(study, "person", name)) == is_chosen, name
    markdown = ada.get(reverse("human_performance_file", args=[study.name, "md"]))
    assert (CHOSEN in markdown.content.decode()) == is_chosen
    replies = ada.get(reverse("api_analysis", args=[study.name])).json()
    assert [reply["marks"] for reply in replies] == [told]


def test_older_studies_are_marked_by_their_stored_layout(fake, researcher):
    study = make_study(researcher)
    for scenario in study.scenarios.all():
        there = ProlificStudy.objects.create(
            study=study, name=str(scenario), reward_cents=1, minutes=1, max_minutes=6, places=1
        )
        there.scenarios.set([scenario])
        assert marks.sentences(study) == []  # not created on Prolific yet
    there.external_id = "f" * 24
    there.save()
    assert marks.sentences(study)[0].startswith(CHOSEN)


def test_a_study_of_one_scenario_has_no_mark_of_choice(fake, researcher):
    study = make_study(researcher, shots=[2], participants_choose_scenario=True)
    publish(study, researcher)
    assert marks.sentences(study) == []


def train(seat) -> None:
    """Complete the training step, which ends part 1."""
    factories.work_through(seat, limit=seat.scenario.shots)
    factories.go_on(seat.token)


# Parts --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_in_parts_an_arm_without_training_splits_its_test_set(fake, researcher):
    study = make_study(researcher, shots=[0, 4], annotators=1)
    first, second = publish(study, researcher, parts=1)
    assert [there.places for there in (first, second)] == [2, 2]
    for letter in "ab":
        session, seat = arrive(fake, first, letter * 24)
        begin(seat)
        train(seat) if seat.scenario.shots else factories.work_through(seat)
        seat.refresh_from_db()
        assert seat.status == "between"
        answered = seat.turns.filter(step="annotation").count()
        assert answered == (2 if seat.scenario.shots == 0 else 0)
        fake.complete(session, first.codes["completed"])
        session, seat = arrive(fake, second, letter * 24)
        factories.work_through(seat)
        seat.refresh_from_db()
        assert seat.status == "completed"
        assert seat.turns.filter(step="annotation").count() == 4
        fake.complete(session, second.codes["completed"])
    assert marks.sentences(study) == []


@pytest.mark.long
def test_parts_divide_each_task_in_proportion_to_its_test(fake, researcher):
    tasks = [
        factories.make_task(name=name, test_size=size)
        for name, size in (("small", 4), ("large", 8))
    ]
    study = factories.make_study(
        researcher, *tasks, shots=[2], annotators=1, currency="GBP", hourly_rate=12
    )
    first, second, _third = publish(study, researcher, parts=2)
    for letter in "ab":
        session, seat = arrive(fake, first, letter * 24)
        begin(seat)
        train(seat)
        fake.complete(session, first.codes["completed"])
        session, seat = arrive(fake, second, letter * 24)
        factories.work_through(seat)
        seat.refresh_from_db()
        assert seat.status == "between"
        answered = seat.turns.filter(step="annotation").count()
        assert answered == {"small": 2, "large": 4}[seat.scenario.task.name]


# Cross-task studies -------------------------------------------------------------------------------


@pytest.mark.long
def test_a_cross_task_study_is_one_study_there_that_assigns_arms(fake, researcher):
    study = make_cross_task(
        researcher, targets=["unseen-a"], currency="GBP", annotators=1, estimated_minutes=10
    )
    lifecycle.change_status(study, "open")
    (there,) = publish(study, researcher)
    arms = {arrive(fake, there, letter * 24)[1].scenario.arm for letter in "abc"}
    assert arms == {"upstream", "sham", "direct"}
    assert marks.sentences(study)[0].startswith("In this cross-task study, tables")
    assert len(marks.sentences(study)) == 1


def test_the_arm_of_a_cross_task_study_cannot_be_chosen(researcher):
    with pytest.raises(ValidationError) as refused:
        make_cross_task(researcher, participants_choose_scenario=True)
    assert refused.value.message_dict == {
        "participants_choose_scenario": [("Arms of a cross-task study cannot be chosen.")]
    }
