"""Simulated annotators use the same pages as people, but read the gold from the database."""

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Avg

from analysis.scores import frames, means, overlap
from analysis.stats import learning
from annotation.models import Answer, AnswerSpan, Kind, Participation, Status
from annotation.simulation.policies import Knowledge
from tasks.formats import Record
from tests import factories

pytestmark = pytest.mark.long


@pytest.fixture
def study(researcher):
    places = factories.make_task()
    moods = factories.make_task(name="toy-moods", labels=factories.LABELS)
    return factories.make_study(
        researcher, places, moods, shots=[0, 2], annotators=2, rehearsal=True
    )


def simulate(study, policy: str, **options) -> None:
    call_command("simulate_workers", study.name, policy=policy, processes=1, verbosity=0, **options)


def mean(task: str) -> float:
    scores = Answer.objects.filter(turn__participation__scenario__task__name=task)
    values = [answer.s1 for answer in scores.filter(turn__step="annotation")]
    return sum(values) / len(values)


def test_the_gold_policy_fills_every_simulated_seat_only(study):
    simulate(study, "gold")
    done = Participation.objects.all()
    assert {p.kind for p in done} == {Kind.SIMULATED}
    assert {p.status for p in done} == {Status.COMPLETED}
    assert done.count() == 2 * 2 * 2
    assert mean("toy-places") == mean("toy-moods") == 1


def test_empty_and_majority_policies_reach_the_trivial_baseline(study):
    simulate(study, "empty")
    reports = {task.name: task.report["baseline"] for task in study.tasks.all()}
    assert 100 * mean("toy-places") == pytest.approx(reports["toy-places"])
    assert 100 * mean("toy-moods") == pytest.approx(reports["toy-moods"])


def test_the_noisy_policy_scores_between_0_and_1(study):
    simulate(study, "noisy:0.5", seed=4)
    assert 0 < mean("toy-places") < 1


def test_the_same_seed_makes_the_same_mistakes(researcher):
    task = factories.make_task(test_size=20)
    walks = []
    for _ in range(2):
        study = factories.make_study(
            researcher,
            task,
            shots=[0],
            annotators=3,
            annotation_order="file_order",
            rehearsal=True,
        )
        simulate(study, "noisy:0.5", seed=4)
        spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
        walks.append(list(spans.order_by("pk").values_list("segment", "start", "end", "text")))
    assert walks[0] == walks[1] != []


def test_the_random_policy_completes(study):
    simulate(study, "random")
    assert Participation.objects.filter(status="completed").count() == 8


@pytest.mark.parametrize("policy", ["noisy:0", "gold", "empty", "random"])
def test_gold_that_cannot_be_highlighted_stops_no_simulation(researcher, policy):
    records = [
        Record("inside", ("We went home.",), "Which places?", ("ome",), None),
        Record("none", ("We slept.",), "Which places?", (), None),
        Record("one", ("Rome",), "Which places?", ("Rome",), None),
    ]
    task = factories.make_task(test=records, shots=[])
    study = factories.make_study(researcher, task, shots=[0], annotators=3, rehearsal=True)
    simulate(study, policy)
    assert Answer.objects.count() == 9
    if policy == "gold":
        assert 100 * mean("toy-places") == pytest.approx(task.report["ceiling"])


def test_a_question_that_can_be_highlighted_is_highlighted(researcher):
    records = [Record("q", ("Neither.",), "Oslo or Rome?", ("Oslo",), None)]
    task = factories.make_task(test=records, shots=[], question_selectable=True)
    study = factories.make_study(researcher, task, shots=[0], annotators=1, rehearsal=True)
    simulate(study, "gold")
    assert AnswerSpan.objects.get().segment == -1
    assert mean("toy-places") == 1


def test_simulated_annotators_know_the_gold(study):
    known = Knowledge(study)
    example = study.tasks.get(name="toy-places").test_split.examples.get(position=1)
    match = known.lookup("Places", example.question, example.context)
    assert match.gold == example.gold


@pytest.mark.parametrize("kind", factories.KINDS)
def test_copiers_give_the_models_answers_to_every_kind(researcher, kind):
    task = factories.make_kind(kind, test_size=6)
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=1, rehearsal=True)

    def predicted(example):
        is_wrong = example.position % 2
        return (factories.wrong_texts if is_wrong else factories.right_texts)(example)

    factories.predict(researcher, "T5", task, 0, predict=predicted)
    simulate(study, "copier:T5:1")
    assert study.participations.filter(status="completed").count() == 2
    for answer in Answer.objects.filter(turn__step="annotation").select_related("turn__example"):
        (copied,) = answer.turn.example.predictions.all()
        assert list(answer.as_given.texts) == copied.predicted
        assert answer.s1 == copied.s1


def test_a_mixed_crowd_copies_in_part_and_is_found(researcher):
    task = factories.make_kind("short text", test_size=60)
    study = factories.make_study(researcher, task, shots=[0], annotators=10, rehearsal=True)
    factories.predict(
        researcher, "T5", task, 0,
        predict=lambda e: ["From a model"] if e.position % 4 == 0 else e.gold[:1],
    )  # fmt: skip
    simulate(study, "mixed:T5:0.8:0.3", seed=3)
    copied = Answer.objects.filter(values=["From a model"]).values("turn__participation").distinct()
    copiers = {row["turn__participation"] for row in copied}
    assert 1 <= len(copiers) <= 5
    assert overlap.agreeing(study, Kind.SIMULATED) == copiers


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("noisy:2", "unknown policy"), ("best", "unknown policy"),
        ("copier:T5:2", "unknown policy"), ("mixed:T5:0.8", "unknown policy"),
        ("learning:0.5:0.6:10", "unknown policy"), ("learning:0.5:0.1", "unknown policy"),
        ("strata:0.5", "unknown policy"), ("strata:0.5:a=0.6", "unknown policy"),
        ("strata:0.5:fiction=0.1", "no stratum fiction"),
        ("copier:T5:0.8", "not compared with a model named 'T5'"),
    ],
)  # fmt: skip
def test_an_unknown_policy_is_named(study, policy, reason):
    with pytest.raises(CommandError, match=reason):
        simulate(study, policy)


def test_a_full_study_and_a_draft_are_refused(study, researcher):
    simulate(study, "gold")
    with pytest.raises(CommandError, match="no free simulated seat"):
        simulate(study, "gold")
    draft = factories.make_study(researcher, study.tasks.first(), status="draft", rehearsal=True)
    with pytest.raises(CommandError, match="Open it first"):
        simulate(draft, "gold")


def labelled(prefix: str, number: int, strata: tuple[str, ...] = ("",)) -> list[Record]:
    records = []
    for index in range(number):
        label, stratum = factories.LABELS[index % 2]["name"], strata[index % len(strata)]
        text = f"It was {prefix} number {index}."
        records.append(Record(f"{prefix}{index}", (text,), "", (label,), None, stratum=stratum))
    return records


def test_the_difference_between_strata_is_that_of_the_policy(researcher):
    records = labelled("test", 120, ("easy", "easy", "hard"))
    task = factories.make_task(test=records, shots=[], labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[0], annotators=8, rehearsal=True)
    simulate(study, "strata:0.9:hard=-0.4", seed=2)
    easy, hard = means.by_stratum(study, Kind.SIMULATED)
    assert (easy.stratum, easy.examples, hard.stratum, hard.examples) == ("easy", 80, "hard", 40)
    assert hard.low < -40 < hard.high
    assert hard.difference == pytest.approx(-40, abs=8)  # an SE of 3
    assert easy.mean == pytest.approx(90, abs=4)


def test_the_learning_curve_and_its_plateau_are_those_of_the_policy(researcher):
    task = factories.make_task(
        train={20: labelled("train", 20)}, test=labelled("test", 40), labels=factories.LABELS
    )
    study = factories.make_study(researcher, task, shots=[0, 20], annotators=12, rehearsal=True)
    simulate(study, "learning:0.4:0.5:8", seed=2)
    (row,) = learning.plateau_rows(frames.answers_in_order(study, Kind.SIMULATED, "training"), 7)
    assert (row.n, row.examples) == (12, 20)
    _point, low, high, _why_not = row.point
    assert low <= 8 <= high < 19
    gain, low, high, _why_not = row.gain
    assert low <= 50 <= high
    assert gain == pytest.approx(50, abs=20)
    answers = Answer.objects.filter(turn__step="annotation")
    by_shots = dict(
        answers.order_by().values_list("turn__participation__scenario__shots").annotate(Avg("s1"))
    )
    assert by_shots[0] == pytest.approx(0.4, abs=0.07)  # an SE of .023
    assert by_shots[20] == pytest.approx(0.9, abs=0.05)


def test_only_training_examples_advance_the_learning_curve(researcher):
    task = factories.make_task(
        train={2: labelled("train", 2), 6: labelled("train", 6)}, test=labelled("test", 10),
        labels=factories.LABELS,
    )  # fmt: skip
    study = factories.make_study(
        researcher, task, shots=[0, 2], annotators=1, anchor_examples=2, rehearsal=True
    )
    simulate(study, "learning:0:1:2")
    answers = Answer.objects.exclude(turn__step="training").order_by()
    means = answers.values_list("turn__step", "turn__participation__scenario__shots")
    assert set(means.annotate(Avg("s1"))) == {
        ("anchor", 0, 0.0), ("anchor", 2, 0.0), ("annotation", 0, 0.0), ("annotation", 2, 1.0)
    }  # fmt: skip
