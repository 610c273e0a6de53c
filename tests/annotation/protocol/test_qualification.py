"""After the training step, annotators continue, are screened out with pay, or must wait."""

from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.scores import frames
from annotation.models import Decision, Participation, Status, Step
from annotation.pay import ledger
from annotation.privacy import withdrawal
from annotation.protocol import answering, qualification
from annotation.protocol.qualification import verdict
from annotation.recruitment import consent, join_errors, seats
from tests import factories

WRONG = ["nothing of this"]


def study_with(researcher, rule, threshold=None, **fields):
    defaults = {"shots": [2], "annotators": 6, "hourly_rate": 12}
    task = factories.make_task(labels=factories.LABELS, name="toy-labels")
    return factories.make_study(
        researcher,
        task,
        qualification=rule,
        qualification_threshold=threshold,
        **(defaults | fields),
    )


def train(study, right: int) -> Participation:
    """Answer two training examples, `right` of them correctly, and continue."""
    seat = factories.seat(study.scenarios.get())
    for index in range(2):
        turn = seat.latest_turn()
        gold = turn.example.gold[0]
        other = "negative" if gold == "positive" else "positive"
        fields = {"label": gold if index < right else other}
        answering.submit(seat.token, turn.pk, fields)
        factories.go_on(seat.token)
    seat.refresh_from_db()
    return seat


@pytest.mark.parametrize(
    ("rule", "threshold", "own", "others", "passes", "provisional"),
    [
        ("none", None, 0, [], True, False),
        ("minimum", 50, 50, [], True, False),
        ("minimum", 50, 49.9, [], False, False),
        # The mean of five 0.8 and five 0.6 is 0.7, except for rounding errors.
        ("minimum", 70, 10 * sum([0.8] * 5 + [0.6] * 5), [], True, False),
        ("points_below", 10, 0, [90], True, True),
        ("points_below", 10, 80, [90, 90], True, False),
        ("points_below", 10, 79, [90, 90], False, False),
        ("sds_below", 2, 0, [80, 82, 87, 84], True, True),
        ("sds_below", 2, 77, [80, 82, 87, 80, 82], True, False),
        # Mean 82.2, SD 2.86 (ddof 1): two SDs below is 76.47.
        ("sds_below", 2, 76, [80, 82, 87, 80, 82], False, False),
    ],
)
def test_each_rule_compares_with_the_other_annotators(
    rule, threshold, own, others, passes, provisional
):
    judged = verdict(rule, threshold, own, others)
    assert (judged.passes, judged.provisional) == (passes, provisional)


def test_failing_the_minimum_is_paid_and_frees_the_seat(client, researcher):
    study = study_with(researcher, "minimum", 50, annotators=1, minimum_pay=1)
    gone = train(study, right=0)
    assert (gone.status, gone.seat_number, gone.in_analysis) == ("screened_out", None, False)
    assert gone.is_paid
    assert sum(entry.cents for entry in gone.ledger.all()) >= 100
    page = client.get(reverse("work", args=[gone.token])).content.decode()
    assert "This is not a judgement of you" in page
    assert gone.completion_code in page
    assert not gone.turns.filter(step=Step.ANNOTATION).exists()
    assert factories.join(study).status == "arrived"


@pytest.mark.parametrize("rate", [12, 0])
def test_only_paid_time_is_called_paid(client, researcher, rate):
    study = study_with(researcher, "researcher", hourly_rate=rate)
    seat = train(study, right=1)
    work = reverse("work", args=[seat.token])
    pages = [client.get(reverse("landing", args=[study.link_code])), client.get(work)]
    seats.release_seat(seat, Status.EXPIRED)
    pages.append(client.get(work))
    seats.resume(seat)
    qualification.decide(seat.token, False, "too many mistakes", researcher)
    pages.append(client.get(work))
    said = ["still paid", "paid for waiting", "paid for the time", "paid for the time"]
    for words, page in zip(said, pages, strict=True):
        assert (words in page.content.decode()) == (rate > 0)


def test_only_time_after_the_first_example_is_called_paid(client, researcher):
    seat = factories.join(study_with(researcher, "none"))
    seats.release_seat(seat, Status.EXPIRED)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "your place was released" in page
    assert "paid for the time" not in page


def test_a_screened_out_annotator_cannot_continue(client, researcher):
    study = study_with(researcher, "minimum", 50)
    gone = train(study, right=0)
    turn = gone.turns.last()
    for name in ("continue", "resume", "begin", "next_task"):
        client.post(reverse(name, args=[gone.token]))
    client.post(reverse("answer", args=[gone.token]), {"turn": turn.pk, "label": "positive"})
    gone.refresh_from_db()
    assert (gone.status, gone.turns.count()) == ("screened_out", 2)


def test_each_decision_is_logged_with_its_reason(researcher):
    study = study_with(researcher, "minimum", 50)
    passed, gone = train(study, right=2), train(study, right=0)
    (decision,) = passed.decisions.all()
    assert (decision.about, decision.outcome, decision.by) == ("qualification", True, None)
    assert "training S1 100.0" in decision.reason
    assert {(d.about, d.outcome) for d in gone.decisions.all()} == {
        ("qualification", False),
        ("analysis", False),
    }


def test_the_group_includes_screen_outs_and_needs_a_minimum_size(researcher):
    study = study_with(researcher, "points_below", 20)
    first = train(study, right=0)
    assert (first.status, first.qualified) == ("working", True)
    assert train(study, right=2).status == "working"
    # There are now two others, 100 and 0, with a mean of 50.
    assert train(study, right=0).status == "screened_out"
    # There are now three others: 100, 0 and the screened-out 0, with a mean of 33.3.
    assert train(study, right=1).status == "working"


def test_a_provisional_pass_is_flagged_once_the_group_is_large(researcher):
    study = study_with(researcher, "points_below", 20)
    first = train(study, right=0)
    assert qualification.flagged_again(study) == {}
    train(study, right=2)
    train(study, right=2)
    assert list(qualification.flagged_again(study)) == [first.pk]
    first.refresh_from_db()
    assert first.status == "working"


def test_simulated_annotators_are_not_compared_with_people(researcher):
    study = study_with(researcher, "points_below", 20)
    for _robot in range(3):
        robot = factories.seat(study.scenarios.get(), "simulated")
        factories.work_through(robot, limit=2)
    assert train(study, right=0).status == "working"


# A researcher decides ----------------------------------------------------------------------------


@pytest.fixture
def waiting(researcher):
    return train(study_with(researcher, "researcher", annotators=1), right=1)


def test_the_worker_waits_in_the_seat_until_the_decision(client, waiting):
    assert (waiting.status, waiting.seat_number) == ("waiting", 1)
    page = client.get(reverse("work", args=[waiting.token])).content.decode()
    assert "You are paid for waiting" in page
    reply = client.post(reverse("wait", args=[waiting.token]), HTTP_HX_REQUEST="true")
    assert reply.status_code == 204
    with pytest.raises(join_errors.RecruitmentError):
        factories.join(waiting.study)


@pytest.mark.long
@pytest.mark.parametrize(("passes", "status"), [("yes", "working"), ("no", "screened_out")])
def test_the_researcher_decides_on_the_annotators_page(client, admin_like, waiting, passes, status):
    address = reverse("participation_decide", args=[waiting.study.name, waiting.pseudonym])
    admin_like.post(address, {"about": "qualification", "outcome": passes, "reason": "looked"})
    waiting.refresh_from_db()
    assert waiting.status == status
    decision = waiting.decisions.get(about=Decision.About.QUALIFICATION)
    assert (decision.reason, decision.by.username) == ("looked", "ada")
    reply = client.post(reverse("wait", args=[waiting.token]), HTTP_HX_REQUEST="true")
    assert reply["HX-Redirect"] == reverse("work", args=[waiting.token])


@pytest.fixture
def admin_like(client, researcher):
    ada = Client()
    ada.force_login(researcher)
    return ada


def test_after_the_time_limit_the_page_continues_automatically(client, waiting):
    since = timezone.now() - timedelta(minutes=16)
    Participation.objects.filter(pk=waiting.pk).update(waiting_since=since)
    client.post(reverse("wait", args=[waiting.token]))
    waiting.refresh_from_db()
    assert waiting.status == "working"
    assert "no decision within 15 minutes" in waiting.decisions.get().reason
    assert waiting.latest_turn().step == Step.ANNOTATION


def test_waiting_is_paid_up_to_the_limit(waiting):
    since = timezone.now() - timedelta(minutes=40)
    Participation.objects.filter(pk=waiting.pk).update(waiting_since=since)
    qualification.decide(waiting.token, False, "too low")
    entry = waiting.ledger.get(kind="waiting")
    assert entry.cents == 300  # 15 minutes at 12.00 per hour


@pytest.mark.long
def test_leaving_the_waiting_page_frees_the_seat_until_a_return(client, waiting, monkeypatch):
    now, limit = timezone.now(), waiting.study.idle_limit + waiting.study.decision_limit
    monkeypatch.setattr(timezone, "now", lambda: now + limit - timedelta(minutes=1))
    with pytest.raises(join_errors.RecruitmentError):
        factories.join(waiting.study)
    monkeypatch.setattr(timezone, "now", lambda: now + limit + timedelta(minutes=1))
    somebody = factories.join(waiting.study)
    waiting.refresh_from_db()
    assert waiting.status == "expired"
    consent.record(somebody, agree=False)
    client.post(reverse("resume", args=[waiting.token]))
    seats.expire_idle(waiting.study)
    client.post(reverse("wait", args=[waiting.token]))
    waiting.refresh_from_db()
    assert (waiting.status, waiting.latest_turn().step) == ("working", Step.ANNOTATION)


def test_withdrawing_while_waiting_is_paid_for_the_wait(waiting):
    since = timezone.now() - timedelta(minutes=10)
    Participation.objects.filter(pk=waiting.pk).update(waiting_since=since)
    withdrawal.withdraw(waiting.token)
    assert waiting.ledger.get(kind="waiting").cents >= 200  # 10 minutes at 12.00 per hour


def test_an_admitted_annotator_whose_seat_expired_has_no_elapsed_time(waiting):
    """The time of the decision is not the end of the work."""
    qualification.decide(waiting.token, True, "good")
    seats.release_seat(waiting, Status.EXPIRED)
    waiting.refresh_from_db()
    assert waiting.decided_at is not None
    assert ledger.elapsed_seconds(waiting) is None


def test_looking_at_the_waiting_page_decides_nothing(client, waiting):
    since = timezone.now() - timedelta(minutes=16)
    Participation.objects.filter(pk=waiting.pk).update(waiting_since=since)
    client.get(reverse("work", args=[waiting.token]))
    waiting.refresh_from_db()
    assert waiting.status == "waiting"


def test_screened_out_annotators_are_in_no_table(researcher):
    study = study_with(researcher, "minimum", 50)
    train(study, right=0)
    frame = frames.annotators(study)
    assert list(frame["status"]) == ["screened_out"]
    assert frames.scenarios(frame).empty


@pytest.mark.parametrize(("rule", "unit"), [("points_below", "points"), ("sds_below", "SDs")])
def test_a_comparing_rule_is_described_by_the_mean_of_the_others(
    admin_like, researcher, rule, unit
):
    study = study_with(researcher, rule, threshold=2)
    page = unescape(admin_like.get(reverse("study_design", args=[study.name])).content.decode())
    assert f"at most the threshold (in {unit}) below the other annotators' mean" in page
