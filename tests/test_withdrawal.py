"""Withdrawing erases the answers for good, frees the seat and keeps the counts true."""

import pytest
from django.urls import reverse

from analysis import scores
from annotation import recruitment, training_step, withdrawal
from annotation.models import Answer, AnswerSpan, Exposure, Participation, Tombstone, Turn
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2], annotators=2)


@pytest.fixture
def seats(study):
    """One at work, one who has completed."""
    both = [factories.seat(study.scenarios.get()) for _ in range(2)]
    factories.work_through(both[0], limit=3)
    factories.work_through(both[1])
    return both


def test_the_page_asks_once_more_and_get_erases_nothing(client, seats):
    address = reverse("withdraw", args=[seats[0].token])
    assert address in client.get(reverse("work", args=[seats[0].token])).content.decode()
    page = client.get(address).content.decode()
    assert "(3) will be erased" in page
    assert Answer.objects.filter(turn__participation=seats[0]).count() == 3


@pytest.mark.parametrize("index", [0, 1], ids=["at work", "completed"])
def test_answers_are_erased_the_seat_is_free_and_nobody_elses_are_touched(client, seats, index):
    gone, stays = seats[index], seats[1 - index]
    before = Answer.objects.filter(turn__participation=stays).count()
    client.post(reverse("withdraw", args=[gone.token]))
    gone.refresh_from_db()
    assert (gone.status, gone.seat_number, gone.in_analysis) == ("withdrawn", None, False)
    assert not Turn.objects.filter(participation=gone).exists()
    assert not AnswerSpan.objects.filter(answer__turn__participation=gone).exists()
    assert Answer.objects.filter(turn__participation=stays).count() == before
    assert Tombstone.objects.get().participation == gone
    page = client.get(reverse("work", args=[gone.token])).content.decode()
    assert "all of your answers were erased" in page


def test_whoever_completed_keeps_the_code_that_pays(client, seats):
    withdrawal.withdraw(seats[1].token)
    withdrawal.withdraw(seats[0].token)
    shown = [client.get(reverse("work", args=[one.token])).content.decode() for one in seats]
    assert seats[1].completion_code in shown[1]
    assert seats[0].completion_code not in shown[0]


def test_the_tombstone_says_how_many_examples_are_gone(seats):
    turns = seats[0].turns.count()
    withdrawal.withdraw(seats[0].token)
    withdrawal.withdraw(seats[0].token)
    assert Tombstone.objects.get().turns_erased == turns


def test_the_freed_seat_is_given_out_again(study, seats):
    with pytest.raises(recruitment.RecruitmentError):
        factories.join(study)
    withdrawal.withdraw(seats[1].token)
    assert factories.join(study).status == "arrived"


def test_whoever_withdrew_can_neither_go_on_nor_do_the_task_again(client, study):
    seat = factories.join(study, identity="ida")
    recruitment.consent(seat, agree=True)
    training_step.begin(seat.token)
    turn = seat.latest_turn()
    withdrawal.withdraw(seat.token)
    reply = client.post(reverse("answer", args=[seat.token]), {"turn": turn.pk, "no_answer": "1"})
    assert reply.status_code == 404
    assert not Answer.objects.exists()
    assert Exposure.objects.filter(worker_key=seat.worker.key).exists()
    with pytest.raises(recruitment.RecruitmentError) as refused:
        factories.join(study, identity="ida")
    assert refused.value.code == "done"


def test_the_tables_no_longer_count_a_withdrawn_annotator(study, seats):
    assert list(scores.scenarios(scores.annotators(study))["n"]) == [1]
    withdrawal.withdraw(seats[1].token)
    frame = scores.annotators(study)
    assert scores.scenarios(frame).empty
    row = frame[frame["status"] == Participation.Status.WITHDRAWN].iloc[0]
    assert (row["n"], row["training_n"]) == (0, 0)


def test_an_export_after_a_withdrawal_verifies(study, seats, tmp_path):
    import subprocess
    import sys

    from django.core.management import call_command

    withdrawal.withdraw(seats[1].token)
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    done = subprocess.run(
        [sys.executable, tmp_path / "out" / "verify.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert seats[1].pseudonym in (tmp_path / "out" / "annotators.csv").read_text()
    assert seats[1].pseudonym not in (tmp_path / "out" / "answers.csv").read_text()
