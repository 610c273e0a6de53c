"""Withdrawing permanently erases the answers and frees the seat; counts stay correct."""

import csv
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from analysis.export import bundle_job
from analysis.scores import findings, frames
from annotation.models import (
    Answer,
    AnswerSpan,
    Exposure,
    Kind,
    Participation,
    Qualification,
    Status,
    Tombstone,
    Turn,
)
from annotation.monitoring import progress
from annotation.pay import ledger
from annotation.privacy import withdrawal
from annotation.protocol import exclusion, own_questions, training_step
from annotation.recruitment import consent, join_errors
from annotation.recruitment.seats import free_by_hand
from tasks.models import Job
from tests import factories

pytestmark = pytest.mark.engines


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2], annotators=2)


@pytest.fixture
def seats(study):
    """One participant at work, and one who has completed."""
    both = [factories.seat(study.scenarios.get()) for _ in range(2)]
    factories.work_through(both[0], limit=3)
    factories.work_through(both[1])
    return both


def test_the_page_asks_for_confirmation_and_get_erases_nothing(client, seats):
    address = reverse("withdraw", args=[seats[0].token])
    assert address in client.get(reverse("work", args=[seats[0].token])).content.decode()
    page = client.get(address).content.decode()
    assert "erases all your answers in this task (3)" in page
    assert Answer.objects.filter(turn__participation=seats[0]).count() == 3


@pytest.mark.long
@pytest.mark.parametrize("index", [0, 1], ids=["at work", "completed"])
def test_answers_are_erased_the_seat_freed_and_others_untouched(client, seats, index):
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
    assert "all your answers were erased" in page


def test_a_completed_annotator_retains_the_completion_code(client, seats):
    withdrawal.withdraw(seats[1].token)
    withdrawal.withdraw(seats[0].token)
    shown = [client.get(reverse("work", args=[seat.token])).content.decode() for seat in seats]
    assert seats[1].completion_code in shown[1]
    assert seats[0].completion_code not in shown[0]


def test_the_last_page_says_who_pays_unless_the_pay_is_refused(client, seats):
    Participation.objects.filter(pk=seats[0].pk).update(worked_seconds=600)
    withdrawal.withdraw(seats[1].token)
    withdrawal.withdraw(seats[0].token)
    pages = [client.get(reverse("work", args=[seat.token])).content.decode() for seat in seats]
    assert "by the researchers, with their next payments" in pages[0]
    assert "by the people who invited you, after they get your code" in pages[1]
    ledger.decide(seats[0], False, "sent random answers", None)
    assert "payments" not in client.get(reverse("work", args=[seats[0].token])).content.decode()


def test_the_tombstone_says_how_many_examples_are_gone(seats):
    turns = seats[0].turns.count()
    withdrawal.withdraw(seats[0].token)
    withdrawal.withdraw(seats[0].token)
    assert Tombstone.objects.get().turns_erased == turns


def test_the_freed_seat_is_given_out_again(study, seats):
    with pytest.raises(join_errors.RecruitmentError):
        factories.join(study)
    withdrawal.withdraw(seats[1].token)
    assert factories.join(study).status == "arrived"


def test_a_withdrawn_annotator_cannot_continue_or_start_over(client, study):
    seat = factories.join(study, identity="ida")
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    turn = seat.latest_turn()
    withdrawal.withdraw(seat.token)
    reply = client.post(reverse("answer", args=[seat.token]), {"turn": turn.pk, "no_answer": "1"})
    assert reply.status_code == 404
    assert "You have withdrawn, and all your answers were erased." in reply.content.decode()
    assert not Answer.objects.exists()
    assert Exposure.objects.filter(worker_key=seat.worker.key).exists()
    with pytest.raises(join_errors.RecruitmentError) as refused:
        factories.join(study, identity="ida")
    assert refused.value.code == "done"


def test_the_tables_no_longer_count_a_withdrawn_annotator(study, seats):
    assert list(frames.scenarios(frames.annotators(study))["n"]) == [1]
    withdrawal.withdraw(seats[1].token)
    frame = frames.annotators(study)
    assert frames.scenarios(frame).empty
    row = frame[frame["status"] == Status.WITHDRAWN].iloc[0]
    assert (row["n"], row["training_n"]) == (0, 0)


@pytest.mark.long
def test_an_export_after_a_withdrawal_verifies(study, seats, tmp_path):
    withdrawal.withdraw(seats[1].token)
    call_command("export_study", study.name, str(tmp_path / "out"), verbosity=0)
    done = subprocess.run(
        [sys.executable, tmp_path / "out" / "verify.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert seats[1].pseudonym in (tmp_path / "out" / "annotators.csv").read_text()
    assert seats[1].pseudonym not in (tmp_path / "out" / "answers.csv").read_text()


def test_a_withdrawal_erases_the_reason_of_a_freed_seat(study, seats, researcher):
    free_by_hand(seats[0], "57.1 so far", researcher)
    withdrawal.withdraw(seats[0].token)
    last = study.events.last()
    assert last.what == f"seat of {seats[0].pseudonym} freed: withdrawn"


# Remaining data ----------------------------------------------------------------------------------

QUESTIONS = "Which one?\n* this\n- that"
# 4 of 7 right, as a number and as written in a reason. No other value here contains these digits.
SCORE = ("57.142857", "0.571428", "S1 57.1", "57.1 is")
TOLD = "a remark of this annotator"


def everything() -> dict[str, str]:
    """Return all rows of all tables, keyed by table and primary key."""
    return {
        f"{model.__name__} {row.pop(model._meta.pk.attname)}": str(row)
        for model in apps.get_models()
        for row in model.objects.values()
    }


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of all files, including those in ZIP archives, by name."""
    files = {}
    for path in folder.rglob("*"):
        if path.is_file():
            files[path.name] = path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    files |= {name: archive.read(name) for name in archive.namelist()}
    return files


def begun(study, kind: str = Kind.PERSON) -> Participation:
    """Seat a participant at the first example, after two attempts at the question."""
    participation = factories.join(study, kind)
    consent.record(participation, agree=True)
    own_questions.answer_comprehension(participation.token, {"question-1": "1"})
    own_questions.answer_comprehension(participation.token, {"question-1": "0"})
    training_step.begin(participation.token)
    return participation


@pytest.fixture
def gone(researcher, settings, tmp_path) -> Participation:
    """A participant with every kind of data, in a study with two others."""
    settings.VAR_DIR = tmp_path
    study = factories.make_study(
        researcher, factories.make_task(shots=[7], test_size=7), shots=[7], annotators=3,
        qualification=Qualification.MINIMUM, qualification_threshold=10,
        comprehension_questions=QUESTIONS, comprehension_attempts=3, exit_questionnaire=True,
    )  # fmt: skip
    scenario = study.scenarios.get()
    for wrong, kind in ((3, Kind.PERSON), (0, Kind.PERSON), (0, Kind.SIMULATED)):
        participation = begun(study, kind)
        factories.work_through(
            participation,
            lambda turn, wrong=wrong: (
                ["home"] if turn.example.position < wrong else list(turn.example.gold)
            ),
        )
        own_questions.answer_exit(participation.token, {"comments": TOLD if wrong else "nothing"})
        Participation.objects.filter(pk=participation.pk).update(
            browser=f"browser-of-{participation.pk}"
        )
    first = scenario.participations.order_by("pk").first()
    exclusion.decide(first, False, "57.1 is too low", researcher)
    exclusion.decide(first, True, "57.1 is not too low", researcher)
    for kind in (Kind.PERSON, Kind.SIMULATED):
        findings.job_of(study, kind, owner=researcher)
    bundle_job.prepare(study, researcher)
    call_command("run_jobs", verbosity=0)
    first.refresh_from_db()
    return first


def holding(words, tmp_path) -> tuple[set[str], set[str]]:
    """Return the tables and the files that contain one of these words."""
    tables = {name.split()[0] for name, row in everything().items() if any(w in row for w in words)}
    files = files_below(tmp_path).items()
    return tables, {name for name, data in files if any(word.encode() in data for word in words)}


@pytest.fixture
def withdraw(gone, client, django_capture_on_commit_callbacks):
    """Let them withdraw on their page."""

    def post() -> None:
        with django_capture_on_commit_callbacks(execute=True):
            reply = client.post(reverse("withdraw", args=[gone.token]))
        assert reply.status_code == 302

    return post


@pytest.mark.long
def test_no_table_or_file_reveals_a_withdrawn_annotators_score(withdraw, gone, tmp_path):
    tables, files = holding(SCORE, tmp_path)
    # The control: these contain the score before. (Answers store 1 or 0; signs, a step's mean.)
    assert tables == {"Decision", "Job", "Participation"}
    assert any(name.endswith("annotators.csv") for name in files)
    assert any(name.endswith("decisions.csv") for name in files)
    assert holding([TOLD], tmp_path)[0] == {"ExitAnswers"}
    assert holding([gone.browser], tmp_path)[0] == {"Participation"}
    withdraw()
    for words in (SCORE, [TOLD], [gone.browser]):
        assert holding(words, tmp_path) == (set(), set())
    assert {decision.reason for decision in gone.decisions.all()} == {"withdrawn"}


@pytest.mark.long
def test_only_required_rows_refer_to_a_withdrawn_annotator(withdraw, gone, tmp_path):
    others = Answer.objects.exclude(turn__participation=gone).count()
    withdraw()
    gone.refresh_from_db()
    assert (gone.qualified, gone.comprehension_attempts_used, gone.browser) == (None, 0, "")
    assert holding([gone.pseudonym], tmp_path) == ({"Participation", "AuditEntry"}, set())
    left = set()
    for relation in Participation._meta.related_objects:
        rows = relation.related_model.objects.filter(**{relation.field.name: gone})
        left |= {relation.related_model.__name__} if rows.exists() else set()
    assert left == {"Decision", "LedgerEntry", "Tombstone"}
    assert Answer.objects.count() == others
    # Results that include them are deleted; others stay.
    (job,) = Job.objects.all()
    assert (job.kind, job.parameters["kind"]) == ("bootstrap", Kind.SIMULATED)
    assert not [name for name in files_below(tmp_path) if name.endswith(".csv")]


@pytest.mark.long
def test_an_export_has_only_the_allocation_of_the_withdrawn(withdraw, gone, tmp_path):
    withdraw()
    call_command("export_study", gone.study.name, str(tmp_path / "out"), verbosity=0)
    done = subprocess.run(
        [sys.executable, tmp_path / "out" / "verify.py"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    named = {
        path.name: path.read_text().count(gone.pseudonym)
        for path in (tmp_path / "out").glob("*.csv")
    }
    assert {name: times for name, times in named.items() if times} == {"annotators.csv": 1}
    with (tmp_path / "out" / "annotators.csv").open(newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["annotator"] == gone.pseudonym)
    assert {name for name, cell in row.items() if cell} == {
        "study", "manifest", "task", "task_version", "shots", "split", "annotator", "kind",
        "status", "in_analysis", "arrival",
    }  # fmt: skip
    for word in (*SCORE, TOLD):
        assert holding([word], tmp_path) == (set(), set())


@pytest.mark.long
def test_the_funnel_still_counts_stages_of_withdrawn_annotators(gone, client, researcher):
    study = gone.study
    low = begun(study)  # will be screened out, then withdraw
    factories.work_through(low, lambda turn: ["home"], limit=7)
    factories.go_on(low.token)
    low.refresh_from_db()
    assert low.status == "screened_out"

    def came() -> tuple[int, int, int]:
        (seats,) = (s for s in progress.for_study(study).seats)
        return seats.funnel.arrived, seats.funnel.trained, seats.funnel.qualified

    before = came()
    withdrawal.withdraw(gone.token)
    withdrawal.withdraw(low.token)
    assert came() == before


@pytest.mark.long
@pytest.mark.sqlite
def test_erased_data_are_overwritten_in_the_sqlite_file(settings, tmp_path):
    """The setting is explicit, so it doesn't depend on how SQLite was built."""
    options = settings.DATABASES["default"]["OPTIONS"]
    assert "PRAGMA secure_delete=ON" in options["init_command"]
    own = {"HANDFUL_VAR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("sqlite_withdrawal.py"), TOLD],
        env=os.environ | own,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["secure_delete", "1"], done.stderr
    assert (tmp_path / "own.sqlite3").exists()
    for name, data in files_below(tmp_path).items():
        assert TOLD.encode() not in data, name


# By a researcher, on request ----------------------------------------------------------------------


def by_page(user, study, seat, **sent):
    client = Client()
    client.force_login(user)
    address = reverse("participation_withdraw", args=[study.name, seat.pseudonym])
    return client.post(address, sent).status_code


def by_api(user, study, seat, **sent):
    address = reverse("api_withdraw", args=[study.name, seat.pseudonym])
    sent = {key: value == "on" if key == "confirm" else value for key, value in sent.items()}
    headers = factories.bearer(user, "read", "run")
    return Client().post(address, sent, "application/json", headers=headers).status_code


@pytest.mark.long
@pytest.mark.parametrize(("send", "done"), [(by_page, 302), (by_api, 200)], ids=["page", "api"])
def test_a_researcher_withdraws_a_participant_on_request(researcher, study, seats, send, done):
    seat = seats[1]
    assert send(researcher, study, seat, reason="asked by mail") == 422
    assert send(researcher, study, seat, confirm="on") == 422
    assert Answer.objects.filter(turn__participation=seat).exists()
    assert send(researcher, study, seat, reason="asked by mail", confirm="on") == done
    seat.refresh_from_db()
    assert (seat.status, seat.seat_number, seat.in_analysis) == (Status.WITHDRAWN, None, False)
    assert not Turn.objects.filter(participation=seat).exists()
    assert Turn.objects.filter(participation=seats[0]).exists()
    entry = study.events.last()
    assert (entry.what, entry.about, entry.by) == (
        "withdrawn on request", seat.pseudonym, researcher,
    )  # fmt: skip
    assert entry.after == {"reason": "asked by mail"}
    again = send(researcher, study, seat, reason="asked again", confirm="on")
    assert again == (422 if send is by_page else 409)
    assert study.events.filter(what="withdrawn on request").count() == 1
