"""Researchers exclude an annotator from the analysis for a stated reason, and can undo it."""

import subprocess
import sys

import lxml.html
import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.scores import frames, performance
from annotation.models import Answer, Kind, Participation, Study
from annotation.privacy import withdrawal
from annotation.protocol import exclusion
from annotation.recruitment import seats as recruitment
from tests import factories


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


def decide(client, study, seat, in_analysis: str, reason: str):
    address = reverse("participation_decide", args=[study.name, seat.pseudonym])
    return client.post(address, {"about": "analysis", "outcome": in_analysis, "reason": reason})


def test_excluding_frees_the_seat_and_retains_answers_and_reason(ada, study, seats):
    assert decide(ada, study, seats[1], "no", "clicked through").status_code == 302
    seats[1].refresh_from_db()
    assert (seats[1].status, seats[1].in_analysis, seats[1].seat_number) == (
        "completed", False, None,
    )  # fmt: skip
    assert Answer.objects.filter(turn__participation=seats[1]).count() == 4
    page = ada.get(reverse("participation", args=[study.name, seats[1].pseudonym]))
    assert "clicked through" in page.content.decode()
    assert factories.join(study).seat_number == 2


def test_the_table_is_shown_with_and_without_excluded_annotators(ada, study, seats):
    decide(ada, study, seats[1], "no", "clicked through")
    without, with_all = performance.versions(study, Kind.PERSON, frames.annotators(study))
    name = study.tasks.get().name
    assert (without.cells[name, 0].n, without.cells[name, 0].mean) == (1, 100)
    assert with_all.cells[name, 0].n == 2
    assert with_all.cells[name, 0].mean < 100
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "with those excluded from the analysis" in page


def test_without_exclusions_there_is_one_table(study, seats):
    assert len(performance.versions(study, Kind.PERSON, frames.annotators(study))) == 1


def test_an_exclusion_can_be_undone_while_the_seat_is_free(ada, study, seats):
    decide(ada, study, seats[1], "no", "too fast")
    decide(ada, study, seats[1], "yes", "was a power cut")
    seats[1].refresh_from_db()
    assert (seats[1].in_analysis, seats[1].seat_number) == (True, 2)
    assert [decision.outcome for decision in seats[1].decisions.all()] == [False, True]


def test_analysed_annotators_never_exceed_a_scenarios_seats(ada, study, seats):
    decide(ada, study, seats[1], "no", "too fast")
    factories.work_through(factories.seat(study.scenarios.get()))
    reply = decide(ada, study, seats[1], "yes", "was a power cut")
    assert reply.status_code == 422
    assert "given to another annotator" in reply.content.decode()
    assert study.participations.analysed().count() == 2


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [("", "Enter a reason"), ("   ", "Enter a reason"), ("a\0b", "Null characters are not")],
)
def test_a_decision_needs_a_reason(ada, study, seats, reason, sentence):
    reply = decide(ada, study, seats[1], "no", reason)
    assert reply.status_code == 422
    assert sentence in reply.content.decode()
    assert study.participations.analysed().count() == 2


def test_only_a_completed_participation_can_be_excluded(study, researcher):
    seat = factories.seat(study.scenarios.get())
    with pytest.raises(exclusion.ExclusionError, match="completed"):
        exclusion.decide(seat, False, "why not", researcher)
    assert Participation.objects.get().in_analysis


def test_the_page_shows_every_answer_with_the_gold(ada, study, seats):
    ada.post(reverse("participation_score", args=[study.name, seats[1].pseudonym]))
    page = ada.get(reverse("participation", args=[study.name, seats[1].pseudonym]))
    shown = page.content.decode()
    assert shown.count('<tr id="turn-') == 4
    assert "missed" in shown
    assert '"list-number">100.0</td>' in shown
    assert '"list-number">0.0</td>' in shown


def test_an_exclusion_can_be_undone_with_one_button(ada, study, seats):
    address = reverse("participation", args=[study.name, seats[1].pseudonym])

    def undo_forms():
        page = lxml.html.fromstring(ada.get(address).content)
        return [form for form in page.forms if "notice" in form.get("class", "")]

    assert not undo_forms()
    decide(ada, study, seats[1], "no", "clicked through")
    (undo,) = undo_forms()
    ada.post(undo.action, dict(undo.fields) | {"outcome": "yes"})
    assert study.participations.analysed().count() == 2
    assert not undo_forms()


def test_the_page_of_a_withdrawn_annotator_is_empty(ada, study, seats):
    withdrawal.withdraw(seats[0].token)
    page = ada.get(reverse("participation", args=[study.name, seats[0].pseudonym]))
    assert "erased when this annotator withdrew" in page.content.decode()


def test_an_annotator_of_another_researcher_is_not_found(client, other_researcher, study, seats):
    client.force_login(other_researcher)
    address = reverse("participation", args=[study.name, seats[0].pseudonym])
    assert client.get(address).status_code == 404
    assert decide(client, study, seats[0], "no", "mine").status_code == 404
    assert study.participations.analysed().count() == 2


@pytest.mark.long
def test_an_export_with_an_excluded_annotator_verifies(ada, study, seats, tmp_path):
    decide(ada, study, seats[1], "no", "clicked through")
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    done = subprocess.run(
        [sys.executable, tmp_path / "out" / "verify.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_page_has_a_fixed_number_of_queries(ada, study, seats, django_assert_max_num_queries):
    with django_assert_max_num_queries(24):
        ada.get(reverse("participation", args=[study.name, seats[0].pseudonym]))
    assert recruitment.free_seat(study.scenarios.get(), Kind.PERSON) is None
