"""A running study's page shows its seats, funnel, current participants, time and money."""

import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import LedgerEntry, Participation, Study
from annotation.monitoring import flags, progress
from annotation.pay import budget, ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.privacy import withdrawal
from annotation.protocol import exclusion, qualification
from annotation.recruitment import consent, seats
from annotation.study import lifecycle, team
from annotation.web.wording import in_words
from tests import factories

HTMX = {"HX-Request": "true"}


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=3)


@pytest.fixture
def two(study):
    return study.scenarios.get(shots=2)


def funnel(study: Study, shots: int = 2) -> dict[str, int]:
    """Return the stages of a scenario's funnel of people that are not zero."""
    rows = progress.for_study(Study.objects.get(pk=study.pk)).seats
    stages = next(row.funnel for row in rows if row.scenario.shots == shots)
    assert stages.arrived == (
        stages.declined + stages.at_work + stages.completed + stages.screened_out + stages.returned
        + stages.expired + stages.refused + stages.withdrawn + stages.rejected
    )  # fmt: skip
    return {name: number for name, number in vars(stages).items() if number}


def poll(client, study: Study, seen: str = "", part: str = "overview"):
    asked = {"seen": seen, "part": part}
    return client.get(reverse("study_progress", args=[study.name]), asked, headers=HTMX)


# The funnel --------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_participation_is_counted_up_to_its_stage(study, two):
    participation = factories.join(study)
    Participation.objects.filter(pk=participation.pk).update(scenario=two)
    assert funnel(study) == {"arrived": 1, "at_work": 1}
    consent.record(participation, agree=True)
    assert funnel(study) == {"arrived": 1, "at_work": 1, "consented": 1}
    participation.delete()
    seat = factories.seat(two)
    factories.work_through(seat, limit=1)
    assert funnel(study) == {"arrived": 1, "at_work": 1, "consented": 1}
    factories.work_through(seat, limit=1)
    assert funnel(study) == dict.fromkeys(
        ("arrived", "at_work", "consented", "trained", "qualified"), 1
    )
    factories.work_through(seat)
    assert funnel(study) == dict.fromkeys(
        ("arrived", "consented", "trained", "qualified", "completed", "analysed"), 1
    )


def test_at_zero_shots_seeing_an_example_counts_as_trained(study):
    zero = study.scenarios.get(shots=0)
    factories.seat(zero)
    assert funnel(study, 0) == dict.fromkeys(
        ("arrived", "at_work", "consented", "trained", "qualified"), 1
    )


def test_a_declined_consent_counts_only_as_arrived(study):
    consent.record(factories.join(study), agree=False)
    people = progress.for_study(study).people
    assert (people.arrived, people.declined, people.consented) == (1, 1, 0)


def test_a_screened_out_annotator_counts_as_trained_only(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=3,
        qualification="minimum", qualification_threshold=50,
    )  # fmt: skip
    scenario = study.scenarios.get()
    factories.work_through(factories.seat(scenario))
    bad = factories.seat(scenario)
    factories.work_through(bad, lambda turn: ["home"], limit=2)
    before = funnel(study)
    assert (before["trained"], before["qualified"], before["at_work"]) == (2, 1, 1)
    factories.go_on(bad.token)
    after = funnel(study)
    assert (after["trained"], after["qualified"], after["screened_out"]) == (2, 1, 1)


@pytest.mark.long
def test_an_annotator_waiting_for_a_decision_counts_as_trained(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=3, qualification="researcher"
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    stages = funnel(study)
    assert (stages["trained"], stages.get("qualified", 0), stages["at_work"]) == (1, 0, 1)
    shown = ada.get(reverse("study", args=[study.name])).content.decode()
    assert "1 annotator is waiting for your decision" in shown
    assert "Waiting for your decision" in poll(ada, study, part="people").content.decode()
    qualification.decide(seat.token, True, "good", researcher)
    assert funnel(study)["qualified"] == 1
    assert "your decision" not in poll(ada, study).content.decode()
    assert "your decision" not in poll(ada, study, part="people").content.decode()


def test_the_overview_lists_only_the_stages_of_the_study(ada, study, two):
    factories.seat(two)
    shown = poll(ada, study).content.decode()
    assert "<dt>Trained</dt>" in shown
    assert "<dt>Qualified</dt>" not in shown  # the study has no screening
    assert "<small>In progress: 1.</small>" in shown
    zero = factories.make_study(study.owner, *study.tasks.all(), name="zero", shots=[0])
    factories.seat(zero.scenarios.get())
    assert "<dt>Trained</dt>" not in poll(ada, zero).content.decode()


def test_a_withdrawn_annotator_is_counted_up_to_the_last_stage(study, two):
    early, late = factories.seat(two), factories.seat(two)
    factories.work_through(early, limit=1)
    factories.work_through(late)
    for participation in (early, late):
        withdrawal.withdraw(participation.token)
    assert funnel(study) == {
        "arrived": 2, "consented": 2, "trained": 1, "qualified": 1, "withdrawn": 2
    }  # fmt: skip


def test_returned_expired_and_excluded_are_counted_separately(study, two):
    for status in ("returned", "expired"):
        seats.release_seat(factories.seat(two), status)
    excluded = factories.seat(two)
    factories.work_through(excluded)
    exclusion.decide(excluded, False, "asleep", study.owner)
    stages = funnel(study)
    assert (stages["returned"], stages["expired"], stages["completed"]) == (1, 1, 1)
    assert "analysed" not in stages


def test_simulated_annotators_are_counted_separately(study, two):
    factories.work_through(factories.seat(two, kind="simulated"))
    state = progress.for_study(study)
    assert state.people.arrived == 0
    assert state.simulated.completed == 1


# Current annotators and time left ----------------------------------------------------------------


def test_annotators_active_within_ten_minutes_are_working(study, two):
    seat = factories.seat(two)
    factories.work_through(seat, limit=3)
    (annotator,) = progress.for_study(study).at_work
    assert (annotator.pseudonym, annotator.place) == (seat.pseudonym, "annotation step, 2 of 4")
    known = progress.facts(study)
    later = replace(known, now=known.now + timedelta(minutes=11))
    assert not progress.for_study(study, later).at_work


def test_an_annotator_reading_the_consent_text_is_working(study):
    factories.join(study)
    assert [annotator.place for annotator in progress.for_study(study).at_work] == ["consent"]


def test_a_finished_annotator_is_not_working(study, two):
    factories.work_through(factories.seat(two))
    assert progress.for_study(study).at_work_count == 0


@pytest.mark.long
def test_work_left_uses_the_estimate_until_a_first_completion(study, two):
    rows = {row.scenario.shots: row for row in progress.for_study(study).seats}
    assert rows[2].time_left == "3 × 1 h 0 min (the study's estimate)"
    for minutes in (10, 20):
        done = factories.seat(two)
        factories.work_through(done)
        Participation.objects.filter(pk=done.pk).update(worked_seconds=60 * minutes)
    factories.seat(two)
    rows = {row.scenario.shots: row for row in progress.for_study(study).seats}
    assert rows[2].time_left == "1 × 15 min (median of 2)"
    assert rows[0].time_left == "3 × 1 h 0 min (the study's estimate)"
    assert progress.for_study(study).time_left == "3 h 15 min"


def test_a_closed_study_counts_only_working_seats_as_open(study, two):
    factories.seat(two)
    lifecycle.change_status(study, "close")
    state = progress.for_study(study)
    assert [row.open_seats for row in state.seats] == [0, 1]
    assert state.is_moving


# Money -------------------------------------------------------------------------------------------


def test_money_is_shown_as_earned_paid_and_committed(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=3,
        hourly_rate=Decimal(12), estimated_minutes=30, base_reward=Decimal(5),
    )  # fmt: skip
    scenario = study.scenarios.get()
    # Half an hour at the hourly rate is 6.00, which exceeds the base reward.
    assert progress.for_study(study).money.in_words["committed"] == "18.00 USD"
    factories.work_through(factories.seat(scenario))
    money = progress.for_study(study).money
    assert (money.earned, money.paid, money.due, money.promised) == (500, 0, 500, 1200)
    (batch,) = batches.prepare(study, researcher)
    payout.mark_paid(batch)
    money = progress.for_study(study).money
    assert (money.earned, money.paid, money.due, money.promised) == (500, 500, 0, 1200)


def test_unpaid_work_is_held_back_and_not_due(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=1, base_reward=Decimal(5)
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    ledger.decide(seat, False, "a bot", researcher)
    money = progress.for_study(study).money
    assert (money.earned, money.held_back, money.due) == (500, 500, 0)


def test_simulated_annotators_earn_nothing(study, two):
    factories.work_through(factories.seat(two, kind="simulated"))
    assert progress.for_study(study).money.earned == 0
    assert not LedgerEntry.objects.exists()


# Flags -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_flags_are_counted_for_completed_people(ada, study):
    zero = study.scenarios.get(shots=0)
    seats = [factories.seat(zero) for _ in range(3)]
    Participation.objects.filter(pk__in=[seat.pk for seat in seats[:2]]).update(browser="same")
    factories.work_through(seats[0])
    factories.work_through(seats[1], limit=1)
    flagged = progress.for_study(study).flagged
    assert (flagged.completed, flagged.people) == (1, 1)
    # Tests answer faster than anyone could read.
    assert flagged.by_flag == [("too fast", 1), ("shared browser", 1)]
    factories.work_through(seats[1])
    factories.work_through(seats[2])
    flagged = progress.for_study(study).flagged
    assert (flagged.completed, flagged.people) == (3, 3)
    assert flagged.by_flag == [("too fast", 3), ("shared browser", 2)]
    shown = poll(ada, study).content.decode()
    assert "3 of 3 completed annotators flagged" in shown
    assert "Too fast: 3, shared browser: 2. Flags never exclude anyone automatically." in shown


def test_flags_of_simulated_annotators_are_not_counted(study, two):
    factories.work_through(factories.seat(two, kind="simulated"))
    assert progress.for_study(study).flagged.completed == 0


def test_flags_are_hidden_from_roles_that_may_not_read_answers(client, study, other_researcher):
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    team.add(study, other_researcher.username, "payer", study.owner)
    for user, sees in ((study.owner, True), (other_researcher, False)):
        client.force_login(user)
        reply = client.get(reverse("study", args=[study.name]))
        assert reply.status_code == 200
        assert ('id="need-flags"' in reply.content.decode()) is sees


def test_the_flags_take_two_queries_and_read_no_answer(study, two, django_assert_num_queries):
    for _ in range(3):
        factories.work_through(factories.seat(two))
    with django_assert_num_queries(2) as seen:
        assert flags.for_completed(study).completed == 3
    assert not any("annotation_answer" in query["sql"] for query in seen.captured_queries)


# The page ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_polling_gets_204_while_nothing_changes(ada, study, two):
    shown = ada.get(reverse("study", args=[study.name]))
    seen = shown.context["progress"].version
    assert f"&amp;seen={seen}" in shown.content.decode()
    parts = {"overview": "1 in progress", "recruit": "progress-seats", "people": ""}
    for part in parts:
        assert poll(ada, study, seen, part).status_code == 204
    seat = factories.seat(two)
    for part, words in parts.items():
        reply = poll(ada, study, seen, part)
        assert reply.status_code == 200
        assert (words or seat.pseudonym) in reply.content.decode()
        assert "<html" not in reply.content.decode()
    assert poll(ada, study, seen, "nothing").status_code == 302


def test_a_poll_is_cheap_until_an_annotator_acts(ada, study, two):
    seat = factories.seat(two)
    seen = progress.for_study(study).version
    assert poll(ada, study, seen).status_code == 204
    numbers = []
    for _ in range(3):  # three times, in case a new minute begins during one poll
        with CaptureQueriesContext(connection) as captured:
            assert poll(ada, study, seen).status_code == 204
        numbers.append(len(captured))
    assert min(numbers) <= 8
    poll(ada, study, "older")
    with CaptureQueriesContext(connection) as captured:
        assert poll(ada, study, "older").status_code == 200
    assert len(captured) <= 12
    # All parts of the page share one query for the times of current annotators.
    assert sum("last_active_at" in query["sql"] for query in captured) == 1
    actions = (
        lambda: factories.work_through(seat, limit=1),
        lambda: factories.work_through(seat),
        lambda: budget.give_bonus(seat, 100, "kind", study.owner),
        lambda: factories.join(study),
        lambda: lifecycle.change_status(study, "pause"),
    )
    for action in actions:
        action()
        reply = poll(ada, study, seen)
        assert reply.status_code == 200
        seen = progress.for_study(Study.objects.get(pk=study.pk)).version
        assert f"&amp;seen={seen}" in reply.content.decode()
        assert poll(ada, study, seen).status_code == 204


def test_a_poll_counts_annotators_from_an_index(ada, study, two):
    """Without the index, the database would also read every annotator's order of examples."""
    factories.work_through(factories.seat(two))
    seen = progress.for_study(study).version
    poll(ada, study, seen)
    (index,) = Participation._meta.indexes
    covered = {Participation._meta.get_field(name).column for name in index.fields} | {"id"}
    with CaptureQueriesContext(connection) as captured:
        assert poll(ada, study, seen).status_code == 204
    (counted,) = (query["sql"] for query in captured if "GROUP BY" in query["sql"])
    assert set(re.findall(r'"annotation_participation"\."(\w+)"', counted)) <= covered


def test_counting_stages_does_not_look_up_turns_of_annotators_who_completed(study, two):
    factories.work_through(factories.seat(two))
    with CaptureQueriesContext(connection) as captured:
        assert progress.for_study(study).people.trained == 1
    (counted,) = (query["sql"] for query in captured if "n_trained" in query["sql"])
    before, _condition, _after = counted[: counted.index('"n_trained"')].rpartition(" FILTER ")
    condition = counted[len(before) :]
    assert condition.index("'completed'") < condition.index("EXISTS")


def test_every_answer_changes_the_version_of_the_progress(study, two):
    seat = factories.seat(two)
    before = progress.for_study(study).version
    factories.work_through(seat, limit=1)
    factories.go_on(seat.token)
    assert progress.for_study(study).version != before


def test_no_step_or_decision_leaves_old_progress_in_the_cache(study, two, monkeypatch):
    first, second = factories.seat(two), factories.seat(two)

    def look() -> progress.Progress:
        return progress.for_study(Study.objects.get(pk=study.pk))

    seen = {look().version}
    with monkeypatch.context() as patch:
        patch.setattr(progress.flags, "for_completed", None)
        assert look().version in seen  # flags come from the cache
    for act in (
        *[partial(factories.work_through, first, limit=1)] * 9,
        partial(exclusion.decide, first, False, "asleep", study.owner),
        partial(exclusion.decide, first, True, "awake", study.owner),
        partial(ledger.add_bonus, first, 100, "kind", study.owner),
        partial(withdrawal.withdraw, first.token),
        partial(factories.work_through, second, lambda turn: [], limit=1),
        lambda: consent.record(factories.join(study), agree=False),
        partial(Participation.objects.filter(pk=second.pk).update, status="waiting"),
    ):
        act()
        cached = look()
        caches["process"].clear()
        assert cached == look()
        seen.add(cached.version)
    assert look().people.withdrawn == 1
    assert len(seen) > 10  # so the actions did change the page


@pytest.mark.parametrize(("action", "polls"), [("", True), ("pause", True), ("close", False)])
def test_polling_ends_when_the_study_is_closed_and_empty(ada, study, action, polls):
    if action:
        lifecycle.change_status(study, action)
    shown = ada.get(reverse("study", args=[study.name])).content.decode()
    assert ("hx-trigger" in shown) is polls


def test_a_closed_study_polls_while_an_annotator_is_working(ada, study, two):
    factories.seat(two)
    lifecycle.change_status(study, "close")
    assert "hx-trigger" in poll(ada, study).content.decode()


def test_the_fragment_without_htmx_redirects_to_the_page(ada, study):
    reply = ada.get(reverse("study_progress", args=[study.name]))
    assert (reply.status_code, reply.url) == (302, reverse("study", args=[study.name]))


def test_viewing_the_progress_changes_nothing(ada, study, two):
    seat = factories.seat(two)
    Participation.objects.filter(pk=seat.pk).update(arrived_at=timezone.now() - timedelta(days=9))
    before = list(Participation.objects.values())
    poll(ada, study)
    ada.get(reverse("study", args=[study.name]))
    assert list(Participation.objects.values()) == before


@pytest.mark.long
def test_participations_are_listed_fifty_a_page_newest_first(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(test_size=1), shots=[0], annotators=60
    )
    seats = [factories.seat(study.scenarios.get()) for _ in range(52)]
    address = reverse("people", args=[study.name])
    first = ada.get(address).context["participations"]
    second = ada.get(address, {"page": 2}).context["participations"]
    assert (len(first), len(second)) == (50, 2)
    shown = [row["participation"].pseudonym for row in first + second]
    assert shown == [seat.pseudonym for seat in reversed(seats)]


def queries(client, address: str, **options) -> int:
    client.get(address, **options)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address, **options).status_code == 200
    return len(captured)


@pytest.mark.long
def test_one_annotator_or_many_take_the_same_number_of_queries(ada, researcher):
    few = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=3)
    many = factories.make_study(
        researcher, *[factories.make_task(name=f"toy-{n}") for n in "abc"], shots=[0, 2],
        annotators=3,
    )  # fmt: skip
    for scenario in (few.scenarios.get(), many.scenarios.first()):
        factories.work_through(factories.seat(scenario))  # so that both have a result
    for scenario in (*few.scenarios.all(), *many.scenarios.all()):
        for limit in range(scenario.seats - 2):  # so that both have free seats
            factories.work_through(factories.seat(scenario), limit=2 * limit)
    # The sums show pages that were merged: flags and earnings into people; the forms for seats,
    # budget and lists into recruit.
    pages = {"study": 22, "people": 18 + 5 + 1, "recruit": 13 + 12, "study_progress": 14}
    for name, most in pages.items():
        numbers = {
            queries(ada, reverse(name, args=[study.name]), headers=HTMX) for study in (few, many)
        }
        assert len(numbers) == 1, name
        assert numbers.pop() <= most, name


# The overview ------------------------------------------------------------------------------------


def test_the_overview_lists_required_actions(ada, researcher):
    asked = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], annotators=2, name="asked",
        qualification="researcher", base_reward=Decimal(5),
    )  # fmt: skip
    factories.make_study(researcher, factories.make_task(), name="idle", status="draft")
    zero, two = asked.scenarios.order_by("shots")
    factories.work_through(factories.seat(zero))
    waits = factories.seat(two)
    factories.work_through(waits, limit=2)
    factories.go_on(waits.token)
    factories.work_through(factories.seat(zero, kind="simulated"))
    factories.seat(two, kind="simulated")
    reply = ada.get(reverse("studies"))
    rows = {row.study.name: row for row in reply.context["listing"].page}
    row = rows["asked"]
    assert (row.completed, row.seats, row.waiting, row.money.due) == (1, 4, 1, 500)
    assert row.at_work_count == 1
    assert timezone.now() - row.last_active_at < timedelta(minutes=1)
    idle = rows["idle"]
    assert (idle.completed, idle.at_work_count, idle.money.due) == (0, 0, 0)
    assert idle.last_active_at is None
    shown = reply.content.decode()
    assert "1 of 4" in shown
    assert "5.00 USD" in shown
    # All studies are counted before they are sorted by a count.
    for sort in ("due", "completed", "at_work_now", "waiting", "earned"):
        page = ada.get(reverse("studies") + f"?sort=-{sort}").context["listing"].page
        assert page[0].study == asked, sort


@pytest.mark.long
def test_studies_can_be_searched_filtered_and_exported_as_csv(ada, researcher):
    task = factories.make_task()
    for name, status in (("spring", "draft"), ("summer", "open"), ("autumn", "open")):
        factories.make_study(researcher, task, name=name, title=name.title(), status=status)

    def listed(query: str) -> list[str]:
        page = ada.get(reverse("studies") + query).context["listing"].page
        return [row.study.name for row in page]

    assert listed("?sort=study") == ["autumn", "spring", "summer"]
    assert listed("?show=open&sort=-study") == ["summer", "autumn"]
    assert listed("?q=SPRI") == ["spring"]
    assert listed("?q=winter") == []
    lines = ada.get(reverse("studies") + "?show=open&sort=study&format=csv").content.decode()
    assert [line.split(",")[:3] for line in lines.splitlines()] == [
        ["study", "name", "status"], ["Autumn", "autumn", "Open"], ["Summer", "summer", "Open"],
    ]  # fmt: skip


def test_the_list_of_studies_marks_a_rehearsal_and_says_nothing_as_a_number(ada, study):
    Study.objects.filter(pk=study.pk).update(rehearsal=True)
    table = ada.get(reverse("studies")).content.decode().split("<table", 1)[1]
    table = " ".join(table.split("</table>", 1)[0].split())
    assert "Open,<br>rehearsal</td>" in table
    assert table.count("0.00 USD</td>") == 2  # earned, to pay
    assert "<td>–</td>" in table  # no activity yet
    assert "none" not in table


def test_a_rehearsal_without_people_has_no_pace(ada, study):
    page = reverse("study", args=[study.name])
    assert "Pace and remaining work" in ada.get(page).content.decode()
    Study.objects.filter(pk=study.pk).update(rehearsal=True)
    assert "Pace and remaining work" not in ada.get(page).content.decode()


def test_the_list_of_studies_has_no_mean_over_tasks_and_shots(ada, study):
    factories.work_through(factories.seat(study.scenarios.first()))
    reply = ada.get(reverse("studies"))
    # Search only the table, because a random CSRF token may contain "S1".
    table = reply.content.decode().split("<table", 1)[1].split("</table>", 1)[0]
    assert "A small study" in table
    assert "S1" not in table
    assert "mean_s1" not in ada.get(reverse("studies") + "?format=csv").content.decode()


@pytest.mark.long
def test_people_can_be_searched_and_filtered(ada, study, two):
    done, working = factories.seat(two), factories.seat(two)
    factories.work_through(done)
    factories.seat(two, kind="simulated")

    def listed(query: str) -> list[str]:
        rows = ada.get(reverse("people", args=[study.name]) + query).context["participations"]
        return [row["participation"].pseudonym for row in rows]

    assert listed("?show=completed") == [done.pseudonym]
    assert listed(f"?q={working.pseudonym}") == [working.pseudonym]
    assert len(listed("?show=simulated")) == 1
    assert len(listed("?sort=annotator")) == 3


@pytest.mark.long
def test_overview_query_count_is_constant_in_studies(ada, researcher):
    task = factories.make_task()
    numbers = set()
    for _ in range(3):
        study = factories.make_study(researcher, task, shots=[0], annotators=2)
        factories.work_through(factories.seat(study.scenarios.get()))
        numbers.add(queries(ada, reverse("studies")))
    assert len(numbers) == 1
    assert numbers.pop() <= 10


def test_without_studies_the_overview_says_what_to_do_next(ada):
    shown = ada.get(reverse("studies")).content.decode()
    assert reverse("task_add") in shown
    factories.make_task()
    shown = ada.get(reverse("studies")).content.decode()
    assert "Create a study" in shown
    assert "remains a draft until you open it" in shown


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 min"),
        (0.2, "1 s"),
        (14.4, "14 s"),
        (119, "119 s"),
        (120, "2 min"),
        (4320, "1 h 12 min"),
    ],
)
def test_times_below_two_minutes_are_given_in_seconds(seconds, words):
    assert in_words(timedelta(seconds=seconds)) == words
