"""Every answer type works from the question through storage to the reveal."""

import re

import pytest
from django.urls import reverse
from lxml import html

from annotation.models import Answer, AnswerSpan, Draft, Step
from annotation.participation.turn import TurnPage
from annotation.simulation import simulated_annotators
from tasks import answers
from tests import factories

pytestmark = pytest.mark.django_db

KINDS = [*factories.KINDS]
BESIDE = [kind for kind in KINDS if kind not in ("spans", "typed")]


@pytest.fixture(params=KINDS)
def seat(request, researcher):
    """A participant at the first example of a task with this answer type."""
    study = factories.make_study(researcher, factories.make_kind(request.param), shots=[2])
    return factories.seat(study.scenarios.get())


def send(client, seat, fields, **headers):
    turn = {"turn": seat.latest_turn().pk}
    return client.post(reverse("answer", args=[seat.token]), {**turn, **fields}, **headers)


def wrong(seat):
    example = seat.latest_turn().example
    return factories.fields_for(example, factories.wrong_texts(example))


def right(seat):
    example = seat.latest_turn().example
    return factories.fields_for(example, factories.right_texts(example))


def test_the_form_works_without_javascript(client, seat):
    page = html.fromstring(client.get(reverse("work", args=[seat.token])).content)
    (form,) = page.xpath("//form[@data-main]")
    fields = {*form.fields, *form.xpath(".//@name")}
    assert {name for name in right(seat) if name != "answer"} <= fields
    assert form.xpath(".//button[@data-submit]")
    ids = {*page.xpath("//@id")}
    named = " ".join(form.xpath(".//@aria-describedby | .//@aria-labelledby")).split()
    assert set(named) <= ids


def test_a_kept_form_is_what_its_template_makes_of_the_page(client, seat, monkeypatch):
    def form() -> str:
        page = client.get(reverse("work", args=[seat.token])).content.decode()
        found = page[page.index("<form") : page.index("</form>")]
        return re.sub(r'(name="csrfmiddlewaretoken" value=)"\w+"', r"\1", found)

    kept = form()
    monkeypatch.setattr(TurnPage, "form", lambda self, csrf_token: "")
    assert kept == form()


@pytest.mark.long
def test_an_answer_is_stored_once_and_revealed(client, seat):
    reply = send(client, seat, wrong(seat), HTTP_HX_REQUEST="true")
    assert reply.status_code == 200
    assert 'data-state="reveal"' in reply.content.decode()
    (answer,) = Answer.objects.all()
    assert answer.s1 < 1
    texts = factories.wrong_texts(answer.turn.example)
    assert answer.as_given.texts == texts
    for text in [*texts, *answer.turn.example.gold[:1]]:
        assert text in html.fromstring(reply.content).text_content()
    again = send(client, seat, wrong(seat), HTTP_HX_REQUEST="true")
    assert again.status_code == 200
    other = send(client, seat, right(seat), HTTP_HX_REQUEST="true")
    assert other.status_code == 409
    assert Answer.objects.count() == 1


def test_a_right_answer_scores_1_and_is_shown_as_right(client, seat):
    reply = send(client, seat, right(seat), HTTP_HX_REQUEST="true")
    assert Answer.objects.get().s1 == 1
    assert 'data-verdict="right"' in reply.content.decode()


def test_an_invalid_answer_is_refused_and_stays_in_the_form(client, seat):
    bad = {"label": "x", "option": "99", "option-99": "1", "number": "1,5", "text": "x" * 5000}
    bad |= {"typed": "y" * 1001}
    reply = send(client, seat, bad, HTTP_HX_REQUEST="true")
    assert reply.status_code == 422
    page = html.fromstring(reply.content)
    assert page.xpath("string(//*[@data-error])").strip().endswith(".")
    assert not Answer.objects.exists()
    assert not AnswerSpan.objects.exists()
    kept = page.xpath("//input[@type='text']/@value | //textarea/text()")
    if page.xpath("//*[@name='number' or @name='text']"):
        assert kept[0].strip() in (bad["number"], bad["text"])


def test_an_empty_form_is_refused(client, seat):
    assert send(client, seat, {}).status_code == 422
    assert not Answer.objects.exists()


@pytest.mark.long
def test_annotation_reveals_nothing_and_refuses_a_late_answer(client, seat):
    for _example in range(2):
        send(client, seat, wrong(seat))
        factories.go_on(seat.token)
    asked, fields = seat.latest_turn(), wrong(seat)
    assert asked.step == Step.ANNOTATION
    other = right(seat)
    reply = send(client, seat, fields, HTTP_HX_REQUEST="true")
    assert 'data-state="question"' in reply.content.decode()
    address = reverse("answer", args=[seat.token])
    late = {"turn": asked.pk, **other}
    again = client.post(address, late, HTTP_HX_REQUEST="true")
    assert again.status_code == 409
    assert "data-verdict" not in again.content.decode()
    assert f'data-key="{seat.latest_turn().pk}"' in again.content.decode()
    assert Answer.objects.get(turn=asked).s1 < 1
    assert Answer.objects.count() == 3


def test_a_draft_is_stored_and_deleted_with_the_answer(client, seat):
    turn = seat.latest_turn()
    sent = {"turn": turn.pk, "draft": '{"fields": {"text": "half"}}'}
    assert client.post(reverse("draft", args=[seat.token]), sent).status_code == 204
    assert "half" in client.get(reverse("work", args=[seat.token])).content.decode()
    send(client, seat, right(seat))
    assert not Draft.objects.exists()


@pytest.mark.long
def test_a_participation_ends_and_researchers_see_the_answers(client, seat, researcher):
    send(client, seat, wrong(seat))
    factories.work_through(seat)
    seat.refresh_from_db()
    assert seat.status == "completed"
    client.force_login(researcher)
    address = reverse("participation", args=[seat.study.name, seat.pseudonym])
    shown = re.sub(r"\s+", " ", html.fromstring(client.get(address).content).text_content())
    answers = Answer.objects.select_related("turn__example").prefetch_related("spans")
    for answer in answers:
        for text in answer.as_given.texts:
            assert text in shown
    tested = answers.filter(turn__step=Step.ANNOTATION).first()
    page = client.get(reverse("example", args=[seat.study.name, tested.turn.example_id]))
    assert page.status_code == 200
    shown = html.fromstring(page.content).text_content()
    assert all(text in shown for text in tested.as_given.texts)


@pytest.mark.long
@pytest.mark.parametrize("policy", ["gold", "empty", "majority", "random", "noisy:0.5"])
def test_simulated_annotators_of_every_policy_answer_every_kind(researcher, policy):
    tasks = [factories.make_kind(kind) for kind in KINDS]
    study = factories.make_study(researcher, *tasks, shots=[2], annotators=1, rehearsal=True)
    knowledge = simulated_annotators.Knowledge(study)
    address = reverse("landing", args=[study.simulated_link_code])
    for number in range(len(tasks)):
        walk = simulated_annotators.walk(
            simulated_annotators.InProcess(), address, policy, knowledge, f"seed {number}"
        )
        assert len(list(walk)) == 6
    if policy == "gold":
        assert set(Answer.objects.values_list("s1", flat=True)) == {1.0}


def test_a_submit_has_at_most_8_queries_for_every_kind(client, seat, django_assert_max_num_queries):
    """This is for the annotation step, with the request that the page sends."""
    factories.work_through(seat, limit=2)
    factories.go_on(seat.token)
    fields = {"turn": seat.latest_turn().pk, **right(seat)}
    assert seat.latest_turn().step == Step.ANNOTATION
    with django_assert_max_num_queries(8):
        reply = client.post(
            reverse("answer", args=[seat.token]), fields, headers={"HX-Request": "true"}
        )
    assert reply.status_code == 200


def test_a_page_loads_scripts_and_styles_of_its_kind_only(client, seat):
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    own = seat.scenario.task.card.kind
    others = {kind.element for kind in answers.KINDS.values()} - {own.element}
    assert f"js/{own.element}." in page
    assert [element for element in others if f"js/{element}." in page] == []
    assert "css/panel." not in page or own.template == answers.Kind.template
