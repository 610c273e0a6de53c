"""The overview lists what a researcher must do now, and shows how fast the study fills."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import lxml.html
import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Participation, Study
from annotation.monitoring import progress, seats, todo
from annotation.study import lifecycle
from tests import factories

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[0, 2], annotators=3, base_reward=Decimal(5)
    ).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def needs(study: Study, after: timedelta = timedelta()) -> dict[str, str]:
    """Return the owner's required actions after this time, as name -> title."""
    seen = Study.objects.visible_to(study.owner).get(pk=study.pk)
    now = timezone.now() + after
    return {need.name: need.title for need in todo.needs(seen, progress.for_study(seen), now)}


def test_a_new_study_has_no_required_actions(ada, study):
    assert needs(study) == {}
    assert "No action required<" in ada.get(reverse("study", args=[study.name])).content.decode()


def test_six_hours_without_arrivals_are_reported(study):
    assert "quiet" not in needs(study, timedelta(hours=5))
    assert needs(study, timedelta(hours=7, minutes=20))["quiet"] == "No new annotators for 7 h"
    factories.seat(study.scenarios.first())
    Participation.objects.update(arrived_at=timezone.now() + timedelta(hours=4))
    assert "quiet" not in needs(study, timedelta(hours=7))
    lifecycle.change_status(study, "pause")
    assert "quiet" not in needs(study, timedelta(hours=30))


def test_money_to_pay_and_flags_are_required_actions(study):
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    assert needs(study) == {
        "pay": "5.00 USD to pay",
        "flags": "1 of 1 completed annotators flagged",
    }


@pytest.mark.long
def test_many_screen_outs_are_a_warning(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=9, max_screen_outs_in_a_row=9,
        qualification="minimum", qualification_threshold=50,
    )  # fmt: skip
    scenario = study.scenarios.get()
    factories.work_through(factories.seat(scenario))
    for _ in range(3):
        assert "screened-out" not in needs(study)
        bad = factories.seat(scenario)
        factories.work_through(bad, lambda turn: ["home"], limit=2)
        factories.go_on(bad.token)
    assert needs(study)["screened-out"] == "3 of 4 screened out"


def test_a_full_study_says_so(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    assert needs(study)["full"] == "All seats are taken"


def test_a_study_whose_budget_turns_arrivals_away_says_so(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=4, base_reward=Decimal(5),
        hourly_rate=Decimal(6), max_paid_hours=Decimal(1), budget=Decimal(7),
    )  # fmt: skip
    assert "budget" not in needs(study)
    factories.seat(study.scenarios.get())
    said = needs(study, timedelta(hours=9))
    assert said["budget"] == "The budget does not cover another annotator at the moment"
    assert "quiet" not in said
    lifecycle.raise_budget(study, Decimal(20), study.owner)
    assert "budget" not in needs(study)


def test_a_draft_states_how_many_annotators_its_budget_covers(ada, researcher):
    draft = factories.make_study(
        researcher, factories.make_task(), status="draft", shots=[0], annotators=4,
        base_reward=Decimal(5), hourly_rate=Decimal(6), max_paid_hours=Decimal(1),
        budget=Decimal(7),
    )  # fmt: skip
    page = ada.get(reverse("study", args=[draft.name])).content.decode()
    assert "the budget covers the cap for 1 annotator at a time" in page
    draft.budget = Decimal(24)
    draft.save()
    page = ada.get(reverse("study", args=[draft.name])).content.decode()
    assert "at a time" not in page


def test_a_full_study_in_progress_says_that_every_seat_is_taken(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    assert "full" not in needs(study)
    factories.seat(study.scenarios.get())
    assert needs(study)["full"] == "All seats are taken"


def test_a_pause_on_prolific_is_reported_with_its_reason(study):
    study.prolific_studies.create(
        name="Part 1", reward_cents=500, minutes=20, max_minutes=60, places=3,
        status="PAUSED", pause_reason="the balance is too low",
    )  # fmt: skip
    seen = Study.objects.visible_to(study.owner).get(pk=study.pk)
    (need,) = todo.needs(seen, progress.for_study(seen), timezone.now())
    assert (need.title, need.detail, need.action, need.warns) == (
        "Paused on Prolific: Part 1", "the balance is too low.", "Platforms", True
    )  # fmt: skip


# Pace --------------------------------------------------------------------------------------------


def came(days: float, status: str = "completed") -> tuple[datetime, datetime, str]:
    """Return the row of a participant who arrived and finished this many days before noon."""
    at = NOON - timedelta(days=days)
    return at, at, status


def test_pace_counts_arrivals_since_the_first_within_a_week():
    rows = [came(2), came(1), came(1), came(0), came(0, "screened_out"), (NOON, None, "working")]
    measured = seats.measured(rows, NOON)
    assert [count for _day, count in measured.days] == [0, 0, 0, 0, 1, 2, 1]
    assert measured.per_day == pytest.approx(4 / 3)
    assert measured.last_arrival == NOON
    assert measured.full_on(4) == date(2026, 5, 9)
    assert measured.full_on(0) is None


def test_older_arrivals_do_not_count_and_no_arrivals_give_no_end():
    measured = seats.measured([came(30)], NOON)
    assert measured.per_day == 0
    assert measured.full_on(3) is None
    nobody = seats.measured([], NOON)
    assert (nobody.per_day, nobody.last_arrival, nobody.full_on(3)) == (0, None, None)


# The page ----------------------------------------------------------------------------------------


def test_a_draft_shows_what_it_lacks_and_no_counts(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], status="draft", hourly_rate=Decimal(12)
    )
    Study.objects.filter(pk=study.pk).update(budget=None)
    shown = ada.get(reverse("study", args=[study.name])).content.decode()
    assert "Not ready to open" in shown
    for words in ("From arrival to analysis", "annotators per day", "Action required", "0 of"):
        assert words not in shown


@pytest.mark.long
def test_each_seat_is_drawn_with_its_state(ada, study):
    zero, two = study.scenarios.order_by("shots")
    factories.work_through(factories.seat(zero))
    factories.seat(two)
    states = {
        task: [cell.states for cell in cells] for task, cells in progress.for_study(study).grid.rows
    }
    assert states == {"toy-places": [["done", "free", "free"], ["working", "free", "free"]]}
    shown = ada.get(reverse("study", args=[study.name])).content.decode()
    assert shown.count("seat seat-done") == 2  # one in the grid and one in the legend
    assert "0 of 3<span" in shown


def test_seats_are_in_the_order_of_the_results(ada, researcher):
    families = {"MNLI": "classification", "SST-2": "classification", "a": "reading_comprehension"}
    tasks = [factories.make_task(name=name, family=family) for name, family in families.items()]
    study = factories.make_study(researcher, *tasks, shots=[0, 2], annotators=1)
    shown = progress.for_study(study).grid
    assert [task for task, _cells in shown.rows] == ["SST-2", "MNLI", "a"]
    assert shown.columns == ["0 shots", "2 shots"]
    design = ada.get(reverse("study_design", args=[study.name]))
    assert [task.name for task in design.context["tasks"]] == ["SST-2", "MNLI", "a"]
    for page in ("recruit", "people"):
        content = lxml.html.fromstring(ada.get(reverse(page, args=[study.name])).content)
        rows = content.xpath("//tbody[@id='progress-seats' or @id='progress-funnel']//th")
        names = [row.text_content().replace(",", " ").split()[0] for row in rows]
        assert [name for name in names if name in families] == ["SST-2"] * 2 + ["MNLI"] * 2 + [
            "a"
        ] * 2


def test_a_rehearsal_leads_from_simulated_annotators_to_a_study(ada, researcher):
    task = factories.make_task()
    study = factories.make_study(
        researcher, task, shots=[0], annotators=2, rehearsal=True, base_reward=Decimal(5)
    )
    address = reverse("study", args=[study.name])
    page = lxml.html.fromstring(ada.get(address).content)
    assert page.get_element_by_id("next-step").get("href") == reverse(
        "rehearsal", args=[study.name]
    )
    factories.work_through(factories.seat(study.scenarios.get(), kind="simulated"))
    page = lxml.html.fromstring(ada.get(address).content)
    step = page.get_element_by_id("next-step")
    assert step.text == "Create a study like this"
    seats = " ".join(page.get_element_by_id("progress-grid").text_content().split())
    assert seats.startswith("1 simulated annotator completed (they don't use up seats) 0 of 2")
    assert "USD" not in page.get_element_by_id("progress-money").text_content()
    form = ada.get(step.get("href")).context["form"]
    assert form.instance.base_reward == study.base_reward
    assert not form.instance.rehearsal


def test_a_rehearsal_invites_no_people(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=2, rehearsal=True
    )
    assert "quiet" not in needs(study, timedelta(days=2))

    def page(name: str, **query: str) -> lxml.html.HtmlElement:
        address = reverse(name, args=[study.name], query=query)
        return lxml.html.fromstring(ada.get(address).content)

    shown = page("study")
    assert shown.get_element_by_id("link-heading").text == "Try it yourself"
    for view in ({}, {"show": "links"}, {"show": "platforms"}):
        notice = page("recruit", **view).xpath("//main//p[@class='notice']")[0].text_content()
        assert notice.startswith("This is a rehearsal, so don't recruit anyone for it.")
    recruit = page("recruit")
    assert recruit.get_element_by_id("study-link").value.endswith(f"{study.link_code}/")
    assert not recruit.xpath("//*[@id='study-invitation']")
    factories.work_through(factories.seat(study.scenarios.get(), kind="simulated"))
    factories.seat(study.scenarios.get())  # the researcher tries it
    step = page("study").get_element_by_id("next-step")
    assert step.text == "Create a study like this"


@pytest.mark.parametrize("page", ["study", "recruit"])
@pytest.mark.parametrize(("host", "is_local"), [("127.0.0.1:8000", True), ("testserver", False)])
def test_a_link_to_this_computer_is_marked(ada, study, page, host, is_local):
    shown = ada.get(reverse(page, args=[study.name]), headers={"host": host}).content.decode()
    assert study.link_code in shown
    assert ("This link works only on this computer" in shown) is is_local
    assert ('href="/help/install/"' in shown) is is_local


@pytest.mark.long
def test_a_closed_study_shows_no_recruiting_texts(ada, study):
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    recruiting = (
        "Link for annotators",
        "Open seats (minimum)",
        "Expected to be complete",
        "progress-left",
    )
    opened = ada.get(reverse("study", args=[study.name])).content.decode()
    assert [words for words in recruiting if words not in opened] == []
    lifecycle.change_status(study, "close")
    closed = ada.get(reverse("study", args=[study.name])).content.decode()
    assert [words for words in recruiting if words in closed] == []
    for page in ("report", "release", "pay"):
        assert f'id="next-{page}" href="{reverse(page, args=[study.name])}"' in closed
    recruit = ada.get(reverse("recruit", args=[study.name])).content.decode()
    assert "The study is closed" in recruit
    assert study.link_code not in recruit


def test_each_change_of_status_states_its_consequence(ada, study):
    page = ada.get(reverse("study", args=[study.name])).content.decode()
    menu = page.partition('class="overview-more"')[2].partition("</details>")[0]
    assert "No new annotators can join a paused study" in menu
    assert "You can then change the design again." in menu
    assert "No new annotators can join a closed study" in menu


@pytest.mark.long
def test_the_next_step_is_the_only_primary_button(ada, study):
    def primary() -> list[str]:
        page = lxml.html.fromstring(ada.get(reverse("study", args=[study.name])).content)
        buttons = page.xpath("//main//*[self::button or @role='button']")
        return [each.text for each in buttons if "secondary" not in each.get("class", "")]

    assert primary() == ["Copy link", "Recruit"]  # Recruit appears only in browsers that can't copy
    lifecycle.change_status(study, "pause")
    assert primary() == ["Reopen"]
    lifecycle.change_status(study, "reopen")
    lifecycle.switch(study, dict.fromkeys(lifecycle.SWITCHES, False), study.owner)
    assert primary() == ["Recruit"]
    for scenario in study.scenarios.all():
        for _ in range(scenario.seats):
            factories.seat(scenario)
    assert primary() == ["Publish results"]
    lifecycle.change_status(study, "close")
    assert primary() == ["Publish results"]


def test_copy_is_the_only_primary_button_of_recruit(ada, study):
    page = lxml.html.fromstring(ada.get(reverse("recruit", args=[study.name])).content)
    buttons = page.xpath("//main//*[self::button or @role='button']")
    primary = [each for each in buttons if "secondary" not in each.get("class", "")]
    assert [each.text for each in primary] == ["Copy"]
    assert primary[0].getparent()[0].get("id") == "study-link"


@pytest.mark.parametrize("page", ["people", "personal_links", "platforms", "gold_audit"])
def test_a_closed_study_gives_out_no_link_on_any_page(ada, study, page):
    address = reverse(page, args=[study.name])
    recruiting = ("Share the link", "share its link", "Create links", study.link_code)
    opened = ada.get(address, follow=True).content.decode()
    assert any(words in opened for words in recruiting)
    lifecycle.change_status(study, "close")
    closed = ada.get(address, follow=True).content.decode()
    assert "The study is closed" in closed
    assert not any(words in closed for words in recruiting)


def test_a_closed_study_states_the_cost_of_working_seats(ada, study):
    factories.seat(study.scenarios.get(shots=0))
    lifecycle.change_status(study, "close")
    closed = ada.get(reverse("study", args=[study.name])).content.decode()
    assert "Seats in progress (minimum)" in closed
    assert "progress-left" in closed
    assert "Expected to be complete" not in closed


@pytest.mark.parametrize("rate", [0, 12])
def test_a_closed_study_asks_only_for_pay_that_was_earned(ada, researcher, rate):
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[0], annotators=1, hourly_rate=rate)
    factories.work_through(factories.seat(study.scenarios.get()))
    lifecycle.change_status(study, "close", researcher)
    page = ada.get(reverse("study", args=[study.name])).content.decode()
    assert ("Pay annotators" in page) == bool(rate)
