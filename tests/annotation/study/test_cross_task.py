"""In cross-task studies, some arms train on upstream tasks before the unseen task."""

import json
import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from analysis.cross_task.cross_task import published_for
from annotation.models import ArmTaken, Exposure, Kind, Scenario, Step, Study, Turn, UpstreamExample
from annotation.monitoring import funnel
from annotation.privacy import withdrawal
from annotation.protocol import training_step
from annotation.recruitment import consent, seats
from annotation.recruitment.identities import worker_key
from annotation.recruitment.join_errors import RecruitmentError, refusal
from annotation.simulation.policies import Knowledge
from annotation.simulation.simulated_annotators import InProcess, walk
from annotation.study import cross_task, design, lifecycle, minutes
from tasks.formats import Record
from tests import factories


def records(prefix: str, number: int) -> list[Record]:
    return [
        Record(
            id=f"{prefix}-{index}",
            context=(f"{prefix} {index}: all in all it was {'good' if index % 2 else 'bad'}.",),
            question="positive or negative?",
            gold=("positive" if index % 2 else "negative",),
            gold_starts=None,
        )
        for index in range(number)
    ]


def label_task(name: str, train: int = 8, splits: int = 1, smaller=(), **card):
    return factories.make_task(
        name=name,
        title=f"Title of {name}",
        instructions=f"Instructions of {name}.",
        description=f"Description of {name}.",
        labels=factories.LABELS,
        train={k: records(f"{name} train", k) for k in (train, *smaller)},
        test=records(f"{name} test", 6),
        splits=splits,
        **card,
    )


def make_cross_task(
    owner,
    splits=(1,),
    targets=("unseen-a", "unseen-b"),
    more_upstream=(),
    metrics=("S1", "S1"),
    ontology=None,
    smaller=(),
    **fields,
) -> Study:
    unseen = [
        label_task(name, 4, splits=max(splits), smaller=smaller, metric=metric, ontology=ontology)
        for name, metric in zip(targets, metrics, strict=False)
    ]
    upstream = [label_task(name, ontology=ontology) for name in ("up-one", "up-two")]
    study = Study(
        owner=owner,
        **{
            "name": "cross", "title": "Reading", "shots": [4], "splits": list(splits),
            "annotators": 2, "seed": 7, "upstream_examples": 3, "sham_task": label_task("sham"),
            "max_paid_hours": 2, "budget": 9000, "hide_test_scores": False, **fields,
        },
    )  # fmt: skip
    design.save_draft(study, unseen, upstream=[*upstream, *more_upstream])
    return study


@pytest.fixture
def study(researcher, db):
    study = make_cross_task(researcher)
    lifecycle.change_status(study, "open")
    return study


def arrive(study, name: str):
    participation = seats.join(study.pk, worker_key("link", name), "link", Kind.PERSON)
    consent.record(participation, agree=True)
    training_step.begin(participation.token)
    participation.refresh_from_db()
    return participation


def in_arm(study, arm: str):
    return next(
        person
        for number in range(12)
        if (person := arrive(study, f"{arm}-{number}")).scenario.arm == arm
    )


@pytest.mark.long
@pytest.mark.engines
def test_arms_are_scenarios_that_fill_evenly(study):
    assert study.scenarios.count() == 2 * 3
    people = [arrive(study, f"p{number}") for number in range(12)]
    assert set(Counter(person.scenario_id for person in people).values()) == {2}
    for row in study.allocations.all():
        assert seats.choose(study.seed, row.arrival, row.candidates) == row.scenario_id


@pytest.mark.long
@pytest.mark.parametrize("arm", ["upstream", "sham", "direct"])
def test_the_step_before_the_unseen_task_depends_on_the_arm(study, arm):
    person = in_arm(study, arm)
    assert factories.work_through(person) == (0 if arm == "direct" else 6) + 4 + 6
    person.refresh_from_db()
    assert person.status == "completed"
    steps = [turn.step for turn in person.turns.all()]
    before = 0 if arm == "direct" else 6
    assert steps == ["upstream"] * before + ["training"] * 4 + ["annotation"] * 6
    names = [turn.card.name for turn in person.turns.all()]
    expected = {"upstream": {"up-one", "up-two"}, "sham": {"sham"}, "direct": set()}[arm]
    assert set(names[:before]) == expected
    assert set(names[before:]) == {person.scenario.task.name}
    met = set(
        Exposure.objects.filter(worker_key=person.worker.key).values_list("task_name", flat=True)
    )
    assert met == expected | {person.scenario.task.name}
    assert ArmTaken.objects.get(study=study, worker_key=person.worker.key).arm == arm


@pytest.mark.long
def test_upstream_answers_are_revealed_before_the_next_task(study):
    person, client = in_arm(study, "upstream"), Client()
    work = reverse("work", args=[person.token])
    first = person.latest_turn()
    assert f"Title of {first.card.name}" in client.get(work).content.decode()
    for _ in range(3):
        turn = person.latest_turn()
        page = client.get(work).content.decode()
        assert "data-verdict" not in page
        assert 'data-step="training"' in page
        client.post(
            reverse("answer", args=[person.token]), {"turn": turn.pk, "label": turn.example.gold[0]}
        )
        assert "data-verdict" in client.get(work).content.decode()
        again = {"turn": turn.pk, "label": "positive negative".replace(turn.example.gold[0], "")}
        reply = client.post(
            reverse("answer", args=[person.token]), again | {"label": again["label"].strip()}
        )
        assert reply.status_code == 409  # no revision
        client.post(reverse("continue", args=[person.token]), {"leaving": "reveal"})
    other = {"up-one": "up-two", "up-two": "up-one"}[first.card.name]
    for _look in range(2):  # a reload shows the same page
        page = client.get(work).content.decode()
        assert f"Instructions of {other}." in page
        assert "Now comes a different task." in page
        assert "10 examples" not in page  # which would include the three already done
        assert person.turns.count() == 3
    client.post(reverse("continue", args=[person.token]), {"leaving": "reveal"})  # a second click
    assert person.turns.count() == 3
    client.post(reverse("continue", args=[person.token]), {"leaving": "instructions"})
    assert person.latest_turn().card.name == other


@pytest.mark.long
def test_the_unseen_task_is_not_named_before_it_begins(study):
    person = seats.join(study.pk, worker_key("link", "u"), "link", Kind.PERSON)
    while person.scenario.arm != "upstream":
        person = seats.join(study.pk, worker_key("link", f"{person.pk}"), "link", Kind.PERSON)
    asked = Client().get(reverse("work", args=[person.token])).content.decode()
    assert person.scenario.task.name not in asked  # not before consent
    consent.record(person, agree=True)
    page = Client().get(reverse("work", args=[person.token])).content.decode()
    assert f"Instructions of {person.scenario.task.name}." not in page
    training_step.begin(person.token)
    assert f"Instructions of {person.latest_turn().card.name}." in page
    assert "6" in page
    assert "different task" not in page
    assert "10 examples" in page  # 6 upstream and 4 of the unseen task: one training step


@pytest.mark.long
def test_the_order_follows_from_seed_and_pseudonym(study):
    person = in_arm(study, "upstream")
    assert cross_task.draw(person) == person.upstream_order
    assert len(set(person.upstream_order)) == 6


def test_upstream_tasks_come_first_equally_often():
    pools = {"up-one": [1, 2, 3], "up-two": [4, 5, 6]}
    first = [cross_task.order_of(pools, 1, f"7:A-{number}:upstream")[0] for number in range(400)]
    assert 160 < sum(example in pools["up-one"] for example in first) < 240


@pytest.mark.long
@pytest.mark.engines
def test_a_worker_cannot_join_a_second_arm_or_repeat_upstream(study, researcher):
    person = in_arm(study, "upstream")
    factories.work_through(person)
    with pytest.raises(RecruitmentError) as refused:
        seats.join(study.pk, person.worker.key, "link", Kind.PERSON)
    assert refused.value.code == "done"
    with pytest.raises(IntegrityError), transaction.atomic():
        ArmTaken.objects.create(study=study, worker_key=person.worker.key, arm="direct")
    # Having trained on an upstream task, a participant can't join an ordinary study of it.
    other = factories.make_study(researcher, study.upstream_tasks.first(), shots=[0])
    assert refusal(other, person.worker.key, Kind.PERSON) == "full"


def test_a_worker_exposed_to_an_upstream_task_is_not_eligible(study):
    key = worker_key("link", "knows")
    Exposure.objects.create(worker_key=key, task_name="up-two")
    assert refusal(study, key, Kind.PERSON) == "not_eligible"


@pytest.mark.long
@pytest.mark.engines
def test_a_worker_exposed_to_a_text_in_another_task_is_refused(study, researcher):
    copied = factories.make_task(
        name="copied",
        labels=factories.LABELS,
        train={4: records("up-one train", 4)},
        test=records("new", 4),
    )
    elsewhere = factories.make_study(researcher, copied, shots=[4])
    first = arrive(elsewhere, "twice")
    assert first.turns.exists()
    withdrawn_later = seats.join(study.pk, first.worker.key, "link", Kind.PERSON)
    consent.record(withdrawn_later, agree=True)
    training_step.begin(withdrawn_later.token)
    withdrawn_later.refresh_from_db()
    assert withdrawn_later.status == "refused"
    assert not Exposure.objects.filter(task_name="up-one").exists()


@pytest.mark.engines
def test_texts_shared_by_two_tasks_are_left_out_of_the_pool(researcher, db):
    study = make_cross_task(researcher)
    shared = records("unseen-a test", 3) + records("own", 5)
    mixed = factories.make_task(
        name="mixed", labels=factories.LABELS, train={8: shared}, test=records("mixed test", 4)
    )
    design.save_draft(study, list(study.tasks.all()), upstream=[mixed])
    lifecycle.change_status(study, "open")
    pool = UpstreamExample.objects.filter(study=study, arm="upstream")
    assert [row.example.source_id[:3] for row in pool] == ["own"] * 5
    manifest = json.loads(study.manifest)["cross_task"]
    assert [(p["arm"], p["task"], p["examples"]) for p in manifest["pools"]] == [
        ("sham", "sham", 8),
        ("upstream", "mixed", 5),
    ]
    lifecycle.change_status(study, "draft")
    assert not study.upstream_pool.exists()


def refused_fields(owner, **changes) -> dict[str, list[str]]:
    study = make_cross_task(owner)
    tasks = changes.pop("tasks", list(study.tasks.all()))
    upstream = changes.pop("upstream", list(study.upstream_tasks.all()))
    for name, value in changes.items():
        setattr(study, name, value)
    with pytest.raises(ValidationError) as refused:
        design.save_draft(study, tasks, upstream=upstream)
    return refused.value.message_dict


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"sham_task": None}, "sham_task", "neutral task"),
        ({"qualification": "minimum", "qualification_threshold": 50}, "qualification", "each arm"),
        ({"upstream_examples": 9}, "upstream_tasks", "but has 8"),
        ({"upstream_examples": 5}, "sham_task", "needs 10 training examples"),
        ({"upstream_examples": None}, "upstream_examples", "the number of examples"),
        ({"partition": "no such"}, "partition", "does not exist"),
        ({"partition": "train_non_nli_test_nli"}, "tasks", "not one of the 160 tasks"),
        ({"upstream": []}, "upstream_tasks", "at least one"),
    ],
)
def test_a_design_that_breaks_a_rule_is_refused_at_its_field(
    researcher, db, changes, field, sentence
):
    errors = refused_fields(researcher, **changes)
    assert sentence in " ".join(errors[field])


def test_a_task_listed_twice_in_the_partition_is_refused_by_name(researcher, db):
    errors = refused_fields(
        researcher,
        tasks=[label_task("glue-rte", 4)],
        upstream=[label_task("sick"), label_task("glue-sst2")],
        partition="train_non_nli_test_nli",
    )
    assert len(errors["upstream_tasks"]) == 1
    assert "sick: the published train_non_nli_test_nli lists it twice" in str(errors)


def test_a_study_uses_a_subset_of_a_partition_and_says_so(ada, researcher, db):
    study = make_cross_task(researcher, targets=("glue-rte",))
    study.partition = "train_non_nli_test_nli"
    design.save_draft(study, list(study.tasks.all()), upstream=[label_task("trec")])
    lifecycle.change_status(study, "open")
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert "1 of 8 held-out and 1 of 57 upstream tasks are used" in " ".join(page.split())


CLASSIFICATION = "train_classification_test_classification"


def test_a_pilot_has_development_tasks_and_says_so(ada, researcher, db):
    study = make_cross_task(researcher, targets=("poem_sentiment", "medical_questions_pairs"))
    study.partition = CLASSIFICATION
    design.save_draft(study, list(study.tasks.all()), upstream=[label_task("glue-sst2")])
    lifecycle.change_status(study, "open")
    for page in ("analysis", "preregistration"):
        shown = ada.get(reverse(page, args=[study.name]), follow=True).content.decode()
        words = " ".join(shown.split())
        assert "2 of 10 development and 1 of 45 upstream tasks are used" in words, page
        assert "This is a pilot on development tasks" in words, page
    assert published_for(study) == []
    Study.objects.filter(pk=study.pk).update(partition="")
    study.refresh_from_db()
    assert published_for(study) == []


def test_unseen_tasks_are_not_mixed_with_development_tasks(researcher, db):
    errors = refused_fields(
        researcher,
        tasks=[label_task("poem_sentiment", 4), label_task("superglue-cb", 4)],
        upstream=[label_task("glue-sst2")],
        partition=CLASSIFICATION,
    )
    assert errors["tasks"] == [
        "poem_sentiment: a development task can only be unseen in a pilot without held-out tasks."
    ]


def test_upstream_examples_come_from_training_and_then_development_files(researcher, db):
    study = make_cross_task(researcher)
    card = factories.parse_card(factories.card_data(name="with-dev", labels=factories.LABELS), "")
    files = [
        factories.SplitFile(kind, shots, number, f"with-dev_{name}.jsonl", records(name, size))
        for kind, shots, number, name, size in (
            ("train", 4, 1, "train_4_1", 4), ("dev", 4, 1, "dev_4_1", 4),
            ("train", 4, 2, "train_4_2", 4), ("test", None, None, "test", 4),
        )
    ]  # fmt: skip
    task = factories.import_task(card, files).task
    study.upstream_examples, study.sham_task = 7, label_task("more-sham", 16)
    design.save_draft(study, list(study.tasks.all()), upstream=[task])
    lifecycle.change_status(study, "open")
    pool = study.upstream_pool.filter(arm="upstream").order_by("position")
    sources = [row.example.source_id for row in pool]
    assert sources == [f"{part}_4_1-{n}" for part in ("train", "dev") for n in range(4)]


def test_a_partition_refuses_tasks_with_long_texts(researcher, db):
    long = factories.make_task(
        name="anli", labels=factories.LABELS, train={4: records("long train", 4)},
        test=[replace(one, context=(f"{one.id} " + "word " * 400,)) for one in records("long", 4)],
    )  # fmt: skip
    upstream, partition = [label_task("trec")], "train_non_nli_test_nli"
    errors = refused_fields(researcher, tasks=[long], upstream=upstream, partition=partition)
    assert "anli: its median example has 404 words; tasks of a partition" in str(errors["tasks"])
    assert "upstream_tasks" not in errors


@pytest.mark.engines
def test_the_database_refuses_an_unknown_arm(study):
    for arm in ("other", "NONE"):
        with pytest.raises(IntegrityError), transaction.atomic():
            Scenario.objects.filter(study=study).update(arm=arm)
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.filter(pk=make_draft_pk(study)).update(tasks_per_worker=2)


def make_draft_pk(study) -> int:
    """Create a draft of this cross-task study, because an open study can't be changed."""
    draft = Study(
        owner=study.owner, name="draft", title="Draft", shots=[4], annotators=1, seed=1,
        upstream_examples=2, sham_task=study.sham_task,
    )  # fmt: skip
    design.save_draft(draft, list(study.tasks.all()), upstream=list(study.upstream_tasks.all()))
    return draft.pk


@pytest.mark.long
@pytest.mark.engines
def test_a_withdrawal_erases_the_upstream_step(study):
    person = in_arm(study, "upstream")
    factories.work_through(person, limit=4)
    withdrawal.withdraw(person.token)
    person.refresh_from_db()
    assert not person.turns.exists()
    assert person.upstream_order == []
    assert person.worked_seconds is not None


def trained_of(study) -> int:
    """Return the number of people who count as trained, over all scenarios."""
    scenarios = list(funnel.with_training_size(study))
    rows = funnel.by_scenario_and_kind(study, scenarios)
    return sum(row.trained for (_scenario, kind), row in rows.items() if kind == Kind.PERSON)


@pytest.mark.long
@pytest.mark.parametrize("arm", ["upstream", "sham", "direct"])
def test_erased_upstream_turns_do_not_count_as_trained(study, arm):
    before = 0 if arm == "direct" else 6
    person = in_arm(study, arm)
    factories.work_through(person, limit=before + 3)  # of 4 training examples
    assert trained_of(study) == 0
    withdrawal.withdraw(person.token)
    assert trained_of(study) == 0
    other = next(
        somebody
        for number in range(12)
        if (somebody := arrive(study, f"more-{number}")).scenario.arm == arm
    )
    factories.work_through(other, limit=before + 5)
    assert trained_of(study) == 1
    withdrawal.withdraw(other.token)
    assert trained_of(study) == 1


def test_upstream_minutes_follow_the_length_of_their_texts(researcher, db):
    """The unseen task's examples have 9 or 10 words; those of the upstream task are longer."""
    long = [
        replace(record, context=("word " * 90 + record.context[0],))
        for record in records("long train", 8)
    ]
    slow = factories.make_task(
        name="slow", labels=factories.LABELS, train={8: long}, test=[replace(long[0], id="t")]
    )
    study = make_cross_task(researcher)
    quick = minutes.workloads(study, list(study.tasks.all()))[0]
    assert quick.upstream_words == quick.words
    study.upstream_examples = 60
    study.upstream_tasks.set([slow])
    load = minutes.workloads(study, list(study.tasks.all()))[0]
    assert (load.upstream, load.words) == (60, quick.words)
    assert load.upstream_words == quick.words + 90
    seconds = 60 * (60 * (quick.words + 90) / 240 + 3) + 10 * (60 * quick.words / 240 + 3)
    assert load.minutes == 2 + math.ceil(seconds / 60)
    study.estimated_minutes = 1
    (doubt,) = minutes.doubts(study, list(study.tasks.all()))
    assert f"for {quick.words + 90} words of each of 60 upstream examples" in doubt


@pytest.mark.long
@pytest.mark.parametrize("status", ["draft", "open"])
def test_the_preview_of_an_arm_includes_its_upstream_step(researcher, client, db, status):
    study = make_cross_task(researcher)
    if status == "open":
        lifecycle.change_status(study, "open")
    client.force_login(researcher)
    scenario = study.scenarios.get(arm="upstream", task__name="unseen-a")
    address = reverse("scenario_preview", args=[study.name, scenario.pk, "upstream", 0])
    first = reverse("scenario_preview", args=[study.name, scenario.pk, "consent", 0])
    assert first in client.get(reverse("study_design", args=[study.name])).content.decode()
    before = reverse("scenario_preview", args=[study.name, scenario.pk, "instructions", 0])
    assert address in client.get(before).content.decode()
    titles, label = [], {"turn": "x", "label": "positive"}
    for position in range(6):
        address = reverse("scenario_preview", args=[study.name, scenario.pk, "upstream", position])
        page = client.get(address).content.decode()
        assert f"{position + 1} of 10" in page
        assert "data-verdict" not in page
        titles.append(re.search(r"<title>[^<]*(Title of [a-z-]+)", page)[1])
        revealed = client.post(address, label).content.decode()
        assert "data-verdict" in revealed
    assert titles == ["Title of up-one"] * 3 + ["Title of up-two"] * 3
    following = reverse("scenario_preview", args=[study.name, scenario.pk, "training", 0])
    assert following in revealed
    page = client.get(following).content.decode()
    assert "7 of 10" in page
    assert "Title of unseen-a" in page
    assert Turn.objects.count() == 0
    beyond = reverse("scenario_preview", args=[study.name, scenario.pk, "upstream", 6])
    assert client.get(beyond).status_code == 404
    direct = study.scenarios.get(arm="direct", task__name="unseen-a")
    nothing = reverse("scenario_preview", args=[study.name, direct.pk, "upstream", 0])
    assert client.get(nothing).status_code == 404


@pytest.mark.long
def test_simulated_annotators_complete_every_arm(researcher):
    study = make_cross_task(researcher, rehearsal=True)
    lifecycle.change_status(study, "open")
    study.refresh_from_db()
    knowledge = Knowledge(study)
    address = reverse("landing", args=[study.simulated_link_code])
    for number in range(6):
        assert sum(
            1 for _ in walk(InProcess(), address, "transfer:0.6:0.3", knowledge, f"{number}")
        )
    done = study.participations.filter(kind=Kind.SIMULATED, status="completed")
    assert Counter(done.values_list("scenario__arm", flat=True)) == {
        "upstream": 2, "sham": 2, "direct": 2,
    }  # fmt: skip
    assert done.filter(turns__step=Step.UPSTREAM).distinct().count() == 4
