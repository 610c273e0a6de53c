"""Annotators can download everything stored about their work, except the gold."""

import csv
import io
import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    LIVE,
    AuditEntry,
    ExitAnswers,
    Panel,
    Participation,
    Role,
    Status,
    Step,
    Study,
    Submission,
    Turn,
)
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.privacy.withdrawal import withdraw
from annotation.protocol import exclusion
from annotation.study import team
from tests import factories
from tests.annotation.protocol.test_no_gold_leaks import GOLDS, records


def file_of(seat: Participation) -> dict:
    reply = Client().get(reverse("own_data", args=[seat.token]))
    assert reply.status_code == 200
    assert reply["Content-Disposition"] == f'attachment; filename="{seat.pseudonym}.json"'
    return json.loads(reply.content)


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[2], annotators=3
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def test_an_annotator_downloads_what_was_shown_and_answered(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=3)
    seat.refresh_from_db()
    told = file_of(seat)
    turns = list(seat.turns.order_by("pk"))
    assert [row["texts"] for row in told["examples"]] == [turn.example.context for turn in turns]
    answered = [row for row in told["examples"] if row["answer"]]
    assert len(answered) == 3
    for row, turn in zip(answered, turns, strict=False):
        given = turn.answer.as_given
        assert [span["text"] for span in row["answer"]["highlights"]] == [*given.texts]
        assert row["answer"]["no_answer"] == given.no_answer
    assert told["consent_text"] == seat.consent_text.text
    assert told["pseudonym"] == seat.pseudonym
    assert Turn.objects.count() == len(turns)  # the GET showed no new example


def test_the_file_has_neither_gold_nor_unseen_examples(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    text = json.dumps(file_of(seat))
    for name in ("s1", "gold", "score", "reason"):
        assert f'"{name}"' not in text
    other = factories.seat(study.scenarios.get())
    shown = {turn.example_id for turn in other.turns.all()}
    told = file_of(other)
    assert len(told["examples"]) == len(shown)
    hidden = other.scenario.task.test_split.examples.exclude(pk__in=shown)
    for example in hidden:
        assert example.context[0] not in json.dumps(told)


@pytest.mark.long
def test_the_file_does_not_depend_on_the_gold(researcher):
    files = []
    for number, gold in enumerate(GOLDS):
        task = factories.make_task(
            name=f"toy-{number}",
            title="The same",
            train={3: records("train", gold)},
            test=records("test", gold),
        )
        study = factories.make_study(researcher, task, title="The same", shots=[3], seed=11)
        seat = factories.seat(study.scenarios.get())
        factories.work_through(seat, answer=lambda turn: ["Rome"])
        seat.refresh_from_db()
        text = Client().get(reverse("own_data", args=[seat.token])).content.decode()
        text = text.replace(seat.completion_code, "CODE").replace(seat.pseudonym, "NAME")
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
        told = json.loads(re.sub(r'("\w*seconds\w*": |"amount": )"?[\d.]+"?', r"\g<1>0", text))
        told["examples"].sort(key=lambda row: row["texts"])  # orders depend on the pseudonym
        files.append(told)
    assert len(files[0]["examples"]) == 6
    assert files[0] == files[1]


def test_an_attention_check_looks_like_any_other_example(study):
    seat = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=seat.pk).update(checks=seat.annotation_order[:2])
    factories.work_through(seat)
    assert seat.turns.filter(step=Step.CHECK).count() == 2
    assert {row["step"] for row in file_of(seat)["examples"]} == {"training", "annotation"}


def test_the_file_has_decisions_without_their_reasons(study, researcher):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    seat.refresh_from_db()
    ExitAnswers.objects.create(participation=seat, comments="It was fine.")
    exclusion.decide(seat, False, "S1 of 1212.5 is below all others", researcher)
    told = file_of(seat)
    assert [row["outcome"] for row in told["decisions"]] == [False]
    assert "1212.5" not in json.dumps(told)
    assert told["questions_at_the_end"]["comments"] == "It was fine."


def test_after_a_withdrawal_the_file_has_no_examples(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    withdraw(seat.token)
    told = file_of(seat)
    assert (told["examples"], told["status"]) == ([], "withdrew")


def test_an_unknown_token_is_not_found(client, db):
    assert client.get(reverse("own_data", args=["unknown"])).status_code == 404


def test_researchers_download_the_same_file_and_it_is_logged(study, ada):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    reply = ada.get(reverse("participation_data", args=[study.name, seat.pseudonym]))
    assert json.loads(reply.content) == file_of(seat)
    assert file_of(seat)["examples"]
    entry = AuditEntry.objects.latest("pk")
    assert (entry.what, entry.about) == ("downloaded: participation data", seat.pseudonym)
    page = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content.decode()
    assert reverse("participation_data", args=[study.name, seat.pseudonym]) in page


def test_the_work_page_links_to_the_download(study):
    seat = factories.seat(study.scenarios.get())
    page = Client().get(reverse("work", args=[seat.token])).content.decode()
    assert reverse("own_data", args=[seat.token]) in page


def code_on_the_page(seat: Participation) -> bool:
    return seat.completion_code in Client().get(reverse("work", args=[seat.token])).content.decode()


@pytest.mark.parametrize("by_panel", [False, True], ids=["open link", "panel"])
@pytest.mark.parametrize("status", Status.values)
def test_the_file_has_the_completion_code_only_if_the_page_has(study, status, by_panel):
    """Platforms pay for this code, so it must not appear before the end."""
    seat = _in(study, status)
    if by_panel:
        panel = Panel.objects.create(study=study, name="sona", id_parameter="id")
        Submission.objects.create(
            study=study, participation=seat, worker=seat.worker, panel=panel,
            platform="panel:sona", key="k", arrived_at=seat.arrived_at,
        )  # fmt: skip
    code = file_of(seat)["completion_code"]
    assert code in (None, seat.completion_code)
    assert (code is not None) == code_on_the_page(seat)
    ended = (Status.COMPLETED, Status.SCREENED_OUT, Status.BETWEEN)
    assert (code is not None) == (status in ended)


def _in(study: Study, status: str) -> Participation:
    """Return a participation with this status, reached through the real steps if possible."""
    if status == Status.ARRIVED:
        return factories.join(study)
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=100 if status == Status.COMPLETED else 2)
    if status == Status.WITHDRAWN:
        withdraw(seat.token)
    elif status not in (Status.COMPLETED, Status.WORKING):
        changes = {"status": status}
        if status not in LIVE:
            changes |= {"seat_number": None, "finished_at": timezone.now()}
        if status == Status.WAITING:
            changes["waiting_since"] = timezone.now()
        Participation.objects.filter(pk=seat.pk).update(**changes)
    seat.refresh_from_db()
    return seat


def test_the_code_survives_a_withdrawal_after_the_end(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    withdraw(seat.token)
    seat.refresh_from_db()
    assert file_of(seat)["completion_code"] == seat.completion_code
    assert code_on_the_page(seat)


def test_a_researchers_copy_has_what_the_role_may_read(study, researcher):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    files = {}
    for role in (Role.ANALYST, Role.PAYER):
        user = User.objects.create_user(role)
        team.add(study, role, role, researcher)
        client = Client()
        client.force_login(user)
        address = reverse("participation_data", args=[study.name, seat.pseudonym])
        files[role] = client.get(address).json()
    money = {"earnings", "completion_code"}
    answers = {"examples", "questions_of_the_study", "questions_at_the_end"}
    whole = set(file_of(seat))
    assert set(files[Role.ANALYST]) == whole - money
    assert set(files[Role.PAYER]) == whole - answers


def test_payers_look_up_a_completion_code(study, ada):
    done, working = (factories.seat(study.scenarios.get()) for _ in range(2))
    factories.work_through(done)
    done.refresh_from_db()
    address = reverse("pay", args=[study.name])

    def told(code: str) -> str:
        return ada.get(f"{address}?code={code}").content.decode()

    assert f"{done.completion_code} belongs to" in told(done.completion_code.lower()).replace(
        done.completion_code.lower(), done.completion_code
    )
    for code in (working.completion_code, "UNKNOWN"):
        assert "wasn't issued in this study" in told(code)
    (batch,) = batches.prepare(study, study.owner)
    (row,) = csv.DictReader(io.StringIO(payout.batch_csv(batch)))
    assert row["code"] == done.completion_code
