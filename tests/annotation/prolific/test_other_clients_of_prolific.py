"""The double accepts requests from other clients, so both interpret Prolific's API alike.

The requests were recorded when Dallinger's ProlificService and potato's ProlificClient, in the
versions named in the file, ran a study. Calls that Handful never makes are left out.
"""

import json
from pathlib import Path

import pytest
import requests

from tests.prolific_double.platform import FakeProlific

RECORDED = json.loads(Path(__file__).with_name("other_clients_of_prolific.json").read_text())
PEOPLE = {f"{{person {number}}}": f"{number:024x}" for number in (1, 2, 3)}
PAID = {"dallinger 12.4.0": [350], "potato-annotation 2.12.1": [350, 200]}


@pytest.mark.parametrize("client", RECORDED)
def test_requests_of_other_prolific_clients_are_accepted(client):
    fake = FakeProlific(token="t")
    (project,) = fake.projects(fake.first_workspace)
    ids = {"{workspace}": fake.first_workspace, "{project}": project["id"], **PEOPLE}
    with fake.serve() as server:
        for line in RECORDED[client]:
            if line["path"] == "submissions/":  # lists the participants so far
                ids |= come(fake, ids["{study}"], RECORDED[client])
            text = json.dumps(line)
            for name, value in ids.items():
                text = text.replace(name, value)
            asked = json.loads(text)
            reply = requests.request(
                asked["method"], f"{server.url}/api/v1/{asked['path']}", json=asked.get("body"),
                params=asked.get("query"), headers={"Authorization": "Token t"}, timeout=20,
            )  # fmt: skip
            assert reply.status_code == asked["status"], (asked, reply.text)
            if reply.status_code == 201:
                made = "{batch}" if "bonus" in asked["path"] else "{study}"
                ids[made] = reply.json()["id"]
    assert [account["paid_cents"] for account in fake.books().values()] == PAID[client]


def come(fake, study: str, requests_of_client) -> dict[str, str]:
    """Complete as many submissions as the recorded requests mention; return their ids."""
    ids = {}
    for number, person in enumerate(PEOPLE.values(), start=1):
        if f"{{session {number}}}" in json.dumps(requests_of_client):
            session = fake.arrive(study, person)["session_id"]
            fake.complete(session, "DONE")
            ids[f"{{session {number}}}"] = session
    return ids
