"""Handful's requests and the double's replies match Prolific's OpenAPI document.

A copy of the document is stored next to the project, like the real data.
"""

import re
from functools import cache
from urllib.parse import urlsplit

import pytest
import requests
from django.test import Client

from annotation.models import Participation, Scenario
from annotation.pay import ledger
from annotation.prolific import accounts, drafts, review, studies, sync
from annotation.protocol import training_step
from annotation.recruitment import consent
from tests import factories
from tests.annotation.openapi import Judge, Recorder, Slips, changed
from tests.annotation.prolific.fixtures import pay_all
from tests.conftest import SHARED
from tests.prolific_double.platform import FakeProlific
from tests.prolific_double.site import ADDRESSES, Server, address_of

pytestmark = pytest.mark.real_data

ANN, BEA, CEM, DAN = (letter * 24 for letter in "abcd")
SLIPS = Slips(
    any_of={
        "RangeFilterSelectedRangeLower": "a whole number is an integer and a number",
        "RangeFilterSelectedRangeUpper": "a whole number is an integer and a number",
        "RangeFilterListResponseMin": "a whole number is an integer and a number",
        "RangeFilterListResponseMax": "a whole number is an integer and a number",
        "FilterListResultsItems": "a short filter fits the detailed shape too",
    },
    error=("Error", "for some addresses it is documented without its envelope, which clients read"),
)


@cache
def judge() -> Judge:
    text = (SHARED / "data" / "prolific" / "openapi.yml").read_text()
    return Judge(text, SLIPS)


def complaints(seen) -> list[str]:
    return [told for each in seen for told in judge().complaints(each)]


@pytest.fixture
def fake():
    return FakeProlific(token="t")


@pytest.fixture
def recorder(fake):
    return Recorder(fake.app)


@pytest.fixture
def server(recorder):
    with Server(recorder) as server:
        yield server


# Handful


@pytest.fixture
def ours(settings, fake, server):
    settings.PROLIFIC_URL = settings.PROLIFIC_APP_URL = server.url
    settings.PROLIFIC_TOKEN = "t"
    settings.PROLIFIC_WORKSPACE = fake.first_workspace


def visit(fake, on_prolific, person, work):
    """Arrive through Prolific's link, do this work, and return with the resulting code."""
    place = fake.arrive(on_prolific.external_id, person)
    browser, address = Client(), urlsplit(place["url"])
    page = browser.get(f"{address.path}?{address.query}").content.decode()
    form = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    reply = browser.post(f"{address.path}start/?{address.query}", form)
    seat = Participation.objects.get(token=reply.url.split("/")[2])
    outcome = work(seat)
    fake.complete(place["session_id"], on_prolific.codes[outcome])
    # None for participants who declined, because they are not stored.
    return Participation.objects.filter(pk=seat.pk).first(), place["session_id"]


def completes(seat):
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat)
    return "completed"


def declines(seat):
    consent.record(seat, agree=False)
    return "no_consent"


def fails(seat):
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    factories.work_through(seat, lambda turn: ["train"], limit=2)
    factories.go_on(seat.token)
    return "not_qualified"


def make_study(researcher, name):
    return factories.make_study(
        researcher,
        factories.make_task(name=name),
        shots=[2],
        annotators=3,
        hourly_rate=12,
        currency="GBP",
        estimated_minutes=60,
        qualification="minimum",
        qualification_threshold=50,
        audience={
            "countries": ["United Kingdom"], "languages": ["English"], "minimum_age": 18,
            "maximum_age": 70, "approval_rate": 95, "filters": [
                {"filter_id": "handedness", "selected_values": ["0", "1"]},
                {"filter_id": "sex", "selected_values": ["0", "1"], "weightings": {"0": 4, "1": 6}},
            ],
            "content_warning": "Some texts contain insults.",
        },
    )  # fmt: skip


def our_flow(fake, researcher):
    """Make every request that Handful makes to Prolific, in the order of a study."""
    accounts.set_token(researcher, fake.token, "", "")
    study = make_study(researcher, "whole")
    drafts.plan(study, 0, researcher)
    whole = study.prolific_studies.get()
    studies.ask(study)
    studies.create(whole, "http://testserver")
    good, _ = visit(fake, whole, ANN, completes)
    visit(fake, whole, BEA, fails)
    bad, _ = visit(fake, whole, CEM, completes)
    _, gone = visit(fake, whole, DAN, declines)
    sync.sync_all()
    review.ask_to_return(bad, "You asked for it.")
    fake.return_submission(gone)
    review.reject(bad, "Most of the questions were skipped. " * 3, "LOW_EFFORT", researcher)
    ledger.add_bonus(good, 123, "thanks", None)
    Scenario.objects.filter(study=study).update(seats=9)
    sync.sync(study)
    pay_all(study)
    parts = make_study(researcher, "parts")
    fake.mode(signing="on")
    drafts.plan(parts, 1, researcher)
    parts.prolific_studies.update(signed=True)
    for part in (1, 2):
        studies.create(parts.prolific_studies.get(part=part), "http://testserver")
    sync.sync(parts)


@pytest.mark.django_db
@pytest.mark.long
def test_every_request_of_ours_and_its_reply_are_as_documented(ours, fake, recorder, researcher):
    our_flow(fake, researcher)
    assert [each for each in recorder.seen if each.status >= 400] == []
    assert complaints(recorder.seen) == []
    # Handful calls every address of the double. The next test deletes a draft.
    assert {*ADDRESSES} - called(recorder) == {"DELETE studies/ID/"}
    # The control: after any request, a reply of the wrong type is reported.
    spoilt = [changed(each, reply=12) for each in recorder.seen]
    assert [str(each) for each in spoilt if not judge().complaints(each)] == []


def called(recorder) -> set[str]:
    """Return the double's addresses that were requested."""
    paths = [(each.method, each.path.removeprefix("/api/v1/")) for each in recorder.seen]
    return {address_of(method, path)[0] for method, path in paths if ".well-known" not in path}


# The double


def send(server, method, path, body=None):
    """Send a request like a researcher's program."""
    return requests.request(
        method, f"{server.url}/api/v1/{path}", json=body, timeout=20,
        headers={"Authorization": "Token t"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "studies/", {}),
        ("GET", "studies/none/", None),
        ("PUT", "studies/", {}),
        ("POST", "submissions/none/transition/", {"action": "APPROVE"}),
        ("GET", "submissions/?study=none", None),
    ],
)
def test_every_error_of_the_double_has_the_documented_format(server, recorder, method, path, body):
    send(server, method, path, body)
    (seen,) = recorder.seen
    assert seen.status >= 400
    if method != "PUT":
        assert [told for told in judge().complaints(seen) if "reply" in told] == []


# The judge itself


DRAFT = {
    "name": "Highlight the answer", "description": "You highlight words.",
    "external_study_url": "https://handful.example/r/?PROLIFIC_PID={{%PROLIFIC_PID%}}",
    "prolific_id_option": "url_parameters", "total_available_places": 3, "reward": 300,
    "estimated_completion_time": 20, "maximum_allowed_time": 60, "study_labels": ["annotation"],
    "completion_codes": [
        {"code": "LOOK", "code_type": "OTHER", "actor": "participant",
         "actions": [{"action": "MANUALLY_REVIEW"}]},
    ],
}  # fmt: skip


@pytest.fixture
def drafted(server, recorder):
    study = send(server, "POST", "studies/", DRAFT).json()["id"]
    send(server, "GET", f"submissions/?study={study}")
    return recorder.seen


@pytest.mark.parametrize(
    "request_fields",
    [
        {"reward": "300"},
        {"study_labels": ["annotating"]},
        {"completion_code": "DONE"},
        {"completion_codes": [{"code": "A"}]},
        {"completion_codes": [{"code": "A", "code_type": "OTHER", "actions": [], "colour": 1}]},
        {"filters": [{"filter_id": "age"}]},
    ],
)
def test_the_judge_finds_an_undocumented_request(drafted, request_fields):
    study, _ = drafted
    assert judge().complaints(study) == []
    assert judge().complaints(changed(study, body={**study.body, **request_fields}))


def test_the_judge_finds_undocumented_addresses_and_parameters(drafted):
    study, listed = drafted
    assert judge().complaints(listed) == []
    for wrong in (
        changed(study, path="/api/v1/study/"),
        changed(study, method="PUT"),
        changed(study, has_token=False),
        changed(study, status=200),
        changed(study, query={"draft": "1"}),
        changed(listed, query={}),
        changed(listed, query={**listed.query, "ordering": "name"}),
        changed(listed, query={**listed.query, "page": "first"}),
        changed(listed, body={"study": 1}),
    ):
        assert judge().complaints(wrong), wrong


@pytest.mark.parametrize(
    "reply_fields", [{"status": "OPEN"}, {"reward": "3.00"}, {"name": None}, {"filters": 1}]
)
def test_the_judge_finds_an_undocumented_reply(drafted, reply_fields):
    study, _ = drafted
    assert judge().complaints(changed(study, reply={**study.reply, **reply_fields}))
