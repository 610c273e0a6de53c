"""Researchers decide on exclusions without seeing the score; seats added later are marked."""

import csv
import io
import re

import pytest
from django.urls import reverse

from analysis.documents.blocks import Grid
from analysis.export.records import decisions_rows
from analysis.scores import marks, performance, rendering
from annotation.models import AddedSeats, Decision, Kind, ScoreShown, Study
from annotation.protocol import blinding, exclusion
from annotation.study import lifecycle
from annotation.study.design import DesignError
from tests import factories
from tests.analysis.documents import reports

PAGES = [
    "human_performance", "training", "analysis", "sensitivity", "figures", "examples",
    "gold_audit", "study_models", "study_differences", "overlap", "report",
]  # fmt: skip


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[0], annotators=2
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def seats(study):
    """Two completed participations: one always right, one always "no answer"."""
    both = [factories.seat(study.scenarios.get()) for _ in range(2)]
    factories.work_through(both[0])
    factories.work_through(both[1], lambda turn: [])
    return both


def page_of(client, seat) -> str:
    address = reverse("participation", args=[seat.study.name, seat.pseudonym])
    return client.get(address).content.decode()


def exclude(client, seat, outcome: str = "no"):
    address = reverse("participation_decide", args=[seat.study.name, seat.pseudonym])
    sent = {"about": "analysis", "outcome": outcome, "reason": "clicked through"}
    return client.post(address, sent)


def show(client, seat):
    return client.post(reverse("participation_score", args=[seat.study.name, seat.pseudonym]))


def says_the_score(page: str) -> bool:
    answers = page.partition("table-given")[2].partition("</table>")[0]
    scores = re.search(r'"list-number">(100|0)\.0</td>', answers)
    return bool(scores) or "reveal-mark" in answers or "<small>hidden</small>" not in answers


@pytest.mark.long
def test_the_score_is_hidden_until_the_reason_is_stored(ada, study, seats):
    for seat in seats:
        page = page_of(ada, seat)
        assert "The score stays hidden" in page
        assert not says_the_score(page)
        assert page.count('<tr id="turn-') == 4  # the answers themselves are shown
    assert exclude(ada, seats[1]).status_code == 302
    assert says_the_score(page_of(ada, seats[1]))
    assert not says_the_score(page_of(ada, seats[0]))
    decision = seats[1].decisions.get()
    assert (decision.reason, decision.score_seen) == ("clicked through", False)
    assert marks.sentences(study) == []


def test_a_refused_decision_does_not_show_the_score(ada, seats):
    address = reverse("participation_decide", args=[seats[0].study.name, seats[0].pseudonym])
    reply = ada.post(address, {"about": "analysis", "outcome": "no", "reason": " "})
    assert reply.status_code == 422
    assert not says_the_score(reply.content.decode())


def test_the_list_of_people_hides_the_same_scores_as_the_page(ada, study, seats):
    def shown():
        page = ada.get(reverse("people", args=[study.name])).content.decode()
        return page.count(">hidden</td>"), page.count(">100.0</td>")

    def mean(seat):
        page = page_of(ada, seat).partition("Mean S1 on toy-places")[2]
        return page.partition("<dd>")[2].partition("</dd>")[0]

    assert shown() == (2, 0)
    assert [mean(seat) for seat in seats] == ["hidden", "hidden"]
    show(ada, seats[0])
    assert shown() == (1, 1)
    assert [mean(seat) for seat in seats] == ["100.0 (n = 4)", "hidden"]


@pytest.mark.long
def test_the_list_says_why_scores_are_hidden_and_how_to_see_them(ada, study, seats):
    def shown():
        return ada.get(reverse("people", args=[study.name])).content.decode()

    assert "so that the score can't influence it" in shown()
    assert "Annotators who complete the study are included unless you exclude them." in shown()
    lifecycle.change_status(study, "close")
    assert "so that the score can't influence it" in shown()
    for seat in seats:
        show(ada, seat)
    assert "so that the score can't influence it" not in shown()


@pytest.mark.long
def test_a_rehearsal_hides_nothing(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], rehearsal=True, hide_test_scores=True
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    assert says_the_score(page_of(ada, seat))
    people = ada.get(reverse("people", args=[study.name])).content.decode()
    assert ">100.0</td>" in people
    assert ">hidden<" not in people
    assert "Mean S1 is hidden" not in people
    example = study.tasks.get().test_split.examples.first()
    page = ada.get(reverse("example", args=[study.name, example.pk])).content.decode()
    assert seat.pseudonym in page
    address = reverse("api_answers", args=[study.name])
    rows = ada.get(address).json()["results"]
    assert {row["hidden"] for row in rows} == {False}
    exclude(ada, seat)
    assert seat.decisions.get().score_seen  # the API has shown it


def test_an_example_page_hides_annotators_with_hidden_scores(ada, study, seats):
    example = study.tasks.get().test_split.examples.first()
    address = reverse("example", args=[study.name, example.pk])
    page = ada.get(address).content.decode()
    assert "annotator 1" in page
    assert not any(seat.pseudonym in page for seat in seats)
    show(ada, seats[1])
    page = ada.get(address).content.decode()
    assert [seat.pseudonym in page for seat in seats] == [False, True]


@pytest.mark.long
def test_an_exclusion_after_seeing_the_score_is_marked_in_tables(ada, study, seats):
    assert show(ada, seats[1]).status_code == 302
    assert show(ada, seats[1]).status_code == 302
    assert ScoreShown.objects.get().by.username == "ada"
    assert says_the_score(page_of(ada, seats[1]))
    exclude(ada, seats[1])
    assert seats[1].decisions.get().score_seen
    assert "after the score was seen" in page_of(ada, seats[1])
    (row,) = decisions_rows(study)
    assert row[-2] == 1
    (mark,) = marks.sentences(study)
    assert mark.startswith("Excluded by a researcher who could see the score: 1.")
    for name in PAGES:
        page = ada.get(reverse(name, args=[study.name]), follow=True).content.decode()
        assert "Excluded by a researcher who could see the score: 1." in page, name
    for text in map(rendering.as_latex, performance.all_tables(study)):
        assert mark in text


def test_undoing_an_exclusion_counts_as_having_seen_the_score(study, seats, researcher):
    exclusion.decide(seats[1], False, "asleep", researcher)
    exclusion.decide(seats[1], True, "was awake", researcher)
    assert [decision.score_seen for decision in seats[1].decisions.all()] == [False, True]


def test_rule_decisions_and_simulated_annotators_are_not_blinded(study, researcher):
    robot = factories.seat(study.scenarios.get(), Kind.SIMULATED)
    factories.work_through(robot)
    assert not blinding.is_hidden(robot)
    exclusion.decide(robot, False, "by the rule", None)
    assert Decision.objects.get().score_seen is None


def test_training_score_is_shown_while_a_decision_is_pending(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher"
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    seat.refresh_from_db()
    assert seat.status == "waiting"
    page = page_of(ada, seat)
    assert "The score stays hidden" in page
    assert says_the_score(page)


@pytest.mark.long
def test_a_reason_that_states_a_score_is_hidden_like_the_score(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(shots=(2, 6)), shots=[0, 2], qualification="minimum",
        qualification_threshold=50, screening_examples=2,
    )  # fmt: skip
    for scenario in study.scenarios.all():
        seat = factories.seat(scenario)
        factories.work_through(seat)
        told = f"{'training' if scenario.shots else 'screening'} S1 100.0, at least 50"
        page = page_of(ada, seat)
        assert "reason is hidden because it contains a score" in page
        assert told not in page
        show(ada, seat)
        assert told in page_of(ada, seat)


def test_screening_scores_are_hidden_unless_a_decision_waits(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(shots=(2, 6)), shots=[0, 2], qualification="researcher",
        screening_examples=2,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get(shots=0))
    factories.work_through(seat, limit=1)
    assert not says_the_score(page_of(ada, seat))
    factories.work_through(seat, limit=1)
    page = page_of(ada, seat)
    assert "has finished the screening step and is waiting" in page
    assert says_the_score(page)


# Seats -------------------------------------------------------------------------------------------


def add(client, study, **fields):
    sent = {"scenario": study.scenarios.get().pk, "number": "1"} | fields
    return client.post(reverse("seats", args=[study.name]), sent)


def test_seats_added_before_results_need_no_confirmation(ada, study):
    page = ada.get(reverse("recruit", args=[study.name])).content.decode()
    assert "although results are visible" not in page
    assert add(ada, study).status_code == 302
    assert not AddedSeats.objects.get().results_seen
    assert marks.sentences(study) == []


@pytest.mark.long
def test_adding_seats_after_results_needs_a_confirmation(ada, study, seats):
    page = ada.get(reverse("recruit", args=[study.name])).content.decode()
    assert "makes p-values too small and confidence intervals too narrow" in page
    reply = add(ada, study)
    assert reply.status_code == 422
    assert "If you confirm" in reply.content.decode()
    assert study.scenarios.get().seats == 2
    assert add(ada, study, confirmed="on").status_code == 302
    assert study.scenarios.get().seats == 3
    assert AddedSeats.objects.get().results_seen
    assert study.events.filter(what__contains="after results could be seen").exists()


def test_the_step_function_needs_the_same_confirmation(study, seats, researcher):
    with pytest.raises(DesignError, match="If you confirm"):
        lifecycle.add_seats(study.scenarios.get(), 1, researcher)


@pytest.mark.long
def test_seats_added_with_results_are_marked_in_every_table(ada, study, seats, researcher):
    lifecycle.add_seats(study.scenarios.get(), 1, researcher, confirmed=True)
    (mark,) = marks.sentences(study)
    said = "Seats were added after results could be seen: 1 in toy-places, 0 shots."
    assert mark.startswith(said)
    for name in PAGES:
        page = ada.get(reverse(name, args=[study.name]), follow=True).content.decode()
        assert mark in page, name
    reply = ada.get(reverse("human_performance_file", args=[study.name, "csv"]))
    (row,) = csv.DictReader(io.StringIO(reply.content.decode(), newline=""))
    assert row["late_seats"] == "1"
    caption = "Human performance"
    notes = reports.block(study, caption, Grid).notes
    assert mark in notes
