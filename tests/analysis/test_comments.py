"""Comments of a team on an example: on its page, with author and time, and never changed."""

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse

from annotation.models import ExampleComment
from annotation.study import comments
from tests import factories

HOSTILE = '<script>alert("gold")</script>'


@pytest.fixture
def study(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    return study


@pytest.fixture
def example(study):
    return study.tasks.get().test_split.examples.first()


def send(client, study, example, text: str):
    address = reverse("example_comment", args=[study.name, example.pk])
    return client.post(address, {"text": text})


def page(client, study, example) -> str:
    return client.get(reverse("example", args=[study.name, example.pk])).content.decode()


def test_a_comment_stands_escaped_on_the_page_with_author_and_time(ada, study, example):
    assert send(ada, study, example, HOSTILE).status_code == 302
    (comment,) = comments.on(study, example)
    shown = page(ada, study, example)
    assert HOSTILE not in shown
    assert "&lt;script&gt;alert(&quot;gold&quot;)" in shown
    assert "<strong>ada</strong>" in shown
    assert f"{comment.at:%Y-%m-%d %H:%M} UTC" in shown
    other = study.tasks.get().test_split.examples.last()
    assert "Nobody of the team" in page(ada, study, other)


def test_another_study_of_the_same_task_does_not_show_it(ada, researcher, study, example):
    send(ada, study, example, "Two golds?")
    other = factories.make_study(researcher, study.tasks.get(), shots=[0], name="other")
    assert "Two golds?" not in page(ada, other, example)


@pytest.mark.parametrize(
    ("text", "words"), [("  ", "Write something."), ("x" * 2001, "at most 2000")]
)
def test_an_empty_or_endless_comment_is_refused_at_its_field(ada, study, example, text, words):
    reply = send(ada, study, example, text)
    assert reply.status_code == 422
    assert words in reply.content.decode()
    assert not ExampleComment.objects.exists()


def test_who_may_not_read_results_neither_reads_nor_writes(client, study, example):
    payer = type(study.owner).objects.create_user("carol")
    study.members.create(user=payer, role="payer")
    client.force_login(payer)
    assert send(client, study, example, "Hello").status_code == 403
    assert not ExampleComment.objects.exists()


def test_an_example_of_training_or_of_another_task_has_no_comments(ada, study, researcher):
    training = study.tasks.get().train_split(2, 1).examples.first()
    foreign = factories.make_task(name="other").test_split.examples.first()
    for wrong in (training, foreign):
        assert send(ada, study, wrong, "Hello").status_code == 404


@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_database_keeps_a_comment_as_it_was(study, example, change):
    comments.add(study, example, "Two golds?", study.owner)
    stored = ExampleComment.objects.all()
    with pytest.raises(DatabaseError), transaction.atomic():
        stored.update(text="never said") if change == "update" else stored._raw_delete("default")
    assert stored.get().text == "Two golds?"


def test_a_program_reads_and_writes_the_same(client, study, example):
    headers = factories.bearer(study.owner, "read", "run")
    address = reverse("api_comments", args=[study.name, example.pk])
    reply = client.post(address, {"text": "Two golds?"}, "application/json", headers=headers)
    assert reply.status_code == 201
    (row,) = client.get(address, headers=headers).json()["results"]
    assert (row["text"], row["by"]) == ("Two golds?", "ada")


def test_comments_wait_with_the_results_they_stand_beside(ada, researcher, study, example):
    hidden = factories.make_study(
        researcher, study.tasks.get(), shots=[0], name="hidden", hide_test_scores=True
    )
    factories.join(hidden)
    assert send(ada, hidden, example, "Hello").status_code == 403
