"""The report agrees with design and data, names no person and doesn't mix kinds of annotators."""

import csv
import io
import sys

import pytest
from django.test import Client
from django.urls import reverse

from analysis.documents import blocks, preregistration, report
from analysis.documents.blocks import Bullets, Facts, Grid, Picture
from analysis.documents.study_record import StudyRecord
from annotation.models import Kind, Panel, ReportAnswer, Status, Study
from annotation.pay import ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.privacy import withdrawal
from annotation.protocol import exclusion, training_step
from annotation.recruitment import consent, eligibility, seats
from annotation.study import lifecycle, team
from tests import factories
from tests.analysis.documents.reports import block, items, make_study


@pytest.fixture(scope="module")
def stored(module_researcher):
    return make_study(module_researcher).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def funnel_row(study, scenario: str) -> list[int]:
    grid = block(study, "Participant flow", Grid)
    (row,) = [row for row in grid.rows if row[0] == scenario]
    return [int(cell) for cell in row[1:]]


def left(study) -> list[str]:
    return block(study, "Participant flow", Bullets).items


@pytest.mark.long
def test_the_table_is_that_of_the_page_and_counts_people_only(ada, study):
    grid = block(study, "Human performance", Grid)
    assert grid.caption == "Human performance"
    address = reverse("human_performance_file", args=[study.name, "csv"])
    rows = csv.DictReader(io.StringIO(ada.get(address).content.decode()))
    people = [row for row in rows if row["kind"] == "person"]
    for row in people:
        (shown,) = [cells for cells in grid.rows if cells[0] == f"{row['shots']} shots"]
        mean, sd = (100 * float(row[name]) for name in ("mean", "sd_ddof1"))
        assert shown[1].startswith(f"{mean:.1f} ± {sd:.1f}")
        assert "(n=2)" in shown[1]


@pytest.mark.long
def test_simulated_annotators_have_a_separate_section(study):
    grid = block(study, "Simulated annotators", Grid)
    assert grid.caption == "Simulated annotators (not people)"
    assert "(n=1)" in grid.rows[0][1]
    titles = [section.title for section in report.for_study(study).sections]
    assert titles.count("Human performance") == 1


def test_no_simulated_annotators_means_no_such_section(researcher):
    study = factories.make_study(researcher, factories.make_task())
    assert "Simulated annotators" not in [
        section.title for section in report.for_study(study).sections
    ]


@pytest.mark.long
def test_both_versions_are_shown_after_an_exclusion(researcher, study):
    participation = study.participations.filter(kind="person", status="completed").first()
    exclusion.decide(participation, False, "Asleep at the desk", researcher)
    (section,) = [s for s in report.for_study(study).sections if s.title == "Human performance"]
    captions = [block.caption for block in section.blocks]
    assert captions == [
        "Human performance",
        "Human performance, with those excluded from the analysis",
    ]
    grid = block(study, "Consent, withdrawals and exclusions", Grid, "Exclusion decisions")
    assert grid.rows[0][:4] == [
        participation.pseudonym,
        "excluded",
        "by a researcher",
        "Asleep at the desk",
    ]


@pytest.mark.long
def test_the_funnel_counts_each_stage(study):
    # Five people took a seat, and one of them declined.
    assert funnel_row(study, "Total") == [5, 4, 4, 4, 4, 4]
    assert left(study) == ["did not consent: 1"]


@pytest.mark.long
def test_the_funnel_follows_an_annotator_step_by_step(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=2)
    name = "toy-places, 2 shots"
    seat = factories.join(study)
    assert funnel_row(study, name) == [1, 0, 0, 0, 0, 0]
    consent.record(seat, agree=True)
    assert funnel_row(study, name) == [1, 1, 0, 0, 0, 0]
    training_step.begin(seat.token)
    factories.work_through(seat, limit=1)
    assert funnel_row(study, name) == [1, 1, 0, 0, 0, 0]
    factories.work_through(seat, limit=1)
    assert funnel_row(study, name) == [1, 1, 1, 1, 0, 0]
    factories.work_through(seat)
    assert funnel_row(study, name) == [1, 1, 1, 1, 1, 1]
    seat.refresh_from_db()
    exclusion.decide(seat, False, "no", researcher)
    assert funnel_row(study, name) == [1, 1, 1, 1, 1, 0]
    assert left(study) == ["completed, but excluded from the analysis: 1"]


@pytest.mark.long
def test_the_funnel_says_how_people_left(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=5,
        qualification="minimum", qualification_threshold=90,
    )  # fmt: skip
    scenario = study.scenarios.get()
    bad = factories.seat(scenario)
    factories.work_through(bad, lambda turn: ["train"], limit=2)
    factories.go_on(bad.token)
    gone = factories.seat(scenario)
    factories.work_through(gone)
    withdrawal.withdraw(gone.token)
    seats.release_seat(factories.seat(scenario), Status.RETURNED)
    factories.seat(scenario)
    assert left(study) == [
        "screened out: 1",
        "returned the seat: 1",
        "withdrew: 1",
        "still in progress: 1",
    ]
    # The tombstone says how far a withdrawn participant had come.
    assert funnel_row(study, "Total") == [4, 4, 2, 1, 0, 0]


@pytest.mark.long
def test_pay_is_summed_without_naming_annotators(study):
    facts = {fact.name: fact.text for fact in block(study, "Pay and time", Facts).rows}
    earned = sum(
        entry.cents
        for participation in study.participations.all()
        for entry in participation.ledger.all()
    )
    assert earned > 0
    assert facts["Total earned"] == f"{ledger.in_currency(earned)} USD"
    assert facts["Recorded as paid"] == "0.00 USD"
    assert facts["Annotators with settled pay"] == "4"
    grid = block(study, "Pay and time", Grid)
    assert grid.rows[-1][-1] == ledger.in_currency(earned)


def test_the_methods_are_filled_from_design_and_results(study):
    text = methods_of(study)
    assert "human performance on toy-places (version 1) at 0 and 2 shots" in text
    assert (
        "planned to recruit 3 annotators for each of the 2 scenarios (a combination of task and"
        " number of" in text
    )
    assert "by highlighting spans" in text
    assert "At more than zero shots, annotators first completed a training step" in text
    assert "At zero shots, there was no training step" in text
    sources = "4 via an open link; 1 declined, source not stored"
    assert f"Of 5 participants who took a seat ({sources}), 4 consented" in text
    assert "4 completed the study, and 4 were included in the analysis." in text
    assert "Annotators were promised 12.00 USD per hour of active time" in text
    assert "USD, based on active time (n = 4)" in text


def methods_of(study) -> str:
    return " ".join(paragraph.text for paragraph in report.for_study(study).sections[0].blocks)


def everything_of(study) -> str:
    return blocks.as_markdown(report.for_study(study))


@pytest.mark.long
def test_a_zero_shot_study_mentions_no_training(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    text = methods_of(study)
    assert (
        "We planned to recruit 1 annotator for the only scenario (a combination of task and number"
        " of shots)." in text
    )
    assert "There was no training step, and no annotators were screened out based on" in text
    assert "training split" not in everything_of(study)
    assert "Training step:" not in items(study)["3.1.1"].evidence
    assert "after the training examples" not in everything_of(study)
    assert "Between shots: Welch" not in everything_of(study)
    planned = blocks.as_markdown(preregistration.for_study(study))
    assert "with 1 seat in total" in planned
    assert "There is no training step." in planned
    assert "revealed" not in planned
    assert "training examples" not in planned


@pytest.mark.long
def test_a_study_without_zero_shots_does_not_mention_them(researcher):
    labels = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, labels, shots=[2], annotators=2)
    factories.work_through(factories.seat(study.scenarios.get()))
    text = methods_of(study)
    assert "zero shots" not in text
    assert "Annotators answered by choosing a label." in text
    assert "For labels, S1 is 1 if the label is correct and 0 otherwise." in text
    assert "zero shots" not in blocks.as_markdown(preregistration.for_study(study))


@pytest.mark.long
@pytest.mark.parametrize(("shown", "words"), [(True, ", with the help"), (False, ", without the")])
def test_help_examples_at_zero_shots_are_stated_if_there_are_any(researcher, shown, words):
    labels = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(
        researcher, labels, shots=[0], help_examples_at_zero_shots=shown, annotators=1
    )
    assert f"the instructions{words}" in methods_of(study)
    assert f"the instructions{words}" in blocks.as_markdown(preregistration.for_study(study))
    spans = factories.make_study(researcher, factories.make_task(name="other"), shots=[0])
    assert "the task description and the instructions." in methods_of(spans)


def test_alternatives_are_stated_in_the_methods(researcher):
    task = factories.make_task(gold_rule="any_of")
    study = factories.make_study(researcher, task)
    assert "The gold texts of toy-places are alternatives (gold rule any_of)" in methods_of(study)


@pytest.mark.long
def test_a_study_without_completed_people_states_that_first(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get(), Kind.SIMULATED))
    first = report.for_study(study).sections[0].blocks[0].text
    assert first == (
        "No participant has completed this study yet, so this section describes only its design."
    )
    assert "0 consented" not in methods_of(study)
    assert "No annotator withdrew." in everything_of(study)
    factories.work_through(factories.seat(study.scenarios.get()))
    assert "No participant has completed" not in everything_of(study)


@pytest.mark.long
def test_exclusivity_per_browser_is_stated_for_open_links(study, researcher):
    assert (
        "For the 4 annotators who came via an open link, this was enforced per browser only."
        in methods_of(study)
    )
    assert "open link, this was enforced per browser only." in items(study)["2.5"].evidence
    assert (
        "arrive through the study's open link, this is enforced per browser only"
        in blocks.as_markdown(preregistration.for_study(study))
    )
    other = factories.make_study(researcher, factories.make_task(name="other"))
    panel = Panel.objects.create(
        study=other, name="Connect", id_parameter="who", completed_code="DONE1234"
    )
    Client().post(reverse("start", args=[panel.code], query={"who": "one"}))
    assert "Of 1 participant who took a seat (1 via Connect)" in methods_of(other)
    assert "per browser" not in methods_of(other)


def test_the_methods_state_the_gates_of_the_design(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0, 2], qualification="points_below",
        qualification_threshold=10, computer_only=True, base_reward="2.50", max_paid_hours="2.0",
        comprehension_questions="What is wanted?\n* places\n- people",
    )  # fmt: skip
    text = methods_of(study)
    assert "had to answer 1 question about the instructions correctly within 2 attempts" in text
    assert "at most 10 points below the mean of the other annotators." in text
    assert "until 2 other annotators in the scenario had finished the training step." in text
    assert "Participation required a desktop or laptop computer." in text
    assert (
        "completed the task were promised at least 2.50 USD. Paid time was capped at 2 h." in text
    )


@pytest.mark.long
def test_screening_by_rule_is_not_a_deviation_or_exclusion(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=5,
        qualification="minimum", qualification_threshold=90,
    )  # fmt: skip
    bad = factories.seat(study.scenarios.get())
    factories.work_through(bad, lambda turn: ["train"], limit=2)
    factories.go_on(bad.token)
    (section,) = [
        s for s in report.for_study(study).sections if s.title.startswith("Changes since")
    ]
    assert "The study has not been changed" in section.blocks[0].text
    grid = block(study, "Consent, withdrawals and exclusions", Grid, "Exclusion decisions")
    assert [row[2] for row in grid.rows] == ["by the design"]
    assert "In total, 1 annotator was screened out." in methods_of(study)
    assert "After completion" not in methods_of(study)


@pytest.mark.long
def test_a_withdrawn_annotator_is_counted_but_in_no_score(study):
    gone = study.participations.filter(status="completed", kind="person").first()
    withdrawal.withdraw(gone.token)
    assert "In total, 1 annotator withdrew, and their answers were erased." in methods_of(study)
    assert (
        "1 annotator withdrew; their answers were erased and are not part of any score."
        in everything_of(study)
    )


def test_one_added_seat_is_reported_in_the_singular(researcher, study):
    lifecycle.add_seats(study.scenarios.first(), 1, researcher, confirmed=True)
    (section,) = [
        s for s in report.for_study(study).sections if s.title.startswith("Changes since")
    ]
    assert (
        section.blocks[1]
        .items[0]
        .endswith("UTC: 1 seat added to toy-places, 0 shots, after results could be seen")
    )


def test_one_annotator_per_side_has_no_infinite_difference(researcher):
    study = factories.make_study(researcher, factories.make_task(), annotators=1)
    assert items(study)["1.8.1"].answer == (
        "With 80% power by Welch's t test over annotators alone at p < 0.05, in SDs between"
        " annotators: 1 and 1 annotators: more than 50 SDs. The primary test also generalises to"
        " other examples, so it needs at least this difference."
    )


def test_tasks_with_the_same_recipe_share_a_line(researcher):
    other = factories.make_task(name="other")
    study = factories.make_study(researcher, factories.make_task(), other)
    rows = block(study, "Reproducibility", Facts).rows
    recipes = [row.name for row in rows if row.name.startswith("Recipe")]
    assert recipes == ["Recipe for other, toy-places"]


def test_each_consent_text_is_counted(study):
    grid = block(study, "Consent, withdrawals and exclusions", Grid, "Consent texts")
    assert [(row[0], row[2]) for row in grid.rows] == [("1", "4")]


def test_an_untouched_study_has_no_deviations(researcher):
    study = factories.make_study(researcher, factories.make_task())
    (section,) = [
        s for s in report.for_study(study).sections if s.title.startswith("Changes since")
    ]
    assert "The study has not been changed" in section.blocks[0].text


@pytest.mark.long
def test_changes_after_opening_are_deviations(researcher, study):
    lifecycle.change_status(study, "pause", researcher)
    lifecycle.change_status(study, "reopen", researcher)
    study.events.create(what="2 studies on Prolific drafted", by=researcher)  # nothing was sent
    lifecycle.add_seats(study.scenarios.first(), 2, researcher, confirmed=True)
    eligibility.add_rule(study, "deny", "task", "toy-places", by=researcher)
    participation = study.participations.filter(status="completed", kind="person").first()
    exclusion.decide(participation, False, "a reason", researcher)
    (section,) = [
        s for s in report.for_study(study).sections if s.title.startswith("Changes since")
    ]
    lines = [line.split("UTC: ")[1] for line in section.blocks[1].items]
    assert lines == [
        "paused",
        "reopened",
        "2 seats added to toy-places, 0 shots, after results could be seen",
        "list entry created: exclude annotators who have seen the task: toy-places",
        f"{participation.pseudonym} excluded",
    ]
    assert researcher.username not in " ".join(lines)


def test_team_changes_are_not_deviations(researcher, other_researcher, study):
    team.add(study, "grace", "analyst", researcher)
    member = study.members.get().user.username
    team.change(study, member, "payer", researcher, was="analyst")
    team.remove(study, member, researcher)
    study.events.create(what="grace looked at the moon", by=researcher)
    (section,) = [
        s for s in report.for_study(study).sections if s.title.startswith("Changes since")
    ]
    (line,) = section.blocks[1].items
    assert line.endswith("UTC: another change (see the study's log)")


@pytest.mark.long
def test_figures_are_pictures_or_tables_if_they_cannot_be_drawn(study, monkeypatch):
    assert block(study, "Figures", Picture).name == "shots"
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # as if it were not installed
    grid = block(study, "Figures", Grid)
    assert grid.caption == "Shot curve"
    assert len(grid.rows) == 2


@pytest.mark.long
def test_the_report_page_has_its_figures(ada, study):
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    address = reverse("figure_file", args=[study.name, "shots", "svg"])
    assert f'<img src="{address}?kind=person&amp;width=double"' in page
    assert ada.get(address)["Content-Type"] == "image/svg+xml"


@pytest.mark.long
def test_models_are_compared_on_the_same_examples(researcher, study):
    factories.predict(researcher, "toy", study.tasks.get(), 2, 1)
    grid = block(study, "Models on the same examples", Grid, "Models")
    assert grid.rows == [["toy", "toy-places", "2", "S1", "100.0 ± –", "1 of 1"]]
    grid = block(
        study, "Models on the same examples", Grid, "Differences between humans and models"
    )
    assert grid.rows[0][:3] == ["toy", "toy-places", "2"]
    assert (
        "generalise to other people and other examples, with the same model runs" in grid.notes[0]
    )
    assert grid.columns[3:6] == ["Training", "Difference", "95 % CI"]
    assert grid.rows[0][3] == "same splits"


# Access -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_reading_the_report_stores_nothing(ada, study, django_assert_max_num_queries):
    with django_assert_max_num_queries(100) as seen:
        ada.get(reverse("report", args=[study.name]))
    written = [q["sql"] for q in seen if q["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE")]
    assert written == []


def test_only_the_owner_may_read_it_or_answer(client, other_researcher, study):
    client.force_login(other_researcher)
    address = reverse("report", args=[study.name])
    assert client.get(address).status_code == 404
    assert client.post(address, {"item-1.9": "mine"}).status_code == 404
    assert client.get(reverse("report_file", args=[study.name])).status_code == 404
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_an_analyst_reads_it_and_is_asked_nothing(client, researcher, other_researcher, study):
    team.add(study, "grace", "analyst", researcher)
    client.force_login(other_researcher)
    address = reverse("report", args=[study.name])
    page = client.get(address).content.decode()
    assert "1.9 Ethics review: Unknown" in page
    assert "<textarea" not in page
    assert client.post(address, {"item-1.9": "mine"}).status_code == 403
    assert not ReportAnswer.objects.exists()


def test_a_draft_has_nothing_to_report(ada, researcher):
    draft = factories.make_study(researcher, factories.make_task(), status="draft")
    page = ada.get(reverse("report", args=[draft.name])).content.decode()
    assert "Once you open it, the report is generated" in page
    assert ada.get(reverse("report_file", args=[draft.name])).status_code == 404
    assert ada.post(reverse("report", args=[draft.name]), {}).status_code == 404


@pytest.mark.long
def test_no_secret_and_no_name_is_in_the_report(ada, study):
    text = ada.get(reverse("report_file", args=[study.name])).content.decode()
    for participation in study.participations.select_related("worker"):
        assert participation.token not in text
        assert participation.worker.key not in text
        assert participation.completion_code not in text
    assert study.manifest_hash in text
    assert "`s1|match:exact" in text


@pytest.mark.long
def test_the_report_states_what_the_ledger_records_as_paid(researcher, db):
    study = make_study(researcher)
    earned = f"{ledger.in_currency(StudyRecord(study).earned)} USD"
    assert "were paid" not in methods_of(study)
    assert f"Annotators earned {earned} in total, of which none is recorded as paid." in (
        methods_of(study)
    )
    assert items(study)["2.7"].answer == "Partial"
    for batch in batches.prepare(study, researcher):
        assert "of which none is recorded as paid." in methods_of(study)
        payout.mark_paid(batch)
    assert f"earned {earned} in total, of which all is recorded as paid." in (methods_of(study))
    assert (items(study)["2.6.2"].answer, items(study)["2.7"].answer) == ("Yes", "Yes")


@pytest.mark.long
def test_earnings_of_withdrawn_annotators_are_stated_separately(researcher, db):
    study = make_study(researcher)
    gone = study.participations.filter(status="completed", kind="person").first()
    withdrawal.withdraw(gone.token)
    facts = {row.name: row.text for row in block(study, "Pay and time", Facts).rows}
    assert facts["Annotators with settled pay"] == ("3; 1 more withdrew (included in amounts only)")
