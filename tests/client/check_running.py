"""Changes to a running study, through the client and a server over HTTP."""

import pytest
from check_participation import go_through
from handful import ApiError, Participation


@pytest.fixture(scope="module")
def draft():
    """A design from which each test creates its study."""
    return {
        "tasks": ["demo-sentiment"], "shots": [0], "annotators": 1, "hide_test_scores": False,
        "programs_as_people": True,
    }  # fmt: skip


@pytest.fixture
def study(payer, draft, request):
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40]
    return payer.studies.create({**draft, "name": name}).open()


def test_seats_can_be_added(study):
    (before,) = study.scenarios()
    study.add_seats(before["id"], 2)
    (after,) = study.scenarios()
    assert after["seats"] == before["seats"] + 2


def somebody_finishes(server, study) -> str:
    """Complete a person's seat by program; return the pseudonym."""
    with Participation.join(server[0], study.link) as seat:
        assert go_through(seat)[-1] == "finished"
    (one,) = study.participations(kind="person", status="completed")
    return one["pseudonym"]


def test_seats_added_after_results_are_confirmed(server, study):
    somebody_finishes(server, study)
    (scenario,) = study.scenarios()
    with pytest.raises(ApiError, match="results"):
        study.add_seats(scenario["id"], 1)
    study.add_seats(scenario["id"], 1, confirmed=True)
    assert [row["seats"] for row in study.scenarios()] == [scenario["seats"] + 1]


def test_team_members_can_be_added_changed_and_removed(study):
    study.add_member("bob", "analyst")
    study.change_role("bob", "payer")
    assert {row["username"]: row["role"] for row in study.team()} == {
        "ada": "owner",
        "bob": "payer",
    }
    study.remove_member("bob")
    assert [row["username"] for row in study.team()] == ["ada"]


def test_list_entries_can_be_added_and_ended(study):
    study.add_entry("deny", "study", "pilot")
    (entry,) = study.lists()
    assert (entry["effect"], entry["value"], entry["ended_at"]) == ("deny", "pilot", None)
    study.end_entry(entry["id"])
    assert [row["ended_at"] is None for row in study.lists()] == [False]


def test_personal_links_can_be_made_and_listed(study, client):
    made = study.make_links(["Ada L.", "Grace H."])
    assert [row["name"] for row in made] == ["Ada L.", "Grace H."]
    assert {row["link"] for row in study.links()} == {row["link"] for row in made}
    with pytest.raises(ApiError) as refused:  # names require the pay permission
        list(client.studies[study.name].links())
    assert refused.value.status == 403


def test_webhooks_can_be_made_listed_and_ended(study):
    made = study.make_webhook("https://93.184.216.34/hook", ["study.paused"])
    assert made["secret"].startswith("whsec_")
    (listed,) = study.webhooks()
    assert (listed["id"], listed["events"]) == (made["id"], ["study.paused"])
    assert "secret" not in listed
    assert list(study.deliveries(made["id"], "failed")) == []  # run_jobs sends it
    study.end_webhook(made["id"])
    assert list(study.webhooks()) == []
    with pytest.raises(ApiError) as refused:
        study.make_webhook("https://93.184.216.34/hook", ["study.exploded"])
    assert "events" in refused.value.fields


def test_a_bonus_needs_a_token_with_the_pay_scope_and_a_reason(server, study, client):
    someone = somebody_finishes(server, study)
    with pytest.raises(ApiError) as refused:
        client.studies[study.name].bonus(someone, "1.50", "A thorough comment.")
    assert refused.value.status == 403
    with pytest.raises(ApiError) as refused:
        study.bonus(someone, "1.50", "")
    assert "reason" in refused.value.fields
    study.bonus(someone, "1.50", "A thorough comment.")
