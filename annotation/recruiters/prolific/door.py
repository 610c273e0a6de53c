"""Arrivals from Prolific: the ids in the address, signed or plain, and the ways back.

SESSION_ID is what Prolific calls the submission: the same one resumes, another one of the same
person finds their stored state, as a worker is the keyed hash of PROLIFIC_PID.
"""

import re
from typing import Any

import jwt
from django.conf import settings
from django.http import HttpRequest

from annotation.models import Kind, ProlificStudy
from annotation.recruiters import Exit, Identity, NotAdmitted
from annotation.recruiters.prolific.keys import signing_key

AGAIN = "Please open the study from Prolific again."
ID = re.compile(r"[0-9a-fA-F]{24}")


class ProlificDoor:
    """The address of one study on Prolific."""

    recruiter, kind = "prolific", Kind.PERSON

    def __init__(self, prolific_study: ProlificStudy):
        self.prolific_study, self.study = prolific_study, prolific_study.study
        self.part = prolific_study.part
        # Without the platform's signature anybody can invent an id.
        self.anonymous = not prolific_study.signed

    def identity(self, request: HttpRequest) -> Identity | None:
        names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        person, study, session = (request.GET.get(name, "") for name in names)
        if not all(ID.fullmatch(value) for value in (person, study, session)):
            raise NotAdmitted(
                f"The address does not hold the ids that Prolific puts there. {AGAIN}"
            )
        if study != self.prolific_study.external_id:
            raise NotAdmitted(f"The address belongs to another study. {AGAIN}")
        if self.prolific_study.signed:
            self._check_signature(request, person, study, session)
        return Identity(person, session, verified=self.prolific_study.signed)

    def _check_signature(self, request: HttpRequest, *expected: str) -> None:
        claim = verified(request.GET.get("prolific_token", ""), request)
        # The names of the ids inside the claim differ between Prolific's texts: compare values.
        if not set(expected) <= {str(value) for value in claim.values()}:
            raise NotAdmitted(f"The signature belongs to another address. {AGAIN}")

    def is_preview(self, request: HttpRequest) -> bool:
        # A researcher's preview leaves Prolific's placeholders as they are.
        return "{{%" in request.GET.get("PROLIFIC_PID", "")

    def scenarios(self) -> list[int] | None:
        return list(self.prolific_study.scenarios.values_list("pk", flat=True))

    def refusal(self) -> str:
        return ""

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        code = self.prolific_study.codes.get(outcome, "")
        if not code:
            return None
        url = f"{settings.PROLIFIC_APP_URL}/submissions/complete?cc={code}"
        return Exit(code, url, "Prolific")


def verified(token: str, request: HttpRequest) -> dict[str, Any]:
    """The `prolific` claim of a signed address. Raises NotAdmitted for a forged or stale one."""
    try:
        claims = jwt.decode(
            token,
            signing_key(token),
            algorithms=["RS256"],
            audience=f"{request.scheme}://{request.get_host()}",
            options={"require": ["exp", "aud"]},
        )
    except jwt.ExpiredSignatureError:
        raise NotAdmitted(f"This address is too old. {AGAIN}") from None
    except jwt.PyJWKClientConnectionError:
        raise NotAdmitted(
            "Prolific's signature cannot be checked at the moment. Please try again in a minute."
        ) from None
    except jwt.PyJWTError:
        raise NotAdmitted(f"The signature of this address is missing or wrong. {AGAIN}") from None
    claim = claims.get("prolific")
    if not isinstance(claim, dict):
        raise NotAdmitted(f"The signature of this address says nothing. {AGAIN}")
    return claim
