"""Quality flags describe what was observed, and trigger no action."""

import math
import statistics
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Participation, Role
from annotation.monitoring import flags
from annotation.privacy import withdrawal
from annotation.protocol import activity_summary
from annotation.protocol.activity_summary import Answered
from annotation.study import team
from tests import factories

START = datetime(2026, 1, 5, tzinfo=UTC)


def answers(*seconds: float, pause: float = 1, **fields) -> list[Answered]:
    """Return consecutive answers that take this many seconds each."""
    given, clock = [], START
    for index, time in enumerate(seconds):
        done = clock + timedelta(seconds=time)
        texts = fields.get("texts") or [f"answer {index}" for index in range(len(seconds))]
        rest = {name: value for name, value in fields.items() if name != "texts"}
        given.append(
            Answered(
                **({"step": "annotation", "words": 3, "active_seconds": time} | rest),
                shown_at=clock,
                submitted_at=done,
                answer=texts[index],
            )
        )
        clock = done + timedelta(seconds=pause)
    return given


def test_too_fast_is_below_a_share_of_the_annotators_median():
    """The example of docs/statistics.md#quality-flags: only 0.6 and 0.9 are below 1.32 s."""
    work = activity_summary.summarise(answers(4.1, 5.0, 3.2, 6.7, 0.6, 4.4, 5.5, 0.9, 30))
    assert (work.median_seconds, work.too_fast) == (4.4, 2)
    assert flags.flags(work)["too_fast"].startswith("2 of 9")


def test_an_answer_faster_than_reading_is_too_fast():
    assert activity_summary.summarise(answers(5, 5, 5, words=120)).too_fast == 3
    assert activity_summary.summarise(answers(11, 11, 11, words=120)).too_fast == 0


@pytest.mark.parametrize(
    ("given", "flag"),
    [
        (answers(*[5] * 12, texts=["no"] * 11 + ["yes"]), "one_answer"),
        (answers(*[5] * 40, texts=["no"] * 15 + ["a", "b", "c", "d", "e"] * 5), "run"),
        (answers(5, 5, pause=4000), "absence"),
        (answers(5, 5, pastes=1), "paste"),
        (answers(*[5] * 10, blurs=1), "blur"),
        (answers(5, 5, reports=(1, 0, 0, 0, 0, 0)), "copies"),
        (answers(5, 5, reports=(0, 1, 0, 0, 0, 0)), "left_after_copy"),
        (answers(5, 5, reports=(0, 0, 1, 0, 0, 0)), "automated"),
        (answers(5, 5, reports=(0, 0, 0, 1, 0, 0)), "no_input"),
        (answers(5, 5, reports=(0, 0, 0, 0, 1, 0)), "narrow"),
        (answers(5, 5, reports=(0, 0, 0, 0, 0, 1)), "jumps"),
        (answers(5, 5, step="check", s1=0.0), "checks"),
    ],
)
def test_each_sign_raises_only_its_flag(given, flag):
    assert list(flags.flags(activity_summary.summarise(given))) == [flag]


def test_one_line_has_the_counts_for_and_against(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=2)
    seat, new = (factories.seat(study.scenarios.get()) for _ in range(2))
    factories.work_through(seat)
    work = activity_summary.summarise(answers(0, 0, 0, 0))
    Participation.objects.filter(pk=seat.pk).update(activity_summary=work._asdict())
    line = "0 of 4 answers took long enough to read the example. Reported by the browser: nothing."
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert f"<p>{line}</p>" in page
    assert flags.behaviour_in_words(new) == ""
    given = answers(5, 5, 5, blurs=1, reports=(2, 1, 0, 0, 1, 0))
    given += answers(5, 5, step="check", s1=0.0) + answers(5, step="check", s1=1.0)
    work = activity_summary.summarise(given)
    assert flags.behaviour_in_words(
        Participation(kind="person", activity_summary=work._asdict())
    ) == (
        "6 of 6 answers took long enough to read the example; 1 of 3 attention checks were passed."
        " Reported by the browser: times the page was left: 3; copies of the page's text: 6;"
        " absences that began within 10 s of a copy: 3;"
        " answers given in a window below 60 % of the screen's width: 3."
    )


def test_ordinary_work_raises_no_flag():
    assert (
        flags.flags(activity_summary.summarise(answers(4, 6, 5, 7, 5, 6, 4, 8, 5, 6, 7, 5))) == {}
    )


def test_a_person_far_faster_than_the_others_is_flagged():
    four = reduce(flags.Pace.plus, [5.0, 6.0, 5.5, 6.5], flags.Pace())
    five = four.plus(5.8)
    assert flags.is_fast_person(1.0, five)
    assert not flags.is_fast_person(5.0, five)
    assert not flags.is_fast_person(1.0, four)


def test_the_pace_of_the_others_is_their_mean_and_sd():
    seconds = [5.0, 6.0, 5.5, 6.5, 5.8, 0.01]
    others = reduce(flags.Pace.plus, seconds, flags.Pace()).plus(0.01, -1)
    logs = [math.log(each) for each in seconds[:-1]]
    assert others.n == 5
    assert others.mean == pytest.approx(statistics.mean(logs))
    assert others.squares / 4 == pytest.approx(statistics.variance(logs))


def test_the_same_browser_under_two_ids_is_flagged_for_both(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=3)
    seats = [factories.seat(study.scenarios.get()) for _ in range(3)]
    for seat in seats:
        factories.work_through(seat)
    Participation.objects.filter(pk__in=[seats[0].pk, seats[1].pk]).update(browser="same")
    names = {pk: set(raised) for pk, (_signs, raised) in flags.for_study(study).items()}
    assert "shared_browser" in names[seats[0].pk] & names[seats[1].pk]
    assert "shared_browser" not in names[seats[2].pk]
    assert all(participation.status == "completed" for participation in study.participations.all())


def test_only_people_are_judged_by_their_speed(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=7, rehearsal=True
    )
    fast = factories.seat(study.scenarios.get())
    simulated = [factories.seat(study.scenarios.get(), kind="simulated") for _ in range(7)]
    for seat in (fast, *simulated):
        factories.work_through(seat)
    for seat, seconds in (
        (fast, 0.0),
        (simulated[0], 0.0),
        *((seat, 5.0) for seat in simulated[1:]),
    ):
        work = activity_summary.summarise(answers(*[seconds] * 12, pause=0.1))
        Participation.objects.filter(pk=seat.pk).update(activity_summary=work._asdict())
    raised = {pk: set(names) for pk, (_work, names) in flags.for_study(study).items()}
    assert raised == {fast.pk: {"too_fast"}} | {seat.pk: set() for seat in simulated}
    page = ada.get(reverse("participation", args=[study.name, simulated[0].pseudonym]))
    assert b"<p>Reported by the browser: nothing.</p>" in page.content
    assert b"too fast" not in page.content


@pytest.mark.long
@pytest.mark.parametrize("at_once", [1, 2, 20])
def test_signs_of_a_study_equal_those_of_each_participation(researcher, monkeypatch, at_once):
    monkeypatch.setattr(activity_summary, "BATCH", at_once)
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS)
    study = factories.make_study(researcher, factories.make_task(), labels, shots=[0, 2])
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), limit=1)
    nothing_yet = factories.join(factories.make_study(researcher, labels, shots=[0]))
    together = flags.for_study(study)
    assert len(together) == 8
    assert flags.for_study(nothing_yet.study) == {}
    for pk, (seen, _flags) in together.items():
        given = [turn for turn in Participation.objects.get(pk=pk).turns.all() if turn.given]
        alone = activity_summary.summarise(
            [
                Answered(
                    step=turn.step,
                    shown_at=turn.shown_at,
                    submitted_at=turn.answer.submitted_at,
                    words=activity_summary.word_count(
                        [*turn.example.context, turn.example.question]
                    ),
                    answer="\n".join(turn.answer.as_given.texts),
                    active_seconds=turn.answer.active_seconds,
                    s1=turn.answer.s1,
                )
                for turn in given
            ]
        )
        assert seen == alone
    for scenario in study.scenarios.all():
        own = {
            participation.pk: together[participation.pk]
            for participation in scenario.participations.all()
        }
        assert flags.for_study(study, [scenario.pk]) == own


@pytest.mark.long
def test_query_count_of_signs_is_constant_in_participations(researcher, django_assert_num_queries):
    study = factories.make_study(
        researcher, factories.make_task(test_size=2), shots=[0], annotators=20
    )
    scenario = study.scenarios.get()
    factories.work_through(factories.seat(scenario), limit=1)
    with django_assert_num_queries(5):
        flags.for_study(study)
    for _ in range(19):
        factories.work_through(factories.seat(scenario), limit=1)
    with django_assert_num_queries(5):
        assert len(flags.for_study(study)) == 20


def test_signs_are_stored_on_completion_and_erased_on_withdrawal(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=5)
    seat.refresh_from_db()
    assert (seat.status, seat.activity_summary) == ("working", None)
    factories.work_through(seat)
    seat.refresh_from_db()
    assert activity_summary.Summary(**seat.activity_summary) == activity_summary.for_participation(
        seat
    )
    assert seat.activity_summary["n"] == 6
    withdrawal.withdraw(seat.token)
    seat.refresh_from_db()
    assert seat.activity_summary is None


@pytest.mark.long
def test_an_export_of_shared_browsers_verifies(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=2)
    for _seat in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    study.participations.update(browser="same")
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    done = subprocess.run(
        [sys.executable, tmp_path / "out" / "verify.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "shared_browser" in (tmp_path / "out" / "annotators.csv").read_text()


@pytest.mark.long
def test_the_annotator_with_most_flags_comes_first(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(test_size=20), shots=[0], annotators=3
    )
    bad = [False, True, False]
    seats = [factories.seat(study.scenarios.get()) for _ in bad]
    for seat, is_bad in zip(seats, bad, strict=True):
        factories.work_through(seat, (lambda turn: []) if is_bad else None)
    rows = listed(ada, study, "?show=flagged")
    assert [row["participation"] for row in rows] == [seats[1], seats[2], seats[0]]
    most, fewer, _last = (row["labels"] for row in rows)
    assert len(most) > len(fewer)


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=3)


def listed(client, study, query: str = "") -> list[dict]:
    return client.get(reverse("people", args=[study.name]) + query).context["participations"]


@pytest.mark.long
def test_the_list_of_annotators_shows_and_filters_flags(ada, client, study, other_researcher):
    seats = [factories.seat(study.scenarios.get(shots=2)) for _ in range(3)]
    Participation.objects.filter(pk__in=[seat.pk for seat in seats[:2]]).update(browser="same")
    for seat in seats:
        factories.work_through(seat, limit=1)
    shared = "the same browser was also used under another id"
    shows = {row["participation"]: shared in row["labels"] for row in listed(ada, study)}
    assert shows == {seats[0]: True, seats[1]: True, seats[2]: False}
    assert [row["labels"].get(shared) for row in listed(ada, study)].count("shared browser") == 2
    found = {row["participation"] for row in listed(ada, study, "?show=flagged")}
    assert {seat for seat in seats if shows[seat]} <= found
    team.add(study, other_researcher.username, Role.PAYER, study.owner)
    client.force_login(other_researcher)
    assert not any(row["labels"] for row in listed(client, study, "?show=flagged"))


@pytest.mark.parametrize("query", ["", "?show=waiting", "?show=flagged"])
def test_each_filter_of_the_list_has_its_number(ada, study, query):
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get(shots=2)), lambda _turn: [])
    factories.work_through(factories.seat(study.scenarios.get(shots=0)), limit=1)
    listing = ada.get(reverse("people", args=[study.name]) + query).context["listing"]
    counts = {choice.name: choice.count for choice in listing.filters}
    assert (counts["live"], counts["completed"]) == (1, 2)
    assert counts["flagged"] == len(listed(ada, study, "?show=flagged")) > 0
