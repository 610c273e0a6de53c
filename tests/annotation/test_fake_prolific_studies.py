"""Studies on the fake Prolific: drafts, life cycle, signed links, places, groups."""

import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from annotation.simulation.fake_prolific.platform import FakeProlific
from annotation.simulation.fake_prolific.rules import FakeError
from tests.annotation.prolific_http import (
    ANN,
    BEA,
    CEM,
    DAN,
    HEX_ID,
    Http,
    arrive,
    code,
    come_back,
    draft,
    published,
    reject,
    start,
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


# Studies


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
        "workspace_id": fake.first_workspace,
    }


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
