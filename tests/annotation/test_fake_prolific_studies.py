"""Studies on the fake Prolific: drafts, life cycle, signed links, places, groups."""

import sys
import threading
import time
from datetime import UTC, datetime
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
        "workspace_id": fake.first_workspace,
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
