"""One annotator's page shows the answers, and links to the next annotator."""

from dataclasses import replace

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.protocol import blinding
from tests import factories


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=5)


@pytest.fixture
def seats(study):
    """At two shots, three annotators with right answers and one who always says "no answer"."""
    two = study.scenarios.get(shots=2)
    seats = [factories.seat(two) for _ in range(4)]
    for number, seat in enumerate(seats):
        factories.work_through(seat, None if number < 3 else lambda turn: [])
    return seats


def address(study, seat) -> str:
    return reverse("participation", args=[study.name, seat.pseudonym])


@pytest.mark.parametrize("is_same", [True, False])
def test_a_question_of_all_answers_is_stated_once(ada, researcher, is_same):
    records = factories.place_records("test", 3)
    if not is_same:
        records[1] = replace(records[1], question="Which towns are named?")
    study = factories.make_study(researcher, factories.make_task(test=records), shots=[0])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    page = fromstring(ada.get(address(study, seat)).content)
    table = page.find_class("table-given")[0]
    stated = (
        "All of these examples ask the same question: Which places are named?"
        in page.text_content()
    )
    headed = "Question" in [head.text_content() for head in table.xpath(".//thead//th")]
    said = table.text_content().count("Which places are named?")
    assert (stated, headed, said) == ((True, False, 0) if is_same else (False, True, 2))
    assert {len(row) for row in table.iter("tr")} == {7 if is_same else 8}


@pytest.mark.long
def test_wrong_only_filters_answers_once_the_score_may_be_seen(ada, study, seats):
    def answers(query: str = "?show=wrong") -> int:
        return len(ada.get(address(study, seats[3]) + query).context["rows"])

    # While the score is hidden, the page must not reveal which answers are wrong.
    assert answers() == 0
    blinding.show(seats[3], study.owner)
    wrong = seats[3].turns.filter(answer__s1__lt=1).count()
    assert 0 < wrong < answers("")
    assert answers() == wrong


def test_a_payer_does_not_see_wrong_answers(client, study, seats, other_researcher):
    study.members.create(user=other_researcher, role="payer")
    client.force_login(other_researcher)
    assert client.get(address(study, seats[3]) + "?show=wrong").context["rows"] == []


@pytest.mark.long
def test_next_and_previous_walk_the_list_of_people(ada, study, seats):
    people = ada.get(reverse("people", args=[study.name])).context["participations"]
    order = [row["participation"].pseudonym for row in people]
    walked, name = [], order[0]
    while name:
        walked.append(name)
        reply = ada.get(reverse("participation", args=[study.name, name]))
        name = reply.context["neighbours"][1]
    assert walked == order
    assert ada.get(address(study, seats[0])).context["neighbours"][0] == order[-2]
