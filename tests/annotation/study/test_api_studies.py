"""Programs create and run studies like the pages do, and misspelt fields are refused."""

import json

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Kind, Study
from annotation.study import lifecycle, team
from tests import factories
from tests.annotation.study.test_cross_task import make_cross_task

ROOT = "/api/v1"
TOML = """
name = "by-api"
title = "Places"
tasks = ["toy-places"]
shots = [0, 2]
annotators = 2
seed = 7
hourly_rate = "12.00"
[pay]
max_paid_hours = "1"
[qualification]
rule = "none"
"""
DESIGN = {
    "name": "by-api", "title": "Places", "tasks": ["toy-places"], "shots": [0, 2], "annotators": 2,
    "seed": 7, "hourly_rate": "12.00", "pay": {"max_paid_hours": "1"},
    "qualification": {"rule": "none"},
}  # fmt: skip


class Program:
    """A script with a researcher's token."""

    def __init__(self, owner, *scopes, study=None):
        self.headers = factories.bearer(owner, *(scopes or ("read", "run", "pay")), study=study)
        self.client = Client()

    def get(self, path, **more):
        return self.client.get(f"{ROOT}{path}", headers=self.headers | more.pop("headers", {}))

    def post(self, path, body=None, kind="application/json", **more):
        return self.client.post(f"{ROOT}{path}", body or {}, kind, headers=self.headers, **more)

    def patch(self, path, body, **headers):
        all_headers = self.headers | headers
        return self.client.patch(f"{ROOT}{path}", body, "application/json", headers=all_headers)

    def send(self, path, **fields):
        """Post fields as multipart."""
        return self.client.post(f"{ROOT}{path}", fields, headers=self.headers)


@pytest.fixture
def program(researcher):
    return Program(researcher)


@pytest.fixture
def task(db):
    return factories.make_task()


# Designing ----------------------------------------------------------------------------------------


def manifest_of(program, body) -> str:
    made = program.post("/studies/", body)
    assert made.status_code == 201, made.json()
    assert program.post("/studies/by-api/open/").json()["status"] == "open"
    return Study.objects.get(name="by-api").manifest


@pytest.mark.long
def test_a_study_created_by_the_api_equals_that_of_the_command(program, task, tmp_path, researcher):
    file = tmp_path / "design.toml"
    file.write_text(TOML)
    call_command("create_study", design=file, open=True, verbosity=0)
    wanted = Study.objects.get()
    stored = json.loads(wanted.manifest)
    lifecycle.change_status(wanted, "draft")
    wanted.delete()
    assert json.loads(manifest_of(program, DESIGN)) == stored


def test_validating_stores_nothing_and_names_each_key(program, task):
    wrong = DESIGN | {"shots": [7], "pay": {"max_paid_hours": "1"}, "annotators": 0}
    reply = program.post("/studies/?validate=true", wrong)
    assert reply.status_code == 200
    assert reply.json()["valid"] is False
    assert set(reply.json()["problems"]) == {"shots", "annotators"}
    assert program.post("/studies/?validate=true", DESIGN).json()["valid"] is True
    assert not Study.objects.exists()


REFUSED = [
    ({"shotz": [0]}, "shotz"),
    ({"tasks": ["nowhere"]}, "The task nowhere does not exist"),
    ({"shots": "0"}, "shots: expected"),
    ({"seed": 10**400}, ""),
    ({"title": "x" * 500}, "title"),
    ({"title": ""}, "cannot be blank"),
    ({"splits": [[]]}, "splits: expected a list of whole numbers"),
    ({"name": "Not a name"}, "name"),
    ({"pay": 3}, "pay"),
]


@pytest.mark.parametrize(("change", "said"), REFUSED)
def test_an_invalid_design_is_422_and_stores_nothing(program, task, change, said):
    reply = program.post("/studies/", DESIGN | change)
    assert reply.status_code == 422
    assert said in json.dumps(reply.json()["fields"])
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [({"title": 5}, "title"), ({"pay": {"hourly_rate": "x"}}, "pay"), ({"shotz": 1}, "shotz")],
)
def test_a_value_of_a_wrong_type_is_named_by_its_field(program, task, change, field):
    reply = program.post("/studies/", DESIGN | change).json()
    assert list(reply["fields"]) == [field]
    assert reply["detail"].startswith(field)


@pytest.mark.parametrize("body", [[1], "x", 3, True])
def test_a_body_that_is_not_an_object_is_422(program, task, body):
    reply = program.post("/studies/", json.dumps(body))
    assert reply.status_code == 422


@pytest.mark.parametrize("body", ['{"a": "\\ud800"}', '{"a": "\\u0000"}', "{", '{"a": NaN}'])
def test_a_body_that_cannot_be_read_is_400(program, task, body):
    assert program.post("/studies/", body).status_code == 400


@pytest.mark.long
def test_a_draft_is_edited_by_key_and_a_frozen_one_is_409(program, task):
    program.post("/studies/", DESIGN)
    shown = program.get("/studies/by-api/")
    edited = program.patch("/studies/by-api/", {"title": "New", "shots": [2]})
    assert edited.status_code == 200
    design = edited.json()["design"]
    assert (design["title"], design["shots"], design["annotators"]) == ("New", [2], 2)
    assert design["tasks"] == ["toy-places@1"]
    stale = program.patch("/studies/by-api/", {"title": "Old"}, **{"If-Match": shown["ETag"]})
    assert stale.status_code == 409
    assert program.patch("/studies/by-api/", {"titel": "x"}).status_code == 422
    program.post("/studies/by-api/open/")
    frozen = program.patch("/studies/by-api/", {"title": "Late"})
    assert frozen.status_code == 409
    assert Study.objects.get().title == "New"


@pytest.mark.long
def test_an_edited_cross_task_study_keeps_its_sham_task(program, researcher):
    study = make_cross_task(researcher)
    sham = study.sham_task
    change = {"cross_task": {"upstream_examples": study.upstream_examples - 1}}
    assert program.patch(f"/studies/{study.name}/", change).status_code == 200
    study.refresh_from_db()
    assert (study.sham_task, study.upstream_tasks.count()) == (sham, 2)


def test_the_design_in_a_reply_creates_the_same_study(program, task):
    program.post("/studies/", DESIGN)
    shown = program.get("/studies/by-api/").json()["design"]
    assert program.post("/studies/", shown | {"name": "again"}).status_code == 201
    again = program.get("/studies/again/").json()["design"]
    assert again == shown | {"name": "again"}


@pytest.mark.long
def test_the_api_changes_the_status_like_the_buttons(program, task):
    program.post("/studies/", DESIGN)
    assert program.post("/studies/by-api/close/").status_code == 409
    for action, status in [
        ("open", "open"), ("pause", "paused"), ("reopen", "open"), ("draft", "draft"),
        ("open", "open"), ("close", "closed"),
    ]:  # fmt: skip
        assert program.post(f"/studies/by-api/{action}/").json()["status"] == status
    assert program.post("/studies/by-api/open/", {"now": True}).status_code == 422
    events = program.get("/studies/by-api/events/").json()["results"]
    assert [event["what"] for event in events][-1] == "closed for good"


@pytest.mark.parametrize("weak", ["", "W/"])
def test_an_etag_is_recognised_after_compression(program, task, weak):
    """nginx marks the ETags of replies that it compresses as weak."""
    program.post("/studies/", DESIGN)
    tag = weak + program.get("/studies/by-api/")["ETag"]
    again = program.get("/studies/by-api/", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    edited = program.patch("/studies/by-api/", {"title": "Other"}, **{"If-Match": tag})
    assert edited.status_code == 200
    stale = program.patch("/studies/by-api/", {"title": "Old"}, **{"If-Match": tag})
    assert stale.status_code == 409
    assert program.get("/studies/by-api/", headers={"If-None-Match": tag}).status_code == 200


# Rehearsals ---------------------------------------------------------------------------------------


def run(program, job: dict) -> dict:
    for _part in range(100):
        if job["state"] in ("done", "failed"):
            return job
        job = program.post(f"/jobs/{job['id']}/run/").json()
    raise AssertionError(job)


@pytest.mark.long
def test_only_a_rehearsal_clone_accepts_simulated_annotators(program, task):
    program.post("/studies/", DESIGN)
    program.post("/studies/by-api/open/")
    refused = program.post("/studies/by-api/simulate/", {})
    assert refused.status_code == 409
    assert "can be used in rehearsals only" in refused.json()["detail"]
    cloned = program.post("/studies/by-api/clone/", {"name": "trial", "rehearsal": True})
    assert cloned.status_code == 201
    assert cloned.json()["design"]["rehearsal"] is True
    assert json.loads(Study.objects.get(name="by-api").manifest)["rehearsal"] is False
    program.post("/studies/trial/open/")
    assert program.post("/studies/trial/simulate/", {"policy": "clever"}).status_code == 422
    begun = program.post("/studies/trial/simulate/", {"policy": "gold", "number": 3, "seed": 1})
    assert begun.status_code == 202
    done = run(program, begun.json())
    assert (done["state"], len(done["result"]["answers"])) == ("done", 3)
    listed = program.get("/studies/trial/participations/").json()["results"]
    assert {row["kind"] for row in listed} == {Kind.SIMULATED}
    assert {row["status"] for row in listed} == {"completed"}
    table = program.get("/studies/trial/human-performance/").json()
    assert {row["kind"] for row in table if row["n"]} == {"simulated"}


# Lists --------------------------------------------------------------------------------------------


@pytest.fixture
def done(researcher, task):
    study = factories.make_study(researcher, task, shots=[0, 2], annotators=2, name="done")
    for scenario in study.scenarios.all():
        for kind in (Kind.PERSON, Kind.SIMULATED):
            factories.work_through(factories.seat(scenario, kind=kind))
    return study


def every_page(program, path) -> list[dict]:
    rows, address = [], path
    while address:
        page = program.get(address).json()
        rows += page["results"]
        address = page["next"] and page["next"].partition(ROOT)[2]
    return rows


@pytest.mark.long
def test_pages_of_any_size_have_the_same_rows(program, done):
    for name in ("answers", "spans"):
        path = f"/studies/done/{name}/"
        rows = every_page(program, f"{path}?page_size=3")
        assert rows == every_page(program, path)
        assert len(rows) > 3


@pytest.mark.long
def test_gold_and_scores_of_people_are_hidden_until_shown(program, done):
    def answers(kind):
        return every_page(program, f"/studies/done/answers/?kind={kind}")

    assert all(row["gold"] is None and row["s1"] is None for row in answers("person"))
    assert all(row["s1"] == 1 and not row["hidden"] for row in answers("simulated"))
    pseudonym = answers("person")[0]["annotator"]
    one = f"/studies/done/participations/{pseudonym}/"
    assert program.get(one).json()["mean_s1"] is None
    assert program.post(f"{one}show-score/").json()["mean_s1"] == 1
    shown = every_page(program, f"/studies/done/answers/?annotator={pseudonym}")
    assert all(row["s1"] == 1 for row in shown)
    decision = {"about": "analysis", "outcome": False, "reason": "of two accounts"}
    excluded = program.post(f"{one}decide/", decision)
    assert excluded.status_code == 200
    (decision,) = program.get("/studies/done/decisions/").json()["results"]
    assert (decision["outcome"], decision["score_seen"]) == (False, True)
    assert program.get(one).json()["in_analysis"] is False


@pytest.mark.long
def test_an_unanswered_example_has_no_gold(program, done, researcher, task):
    study = factories.make_study(researcher, task, shots=[2], annotators=2, name="begun")
    factories.seat(study.scenarios.get(), kind=Kind.SIMULATED)
    (row,) = program.get("/studies/begun/answers/").json()["results"]
    assert (row["answer"], row["gold"], row["s1"]) == (None, None, None)


@pytest.mark.long
@pytest.mark.parametrize(
    "query",
    [
        "kind=robot",
        "knid=person",
        "page_size=0",
        "page_size=x",
        "format=xml",
        "step=x",
        "shots=",
        "shots=x",
    ],
)
def test_an_invalid_parameter_is_400(program, done, query):
    reply = program.get(f"/studies/done/answers/?{query}")
    assert reply.status_code == 400
    assert query.partition("=")[0] in reply.json()["fields"]


@pytest.mark.long
@pytest.mark.parametrize("cursor", ["x", "cD14", "cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk%3D", "%ff"])
def test_an_unknown_cursor_is_404(program, done, cursor):
    assert program.get(f"/studies/done/answers/?cursor={cursor}").status_code in (200, 404)


@pytest.mark.long
def test_filters_select_matching_rows(program, done):
    path = "/studies/done/participations/"
    assert len(every_page(program, f"{path}?kind=person&status=completed")) == 2
    assert every_page(program, f"{path}?status=working") == []
    assert every_page(program, "/studies/done/answers/?shots=0&step=training") == []
    pseudonym = every_page(program, path)[0]["pseudonym"]
    assert every_page(program, f"/studies/done/spans/?task=toy-places&annotator={pseudonym}")


@pytest.mark.long
@pytest.mark.parametrize("rows", ["examples", "participations", "answers", "spans"])
def test_a_task_that_is_not_in_the_study_is_refused(program, done, rows):
    reply = program.get(f"/studies/done/{rows}/?task=nope")
    assert reply.status_code == 400
    (message,) = reply.json()["fields"]["task"]
    assert message.endswith("one of toy-places.")


@pytest.mark.long
@pytest.mark.parametrize("rows", ["answers", "spans"])
@pytest.mark.parametrize("parameter", ["shots=7", "shots=x", "annotator=Nobody"])
def test_shots_and_annotators_that_are_not_in_the_study_are_refused(program, done, rows, parameter):
    reply = program.get(f"/studies/done/{rows}/?{parameter}")
    assert reply.status_code == 400
    assert list(reply.json()["fields"]) == [parameter.partition("=")[0]]


# API twins of forms -------------------------------------------------------------------------------


@pytest.mark.long
def test_seats_and_switches_can_change_while_a_study_runs(program, done, other_researcher):
    rows = program.get("/studies/done/scenarios/").json()["results"]
    scenario = rows[0]["id"]
    added = program.post("/studies/done/seats/", {"scenario": scenario, "number": 2})
    assert added.status_code == 422  # needs confirmation, because a participant has completed
    more = {"scenario": scenario, "number": 2, "confirmed": True}
    assert program.post("/studies/done/seats/", more).status_code == 200
    assert program.get("/studies/done/scenarios/").json()["results"][0]["seats"] == 4
    off = program.post("/studies/done/switches/", {"open_link_on": False})
    assert off.status_code == 200
    done.refresh_from_db()
    assert (done.open_link_on, done.shared_computers) == (False, False)
    added = {"action": "add", "username": "grace", "role": "analyst"}
    assert program.post("/studies/done/team/", added).status_code == 422  # must be invited
    theirs = factories.make_study(other_researcher, done.tasks.get(), name="theirs", shots=[0])
    team.add(theirs, "ada", "analyst", other_researcher)
    assert program.post("/studies/done/team/", added).status_code == 200
    changed = {"action": "change", "username": "grace", "role": "payer"}
    assert program.post("/studies/done/team/", changed).status_code == 200
    listed = program.get("/studies/done/team/").json()["results"]
    assert {"username": "grace", "role": "payer"} in listed
    gone = {"action": "remove", "username": "grace"}
    assert program.post("/studies/done/team/", gone).status_code == 200
    entry = {"effect": "deny", "criterion": "people", "platform": "prolific", "value": "abc"}
    assert program.post("/studies/done/lists/", entry).status_code == 201
    (rule,) = program.get("/studies/done/lists/").json()["results"]
    assert program.post("/studies/done/lists/", {"end": rule["id"]}).status_code == 200
    made = program.post("/studies/done/links/", {"names": ["Dora", "Emil"]})
    assert [link["name"] for link in made.json()] == ["Dora", "Emil"]
    assert program.post("/studies/done/links/", {"names": ["Dora"]}).status_code == 422
    panel = {"name": "sona", "id_parameter": "id"}
    assert program.post("/studies/done/panels/", panel).status_code == 201


@pytest.mark.long
def test_a_look_at_what_is_due_changes_nothing(program, done):
    due = program.get("/studies/done/pay/")
    assert due.status_code == 200
    assert due.json()["due"]
    assert done.payment_batches.count() == 0
    assert program.post("/studies/done/pay/", {"action": "prepare"}).json()["batches"]
    assert program.post("/studies/done/pay/", {}).status_code == 422
    assert program.post("/studies/done/pay/", {"action": "pay", "batch": 99}).status_code == 422


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "body", "field"),
    [
        ("budget/", {"amuont": "5"}, "amuont"),
        ("budget/", {"amount": "1e9"}, "amount"),
        ("switches/", {"open_link_on": "maybe"}, "open_link_on"),
        ("links/", {"names": [3]}, "names"),
        ("team/", {"action": "fly"}, "action"),
        ("team/", {"action": "remove", "username": "grace", "role": "payer"}, "role"),
        ("lists/", {"end": 1, "effect": "deny"}, "effect"),
        ("pay/", {"action": "prepare", "batch": 1}, "batch"),
        ("seats/", {"scenario": {"a": 1}, "number": 1}, "scenario"),
        ("clone/", {"name": ["x"]}, "name"),
        ("clone/", {}, "name"),
        ("simulate/", {"number": -1}, "number"),
        ("webhooks/", {"url": "ftp://example.org", "events": ["job.done"]}, "url"),
    ],
)
def test_an_invalid_field_is_422_and_named(program, done, address, body, field):
    reply = program.post(f"/studies/done/{address}", body)
    assert reply.status_code == 422
    assert field in reply.json()["fields"]


@pytest.mark.long
def test_a_decision_requires_and_stores_a_reason(program, done):
    person = done.participations.filter(kind=Kind.PERSON).first()
    one = f"/studies/done/participations/{person.pseudonym}/"
    assert program.post(f"{one}decide/", {"about": "analysis", "outcome": False}).status_code == 422
    body = {"about": "pay", "outcome": False, "reason": "paid elsewhere"}
    assert program.post(f"{one}decide/", body).status_code == 200
    person.refresh_from_db()
    assert person.is_paid is False
    bonus = program.post(f"{one}bonus/", {"amount": "1.50", "reason": "kind"})
    assert bonus.status_code == 201
    assert program.post(f"{one}free-seat/", {"reason": "gone"}).status_code == 409


@pytest.mark.parametrize(
    "address", ["pay/{}.csv", "webhooks/{}/deliveries/", "examples/{}/comments/"]
)
def test_an_id_that_no_row_can_have_is_404(program, done, address):
    reply = program.get(f"/studies/{done.name}/{address.format(2**64)}")
    assert reply.status_code == 404
