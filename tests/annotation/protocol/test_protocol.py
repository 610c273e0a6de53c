"""The protocol over HTTP as in a browser without JavaScript, and the table of replies."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Exposure, Participation, Status, Step, Study, Turn, Worker
from annotation.privacy import withdrawal
from annotation.protocol import training_step
from annotation.recruitment import consent
from annotation.recruitment.identities import worker_key
from tests import factories

HTMX = {"HTTP_HX_REQUEST": "true"}
CSRF = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
OUTSIDE = '{"v":1,"no_answer":false,"spans":[{"field":"context","index":0,"start":1,"end":99999}]}'


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(module_researcher, factories.make_task(), shots=[2]).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def seat(study):
    """A participant at the first of two training examples."""
    return factories.seat(study.scenarios.get())


def submit(client, participation, turn, texts, **extra):
    fields = factories.fields_for(turn.example, texts)
    address = reverse("answer", args=[participation.token])
    return client.post(address, {"turn": turn.pk, **fields}, **extra)


def page(client, participation) -> str:
    return client.get(reverse("work", args=[participation.token])).content.decode()


def to_annotation(participation) -> Turn:
    """Complete the training step, and return the first turn of the annotation step."""
    factories.work_through(participation, limit=2)
    _participation, turn = factories.go_on(participation.token)
    assert turn.step == Step.ANNOTATION
    return turn


def test_a_participation_from_the_link_to_the_completion_code(client, study):
    landing = client.get(reverse("landing", args=[study.link_code]))
    assert landing.status_code == 200
    assert study.participations.count() == 0
    reply = client.post(reverse("start", args=[study.link_code]))
    participation = study.participations.get()
    work = reverse("work", args=[participation.token])
    assert reply["Location"] == work
    assert participation.seat_number == 1
    assert "consent" in client.get(work).content.decode().lower()
    client.post(reverse("consent", args=[participation.token]), {"agree": "yes"})
    assert not Turn.objects.exists()
    client.post(reverse("begin", args=[participation.token]))
    for _example in range(2):
        turn = participation.latest_turn()
        assert turn.step == Step.TRAINING
        assert submit(client, participation, turn, turn.example.gold)["Location"] == work
        assert participation.latest_turn() == turn
        client.post(reverse("continue", args=[participation.token]), {"leaving": "reveal"})
    for _example in range(4):
        turn = participation.latest_turn()
        assert turn.step == Step.ANNOTATION
        submit(client, participation, turn, turn.example.gold)
    participation.refresh_from_db()
    assert participation.status == Status.COMPLETED
    assert participation.completion_code in client.get(work).content.decode()
    assert Answer.objects.filter(s1=1).count() == 6


def test_zero_shot_workers_have_no_training_step(client, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    participation = factories.seat(study.scenarios.get())
    assert participation.latest_turn().step == Step.ANNOTATION


def test_declining_leaves_nothing_but_a_count(client, study):
    client.post(reverse("start", args=[study.link_code]))
    participation = study.participations.get()
    reply = client.post(reverse("consent", args=[participation.token]), {"agree": "no"})
    assert "one person said no" in client.get(reply.url).content.decode()
    assert not study.participations.exists()
    assert not Worker.objects.exists()
    assert sum(scenario.declined for scenario in study.scenarios.all()) == 1
    reply = client.post(reverse("begin", args=[participation.token]))
    assert reply.status_code == 404
    assert not Turn.objects.exists()


def test_no_example_is_shown_before_consent(client, study):
    client.post(reverse("start", args=[study.link_code]))
    participation = study.participations.get()
    reply = client.post(reverse("begin", args=[participation.token]))
    assert reply.status_code == 409
    assert not Turn.objects.exists()


def test_exposure_to_a_task_is_stored_at_the_first_example(client, study):
    client.post(reverse("start", args=[study.link_code]))
    participation = study.participations.get()
    assert not Exposure.objects.exists()
    client.post(reverse("consent", args=[participation.token]), {"agree": "yes"})
    client.post(reverse("begin", args=[participation.token]))
    assert Exposure.objects.get().task_name == "toy-places"


# The reply table -----------------------------------------------------------------------------


def test_the_first_answer_in_training_is_revealed(client, seat):
    turn = seat.latest_turn()
    reply = submit(client, seat, turn, turn.example.gold, **HTMX)
    assert reply.status_code == 200
    assert Answer.objects.get().turn == turn


def test_a_repeated_equal_answer_stores_no_second_row(client, seat):
    turn = seat.latest_turn()
    first = submit(client, seat, turn, turn.example.gold, **HTMX)
    again = submit(client, seat, turn, turn.example.gold, **HTMX)
    assert (first.status_code, again.status_code) == (200, 200)
    assert Answer.objects.count() == 1


def test_a_second_answer_does_not_change_the_first(client, seat):
    turn = seat.latest_turn()
    submit(client, seat, turn, turn.example.gold, **HTMX)
    before = Answer.objects.get().as_given
    reply = submit(client, seat, turn, ["home"], **HTMX)
    assert reply.status_code == 409
    assert "first answer counts" in reply.content.decode()
    assert Answer.objects.get().as_given == before


def test_in_the_annotation_step_a_second_answer_gets_no_reveal(client, seat):
    turn = to_annotation(seat)
    submit(client, seat, turn, [], **HTMX)
    reply = submit(client, seat, turn, ["home"], **HTMX)
    assert reply.status_code == 409
    assert "already saved" in reply.content.decode()
    assert "data-finding" not in reply.content.decode()


def test_a_repeated_annotation_answer_gets_the_next_example(client, seat):
    turn = to_annotation(seat)
    submit(client, seat, turn, [], **HTMX)
    reply = submit(client, seat, turn, [], **HTMX)
    assert reply.status_code == 200
    assert f'value="{seat.latest_turn().pk}"' in reply.content.decode()
    assert seat.latest_turn().pk != turn.pk


def test_an_invalid_payload_stores_nothing(client, seat):
    turn = seat.latest_turn()
    address = reverse("answer", args=[seat.token])
    for fields in (
        {"answer": "{"},
        {"answer": '{"v":1,"no_answer":false,"spans":[]}'},
        {"typed": "a place that is not there"},
        {"typed": "", "no_answer": ""},
        {"label": "positive"},
        {"answer": OUTSIDE},
    ):
        reply = client.post(address, {"turn": turn.pk, **fields}, **HTMX)
        assert reply.status_code == 422, fields
    assert not Answer.objects.exists()
    assert seat.latest_turn() == turn


def test_invalid_typed_text_stays_in_the_form_escaped(client, seat):
    turn = seat.latest_turn()
    address = reverse("answer", args=[seat.token])
    reply = client.post(address, {"turn": turn.pk, "typed": "<b>nowhere</b>"})
    assert reply.status_code == 422
    assert "&lt;b&gt;nowhere&lt;/b&gt;" in reply.content.decode()
    assert "<b>nowhere" not in reply.content.decode()


def test_an_answer_of_two_megabytes_is_refused(client, seat):
    turn = seat.latest_turn()
    address = reverse("answer", args=[seat.token])
    reply = client.post(address, {"turn": turn.pk, "answer": "x" * 2_000_000}, **HTMX)
    assert reply.status_code == 422
    assert not Answer.objects.exists()


def test_continue_needs_an_answer_and_works_once(client, seat):
    address = reverse("continue", args=[seat.token])
    client.post(address)
    assert seat.turns.count() == 1
    turn = seat.latest_turn()
    submit(client, seat, turn, turn.example.gold)
    client.post(address)
    client.post(address)
    assert seat.turns.count() == 2


def test_words_are_options_only_for_the_script_that_selects_them(client, seat):
    first = page(client, seat)
    assert "<span data-t>" in first
    assert 'role="option"' not in first
    assert 'role="listbox"' not in first


def test_every_get_shows_the_state_and_changes_nothing(client, seat):
    turn = seat.latest_turn()
    first = page(client, seat)
    assert f'value="{turn.pk}"' in first
    assert page(client, seat).count("data-t>") == first.count("data-t>") > 0
    submit(client, seat, turn, turn.example.gold)
    assert "Continue" in page(client, seat)
    assert seat.turns.count() == 1


def test_work_pages_are_never_cached(client, seat):
    reply = client.get(reverse("work", args=[seat.token]))
    assert "no-store" in reply["Cache-Control"]
    assert "HX-Request" in reply["Vary"]


def test_after_the_end_nothing_more_is_recorded(client, seat):
    factories.work_through(seat)
    turn = seat.latest_turn()
    rows = Answer.objects.count()
    reply = submit(client, seat, turn, ["home"])
    assert reply.status_code == 409
    assert Answer.objects.count() == rows


def test_the_server_recomputes_every_text_from_its_own_offsets(client, seat):
    turn = seat.latest_turn()
    text = turn.example.context[0]
    start = text.index("home")
    payload = (
        '{"v":1,"no_answer":false,"spans":[{"field":"context","index":0,'
        f'"start":{start},"end":{start + 4}}}]}}'
    )
    client.post(
        reverse("answer", args=[seat.token]),
        {"turn": turn.pk, "answer": payload, "text": "forged"},
    )
    assert [span.text for span in Answer.objects.get().spans.all()] == ["home"]


def test_label_tasks_are_answered_with_one_of_the_labels(client, researcher):
    task = factories.make_task(name="toy-labels", labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[2])
    seat = factories.seat(study.scenarios.get())
    address = reverse("answer", args=[seat.token])
    turn = seat.latest_turn()
    assert client.post(address, {"turn": turn.pk, "label": "so-so"}).status_code == 422
    assert client.post(address, {"turn": turn.pk}).status_code == 422
    assert client.post(address, {"turn": turn.pk, "label": "positive"}).status_code == 302
    assert Answer.objects.get().label == "positive"


def test_a_submit_of_the_annotation_step_has_at_most_8_queries(
    client, seat, django_assert_max_num_queries
):
    turn = to_annotation(seat)
    fields = {"turn": turn.pk, **factories.fields_for(turn.example, ["home"])}
    with django_assert_max_num_queries(8):
        reply = client.post(reverse("answer", args=[seat.token]), fields, **HTMX)
    assert reply.status_code == 200


@pytest.mark.postgres
def test_a_submit_is_three_statements_on_postgresql(client, seat, django_assert_num_queries):
    """A submit takes the lock, reads the latest turn, and inserts all rows in one message.

    The other three are the test's savepoint, its release, and the next example (not cached yet).
    """
    turn = to_annotation(seat)
    page(client, seat)
    fields = {"turn": turn.pk, **factories.fields_for(turn.example, ["home"])}
    with django_assert_num_queries(6):
        client.post(reverse("answer", args=[seat.token]), fields, **HTMX)
    first, second = seat.turns.order_by("-pk")[:2][::-1]
    assert [span.text for span in first.answer.spans.all()] == ["home"]
    assert (second.position, second.given) == (first.position + 1, None)


def test_a_kept_form_has_nothing_of_another_annotator(researcher):
    in_order = {"shots": [2], "training_order": Study.Order.FILE_ORDER}
    study = factories.make_study(researcher, factories.make_task(), **in_order)
    forms = {}
    for participation in (factories.seat(study.scenarios.get()) for _ in range(2)):
        shown = page(Client(), participation)
        form = shown[shown.index("<form") : shown.index("</form>")]
        key = participation.latest_turn().pk
        places = (f'name="turn" value="{key}"', f'data-key="{key}"')
        own = (participation.token, *places, CSRF.search(form)[1])
        assert [form.count(text) for text in own] == [2, 1, 1, 1]
        for text in own:
            form = form.replace(text, "")
        forms[own] = form
    assert len(forms) == 2
    assert len(set(forms.values())) == 1


def test_the_next_task_is_offered_where_the_study_allows_it(client, researcher):
    tasks = [factories.make_task(), factories.make_task(name="toy-2", labels=factories.LABELS)]
    study = factories.make_study(researcher, *tasks, shots=[0], tasks_per_worker=2)
    client.post(reverse("start", args=[study.link_code]))
    first = study.participations.get()
    client.post(reverse("consent", args=[first.token]), {"agree": "yes"})
    client.post(reverse("begin", args=[first.token]))
    factories.work_through(first)
    reply = client.post(reverse("next_task", args=[first.token]))
    second = study.participations.exclude(pk=first.pk).get()
    assert reply["Location"] == reverse("work", args=[second.token])
    assert second.scenario.task != first.scenario.task
    client.post(reverse("consent", args=[second.token]), {"agree": "yes"})
    client.post(reverse("begin", args=[second.token]))
    factories.work_through(second)
    assert client.post(reverse("next_task", args=[second.token])).status_code == 409
    assert client.post(reverse("start", args=[study.link_code])).status_code == 409


def screened_out(participation):
    Participation.objects.filter(pk=participation.pk).update(
        status=Status.SCREENED_OUT, seat_number=None
    )


@pytest.mark.parametrize(
    "leave", [lambda one: withdrawal.withdraw(one.token), screened_out], ids=["withdrew", "out"]
)
def test_no_next_task_after_withdrawal_or_screening_out(client, researcher, leave):
    tasks = [factories.make_task(), factories.make_task(name="toy-2", labels=factories.LABELS)]
    study = factories.make_study(researcher, *tasks, shots=[0], tasks_per_worker=2)
    client.post(reverse("start", args=[study.link_code]))
    first = study.participations.get()
    client.post(reverse("consent", args=[first.token]), {"agree": "yes"})
    client.post(reverse("begin", args=[first.token]))
    leave(first)
    assert client.post(reverse("next_task", args=[first.token])).status_code == 409
    assert "<button" not in client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert client.post(reverse("start", args=[study.link_code])).status_code == 409
    assert study.participations.count() == 1


def test_a_known_exposure_ends_the_seat_at_the_first_example(study):
    participation = factories.join(study, identity="ida")
    Exposure.objects.create(worker_key=worker_key("link", "ida"), task_name="toy-places")
    consent.record(participation, agree=True)
    training_step.begin(participation.token)
    participation.refresh_from_db()
    assert (participation.status, participation.seat_number) == ("refused", None)
    assert not Turn.objects.exists()
