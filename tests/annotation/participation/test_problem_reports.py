"""Annotators can report a problem with an example in one line, which researchers see."""

import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.export import bundle_job
from annotation.models import Answer, ProblemReport
from annotation.privacy import withdrawal
from annotation.privacy.personal_data import personal_data
from tests import factories
from tests.analysis.export.tampering import Export
from tests.annotation.participation import both_doors

HOSTILE = "<b>Cut off</b>"


@pytest.fixture(params=both_doors.DOORS)
def door(request):
    return both_doors.DOORS[request.param]()


@pytest.fixture
def study(researcher):
    return both_doors.make_study(researcher, factories.make_task(), shots=[0], annotators=2)


@pytest.fixture
def seat(study):
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    return seat


def test_the_first_report_counts_and_changes_nothing_else(door, seat):
    turn, before = seat.latest_turn(), door.state(seat.token)
    for text in ("The text\n is  cut off.", "Another"):
        assert door.problem(seat.token, turn.pk, text).status_code in (200, 302)
    assert list(ProblemReport.objects.values_list("turn", "text")) == [
        (turn.pk, "The text is cut off.")
    ]
    after = door.state(seat.token)
    if isinstance(door, both_doors.Api):
        assert after.json() == before.json()
    assert door.shows(after, turn.pk)
    assert Answer.objects.count() == 1


@pytest.mark.parametrize("text", ["  ", "x" * 201, "U+0000 \0"])
def test_a_report_is_one_line_of_at_most_200_characters(door, seat, text):
    assert door.problem(seat.token, seat.latest_turn().pk, text).status_code in (400, 422)
    assert not ProblemReport.objects.exists()


def test_a_report_on_an_example_of_another_annotator_is_refused(door, study, seat):
    other = factories.seat(study.scenarios.get())
    factories.work_through(other, limit=1)
    assert door.problem(seat.token, other.latest_turn().pk, "Odd").status_code == 404
    assert not ProblemReport.objects.exists()


def test_the_drawer_leads_to_a_form_that_needs_no_scripts(client, seat):
    work = client.get(reverse("work", args=[seat.token])).content.decode()
    address = reverse("problem", args=[seat.token])
    assert f'<a href="{address}">Report a problem with this example</a>' in work
    form = client.get(address).content.decode()
    turn = re.search(r'name="turn" value="(\d+)"', form)[1]
    reply = client.post(address, {"turn": turn, "text": HOSTILE}, follow=True).content.decode()
    assert "Your report is saved: <q" in " ".join(reply.split())
    assert "&lt;b&gt;Cut off" in reply
    assert f'href="{reverse("work", args=[seat.token])}"' in reply


def test_before_the_first_example_there_is_nothing_to_report(client, study):
    seat = factories.join(study)
    reply = client.get(reverse("problem", args=[seat.token]))
    assert reply["Location"] == reverse("work", args=[seat.token])


def test_after_the_last_example_reports_are_refused(door, client, seat):
    factories.work_through(seat)
    turn = seat.turns.first()
    assert door.problem(seat.token, turn.pk, "Odd").status_code == 404
    assert not ProblemReport.objects.exists()
    address = reverse("problem", args=[seat.token])
    assert client.get(address)["Location"] == reverse("work", args=[seat.token])


def test_a_report_on_an_earlier_example_leads_back_to_the_work(client, seat):
    reply = both_doors.Pages().problem(seat.token, seat.turns.first().pk, "Odd")
    assert reply["Location"] == reverse("work", args=[seat.token])


def test_a_report_makes_a_bundle_out_of_date(study, seat):
    before = bundle_job.state(study)
    both_doors.Pages().problem(seat.token, seat.turns.first().pk, "Odd")
    assert bundle_job.state(study) != before


def test_annotators_can_read_and_erase_their_reports(door, seat):
    door.problem(seat.token, seat.turns.first().pk, "Odd")
    told = personal_data(seat, None)["examples"]
    assert [row["reported_problem"] for row in told] == ["Odd", None]
    withdrawal.withdraw(seat.token)
    assert not ProblemReport.objects.exists()


def test_researchers_see_reports_with_the_item(ada, study, seat, tmp_path):
    turn = seat.turns.first()
    both_doors.Pages().problem(seat.token, turn.pk, HOSTILE)
    factories.work_through(seat)
    shown = "&lt;b&gt;Cut off"
    page = ada.get(reverse("example", args=[study.name, turn.example_id])).content.decode()
    assert shown in page.split("Problems reported by annotators")[1].split("</ul>")[0]
    annotator = ada.get(reverse("participation", args=[study.name, seat.pseudonym]))
    assert shown in annotator.content.decode()
    items = reverse("examples", args=[study.name])
    assert "problem reported by 1" in ada.get(items).content.decode()
    listed = ada.get(items, {"show": "reported"}).content.decode().split("<tbody>")[1]
    assert re.findall(r"<th scope=\"row\"><a [^>]+>([^<]+)", listed) == [turn.example.source_id]
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    export = Export(tmp_path / "export")
    assert export.verify() == 0
    reported = {row["example"]: row["problem"] for row in export["answers.csv"] if row["problem"]}
    assert reported == {turn.example.source_id: HOSTILE}
