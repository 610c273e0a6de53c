"""Dallinger's ProlificService goes through a study of its own; only the address is another."""

import pytest
from conftest import CODES, STUDY_URL, TOKEN
from dallinger.prolific import (
    ProlificService,
    ProlificServiceException,
    ProlificServiceNoSuchWorkspaceException,
)

PEOPLE = [f"{number:024x}" for number in range(1, 4)]


class Service(ProlificService):
    """Dallinger has Prolific's address fixed in a property; everything else is Dallinger's."""

    url = ""

    @property
    def api_root(self):
        return f"{self.url}/api/{self.api_version}"


@pytest.fixture
def service(platform):
    service = Service(api_token=TOKEN, api_version="v1", referer_header="https://handful.example")
    service.url = platform.url
    return service


def study(**fields):
    return {
        "completion_codes": CODES,
        "completion_option": "code",
        "description": "A study",
        "filters": [],
        "estimated_completion_time": 10,
        "external_study_url": STUDY_URL,
        "internal_name": "dallinger",
        "is_custom_screening": False,
        "maximum_allowed_time": 32,
        "name": "A study",
        "project_name": "Dallinger's project",
        "prolific_id_option": "url_parameters",
        "publish_experiment": True,
        "reward": 200,
        "total_available_places": 2,
        "mode": "live",
        "workspace": "My workspace",
        "device_compatibility": ["desktop"],
        "peripheral_requirements": [],
        **fields,
    }


def test_from_a_draft_to_paid_bonuses(platform, service):
    assert service.who_am_i()["email"]
    created = service.create_study(**study())
    assert created["status"] == "ACTIVE"
    assert [each["id"] for each in service.get_studies(states=["ACTIVE"])] == [created["id"]]
    assert [hit["annotation"] for hit in service.get_hits()] == ["dallinger"]
    sessions = [platform.arrive(created["id"], each) for each in PEOPLE[:2]]
    platform.complete(sessions[0], "DONE")
    rows = service.get_assignments_for_study(created["id"])
    assert [rows[each]["status"] for each in sessions] == ["AWAITING REVIEW", "ACTIVE"]
    assert service.approve_participant_submission(sessions[0])["status"] == "APPROVED"
    assert service.approve_participant_submission(sessions[0])["status"] == "APPROVED"
    service.pay_session_bonus(created["id"], PEOPLE[0], 1.5)
    seen = service.get_participant_submission(sessions[0], translate=False)
    assert seen["bonus_payments"] == [150]
    assert platform.paid(PEOPLE[0]) == 350
    assert service.get_total_cost(created["id"]) == 350 + 67 + 50
    more = service.add_participants_to_study(study_id=created["id"], number_to_add=1)
    assert more["total_available_places"] == 3
    platform.arrive(created["id"], PEOPLE[2])
    assert service.get_unread_messages() == []


def test_all_pages_of_submissions_are_found(platform, service):
    created = service.create_study(**study(total_available_places=101))
    for number in range(101):
        platform.arrive(created["id"], f"{number:024x}")
    assert len(service.get_submissions(created["id"])) == 101


def test_a_project_is_found_again_and_a_workspace_must_exist(service):
    first, second = (service.create_study(**study(mode="sandbox")) for _ in range(2))
    assert first["status"] == "UNPUBLISHED"
    assert first["project"] == second["project"]
    assert service.delete_study(first["id"])
    with pytest.raises(ProlificServiceNoSuchWorkspaceException):
        service.create_study(**study(workspace="nobody's"))


def test_screening_out_in_bulk_pays(platform, service):
    created = service.create_study(**study(is_custom_screening=True))
    session = platform.arrive(created["id"], PEOPLE[0])
    told = service.screen_out(created["id"], session, 0.5, increase_places=False)
    assert told["payment_per_participant"] == {"amount": 0.5, "currency": "GBP"}
    assert platform.paid(PEOPLE[0]) == 50


def test_a_refusal_is_read_as_such(service):
    with pytest.raises(ProlificServiceException, match="maximum_allowed_time"):
        service.create_study(**study(maximum_allowed_time=20))
    assert service.get_participant_submission("0" * 24, translate=False) is None
