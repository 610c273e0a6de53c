"""Check undocumented behaviour of the real Prolific service before the first paid study.

The command reads data, and creates and deletes a small draft that is never published. What only a
participant can trigger (a token's audience, REQUEST_RETURN) is read from a past study.
"""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from django.core.management.base import BaseCommand, CommandError

from annotation.prolific import drafts
from annotation.prolific.client import Client, status_of
from annotation.prolific.errors import ProlificError
from annotation.prolific.submissions import Row

ESTIMATE = 3  # minutes; Prolific documents a minimum of 12 for the maximum time


class Command(BaseCommand):
    help = (
        "Check undocumented behaviour of Prolific. This command reads data, and creates and"
        " deletes one draft that is never published. It is free of charge."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--address",
            help="a URL with prolific_token, copied from a test participant's browser",
        )
        parser.add_argument(
            "--study", help="id of a Prolific study, to check the outcomes of return requests"
        )
        parser.add_argument("--read-only", action="store_true", help="only read; create no draft")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            client = Client(patient=True)
            project = self._account(client)
            if options["address"]:
                self._token(client, options["address"])
            if options["study"]:
                self._returns(client, options["study"])
            if not options["read_only"]:
                self._draft(client, project)
        except ProlificError as error:
            raise CommandError(str(error)) from None
        if not options["address"]:
            self._say("audience of a token", "not checked (--address)")
        if not options["study"]:
            self._say("what REQUEST_RETURN does", "not checked (--study)")

    def _say(self, what: str, finding: object) -> None:
        self.stdout.write(f"{what}: {finding}")

    def _account(self, client: Client) -> str:
        """Print the workspace, project and currency in use, and return the project."""
        workspace = client.workspace()
        project = client.project(workspace)
        currency = client.currency(workspace)
        self._say("workspace", workspace)
        self._say("project", project)
        self._say("currency", currency)
        try:
            least = client.minimum_hourly(workspace, currency)
            self._say("least hourly reward in cents", least or "not stated")
        except ProlificError as error:
            self._say("least hourly reward in cents", error)
        self._say("webhook secret", "exists" if client.secret(workspace) else "none yet")
        return project

    def _token(self, client: Client, address: str) -> None:
        """Print a signed URL's claims, without the values of its IDs."""
        token = parse_qs(urlsplit(address).query).get("prolific_token", [""])[0]
        try:
            header = jwt.get_unverified_header(token)
            claims = jwt.decode(token, options={"verify_signature": False})
        except jwt.PyJWTError as error:
            raise CommandError(f"The URL contains no readable token: {error}") from None
        keys = [key.get("kid") for key in client.signing_keys().get("keys", [])]
        own = urlsplit(address)
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        kinds = {
            "whole address" if urlsplit(str(value)).query else "origin"
            for value in audiences
            if urlsplit(str(value)).netloc == own.netloc
        }
        self._say("audience of a token", ", ".join(sorted(kinds)) or f"another: {audience}")
        self._say("key of the token is published", header.get("kid") in keys)
        self._say("issuer", claims.get("iss"))
        self._say("lifetime in seconds", int(claims.get("exp", 0)) - int(claims.get("iat", 0)))
        self._say("names in the claim", ", ".join(sorted(claims.get("prolific") or {})))
        session = parse_qs(own.query).get("SESSION_ID", [""])[0]
        self._say("subject is the submission", claims.get("sub") == session)

    def _returns(self, client: Client, study: str) -> None:
        """Print the outcomes of return requests."""
        outcomes: dict[str, int] = {}
        for told in client.submissions(study):
            row = Row.read(told)
            if row.return_requested_at is not None:
                outcomes[row.status] = outcomes.get(row.status, 0) + 1
        self._say(
            "what REQUEST_RETURN does", json.dumps(outcomes) if outcomes else "no requests found"
        )

    def _draft(self, client: Client, project: str) -> None:
        """Print how Prolific handles a short maximum time, signing and paid screen-outs."""
        shortest = drafts.shortest_maximum(ESTIMATE)
        with self._created(client, project, maximum_allowed_time=shortest) as draft:
            self._say(f"longest time of {shortest} minutes", draft["maximum_allowed_time"])
        with self._created(client, project, maximum_allowed_time=shortest - 2) as draft:
            raised = draft.get("maximum_allowed_time", draft.get("refused"))
            self._say(f"longest time of {shortest - 2} minutes (too short)", raised)
        with self._created(client, project, is_external_study_url_secure=True) as draft:
            signed = draft.get("is_external_study_url_secure", draft.get("refused"))
            self._say("signed addresses", signed)
        screen_out = {
            "action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 1,
        }  # fmt: skip
        codes = [_code("CHECKDONE", "MANUALLY_REVIEW"), _code("CHECKOUT", screen_out)]
        with self._created(client, project, completion_codes=codes) as draft:
            self._say("paid screen-out", draft.get("refused", "accepted"))

    @contextmanager
    def _created(self, client: Client, project: str, **fields: Any) -> Iterator[dict[str, Any]]:
        """Create a draft temporarily, and yield Prolific's response or its error."""
        asked = {**_study(project), **fields}
        try:
            draft = client.create_study(asked)
        except ProlificError as error:
            if not error.refused:
                raise
            yield {"refused": str(error), "maximum_allowed_time": f"refused ({error})"}
            return
        try:
            yield draft
        finally:
            if status_of(draft.get("status") or "UNPUBLISHED") == "UNPUBLISHED":
                client.delete_study(draft["id"])
                self._say("draft deleted again", draft["id"])


def _study(project: str) -> dict[str, Any]:
    """Return the fields for a minimal draft with a dummy link."""
    return {
        "project": project,
        "name": "Handful's check (a draft, deleted at once)",
        "description": "A draft that a program creates and deletes. Participants never see it.",
        "external_study_url": "https://example.org/?PROLIFIC_PID={{%PROLIFIC_PID%}}"
        "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [_code("CHECKDONE", "MANUALLY_REVIEW")],
        "total_available_places": 1,
        "estimated_completion_time": ESTIMATE,
        "maximum_allowed_time": drafts.shortest_maximum(ESTIMATE),
        "reward": 100,
        "device_compatibility": ["desktop"],
        "peripheral_requirements": [],
        "filters": [],
    }


def _code(code: str, action: str | dict[str, Any]) -> dict[str, Any]:
    actions = [action if isinstance(action, dict) else {"action": action}]
    return {"code": code, "code_type": "OTHER", "actor": "participant", "actions": actions}
