"""A server with a researcher's token, and the file in which `handful login` stores tokens."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

from handful.connection import Connection, HandfulError, Jobs, checked
from handful.models import Models
from handful.studies import Studies
from handful.tasks import Tasks


class Client:
    """Entry point to `tasks`, `studies`, `models` and `jobs`.

    The server and the token default to HANDFUL_SERVER and HANDFUL_TOKEN, then to `handful login`.
    `options` are passed to Connection. Raises HandfulError without a login.
    """

    def __init__(self, server: str | None = None, token: str | None = None, **options: Any):
        server, token = known(server, token)
        self.connection = Connection(server, token, **options)
        self.jobs = Jobs(self.connection)
        self.tasks = Tasks(self.connection, self.jobs)
        self.studies = Studies(self.connection, self.jobs)
        self.models = Models(self.connection, self.jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()


NO_LOGIN = (
    "No server is set. Run `handful login https://HOST`, or set HANDFUL_SERVER and HANDFUL_TOKEN"
)


def token_file() -> Path:
    """Return the path of the login file, below XDG_CONFIG_HOME or APPDATA (mode 0600)."""
    home = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "handful" / "logins.json"


def known(server: str | None, token: str | None) -> tuple[str, str]:
    """Return the server and token from the arguments, the environment, or the stored login.

    A stored token is only sent to the server for which it was stored. Raises HandfulError.
    """
    stored = _read()
    server = server or os.environ.get("HANDFUL_SERVER") or stored["server"]
    if not server:
        raise HandfulError(NO_LOGIN)
    server = checked(server)
    token = token or os.environ.get("HANDFUL_TOKEN") or stored["tokens"].get(server)
    if not token:
        raise HandfulError(f"No token is stored for {server}. Run `handful login {server}`.")
    return server, token


def store_token(server: str, token: str) -> Path:
    """Store the token, make its server the default, and return the file's path."""
    data = _read()
    server = checked(server)
    data |= {"server": server, "tokens": {**data["tokens"], server: token}}
    target = token_file()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates it with mode 0600, before the token is written.
    handle, part = tempfile.mkstemp(prefix=".logins-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return target


def _read() -> dict[str, Any]:
    empty: dict[str, Any] = {"server": "", "tokens": {}}
    try:
        data = json.loads(token_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        raise HandfulError(f"{token_file()} cannot be read ({error}). Log in again.") from None
    return empty | data if isinstance(data, dict) else empty
