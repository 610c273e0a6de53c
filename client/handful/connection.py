"""Authenticated HTTP requests with retries, and the jobs and rows that a server returns.

This is the lowest layer of the package. Its error messages are written for users.
"""

import email.utils
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

if TYPE_CHECKING:
    import pandas

ATTEMPTS = 6
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds
TIMEOUT = 60.0  # seconds without receiving a single byte
# Neither the server nor a proxy in front of it processed the request, whatever its method.
NOT_DONE = frozenset({429, 503})
# These, and a 503 with the code below, are retried only if the request is idempotent.
PERHAPS_DONE = frozenset({502, 504})
DATABASE_AWAY = "database_away"
REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})

Record = dict[str, Any]


class HandfulError(Exception):
    """The base class of all errors raised by this package."""


class NotReachable(HandfulError):
    """Raised if the URL doesn't respond, or if Handful isn't what responds."""


class ApiError(HandfulError):
    """Raised if the server rejects a request (RFC 9457).

    `status` is the HTTP status, and `code` identifies the error. `fields` maps fields to messages.
    `state` is the current state, if the request was a step in a study.
    """

    def __init__(self, problem: Mapping[str, Any], status: int):
        self.status = int(problem.get("status", status))
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail", f"The server responded with {status}."))
        self.fields: dict[str, list[str]] = dict(problem.get("fields") or {})
        self.state: dict[str, Any] | None = problem.get("state")
        texts = {name: _text(messages) for name, messages in self.fields.items()}
        lines = [f"{name}: {text}" for name, text in texts.items()]
        is_repeated = self.detail == " ".join(texts.values())  # if so, print each text once
        super().__init__("\n".join(lines) if is_repeated else "\n  ".join([self.detail, *lines]))


class JobFailed(HandfulError):
    """Raised if a job on the server failed."""


def _text(messages: Sequence[str] | str) -> str:
    return messages if isinstance(messages, str) else " ".join(map(str, messages))


class Connection(AbstractContextManager["Connection"]):
    """A connection to the API of one server with one token.

    Failed requests are retried after a pause that doubles each time, or after `Retry-After`. A
    request that changes data is only retried if it can't have been processed, or if the caller
    declares it idempotent (`again`). Raises ApiError if a request is rejected, or NotReachable.
    """

    def __init__(
        self,
        server: str,
        token: str,
        *,
        attempts: int = ATTEMPTS,
        timeout: float = TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ):
        self.server = checked(server)
        if not (token.isascii() and token.isprintable()):
            raise HandfulError("The token contains invalid characters. Copy it again.")
        self.attempts, self.sleep = attempts, sleep
        self.http = httpx.Client(
            base_url=f"{self.server}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "handful-client"},
            timeout=timeout,
            transport=transport,
        )

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    def get(self, address: str, **params: Any) -> Any:
        """Return the JSON at a URL. `params` that are None are omitted."""
        # Given an empty mapping, httpx would remove the query from the URL.
        return _json(self.send("GET", address, params=given(params) or None))

    def post(self, address: str, body: Any = None, *, again: bool = False, **content: Any) -> Any:
        """Post JSON, or `files` and `data`. Return the JSON of the response, or None."""
        if body is not None:
            content["json"] = body
        return _json(self.send("POST", address, again=again, **content))

    def patch(self, address: str, body: Mapping[str, Any]) -> Any:
        return _json(self.send("PATCH", address, json=body))

    def delete(self, address: str) -> None:
        self.send("DELETE", address)

    def rows(self, address: str, **params: Any) -> Iterator[Record]:
        """Yield the rows of a list, fetching pages as needed."""
        page = self.get(address, **params)
        while True:
            if isinstance(page, list):  # this is the complete table
                yield from page
                return
            yield from page["results"]
            if not page["next"]:
                return
            page = self.get(self._page_url(page["next"]))

    def download(self, address: str, target: Path, *, progress: bool = True) -> Path:
        """Download a file to `target`, which doesn't appear until it is complete.

        Raises HandfulError if `target` already exists.
        """
        if target.exists():
            raise HandfulError(f"{target} already exists. Choose a new file.")
        part = target.with_name(f".{target.name}.part")
        try:
            with part.open("wb") as file, self._streamed(address) as reply:
                size = int(reply.headers.get("Content-Length", 0)) or None
                with bar(progress, target.name, size, unit="B", unit_scale=True) as meter:
                    for piece in reply.iter_bytes():
                        file.write(piece)
                        meter.update(len(piece))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def send(
        self, method: str, address: str, *, again: bool = False, **content: Any
    ) -> httpx.Response:
        """Send a request, with retries. Raises ApiError if it is rejected, or NotReachable."""
        repeatable = again or method in REPEATABLE
        for attempt in range(1, self.attempts + 1):
            is_last = attempt == self.attempts
            try:
                reply = self.http.request(method, address, **content)
            except httpx.TransportError as error:
                if is_last or not (repeatable or isinstance(error, httpx.ConnectError)):
                    raise NotReachable(self._unreachable(error)) from None
                self.sleep(pause(attempt))
                continue
            certain = reply.status_code in NOT_DONE and _code(reply) != DATABASE_AWAY
            may_pass = certain or (repeatable and reply.status_code in NOT_DONE | PERHAPS_DONE)
            if is_last or not may_pass:
                return self._checked_reply(reply)
            self.sleep(retry_pause(reply.headers.get("Retry-After"), attempt))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _streamed(self, address: str) -> Iterator[httpx.Response]:
        try:
            with self.http.stream("GET", address) as reply:
                if not reply.is_success:
                    reply.read()
                    self._checked_reply(reply)
                yield reply
        except httpx.TransportError as error:
            raise NotReachable(self._unreachable(error)) from None

    def _checked_reply(self, reply: httpx.Response) -> httpx.Response:
        if reply.is_success:
            return reply
        if reply.is_redirect:
            raise NotReachable(
                f"{self.server} redirects to {reply.headers.get('Location')}. Use that URL instead."
            )
        try:
            problem = reply.json()
        except ValueError:
            problem = None
        if not isinstance(problem, dict):
            raise NotReachable(
                f"{reply.url} responded with {reply.status_code}, but not as Handful does. Check"
                " the server's URL."
            )
        raise ApiError(problem, reply.status_code)

    def _unreachable(self, error: httpx.TransportError) -> str:
        return f"{self.server} does not respond ({error or type(error).__name__})"

    def _page_url(self, address: str) -> str:
        """Return the URL of the next page. The token is never sent to another host."""
        target, server = urlsplit(address), urlsplit(self.server)
        if target.netloc and target.netloc != server.netloc:
            # Behind a proxy that doesn't pass on the host name, only the path is correct.
            return target._replace(scheme=server.scheme, netloc=server.netloc).geturl()
        return address


def checked(server: str) -> str:
    """Return the server's URL without the API path. Raises HandfulError."""
    try:
        parts = urlsplit(server)
    except ValueError:  # raised for brackets that do not enclose an IPv6 address
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HandfulError(f"{server!r} is not a server's URL. Use https://HOST.")
    if parts.username or parts.query or parts.fragment:
        raise HandfulError("The server's URL must have the form https://HOST, without a query.")
    return server.rstrip("/").removesuffix("/api/v1")


def given(params: Mapping[str, Any]) -> Record:
    return {name: value for name, value in params.items() if value is not None}


def pause(attempt: int) -> float:
    """Return how many seconds to wait before the next attempt (exponential backoff with jitter)."""
    return min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.75, 1.25)


def retry_pause(retry_after: str | None, attempt: int) -> float:
    """Return the seconds in Retry-After (a number or an HTTP date), or else those of `pause`."""
    if retry_after is None:
        return pause(attempt)
    if retry_after.strip().isdecimal():
        return float(min(int(retry_after), 3600))
    try:
        moment = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return pause(attempt)
    return min(max(moment.timestamp() - time.time(), 0.0), 3600.0)


def bar(progress: bool, label: str, total: int | None, **options: Any) -> "tqdm[Any]":
    """Return a progress bar, which is shown on standard error if that is a terminal."""
    return tqdm(total=total, desc=label, disable=None if progress else True, leave=False, **options)


def _code(reply: httpx.Response) -> str:
    try:
        problem = _json(reply)
    except ValueError:  # the error page of a proxy
        return ""
    return str(problem.get("code", "")) if isinstance(problem, dict) else ""


def _json(reply: httpx.Response) -> Any:
    return reply.json() if reply.content else None


class Jobs:
    """The jobs on a server, identified by number."""

    def __init__(self, connection: Connection, sleep: Callable[[float], None] = time.sleep):
        self._connection, self._sleep = connection, sleep

    def get(self, number: int) -> Record:
        """Return a job: id, kind, state, done, total, error and result."""
        return self._connection.get(f"jobs/{number}/")

    def wait(self, number: int, *, progress: bool = True, seconds: float = 0.5) -> Record:
        """Run the job, about a second of work per request, until done. Raises JobFailed."""
        job = self.get(number)
        with bar(progress, job["kind"], job["total"]) as meter:
            while True:
                meter.update(job["done"] - meter.n)
                if job["error"]:
                    raise JobFailed(job["error"])
                if job["done"] >= job["total"]:
                    return job
                previous = job["done"]
                job = self._connection.post(f"jobs/{number}/run/", again=True)
                if job["done"] == previous and not job["error"]:
                    self._sleep(seconds)  # another process is running it

    def ended(self, reply: Record, *, progress: bool = True) -> Record:
        """Return the reply or, if it started a job, the job's result. Raises JobFailed."""
        if "job" not in reply:
            return reply
        result: Record = self.wait(reply["job"]["id"], progress=progress)["result"] or {}
        if problems := result.get("problems"):
            raise JobFailed("\n".join(map(str, problems)))
        return result


class Rows(Iterable[Record]):
    """The rows of a list, as dicts. Each iteration fetches them again."""

    def __init__(self, fetch: Callable[[], Iterable[Record]]):
        self._fetch = fetch

    def __iter__(self) -> Iterator[Record]:
        return iter(self._fetch())

    def to_pandas(self) -> "pandas.DataFrame":
        """Return all rows as a data frame. Raises HandfulError if pandas is not installed."""
        try:
            import pandas  # noqa: PLC0415, an extra
        except ImportError:
            raise HandfulError("Data frames require pandas. Run pip install pandas.") from None
        return pandas.DataFrame(list(self))

    def as_text(self, *columns: str) -> str:
        """Format all rows as a table for a terminal. The default is to include all columns."""
        rows = list(self)
        names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
        cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
