"""Requests to a server, one token, retried with back-off; the jobs and the rows that they give.

Below everything else in this package. The text of each error is for people.
"""

import email.utils
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import httpx
from tqdm import tqdm

if TYPE_CHECKING:
    import pandas

ATTEMPTS = 6
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds
TIMEOUT = 60.0  # seconds without a byte
# Nothing was done, whatever was asked for: the server, or a proxy before it, says so.
NOT_DONE = frozenset({429, 503})
# Perhaps done: asked again only where twice is the same as once. So is a 503 of this code.
PERHAPS_DONE = frozenset({502, 504})
DATABASE_AWAY = "database_away"
REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})

Record = dict[str, Any]


class HandfulError(Exception):
    """Any error of this package."""


class NotReachable(HandfulError):
    """Nobody replies at that address, or something that is no Handful."""


class ApiError(HandfulError):
    """The server refuses a request (RFC 9457).

    `status` is the HTTP status, `code` what is wrong for programs, `fields` the sentences by field,
    `state` of a participation where one stands.
    """

    def __init__(self, problem: Mapping[str, Any], status: int):
        self.status = int(problem.get("status", status))
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail", f"The server answered {status}."))
        self.fields: dict[str, list[str]] = dict(problem.get("fields") or {})
        self.state: dict[str, Any] | None = problem.get("state")
        lines = [self.detail, *(_line(name, said) for name, said in self.fields.items())]
        super().__init__("\n".join(lines))


class JobFailed(HandfulError):
    """Work that the server began and could not end."""


def _line(name: str, said: Sequence[str] | str) -> str:
    return f"  {name}: {said if isinstance(said, str) else ' '.join(map(str, said))}"


class Connection:
    """The API of one server with one token.

    What failed on its way is sent again after a pause that doubles (`Retry-After` where the server
    says one): a request that changes something only where it was certainly not done, or where the
    caller says that twice is once (`again`). Raises ApiError for a refusal, NotReachable.
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
        self.attempts, self.sleep = attempts, sleep
        self.http = httpx.Client(
            base_url=f"{self.server}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "handful-client"},
            timeout=timeout,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    def get(self, address: str, **params: Any) -> Any:
        """The JSON at an address; parameters that are None are left out."""
        # An empty mapping would take the query off an address that has one.
        return _json(self.send("GET", address, params=given(params) or None))

    def post(self, address: str, body: Any = None, *, again: bool = False, **sent: Any) -> Any:
        """Post JSON, or `files` and `data`; the JSON of the reply, None where there is none."""
        if body is not None:
            sent["json"] = body
        return _json(self.send("POST", address, again=again, **sent))

    def patch(self, address: str, body: Mapping[str, Any]) -> Any:
        return _json(self.send("PATCH", address, json=body))

    def delete(self, address: str) -> None:
        self.send("DELETE", address)

    def rows(self, address: str, **params: Any) -> Iterator[Record]:
        """The rows of a list, page after page, as they are asked for."""
        page = self.get(address, **params)
        while True:
            if isinstance(page, list):  # a table, whole
                yield from page
                return
            yield from page["results"]
            if not page["next"]:
                return
            page = self.get(self._own(page["next"]))

    def unchanged(self, address: str, etag: str | None) -> tuple[Any, str | None]:
        """The JSON and its ETag; None where it is still what that ETag stands for."""
        headers = {"If-None-Match": etag} if etag else {}
        reply = self.send("GET", address, headers=headers)
        if reply.status_code == httpx.codes.NOT_MODIFIED:
            return None, etag
        return _json(reply), reply.headers.get("ETag")

    def download(self, address: str, target: Path, *, progress: bool = True) -> Path:
        """Stream a file to `target`, which is there whole or not at all.

        Raises HandfulError where it is there already.
        """
        if target.exists():
            raise HandfulError(f"{target} is there already: name a new file")
        part = target.with_name(f".{target.name}.part")
        try:
            with part.open("wb") as file, self._streamed(address) as reply:
                size = int(reply.headers.get("Content-Length", 0)) or None
                with bar(progress, target.name, size, unit="B", unit_scale=True) as shown:
                    for piece in reply.iter_bytes():
                        file.write(piece)
                        shown.update(len(piece))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def send(
        self, method: str, address: str, *, again: bool = False, **sent: Any
    ) -> httpx.Response:
        """Send until there is an answer; raises ApiError for a refusal, NotReachable."""
        repeatable = again or method in REPEATABLE
        for attempt in range(1, self.attempts + 1):
            is_last = attempt == self.attempts
            try:
                reply = self.http.request(method, address, **sent)
            except httpx.TransportError as error:
                if is_last or not (repeatable or isinstance(error, httpx.ConnectError)):
                    raise NotReachable(self._nobody(error)) from None
                self.sleep(pause(attempt))
                continue
            certain = reply.status_code in NOT_DONE and _code(reply) != DATABASE_AWAY
            may_pass = certain or (repeatable and reply.status_code in NOT_DONE | PERHAPS_DONE)
            if is_last or not may_pass:
                return self._answered(reply)
            self.sleep(told_pause(reply.headers.get("Retry-After"), attempt))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _streamed(self, address: str) -> Iterator[httpx.Response]:
        try:
            with self.http.stream("GET", address) as reply:
                if not reply.is_success:
                    reply.read()
                    self._answered(reply)
                yield reply
        except httpx.TransportError as error:
            raise NotReachable(self._nobody(error)) from None

    def _answered(self, reply: httpx.Response) -> httpx.Response:
        if reply.is_success or reply.status_code == httpx.codes.NOT_MODIFIED:
            return reply
        if reply.is_redirect:
            raise NotReachable(
                f"{self.server} sends on to {reply.headers.get('Location')}: use that address"
            )
        try:
            problem = reply.json()
        except ValueError:
            problem = None
        if not isinstance(problem, dict):
            raise NotReachable(
                f"{reply.url} answered {reply.status_code} and nothing that Handful would say:"
                " check the address of the server"
            )
        raise ApiError(problem, reply.status_code)

    def _nobody(self, error: httpx.TransportError) -> str:
        return f"{self.server} does not answer ({error or type(error).__name__})"

    def _own(self, address: str) -> str:
        """The address of a further page; never with the token to another host."""
        there, here = urlsplit(address), urlsplit(self.server)
        if there.netloc and there.netloc != here.netloc:
            # Behind a proxy that does not say its name: the path is ours.
            return there._replace(scheme=here.scheme, netloc=here.netloc).geturl()
        return address


def checked(server: str) -> str:
    """The address of a server without its path's end. Raises HandfulError."""
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HandfulError(f"{server!r} is no address of a server: write https://HOST")
    if parts.username or parts.query or parts.fragment:
        raise HandfulError("The address of a server holds no name, token or query: https://HOST")
    return server.rstrip("/").removesuffix("/api/v1")


def given(params: Mapping[str, Any]) -> Record:
    """The parameters that are not None."""
    return {name: value for name, value in params.items() if value is not None}


def pause(attempt: int) -> float:
    """Seconds before the next attempt: doubled each time, spread so that clients come apart."""
    return min(FIRST_WAIT * 2.0 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.75, 1.25)


def told_pause(retry_after: str | None, attempt: int) -> float:
    """Seconds that the server asks for (a number, or a date of HTTP); else as `pause`."""
    if retry_after is None:
        return pause(attempt)
    if retry_after.strip().isdecimal():
        return float(min(int(retry_after), 3600))
    try:
        moment = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return pause(attempt)
    return min(max(moment.timestamp() - time.time(), 0.0), 3600.0)


def bar(progress: bool, words: str, total: int | None, **how: Any) -> "tqdm[Any]":
    """A progress bar on standard error, in a terminal alone."""
    return tqdm(total=total, desc=words, disable=None if progress else True, leave=False, **how)


def _code(reply: httpx.Response) -> str:
    """What is wrong, for programs; "" where the reply does not say so."""
    try:
        problem = _json(reply)
    except ValueError:  # a proxy's page
        return ""
    return str(problem.get("code", "")) if isinstance(problem, dict) else ""


def _json(reply: httpx.Response) -> Any:
    return reply.json() if reply.content else None


class Jobs:
    """The jobs of a server, by number."""

    def __init__(self, connection: Connection, sleep: Callable[[float], None] = time.sleep):
        self._connection, self._sleep = connection, sleep

    def get(self, number: int) -> Record:
        """How far it is: id, kind, state, done, total, error, result."""
        job: Record = self._connection.get(f"jobs/{number}/")
        return job

    def wait(self, number: int, *, progress: bool = True, seconds: float = 0.5) -> Record:
        """Advance it, chunk after chunk, until it is done. Raises JobFailed."""
        job = self.get(number)
        with bar(progress, job["kind"], job["total"]) as shown:
            while True:
                shown.update(job["done"] - shown.n)
                if job["error"]:
                    raise JobFailed(job["error"])
                if job["done"] >= job["total"]:
                    return job
                before = job["done"]
                job = self._connection.post(f"jobs/{number}/run/", again=True)
                if job["done"] == before and not job["error"]:
                    self._sleep(seconds)  # another process is at it

    def ended(self, reply: Record, *, progress: bool = True) -> Record:
        """What a reply says; where it says that a job has begun, what that job says at its end."""
        if "job" not in reply:
            return reply
        result: Record = self.wait(reply["job"]["id"], progress=progress)["result"] or {}
        if problems := result.get("problems"):
            raise JobFailed("\n".join(map(str, problems)))
        return result


class Rows(Iterable[Record]):
    """Rows as dicts. Each iteration asks the server again, page after page."""

    def __init__(self, fetch: Callable[[], Iterable[Record]]):
        self._fetch = fetch

    def __iter__(self) -> Iterator[Record]:
        return iter(self._fetch())

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a data frame. Raises HandfulError without pandas."""
        try:
            import pandas  # noqa: PLC0415, an extra
        except ImportError:
            raise HandfulError("Data frames need pandas: pip install pandas") from None
        return pandas.DataFrame(list(self))

    def as_text(self, *columns: str) -> str:
        """All rows as a table for a terminal; of these columns, or of all."""
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
