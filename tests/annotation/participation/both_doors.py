"""Adapters that let the same tests use the annotators' pages or the participation API.

Each action returns the server's reply. `fields` are the page's form fields (factories.fields_for),
which the API adapter sends as JSON.
"""

import json
import re
from typing import Any

from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Study
from tasks.spans import QUESTION
from tests import factories

# Parts of API replies that differ between any two participations.
MASKS = [
    (rb'"token":"[^"]+', b'"token":"TOKEN'),
    (rb'"turn":\d+', b'"turn":TURN'),
    (rb'"arrival":"[^"]+', b'"arrival":"ARRIVAL'),
    (rb"\b[A-Z2-9]{8}\b", b"CODE"),
]


def make_study(*args: Any, **fields: Any) -> Study:
    """Create a study in which programs may take people's seats, as the API adapter does."""
    return factories.make_study(*args, programs_as_people=True, **fields)


class Pages:
    """A browser with htmx."""

    stranger = 404  # the status for an unknown token

    def __init__(self) -> None:
        self.client = Client()

    def landing(self, study: Study) -> Any:
        return self.client.get(reverse("landing", args=[study.link_code]))

    def start(self, study: Study, arrival: str = "") -> Any:
        return self.client.post(reverse("start", args=[study.link_code]), {"arrival": arrival})

    def arrival(self, study: Study) -> str:
        return re.search(r'name="arrival" value="([^"]+)"', self.landing(study).content.decode())[1]

    def state(self, token: str) -> Any:
        return self.client.get(reverse("work", args=[token]))

    def consent(self, token: str, agree: bool = True) -> Any:
        return self._post("consent", token, {"agree": "yes" if agree else "no"})

    def begin(self, token: str) -> Any:
        return self._post("begin", token, {})

    def answer(self, token: str, turn: int, fields: dict[str, str]) -> Any:
        return self._post("answer", token, {"turn": turn, **fields}, **{"HX-Request": "true"})

    def confidence(self, token: str, turn: int, point: int | None, reason: str = "") -> Any:
        fields = {"skip": "1"} if point is None else {"confidence": point, "reason": reason}
        return self._post("confidence", token, {"turn": turn, **fields}, **{"HX-Request": "true"})

    def problem(self, token: str, turn: int, text: str) -> Any:
        return self._post("problem", token, {"turn": turn, "text": text})

    def go_on(self, token: str, leaving: str = "reveal") -> Any:
        return self._post("continue", token, {"leaving": leaving})

    def withdraw(self, token: str) -> Any:
        return self._post("withdraw", token, {})

    def refuses(self, reply: Any) -> bool:
        """Return whether an answer was refused. After the end, htmx is sent to the last page."""
        return reply.status_code == 409 or "HX-Redirect" in reply

    def shows(self, reply: Any, turn: int) -> bool:
        """Return whether the reply shows this turn."""
        return f'data-key="{turn}"' in reply.content.decode()

    def has_reveal(self, reply: Any) -> bool:
        return "data-verdict" in reply.content.decode()

    def _post(self, name: str, token: str, fields: dict[str, Any], **headers: str) -> Any:
        return self.client.post(reverse(name, args=[token]), fields, headers=headers)


class Api:
    """A program that holds the participation's token."""

    stranger = 401

    def __init__(self) -> None:
        self.client = Client()

    def landing(self, study: Study) -> Any:
        return self.client.get(reverse("api_join", args=[study.link_code]))

    def start(self, study: Study, arrival: str = "") -> Any:
        address = reverse("api_join", args=[study.link_code])
        return self.client.post(address, {"arrival": arrival}, "application/json")

    def arrival(self, study: Study) -> str:
        return self.landing(study).json()["arrival"]

    def state(self, token: str) -> Any:
        return self.client.get(reverse("api_work"), headers=_bearer(token))

    def consent(self, token: str, agree: bool = True) -> Any:
        return self._post("consent", token, {"agree": agree})

    def begin(self, token: str) -> Any:
        return self._post("begin", token, {})

    def answer(self, token: str, turn: int, fields: dict[str, str]) -> Any:
        return self._post("answer", token, {"turn": turn, "answer": as_json(fields)})

    def confidence(self, token: str, turn: int, point: int | None, reason: str = "") -> Any:
        return self._post(
            "confidence", token, {"turn": turn, "confidence": point, "reason": reason}
        )

    def problem(self, token: str, turn: int, text: str) -> Any:
        return self._post("problem", token, {"turn": turn, "text": text})

    def go_on(self, token: str, leaving: str = "reveal") -> Any:
        return self._post("continue", token, {"leaving": leaving})

    def withdraw(self, token: str) -> Any:
        return self._post("withdraw", token, {})

    def refuses(self, reply: Any) -> bool:
        return reply.status_code == 409

    def shows(self, reply: Any, turn: int) -> bool:
        told = reply.json()
        return told.get("state", told).get("question", {}).get("turn") == turn

    def has_reveal(self, reply: Any) -> bool:
        told = reply.json()
        return "reveal" in told.get("state", told)

    def _post(self, name: str, token: str, body: dict[str, Any]) -> Any:
        return self.client.post(
            reverse(f"api_{name}"), body, "application/json", headers=_bearer(token)
        )


DOORS = {"pages": Pages, "api": Api}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def as_json(fields: dict[str, str]) -> dict[str, Any]:
    """Convert form fields to the API's JSON for an answer."""
    answer: dict[str, Any] = {
        name: fields[name] for name in ("label", "number", "text") if name in fields
    }
    if "option" in fields:
        answer["option"] = int(fields["option"])
    places = [int(name.removeprefix("option-")) for name in fields if name.startswith("option-")]
    if places:
        answer["options"] = places
    if "typed" in fields:
        answer["typed"] = fields["typed"].splitlines()
    if fields.get("no_answer") == "1":
        answer["no_answer"] = True
    if "answer" in fields:
        payload = json.loads(fields["answer"])
        answer["no_answer"] = payload["no_answer"]
        answer["spans"] = [
            {
                "segment": span.get("index", QUESTION),
                "start": span["start"],
                "end": span["end"],
            }
            for span in payload["spans"]
        ]
    return answer


def seat(door: Pages | Api, study: Study) -> Participation:
    """Seat a new participant through this adapter, and show the first example."""
    known = set(study.participations.values_list("pk", flat=True))
    assert door.start(study).status_code < 400
    participation = study.participations.exclude(pk__in=known).get()
    assert door.consent(participation.token).status_code < 400
    assert door.begin(participation.token).status_code < 400
    participation.refresh_from_db()
    return participation
