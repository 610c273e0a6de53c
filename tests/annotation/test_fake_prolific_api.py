"""The fake Prolific refuses what Prolific's reference refuses, and has the addresses it has."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation.simulation.fake_prolific.platform import FakeError, FakeProlific
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
    paid,
    published,
    reject,
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


def screen_out(**fields):
    action = {"fixed_screen_out_reward": 100, "slots": 5, **fields}
    return code("OUT", "FIXED_SCREEN_OUT_PAYMENT", **action)


# What is refused


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"estimated_completion_time": 3, "maximum_allowed_time": 11}, "maximum_allowed_time"),
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
    made = api.post("studies/", draft(reward=least, completion_codes=[out]))
    assert made["currency_code"] == api.get("users/me/")["currency_code"] == currency


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


def test_a_study_without_a_maximum_time_gets_the_longest(api):
    fields = draft()
    del fields["maximum_allowed_time"]
    assert api.post("studies/", fields)["maximum_allowed_time"] == 24 * 60 - 1


def test_with_a_null_code_any_way_back_completes(api):
    null = {"code": None, "code_type": "COMPLETED", "actions": []}
    session = arrive(api, published(api, completion_codes=[null]), ANN)
    come_back(api, session, "NOCODE")
    assert status_of(api, session) == "AWAITING REVIEW"


def test_a_dynamic_payment_pays_a_share_of_the_reward(api):
    part = {**code("PART", "DYNAMIC_PAYMENT"), "actor": "researcher"}
    session = arrive(api, published(api, completion_codes=[part]), ANN)
    path, asked = f"submissions/{session}/transition/", {"action": "COMPLETE"}
    asked["completion_code"] = "PART"
    assert "percentage_of_reward" in api.refused("POST", path, asked)
    asked["completion_code_data"] = {"percentage_of_reward": 50}
    api.post(path, asked)
    assert (status_of(api, session), paid(api, ANN)) == ("PARTIALLY APPROVED", 150)


def test_a_taskflow_sends_people_to_its_addresses_in_turn(api, fake):
    tasks = [
        {"external_url": f"https://x.example/{name}?pid={{{{%PROLIFIC_PID%}}}}", **share}
        for name, share in (("a", {"total_allocation": 1}), ("b", {"total_allocation": 2}))
    ]
    fields = {"access_details": tasks, "external_study_url": ""}
    study = published(api, **fields)
    assert [fake.arrive(study, each)["url"] for each in (ANN, BEA)] == [
        f"https://x.example/a?pid={ANN}",
        f"https://x.example/b?pid={BEA}",
    ]
    progress = api.get(f"studies/{study}/access-details-progress/")["progress"]
    assert [each["allocated"] for each in progress] == [1, 1]
    more = {"external_url": "https://x.example/c", "total_allocation": 4}
    changed = api("PATCH", f"studies/{study}/", {"access_details": [more]})[1]
    assert (changed["total_available_places"], len(changed["access_details"])) == (7, 3)
    api.refused("GET", f"studies/{published(api)}/access-details-progress/", status=404)


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


def test_filters_are_listed_with_what_can_be_chosen(api, fake):
    group = {"workspace_id": fake.first_workspace, "name": "barred"}
    made = api.post("participant-groups/", group)["id"]
    filters = {each["filter_id"]: each for each in api.get("filters/")["results"]}
    assert filters["participant_group_blocklist"]["choices"] == {made: "barred"}
    assert (filters["age"]["type"], filters["age"]["min"]) == ("range", 18)


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


def test_how_many_are_eligible_is_told_unless_they_are_few(api):
    def count(*filters):
        return api.post("eligibility-count/", {"filters": list(filters)})["count"]

    many = [f"{number:024x}" for number in range(30)]
    assert count() == 130_000
    assert count({"filter_id": "custom_allowlist", "selected_values": many}) == 30
    assert count({"filter_id": "custom_allowlist", "selected_values": many[:24]}) == 0
    assert count({"filter_id": "custom_blocklist", "selected_values": many}) == 130_000 - 30
    assert "filters" in api.refused("POST", "eligibility-count/", {"filters": "all"})


# Workspaces, projects, money


def test_a_study_belongs_to_a_project_of_a_workspace(api, fake):
    (workspace,) = api.get("workspaces/")["results"]
    (project,) = api.get(f"workspaces/{workspace['id']}/projects/")["results"]
    assert workspace["id"] == fake.first_workspace
    assert api.post("studies/", draft())["project"] == project["id"]
    other = api.post("workspaces/", {"title": "Another"})["id"]
    made = api.post(f"workspaces/{other}/projects/", {"title": "Reading"})
    study = api.post("studies/", draft(project=made["id"]))["id"]
    assert [each["id"] for each in api.get(f"projects/{made['id']}/studies/")["results"]] == [study]
    assert api.get(f"projects/{made['id']}/")["workspace"] == other
    renamed = api("PATCH", f"projects/{made['id']}/", {"title": "Writing"})[1]
    assert renamed["title"] == "Writing"
    assert len(api.get(f"workspaces/{other}/")["projects"]) == 1
    assert api("DELETE", f"projects/{made['id']}/studies/{study}/")[0] == 204
    api.refused("GET", f"studies/{study}/", status=404)


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


def test_costs_and_rates_are_told_before_anything_is_paid(api, fake):
    asked = {"reward": 300, "total_available_places": 3}
    assert api.post("study-cost-calculator/", asked) == {"total_cost": 1200}
    query = f"?workspace_id={fake.first_workspace}&currency="
    (rate,) = api.get(f"reward-recommendations/{query}USD")
    assert (rate["min_reward_per_hour"], rate["recommended_reward_per_hour"]) == (800, 1200)
    api.refused("GET", f"reward-recommendations/{query}EUR")
    study = published(api)
    projected = api.get(f"studies/{study}/cost/?is_projected=true")
    assert projected["rewards"]["rewards"]["amount"] == 900


# Studies


def test_a_draft_can_be_deleted_and_a_published_study_cannot(api):
    study = api.post("studies/", draft())["id"]
    assert api("DELETE", f"studies/{study}/")[:2] == (200, {})
    api.refused("GET", f"studies/{study}/", status=404)
    assert "draft" in api.refused("DELETE", f"studies/{published(api)}/")


def test_a_copy_keeps_out_who_took_part_in_the_first(api):
    study = published(api)
    arrive(api, study, ANN)
    path = f"studies/{study}/clone/"
    copies = [api.post(path)["id"], api.post(path, {"block_previous_participants": False})["id"]]
    assert [study_status(api, each) for each in copies] == ["UNPUBLISHED"] * 2
    for each in copies:
        api.post(f"studies/{each}/transition/", {"action": "PUBLISH"})
    assert turned_away(api, copies[0], ANN) == "not_eligible"
    arrive(api, copies[1], ANN)


def test_a_test_study_is_for_test_participants_alone(api):
    study = api.post("studies/", draft())["id"]
    path = f"studies/{study}/test-study"
    assert "test participant" in api.refused("POST", path)
    assert "email" in api.refused("POST", "researchers/participants/")
    tester = api.post("researchers/participants/", {"email": "t@example.org"})["participant_id"]
    tried = api.post(path)["study_id"]
    assert turned_away(api, tried, ANN) == "not_eligible"
    arrive(api, tried, tester)
    api.post("/fake/mode", {"test_studies": False})
    api.refused("POST", path, status=403)


def test_studies_can_be_listed_by_status(api):
    active, drafted = published(api), api.post("studies/", draft())["id"]

    def ids(state):
        return [each["id"] for each in api.get(f"studies/?state={state}")["results"]]

    assert ids("(active|paused)") == ids("PUBLISHED") == [active]
    assert ids("UNPUBLISHED") == [drafted]
    assert ids("AWAITING%20REVIEW") == []


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
    ("query", "found"),
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
def test_submissions_are_filtered_and_ordered(api, mixed, query, found):
    study, ids = mixed
    rows = api.get(f"submissions/?study={study}&{query}")["results"]
    assert [each["id"] for each in rows] == [ids[name] for name in found]


def test_submissions_are_filtered_by_the_day_they_were_completed(api, mixed):
    study, _ = mixed

    def count(name, days):
        day = (datetime.now(UTC) + timedelta(days=days)).strftime("%d/%m/%Y")
        return api.get(f"submissions/?study={study}&{name}={day}")["meta"]["count"]

    assert (count("submitted_from", -1), count("submitted_from", 1)) == (3, 0)
    assert (count("submitted_before", -1), count("submitted_before", 1)) == (0, 3)


@pytest.mark.parametrize("query", ["completed=maybe", "submitted_from=2026-01-01", "ordering=name"])
def test_a_filter_with_a_wrong_value_is_refused(api, query):
    study = published(api)
    assert query.partition("=")[0] in api.refused("GET", f"submissions/?study={study}&{query}")


def test_submissions_of_a_study_are_listed_and_counted(api, mixed):
    study, _ = mixed
    assert len(api.get(f"studies/{study}/submissions/")["results"]) == 4
    counts = api.get(f"studies/{study}/submissions/counts/")
    assert (counts["TOTAL"], counts["SCREENED OUT"], counts["REJECTED"]) == (4, 1, 0)


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


def test_a_rejection_can_be_taken_back(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    reject(api, session)
    path = f"submissions/{session}/transition/"
    assert api.post(path, {"action": "UNREJECT"})["status"] == "AWAITING REVIEW"
    api.post("/fake/return_submission", {"session": session})
    assert api.post(path, {"action": "UNRETURN"})["status"] == "AWAITING REVIEW"
    for action in ("RETURN", "START", "SCREEN_OUT", "DANCE"):
        api.refused("POST", path, {"action": action})


def test_what_the_reference_no_longer_has_can_be_switched_off(api):
    study = published(api, is_custom_screening=True)
    asked = {"submission_ids": [arrive(api, study, ANN)], "bonus_per_submission": 1}
    api.post("/fake/mode", {"retired": False})
    api.refused("POST", f"studies/{study}/screen-out-submissions/", asked, status=404)
    project = next(iter(api.get("studies/")["results"]))["project"]
    group = {"name": "g", "project_id": project}
    api.refused("POST", "participant-groups/", group)
    api.post("/fake/mode", {"retired": True})
    api.post("participant-groups/", group)


# Groups and messages


def test_a_group_can_be_shown_changed_and_deleted(api, fake):
    owner = {"workspace_id": fake.first_workspace}
    group = api.post("participant-groups/", {**owner, "name": "g", "participant_ids": [ANN]})["id"]
    path, listed = f"participant-groups/{group}/", "participant-groups/?workspace_id="
    assert api.get(path)["participant_count"] == 1
    changed = api("PATCH", path, {"name": "h", "participant_ids": [BEA, CEM]})[1]
    assert (changed["name"], changed["participant_count"]) == ("h", 2)
    assert [each["id"] for each in api.get(listed + owner["workspace_id"])["results"]] == [group]
    assert api("DELETE", path)[0] == 204
    assert api.get(listed + owner["workspace_id"])["results"] == []
    assert api.get(path)["is_deleted"]
    filtered = {"filter_id": "participant_group_allowlist", "selected_values": [group]}
    assert "filters" in api.refused("POST", "studies/", draft(filters=[filtered]))


@pytest.mark.parametrize("body", [{"name": "g"}, {"name": "g", "workspace_id": "nonsense"}])
def test_a_group_needs_a_workspace_that_exists(api, body):
    assert "workspace_id" in api.refused("POST", "participant-groups/", body)
    assert "workspace_id" in api.refused("GET", "participant-groups/?workspace_id=nonsense")


def test_a_group_can_belong_to_an_organisation(api, fake):
    body = {"name": "g", "organisation_id": fake.organisation}
    assert HEX_ID.fullmatch(api.post("participant-groups/", body)["id"])


def test_messages_go_both_ways(api, fake):
    study = published(api)
    owner = {"workspace_id": fake.first_workspace, "participant_ids": [ANN, CEM]}
    group = api.post("participant-groups/", {**owner, "name": "g"})["id"]
    one = {"recipient_id": ANN, "body": "hello", "study_id": study}
    assert api("POST", "messages/", one)[0] == 204
    assert (
        api("POST", "messages/bulk/", {"ids": [ANN, BEA], "body": "b", "study_id": study})[0] == 204
    )
    everybody = {"participant_group_id": group, "body": "all"}
    assert api("POST", "messages/participant-group/", everybody)[0] == 204
    api.post("/fake/write", {"participant_id": ANN, "body": "a question", "study_id": study})
    bodies = [each["body"] for each in api.get(f"messages/?user_id={ANN}")["results"]]
    assert bodies == ["hello", "b", "all", "a question"]
    (unread,) = api.get("messages/unread/")["results"]
    assert (unread["sender_id"], unread["body"]) == (ANN, "a question")
    assert "user_id" in api.refused("GET", "messages/")
    assert api.get("messages/?created_after=2020-01-01T00:00:00Z")["results"]


# Bad days


@pytest.mark.parametrize("status", [403, 409, 429, 500])
def test_the_api_can_answer_too_much_forbidden_and_conflict(api, status):
    api.post("/fake/mode", {"fail_with": status, "fail_next": 1})
    assert "nothing was done" in api.refused("GET", "users/me/", status=status)
    assert api.get("users/me/")["email"]


def test_the_researcher_has_an_email(api):
    assert "@" in api.get("users/me/")["email"]


def test_a_participant_must_be_named(fake):
    with pytest.raises(FakeError):
        fake.arrive(fake.create_study(draft())["id"], "")
