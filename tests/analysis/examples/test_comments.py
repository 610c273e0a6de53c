"""A team's comments on an example: shown on its page with author and time, and never changed."""

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse

from analysis.examples import gold_audit
from annotation.models import ExampleComment
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


def send(client, study, example, text: str, **fields: str):
    address = reverse("example_comment", args=[study.name, example.pk])
    return client.post(address, {"text": text, **fields})


def page(client, study, example) -> str:
    return client.get(reverse("example", args=[study.name, example.pk])).content.decode()


def test_a_comment_is_shown_escaped_with_author_and_time(ada, study, example):
    assert send(ada, study, example, HOSTILE).status_code == 302
    (comment,) = gold_audit.on(study, example)
    shown = page(ada, study, example)
    assert HOSTILE not in shown
    assert "&lt;script&gt;alert(&quot;gold&quot;)" in shown
    assert "<strong>ada</strong>" in shown
    assert f"{comment.at:%Y-%m-%d %H:%M} UTC" in shown
    other = study.tasks.get().test_split.examples.last()
    assert "No comments yet" in page(ada, study, other)


@pytest.mark.long
def test_a_comment_is_not_shown_in_another_study_of_the_task(ada, researcher, study, example):
    send(ada, study, example, "Two golds?")
    other = factories.make_study(researcher, study.tasks.get(), shots=[0], name="other")
    assert "Two golds?" not in page(ada, other, example)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "words"), [("  ", "Enter a comment."), ("x" * 2001, "at most 2000")]
)
def test_an_empty_or_endless_comment_is_refused_at_its_field(ada, study, example, text, words):
    reply = send(ada, study, example, text)
    assert reply.status_code == 422
    assert words in reply.content.decode()
    assert not ExampleComment.objects.exists()


def test_a_member_without_results_access_cannot_comment(client, study, example):
    payer = type(study.owner).objects.create_user("carol")
    study.members.create(user=payer, role="payer")
    client.force_login(payer)
    assert send(client, study, example, "Hello").status_code == 403
    assert not ExampleComment.objects.exists()


def test_a_training_or_foreign_example_cannot_have_comments(ada, study, researcher):
    training = study.tasks.get().train_split(2, 1).examples.first()
    foreign = factories.make_task(name="other").test_split.examples.first()
    for wrong in (training, foreign):
        assert send(ada, study, wrong, "Hello").status_code == 404


def listed(client, study, name: str, **query: str) -> str:
    return client.get(reverse(name, args=[study.name], query=query), follow=True).content.decode()


@pytest.mark.long
def test_a_gold_marked_as_wrong_is_listed_until_marked_as_right(ada, study, example):
    assert "No gold answers have been marked as wrong." in listed(ada, study, "gold_audit")
    send(ada, study, example, f"It is the second place. {HOSTILE}", gold="wrong")
    send(ada, study, example, "I agree.")  # gives no opinion on the gold
    score = study.participations.get().turns.get(example=example).answer.s1
    audit = listed(ada, study, "gold_audit")
    assert "It is the second place. &lt;script&gt;" in audit
    assert reverse("example", args=[study.name, example.pk]) in audit
    shown = page(ada, study, example)
    assert "Marked as wrong by ada." in shown
    assert "gold:\n    <strong>wrong</strong>" in shown
    every = listed(ada, study, "examples", kind="person")
    assert every.count("gold answer marked as wrong") == 1
    other = reverse("example", args=[study.name, study.tasks.get().test_split.examples.last().pk])
    rows = listed(ada, study, "examples", kind="person", show="gold-wrong")
    assert (other in every, other in rows) == (True, False)
    assert reverse("example", args=[study.name, example.pk]) in rows
    send(ada, study, example, "No: see the second sentence.", gold="right")
    assert gold_audit.wrong_golds(study) == {}
    assert "No gold answers have been marked as wrong." in listed(ada, study, "gold_audit")
    assert "Marked as wrong by" not in page(ada, study, example)
    assert study.participations.get().turns.get(example=example).answer.s1 == score


def test_an_unknown_opinion_on_a_gold_is_refused_at_its_field(ada, study, example):
    reply = send(ada, study, example, "Hm.", gold="maybe")
    assert reply.status_code == 422
    assert "maybe is not one of the available choices" in reply.content.decode()
    assert not ExampleComment.objects.exists()


@pytest.mark.long
@pytest.mark.parametrize("change", ["update", "delete"])
def test_the_database_refuses_changes_to_a_comment(study, example, change):
    gold_audit.add(study, example, "Two golds?", study.owner)
    stored = ExampleComment.objects.all()
    with pytest.raises(DatabaseError), transaction.atomic():
        stored.update(text="never said") if change == "update" else stored._raw_delete("default")
    assert stored.get().text == "Two golds?"


def test_a_program_reads_and_writes_comments_by_the_api(client, study, example):
    headers = factories.bearer(study.owner, "read", "run")
    address = reverse("api_comments", args=[study.name, example.pk])
    reply = client.post(address, {"text": "Two golds?"}, "application/json", headers=headers)
    assert reply.status_code == 201
    (row,) = client.get(address, headers=headers).json()["results"]
    assert (row["text"], row["gold"], row["by"]) == ("Two golds?", "", "ada")
    marked = {"text": "It is the other one.", "gold": "wrong"}
    assert client.post(address, marked, "application/json", headers=headers).status_code == 201
    assert client.get(address, headers=headers).json()["results"][1]["gold"] == "wrong"
    assert set(gold_audit.wrong_golds(study)) == {example.pk}


def test_comments_are_hidden_while_test_scores_are_hidden(ada, researcher, study, example):
    hidden = factories.make_study(
        researcher, study.tasks.get(), shots=[0], name="hidden", hide_test_scores=True
    )
    factories.join(hidden)
    assert send(ada, hidden, example, "Hello").status_code == 403
