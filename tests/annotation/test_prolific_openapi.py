"""Every request of ours to Prolific, and every reply of the stand-in, is as its OpenAPI has it.

The document is a copy of Prolific's own (beside the project, as the real data are).
"""

import re
from functools import cache
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import resolve

from annotation.models import Participation
from annotation.money import ledger, payout
from annotation.platforms.prolific import drafts, review, studies, sync
from annotation.recruitment import consent
from annotation.simulation.fake_prolific.platform import FakeProlific
from annotation.simulation.fake_prolific.site import URLS, Server
from annotation.simulation.fake_prolific.urls import API
from annotation.steps import training_step
from tests import factories
from tests.annotation.openapi import Judge, Recorder, Slips, changed
from tests.annotation.prolific_http import (
    ANN,
    BEA,
    CEM,
    EXPLANATION,
    Http,
    arrive,
    come_back,
    draft,
    published,
)
from tests.conftest import SHARED

pytestmark = pytest.mark.real_data

SLIPS = Slips(
    any_of={
        "RangeFilterSelectedRangeLower": "a whole number is an integer and a number",
        "RangeFilterSelectedRangeUpper": "a whole number is an integer and a number",
        "RangeFilterListResponseMin": "a whole number is an integer and a number",
        "RangeFilterListResponseMax": "a whole number is an integer and a number",
        "FilterListResultsItems": "a short filter fits the detailed shape too",
    },
    replies={
        ("POST", "/api/v1/hooks/subscriptions/"): (
            "SubscriptionDetail",
            "a list is documented; Prolific's own command line reads one subscription",
        ),
    },
    queries={
        ("GET", "/api/v1/participant-groups/"): (
            {"workspace_id", "project_id", "organisation_id", "active"},
            "an object named filter is documented; its parts are what is sent",
        ),
    },
    error=("Error", "for some addresses it is documented without its envelope, which clients read"),
)
# Addresses that the document no longer has: older clients call them.
RETIRED = {("POST", "studies/<str:key>/screen-out-submissions/")}


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


# The product


@pytest.fixture
def ours(settings, fake, server):
    settings.PROLIFIC_URL = settings.PROLIFIC_APP_URL = server.url
    settings.PROLIFIC_TOKEN = "t"
    settings.PROLIFIC_WORKSPACE = fake.first_workspace
    settings.PROLIFIC_WEBHOOK_SECRET = "whisper"


def visit(fake, on_prolific, person, work):
    """Somebody comes by Prolific's link, does some of the work and goes back with its code."""
    place = fake.arrive(on_prolific.external_id, person)
    browser, address = Client(), urlsplit(place["url"])
    page = browser.get(f"{address.path}?{address.query}").content.decode()
    form = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    reply = browser.post(f"{address.path}start/?{address.query}", form)
    seat = Participation.objects.get(token=reply.url.split("/")[2])
    outcome = work(seat)
    fake.complete(place["session_id"], on_prolific.codes[outcome])
    # Nothing is kept of who declines.
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
            "maximum_age": 70, "approval_rate": 95, "quotas": {"Sex": {"Female": 60, "Male": 40}},
            "filters": [{"filter_id": "handedness", "selected_values": ["0", "1"]}],
            "content_warning": "Some texts contain insults.",
        },
    )  # fmt: skip


def our_flow(fake, researcher):
    """Everything that Handful asks of Prolific, in the order of a study."""
    call_command("subscribe_prolific", "https://handful.example", stdout=None)
    study = make_study(researcher, "whole")
    drafts.plan(study, 0, researcher)
    study.prolific_studies.update(signed=False)
    whole = study.prolific_studies.get()
    studies.ask(study)
    studies.create(whole, "http://testserver")
    good, _ = visit(fake, whole, ANN, completes)
    visit(fake, whole, BEA, fails)
    bad, _ = visit(fake, whole, CEM, completes)
    _, gone = visit(fake, whole, "d" * 24, declines)
    call_command("sync_prolific", study.name)
    review.ask_to_return(bad, "You asked for it.")
    fake.return_submission(gone)
    review.reject(bad, EXPLANATION, "LOW_EFFORT", researcher)
    ledger.add_bonus(good, 123, "thanks", None)
    sync.sync(study)
    payout.pay_all(study, None)
    parts = make_study(researcher, "parts")
    drafts.plan(parts, 1, researcher)
    parts.prolific_studies.update(signed=False)
    for part in (1, 2):
        studies.create(parts.prolific_studies.get(part=part), "http://testserver")
    sync.sync(parts)


@pytest.mark.django_db
@pytest.mark.long
def test_every_request_of_ours_and_its_reply_are_as_documented(ours, fake, recorder, researcher):
    our_flow(fake, researcher)
    asked = {judge().operation(each)[0].removeprefix("/api/v1/") for each in recorder.seen}
    assert asked >= {
        *("studies/", "studies/{id}/", "studies/{id}/transition/", "participant-groups/"),
        *("submissions/", "submissions/{id}/transition/", "submissions/{id}/request-return/"),
        *("submissions/bonus-payments/", "bulk-bonus-payments/{id}/pay/"),
        *("filters/", "eligibility-count/", "study-cost-calculator/"),
        *("hooks/subscriptions/", "hooks/subscriptions/{subscription_id}/"),
    }
    assert [each for each in recorder.seen if each.status >= 400] == []
    assert complaints(recorder.seen) == []


@pytest.mark.django_db
def test_what_is_settled_on_the_real_platform_is_asked_as_documented(ours, recorder):
    call_command("prolific_check")
    assert {each.method for each in recorder.seen} == {"GET", "POST", "DELETE"}
    assert complaints(recorder.seen) == []


# The stand-in


def whole_tour(api, fake, site):
    """Ask for every address of the stand-in, as its reference says."""
    workspace = {"workspace_id": fake.first_workspace}
    by_workspace = f"workspace_id={fake.first_workspace}"
    api.get("users/me/")
    api.get("/.well-known/study/jwks.json")
    workspaces_and_groups(api, workspace, by_workspace)
    group = api.post("participant-groups/", {**workspace, "name": "g", "participant_ids": [ANN]})
    for method in ("POST", "DELETE"):
        api(method, f"participant-groups/{group['id']}/participants/", {"participant_ids": [BEA]})
    api.get(f"participant-groups/{group['id']}/participants/")
    studies_there(api)
    study = published(api, total_available_places=9)
    submissions_of(api, study)
    for path, body in (
        ("messages/", {"recipient_id": ANN, "body": "b", "study_id": study}),
        ("messages/bulk/", {"ids": [ANN], "body": "b", "study_id": study}),
        ("messages/participant-group/", {"participant_group_id": group["id"], "body": "b"}),
    ):
        api("POST", path, body)
    api.post("/fake/write", {"participant_id": ANN, "body": "?", "study_id": study})
    api.get(f"messages/?user_id={ANN}")
    api.get("messages/unread/")
    webhooks(api, workspace, by_workspace, f"{site}/fake/sink", study)
    fake.flush_webhooks()


def workspaces_and_groups(api, workspace, by_workspace):
    api.get("workspaces/")
    another = api.post("workspaces/", {"title": "Another", "currency_code": "GBP"})["id"]
    api.get(f"workspaces/{another}/")
    api("PATCH", f"workspaces/{another}/", {"id": another, "title": "Renamed"})
    api.get(f"workspaces/{workspace['workspace_id']}/balance/")
    api.get(f"workspaces/{workspace['workspace_id']}/projects/")
    project = api.post(f"workspaces/{another}/projects/", {"title": "Reading"})["id"]
    api.get(f"projects/{project}/")
    api("PATCH", f"projects/{project}/", {"title": "Writing"})
    drafted = api.post("studies/", draft(project=project))["id"]
    api.get(f"projects/{project}/studies/?page=1&page_size=5&ordering=-date_created")
    api("DELETE", f"projects/{project}/studies/{drafted}/")
    group = api.post("participant-groups/", {**workspace, "name": "passing"})["id"]
    api.get(f"participant-groups/?{by_workspace}&active=true")
    api.get(f"participant-groups/{group}/")
    api("PATCH", f"participant-groups/{group}/", {"name": "renamed"})
    api("DELETE", f"participant-groups/{group}/")
    api.get(f"reward-recommendations/?{by_workspace}&currency=GBP")


def studies_there(api):
    age = {"filter_id": "age", "selected_range": {"lower": 18, "upper": 30}}
    drafted = api.post("studies/", draft(filters=[age], study_labels=["annotation"]))["id"]
    api("PATCH", f"studies/{drafted}/", {"reward": 400})
    api.get("studies/?state=ACTIVE")
    api.post("researchers/participants/", {"email": "t@example.org"})
    api.post(f"studies/{drafted}/test-study")
    api.post(f"studies/{drafted}/clone/", {"block_previous_participants": False})
    scheduled = {"action": "SCHEDULE_PUBLISH", "publish_at": "2099-01-01T00:00:00Z"}
    for asked in (scheduled, {"action": "CANCEL_PUBLISH"}, {"action": "PUBLISH"}):
        api.post(f"studies/{drafted}/transition/", asked)
    api("DELETE", f"studies/{api.post('studies/', draft())['id']}/")
    task = {"external_url": "https://x.example/", "total_allocation": 3}
    several = published(api, external_study_url="", access_details=[task])
    api.get(f"studies/{several}/access-details-progress/")
    api.get("filters/")
    api.post("eligibility-count/", {"filters": [age]})
    api.post("study-cost-calculator/", {"reward": 300, "total_available_places": 3})


def submissions_of(api, study):
    sessions = [arrive(api, study, each * 24) for each in "abcdef"]
    for session, cc in zip(sessions, ("LOOK", "LOOK", "LOOK", "OUT", "NO"), strict=False):
        come_back(api, session, cc)
    first, second, third, *_, active = sessions
    transition = "submissions/{}/transition/".format
    api.post(transition(first), {"action": "APPROVE"})
    no = {"action": "REJECT", "message": EXPLANATION, "rejection_category": "NO_DATA"}
    api.post(transition(second), no)
    api.post(transition(second), {"action": "UNREJECT"})
    api.post("submissions/bulk-approve/", {"submission_ids": [second, third]})
    api.post(transition(active), {"action": "COMPLETE", "completion_code": "PAID"})
    late = arrive(api, study, "9" * 24)
    api.post(f"submissions/{late}/request-return/", {"request_return_reasons": ["Didn't finish"]})
    api.get(f"submissions/?study={study}&completed=1&ordering=started_at&page=1&page_size=2")
    api.get(f"submissions/{first}/")
    api.get(f"studies/{study}/")
    api.get(f"studies/{study}/submissions/")
    api.get(f"studies/{study}/submissions/counts/")
    lines = {"study_id": study, "csv_bonuses": f"{'a' * 24},1.50"}
    batch = api.post("submissions/bonus-payments/", lines)["id"]
    api.post(f"bulk-bonus-payments/{batch}/pay/")
    api.get(f"studies/{study}/cost/?is_projected=false")


def webhooks(api, workspace, by_workspace, target, study):
    api.get("hooks/event-types/")
    api.post("hooks/secrets/", workspace)
    api.get(f"hooks/secrets/?{by_workspace}")
    asked = {**workspace, "event_type": "study.status.change", "target_url": target}
    _, subscription, headers = api("POST", "hooks/subscriptions/", asked)
    path = f"hooks/subscriptions/{subscription['id']}/"
    api.post(path, {"secret": headers["X-Hook-Secret"]})
    api.get(path)
    api.get(f"hooks/subscriptions/?{by_workspace}&is_enabled=true")
    api.post(f"studies/{study}/transition/", {"action": "PAUSE"})
    api.get(f"{path}events/")
    api("PATCH", path, {"is_enabled": False})
    api("DELETE", path)


@pytest.mark.long
def test_every_reply_of_the_stand_in_is_as_documented(fake, recorder, server):
    whole_tour(Http(server.url, "t"), fake, server.url)
    assert [str(each) for each in recorder.seen if each.status >= 400] == []
    assert complaints(recorder.seen) == []
    addresses = {(method, str(url.pattern)) for url in API for method in url.callback.methods}
    assert addresses - {address_of(each) for each in recorder.seen} == RETIRED


def address_of(seen) -> tuple[str, str]:
    """The method and the pattern of the stand-in's URLs that an exchange belongs to."""
    match = resolve(seen.path.rstrip("/") + "/", URLS) if "/api/" in seen.path else None
    return seen.method, match.route.removeprefix("api/v1/") if match else seen.path


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
def test_every_error_of_the_stand_in_has_the_documented_shape(server, recorder, method, path, body):
    Http(server.url, "t")(method, path, body)
    (seen,) = recorder.seen
    assert seen.status >= 400
    if method != "PUT":
        assert [told for told in judge().complaints(seen) if "reply" in told] == []


# The judge itself


@pytest.fixture
def drafted(server, recorder):
    api = Http(server.url, "t")
    api.post("studies/", draft(study_labels=["annotation"]))
    api.get("submissions/?study=" + published(api))
    return recorder.seen[0], recorder.seen[-1]


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
def test_the_judge_sees_a_request_that_is_not_as_documented(drafted, request_fields):
    study, _ = drafted
    assert judge().complaints(study) == []
    assert judge().complaints(changed(study, body={**study.body, **request_fields}))


def test_the_judge_sees_an_address_a_parameter_or_a_status_that_is_not_documented(drafted):
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
def test_the_judge_sees_a_reply_that_is_not_as_documented(drafted, reply_fields):
    study, _ = drafted
    assert judge().complaints(changed(study, reply={**study.reply, **reply_fields}))


@pytest.mark.long
def test_every_kind_of_reply_of_the_tour_is_judged(fake, recorder, server):
    """The control: a reply of another type is a complaint, whatever was asked."""
    whole_tour(Http(server.url, "t"), fake, server.url)
    spoilt = [changed(each, reply=12) for each in recorder.seen]
    assert [str(each) for each in spoilt if not judge().complaints(each)] == []
