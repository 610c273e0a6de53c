"""Anchors: all arms of a task first answer the same examples, which are never revealed."""

import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.models import Exposure, Status, Step, Study
from annotation.monitoring import funnel
from annotation.participation.question import Place
from annotation.privacy import withdrawal
from annotation.prolific import drafts
from annotation.protocol import training_step
from annotation.recruitment import consent
from annotation.recruitment.seats import enter_part
from annotation.study import design_file, minutes, screening
from tests import factories
from tests.analysis.export.tampering import Export

HTMX = {"HTTP_HX_REQUEST": "true"}


def study_with(researcher, **fields) -> Study:
    """Create a study at 0 and 2 shots with two anchors, drawn from six spare examples."""
    task = factories.make_task(labels=factories.LABELS, name="toy-labels", shots=(2, 8))
    defaults = {"shots": [0, 2], "annotators": 4, "hourly_rate": 12, "anchor_examples": 2}
    return factories.make_study(researcher, task, **(defaults | fields))


@pytest.fixture
def study(researcher):
    return study_with(researcher)


def steps_of(seat) -> list[str]:
    return list(seat.turns.order_by("pk").values_list("step", flat=True))


@pytest.mark.parametrize(("shots", "then"), [(0, "annotation"), (2, "training")])
def test_all_arms_answer_the_anchors_first_and_unrevealed(client, study, shots, then):
    seat = factories.seat(study.scenarios.get(shots=shots))
    for index in range(2):
        turn = seat.latest_turn()
        page = client.get(reverse("work", args=[seat.token])).content.decode()
        assert 'data-step="anchor"' in page
        assert f"First examples, {index + 1} of 2" in page
        fields = {"turn": turn.pk, "label": turn.example.gold[0]}
        reply = client.post(reverse("answer", args=[seat.token]), fields, **HTMX).content.decode()
        assert 'data-state="question"' in reply
        assert "Score" not in reply
    assert f'data-step="{then}"' in reply
    other = client.post(
        reverse("answer", args=[seat.token]), {"turn": turn.pk, "label": "neither"}, **HTMX
    )
    assert other.status_code == 409
    factories.work_through(seat)
    seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    assert steps_of(seat) == ["anchor"] * 2 + ["training"] * shots + ["annotation"] * 4


def test_the_set_is_frozen_and_the_same_for_all_arms(study):
    (hashes,) = json.loads(study.manifest)["anchor_hashes"].values()
    zero, two = (factories.seat(scenario) for scenario in study.scenarios.order_by("shots"))
    (task,) = study.tasks.all()
    own = {example.pk for example in screening.anchors(study, task)}
    assert set(zero.anchor_order) == set(two.anchor_order) == own
    assert [example.content_hash for example in screening.anchors(study, task)] == hashes
    assert not own & {*two.training_order, *two.annotation_order}


def test_a_screening_set_shares_no_example_with_the_anchors(researcher):
    study = study_with(
        researcher, screening_examples=3, qualification="minimum", qualification_threshold=50
    )
    seat = factories.seat(study.scenarios.get(shots=0))
    assert not {*seat.anchor_order} & {*seat.screening_order}
    factories.work_through(
        seat, lambda turn: ["negative"] if turn.step == Step.ANCHOR else turn.example.gold
    )
    seat.refresh_from_db()
    assert (seat.status, seat.qualified) == (Status.COMPLETED, True)
    assert steps_of(seat)[:6] == ["anchor"] * 2 + ["screening"] * 3 + ["annotation"]


def test_wrong_anchors_screen_out_no_one(researcher):
    study = study_with(researcher, shots=[2], qualification="minimum", qualification_threshold=100)
    seat = factories.seat(study.scenarios.get())

    def answer(turn):
        (gold,) = turn.example.gold
        wrong = "negative" if gold == "positive" else "positive"
        return [wrong if turn.step == Step.ANCHOR else gold]

    factories.work_through(seat, answer)
    seat.refresh_from_db()
    assert (seat.status, seat.qualified) == (Status.COMPLETED, True)


def test_help_examples_are_shown_to_all_arms_or_to_none(researcher):
    study = study_with(researcher)
    assert [each.shows_help_examples for each in study.scenarios.all()] == [False, False]


def test_anchors_count_in_pay_pages_and_estimates(client, study):
    landing = client.get(reverse("landing", args=[study.link_code])).content.decode()
    assert "First examples: 2." in landing
    loads = minutes.workloads(study, list(study.tasks.all()))
    assert [(load.anchors, load.examples) for load in loads] == [(2, 6), (2, 8)]
    seat = factories.join(study)
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    page = " ".join(client.get(reverse("work", args=[seat.token])).content.decode().split())
    assert "<strong>First examples:</strong> 2 (right answers not shown)." in page


def test_the_progress_bar_counts_the_anchors():
    place = Place.at("training", 0, 2, 0, 2, 0, 4)
    assert (place.before_test, place.answered) == (4, 2)
    first, _test = place.tracks(0)
    assert first["done"] == first["width"] / 2


def test_an_anchor_is_exposure_and_withdrawal_erases_it(study):
    seat = factories.seat(study.scenarios.get(shots=0))
    assert Exposure.objects.filter(worker_key=seat.worker.key, task_name="toy-labels").exists()
    factories.work_through(seat, limit=2)
    withdrawal.withdraw(seat.token)
    seat.refresh_from_db()
    assert (seat.anchor_order, seat.turns.count()) == ([], 0)
    counts = funnel.by_scenario_and_kind(study, list(funnel.with_training_size(study)))
    assert counts[seat.scenario_id, "person"].withdrawn == 1


def test_parts_on_prolific_begin_after_the_anchors(researcher):
    study = study_with(researcher, shots=[0], estimated_minutes=70, anchor_examples=6)
    one, two = drafts.plan(study, 1, researcher)
    assert (one.part, two.part) == (1, 2)
    seat = factories.join(study)
    seat.part = 1
    seat.save()
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    seat.refresh_from_db()
    assert (seat.status, steps_of(seat)) == (Status.BETWEEN, ["anchor"] * 6)
    assert enter_part(seat, 2).latest_turn().step == Step.ANNOTATION


def test_the_export_has_the_anchors_and_agrees(study, tmp_path, capsys):
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    (frozen,) = json.loads(study.manifest)["anchor_hashes"].values()
    rows = [row for row in export["examples.csv"] if row["file_kind"] == "anchor"]
    assert [row["hash"] for row in rows] == frozen
    assert [row["step"] for row in export["answers.csv"]].count("anchor") == 4
    first = next(row for row in export["answers.csv"] if row["step"] == "anchor")
    first["s1"] = "0"
    export.write()
    assert export.verify() != 0


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"anchor_examples": 7}, "anchor_examples", "toy-labels has 6 unused examples"),
        ({"anchor_examples": 0, "adjusts_for_anchors": True}, "adjusts_for_anchors", "Needs"),
    ],
)
def test_impossible_designs_are_refused(researcher, fields, field, told):
    with pytest.raises(ValidationError) as refused:
        study_with(researcher, **fields)
    assert refused.value.message_dict[field][0].startswith(told)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"anchor_examples": 0, "adjusts_for_anchors": True}, "an_adjusted_contrast_needs_anchors"),
        (
            {"upstream_examples": 1, "sham_task": 1, "anchor_examples": 2},
            "anchors_are_not_of_a_cross_task_study",
        ),
    ],
)
def test_the_database_refuses_them_too(researcher, fields, rule):
    study = study_with(researcher, status="draft")
    if "sham_task" in fields:
        fields = fields | {"sham_task": study.tasks.get()}
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(**fields)


def test_a_design_file_declares_anchors(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('name = "s"\nanchor_examples = 4\nadjusts_for_anchors = true\n')
    fields = design_file.read(path).fields
    assert (fields["anchor_examples"], fields["adjusts_for_anchors"]) == (4, True)


def test_the_preview_shows_the_anchors(ada, study):
    scenario = study.scenarios.get(shots=2)
    page = ada.get(reverse("scenario_preview", args=[study.name, scenario.pk, "anchor", 0]))
    assert page.status_code == 200
    assert "Anchor step" in page.content.decode()
