"""Participation by a program that uses only the client's connection."""

import pytest
from handful import ApiError
from seats import answer, go_through, join


@pytest.fixture
def link(client):
    return client.studies["pilot"].link


def test_a_participation_goes_from_consent_to_its_end(served, link):
    seat, state = join(served[0], link)
    with seat:
        steps = go_through(seat, state)
        assert steps[:2] == ["consent", "instructions"]
        assert steps[-1] == "finished"
        told = seat.get("work/history/")["answered"]
        assert len(told) == steps.count("question")


def begin(seat):
    seat.post("work/consent/", {"agree": True})
    return seat.post("work/begin/")


def test_an_equal_answer_counts_once_and_another_is_refused(served, link):
    seat, _state = join(served[0], link)
    with seat:
        question = begin(seat)
        labels = [label["name"] for label in question["task"]["labels"]]
        first, other = (
            ({"label": labels[0]}, {"label": labels[1]})
            if labels
            else ({"no_answer": True}, {"spans": [{"segment": 0, "start": 0, "end": 1}]})
        )
        after = answer(seat, question, **first)
        assert answer(seat, question, **first)["step"] == after["step"]
        with pytest.raises(ApiError) as refused:
            answer(seat, question, **other)
        assert refused.value.status in (409, 422)
        assert seat.post("work/withdraw/")["step"] == "gone"


def test_confidence_follows_an_answer_and_precedes_its_reveal(client):
    design = {
        "name": "how-sure", "tasks": ["demo-sentiment"], "shots": [10], "annotators": 1,
        "splits": [1], "confidence_share": 1, "asks_reasons": True, "programs_as_people": True,
        "estimated_minutes": 10,
    }  # fmt: skip
    study = client.studies.create(design).open()
    seat, _state = join(client.connection.server, study.link)

    def rate(question, confidence=None, reason=""):
        rating = {"turn": question["turn"], "confidence": confidence, "reason": reason}
        return seat.post("work/confidence/", rating)

    with seat:
        state = begin(seat)
        for rating in ({"confidence": 4, "reason": "A clear word."}, {"confidence": 1}, {}):
            question = state["question"]
            answered = answer(seat, state, label="positive")
            assert answered["step"] == "confidence"
            assert "reveal" not in answered
            with pytest.raises(ApiError) as refused:
                rate(question, 6)
            assert refused.value.status == 422
            assert "reveal" in rate(question, **rating)
            assert rate(question, **rating)["step"] == "reveal"  # a repeated request counts once
            state = seat.post("work/continue/", {"leaving": "reveal"})
    told = [(row["confidence"], row["reason"]) for row in study.answers() if row["confidence"]]
    assert told == [(4, "A clear word."), (1, "")]


def test_an_unknown_link_is_refused(served):
    with pytest.raises(ApiError) as refused:
        join(served[0], "unknown")
    assert refused.value.status == 404


def test_a_program_gets_no_persons_seat_unless_allowed(client):
    design = {"name": "people-only", "tasks": ["demo-sentiment"], "shots": [0], "annotators": 1}
    study = client.studies.create(design).open()
    with pytest.raises(ApiError) as refused:
        join(client.connection.server, study.link)
    assert (refused.value.status, refused.value.code) == (403, "people_use_pages")
    assert list(study.participations()) == []
