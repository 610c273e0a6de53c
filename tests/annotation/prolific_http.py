"""Speaking to the fake Prolific over HTTP, as researchers, participants and browsers do."""

import json
import re
from urllib.parse import urlencode

import requests

HEX_ID = re.compile("[0-9a-f]{24}")
ANN, BEA, CEM, DAN = (letter * 24 for letter in "abcd")
EXPLANATION = (
    "This submission was rejected because most of the required questions were skipped. " * 2
)


class Http:
    """A plain client: returns (status, body read from JSON or the text, headers)."""

    def __init__(self, url: str, token: str = "fake-token"):
        self.url = url
        self.session = requests.Session()
        self.session.trust_env = False  # no proxy, no .netrc
        if token:
            self.session.headers["Authorization"] = f"Token {token}"

    def __call__(self, method, path, body=None, form=None, **headers):
        address = path
        if not path.startswith("http"):
            address = self.url + ("" if path.startswith("/") else "/api/v1/") + path
        reply = self.session.request(
            method, address, json=body, data=form, headers=headers,
            timeout=20, allow_redirects=False,
        )  # fmt: skip
        is_json = reply.headers["Content-Type"].startswith("application/json")
        read = reply.json() if reply.text and is_json else reply.text
        return reply.status_code, read, reply.headers

    def get(self, path):
        status, body, _ = self("GET", path)
        assert status == 200, body
        return body

    def post(self, path, body=None):
        status, body, _ = self("POST", path, body or {})
        assert 200 <= status < 300, body
        return body

    def refused(self, method, path, body=None, status=400):
        """What the error says, as text."""
        got, error, _ = self(method, path, body)
        assert got == status, error
        assert error["error"].keys() >= {"status", "error_code", "title", "detail"}
        assert error["error"]["status"] == status
        return json.dumps(error["error"]["detail"])


def draft(**fields):
    ids = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    return {
        "name": "Highlight the answer",
        "description": "You highlight words.",
        "external_study_url": f"https://handful.example:8443/r/prolific/?{ids}",
        "prolific_id_option": "url_parameters",
        "total_available_places": 3,
        "estimated_completion_time": 20,
        "maximum_allowed_time": 60,
        "reward": 300,
        "completion_codes": [
            code("DONE", "AUTOMATICALLY_APPROVE"),
            code("LOOK", "MANUALLY_REVIEW"),
            code("OUT", "FIXED_SCREEN_OUT_PAYMENT", fixed_screen_out_reward=100, slots=5),
            code("NO", "REQUEST_RETURN", return_reason="No consent"),
            {**code("PAID", "AUTOMATICALLY_APPROVE"), "actor": "researcher"},
        ],
        **fields,
    }


def code(name, action, **fields):
    return {
        "code": name,
        "code_type": "OTHER",
        "actor": "participant",
        "actions": [{"action": action, **fields}],
    }


def published(api, **fields):
    study = api.post("studies/", draft(**fields))
    api.post(f"studies/{study['id']}/transition/", {"action": "PUBLISH"})
    return study["id"]


def arrive(api, study, participant, **more):
    body = {"study_id": study, "participant_id": participant, **more}
    return api.post("/fake/arrive", body)["session_id"]


def turned_away(api, study, participant, **more):
    body = {"study_id": study, "participant_id": participant, **more}
    status, error, _ = api("POST", "/fake/arrive", body)
    assert status == 409
    return error["error"]["additional_information"]


def come_back(api, session, cc):
    """The browser's redirect; returns the page."""
    query = urlencode({"cc": cc, "session": session})
    status, page, _ = Http(api.url, token="")("GET", f"/submissions/complete?{query}")
    assert status == 200
    return page


def status_of(api, session):
    return api.get(f"submissions/{session}/")["status"]


def paid(api, participant):
    return api.get("/fake/books").get(participant, {"paid_cents": 0})["paid_cents"]


def start(api, study):
    """What a researcher does when a place was freed after the study was full."""
    assert study_status(api, study) == "PAUSED"
    api.post(f"studies/{study}/transition/", {"action": "START"})


def study_status(api, study):
    return api.get(f"studies/{study}/")["status"]


def reject(api, session):
    reason = {"action": "REJECT", "message": EXPLANATION, "rejection_category": "NO_DATA"}
    api.post(f"submissions/{session}/transition/", reason)


def batch_of(api, study, lines):
    asked = {"study_id": study, "csv_bonuses": lines}
    return api.post("submissions/bonus-payments/", asked)
