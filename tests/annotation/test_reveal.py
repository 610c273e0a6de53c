"""The reveal over HTTP: its words, and that it names no gold of a question still open."""

import pytest
from django.urls import reverse

from annotation.steps import answering, training_step
from tasks.formats import Record
from tests import factories

KINDS = [
    {"match": f"List the {name}", "name": name, "wording": f"Which {name} are named?",
     "definition": f"All that are {name}.", "example": "None."}
    for name in ("people", "places")
]  # fmt: skip
TEXT = "Ann Lee went to Oslo with Bo."
GOLD = {"people": ("Ann Lee", "Bo"), "places": ("Oslo",)}


def rows(prefix: str, text: str = TEXT) -> list[Record]:
    """Both questions on one text."""
    return [
        Record(f"{prefix}-{name}", (text,), f"List the {name}", gold) for name, gold in GOLD.items()
    ]


@pytest.fixture
def names(researcher):
    """Takes the file of one shot and the test file; a seat at the question for people."""

    def put(train, test):
        task = factories.make_task(question_types=KINDS, train={1: train}, test=test)
        study = factories.make_study(researcher, task, shots=[1], training_order="file_order")
        return factories.seat(study.scenarios.get())

    return put


def answer(client, seat, texts) -> str:
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, texts)
    address = reverse("answer", args=[seat.token])
    reply = client.post(address, {"turn": turn.pk, **fields}, HTTP_HX_REQUEST="true")
    return " ".join(reply.content.decode().split())


OTHER = [Record("t", ("Kim saw Rome.",), "List the people", ("Kim",))]


def test_that_a_name_is_of_another_kind_is_said_once_all_questions_on_it_are_answered(
    client, names
):
    seat = names(rows("train"), OTHER)
    first = answer(client, seat, ["Ann Lee", "Oslo"])
    assert 'data-finding="extra"' in first
    assert "wrong kind" not in first
    training_step.go_on(seat.token)
    last = answer(client, seat, ["Oslo", "Bo"])
    assert 'data-finding="other_kind"' in last
    assert "They belong to <strong>people</strong>" in last


def test_a_question_on_the_same_text_in_the_annotation_step_keeps_its_gold(client, names):
    train = [*rows("train")[1:], Record("x", ("Bo slept.",), "List the people", ("Bo",))]
    seat = names(train, rows("test")[:1])
    reply = answer(client, seat, ["Oslo", "Bo"])
    assert 'data-finding="extra"' in reply
    assert "wrong kind" not in reply


def test_the_annotation_step_names_no_kind(client, names):
    seat = names(rows("train"), OTHER)
    for texts in (["Ann Lee"], ["Bo"]):
        answer(client, seat, texts)
        training_step.go_on(seat.token)
    turn = seat.latest_turn()
    answering.submit(seat.token, turn.pk, factories.fields_for(turn.example, ["Rome"]))
    with pytest.raises(ValueError, match="training step"):
        training_step.reveal(turn)
    html = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "data-finding" not in html


@pytest.mark.parametrize(
    ("texts", "headline", "score"),
    [
        (["Ann Lee", "Bo"], "Right", 100),
        (["Ann Lee"], "Partly right", 67),
        (["Ann"], "Not right", 0),
    ],
)
def test_the_headline_follows_the_score(client, names, texts, headline, score):
    reply = answer(client, names(rows("train"), OTHER), texts)
    assert f"</span> {headline} <small>Score {score} of 100</small>" in reply
    assert ("All that are people." in reply.split("data-finding")[-1].split("turn-help")[0]) == (
        score < 100
    )


def test_the_meaning_of_the_right_label_stands_beside_another_one(client, researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[2], training_order="file_order")
    reply = answer(client, factories.seat(study.scenarios.get()), ["positive"])
    verdict = reply.split("turn-columns")[0]
    assert "You chose" in verdict
    assert "The writer dislikes it." in verdict
    assert "The writer likes it." not in verdict
