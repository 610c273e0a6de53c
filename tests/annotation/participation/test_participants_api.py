"""Differences between the API and the pages. (test_both_doors.py tests what they share.)"""

from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, ExitAnswers, Kind, Participation, Status, Study
from annotation.recruitment.links import make_links
from tests import factories
from tests.annotation.participation import both_doors

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stored(module_researcher):
    return both_doors.make_study(module_researcher, factories.make_task(), shots=[2]).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def post(name: str, token: str, body=None, **headers: str):
    headers = {"Authorization": f"Bearer {token}"} | headers
    return Client().post(reverse(f"api_{name}"), body or {}, "application/json", headers=headers)


def get(name: str, token: str):
    return Client().get(reverse(f"api_{name}"), headers={"Authorization": f"Bearer {token}"})


def join(code: str, body=None, **headers: str):
    return Client().post(
        reverse("api_join", args=[code]), body or {}, "application/json", headers=headers
    )


@pytest.mark.long
def test_a_participation_goes_from_the_link_to_the_code(study):
    about = Client().get(reverse("api_join", args=[study.link_code])).json()
    assert (about["title"], about["state"]) == ("A small study", "open")
    assert not Participation.objects.exists()
    joined = join(study.link_code, {"arrival": about["arrival"]})
    assert joined.status_code == 201
    token, state = joined.json()["token"], joined.json()["state"]
    assert (state["step"], state["consent"]) == ("consent", study.consent_text)
    state = post("consent", token, {"agree": True}).json()
    assert (state["step"], state["leads_to"]) == ("instructions", "begin")
    assert state["task"]["description"] == "Find the places in a sentence."
    assert (state["training_total"], state["test_total"]) == (2, 4)
    state = post("begin", token).json()
    answered = 0
    while state["step"] != "finished":
        if state["step"] == "question":
            places = [p for p in factories.PLACES if p in state["question"]["segments"][0]["text"]]
            answer = {"typed": places} if places else {"no_answer": True}
            body = {"turn": state["question"]["turn"], "answer": answer}
            state, answered = post("answer", token, body).json(), answered + 1
        else:
            assert state["reveal"]["verdict"] == "right"
            state = post("continue", token, {"leaving": state["step"]}).json()
    assert answered == state["answered"] == 6
    assert set(Answer.objects.values_list("s1", flat=True)) == {1.0}
    seat = study.participations.get()
    assert state["exit"]["code"] == seat.completion_code
    assert (seat.status, seat.kind) == (Status.COMPLETED, Kind.PERSON)


def test_an_error_is_problem_details_with_the_current_state(study):
    seat = factories.seat(study.scenarios.get())
    turn = seat.latest_turn()
    refused = post("answer", seat.token, {"turn": turn.pk, "answer": {"typed": ["nowhere"]}})
    assert refused.status_code == 422
    assert refused["Content-Type"] == "application/problem+json"
    problem = refused.json()
    assert problem["detail"] == problem["fields"]["answer"][0]
    assert problem["state"]["question"]["turn"] == turn.pk
    body = {"turn": turn.pk, "answer": {"typed": ["home"]}}
    assert post("answer", seat.token, body).status_code == 200
    again = post("answer", seat.token, {"turn": turn.pk, "answer": {"typed": ["then"]}})
    assert (again.status_code, again.json()["code"]) == (409, "answered")
    assert again.json()["state"]["answer"]["texts"] == ["home"]


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("answer", {"turn": 1}, "answer"),
        ("answer", {"turn": "x", "answer": {}}, "turn"),
        ("answer", {"turn": 1, "answer": {"labels": "x"}}, "answer.labels"),
        ("answer", {"turn": 1, "answer": {"spans": [{"start": 0}]}}, "answer.spans.0.segment"),
        ("answer", {"turn": 2**70, "answer": {}}, "turn"),
        ("answer", {"turn": 1, "answer": {"typed": ["home"], "text": "bed"}}, "answer.text"),
        ("consent", {"agree": "perhaps"}, "agree"),
    ],
)
def test_an_invalid_body_is_422_and_names_the_field(study, name, body, field):
    seat = factories.seat(study.scenarios.get())
    reply = post(name, seat.token, body)
    assert reply.status_code == 422
    assert field in reply.json()["fields"]


def test_highlighted_and_typed_places_are_all_stored(study):
    seat = factories.seat(study.scenarios.get())
    turn, (text,) = seat.latest_turn(), seat.latest_turn().example.context
    span = {"segment": 0, "start": text.index("went"), "end": text.index("went") + len("went")}
    answer = {"spans": [span], "typed": ["home"]}
    stored = post("answer", seat.token, {"turn": turn.pk, "answer": answer})
    assert stored.json()["answer"]["texts"] == ["went", "home"]


def test_a_label_and_no_answer_are_refused_together(researcher):
    task = factories.make_task(name="toy-moods", labels=factories.LABELS)
    seat = factories.seat(both_doors.make_study(researcher, task, shots=[2]).scenarios.get())
    turn, answer = seat.latest_turn(), {"label": "positive", "no_answer": True}
    refused = post("answer", seat.token, {"turn": turn.pk, "answer": answer})
    assert (refused.status_code, refused.json()["code"]) == (422, "both")
    assert not Answer.objects.exists()


def test_a_researchers_token_or_session_opens_no_participation(ada, researcher, study):
    assert ada.get(reverse("api_work")).status_code == 401
    token = factories.bearer(researcher, "read", "run")["Authorization"].removeprefix("Bearer ")
    assert get("work", token).status_code == 401
    seat = factories.seat(study.scenarios.get())
    assert get("work", seat.token).status_code == 200
    headers = {"Authorization": f"Bearer {seat.token}"}
    assert Client().get("/api/v1/studies/", headers=headers).status_code == 401


def test_a_personal_link_that_joins_twice_is_one_worker(study):
    (link,) = make_links(study, "Ida")
    first, again = join(link.code), join(link.code)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["token"] == again.json()["token"]
    factories.work_through(_at_work(study))
    ended = join(link.code)
    assert (ended.status_code, ended.json()["state"]["step"]) == (200, "finished")


def _at_work(study) -> Participation:
    seat = study.participations.get()
    post("consent", seat.token, {"agree": True})
    post("begin", seat.token)
    return seat


def test_a_simulated_annotator_needs_a_researcher_token(study, researcher, other_researcher):
    wanted = {"kind": "simulated"}
    assert join(study.link_code, wanted).status_code == 401
    foreign = factories.bearer(other_researcher, "run")
    assert join(study.link_code, wanted, **foreign).status_code == 404
    reads = factories.bearer(researcher, "read")
    assert join(study.link_code, wanted, **reads).status_code == 403
    runs = factories.bearer(researcher, "run")
    assert join(study.link_code, wanted, **runs).status_code == 422  # not a rehearsal
    rehearsal = both_doors.make_study(researcher, study.tasks.get(), shots=[2], rehearsal=True)
    assert join(rehearsal.link_code, wanted, **runs).status_code == 201
    assert rehearsal.participations.get().kind == Kind.SIMULATED


@pytest.mark.long
def test_comprehension_questions_come_before_the_first_example(researcher):
    study = both_doors.make_study(
        researcher, factories.make_task(), shots=[2], comprehension_attempts=2,
        comprehension_questions="Can an answer be changed?\n- Yes\n* No",
    )  # fmt: skip
    token = join(study.link_code).json()["token"]
    state = post("consent", token, {"agree": True}).json()
    assert state["step"] == "comprehension"
    assert state["questions"] == [{"text": "Can an answer be changed?", "options": ["Yes", "No"]}]
    assert post("begin", token).status_code == 409
    assert post("comprehension", token, {"answers": []}).status_code == 422
    unfit = post("comprehension", token, {"answers": [2]})
    assert (unfit.status_code, list(unfit.json()["fields"])) == (422, ["answers.0"])
    wrong = post("comprehension", token, {"answers": [0]})
    assert (wrong.status_code, wrong.json()["state"]["attempts_left"]) == (422, 1)
    assert list(wrong.json()["fields"]) == ["answers.0"]
    assert post("comprehension", token, {"answers": [1]}).json()["step"] == "instructions"


def test_the_history_contains_only_what_was_shown(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    turn = seat.latest_turn()
    post("answer", seat.token, {"turn": turn.pk, "answer": {"typed": ["home"]}})
    record = get("history", seat.token).json()
    steps = [one["question"]["step"] for one in record["answered"]]
    assert steps == ["training", "training", "annotation"]
    assert ["reveal" in one for one in record["answered"]] == [True, True, False]
    assert record["answered"][2]["answer"]["texts"] == ["home"]


def test_exit_questions_are_answered_once(researcher):
    study = both_doors.make_study(
        researcher, factories.make_task(), shots=[0], exit_questionnaire=True
    )
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    assert get("work", seat.token).json()["asks_questions"] is True
    assert post("questionnaire", seat.token, {"ai_used": "no"}).json()["asks_questions"] is False
    assert ExitAnswers.objects.get().ai_used == "no"


def test_exit_answers_are_stored_only_if_the_study_asks(researcher):
    study = both_doors.make_study(researcher, factories.make_task(), shots=[0])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    assert get("work", seat.token).json()["asks_questions"] is False
    assert post("questionnaire", seat.token, {"ai_used": "yes"}).status_code == 200
    assert not ExitAnswers.objects.exists()


def test_requests_of_a_participation_are_limited(study, monkeypatch):
    seat = factories.seat(study.scenarios.get())
    monkeypatch.setattr("annotation.web.authentication.PerParticipation.limit", 3)
    minute = SimpleNamespace(time=lambda: 1_000_000_000)
    monkeypatch.setattr("annotation.web.authentication.time", minute)
    replies = [get("work", seat.token) for _request in range(4)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert 1 <= int(replies[-1]["Retry-After"]) <= 60
    other = factories.seat(study.scenarios.get())
    assert get("work", other.token).status_code == 200


def test_an_answer_by_the_api_takes_at_most_eight_queries(study, django_assert_max_num_queries):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    turn = seat.latest_turn()
    body = {"turn": turn.pk, "answer": both_doors.as_json(factories.fields_for(turn.example, []))}
    with django_assert_max_num_queries(8):
        assert post("answer", seat.token, body).status_code == 200


# Refused arrivals, on the pages and by the API ----------------------------------------------------

PHONE = {"User-Agent": "Mozilla/5.0 (Linux; Android 14) Mobile Safari"}


def start(code: str, by_program: bool, client=None, **headers: str):
    """Start on the page or through the API; a refusal has status 4xx."""
    client = client or Client()
    if by_program:
        address = reverse("api_join", args=[code])
        return client.post(address, {}, "application/json", headers=headers)
    return client.post(reverse("start", args=[code]), headers=headers)


both_doors_start = pytest.mark.parametrize("by_program", [False, True], ids=["page", "api"])


@both_doors_start
def test_a_study_for_computers_gives_a_phone_no_seat(study, by_program):
    factories.force_options(study, computer_only=True)
    assert start(study.link_code, by_program, **PHONE).status_code == 409
    assert not Participation.objects.exists()
    assert start(study.link_code, by_program).status_code < 400


@pytest.mark.long
@both_doors_start
def test_one_address_cannot_take_all_seats_of_an_open_link(study, settings, by_program):
    """The limit includes participants who have consented, because a script consents at once."""
    settings.STARTS_PER_HOUR = 3
    Study.objects.update(budget=None)
    study.scenarios.update(seats=20)
    statuses = []
    for _person in range(5):
        statuses.append(start(study.link_code, by_program).status_code < 400)
        for seat in study.participations.filter(consented_at=None):
            post("consent", seat.token, {"agree": True})
    assert statuses == [True] * 3 + [False] * 2
    refused = start(study.link_code, by_program)
    assert refused.status_code == 409
    assert "from your internet connection" in refused.content.decode()
    # The limit doesn't apply to other addresses or to personal links.
    other = Client(REMOTE_ADDR="198.51.100.7")
    assert start(study.link_code, by_program, other).status_code < 400
    (link,) = make_links(study, "Ida")
    assert start(link.code, by_program).status_code < 400
    Study.objects.filter(pk=study.pk).update(shared_address=True)
    assert start(study.link_code, by_program).status_code < 400


@pytest.mark.long
@both_doors_start
def test_one_address_takes_at_most_a_tenth_of_a_large_study(study, settings, by_program):
    settings.STARTS_PER_HOUR = 1
    Study.objects.update(budget=None)
    study.scenarios.update(seats=30)
    accepted = [start(study.link_code, by_program).status_code < 400 for _person in range(4)]
    assert accepted == [True] * 3 + [False]


@pytest.mark.long
@both_doors_start
def test_a_resumed_start_is_not_counted_again(study, settings, by_program):
    settings.STARTS_PER_HOUR = 1
    client = Client()
    first = client.post(reverse("start", args=[study.link_code]))
    assert first.status_code == 302
    assert start(study.link_code, by_program).status_code == 409
    assert start(study.link_code, by_program, client).status_code < 400
    assert study.participations.count() == 1
