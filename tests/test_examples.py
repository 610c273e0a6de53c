"""Pages of examples: the hardest first, and every answer to one of them."""

import pytest
from django.urls import reverse

from analysis.views_examples import hardest
from annotation.models import Kind
from tests import factories


@pytest.fixture
def study(researcher):
    """One always right, one always "no answer", at 0 and at 2 shots."""
    study = factories.make_study(researcher, factories.make_task(), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return study


@pytest.fixture
def ada(client, researcher):
    client.force_login(researcher)
    return client


def test_the_hardest_come_first_with_their_means_by_shots(study):
    task = study.tasks.get()
    rows = hardest(study, task, Kind.PERSON)
    golds = {e.pk: e.gold for e in task.test_split.examples.all()}
    # Two of the four examples have no answer: all four annotators are right there.
    assert [bool(golds[row["example"]]) for row in rows] == [True, True, False, False]
    assert [row["mean"] for row in rows] == [50, 50, 100, 100]
    assert rows[0]["by_shots"] == [50, 50]
    assert rows[0]["n"] == 4
    assert rows[0]["pairwise_s1"] == pytest.approx(100 / 3)


def test_the_list_leads_to_each_example(ada, study):
    page = ada.get(reverse("examples", args=[study.name])).content.decode()
    for example in study.tasks.get().test_split.examples.all():
        assert reverse("example", args=[study.name, example.pk]) in page
    assert ada.get(reverse("examples", args=[study.name]), {"task": "none"}).status_code == 404
    assert ada.get(reverse("examples", args=[study.name]), {"kind": "none"}).status_code == 404


def test_an_example_shows_every_answer_beside_the_gold(ada, study):
    example = study.tasks.get().test_split.examples.get(position=1)
    page = ada.get(reverse("example", args=[study.name, example.pk])).content.decode()
    assert page.count('class="answered"') == 4
    assert page.count("Chose “no answer”") == 2
    assert page.count("S1 100.0") == 2
    for participation in study.participations.all():
        assert participation.pseudonym in page


def test_training_examples_and_those_of_others_are_not_found(client, ada, study, other_researcher):
    task = study.tasks.get()
    training = task.train_split(2, 1).examples.first()
    test = task.test_split.examples.first()
    assert ada.get(reverse("example", args=[study.name, training.pk])).status_code == 404
    client.force_login(other_researcher)
    assert client.get(reverse("example", args=[study.name, test.pk])).status_code == 404
    assert client.get(reverse("examples", args=[study.name])).status_code == 404


def test_a_study_without_answers_says_so(ada, researcher):
    empty = factories.make_study(researcher, factories.make_task())
    page = ada.get(reverse("examples", args=[empty.name])).content.decode()
    assert "Nobody has completed" in page
