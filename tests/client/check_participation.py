"""Participation by a program that uses only the client."""

import pytest
from handful import ApiError, Participation


@pytest.fixture
def link(client):
    return client.studies["pilot"].link


def go_through(seat):
    """Complete every step; return the steps in order."""
    steps = []
    for _step in range(2000):
        steps.append(seat.step)
        if seat.step == "consent":
            seat.consent()
        elif seat.step == "instructions":
            seat.begin() if seat.state["leads_to"] == "begin" else seat.go_on()
        elif seat.step == "question":
            labels = [label["name"] for label in seat.state["task"]["labels"]]
            seat.answer(**({"label": labels[0]} if labels else {"no_answer": True}))
        elif seat.step in ("reveal", "review"):
            seat.go_on()
        else:
            return steps
    raise AssertionError("it does not end")


def test_a_participation_goes_from_consent_to_its_end(served, link):
    with Participation.join(served[0], link) as seat:
        steps = go_through(seat)
        assert steps[:2] == ["consent", "instructions"]
        assert steps[-1] == "finished"
        told = seat.history()["answered"]
        assert len(told) == steps.count("question")


def test_an_equal_answer_counts_once_and_another_is_refused(served, link):
    with Participation.join(served[0], link) as seat:
        seat.consent()
        seat.begin()
        question = dict(seat.state)
        labels = [label["name"] for label in seat.state["task"]["labels"]]
        first, other = (
            ({"label": labels[0]}, {"label": labels[1]})
            if labels
            else ({"no_answer": True}, {"spans": [{"segment": 0, "start": 0, "end": 1}]})
        )
        after = seat.answer(**first)
        seat.state = question
        assert seat.answer(**first)["step"] == after["step"]
        seat.state = question
        with pytest.raises(ApiError) as refused:
            seat.answer(**other)
        assert refused.value.status in (409, 422)
        assert seat.withdraw()["step"] == "gone"


def test_confidence_follows_an_answer_and_precedes_its_reveal(client):
    design = {
        "name": "how-sure", "tasks": ["demo-sentiment"], "shots": [10], "annotators": 1,
        "splits": [1], "confidence_share": 1, "asks_reasons": True, "programs_as_people": True,
        "estimated_minutes": 10,
    }  # fmt: skip
    study = client.studies.create(design).open()
    with Participation.join(client.connection.server, study.link) as seat:
        seat.consent()
        seat.begin()
        for rating in ({"point": 4, "reason": "A clear word."}, {"point": 1}, {}):
            answered = seat.answer(label="positive")
            assert seat.step == "confidence"
            assert "reveal" not in answered
            with pytest.raises(ApiError) as refused:
                seat.confidence(6)
            assert refused.value.status == 422
            seat.state = answered
            assert "reveal" in seat.confidence(**rating)
            seat.state = answered  # a repeated call counts once
            assert seat.confidence(**rating)["step"] == "reveal"
            seat.go_on()
    told = [(row["confidence"], row["reason"]) for row in study.answers() if row["confidence"]]
    assert told == [(4, "A clear word."), (1, "")]


def test_an_unknown_link_is_refused(served):
    with pytest.raises(ApiError) as refused:
        Participation.join(served[0], "unknown")
    assert refused.value.status == 404


def test_a_program_gets_no_persons_seat_unless_allowed(client):
    design = {"name": "people-only", "tasks": ["demo-sentiment"], "shots": [0], "annotators": 1}
    study = client.studies.create(design).open()
    with pytest.raises(ApiError) as refused:
        Participation.join(client.connection.server, study.link)
    assert (refused.value.status, refused.value.code) == (403, "people_use_pages")
    assert list(study.participations()) == []
