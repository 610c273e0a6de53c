"""The fake Prolific, spoken to over HTTP: what a researcher's program may rely on."""

import base64
import hashlib
import hmac
import json
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from annotation.recruiters.prolific.fake import FakeProlific
from annotation.recruiters.prolific.fake_rules import FakeError
from tests.prolific_http import (
    ANN,
    BEA,
    CEM,
    DAN,
    HEX_ID,
    Http,
    arrive,
    batch_of,
    code,
    come_back,
    draft,
    paid,
    published,
    reject,
    start,
    status_of,
    study_status,
    turned_away,
)


@pytest.fixture
def fake():
    return FakeProlific()


@pytest.fixture
def api(fake):
    with fake.serve() as server:
        yield Http(server.url)


# The door


@pytest.mark.parametrize("token", ["", "another"])
def test_without_the_token_nothing_is_said(api, token):
    assert "credentials" in Http(api.url, token).refused("GET", "users/me/", status=401)
    assert HEX_ID.fullmatch(api.get("users/me/")["id"])


def test_an_address_means_the_same_without_its_final_slash(api):
    assert api.get("users/me") == api.get("users/me/")
    api.refused("GET", "nothing/", status=404)
    api.refused("DELETE", "studies/", status=405)


def test_a_body_that_is_no_json_object_is_refused(api):
    assert "object" in api.refused("POST", "studies/", ["a list"])


# Studies


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("external_study_url", "ftp://x"),
        ("prolific_id_option", "perhaps"),
        ("reward", 3.5),
        ("reward", 0),
        ("reward", True),
        ("total_available_places", 0),
        ("completion_codes", []),
        ("completion_codes", [code("A", "MANUALLY_REVIEW"), code("A", "AUTOMATICALLY_APPROVE")]),
        ("completion_codes", [code("A", "DANCE")]),
        (
            "completion_codes",
            [
                {
                    **code("A", "MANUALLY_REVIEW"),
                    "actions": [{"action": "MANUALLY_REVIEW"}, {"action": "AUTOMATICALLY_APPROVE"}],
                }
            ],
        ),
        (
            "completion_codes",
            [code("A", "FIXED_SCREEN_OUT_PAYMENT", fixed_screen_out_reward=300, slots=1)],
        ),
        (
            "completion_codes",
            [
                code(name, "FIXED_SCREEN_OUT_PAYMENT", fixed_screen_out_reward=10, slots=1)
                for name in "AB"
            ],
        ),
        ("completion_codes", [code("A", "ADD_TO_PARTICIPANT_GROUP", participant_group="none")]),
        ("filters", [{"filter_id": "participant_group_allowlist", "selected_values": ["none"]}]),
    ],
)
def test_a_study_that_cannot_be_is_refused_and_the_field_named(api, field, value):
    assert field in api.refused("POST", "studies/", draft(**{field: value}))
    assert api.get("studies/")["results"] == []


def test_a_study_is_a_draft_until_it_is_published(api):
    study = api.post("studies/", draft())
    assert HEX_ID.fullmatch(study["id"])
    assert study["status"] == "UNPUBLISHED"
    assert turned_away(api, study["id"], ANN) == "not_active"
    for action, status in [
        ("PUBLISH", "ACTIVE"),
        ("PAUSE", "PAUSED"),
        ("START", "ACTIVE"),
        ("STOP", "COMPLETED"),
    ]:
        api.post(f"studies/{study['id']}/transition/", {"action": action})
        assert api.get(f"studies/{study['id']}/")["status"] == status
    api.refused("POST", f"studies/{study['id']}/transition/", {"action": "PUBLISH"})


def test_after_publishing_only_the_internal_name_and_more_places_can_change(api):
    draft_id = api.post("studies/", draft())["id"]
    assert api("PATCH", f"studies/{draft_id}/", {"reward": 400})[1]["reward"] == 400
    study = published(api)
    path = f"studies/{study}/"
    assert "reward" in api.refused("PATCH", path, {"reward": 400})
    assert "increased" in api.refused("PATCH", path, {"total_available_places": 2})
    status, changed, _ = api("PATCH", path, {"total_available_places": 5, "internal_name": "SST-2"})
    assert (status, changed["total_available_places"], changed["reward"]) == (200, 5, 300)
    api.post(f"{path}transition/", {"action": "STOP"})
    assert api("PATCH", path, {"total_available_places": 6})[1]["status"] == "ACTIVE"


# Arrival


def test_the_study_link_carries_the_three_ids(api, fake):
    study = published(api)
    place = api.post("/fake/arrive", {"study_id": study, "participant_id": ANN})
    assert parse_qs(urlsplit(place["url"]).query) == {
        "PROLIFIC_PID": [ANN],
        "STUDY_ID": [study],
        "SESSION_ID": [place["session_id"]],
    }
    assert HEX_ID.fullmatch(place["session_id"])
    submission = api.get(f"submissions/{place['session_id']}/")
    assert (submission["status"], submission["participant"]) == ("ACTIVE", ANN)
    with pytest.raises(FakeError) as refusal:
        fake.arrive(study, ANN)
    assert refusal.value.reason == "already"


def signed_link(api, fake, **fields):
    fake.mode(signing="on")
    study = published(api, is_external_study_url_secure=True, **fields)
    place = fake.arrive(study, ANN)
    return study, place, parse_qs(urlsplit(place["url"]).query)["prolific_token"][0]


def read_token(token, jwks, audience):
    keys = jwt.PyJWKSet.from_dict(jwks)
    key = keys[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, algorithms=["RS256"], audience=audience)


def unsigned(url):
    return url.partition("&prolific_token=")[0]


def test_a_signed_link_says_what_the_reference_says(api, fake):
    study, place, token = signed_link(api, fake)
    jwks = Http(api.url, token="").get("/.well-known/study/jwks.json")
    assert jwt.get_unverified_header(token).keys() == {"alg", "kid", "typ"}
    claims = read_token(token, jwks, audience=unsigned(place["url"]))
    assert (claims["iss"], claims["sub"]) == ("https://www.prolific.com", place["session_id"])
    assert claims["exp"] - claims["iat"] == 120
    assert claims["prolific"] == {
        "PROLIFIC_PID": ANN,
        "STUDY_ID": study,
        "SESSION_ID": place["session_id"],
        "workspace_id": next(iter(fake._data["workspaces"])),
    }


def test_the_keys_of_the_claim_are_the_names_in_the_studys_own_url(api, fake):
    fake.mode(organisation=True)
    address = "https://handful.example/?who={{%PROLIFIC_PID%}}&visit={{%SESSION_ID%}}&wave=2"
    _, place, token = signed_link(api, fake, external_study_url=address)
    claims = read_token(token, fake.jwks(), audience=unsigned(place["url"]))
    ids = {claims["prolific"].pop(f"{kind}_id") for kind in ("workspace", "organisation")}
    assert all(HEX_ID.fullmatch(each) for each in ids)
    assert claims["prolific"] == {"who": ANN, "visit": place["session_id"], "wave": "2"}


@pytest.mark.parametrize("kind", ["origin", "list"])
def test_the_audience_can_be_the_origin_or_a_list(api, fake, kind):
    fake.mode(audience=kind)
    _, place, token = signed_link(api, fake)
    origin, whole = "https://handful.example:8443", unsigned(place["url"])
    claims = read_token(token, fake.jwks(), audience=origin)
    assert claims["aud"] == (origin if kind == "origin" else [whole, origin])


def test_a_signed_link_does_not_verify_with_another_key_audience_or_after_two_minutes(api, fake):
    _, place, token = signed_link(api, fake)
    audience = unsigned(place["url"])
    other = FakeProlific().jwks()
    other["keys"][0]["kid"] = fake.jwks()["keys"][0]["kid"]
    with pytest.raises(jwt.InvalidSignatureError):
        read_token(token, other, audience)
    with pytest.raises(jwt.InvalidAudienceError):
        read_token(token, fake.jwks(), audience="https://handful.example:8443")
    earlier = FakeProlific(now=lambda: time.time() - 121)
    with earlier.serve() as server:
        _, place, stale = signed_link(Http(server.url), earlier)
    with pytest.raises(jwt.ExpiredSignatureError):
        read_token(stale, earlier.jwks(), unsigned(place["url"]))


def test_a_workspace_without_the_feature_refuses_signing_or_ignores_it(api, fake):
    wanted = draft(is_external_study_url_secure=True)
    assert "is_external_study_url_secure" in api.refused("POST", "studies/", wanted)
    fake.mode(signing="ignored")
    study = published(api, is_external_study_url_secure=True)
    assert "prolific_token" not in fake.arrive(study, ANN)["url"]


def test_a_workspace_without_paid_screening_out_refuses_it(api, fake):
    fake.mode(screen_out=False)
    assert "not available" in api.refused("POST", "studies/", draft())
    published(api, completion_codes=[code("DONE", "MANUALLY_REVIEW")])


def test_an_unsigned_study_has_no_token_in_its_link(api, fake):
    assert "prolific_token" not in fake.arrive(published(api), ANN)["url"]


def test_places_are_taken_by_work_and_freed_by_leaving(api):
    study = published(api, total_available_places=1)
    session = arrive(api, study, ANN)
    assert turned_away(api, study, BEA) == "full"
    api.post("/fake/return_submission", {"session": session})
    second = arrive(api, study, BEA)
    come_back(api, second, "LOOK")
    reject(api, second)
    start(api, study)
    third = arrive(api, study, CEM)
    come_back(api, third, "OUT")
    fourth = arrive(api, study, DAN)
    assert turned_away(api, study, "e" * 24) == "full"
    come_back(api, fourth, "DONE")
    shown = api.get(f"studies/{study}/")
    assert (shown["places_taken"], shown["number_of_submissions"]) == (1, 4)


def test_a_full_study_awaits_review_and_is_completed_when_all_is_reviewed(api):
    study = published(api, total_available_places=2)
    first, second = arrive(api, study, ANN), arrive(api, study, BEA)
    come_back(api, first, "LOOK")
    assert study_status(api, study) == "ACTIVE"  # the other one may still leave
    come_back(api, second, "DONE")
    assert study_status(api, study) == "AWAITING REVIEW"
    assert turned_away(api, study, CEM) == "not_active"
    api.refused("POST", f"studies/{study}/transition/", {"action": "PAUSE"})
    api.post(f"submissions/{first}/transition/", {"action": "APPROVE"})
    assert study_status(api, study) == "COMPLETED"


@pytest.mark.parametrize("leaves", ["returned", "rejected"])
def test_a_place_that_is_freed_in_review_pauses_the_study(api, leaves):
    study = published(api, total_available_places=1)
    session = arrive(api, study, ANN)
    come_back(api, session, "LOOK")
    if leaves == "returned":
        api.post("/fake/return_submission", {"session": session})
    else:
        reject(api, session)
    assert turned_away(api, study, BEA) == "not_active"
    start(api, study)
    arrive(api, study, BEA)


def test_more_places_make_a_study_active_that_awaits_review(api):
    study = published(api, total_available_places=1)
    come_back(api, arrive(api, study, ANN), "LOOK")
    changed = api("PATCH", f"studies/{study}/", {"total_available_places": 2})[1]
    assert changed["status"] == "ACTIVE"


def test_publishing_can_take_a_while(api):
    api.post("/fake/mode", {"publishing": 60})
    study = published(api)
    assert study_status(api, study) == "PUBLISHING"
    assert turned_away(api, study, ANN) == "not_active"
    api.post("/fake/advance", {"seconds": 61})
    assert study_status(api, study) == "ACTIVE"
    arrive(api, study, ANN)


def test_a_publication_can_be_scheduled_and_cancelled(api):
    study = api.post("studies/", draft())["id"]
    path = f"studies/{study}/transition/"
    asked = {"action": "SCHEDULE_PUBLISH"}
    assert "publish_at" in api.refused("POST", path, asked)
    asked["publish_at"] = datetime.fromtimestamp(time.time() + 3600, UTC).isoformat()
    assert api.post(path, asked)["status"] == "SCHEDULED"
    assert api.post(path, {"action": "CANCEL_PUBLISH"})["status"] == "UNPUBLISHED"
    assert api.post(path, asked)["status"] == "SCHEDULED"
    api.post("/fake/advance", {"seconds": 3500})
    assert study_status(api, study) == "SCHEDULED"
    api.post("/fake/advance", {"seconds": 200})
    assert study_status(api, study) == "ACTIVE"


def test_nobody_takes_part_twice_unless_they_returned_and_ask_again(api):
    study = published(api)
    session = arrive(api, study, ANN)
    assert turned_away(api, study, ANN, again=True) == "already"
    api.post("/fake/return_submission", {"session": session})
    assert turned_away(api, study, ANN) == "already"
    assert arrive(api, study, ANN, again=True) != session


def test_arrivals_at_once_never_overfill_a_study(api, fake, switching_often):
    start, refused = threading.Barrier(16), []

    def come(number):
        start.wait()
        try:
            fake.arrive(study, f"{number:024x}")
        except FakeError as refusal:
            refused.append(refusal.reason)

    for _ in range(10):
        study = published(api, total_available_places=3)
        crowd = [threading.Thread(target=come, args=(number,)) for number in range(16)]
        for each in crowd:
            each.start()
        for each in crowd:
            each.join()
        assert api.get(f"studies/{study}/")["places_taken"] == 3
    assert refused == ["full"] * 130


@pytest.fixture
def switching_often():
    """Threads take turns so often that two can be between looking and taking."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


# Groups and filters


def test_groups_decide_who_may_arrive(api, fake):
    group = api.post("participant-groups/", {"workspace_id": fake.first_workspace, "name": "g"})[
        "id"
    ]
    allowed = {"filter_id": "participant_group_allowlist", "selected_values": [group]}
    blocked = {"filter_id": "participant_group_blocklist", "selected_values": [group]}
    only, never = published(api, filters=[allowed]), published(api, filters=[blocked])
    assert turned_away(api, only, ANN) == "not_eligible"
    members = f"participant-groups/{group}/participants/"
    api.post(members, {"participant_ids": [ANN, BEA]})
    status, left, _ = api("DELETE", members, {"participant_ids": [BEA, CEM]})
    assert status == 200
    assert [each["participant_id"] for each in left["results"]] == [ANN]
    assert api.get(members) == left
    assert turned_away(api, never, ANN) == "not_eligible"
    assert turned_away(api, only, BEA) == "not_eligible"
    arrive(api, only, ANN)
    arrive(api, never, BEA)


def test_a_code_can_put_somebody_into_a_group_and_take_them_out(api, fake):
    group = api.post(
        "participant-groups/",
        {"workspace_id": fake.first_workspace, "name": "g", "participant_ids": [BEA]},
    )["id"]
    add, remove = (
        {"action": f"{verb}_PARTICIPANT_GROUP", "participant_group": group}
        for verb in ("ADD_TO", "REMOVE_FROM")
    )
    yes, no = code("YES", "AUTOMATICALLY_APPROVE"), code("NO", "AUTOMATICALLY_APPROVE")
    yes["actions"].append(add)
    no["actions"].append(remove)
    study = published(api, completion_codes=[yes, no])
    come_back(api, arrive(api, study, ANN), "YES")
    come_back(api, arrive(api, study, BEA), "NO")
    members = api.get(f"participant-groups/{group}/participants/")["results"]
    assert [each["participant_id"] for each in members] == [ANN]


# Completion


@pytest.mark.parametrize(
    ("cc", "status", "kind", "cents"),
    [
        ("DONE", "APPROVED", "reward", 300),
        ("LOOK", "AWAITING REVIEW", None, 0),
        ("OUT", "SCREENED OUT", "screen_out", 100),
        ("NO", "AWAITING REVIEW", None, 0),
        ("GUESSED", "AWAITING REVIEW", None, 0),
        ("PAID", "AWAITING REVIEW", None, 0),  # the researcher's code says nothing here
    ],
)
def test_a_completion_code_does_what_it_was_set_up_for(api, cc, status, kind, cents):
    study = published(api)
    session = arrive(api, study, ANN)
    assert status in come_back(api, session, cc)
    submission = api.get(f"submissions/{session}/")
    assert (submission["status"], submission["entered_code"]) == (status, cc)
    assert submission["completed_at"]
    entries = api.get("/fake/books").get(ANN, {"entries": []})["entries"]
    expected = {"kind": kind, "cents": cents, "study": study, "submission": session}
    assert entries == ([expected] if kind else [])


def test_a_code_that_requests_a_return_only_asks(api):
    study = published(api, total_available_places=1)
    session = arrive(api, study, ANN)
    assert "asks you to return" in come_back(api, session, "NO")
    submission = api.get(f"submissions/{session}/")
    assert (submission["status"], bool(submission["return_requested"])) == ("AWAITING REVIEW", True)
    assert api.get(f"studies/{study}/")["places_taken"] == 1
    api.post("/fake/return_submission", {"session": session})
    assert status_of(api, session) == "RETURNED"
    assert api.get(f"studies/{study}/")["places_taken"] == 0


def test_who_does_not_return_is_paid_in_full_after_21_days(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "NO")
    api.post("/fake/advance", {"seconds": 21 * 86400})
    assert (status_of(api, session), paid(api, ANN)) == ("APPROVED", 300)


def test_coming_back_twice_pays_once_and_the_first_code_counts(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "DONE")
    assert "changed nothing" in come_back(api, session, "LOOK")
    come_back(api, session, "DONE")
    assert (status_of(api, session), paid(api, ANN)) == ("APPROVED", 300)


def test_a_code_is_shown_escaped(api):
    page = come_back(api, arrive(api, published(api), ANN), "<script>alert(1)</script>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_screen_out_slots_pause_the_study_when_they_are_used_up(api):
    screen_out = code("OUT", "FIXED_SCREEN_OUT_PAYMENT", fixed_screen_out_reward=100, slots=1)
    study = published(api, completion_codes=[screen_out])
    come_back(api, arrive(api, study, ANN), "OUT")
    assert api.get(f"studies/{study}/")["status"] == "PAUSED"


def test_the_api_may_lag_behind_a_completion(api):
    api.post("/fake/mode", {"lag": 2})
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    approve = {"action": "APPROVE"}
    assert "ACTIVE" in api.refused("POST", f"submissions/{session}/transition/", approve)
    assert status_of(api, session) == "ACTIVE"
    assert status_of(api, session) == "AWAITING REVIEW"
    api.post(f"submissions/{session}/transition/", approve)
    assert paid(api, ANN) == 300


# Submissions of a study


def test_submissions_come_in_pages_and_past_the_end_is_404(api):
    study = published(api, total_available_places=5)
    sessions = [arrive(api, study, f"{number:024x}") for number in range(5)]
    page = api.get(f"submissions/?study={study}&ordering=started_at&page=1&page_size=2")
    seen = page["results"]
    while href := page["_links"]["next"]["href"]:
        page = api.get(href)
        seen += page["results"]
    assert [each["id"] for each in seen] == sessions
    assert [each["participant_id"] for each in seen] == [f"{number:024x}" for number in range(5)]
    assert page["meta"]["count"] == 5
    query = f"submissions/?study={study}&page_size=2"
    for number in ("4", "0", "x"):
        api.refused("GET", f"{query}&page={number}", status=404)
    newest = api.get(f"submissions/?study={study}&ordering=-started_at&page_size=1")["results"]
    assert newest[0]["id"] == sessions[-1]
    api.refused("GET", "submissions/")


def test_a_study_without_submissions_has_one_empty_page(api):
    page = api.get(f"submissions/?study={published(api)}")
    assert (page["results"], page["_links"]["next"]["href"]) == ([], None)


def test_submissions_can_be_asked_for_by_status_in_any_spelling(api):
    study = published(api)
    session = arrive(api, study, ANN)
    arrive(api, study, BEA)
    come_back(api, session, "LOOK")
    found = api.get(f"submissions/?study={study}&status=awaiting_review")["results"]
    assert [(each["id"], each["study_code"]) for each in found] == [(session, "LOOK")]


# Review


def test_approving_pays_once_however_often_it_is_asked(api):
    session = arrive(api, published(api), ANN)
    path = f"submissions/{session}/transition/"
    api.refused("POST", path, {"action": "APPROVE"})
    come_back(api, session, "LOOK")
    for _ in range(3):
        assert api.post(path, {"action": "APPROVE"})["status"] == "APPROVED"
    assert paid(api, ANN) == 300


def test_a_rejection_needs_a_long_message_and_a_category(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    path = f"submissions/{session}/transition/"
    asked = {"action": "REJECT", "message": "x" * 99, "rejection_category": "OTHER"}
    assert "100" in api.refused("POST", path, asked)
    asked["message"] += "x"
    assert "category" in api.refused("POST", path, {**asked, "rejection_category": "BORING"})
    assert status_of(api, session) == "AWAITING REVIEW"
    assert api.post(path, asked)["status"] == "REJECTED"
    api.refused("POST", path, {"action": "APPROVE"})
    assert paid(api, ANN) == 0


def test_the_researcher_can_complete_with_a_code_of_their_own_only(api):
    study = published(api)
    active, late = arrive(api, study, ANN), arrive(api, study, BEA)
    api.post("/fake/time_out", {"session": late})
    asked = {"action": "COMPLETE", "completion_code": "DONE"}
    api.refused("POST", f"submissions/{active}/transition/", asked)
    asked["completion_code"] = "PAID"
    for session in (active, late, late):
        done = api.post(f"submissions/{session}/transition/", asked)
        assert (done["status"], done["entered_code"]) == ("APPROVED", "PAID")
    assert (paid(api, ANN), paid(api, BEA)) == (300, 300)


def test_asking_for_a_return_leaves_it_to_the_participant(api):
    session = arrive(api, published(api), ANN)
    path = f"submissions/{session}/request-return/"
    api.refused("POST", path)
    asked = api.post(path, {"request_return_reasons": ["Withdrew consent"]})
    assert (asked["status"], bool(asked["return_requested"])) == ("ACTIVE", True)
    api.post("/fake/return_submission", {"session": session})
    assert status_of(api, session) == "RETURNED"


def test_screening_out_in_bulk_needs_a_study_set_up_for_it(api):
    asked = {"submission_ids": [], "bonus_per_submission": 1.5, "increase_places": True}
    plain, custom = published(api), published(api, is_custom_screening=True)
    asked["submission_ids"] = [arrive(api, plain, ANN)]
    assert "is_custom_screening" in api.refused(
        "POST", f"studies/{plain}/screen-out-submissions/", asked
    )
    path = f"studies/{custom}/screen-out-submissions/"
    api.refused("POST", path, asked)  # a submission of the other study
    asked["submission_ids"] = [arrive(api, custom, BEA), arrive(api, custom, CEM)]
    api.post(path, asked)
    assert [paid(api, each) for each in (ANN, BEA, CEM)] == [0, 150, 150]
    assert api.get(f"studies/{custom}/")["places_taken"] == 0


# Time


def test_a_submission_times_out_and_its_place_is_free(api):
    study = published(api, total_available_places=1)
    session = arrive(api, study, ANN)
    api.post("/fake/advance", {"seconds": 59 * 60})
    assert status_of(api, session) == "ACTIVE"
    api.post("/fake/advance", {"seconds": 2 * 60})
    arrive(api, study, BEA)
    assert status_of(api, session) == "TIMED-OUT"
    assert "TIMED-OUT" in come_back(api, session, "DONE")
    assert paid(api, ANN) == 0


def test_what_nobody_reviews_is_approved_after_21_days(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    api.post("/fake/advance", {"seconds": 21 * 86400 - 60})
    assert status_of(api, session) == "AWAITING REVIEW"
    api.post("/fake/advance", {"seconds": 120})
    assert (status_of(api, session), paid(api, ANN)) == ("APPROVED", 300)


# Bonuses


def test_bonuses_are_paid_in_two_steps_in_cents(api):
    study = published(api)
    first, second = arrive(api, study, ANN), arrive(api, study, BEA)
    batch = batch_of(api, study, f"{ANN},1.50\n{second},0.2\n{ANN},30\n")
    assert (batch["amount"], paid(api, ANN)) == (3170, 0)
    assert batch["total_amount"] == batch["amount"] + batch["fees"]
    status, told, _ = api("POST", f"bulk-bonus-payments/{batch['id']}/pay/", {})
    assert (status, type(told)) == (202, str)
    assert (paid(api, ANN), paid(api, BEA)) == (3150, 20)
    assert api.get(f"submissions/{first}/")["bonus_payments"] == [150, 3000]
    cost = api.get(f"studies/{study}/cost/")
    assert cost["bonuses"]["rewards"]["amount"] == 3170


def test_a_batch_that_is_paid_twice_pays_twice_as_the_reference_warns(api):
    study = published(api)
    arrive(api, study, ANN)
    pay = f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},1.50')['id']}/pay/"
    api.post(pay)
    api.post(pay)
    assert paid(api, ANN) == 300


def test_a_second_payment_of_a_batch_can_be_refused(api):
    study = published(api)
    arrive(api, study, ANN)
    pay = f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},1.50')['id']}/pay/"
    api.post("/fake/mode", {"pay_again": False})
    api.post(pay)
    assert "already paid" in api.refused("POST", pay)
    assert paid(api, ANN) == 150


def test_a_bonus_goes_to_the_latest_submission_of_a_participant(api):
    study = published(api)
    api.post("/fake/return_submission", {"session": arrive(api, study, ANN)})
    latest = arrive(api, study, ANN, again=True)
    api.post(f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},2')['id']}/pay/")
    assert api.get(f"submissions/{latest}/")["bonus_payments"] == [200]


@pytest.mark.parametrize("line", [f"{BEA},1.50", "1.50", f"{ANN},1.505", f"{ANN},0", f"{ANN},-1"])
def test_a_wrong_line_of_bonuses_is_named_and_nothing_is_set_up(api, line):
    study = published(api)
    arrive(api, study, ANN)
    asked = {"study_id": study, "csv_bonuses": f"{ANN},1.00\n{line}\n"}
    assert "line 2" in api.refused("POST", "submissions/bonus-payments/", asked)
    assert paid(api, ANN) == 0


# Bad days


def test_a_failing_reply_did_nothing_and_a_lost_reply_did_it(api):
    study = published(api)
    arrive(api, study, ANN)
    pay = f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},1.50')['id']}/pay/"
    api.post("/fake/mode", {"fail_next": 1})
    api.refused("POST", pay, status=503)
    assert paid(api, ANN) == 0
    api.post("/fake/mode", {"fail_after_next": 1})
    api.refused("POST", pay, status=503)
    assert paid(api, ANN) == 150
    api.post(pay)
    assert paid(api, ANN) == 300


def test_a_hanging_payment_has_moved_the_money_before_it_answers(api, fake):
    study = published(api)
    arrive(api, study, ANN)
    pay = f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},1.50')['id']}/pay/"
    api.post("/fake/mode", {"hang_on": "pay", "hang": 60})
    threading.Thread(target=lambda: api_quietly(api, pay), daemon=True).start()
    deadline = time.monotonic() + 20
    while not paid(api, ANN) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert paid(api, ANN) == 150
    assert status_of(api, fake.overview()["submissions"][0]["id"]) == "ACTIVE"  # others answer


def api_quietly(api, path):
    try:
        api("POST", path, {})
    except OSError:
        return  # the test ends before the reply does


@pytest.mark.parametrize(
    "setting",
    [{"sulk": 1}, {"slow": "x"}, {"webhooks": "maybe"}, {"signing": "yes"}, {"pay_again": 1}],
)
def test_a_mode_that_does_not_exist_is_refused(api, setting):
    api.refused("POST", "/fake/mode", setting)


# Webhooks


class Listener:
    """A server that keeps what it is sent; `answers` are the statuses of the next replies."""

    def __init__(self):
        self.got, self.answers = [], []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                listener.got.append((dict(self.headers), raw))
                self.send_response(listener.answers.pop(0) if listener.answers else 200)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):  # where a redirect would lead
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *unused):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/"

    def events(self):
        return [json.loads(raw) for _, raw in self.got]

    def statuses(self):
        return [event["status"] for event in self.events()]

    def ids(self):
        return [headers["X-Event-Id"] for headers, _ in self.got]


@pytest.fixture
def listener():
    listener = Listener()
    yield listener
    listener.server.shutdown()
    listener.server.server_close()


def subscribed(api, listener, event_type="submission.status.change"):
    (workspace,) = (each["id"] for each in api.get("workspaces/")["results"])
    secret = api.post("hooks/secrets/", {"workspace_id": workspace})["value"]
    asked = {"workspace_id": workspace, "event_type": event_type, "target_url": listener.url}
    status, subscription, headers = api("POST", "hooks/subscriptions/", asked)
    assert status == 201
    path = f"hooks/subscriptions/{subscription['id']}/"
    api.post(path, {"secret": headers["X-Hook-Secret"]})
    return secret, path


def test_every_change_of_status_is_told_and_signed(api, fake, listener):
    secret, _ = subscribed(api, listener)
    session = arrive(api, published(api), ANN)
    come_back(api, session, "DONE")
    fake.flush_webhooks()
    assert listener.events() == [
        {
            "resource_id": session,
            "event_type": "submission.status.change",
            "participant_id": ANN,
            "status": status,
        }
        for status in ("ACTIVE", "APPROVED")
    ]
    for headers, raw in listener.got:
        signed = headers["X-Prolific-Request-Timestamp"].encode() + raw
        digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
        assert headers["X-Prolific-Request-Signature"] == base64.b64encode(digest).decode()
        assert abs(int(headers["X-Prolific-Request-Timestamp"]) - time.time()) < 60
    assert len(set(listener.ids())) == 2


def test_studies_tell_their_changes_to_those_who_asked_for_them(api, fake, listener):
    subscribed(api, listener, "study.status.change")
    study = published(api)
    arrive(api, study, ANN)
    fake.flush_webhooks()
    (event,) = listener.events()
    assert (event["resource_id"], event["status"]) == (study, "ACTIVE")


def test_a_subscription_sends_after_it_is_confirmed_and_until_it_is_deleted(api, fake, listener):
    workspace = fake.first_workspace
    asked = {"workspace_id": workspace, "event_type": "study.status.change"}
    asked["target_url"] = listener.url
    assert "secret" in api.refused("POST", "hooks/subscriptions/", asked)
    api.post("hooks/secrets/", {"workspace_id": workspace})
    _, subscription, headers = api("POST", "hooks/subscriptions/", asked)
    assert "hook_secret" not in json.dumps(api.get("hooks/subscriptions/"))
    path = f"hooks/subscriptions/{subscription['id']}/"
    published(api)
    api.refused("POST", path, {"secret": "guessed"})
    fake.flush_webhooks()
    assert listener.got == []
    assert api.post(path, {"secret": headers["X-Hook-Secret"]})["is_enabled"]
    published(api)
    fake.flush_webhooks()
    assert len(listener.got) == 1
    assert api("DELETE", path)[0] == 204
    published(api)
    fake.flush_webhooks()
    assert len(listener.got) == 1
    assert api.get("hooks/subscriptions/")["results"] == []


def test_a_webhook_comes_again_with_the_same_id_until_it_is_taken(api, fake, listener):
    subscribed(api, listener)
    listener.answers = [500, 302]
    arrive(api, published(api), ANN)
    fake.flush_webhooks()
    assert listener.statuses() == ["ACTIVE"] * 3
    assert len(set(listener.ids())) == 1


def test_webhooks_can_come_twice(api, fake, listener):
    subscribed(api, listener)
    api.post("/fake/mode", {"webhooks": "duplicate"})
    come_back(api, arrive(api, published(api), ANN), "LOOK")
    fake.flush_webhooks()
    assert listener.statuses() == ["ACTIVE", "ACTIVE", "AWAITING REVIEW", "AWAITING REVIEW"]
    assert len(set(listener.ids())) == 2


def test_webhooks_can_come_in_reverse_when_they_are_let_go(api, fake, listener):
    subscribed(api, listener)
    api.post("/fake/mode", {"webhooks": "reverse"})
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    api.post(f"submissions/{session}/transition/", {"action": "APPROVE"})
    assert listener.got == []
    api.post("/fake/flush_webhooks")
    assert listener.statuses() == ["APPROVED", "AWAITING REVIEW", "ACTIVE"]


def test_webhooks_can_stay_away(api, fake, listener):
    subscribed(api, listener)
    api.post("/fake/mode", {"webhooks": "off"})
    session = arrive(api, published(api), ANN)
    api.post("/fake/mode", {"webhooks": "on"})
    come_back(api, session, "LOOK")
    fake.flush_webhooks()
    assert listener.statuses() == ["AWAITING REVIEW"]


# By hand, and from one day to the next


def test_a_whole_visit_by_hand(api):
    study = published(api, internal_name="<b>SST-2</b>")
    browser = Http(api.url, token="")
    home = browser.get("/")
    assert "&lt;b&gt;SST-2" in home
    assert "0 of 3" in home
    form = {"study_id": study, "participant_id": ANN}
    status, _, headers = browser("POST", "/fake/arrive", form=form)
    assert status == 303
    assert headers["Location"].startswith("https://handful.example:8443/r/prolific/?PROLIFIC_PID=")
    cookie = headers["Set-Cookie"].split(";")[0]
    session = cookie.removeprefix("fake_prolific_submission=")
    assert "1 of 3" in browser.get("/")
    status, page, _ = browser("GET", "/submissions/complete?cc=DONE", Cookie=cookie)
    assert "APPROVED" in page
    assert "reward 3.00" in browser.get("/")
    status, page, _ = browser("POST", "/fake/arrive", form=form)
    assert (status, "took part already" in page) == (409, True)
    status, page, _ = browser("POST", "/fake/time_out", form={"session": session})
    assert status == 409


def test_a_browser_that_nobody_knows_completes_nothing(api):
    assert Http(api.url, token="")("GET", "/submissions/complete?cc=DONE")[0] == 404


def start_command(state):
    command = [sys.executable, "manage.py", "fake_prolific", "--port", "0", "--token", "t"]
    process = subprocess.Popen(
        [*command, "--state", str(state)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [process.stdout.readline() for _ in range(3)]
    exports = dict(re.findall(r"(PROLIFIC_\w+)=(\S+)", "".join(lines)))
    return process, exports


def test_the_command_says_what_to_export_and_keeps_its_books(tmp_path):
    state = tmp_path / "fake.json"
    process, exports = start_command(state)
    try:
        api = Http(exports["PROLIFIC_APP_URL"], exports["PROLIFIC_TOKEN"])
        assert api.get(exports["PROLIFIC_URL"] + "/api/v1/users/me/")["id"]
        keys = api.get(exports["PROLIFIC_URL"] + "/.well-known/study/jwks.json")
        study = published(api)
        come_back(api, arrive(api, study, ANN), "DONE")
        books = api.get("/fake/books")
    finally:
        process.kill()  # not even a goodbye: what was answered is kept
        process.communicate()
    process, exports = start_command(state)
    try:
        api = Http(exports["PROLIFIC_APP_URL"], exports["PROLIFIC_TOKEN"])
        assert api.get("/fake/books") == books
        assert books[ANN]["paid_cents"] == 300
        assert api.get(exports["PROLIFIC_URL"] + "/.well-known/study/jwks.json") == keys
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 0
    finally:
        process.kill()
