"""potato's ProlificClient calls all it has, and its webhook receiver takes what is sent."""

import threading
import time

import pytest
from conftest import CODES, STUDY_URL, TOKEN
from flask import Flask
from potato.crowdsourcing import webhooks
from potato.crowdsourcing.prolific_api import ProlificAPIError, ProlificClient
from potato.server_utils.config_module import config
from werkzeug.serving import make_server

ANN, BEA, CEM, DAN = (letter * 24 for letter in "abcd")


@pytest.fixture
def client(platform):
    return ProlificClient(TOKEN, base_url=platform.api)


@pytest.fixture
def workspace(client):
    (workspace,) = client.list_workspaces()["results"]
    return workspace["id"]


def study(**fields):
    return {
        "name": "A study",
        "description": "What it is about",
        "external_study_url": STUDY_URL,
        "prolific_id_option": "url_parameters",
        "completion_codes": CODES,
        "total_available_places": 4,
        "estimated_completion_time": 10,
        "reward": 200,
        **fields,
    }


def test_the_whole_life_of_a_study(platform, client, workspace):
    assert client.who_am_i()["email"]
    assert client.calculate_cost(200, 4) == {"total_cost": 4 * 267}
    study_id = client.create_study(study())["id"]
    client.update_study(study_id, {"reward": 300})
    client.publish_study(study_id)
    client.pause_study(study_id)
    assert client.start_study(study_id)["status"] == "ACTIVE"
    ids = [platform.arrive(study_id, each) for each in (ANN, BEA, CEM, DAN)]
    for session in ids[:3]:
        platform.complete(session, "DONE")
    assert len(client.list_submissions(study_id)["results"]) == 4
    client.approve_submission(ids[0])
    client.bulk_approve(study_id, [ids[1]])
    client.reject_submission(ids[2], "Most of the questions were skipped. " * 4, "NO_DATA")
    client.complete_submission(ids[3], "PAID")
    statuses = [client.get_submission(each)["status"] for each in ids]
    assert statuses == ["APPROVED", "APPROVED", "REJECTED", "APPROVED"]
    batch = client.set_up_bonuses(study_id, [(ANN, "1.50")])
    client.pay_bonuses(batch["id"])
    assert [platform.paid(each) for each in (ANN, BEA, DAN)] == [450, 300, 300]
    assert client.study_cost(study_id)["rewards"]["rewards"]["amount"] == 900
    assert client.workspace_balance(workspace)["total_balance"] < 10_000_000
    assert client.increase_places(study_id, 6)["total_available_places"] == 6
    assert client.stop_study(study_id)["status"] == "COMPLETED"
    listed = client.list_studies(state="(completed)")["results"]
    assert [each["id"] for each in listed] == [study_id]
    assert client.get_study(study_id)["places_taken"] == 3


def test_drafts_groups_and_filters(client, workspace):
    (project,) = client.list_projects(workspace)["results"]
    group = client.create_participant_group(project["id"], "qualified")["id"]
    client.add_to_group(group, [ANN, BEA])
    client.remove_from_group(group, [BEA])
    members = client.list_group_participants(group)["results"]
    assert [each["participant_id"] for each in members] == [ANN]
    listed = client.list_participant_groups(project_id=project["id"])["results"]
    assert [each["id"] for each in listed] == [group]
    assert any(each["filter_id"] == "age" for each in client.list_filters()["results"])
    assert client.eligibility_count([])["count"]
    allowed = {"filter_id": "participant_group_allowlist", "selected_values": [group]}
    drafted = client.create_study(study(filters=[allowed]))["id"]
    client.delete_study(drafted)
    client.delete_participant_group(group)
    assert client.list_participant_groups(project_id=project["id"])["results"] == []


def test_what_the_reference_refuses_is_refused_to_potato_too(client):
    # The reference wants an email for a test participant; potato sends none.
    with pytest.raises(ProlificAPIError, match="email"):
        client.create_test_participant()
    drafted = client.create_study(study())["id"]
    with pytest.raises(ProlificAPIError, match="test participant"):
        client.make_test_study(drafted)
    with pytest.raises(ProlificAPIError, match="is_custom_screening"):
        client.screen_out_submissions(drafted, ["0" * 24])


@pytest.fixture
def receiver():
    """potato's own webhook address, in a Flask application of its own."""
    app = Flask("receiver")
    app.register_blueprint(webhooks.crowd_webhooks_bp)
    webhooks.clear_seen_events()
    server = make_server("127.0.0.1", 0, app)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/webhooks/prolific"
    server.shutdown()


def ended(client, path):
    """The events of a subscription, when none is on its way any more."""
    for _try in range(200):
        events = client.hook_subscription_events(path)["results"]
        if events and all(each["status"] != "PENDING" for each in events):
            return events
        time.sleep(0.05)
    raise AssertionError("the webhooks did not end")


def test_potato_takes_webhooks_that_are_signed_with_its_secret(
    platform, client, workspace, receiver
):
    secret = client.create_hook_secret(workspace)["value"]
    assert [each["value"] for each in client.list_hook_secrets(workspace)["results"]] == [secret]
    settings = {"enabled": True, "secret": secret}
    config["crowdsourcing"] = {"prolific": {"webhooks": settings}}
    types = [each["event_type"] for each in client.list_hook_event_types()["results"]]
    ids = {}
    for event_type in types:
        reply = client.create_hook_subscription(workspace, event_type, receiver)
        ids[event_type] = reply["id"]
    # potato leaves the confirmation to the researcher; the platform's owner switches it on here.
    for subscription in ids.values():
        client._patch(f"/hooks/subscriptions/{subscription}/", {"is_enabled": True})
    assert len(client.list_hook_subscriptions(workspace)["results"]) == 4
    study_id = client.create_study(study())["id"]
    client.publish_study(study_id)
    platform.complete(platform.arrive(study_id, ANN), "DONE")
    events = ended(client, ids["submission.status.change"])
    assert [each["status"] for each in events] == ["SUCCEEDED"] * 2
    assert webhooks.last_study_events["study.status.change"]["resource_id"] == study_id
    settings["secret"] = "another"
    client.pause_study(study_id)
    assert ended(client, ids["study.status.change"])[-1]["status"] == "FAILED"
    client.delete_hook_subscription(ids["study.status.change"])
