"""Client for Prolific's API. No other module knows its URLs.

docs/prolific.md#facts-documented-by-prolific lists the documented facts. Rewards are in cents, but
amounts in a bonus CSV are in currency units. Prolific spells statuses in several ways, of which
this module uses only one: APPROVED, AWAITING_REVIEW, TIMED_OUT, SCREENED_OUT. Refusals, timeouts
and undocumented responses all raise ProlificError; details are in the server's log.
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
from urllib3.exceptions import NewConnectionError
from urllib3.util.retry import Retry

logger = logging.getLogger(__name__)

# Timeouts in seconds, for connecting and between two parts of a response.
HURRIED = (3, 10)  # while a user waits for a page
PATIENT = (10, 30)  # in server commands
PAGE_SIZE = 100
MAX_STATUS = 20  # the longest status in the documentation has 18 characters
# POST requests that do not change anything.
READ_ONLY = {"eligibility-count/", "study-cost-calculator/"}
# Allow only one call at a time, so that a slow Prolific blocks one thread and not all of them.
_TURN = threading.Lock()

# The refusals documented by Prolific. After any other error, the action may have taken place.
REFUSALS = {400, 402, 403, 404, 422}
NOT_REACHED = (
    "Prolific could not be reached. Nothing was published or paid. Try again in a few minutes."
)
REPLY_LOST = (
    "Prolific could not be reached, or its response was lost. Part of the request may have been"
    " carried out. Try again in a few minutes; nothing is published or paid twice."
)
NO_TOKEN = (
    "No API token for Prolific is set. Set yours on the page Your account, then draft the"
    " studies. An administrator can set one for the server (PROLIFIC_TOKEN)."
)
UNKNOWN_TOKEN = (
    "Prolific does not accept the API token. It may have been deleted there or copied incompletely."
)

Json = dict[str, Any]


class ProlificError(Exception):
    """Prolific refused the request, did not respond, or sent an undocumented response.

    `status` is the HTTP status, or 0 if there was no response. `refused` means that Prolific gave a
    reason and did nothing. `unreachable` means that there was no response, so that further requests
    would fail as well.
    """

    def __init__(
        self, message: str, status: int = 0, *, refused: bool = False, unreachable: bool = False
    ):
        super().__init__(message)
        self.status, self.refused, self.unreachable = status, refused, unreachable


def undocumented(subject: str, received: object, status: int = 0) -> ProlificError:
    """Log `received` and return the error for a response whose `subject` is undocumented."""
    logger.warning("Prolific's %s is undocumented (status %s): %.200r", subject, status, received)
    return ProlificError(
        f"Prolific's {subject} differs from its documentation. Try again in a few minutes.", status
    )


def was_not_sent(error: Exception) -> bool:
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def complaint(reply: requests.Response) -> ProlificError:
    status = reply.status_code
    try:
        error = reply.json()["error"]
        detail = error.get("detail") or error.get("title")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        detail = None
    if detail and status < 500 and status != 401:
        message = f"Prolific answered {status}: {str(detail)[:400]}"
        return ProlificError(message, status, refused=status in REFUSALS)
    logger.warning("Prolific answered %s: %.200r", status, reply.text[:200])
    if status == 401:
        return ProlificError(UNKNOWN_TOKEN, status)
    if status == 429:
        message = "Prolific received too many requests. Try again in a minute."
    elif status >= 500:
        message = f"Prolific reported an error (status {status}). Try again in a few minutes."
    else:
        message = f"Prolific responded with status {status} and no reason."
    return ProlificError(message, status)


def status_of(text: object) -> str:
    """Return a status in a uniform spelling, at most MAX_STATUS long. Raises ProlificError."""
    if not isinstance(text, str) or not text.strip():
        raise undocumented("status", text)
    return text.strip().upper().replace(" ", "_").replace("-", "_")[:MAX_STATUS]


@dataclass(frozen=True)
class Access:
    """An API token with its workspace and project, where "" means the only one available."""

    token: str = field(repr=False)
    workspace: str = ""
    project: str = ""
    names: tuple[str, str] = ("Workspace", "Project")  # the settings as named in error messages


class Client:
    """A client for one API token. Failed reads are retried, whereas writes are not."""

    def __init__(self, access: Access | None = None, patient: bool = False) -> None:
        """Use `access`, by default the environment's. Account tokens come from accounts.py.

        Pages wait for the response, so only commands may be `patient`. Raises ProlificError.
        """
        self.access = access or environment()
        self.root = f"{settings.PROLIFIC_URL}/api/v1"
        self.timeout = PATIENT if patient else HURRIED
        # Prolific may have acted for this client, or for an earlier one doing the same work.
        self.has_acted = False
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Token {self.access.token}"
        retry = Retry(
            total=4 if patient else 1,
            read=4 if patient else 0,
            backoff_factor=0.3,
            status_forcelist=(429, 500, 502, 503, 504),
            allowed_methods=("GET",),
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=retry))

    def _call(
        self, method: str, path: str, json: Any = None, shape: type = dict, **parameters: Any
    ) -> Any:
        """Return the JSON of the response, which must be of type `shape`. Raises ProlificError."""
        reply, subject = self._send(method, path, json, parameters), f"answer to {method} {path}"
        try:
            body = reply.json()
        except (ValueError, RecursionError):
            raise undocumented(subject, reply.text[:200], reply.status_code) from None
        if not isinstance(body, shape):
            raise undocumented(subject, body, reply.status_code)
        return body

    def _rows(self, path: str, **parameters: Any) -> list[Json]:
        """Return a list's rows. Raises ProlificError if they are malformed."""
        page = self._call("GET", path, **parameters)
        rows = page.get("results")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise undocumented(f"list {path}", page)
        return rows

    def _send(
        self, method: str, path: str, json: Any = None, parameters: Json | None = None
    ) -> requests.Response:
        if not _TURN.acquire(timeout=sum(self.timeout)):
            raise ProlificError("Prolific is slow at the moment. Try again.", unreachable=True)
        acts = method != "GET" and path not in READ_ONLY
        root = settings.PROLIFIC_URL if path.startswith(".well-known/") else self.root
        try:
            reply = self.session.request(
                method,
                f"{root}/{path}",
                json=json,
                params=parameters or None,
                timeout=self.timeout,
                allow_redirects=False,  # a redirect could repeat the POST or leak the token
            )
        except (requests.RequestException, ValueError) as error:
            logger.warning("Prolific could not be reached: %s", error)
            self.has_acted |= acts and not was_not_sent(error)
            message = REPLY_LOST if self.has_acted else NOT_REACHED
            raise ProlificError(message, unreachable=True) from None
        finally:
            _TURN.release()
        self.has_acted |= acts
        if not 200 <= reply.status_code < 300:
            raise complaint(reply)
        return reply

    # Account -------------------------------------------------------------------------------------

    def me(self) -> str:
        return _text(self._call("GET", "users/me/"), "id")

    def workspace(self) -> str:
        """Return the configured workspace, or else the only one. Raises ProlificError."""
        workspaces = self._listed("workspaces/")
        return _configured(self.access.names[0], self.access.workspace, workspaces)

    def project(self, workspace: str) -> str:
        """Return the configured project, or else the only one. Raises ProlificError."""
        projects = self._listed(f"workspaces/{workspace}/projects/")
        return _configured(self.access.names[1], self.access.project, projects)

    def _listed(self, path: str) -> dict[str, str]:
        rows = self._rows(path)
        return {str(row["id"]): str(row.get("title", "")) for row in rows if row.get("id")}

    def currency(self, workspace: str) -> str:
        """Return the currency of payments, for example GBP. Raises ProlificError."""
        body = self._call("GET", f"workspaces/{workspace}/balance/")
        return _text(body, "currency_code").upper()

    def minimum_hourly(self, workspace: str, currency: str) -> int | None:
        """Return Prolific's recommended minimum reward per hour in cents, or None."""
        body = self._call(
            "GET", "reward-recommendations/", shape=list, workspace_id=workspace, currency=currency
        )
        for row in body[:1]:  # the newest row comes first
            amount = row.get("min_reward_per_hour") if isinstance(row, dict) else None
            if isinstance(amount, int) and not isinstance(amount, bool) and amount > 0:
                return amount
        return None

    def signing_keys(self) -> Json:
        return self._call("GET", ".well-known/study/jwks.json")

    # Audience ------------------------------------------------------------------------------------

    def filters(self, workspace: str) -> list[Json]:
        return self._rows("filters/", workspace_id=workspace)

    def eligible(self, filters: list[Json], workspace: str) -> int:
        """Return how many people match all filters, or 0 if there are fewer than 25."""
        body = {"filters": filters, "workspace_id": workspace}
        return _number(self._call("POST", "eligibility-count/", body), "count")

    def cost(self, reward: int, places: int) -> int:
        """Return the cost in cents of so many places at this reward, including fees and VAT."""
        body = {"reward": reward, "total_available_places": places}
        return _number(self._call("POST", "study-cost-calculator/", body), "total_cost")

    # Studies -------------------------------------------------------------------------------------

    def create_study(self, study: Json) -> Json:
        created = self._call("POST", "studies/", study)
        _text(created, "id")
        return created

    def study(self, study: str) -> Json:
        record = self._call("GET", f"studies/{study}/")
        status_of(record.get("status"))
        return record

    def transition(self, study: str, action: str) -> Json:
        """PUBLISH a draft, PAUSE or STOP an active study, or START a paused study."""
        return self._call("POST", f"studies/{study}/transition/", {"action": action})

    def set_places(self, study: str, places: int) -> None:
        """Set the number of places, which can only increase after publication."""
        self._send("PATCH", f"studies/{study}/", {"total_available_places": places})

    # Submissions ---------------------------------------------------------------------------------

    def submissions(self, study: str) -> Iterator[Any]:
        """Yield a study's unvalidated submissions. A 404 after the first page ends the list."""
        parameters: Json = {
            "study": study, "ordering": "started_at", "page": 1, "page_size": PAGE_SIZE,
        }  # fmt: skip
        path, visited = "submissions/", set[str]()
        while path not in visited:
            visited.add(path)
            try:
                page = self._call("GET", path, **parameters)
            except ProlificError as error:
                if error.status == 404 and len(visited) > 1:
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
        record = self._call("GET", f"submissions/{submission}/")
        status_of(record.get("status"))
        return record

    def approve(self, submission: str) -> None:
        """Approve a submission, which pays its reward. Approving it again has no effect."""
        self._send("POST", f"submissions/{submission}/transition/", {"action": "APPROVE"})

    def approve_all(self, submissions: list[str]) -> None:
        """Approve up to 1000 submissions. This takes effect later, so check their statuses."""
        self._send("POST", "submissions/bulk-approve/", {"submission_ids": submissions})

    def ask_to_return(self, submission: str, reason: str) -> None:
        body = {"request_return_reasons": [reason]}
        self._send("POST", f"submissions/{submission}/request-return/", body)

    def reject(self, submission: str, message: str, category: str) -> None:
        """Reject a submission without pay. The message must be at least 100 characters long."""
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        self._send("POST", f"submissions/{submission}/transition/", body)

    # Money ---------------------------------------------------------------------------------------

    def prepare_bonuses(self, study: str, lines: Iterable[tuple[str, str]]) -> str:
        """Set up bonuses (participant, amount such as "1.50") without paying. Return the ID."""
        text = "\n".join(f"{person},{amount}" for person, amount in lines)
        body = {"study_id": study, "csv_bonuses": text}
        return _text(self._call("POST", "submissions/bonus-payments/", body), "id")

    def pay_bonuses(self, batch: str) -> None:
        """Pay bonuses that have been set up. NOT safe to repeat: a second call pays them again.

        After a ProlificError without `refused`, it is unknown whether they have been paid.
        """
        self._call("POST", f"bulk-bonus-payments/{batch}/pay/", shape=object)

    # Groups --------------------------------------------------------------------------------------

    def create_group(self, name: str, workspace: str) -> str:
        body = {"name": name, "workspace_id": workspace}
        return _text(self._call("POST", "participant-groups/", body), "id")

    def add_to_group(self, group: str, people: Iterable[str]) -> None:
        body = {"participant_ids": list(people)}
        self._send("POST", f"participant-groups/{group}/participants/", body)

    def group(self, group: str) -> set[str]:
        rows = self._rows(f"participant-groups/{group}/participants/")
        return {str(row.get("participant_id")) for row in rows}


def environment() -> Access:
    """Return the access configured in the environment. Raises ProlificError if there is none."""
    if not settings.PROLIFIC_TOKEN:
        raise ProlificError(NO_TOKEN)
    return Access(
        settings.PROLIFIC_TOKEN,
        settings.PROLIFIC_WORKSPACE,
        settings.PROLIFIC_PROJECT,
        ("PROLIFIC_WORKSPACE", "PROLIFIC_PROJECT"),
    )


def _text(body: Json, name: str) -> str:
    """Return a required string. Raises ProlificError."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise undocumented(f"{name} in its reply", body)
    return value


def _number(body: Json, name: str) -> int:
    """Return a required number. Raises ProlificError."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise undocumented(f"{name} in its reply", body)
    return round(value)


def _next_page(page: Json) -> str:
    """Return the next path, or "". It never leads to another host, which would get the token."""
    link: Any = page.get("_links")
    for name in ("next", "href"):
        link = link.get(name) if isinstance(link, dict) else None
    if not isinstance(link, str) or not link:
        return ""
    address = urlsplit(link)
    path = address.path.partition("/api/v1/")[2]
    return f"{path}?{address.query}" if path.startswith("submissions/") else ""


def _configured(setting: str, value: str, titles: dict[str, str]) -> str:
    """Return `value` if it is a known ID, or else the only known ID. Raises ProlificError."""
    if value in titles:
        return value
    if not value and len(titles) == 1:
        return next(iter(titles))
    listed = ", ".join(f"{pk} ({title})" for pk, title in titles.items()) or "none"
    fault = f"{setting} is {value}, which your token cannot access" if value else "There are many"
    raise ProlificError(f"{fault}: set {setting} to one of {listed}.")
