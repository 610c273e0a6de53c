"""A program can't take part as a person unless it is marked (docs/protocol.md#invariants)."""

import itertools
from urllib.parse import urlsplit

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Allocation,
    Answer,
    AuditEntry,
    Channel,
    ExitAnswers,
    Exposure,
    Kind,
    Panel,
    Participation,
    Scenario,
    Status,
    Study,
    Submission,
    Turn,
    Worker,
)
from annotation.prolific import drafts, studies
from annotation.protocol import answering, qualification, training_step
from annotation.protocol.answering import PeopleUsePages
from annotation.recruitment import consent, seats
from annotation.recruitment.links import make_links
from annotation.study import design_file
from annotation.urls_api import PARTICIPANTS
from tests import factories
from tests.annotation.participation import both_doors
from tests.annotation.prolific.fixtures import HOST
from tests.annotation.recruitment.test_platforms import panel_fields

STORED = (
    Allocation, Answer, AuditEntry, ExitAnswers, Exposure, Participation, Submission, Turn, Worker,
)  # fmt: skip
# A valid body for each step of the API.
BODIES = {
    "consent": {"agree": True},
    "own_questions": {"answers": {}},
    "comprehension": {"answers": [0]},
    "confidence": {"turn": 1, "confidence": 3},
    "problem": {"turn": 1, "text": "The text is cut off."},
    "continue": {"leaving": "reveal"},
    "questionnaire": {"ai_used": "no"},
    "finish": {"examples": "answered", "context": "each"},
}
GET = ("work", "history")
OPEN_TO_PEOPLE = ("withdraw",)
STEPS = [
    name
    for name in (pattern.name.removeprefix("api_") for pattern in PARTICIPANTS)
    if name not in ("join", *OPEN_TO_PEOPLE)
]


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[2])


def stored() -> list[int]:
    """Return the number of rows in each table, and of people who did not consent."""
    declined = sum(Scenario.objects.values_list("declined", flat=True))
    return [declined, *(model.objects.count() for model in STORED)]


def ask(name: str, token: str, body: dict | None = None):
    headers = {"Authorization": f"Bearer {token}"}
    address = reverse(f"api_{name}")
    if name in GET:
        return Client().get(address, headers=headers)
    return Client().post(address, body or BODIES.get(name, {}), "application/json", headers=headers)


def is_refused(reply) -> bool:
    told = reply.json()
    assert reply["Content-Type"] == "application/problem+json"
    return (reply.status_code, told["code"], "state" in told) == (403, "people_use_pages", False)


# Joining ---------------------------------------------------------------------------------------


def links_of(study: Study, fake, researcher) -> list[str]:
    """Return the API paths of links for people: open, personal, from a panel and from Prolific."""
    open_link = reverse("api_join", args=[study.link_code])
    personal = [
        reverse("api_join", args=[link.code]) for link in make_links(study, "Ida\nBo\nCy\nDee")
    ]
    panel = Panel.objects.create(study=study, **panel_fields())
    of_panel = reverse("api_join", args=[panel.code])
    (draft,) = drafts.plan(study, 0, researcher)
    studies.create(draft, HOST)
    arrivals = [
        urlsplit(fake.arrive(draft.external_id, f"{number:024x}")["url"]) for number in (10, 11)
    ]
    code = reverse("api_join", args=[draft.code])
    return [
        open_link,
        *personal,
        *(f"{of_panel}?participantId=p-{number}&assignmentId=a-{number}" for number in (1, 2)),
        of_panel,
        *(f"{code}?{arrival.query}" for arrival in arrivals),
        code,
    ]


@pytest.mark.long
def test_fifty_programs_get_no_seat_of_a_person_by_any_link(fake, researcher):
    made = [
        factories.make_study(
            researcher, factories.make_task(name=f"toy-{name}"), name=name, shots=[2], annotators=2,
            currency="GBP", hourly_rate=60, estimated_minutes=10,
        )
        for name in ("first", "second", "third")
    ]  # fmt: skip
    links = [link for study in made for link in links_of(study, fake, researcher)]
    before = stored()
    bodies = itertools.cycle([{}, {"kind": "person"}, {"arrival": "of-another-person"}])
    for link, body in zip(itertools.islice(itertools.cycle(links), 50), bodies, strict=False):
        program = Client()
        about = program.get(link)
        if about.status_code == 200:  # includes the page's arrival value
            body = body | {"arrival": about.json()["arrival"]}
        assert "segments" not in about.content.decode()
        reply = program.post(link, body, "application/json")
        if "?" in link:  # the API has no parameters for platform ids
            assert reply.status_code == 400
        else:
            assert is_refused(reply)
        assert "worker" not in reply.cookies
    assert stored() == before
    for study in made:  # all seats are still free for people
        assert [both_doors.Pages().start(study).status_code for _person in range(2)] == [302, 302]


def test_the_error_explains_how_programs_can_take_part(study):
    address = reverse("api_join", args=[study.link_code])
    told = Client().post(address, {}, "application/json").json()
    assert "in a browser" in told["detail"]
    assert "programs_as_people" in told["detail"]


def test_a_researcher_token_cannot_take_a_persons_seat(study, researcher):
    header = factories.bearer(researcher, "run")
    for body in ({}, {"kind": "person"}):
        address = reverse("api_join", args=[study.link_code])
        reply = Client().post(address, body, "application/json", headers=header)
        assert is_refused(reply)
    assert not Participation.objects.exists()


# Working ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STEPS)
def test_no_step_of_a_seat_taken_by_page_is_open_to_a_program(researcher, name):
    """This holds before consent, while the person works, and after the last answer."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=3, exit_questionnaire=True
    )
    pages = both_doors.Pages()
    pages.start(study)
    arrived = study.participations.get()
    at_work, done = (factories.seat(study.scenarios.get()) for _seat in range(2))
    factories.work_through(at_work, limit=1)
    factories.work_through(done)
    for seat in (arrived, at_work, done):
        before, turn = stored(), seat.latest_turn()
        answer = {"turn": turn.pk if turn else 1, "answer": {"no_answer": True}}
        reply = ask(name, seat.token, answer if name == "answer" else None)
        assert is_refused(reply)
        assert "London" not in reply.content.decode()
        assert stored() == before
        again = Participation.objects.get(pk=seat.pk)
        assert (again.status, again.seat_number) == (seat.status, seat.seat_number)


def test_a_page_answer_is_accepted_after_a_program_was_refused(study):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    sent = {"turn": turn.pk, "answer": {"no_answer": True}}
    assert is_refused(ask("answer", seat.token, sent))
    fields = factories.fields_for(turn.example, [])
    assert both_doors.Pages().answer(seat.token, turn.pk, fields).status_code == 200
    assert list(Answer.objects.values_list("channel", flat=True)) == [Channel.PAGE]


def test_programs_cannot_work_seats_of_links_panels_or_prolific(fake, researcher, study):
    (link,) = make_links(study, "Ida")
    personal = Client().post(reverse("start", args=[link.code]))
    panel = Panel.objects.create(study=study, **panel_fields())
    address = reverse("start", args=[panel.code])
    by_panel = Client().post(f"{address}?participantId=p-1&assignmentId=a-1")
    paid = factories.make_study(
        researcher, factories.make_task(name="toy-paid"), shots=[2],
        currency="GBP", hourly_rate=60, estimated_minutes=10,
    )  # fmt: skip
    (draft,) = drafts.plan(paid, 0, researcher)
    studies.create(draft, HOST)
    arrival = urlsplit(fake.arrive(draft.external_id, "a" * 24)["url"])
    by_prolific = Client().post(f"{arrival.path}start/?{arrival.query}")
    for started in (personal, by_panel, by_prolific):
        token = started.url.split("/")[2]
        for name, body in (("work", None), ("consent", {"agree": True}), ("begin", None)):
            assert is_refused(ask(name, token, body))
        assert Participation.objects.get(token=token).status == Status.ARRIVED


def test_people_may_withdraw_by_any_channel(study):
    """Withdrawing through the API is safe: it shows nothing, and erases only their own answers."""
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    reply = ask("withdraw", seat.token)
    assert (reply.status_code, reply.json()["step"]) == (200, "gone")
    assert not Answer.objects.exists()
    assert is_refused(ask("work", seat.token))


def test_the_step_functions_refuse_a_program(study):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    with pytest.raises(PeopleUsePages):
        answering.submit(seat.token, turn.pk, {"no_answer": "1"}, Channel.API)
    with pytest.raises(PeopleUsePages):
        training_step.go_on(seat.token, "reveal", Channel.API)
    new = factories.join(study)
    with pytest.raises(PeopleUsePages):
        training_step.begin(new.token, Channel.API)
    assert (Turn.objects.count(), Answer.objects.count()) == (1, 0)


# The database ----------------------------------------------------------------------------------


@pytest.mark.engines
def test_the_database_refuses_a_programs_row_in_a_persons_seat(study, researcher):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    answer = Answer(
        turn=turn, no_answer=True, s1=0, tokeniser="1", active_seconds=1, channel=Channel.API
    )
    with pytest.raises(DatabaseError, match="people use the pages"), transaction.atomic():
        answer.save(force_insert=True)
    following = seat.order_of("training")[1]
    shown = Turn(participation=seat, example_id=following, step="training", position=1)
    shown.channel = Channel.API
    with pytest.raises(DatabaseError, match="people use the pages"), transaction.atomic():
        shown.save()
    answer.channel = Channel.PAGE
    answer.save(force_insert=True)


@pytest.mark.engines
@pytest.mark.parametrize("table", ["annotation_turn", "annotation_answer"])
def test_a_channel_is_a_page_or_the_api_and_never_changes(study, table):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    refusal = pytest.raises(DatabaseError, match="insert-only")
    with refusal, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET channel = 'api'")
    with pytest.raises(DatabaseError, match="channel"), transaction.atomic():
        seat.turns.create(
            example_id=seat.order_of("training")[1], step="training", position=1, channel="fax"
        )


# Exceptions --------------------------------------------------------------------------------------


def go_through(door, study: Study) -> Participation:
    seat = both_doors.seat(door, study)
    while Participation.objects.get(pk=seat.pk).status == Status.WORKING:
        turn = seat.latest_turn()
        if turn.given is None:
            fields = factories.fields_for(turn.example, factories.right_texts(turn.example))
            assert door.answer(seat.token, turn.pk, fields).status_code == 200
        else:
            for leaving in ("reveal", "review"):
                door.go_on(seat.token, leaving)
    return seat


@pytest.mark.parametrize(("name", "channel"), [("pages", "page"), ("api", "api")])
def test_each_row_records_its_channel(researcher, name, channel):
    study = both_doors.make_study(
        researcher, factories.make_task(), shots=[0, 2], screening_examples=2,
        qualification="minimum", qualification_threshold=50,
    )  # fmt: skip
    people = [go_through(both_doors.DOORS[name](), study) for _person in range(4)]
    assert {seat.scenario.shots for seat in people} == {0, 2}
    for model in (Turn, Answer):
        assert set(model.objects.values_list("channel", flat=True)) == {channel}
    assert (Turn.objects.count(), Answer.objects.count()) == (24, 24)
    assert {bool(seat.browser) for seat in people} == {channel == "page"}


def test_a_seat_may_change_its_channel_and_each_row_records_it(researcher):
    study = both_doors.make_study(researcher, factories.make_task(), shots=[2])
    pages, api = both_doors.Pages(), both_doors.Api()
    seat = both_doors.seat(pages, study)
    turn = seat.latest_turn()
    api.answer(seat.token, turn.pk, factories.fields_for(turn.example, ["home"]))
    pages.go_on(seat.token)
    api.answer(seat.token, seat.latest_turn().pk, factories.fields_for(turn.example, []))
    first, second, *_ = seat.turns.order_by("pk").values_list("channel", "answer__channel")
    assert (first, second) == (("page", "api"), ("page", "api"))


def test_a_turn_shown_by_a_decision_has_the_previous_channel(researcher):
    study = both_doors.make_study(
        researcher, factories.make_task(), shots=[2], qualification="researcher"
    )
    api = both_doors.Api()
    seat = both_doors.seat(api, study)
    for _example in range(2):
        turn = seat.latest_turn()
        api.answer(
            seat.token, turn.pk,
            factories.fields_for(turn.example, factories.right_texts(turn.example)),
        )  # fmt: skip
        api.go_on(seat.token)
    qualification.decide(seat.token, True, "careful", researcher)
    assert set(seat.turns.values_list("channel", flat=True)) == {Channel.API}
    assert seat.turns.count() == 3


def test_models_and_simulated_annotators_may_use_the_api(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], rehearsal=True)
    runs = factories.bearer(researcher, "run")
    model = {
        "kind": "model", "model": {"name": "m", "prompt_hash": "0" * 64},
        "scenario": {"task": "toy-places", "shots": 2, "split": 1},
    }  # fmt: skip
    for body in (model, {"kind": "simulated"}):
        address = reverse("api_join", args=[study.link_code])
        joined = Client().post(address, body, "application/json", headers=runs)
        assert joined.status_code == 201, joined.content
        token = joined.json()["token"]
        assert ask("consent", token).status_code == 200
        turn = ask("begin", token).json()["question"]["turn"]
        sent = {"turn": turn, "answer": {"no_answer": True}}
        assert ask("answer", token, sent).status_code in (200, 422)
        assert ask("work", token).status_code == 200
    assert set(Participation.objects.values_list("kind", flat=True)) == {
        Kind.MODEL, Kind.SIMULATED,
    }  # fmt: skip
    assert set(Turn.objects.values_list("channel", flat=True)) == {Channel.API}


def test_the_next_task_of_a_person_is_started_only_by_page(researcher):
    tasks = [factories.make_task(name=f"toy-{name}") for name in "ab"]
    study = factories.make_study(researcher, *tasks, shots=[0], tasks_per_worker=2)
    first = factories.join(study)
    factories.work_through(_begun(first))
    assert is_refused(ask("next_task", first.token))
    assert study.participations.count() == 1
    assert seats.join(study.pk, first.worker.key, "link", Kind.PERSON).pk != first.pk


def _begun(seat: Participation) -> Participation:
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    return seat


# The design ------------------------------------------------------------------------------------


def test_programs_are_allowed_only_if_the_design_says_so(ada, researcher):
    assert not Study().programs_as_people
    given = {"programs_as_people": True}
    assert design_file.from_data("body", given).fields == given
    for allowed in (False, True):
        study = factories.make_study(
            researcher, factories.make_task(name=f"toy-{allowed}"), programs_as_people=allowed
        )
        manifest = ada.get(reverse("api_study", args=[study.name])).json()
        assert allowed is manifest["design"]["programs_as_people"]
        page = ada.get(reverse("study_design", args=[study.name])).content.decode()
        assert ("Programs in human seats" in page) is allowed
    form = ada.get(reverse("study_new")).content.decode()
    assert 'name="programs_as_people"' in form
