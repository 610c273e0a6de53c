"""The landing page counts refused arrivals by reason, without storing personal data."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Exposure, Participation, RefusedArrival, Worker
from annotation.study import lifecycle
from tests import factories
from tests.annotation.protocol.test_model_annotators import exported


@pytest.fixture
def study(researcher):
    return factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)


def refuse(client, study) -> str:
    """Open the landing page, and send the form that its script sends automatically."""
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    form = re.search(r'<form method="post" hidden hx-post="([^"]+)" hx-trigger="load"', page)
    if form:
        ticket = re.search(r'name="arrival" value="([^"]+)"', page)[1]
        assert client.post(form[1], {"arrival": ticket}).status_code == 204
    return page


def counts(study) -> dict[str, int]:
    return dict(study.refused_arrivals.values_list("reason", "number"))


@pytest.mark.long
def test_an_exposed_arrival_is_counted_once_for_each_browser(client, study, researcher):
    client.post(reverse("start", args=[study.link_code]))
    seat = Participation.objects.get()
    factories.consent.record(seat, agree=True)
    factories.training_step.begin(seat.token)
    other = factories.make_study(researcher, study.tasks.get(), shots=[0], annotators=1)
    assert Exposure.objects.exists()
    for _ in range(3):
        assert "All places" in refuse(client, other)
    assert counts(other) == {"met": 1}
    assert counts(study) == {}


def test_arrivals_without_a_free_seat_are_counted_as_full(client, study):
    factories.join(study)
    for _ in range(2):
        refuse(Client(), study)
    assert counts(study) == {"full": 2}


def test_paused_and_closed_are_separate_reasons_for_one_browser(client, study):
    lifecycle.change_status(study, "pause")
    refuse(client, study)
    lifecycle.change_status(study, "close")
    refuse(client, study)
    refuse(client, study)
    assert counts(study) == {"paused": 1, "closed": 1}


def test_the_page_writes_nothing_and_counts_identify_no_visitor(client, study):
    lifecycle.change_status(study, "pause")
    client.get(reverse("landing", args=[study.link_code]))
    assert not RefusedArrival.objects.exists()
    refuse(client, study)
    assert not Worker.objects.exists()
    names = {field.name for field in RefusedArrival._meta.get_fields()}
    assert names == {"id", "study", "reason", "number"}


def test_a_post_without_a_refusal_counts_nothing(client, study):
    assert client.post(reverse("refused", args=[study.link_code])).status_code == 204
    assert "hx-trigger" not in refuse(client, study)
    assert not RefusedArrival.objects.exists()


@pytest.mark.long
def test_the_researcher_and_the_export_have_the_counts(client, ada, study, tmp_path):
    lifecycle.change_status(study, "pause")
    refuse(client, study)
    page = ada.get(reverse("people", args=[study.name])).content.decode()
    assert "1\n  the study was paused" in page
    exported(study, tmp_path)
    rows = (tmp_path / "refused_arrivals.csv").read_text().splitlines()
    assert rows[1].endswith(",paused,1")
