"""A design's consequences appear next to its form while typing, and again before opening."""

import re
from decimal import Decimal

import pytest
from django.db import connection
from django.urls import reverse

from analysis.planning.planned_power import detectable
from annotation import guards
from annotation.models import Answer, AuditEntry, Study
from annotation.pay.ledger import in_currency
from annotation.study import consequences, minutes
from tests import factories
from tests.annotation.study.test_design import fields

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def task(db):
    return factories.make_task(shots=(2, 4))


def words(reply) -> str:
    return " ".join(reply.content.decode().split())


def test_seats_minutes_and_cost_are_calculated_and_not_stored(ada, task):
    sent = fields(task, annotators="5", calculate="1")
    page = words(ada.post(reverse("study_new"), sent, headers=HTMX))
    assert "<b>10</b>" in page  # 5 annotators at 0 and at 2 shots
    assert "<b>120.00 USD</b> for all seats at the cap" in page  # 12.00 an hour, one hour at most
    assert "budget: 72.00 USD" in page
    assert "the budget covers the cap for 6 annotators at a time" in page
    assert "pay annotators using the completion code on their last page" in page
    assert '<th scope="rowgroup" colspan="5">toy-places</th>' in page
    cells = re.findall(r"<tr>(<td>.*?)</tr>", page)
    assert [re.findall(r"<td>(.*?)</td>", cell) for cell in cells] == [
        ["0", "4 x 6", "3", "20", "5"],
        ["2", "6 x 6", "3", "20", "5"],
    ]
    assert "About 20 minutes. Pay: 12.00" in page
    assert "<html" not in page
    assert not Study.objects.exists()
    # Nothing is logged, because the form asks for this after every word.
    assert not AuditEntry.objects.filter(topic="design").exists()


@pytest.mark.long
def test_the_page_of_a_draft_shows_its_work_and_expected_cost(ada, researcher, task):
    draft = factories.make_study(
        researcher, task, status="draft", shots=[0, 2], annotators=5, estimated_minutes=20,
        hourly_rate=Decimal(12),
    )  # fmt: skip
    sums = consequences.for_study(draft)
    page = words(ada.get(reverse("study", args=[draft.name])))
    assert f"<dt>Expected cost</dt><dd>{in_currency(sums.expected)} {sums.currency}</dd>" in page
    assert f"<dt>Total work</dt><dd>{sums.hours:.1f} hours</dd>" in page
    assert "<dt>Minutes per seat</dt><dd>up to 3 (annotators see: 20)</dd>" in page


def test_calculating_without_javascript_retains_what_was_typed(ada, task):
    reply = ada.post(reverse("study_new"), fields(task, title="Typed", calculate="1"))
    assert reply.status_code == 200
    assert "<b>6</b>" in words(reply)
    assert 'value="Typed"' in words(reply)
    assert not Study.objects.exists()


@pytest.mark.long
def test_a_calculation_names_only_the_fields_it_lacks(ada, task):
    reply = ada.post(reverse("study_new"), fields(task, shots="7", calculate="1"), headers=HTMX)
    assert '<a href="#id_shots">Shots</a>' in words(reply)
    reply = ada.post(reverse("study_new"), fields(task, name="", calculate="1"), headers=HTMX)
    assert "<b>6</b>" in words(reply)
    reply = ada.post(reverse("study_new"), fields(task, name="", calculate="1"))
    assert reply.status_code == 422
    assert "Nothing was saved. Correct these" in words(reply)


@pytest.mark.long
def test_a_pilot_gives_the_seconds_of_an_example(ada, researcher):
    """Less than a tenth of a second is shown as < 0.1, not as 0.0."""
    task = factories.make_task(shots=(2,), test_size=30)
    draft = factories.make_study(researcher, task, status="draft")
    assert minutes.pilot(draft, task) is None
    study = factories.make_study(researcher, task)
    factories.work_through(factories.seat(study.scenarios.first()))
    guards.lift(connection)
    Answer.objects.update(active_seconds=0.02)
    guards.install(connection)
    seconds, answers = minutes.pilot(draft, task)
    assert answers == 30
    assert {cell.pilot for cell in consequences.for_study(draft).cells} == {30}
    assert {cell.seconds_each for cell in consequences.for_study(draft).cells} == {seconds}
    assert seconds == pytest.approx(0.02)
    page = words(ada.get(reverse("study_design", args=[draft.name])))
    assert "<td>30 x &lt; 0.1*</td>" in page


@pytest.mark.long
def test_a_pilot_of_another_researcher_is_not_used(researcher, other_researcher):
    task = factories.make_task(shots=(2,), test_size=30)
    study = factories.make_study(other_researcher, task)
    factories.work_through(factories.seat(study.scenarios.first()))
    draft = factories.make_study(researcher, task, status="draft")
    assert minutes.pilot(draft, task) is None


def test_the_power_of_the_planned_contrast_is_in_the_side_panel(ada, task):
    page = words(ada.post(reverse("study_new"), fields(task, calculate="1"), headers=HTMX))
    assert "toy-places, 0 against 2 shots, 3 annotators each: 80% power to detect" in page
    assert "No SD for this task is known yet" in page
    more = words(
        ada.post(reverse("study_new"), fields(task, annotators="30", calculate="1"), headers=HTMX)
    )
    assert "30 annotators each" in more
    alone = words(ada.post(reverse("study_new"), fields(task, shots="2", calculate="1")))
    assert "at least two shot counts" in alone


@pytest.mark.parametrize(("sds", "is_possible"), [(5.7, True), (10.39, False)])
def test_no_difference_above_100_points_is_offered(sds, is_possible):
    sentence = detectable(sds, 17.3, "your annotators", 0.03)
    assert ("98.6 points at an SD of 17.3" in sentence) == is_possible
    impossible = "no possible difference is detectable with 80% power."
    assert (sentence == impossible) != is_possible


def test_suggested_limits_are_said_not_to_be_saved(ada, researcher, task):
    draft = factories.make_study(researcher, task, status="draft", hourly_rate=Decimal(12))
    address = reverse("study_design", args=[draft.name])
    page = words(ada.get(address))
    assert page.count("Suggested, not saved yet: ") == 2
    assert "no limit until you save the suggested maximum of" in page
    assert f'open the study on <a href="{reverse("study", args=[draft.name])}">Overview</a>' in page
    Study.objects.update(max_paid_hours=1, budget=100)
    page = words(ada.get(address))
    assert "Suggested: " in page
    assert "not saved yet" not in page


@pytest.mark.long
def test_only_required_and_erroneous_sections_are_open(ada, task):
    sections = {s["title"]: s for s in ada.get(reverse("study_new")).context["form"].sections()}
    assert [title for title, section in sections.items() if section["is_open"]] == [
        "Tasks and examples",
        "Time and pay",
    ]
    chosen = fields(task, shots="0 10", hourly_rate="12", budget="50")
    reply = ada.post(reverse("study_new"), chosen | {"calculate": "1"})
    sections = {s["title"]: s for s in reply.context["form"].sections()}
    assert sections["Tasks and examples"]["changed"] == [
        "Tasks: 1", "Shots: 0, 10", "Training splits: 1", "Annotators per scenario: 3",
    ]  # fmt: skip
    assert {"Hourly rate: 12", "Study budget: 50"} <= {*sections["Time and pay"]["changed"]}
    reply = ada.post(reverse("study_new"), fields(task, comprehension_attempts="1"))
    sections = {s["title"]: s for s in reply.context["form"].sections()}
    assert sections["Screening"]["is_open"]
    reply = ada.post(reverse("study_new"), fields(task, idle_limit_hours="7", calculate="1"))
    folded = {s["title"]: s for s in reply.context["form"].sections()}["Further pay and idle time"]
    assert (folded["is_open"], folded["changed"]) == (False, ["Idle limit (hours): 7"])
    assert "Idle limit (hours): 7" in words(reply)
    assert "Default settings" in words(reply)


def test_task_choices_of_the_form_have_different_labels(ada, task):
    form = ada.get(reverse("study_new")).context["form"]
    labels = [choice.choice_label for name in ("tasks", "upstream_tasks") for choice in form[name]]
    assert len(labels) == len(set(labels)) == 2


@pytest.mark.parametrize(("budget", "primary"), [(48, "Open"), (None, "Change the design")])
def test_a_draft_offers_to_open_only_a_complete_design(ada, researcher, task, budget, primary):
    """In an earlier version, the form was folded, and shown even if something was missing."""
    study = factories.make_study(
        researcher, task, status="draft", max_paid_hours="0.5", budget=budget
    )
    page = words(ada.get(reverse("study", args=[study.name])))
    form = page[page.index("overview-actions") :].partition("</form>")[0]
    assert "<details" not in form
    buttons = re.findall(r'<(?:button|a role="button")( class="secondary")?[^>]*>(.*?)</', form)
    assert [name for is_secondary, name in buttons if not is_secondary] == [primary]
    assert page.count(">Change the design<") == 1
    assert ("you commit to" in form) == (primary == "Open")


@pytest.mark.long
def test_opening_confirms_the_sum_and_refuses_a_changed_one(ada, researcher, task):
    study = factories.make_study(
        researcher, task, status="draft", max_paid_hours="0.5", budget=Decimal("48.00")
    )
    address = reverse("study_status", args=[study.name])
    page = words(ada.get(reverse("study", args=[study.name])))
    agreed = "4 seats, 60 minutes announced for each, up to 6.00 USD for each"
    assert agreed in page
    assert "48.00 USD in total at most" in page
    sent = factories.opening(study)
    reply = ada.post(address, {"action": "open"})
    assert (reply.status_code, "Confirm the amount" in words(reply)) == (409, True)
    Study.objects.filter(pk=study.pk).update(budget=Decimal("480.00"))
    reply = ada.post(address, sent)
    assert reply.status_code == 409
    assert "the amount changed" in words(reply)
    assert "480.00 USD in total at most" in words(reply)
    study.refresh_from_db()
    assert study.is_draft
    assert ada.post(address, factories.opening(study)).status_code == 302
    study.refresh_from_db()
    assert study.status == "open"
