"""The screening step qualifies zero-shot annotators by examples that are never revealed."""

import json
from dataclasses import replace
from io import StringIO

import lxml.html
import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from analysis.export import pages_seen
from analysis.scores import findings, frames, performance
from annotation.models import Answer, Exposure, Kind, Participation, Status, Step, Study, Turn
from annotation.monitoring import funnel, seats
from annotation.privacy import withdrawal
from annotation.prolific import drafts
from annotation.protocol import answering, qualification, training_step
from annotation.recruitment import consent
from annotation.recruitment.seats import enter_part
from annotation.study import design_file, minutes, screening
from tasks.models import Example, Task
from tests import factories
from tests.conftest import CLUES

HTMX = {"HTTP_HX_REQUEST": "true"}


def study_with(researcher, task=None, **fields) -> Study:
    """Create a study at 0 and 2 shots with three screening examples and a minimum of 60 %."""
    task = task or factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(2, 6))
    defaults = {
        "shots": [0, 2], "annotators": 4, "hourly_rate": 12, "screening_examples": 3,
        "qualification": "minimum", "qualification_threshold": 60,
    }  # fmt: skip
    return factories.make_study(researcher, task, **(defaults | fields))


@pytest.fixture
def study(researcher):
    return study_with(researcher)


def at_zero(study) -> Participation:
    return factories.seat(study.scenarios.get(shots=0))


def screen(study, right: int) -> Participation:
    """Answer the screening set as a new participant, `right` examples correctly."""
    seat = at_zero(study)
    for index in range(study.screening_examples):
        turn = seat.latest_turn()
        assert turn.step == Step.SCREENING
        gold = turn.example.gold[0]
        other = "negative" if gold == "positive" else "positive"
        answering.submit(seat.token, turn.pk, {"label": gold if index < right else other})
    seat.refresh_from_db()
    return seat


# The step ----------------------------------------------------------------------------------------


def test_enough_right_answers_lead_to_the_test(study):
    seat = screen(study, right=2)
    assert (seat.status, seat.qualified) == (Status.WORKING, True)
    turn = seat.latest_turn()
    assert (turn.step, turn.position) == (Step.ANNOTATION, 0)
    factories.work_through(seat)
    seat.refresh_from_db()
    assert seat.status == Status.COMPLETED


def test_too_few_right_answers_end_with_pay_and_a_free_seat(client, researcher):
    study = study_with(researcher, annotators=1, minimum_pay=1)
    gone = screen(study, right=1)
    assert (gone.status, gone.seat_number, gone.in_analysis) == ("screened_out", None, False)
    assert gone.is_paid
    assert sum(entry.cents for entry in gone.ledger.all()) >= 100
    assert not gone.turns.filter(step=Step.ANNOTATION).exists()
    decision = gone.decisions.get(about="qualification")
    assert (decision.outcome, decision.by) == (False, None)
    assert decision.reason.startswith("screening S1 33.3")
    page = client.get(reverse("work", args=[gone.token])).content.decode()
    assert "This is not a judgement of you" in page
    assert at_zero(study).seat_number == 1


def test_nothing_is_revealed_and_no_score_is_shown(client, study):
    seat = at_zero(study)
    address = reverse("answer", args=[seat.token])
    for index in range(3):
        turn = seat.latest_turn()
        page = client.get(reverse("work", args=[seat.token])).content.decode()
        assert 'data-step="screening"' in page
        assert f"Screening, example {index + 1} of 3" in page
        fields = {"turn": turn.pk, "label": turn.example.gold[0]}
        reply = client.post(address, fields, **HTMX).content.decode()
        assert 'data-state="question"' in reply
        assert "Score" not in reply
        assert "tally" not in reply
    assert 'data-step="annotation"' in reply
    assert not Turn.objects.filter(reading__isnull=False).exists()


def test_the_first_screening_answer_counts_and_may_be_repeated(client, study):
    seat = at_zero(study)
    turn = seat.latest_turn()
    address = reverse("answer", args=[seat.token])
    fields = {"turn": turn.pk, "label": "positive"}
    replies = [client.post(address, fields | extra, **HTMX) for extra in ({}, {})]
    assert [reply.status_code for reply in replies] == [200, 200]
    other = client.post(address, fields | {"label": "negative"}, **HTMX)
    assert other.status_code == 409
    assert "already saved" in other.content.decode()
    assert turn.participation.turns.count() == 2
    assert Answer.objects.get().label == "positive"


def test_screening_counts_as_exposure_and_withdrawal_erases_it(study):
    seat = screen(study, right=0)
    assert Exposure.objects.filter(worker_key=seat.worker.key, task_name="toy-labels").exists()
    withdrawal.withdraw(seat.token)
    seat.refresh_from_db()
    assert (seat.screening_order, seat.turns.count(), seat.qualified) == ([], 0, None)
    counts = funnel.by_scenario_and_kind(study, list(funnel.with_training_size(study)))
    own = counts[seat.scenario_id, Kind.PERSON]
    assert (own.consented, own.trained, own.qualified, own.withdrawn) == (1, 1, 0, 1)


def test_a_researcher_decides_with_the_screening_answers_visible(ada, researcher, client):
    study = study_with(researcher, qualification="researcher", qualification_threshold=None)
    seat = screen(study, right=2)
    assert seat.status == Status.WAITING
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "You have finished the screening." in page
    own = ada.get(reverse("participation", args=[study.name, seat.pseudonym])).content
    rows = lxml.html.fromstring(own).xpath("//tr[starts-with(@id, 'turn-')]")
    golds = [row.xpath("string(td[last() - 2])").strip() for row in rows]
    assert golds == [turn.example.gold[0] for turn in seat.turns.order_by("pk")]
    qualification.decide(seat.token, True, "good enough", researcher)
    turn = seat.latest_turn()
    assert (turn.step, turn.position) == (Step.ANNOTATION, 0)


def test_a_relative_rule_compares_the_same_screening_set(ada, researcher):
    study = study_with(researcher, qualification="points_below", qualification_threshold=20)
    assert screen(study, right=0).status == "working"  # too few others to compare
    assert screen(study, right=3).status == "working"
    assert screen(study, right=0).status == "screened_out"
    (reason,) = qualification.flagged_again(study).values()
    assert reason.startswith("would now be screened out: screening S1 0.0")
    page = ada.get(reverse("people", args=[study.name])).content.decode()
    assert "ould now be screened out" in page
    assert "screening S1 0.0" not in page


def test_arms_with_training_have_no_screening_step(study):
    seat = factories.seat(study.scenarios.get(shots=2))
    assert seat.screening_order == []
    factories.work_through(seat)
    steps = list(seat.turns.order_by("pk").values_list("step", flat=True))
    assert steps == ["training"] * 2 + ["annotation"] * 4
    assert "training S1" in seat.decisions.get().reason


def test_without_a_screening_set_zero_shots_begin_with_the_test(researcher):
    seat = at_zero(study_with(researcher, screening_examples=0))
    assert (seat.latest_turn().step, seat.screening_order) == (Step.ANNOTATION, [])


@pytest.mark.long
def test_simulated_annotators_answer_the_screening_set(researcher):
    study = study_with(researcher, rehearsal=True)
    call_command("simulate_workers", study.name, policy="gold", processes=1, verbosity=0)
    done = study.participations.all()
    assert {seat.status for seat in done} == {Status.COMPLETED}
    answers = Answer.objects.filter(turn__participation__scenario__shots=0)
    assert answers.filter(turn__step=Step.SCREENING).count() == 4 * 3


# The set -----------------------------------------------------------------------------------------


def test_the_set_is_frozen_with_hashes_and_overlaps_no_other_set(study):
    manifest = json.loads(study.manifest)
    assert manifest["qualification"]["screening_examples"] == 3
    (hashes,) = manifest["screening_hashes"].values()
    seat, other = at_zero(study), at_zero(study)
    shown = dict(zip(seat.screening_order, map(frozen_hash, seat.screening_order), strict=True))
    assert sorted(shown.values()) == sorted(hashes)
    assert sorted(seat.screening_order) == sorted(other.screening_order)
    trained = factories.seat(study.scenarios.get(shots=2))
    others = [*seat.annotation_order, *trained.training_order]
    assert not set(hashes) & set(map(frozen_hash, others))


def frozen_hash(example: int) -> str:
    return Example.objects.get(pk=example).content_hash


@pytest.mark.long
def test_the_screening_set_depends_on_the_seed(researcher):
    task = factories.make_task(shots=(2, 30), test_size=4)

    def drawn(seed):
        study = study_with(researcher, task, seed=seed)
        return [example.source_id for example in screening.examples(study, task)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_texts_and_questions_of_other_arms_are_not_drawn(researcher):
    pool = factories.place_records("train", 6)
    test = factories.place_records("test", 3)
    early = [replace(test[0], id="early", question="And now?")]
    again = [replace(pool[0], id="again", gold=("train",))]  # a training question with other gold
    task = factories.make_task(train={2: pool[:2], 8: [*pool, *early, *again]}, test=test)
    study = study_with(researcher, task, screening_examples=4)
    assert {example.source_id for example in screening.examples(study, task)} == {
        record.id for record in pool[2:]
    }


def test_too_few_spare_examples_are_refused_with_their_number(researcher):
    with pytest.raises(ValidationError) as refused:
        study_with(researcher, screening_examples=5)
    (told,) = refused.value.message_dict["screening_examples"]
    assert told.startswith("toy-labels has 4 unused examples")
    with pytest.raises(ValidationError, match="has 0 unused examples"):
        study_with(researcher, shots=[0, 2, 6], screening_examples=1)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"qualification": "none", "qualification_threshold": None}, "screening_examples"),
        ({"shots": [2]}, "screening_examples"),
        ({"shots": [0], "screening_examples": 0}, "qualification"),
        ({"screening_examples": 1001}, "screening_examples"),
    ],
)
def test_a_screening_set_needs_a_rule_and_zero_shots(researcher, fields, field):
    with pytest.raises(ValidationError) as refused:
        study_with(researcher, **fields)
    assert field in refused.value.message_dict


def test_a_study_of_zero_shots_only_can_be_screened(researcher):
    study = study_with(researcher, shots=[0])
    assert screen(study, right=0).status == "screened_out"


def test_the_database_refuses_a_screening_set_without_a_rule(researcher):
    study = study_with(researcher, status="draft")
    with pytest.raises(IntegrityError, match="a_screening_set_serves_a_rule"), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(qualification="none")


def test_a_design_file_can_declare_a_screening_set(tmp_path, researcher):
    path = tmp_path / "study.toml"
    path.write_text('name = "s"\n[qualification]\nrule = "minimum"\nscreening_examples = 4\n')
    assert design_file.read(path).fields["screening_examples"] == 4


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.parametrize("name", ["CoNLL03", "SQuADv2"])
def test_other_splits_of_a_published_task_have_enough_examples(researcher, name):
    call_command("import_clues", str(CLUES), "--task", name, stdout=StringIO())
    task = Task.objects.get()
    study = study_with(researcher, task, shots=[0, 10, 20, 30], screening_examples=30)
    own = screening.examples(study, task)
    assert len({example.source_id for example in own}) == 30
    tested = [example.context for example in task.test_split.examples.all()]
    assert not any(example.context in tested for example in own)
    assert {example.split.number for example in own} <= {2, 3, 4, 5}


# Announcements, counts and pay -------------------------------------------------------------------


def test_landing_and_instructions_announce_the_screening_step(client, study):
    landing = client.get(reverse("landing", args=[study.link_code])).content.decode()
    words = " ".join(landing.split())
    assert "Screening, if you have no training: 3 examples." in words
    seat = factories.join(study)
    while seat.scenario.shots:
        seat = factories.join(study)
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    page = " ".join(client.get(reverse("work", args=[seat.token])).content.decode().split())
    assert "<strong>Screening:</strong> 3 examples (right answers not shown)." in page
    assert (
        "Some people do not continue after this part. They are still paid for their time." in page
    )
    assert "Start the screening" in page


def test_screening_examples_count_in_the_estimates(researcher, study):
    loads = {load.shots: load for load in minutes.workloads(study, list(study.tasks.all()))}
    assert (loads[0].screening, loads[0].examples) == (3, 7)
    assert (loads[2].screening, loads[2].examples) == (0, 6)
    seat = at_zero(study)
    assert len(seat.screening_order) + len(seat.annotation_order) == 7


def test_parts_on_prolific_separate_the_screening_step(researcher):
    study = study_with(researcher, shots=[0], estimated_minutes=70, screening_examples=3)
    (one, two) = drafts.plan(study, 1, researcher)
    assert (one.part, two.part) == (1, 2)
    seat = factories.join(study)
    assert seat.scenario.shots == 0
    seat.part = 1
    seat.save()
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    seat.refresh_from_db()
    assert (seat.status, seat.qualified) == (Status.BETWEEN, True)
    resumed = enter_part(seat, 2)
    assert (resumed.status, resumed.latest_turn().step) == (Status.WORKING, Step.ANNOTATION)


def test_screening_counts_in_no_score_table_or_agreement(researcher, study):
    wrong = iter([1, 1, 0] * 10)  # of three screening answers, one is wrong

    def answer(turn):
        gold = turn.example.gold[0]
        if turn.step == Step.SCREENING and not next(wrong):
            return ["negative" if gold == "positive" else "positive"]
        return [gold]

    for _person in range(2):
        factories.work_through(at_zero(study), answer)
    frame = frames.annotators(study)
    zero = frame[frame["shots"] == 0]
    assert (list(zero["mean_s1"]), list(zero["n"])) == ([1, 1], [4, 4])
    assert list(zero["training_n"]) == [0, 0]
    assert set(findings.answered(study, Kind.PERSON)["s1"]) == {1}
    table = performance.all_tables(study)[0]
    assert {row.cell.mean for row in performance.long_rows(table) if row.cell.n} == {100}
    assert frames.answers_in_order(study, Kind.PERSON, Step.TRAINING).empty


def test_the_page_of_the_study_says_that_a_set_is_used(ada, study):
    screen(study, right=0)
    page = ada.get(reverse("study", args=[study.name])).content.decode()
    assert "judges annotators by a screening set: 3 examples" in page
    assert "Screening differs between arms" not in page
    analysis = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert "3 screening examples" in analysis


@pytest.mark.long
def test_the_screening_step_can_be_previewed(ada, study):
    scenario = study.scenarios.get(shots=0)
    for position in range(3):
        address = reverse("scenario_preview", args=[study.name, scenario.pk, "screening", position])
        assert ada.get(address).status_code == 200
        reply = ada.post(address, {"turn": "x", "label": "positive"})
    assert reply["Location"].endswith("/annotation/0/")
    beyond = reverse("scenario_preview", args=[study.name, scenario.pk, "screening", 3])
    assert ada.get(beyond).status_code == 404


def test_the_first_screening_example_is_among_the_pages_seen(study):
    task = study.tasks.get()
    first = screening.examples(study, task)[0]
    page = pages_seen.pages(study)[f"{task.name}-screening"]
    assert "Screening, example 1 of 3" in page
    assert "1 of 3" in page
    assert first.context[0] in page
    assert "data-verdict" not in page


def seats_of(study):
    scenarios = list(funnel.with_training_size(study))
    funnels = funnel.by_scenario_and_kind(study, scenarios)
    return seats.for_scenarios(study, scenarios, funnels, seats.medians(seats.courses(study)))
