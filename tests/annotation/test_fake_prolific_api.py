"""The fake Prolific refuses what Prolific's reference refuses, and has the addresses it has."""

import pytest

from annotation.simulation.fake_prolific.platform import FakeProlific
from tests.annotation.prolific_http import (
    ANN,
    BEA,
    CEM,
    DAN,
    Http,
    arrive,
    code,
    come_back,
    draft,
    paid,
    published,
    status_of,
    turned_away,
)


@pytest.fixture
def fake():
    return FakeProlific()


@pytest.fixture
def api(fake):
    with fake.serve() as server:
        yield Http(server.url)


def screen_out(**fields):
    action = {"fixed_screen_out_reward": 100, "slots": 5, **fields}
    return code("OUT", "FIXED_SCREEN_OUT_PAYMENT", **action)


def into_group(group):
    return code("A", "ADD_TO_PARTICIPANT_GROUP", participant_group=group)


# What is refused


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": ""}, "name"),
        ({"external_study_url": "ftp://x"}, "external_study_url"),
        ({"prolific_id_option": "perhaps"}, "prolific_id_option"),
        ({"total_available_places": 0}, "total_available_places"),
        ({"completion_codes": []}, "completion_codes"),
        ({"completion_codes": [code("A", "MANUALLY_REVIEW")] * 2}, "completion_codes"),
        ({"completion_codes": [code("A", "DANCE")]}, "completion_codes"),
        ({"completion_codes": [into_group("none")]}, "completion_codes"),
        ({"maximum_allowed_time": 24 * 60}, "maximum_allowed_time"),
        ({"reward": 199}, "reward"),  # 20 minutes at 6.00 an hour are 200
        ({"reward": "300"}, "reward"),
        ({"reward": 3.5}, "reward"),
        ({"study_labels": ["annotating"]}, "study_labels"),
        ({"study_labels": ["annotation", "survey"]}, "study_labels"),
        ({"content_warnings": ["sensitive", "explicit"]}, "content_warnings"),
        ({"device_compatibility": ["computer"]}, "device_compatibility"),
        ({"peripheral_requirements": ["mouse"]}, "peripheral_requirements"),
        ({"filters": [{"filter_id": "shoe_size", "selected_values": ["1"]}]}, "filters"),
        ({"filters": [{"filter_id": "handedness", "selected_values": ["7"]}]}, "filters"),
        ({"filters": [{"filter_id": "age", "selected_values": ["20"]}]}, "filters"),
        ({"filters": [{"filter_id": "or", "selected_filters": [{}]}]}, "filters"),
        ({"completion_codes": [code("NO", "REQUEST_RETURN")]}, "completion_codes"),
        ({"completion_codes": [screen_out(slots=None)]}, "completion_codes"),
        ({"completion_codes": [screen_out(fixed_screen_out_reward=9)]}, "completion_codes"),
        ({"completion_codes": [screen_out(fixed_screen_out_reward=300)]}, "completion_codes"),
        ({"completion_codes": [code("PART", "DYNAMIC_PAYMENT")]}, "completion_codes"),
        ({"completion_codes": [code(None, "MANUALLY_REVIEW")]}, "completion_codes"),
        ({"project": "mine"}, "project"),
        ({"access_details": []}, "external_study_url"),
        (
            {"access_details": [{"external_url": "https://x.example", "total_allocation": 2}]},
            "access_details",  # does not add up to three places
        ),
    ],
)
def test_what_the_reference_refuses_is_refused_and_the_field_named(api, fields, named):
    if "access_details" in fields:
        fields["external_study_url"] = ""
    assert named in api.refused("POST", "studies/", draft(**fields))
    assert api.get("studies/")["results"] == []


@pytest.mark.parametrize(("currency", "least", "smallest"), [("GBP", 200, 10), ("USD", 267, 14)])
def test_the_minimum_pay_depends_on_the_currency(api, currency, least, smallest):
    api.post("/fake/mode", {"currency": currency})
    out = screen_out(fixed_screen_out_reward=smallest - 1)
    assert "reward" in api.refused("POST", "studies/", draft(reward=least - 1))
    assert "screen_out" in api.refused("POST", "studies/", draft(completion_codes=[out]))
    out = screen_out(fixed_screen_out_reward=smallest)
    created = api.post("studies/", draft(reward=least, completion_codes=[out]))
    assert created["currency_code"] == api.get("users/me/")["currency_code"] == currency


@pytest.mark.parametrize(("estimate", "least"), [(1, 6), (3, 12), (9, 26), (664, 1382)])
def test_the_maximum_time_follows_the_documented_formula(api, estimate, least):
    fields = {"estimated_completion_time": estimate, "reward": 10_000}
    assert "from" in api.refused(
        "POST", "studies/", draft(**fields, maximum_allowed_time=least - 1)
    )
    api.post("studies/", draft(**fields, maximum_allowed_time=least))


# What is legal


@pytest.mark.parametrize(
    "fields",
    [
        {"completion_codes": [{"code": None, "code_type": "COMPLETED", "actions": []}]},
        {"reward": 300.0, "total_available_places": 3.0},
        {"completion_codes": [{**code("PART", "DYNAMIC_PAYMENT"), "actor": "researcher"}]},
        {"filters": None},
        {"filters": [{"filter_id": "age", "selected_range": {"lower": 18}}]},
        {"filters": [{"filter_id": "handedness", "selected_values": ["1"]}]},
        {"device_compatibility": [], "peripheral_requirements": [], "content_warnings": []},
        {"estimated_completion_time": 7.5},
    ],
)
def test_what_the_reference_allows_can_be_published(api, fields):
    study = published(api, **fields)
    arrive(api, study, ANN)


def test_somebody_may_take_part_as_often_as_the_study_says(api):
    study = published(api, submissions_config={"max_submissions_per_participant": 2})
    first = arrive(api, study, ANN)
    come_back(api, first, "DONE")
    arrive(api, study, ANN)
    assert turned_away(api, study, ANN) == "already"
    shown = api.get(f"submissions/?study={study}")["results"]
    assert [each["has_siblings"] for each in shown] == [True, True]


def test_only_so_many_at_once_as_the_study_says(api):
    study = published(api, submissions_config={"max_concurrent_submissions": 1})
    first = arrive(api, study, ANN)
    assert turned_away(api, study, BEA) == "full"
    come_back(api, first, "DONE")
    arrive(api, study, BEA)


def test_slots_can_be_raised_and_the_study_started_again(api):
    study = published(api, completion_codes=[screen_out(slots=1), code("DONE", "MANUALLY_REVIEW")])
    come_back(api, arrive(api, study, ANN), "OUT")
    path = f"studies/{study}/"
    more = {"code": "OUT", "actions": [{"action": "FIXED_SCREEN_OUT_PAYMENT", "slots": 2}]}
    changed = api("PATCH", path, {"completion_codes": [more]})[1]
    assert changed["completion_codes"][0]["actions"][0] == screen_out(slots=2)["actions"][0]
    assert len(changed["completion_codes"]) == 2
    api.post(f"{path}transition/", {"action": "START"})
    arrive(api, study, BEA)
    other = {"code": "NEW", "actions": []}
    assert "slots" in api.refused("PATCH", path, {"completion_codes": [other]})


# Filters


def test_lists_of_people_and_earlier_studies_decide_who_may_arrive(api):
    earlier = published(api)
    arrive(api, earlier, ANN)
    not_again = {"filter_id": "previous_studies_blocklist", "selected_values": [earlier]}
    chosen = {"filter_id": "custom_allowlist", "selected_values": [ANN, BEA]}
    both = {"filter_id": "and", "selected_filters": [not_again, chosen]}
    either = {"filter_id": "or", "selected_filters": [not_again, chosen]}
    strict, loose = published(api, filters=[both]), published(api, filters=[either])
    assert turned_away(api, strict, ANN) == turned_away(api, strict, CEM) == "not_eligible"
    arrive(api, strict, BEA)
    for person in (ANN, BEA, CEM):
        arrive(api, loose, person)


# Workspaces, projects, money


def test_the_balance_falls_by_what_is_set_aside_and_what_is_paid(api, fake):
    path = f"workspaces/{fake.first_workspace}/balance/"
    assert api.get(path)["available_balance"] == 10_000_000
    study = published(api, total_available_places=2)
    before = api.get(path)
    assert (before["total_balance"], before["available_balance"]) == (10_000_000, 9_999_200)
    come_back(api, arrive(api, study, ANN), "DONE")
    after = api.get(path)
    assert (after["total_balance"], after["available_balance"]) == (9_999_600, 9_999_200)


def test_a_study_that_the_balance_does_not_cover_is_not_published(api):
    api.post("/fake/mode", {"balance": 1199})
    study = api.post("studies/", draft())["id"]
    path = f"studies/{study}/transition/"
    assert "balance" in api.refused("POST", path, {"action": "PUBLISH"})
    api.post("/fake/mode", {"balance": 1200})
    api.post(path, {"action": "PUBLISH"})


# Submissions


@pytest.fixture
def mixed(api):
    """A study with a submission of each of four kinds."""
    study = published(api, total_available_places=9)
    ids = {}
    for person, cc in ((ANN, "DONE"), (BEA, "LOOK"), (CEM, "OUT")):
        ids[cc] = arrive(api, study, person)
        come_back(api, ids[cc], cc)
    ids["active"] = arrive(api, study, DAN)
    return study, ids


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("completed=1", ["DONE", "LOOK", "OUT"]),
        ("completed=no", ["active"]),
        ("completed=true&approved=f", ["LOOK", "OUT"]),
        ("awaiting_review=t", ["LOOK"]),
        ("approved=YES", ["DONE"]),
        ("active=1", ["active"]),
        ("screened_out=1", ["OUT"]),
        ("returned=1", []),
        ("timeout=1", []),
        ("rejected=0", ["DONE", "LOOK", "OUT", "active"]),
        ("completeoractive=1", ["DONE", "LOOK", "OUT", "active"]),
        ("status=timed-out", []),
        ("ordering=submission_reward", ["DONE", "LOOK", "OUT", "active"]),
        ("ordering=-study_name", ["active", "OUT", "LOOK", "DONE"]),
    ],
)
def test_submissions_are_filtered_and_ordered(api, mixed, query, expected):
    study, ids = mixed
    rows = api.get(f"submissions/?study={study}&{query}")["results"]
    assert [each["id"] for each in rows] == [ids[name] for name in expected]


def test_many_are_approved_at_once_or_none(api):
    study = published(api)
    sessions = [arrive(api, study, each) for each in (ANN, BEA)]
    come_back(api, sessions[0], "LOOK")
    by_id = {"submission_ids": sessions}
    assert "ACTIVE" in api.refused("POST", "submissions/bulk-approve/", by_id)
    assert paid(api, ANN) == 0
    come_back(api, sessions[1], "LOOK")
    for _ in range(2):
        api.post("submissions/bulk-approve/", by_id)
    assert [paid(api, each) for each in (ANN, BEA)] == [300, 300]
    last = arrive(api, study, CEM)
    come_back(api, last, "LOOK")
    people = {"study_id": study, "participant_ids": [CEM]}
    api.post("submissions/bulk-approve/", people)
    assert status_of(api, last) == "APPROVED"
