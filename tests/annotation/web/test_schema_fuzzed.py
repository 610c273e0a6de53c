"""Requests generated from the OpenAPI document cause no 5xx and no undocumented status.

Each request is rolled back, so the data stay the same. Most requests use names that exist.
Replies to participants never contain text that occurs only in the gold of the test set.
"""

from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import status_code_conformance

from annotation.models import Kind
from tests import factories

EXAMPLES = 15  # per operation
SECRET = "why-the-gold-of-the-test-is-right"
ADDRESS = "/api/v1/schema/?format=json"
# Whether a request uses names that exist. (LEFT_OUT: the document itself needs no test.)
REAL = st.sampled_from([True, True, True, False])  # mostly
PARTICIPANTS = ["participant", "participant", "unknown"]
EVERYBODY = ["researcher", "researcher", "researcher", "stranger", "participant", "unknown"]
LEFT_OUT = {"/api/v1/schema/"}

pytestmark = pytest.mark.long


class World:
    """A study with answers from people and simulated annotators; one participant is working."""

    def __init__(self, owner, other):
        record = factories.label_records("test", 3)
        test = [factories.Record(**{**vars(r), "explanation": SECRET}) for r in record]
        task = factories.make_task(labels=factories.LABELS, test=test)
        self.study = factories.make_study(
            owner, task, shots=[0, 2], annotators=5, name="story", rehearsal=True
        )
        for scenario in self.study.scenarios.all():
            for kind in (Kind.PERSON, Kind.SIMULATED):
                factories.work_through(factories.seat(scenario, kind=kind))
        self.working = factories.seat(self.study.scenarios.get(shots=2))
        file = factories.predict(owner, "toy", task, 2, 1)
        factories.make_study(owner, task, name="draft", status="draft")
        self.names: dict[str, Any] = {
            "name": "story", "version": 1, "pseudonym": self.working.pseudonym,
            "code": self.study.link_code, "figure": "shots", "table": "gains", "pk": file.pk,
            "id": file.pk,
        }  # fmt: skip
        self.tokens = {
            "researcher": factories.bearer(owner, "read", "run", "pay"),
            "participant": {"Authorization": f"Bearer {self.working.token}"},
            "stranger": factories.bearer(other, "read", "run", "pay"),
            "unknown": {},
        }


@pytest.fixture
def world(researcher, other_researcher, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    # Keep the test's connection open after each request, like Django's own client.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield World(researcher, other_researcher)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def operations(schema) -> list[Any]:
    found = [result.ok() for result in schema.get_all_operations()]
    return [operation for operation in found if operation.path not in LEFT_OUT]


def name_what_is_there(case, world) -> None:
    """Replace the address's parameters by names that exist."""
    for name in case.path_parameters or {}:
        if name == "name" and "/tasks/" in case.path:
            case.path_parameters[name] = world.study.tasks.get().name
        elif name == "name" and "/models/{" in case.path:
            case.path_parameters[name] = "toy"
        elif name in world.names:
            case.path_parameters[name] = world.names[name]


def check(case, world, who: str) -> None:
    """Send the request, check the reply, and roll back all changes."""
    cache.clear()
    case.headers = {**(case.headers or {}), **world.tokens[who], "Accept-Encoding": "identity"}
    with transaction.atomic():
        reply = case.call()
        case.validate_response(reply, checks=[not_a_server_error, status_code_conformance])
        if who == "participant":
            assert SECRET not in reply.text
        transaction.set_rollback(True)


@pytest.mark.timeout(1200)  # 1,500 requests
def test_every_documented_operation_satisfies_the_schema(world, researcher):
    site, headers = get_wsgi_application(), world.tokens["researcher"]
    schema = schemathesis.openapi.from_wsgi(ADDRESS, site, headers=headers)
    failures: list[str] = []
    every = operations(schema)
    assert len(every) > 90
    for operation in every:
        label = f"{operation.method.upper()} {operation.path}"
        whose = PARTICIPANTS if "/work/" in operation.path else EVERYBODY

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), real=REAL, who=st.sampled_from(whose))
        def send(case, real, who):
            if real:
                name_what_is_there(case, world)
            check(case, world, who)

        try:
            send()
        except (Exception, BaseExceptionGroup) as error:  # all failures are reported at the end
            said = getattr(error, "exceptions", [error])
            failures += [f"{label}: {str(each)[:800]}" for each in said]
    assert not failures, "\n\n".join(failures)
