"""Arrivals from Prolific: the IDs in the URL, which may be signed, and the exits.

SESSION_ID identifies a submission. Arriving again with the same submission resumes it. The same
person may also continue with a different submission, because a worker is the keyed hash of
PROLIFIC_PID. Unsigned IDs are accepted provisionally: `sync.verify` later asks Prolific whether the
submission exists.
"""

import re
from typing import Any
from urllib.parse import urlsplit

import jwt
from django.conf import settings
from django.http import HttpRequest

from annotation.models import ProlificStudy, Study, Submission
from annotation.prolific.studies import PARAMETERS
from annotation.recruitment.platform_adapters import (
    Exit,
    Identity,
    NotAdmitted,
    PlatformAdapter,
    Source,
)

ID = re.compile(r"[0-9a-f]{24}")
ISSUER = "https://www.prolific.com"
LEEWAY = 30  # tolerated difference between clocks, in seconds


class ProlificAdapter(PlatformAdapter):
    platform, label, confirms = "prolific", "Prolific", True

    def __init__(self, prolific_study: ProlificStudy):
        self.prolific_study, self.study = prolific_study, prolific_study.study
        self.part = prolific_study.part
        # Unless the platform signs IDs, visitors can make them up.
        self.anonymous = not prolific_study.signed

    @classmethod
    def at(cls, code: str) -> PlatformAdapter | None:
        draft = ProlificStudy.objects.select_related("study").filter(code=code).first()
        return cls(draft) if draft is not None else None

    @classmethod
    def of(cls, submission: Submission) -> PlatformAdapter | None:
        draft = submission.prolific_study
        return cls(draft) if draft is not None else None

    @classmethod
    def sources(cls, study: Study) -> list[Source]:
        """Return Prolific even before there are drafts, because lists may be created earlier."""
        return [Source(cls.platform, cls.label)]

    def identity(self, request: HttpRequest) -> Identity | None:
        # Normalise the IDs, because another spelling would turn the same person into a new worker.
        ids = {name: request.GET.get(name, "").lower() for name in PARAMETERS}
        if not all(ID.fullmatch(value) for value in ids.values()) or len({*ids.values()}) < 3:
            raise NotAdmitted("no_ids")
        if ids["STUDY_ID"] != self.prolific_study.external_id:
            raise NotAdmitted("another_study")
        if self.prolific_study.signed:
            self._check_signature(request, ids)
        return Identity(ids["PROLIFIC_PID"], ids["SESSION_ID"], verified=self.prolific_study.signed)

    def _check_signature(self, request: HttpRequest, ids: dict[str, str]) -> None:
        """Raise NotAdmitted unless Prolific recently signed exactly these IDs for this server."""
        token = request.GET.get("prolific_token", "")
        claims = verified(token, self.prolific_study.signing_keys, request)
        claim = claims["prolific"]
        for name, value in ids.items():
            # Require exactly one claim per name: an ambiguous value could create a new person.
            claimed = [claimed_id for key, claimed_id in claim.items() if key.upper() == name]
            if len(claimed) != 1 or str(claimed[0]).lower() != value:
                raise NotAdmitted("another_link")
        if str(claims["sub"]).lower() != ids["SESSION_ID"]:
            raise NotAdmitted("another_submission")

    def is_preview(self, request: HttpRequest) -> bool:
        # In a researcher's preview, Prolific leaves its placeholders in the URL.
        return "{{%" in request.GET.get("PROLIFIC_PID", "")

    def scenarios(self) -> list[int] | None:
        return list(self.prolific_study.scenarios.values_list("pk", flat=True))

    def submission_fields(self) -> dict[str, Any]:
        return {"prolific_study": self.prolific_study}

    def exit(self, outcome: str, identity: Identity | None, own_code: str) -> Exit | None:
        code = self.prolific_study.codes.get(outcome, "")
        if not code:
            return None
        url = f"{settings.PROLIFIC_APP_URL}/submissions/complete?cc={code}"
        return Exit(code, url, "Prolific")


def verified(token: str, keys: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
    """Return the claims of a signed URL. Raises NotAdmitted if it is forged, foreign or stale."""
    try:
        key_id = jwt.get_unverified_header(token).get("kid", "")
        claims = jwt.decode(
            token,
            jwt.PyJWKSet.from_dict(keys)[key_id].key,
            algorithms=["RS256"],
            issuer=ISSUER,
            leeway=LEEWAY,
            # _is_for checks the audience, which is the full URL of the study.
            options={"require": ["exp", "aud", "iss", "sub"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError:
        raise NotAdmitted("expired") from None
    except (KeyError, jwt.PyJWKSetError):  # the key is newer than those that we fetched
        raise NotAdmitted("new_key") from None
    except jwt.PyJWTError:
        raise NotAdmitted("no_signature") from None
    if not _is_for(claims["aud"], f"{request.scheme}://{request.get_host()}"):
        raise NotAdmitted("another_server")
    if not isinstance(claims.get("prolific"), dict):
        raise NotAdmitted("empty_signature")
    return claims


def _is_for(audience: object, origin: str) -> bool:
    """Return whether the audience (a URL or a list of URLs) includes this server."""
    for value in audience if isinstance(audience, list) else [audience]:
        try:
            address = urlsplit(value) if isinstance(value, str) else None
        except ValueError:
            address = None
        if address and f"{address.scheme}://{address.netloc}".lower() == origin.lower():
            return True
    return False
