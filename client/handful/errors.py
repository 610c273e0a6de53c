"""What can go wrong; the text of each error is for people."""

from collections.abc import Mapping, Sequence
from typing import Any


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
