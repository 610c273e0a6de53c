"""Calls of Prolific's API, the only module that knows its addresses.

Facts: docs/prolific.md#what-prolific-documents.

Units: a reward is in cents, the amounts of a bonus CSV are in currency. Statuses are spelt in
several ways there and in one way here: APPROVED, AWAITING_REVIEW, TIMED_OUT, SCREENED_OUT.
"""

import logging
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from annotation.platforms.prolific.errors import (
    NO_TOKEN,
    NOT_REACHED,
    REPLY_LOST,
    ProlificError,
    complaint,
    undocumented,
    was_not_sent,
)

logger = logging.getLogger(__name__)

# Seconds until a connection stands, and between two pieces of a reply.
HURRIED = (3, 10)  # somebody waits for a page
PATIENT = (10, 30)  # a command of the server
PAGE_SIZE = 100
MAX_STATUS = 20  # characters; the longest documented one has 18
# POST requests that change nothing.
READ_ONLY = {"eligibility-count/", "study-cost-calculator/"}
# One call at a time: a slow Prolific holds up one thread of this process, not all of them.
_TURN = threading.Lock()

Json = dict[str, Any]


def status_of(text: object) -> str:
    """One spelling for every status, never longer than is stored. Raises ProlificError."""
    if not isinstance(text, str) or not text.strip():
        raise undocumented("status", text)
    return text.strip().upper().replace(" ", "_").replace("-", "_")[:MAX_STATUS]


@dataclass(frozen=True)
class Access:
    """An API token, and the workspace and project that it works in ("": the only one there is)."""

    token: str = field(repr=False)
    workspace: str = ""
    project: str = ""
    names: tuple[str, str] = ("Workspace", "Project")  # what people know these two by


class Client:
    """The calls with one token. Reads are tried again when Prolific stumbles, writes are not."""

    def __init__(self, access: Access | None = None, patient: bool = False) -> None:
        """Without `access` the token is the environment's; accounts.py has those of accounts.

        `patient` is for commands; without it a page waits for the reply. Raises ProlificError.
        """
        self.access = access or environment()
        self.root = f"{settings.PROLIFIC_URL}/api/v1"
        self.timeout = PATIENT if patient else HURRIED
        # Prolific may have done something for this client, or for an earlier one of the same work.
        self.has_acted = False
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Token {self.access.token}"
        again = Retry(
            total=4 if patient else 1,
            read=4 if patient else 0,
            backoff_factor=0.3,
            status_forcelist=(429, 500, 502, 503, 504),
            allowed_methods=("GET",),
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=again))

    def _call(
        self, method: str, path: str, json: Any = None, shape: type = dict, **parameters: Any
    ) -> Any:
        """The JSON of a reply, which is of that shape. Raises ProlificError for all else."""
        reply = self._send(method, path, json, parameters)
        try:
            told = reply.json()
        except (ValueError, RecursionError):
            raise undocumented(
                f"answer to {method} {path}", reply.text[:200], reply.status_code
            ) from None
        if not isinstance(told, shape):
            raise undocumented(f"answer to {method} {path}", told, reply.status_code)
        return told

    def _send(
        self, method: str, path: str, json: Any = None, parameters: Json | None = None
    ) -> requests.Response:
        if not _TURN.acquire(timeout=sum(self.timeout)):
            raise ProlificError("Prolific is slow at the moment: try again.", unreachable=True)
        acts = method != "GET" and path not in READ_ONLY
        root = settings.PROLIFIC_URL if path.startswith(".well-known/") else self.root
        try:
            reply = self.session.request(
                method,
                f"{root}/{path}",
                json=json,
                params=parameters or None,
                timeout=self.timeout,
                allow_redirects=False,  # what would become of a POST, and of the token?
            )
        except (requests.RequestException, ValueError) as error:
            logger.warning("Prolific could not be reached: %s", error)
            self.has_acted |= acts and not was_not_sent(error)
            sentence = REPLY_LOST if self.has_acted else NOT_REACHED
            raise ProlificError(sentence, unreachable=True) from None
        finally:
            _TURN.release()
        self.has_acted |= acts
        if not 200 <= reply.status_code < 300:
            raise complaint(reply)
        return reply

    # Account -------------------------------------------------------------------------------------

    def me(self) -> str:
        """Prolific's id of the account that the token belongs to."""
        return _text(self._call("GET", "users/me/"), "id")

    def workspace(self) -> str:
        """The workspace to work in: as the access says, or the only one. Raises ProlificError."""
        known = self._listed("workspaces/")
        return _chosen(self.access.names[0], self.access.workspace, known)

    def project(self, workspace: str) -> str:
        """The project that studies belong to, as `workspace` chooses it. Raises ProlificError."""
        known = self._listed(f"workspaces/{workspace}/projects/")
        return _chosen(self.access.names[1], self.access.project, known)

    def _listed(self, path: str) -> dict[str, str]:
        """Ids and titles of a list of Prolific's."""
        rows = _rows(self._call("GET", path), path)
        return {str(row["id"]): str(row.get("title", "")) for row in rows if row.get("id")}

    def currency(self, workspace: str) -> str:
        """The currency that everything is paid in there, such as GBP. Raises ProlificError."""
        told = self._call("GET", f"workspaces/{workspace}/balance/")
        return _text(told, "currency_code").upper()

    def minimum_hourly(self, workspace: str, currency: str) -> int | None:
        """The lowest hourly reward that Prolific recommends, in cents; None where it says none."""
        told = self._call(
            "GET",
            "reward-recommendations/",
            shape=list,
            workspace_id=workspace,
            currency=currency,
        )
        for row in told[:1]:  # the first is the newest
            amount = row.get("min_reward_per_hour") if isinstance(row, dict) else None
            if isinstance(amount, int) and not isinstance(amount, bool) and amount > 0:
                return amount
        return None

    def signing_keys(self) -> Json:
        """The public keys of signed addresses, as they are published."""
        return self._call("GET", ".well-known/study/jwks.json")

    # Audience ------------------------------------------------------------------------------------

    def filters(self, workspace: str) -> list[Json]:
        """Every filter, with the choices that it has there."""
        path = "filters/"
        return _rows(self._call("GET", path, workspace_id=workspace), path)

    def eligible(self, filters: list[Json], workspace: str) -> int:
        """How many people pass all filters; fewer than 25 are told as 0."""
        body = {"filters": filters, "workspace_id": workspace}
        return _number(self._call("POST", "eligibility-count/", body), "count")

    def cost(self, reward: int, places: int) -> int:
        """What so many places at that reward cost with fees and VAT, in cents."""
        body = {"reward": reward, "total_available_places": places}
        return _number(self._call("POST", "study-cost-calculator/", body), "total_cost")

    # Studies -------------------------------------------------------------------------------------

    def create_study(self, study: Json) -> Json:
        created = self._call("POST", "studies/", study)
        _text(created, "id")
        return created

    def study(self, study: str) -> Json:
        shown = self._call("GET", f"studies/{study}/")
        status_of(shown.get("status"))
        return shown

    def delete_study(self, study: str) -> None:
        """Delete a draft; what was published cannot be deleted."""
        self._send("DELETE", f"studies/{study}/")

    def transition(self, study: str, action: str) -> Json:
        """PUBLISH a draft, PAUSE or STOP an active study, START a paused one."""
        return self._call("POST", f"studies/{study}/transition/", {"action": action})

    def set_places(self, study: str, places: int) -> None:
        """Places can only grow once a study is published."""
        self._send("PATCH", f"studies/{study}/", {"total_available_places": places})

    # Submissions ---------------------------------------------------------------------------------

    def submissions(self, study: str) -> Iterator[Any]:
        """All submissions of a study. A page past the end is 404 there: the list has ended.

        Rows are as they came: what a row says is checked by whoever uses it.
        """
        parameters: Json = {
            "study": study, "ordering": "started_at", "page": 1, "page_size": PAGE_SIZE,
        }  # fmt: skip
        path, seen = "submissions/", set[str]()
        while path not in seen:
            seen.add(path)
            try:
                page = self._call("GET", path, **parameters)
            except ProlificError as error:
                if error.status == 404 and len(seen) > 1:
                    return
                raise
            results = page.get("results")
            if not isinstance(results, list):
                raise undocumented("list of submissions", page)
            yield from results
            path, parameters = _next_page(page), {}
            if not path:
                return
        raise ProlificError("Prolific's list of submissions is cyclic.")

    def submission(self, submission: str) -> Json:
        shown = self._call("GET", f"submissions/{submission}/")
        status_of(shown.get("status"))
        return shown

    def approve(self, submission: str) -> None:
        """Approve and so pay the reward. Asking again changes nothing."""
        self._send("POST", f"submissions/{submission}/transition/", {"action": "APPROVE"})

    def approve_all(self, submissions: list[str]) -> None:
        """Approve up to 1000 submissions; Prolific does so later, so check their statuses."""
        self._send("POST", "submissions/bulk-approve/", {"submission_ids": submissions})

    def ask_to_return(self, submission: str, reason: str) -> None:
        body = {"request_return_reasons": [reason]}
        self._send("POST", f"submissions/{submission}/request-return/", body)

    def reject(self, submission: str, message: str, category: str) -> None:
        """Reject: no pay. Prolific wants a message of 100 characters or more, and a category."""
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        self._send("POST", f"submissions/{submission}/transition/", body)

    # Money ---------------------------------------------------------------------------------------

    def prepare_bonuses(self, study: str, lines: Iterable[tuple[str, str]]) -> str:
        """Set up bonuses of (participant, amount such as "1.50"); nothing is paid. Its id."""
        text = "\n".join(f"{person},{amount}" for person, amount in lines)
        body = {"study_id": study, "csv_bonuses": text}
        return _text(self._call("POST", "submissions/bonus-payments/", body), "id")

    def pay_bonuses(self, batch: str) -> None:
        """Pay bonuses that were set up. NOT safe to repeat: a second call pays again.

        A ProlificError that is no refusal leaves open whether they are paid.
        """
        self._call("POST", f"bulk-bonus-payments/{batch}/pay/", shape=object)

    # Groups and webhooks -------------------------------------------------------------------------

    def create_group(self, name: str, workspace: str) -> str:
        body = {"name": name, "workspace_id": workspace}
        return _text(self._call("POST", "participant-groups/", body), "id")

    def add_to_group(self, group: str, people: Iterable[str]) -> None:
        body = {"participant_ids": list(people)}
        self._send("POST", f"participant-groups/{group}/participants/", body)

    def group(self, group: str) -> set[str]:
        path = f"participant-groups/{group}/participants/"
        return {str(row.get("participant_id")) for row in _rows(self._call("GET", path), path)}

    def secret(self, workspace: str) -> str:
        """What signs the webhooks of that workspace; "" where nobody has asked for any."""
        path = "hooks/secrets/"
        for row in _rows(self._call("GET", path, workspace_id=workspace), path):
            if row.get("workspace_id", workspace) == workspace and row.get("value"):
                return str(row["value"])
        return ""

    def replace_secret(self, workspace: str) -> str:
        """A new secret. The old one is deleted, for every program of the workspace."""
        return _text(self._call("POST", "hooks/secrets/", {"workspace_id": workspace}), "value")

    def is_subscribed(self, workspace: str, event: str, target: str) -> bool:
        """Is there a subscription that sends these events to that address?"""
        path = "hooks/subscriptions/"
        return any(
            row.get("event_type") == event
            and row.get("target_url") == target
            and row.get("is_enabled", True)
            for row in _rows(self._call("GET", path, workspace_id=workspace), path)
        )

    def subscribe(self, workspace: str, event: str, target: str) -> None:
        """Have events sent to an address, and confirm it."""
        body = {"workspace_id": workspace, "event_type": event, "target_url": target}
        reply = self._send("POST", "hooks/subscriptions/", body)
        try:
            told = reply.json()
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise undocumented("answer to a subscription", reply.text[:200])
        confirmation = {"secret": reply.headers.get("X-Hook-Secret", "")}
        self._send("POST", f"hooks/subscriptions/{_text(told, 'id')}/", confirmation)


def environment() -> Access:
    """The access that the server's environment gives. Raises ProlificError without one."""
    if not settings.PROLIFIC_TOKEN:
        raise ProlificError(NO_TOKEN)
    return Access(
        settings.PROLIFIC_TOKEN,
        settings.PROLIFIC_WORKSPACE,
        settings.PROLIFIC_PROJECT,
        ("PROLIFIC_WORKSPACE", "PROLIFIC_PROJECT"),
    )


def _rows(page: Json, path: str) -> list[Json]:
    """The rows of a list of Prolific's. Raises ProlificError."""
    rows = page.get("results")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise undocumented(f"list {path}", page)
    return rows


def _text(told: Json, name: str) -> str:
    """A text that must be there. Raises ProlificError."""
    value = told.get(name)
    if not isinstance(value, str) or not value:
        raise undocumented(f"{name} in its reply", told)
    return value


def _number(told: Json, name: str) -> int:
    """A number that must be there. Raises ProlificError."""
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise undocumented(f"{name} in its reply", told)
    return round(value)


def _next_page(page: Json) -> str:
    """Path and query of the next page on our own root, wherever the link says it is; "" for none.

    The token goes to no other host.
    """
    link: Any = page.get("_links")
    for name in ("next", "href"):
        link = link.get(name) if isinstance(link, dict) else None
    if not isinstance(link, str) or not link:
        return ""
    address = urlsplit(link)
    path = address.path.partition("/api/v1/")[2]
    return f"{path}?{address.query}" if path.startswith("submissions/") else ""


def _chosen(setting: str, wanted: str, known: dict[str, str]) -> str:
    """The wanted id if it is among the known ones, or the only one there is."""
    if wanted in known:
        return wanted
    if not wanted and len(known) == 1:
        return next(iter(known))
    listed = ", ".join(f"{pk} ({title})" for pk, title in known.items()) or "none"
    fault = f"{setting} is {wanted}, which your token does not see" if wanted else "There are many"
    raise ProlificError(f"{fault}: set {setting} to one of {listed}.")
