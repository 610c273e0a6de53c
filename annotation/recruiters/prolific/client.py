"""Calls of Prolific's API, as documented (FACTS 1.1): the only module that knows its addresses.

Units: a reward is in cents, the amounts of a bonus CSV are in currency. Statuses are spelt in
several ways there and in one way here: APPROVED, AWAITING_REVIEW, TIMED_OUT, SCREENED_OUT.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

TIMEOUT = 30  # seconds
PAGE_SIZE = 100
# An approval may be faster than the participant's way back; then it is asked for again.
APPROVAL_WAITS = (0.5, 1, 2, 4)  # seconds

Json = dict[str, Any]


class ProlificError(Exception):
    """Prolific refused, or could not be reached; the text says what and why."""

    def __init__(self, sentence: str, status: int = 0):
        super().__init__(sentence)
        self.status = status


def status_of(text: str) -> str:
    """One spelling for every status."""
    return text.strip().upper().replace(" ", "_").replace("-", "_")


class Client:
    """One researcher's access. Reads are tried again when Prolific stumbles, writes are not."""

    def __init__(self) -> None:
        if not settings.PROLIFIC_TOKEN:
            raise ProlificError("Set PROLIFIC_TOKEN to an API token of your Prolific workspace.")
        self.root = f"{settings.PROLIFIC_URL}/api/v1"
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Token {settings.PROLIFIC_TOKEN}"
        again = Retry(
            total=4,
            backoff_factor=0.3,
            status_forcelist=(429, 500, 502, 503, 504),
            allowed_methods=("GET",),
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=again))

    def _call(self, method: str, path: str, json: Any = None, **parameters: Any) -> Any:
        reply = self._send(method, path, json, parameters)
        return reply.json() if reply.content else {}

    def _send(
        self, method: str, path: str, json: Any = None, parameters: Json | None = None
    ) -> requests.Response:
        address = path if path.startswith("http") else f"{self.root}/{path}"
        try:
            reply = self.session.request(
                method, address, json=json, params=parameters or None, timeout=TIMEOUT
            )
        except requests.RequestException as error:
            raise ProlificError(f"Prolific could not be reached: {error}") from None
        if not reply.ok:
            raise ProlificError(_complaint(reply), reply.status_code)
        return reply

    # Studies -------------------------------------------------------------------------------------

    def me(self) -> Json:
        """Whose token this is."""
        return self._call("GET", "users/me/")

    def create_study(self, study: Json) -> Json:
        return self._call("POST", "studies/", study)

    def study(self, study: str) -> Json:
        return self._call("GET", f"studies/{study}/")

    def publish(self, study: str) -> Json:
        return self._call("POST", f"studies/{study}/transition/", {"action": "PUBLISH"})

    def set_places(self, study: str, places: int) -> Json:
        """Places can only grow once a study is published."""
        return self._call("PATCH", f"studies/{study}/", {"total_available_places": places})

    # Submissions ---------------------------------------------------------------------------------

    def submissions(self, study: str) -> Iterator[Json]:
        """All submissions of a study. A page past the end is 404 there: the list has ended."""
        page: Json | None = None
        address = "submissions/"
        parameters: Json = {
            "study": study, "ordering": "started_at", "page": 1, "page_size": PAGE_SIZE,
        }  # fmt: skip
        while address:
            try:
                page = self._call("GET", address, **parameters)
            except ProlificError as error:
                if error.status == 404 and page is not None:
                    return
                raise
            yield from page["results"]
            address = ((page.get("_links") or {}).get("next") or {}).get("href") or ""
            parameters = {}

    def submission(self, submission: str) -> Json:
        return self._call("GET", f"submissions/{submission}/")

    def approve(self, submission: str) -> None:
        """Approve and so pay the reward. Asking again changes nothing."""
        for wait in (*APPROVAL_WAITS, None):
            try:
                self._call("POST", f"submissions/{submission}/transition/", {"action": "APPROVE"})
            except ProlificError as error:
                if wait is None or error.status not in (0, 400, 429, 500, 502, 503, 504):
                    raise
                time.sleep(wait)
            else:
                return

    def ask_to_return(self, submission: str, reason: str) -> None:
        body = {"request_return_reasons": [reason]}
        self._call("POST", f"submissions/{submission}/request-return/", body)

    def reject(self, submission: str, message: str, category: str) -> None:
        """Reject: no pay. Prolific wants a message of 100 characters or more, and a category."""
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        self._call("POST", f"submissions/{submission}/transition/", body)

    # Money ---------------------------------------------------------------------------------------

    def prepare_bonuses(self, study: str, lines: Iterable[tuple[str, str]]) -> str:
        """Set up bonuses of (participant, amount such as "1.50"); nothing is paid. Its id."""
        text = "\n".join(f"{person},{amount}" for person, amount in lines)
        body = {"study_id": study, "csv_bonuses": text}
        return str(self._call("POST", "submissions/bonus-payments/", body)["id"])

    def pay_bonuses(self, batch: str) -> None:
        """Pay bonuses that were set up. NOT safe to repeat: a second call may pay again."""
        self._call("POST", f"bulk-bonus-payments/{batch}/pay/")

    # Groups and webhooks -------------------------------------------------------------------------

    def create_group(self, name: str) -> str:
        body = {"name": name, "workspace_id": settings.PROLIFIC_WORKSPACE or "default"}
        return str(self._call("POST", "participant-groups/", body)["id"])

    def add_to_group(self, group: str, people: Iterable[str]) -> None:
        body = {"participant_ids": list(people)}
        self._call("POST", f"participant-groups/{group}/participants/", body)

    def group(self, group: str) -> set[str]:
        found = self._call("GET", f"participant-groups/{group}/participants/")
        return {one["participant_id"] for one in found["results"]}

    def subscribe(self, workspace: str, event: str, target: str) -> str:
        """Have events sent to an address, and confirm it; the secret that signs them."""
        made = self._call("POST", "hooks/secrets/", {"workspace_id": workspace})
        body = {"workspace_id": workspace, "event_type": event, "target_url": target}
        reply = self._send("POST", "hooks/subscriptions/", body)
        confirmation = {"secret": reply.headers.get("X-Hook-Secret", "")}
        self._call("POST", f"hooks/subscriptions/{reply.json()['id']}/", confirmation)
        return str(made["value"])


def _complaint(reply: requests.Response) -> str:
    """What Prolific says is wrong, in one line."""
    try:
        error = reply.json()["error"]
        detail = error.get("detail") or error.get("title")
    except (ValueError, KeyError, TypeError, AttributeError):
        detail = reply.text[:200]
    return f"Prolific answered {reply.status_code}: {detail}"
