"""Researchers exclude several annotators with quality flags at once: all of them or none."""

import pytest
from django.urls import reverse

from annotation.models import Decision, Participation
from annotation.protocol import exclusion
from tests import factories


@pytest.fixture
def study(researcher):
    task = factories.make_task(labels=factories.LABELS, test_size=20)
    return factories.make_study(researcher, task, shots=[0], annotators=5)


@pytest.fixture
def people(study):
    """Three annotators who always gave the same answer, and one who didn't."""
    seats = [factories.seat(study.scenarios.get()) for _ in range(4)]
    for seat in seats[:3]:
        factories.work_through(seat, lambda turn: ["positive"])
    factories.work_through(seats[3])
    return seats


def send(client, study, people, reason="always the same label"):
    sent = {"annotators": [each.pseudonym for each in people], "reason": reason}
    return client.post(reverse("behaviour_exclude", args=[study.name]) + "?show=flagged", sent)


def flagged_page(client, study) -> str:
    """Return the list of flagged annotators, to which an earlier address redirects."""
    reply = client.get(reverse("behaviour", args=[study.name]), follow=True)
    assert reply.redirect_chain[-1][0].endswith("/people/?show=flagged")
    return reply.content.decode()


def counted(people) -> list[bool]:
    return [Participation.objects.get(pk=each.pk).in_analysis for each in people]


@pytest.mark.long
def test_a_joint_exclusion_equals_single_ones_with_an_entry_each(ada, study, people):
    page = flagged_page(ada, study)
    for each in people[:3]:
        assert f'aria-label="Select {each.pseudonym}"' in page
    back = send(ada, study, people[:2]).url
    assert back.startswith(f"{reverse('people', args=[study.name])}?show=flagged&")
    assert back.endswith("#participations")
    assert counted(people) == [False, False, True, True]
    exclusion.decide(people[2], False, "always the same label", study.owner)
    rows = Decision.objects.values_list("about", "outcome", "reason", "by", "score_seen")
    assert len(rows) == 3
    assert len(set(rows)) == 1
    logged = study.events.filter(what="excluded from the analysis")
    assert {entry.about for entry in logged} == {each.pseudonym for each in people[:3]}
    page = flagged_page(ada, study)
    assert f'value="{people[0].pseudonym}"' in page  # to be paid or withdrawn
    assert study.participations.filter(seat_number__isnull=False).count() == 1


def test_the_reason_of_a_refused_undo_is_not_offered_for_others(ada, study, people):
    sent = {"annotators": ["A-NONE"], "reason": "The exclusion was undone.", "again": "1"}
    reply = ada.post(reverse("behaviour_exclude", args=[study.name]), sent)
    assert reply.status_code == 422
    assert "A-NONE does not exist" in reply.content.decode()
    assert "The exclusion was undone." not in reply.content.decode()


def test_a_joint_exclusion_can_be_undone_with_one_press(ada, study, people):
    names = [each.pseudonym for each in people[:2]]
    assert ">Undo<" not in ada.get(reverse("people", args=[study.name])).content.decode()
    page = ada.get(send(ada, study, people[:2]).url).content.decode()
    undo = page[page.index('class="notice actions"') : page.index(">Undo<")]
    assert page.count("undo=") == 0  # links and searches must not repeat the undo
    assert [f'value="{each.pseudonym}"' in undo for each in people] == [True, True, False, False]
    sent = {"annotators": names, "reason": "The exclusion was undone.", "again": "1"}
    reply = ada.post(reverse("behaviour_exclude", args=[study.name]), sent, follow=True)
    assert counted(people) == [True] * 4
    assert "Included in the analysis again: 2." in reply.content.decode()
    assert ">Undo<" not in reply.content.decode()
    logged = study.events.filter(what="included in the analysis again")
    assert {entry.about for entry in logged} == set(names)


@pytest.mark.long
def test_a_joint_exclusion_is_refused_if_one_cannot_be_excluded(ada, study, people, researcher):
    still = factories.seat(study.scenarios.get())
    factories.work_through(still, limit=3)
    reply = send(ada, study, [*people[:3], still])
    page = reply.content.decode()
    assert reply.status_code == 422
    assert f"{still.pseudonym}: Only a completed participation can be excluded" in page
    assert counted(people) == [True] * 4
    assert not Decision.objects.exists()
    assert page.count(" checked>") == 4  # so that one can be left out
    assert 'value="always the same label"' in page
    stranger = factories.make_study(researcher, study.tasks.get(), shots=[2], name="other")
    (seat,) = [factories.seat(stranger.scenarios.get())]
    factories.work_through(seat)
    assert "does not exist in this study" in send(ada, study, [people[0], seat]).content.decode()
    assert counted([people[0], seat]) == [True, True]


@pytest.mark.long
def test_a_joint_exclusion_needs_a_reason_and_an_annotator(ada, study, people):
    for some, reason, words in [
        (people, " ", "Enter a reason"),
        ([], "odd", ("Select an annotator.")),
    ]:
        reply = send(ada, study, some, reason)
        assert reply.status_code == 422
        assert words in reply.content.decode()
    assert not Decision.objects.exists()


@pytest.mark.long
def test_a_program_excludes_several_annotators(client, study, people, researcher):
    address = reverse("api_exclude_together", args=[study.name])
    names = [each.pseudonym for each in people[:2]]
    sent = {"content_type": "application/json", "headers": factories.bearer(researcher, "run")}
    reply = client.post(address, {"annotators": [*names, "A-NOONE"], "reason": "odd"}, **sent)
    assert reply.status_code == 422
    assert "The annotator A-NOONE does not exist in this study." in reply.content.decode()
    assert counted(people) == [True] * 4
    reply = client.post(address, {"annotators": names, "reason": "odd"}, **sent)
    assert reply.json() == {"done": "Excluded from the analysis: 2."}
    assert counted(people) == [False, False, True, True]
