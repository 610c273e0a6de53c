"""The client for a server, its tasks and models, and the token that `handful login` stores."""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from tqdm.utils import CallbackIOWrapper

from handful.connection import Connection, HandfulError, Jobs, Record, Rows, bar, checked
from handful.studies import Studies

CARD = "task.toml"
Files = list[tuple[str, tuple[str, Any]]]


class Client(AbstractContextManager["Client"]):
    """A client for one server, with its `tasks`, `studies`, `models` and `jobs`.

    `server` and `token` default to HANDFUL_SERVER and HANDFUL_TOKEN, and then to the stored login.
    `options` are passed on to Connection. Raises HandfulError if no token is found.
    """

    def __init__(self, server: str | None = None, token: str | None = None, **options: Any):
        server, token = stored_login(server, token)
        self.connection = Connection(server, token, **options)
        self.jobs = Jobs(self.connection)
        self.tasks = Tasks(self.connection, self.jobs)
        self.studies = Studies(self.connection, self.jobs)
        self.models = Models(self.connection, self.jobs)

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()


class Tasks:
    """The tasks on a server. If an import fails, none of it is stored."""

    def __init__(self, connection: Connection, jobs: Jobs):
        self._connection, self._jobs = connection, jobs

    def list(self, name: str | None = None) -> Rows:
        """Return all versions of all tasks, or of one task."""
        return Rows(lambda: self._connection.rows("tasks/", name=name))

    def get(self, name: str, version: int | None = None) -> Record:
        """Return a version of a task with its files. The default is the newest version."""
        return self._connection.get(f"tasks/{name}/{self._version(name, version)}/")

    def card(self, name: str, version: int | None = None) -> Record:
        """Return a task's card, which contains all instructions for annotators."""
        return self._connection.get(f"tasks/{name}/{self._version(name, version)}/card/")

    def report(self, name: str, version: int | None = None) -> Record:
        """Return the data report, with sentences in `lines` and numbers in `report`."""
        return self._connection.get(f"tasks/{name}/{self._version(name, version)}/report/")

    def import_files(
        self,
        *paths: Path | str,
        shipped_card: str | None = None,
        rechain: bool = False,
        progress: bool = True,
    ) -> Record:
        """Import a task from files in the published format, from folders, or from a ZIP.

        The card is task.toml, one of the files, unless `shipped_card` names a CLUES task whose card
        is on the server. Returns the name and version, and whether the version was `created`.
        """
        files = files_of(map(Path, paths))
        data = {"shipped_card": shipped_card or "", "rechain": "true" if rechain else ""}
        fields = [(_field(path), path) for path in files]
        return self._post_files("tasks/", fields, {k: v for k, v in data.items() if v}, progress)

    def import_dataset(self, path: Path | str, *, progress: bool = True, **mapping: Any) -> Record:
        """Make a task from a labelled dataset. `mapping` contains options of `make_task`."""
        data = {"mapping": json.dumps(mapping)}
        return self._post_files("tasks/datasets/", [("file", Path(path))], data, progress)

    def _post_files(
        self, address: str, paths: Sequence[tuple[str, Path]], data: Record, progress: bool
    ) -> Record:
        with ExitStack() as opened:
            size = sum(path.stat().st_size for _field, path in paths)
            meter = opened.enter_context(bar(progress, "sending", size, unit="B", unit_scale=True))
            files: Files = [
                (field, (path.name, CallbackIOWrapper(meter.update, file)))
                for field, path in paths
                for file in [opened.enter_context(path.open("rb"))]
            ]
            reply = self._connection.post(address, files=files, data=data)
        return self._jobs.ended(reply, progress=progress)

    def _version(self, name: str, version: int | None) -> int:
        if version is not None:
            return version
        versions = [int(row["version"]) for row in self.list(name)]
        if not versions:
            raise HandfulError(f"The task {name!r} does not exist on this server.")
        return max(versions)


def files_of(paths: Iterable[Path]) -> list[Path]:
    """List these files, and those in these folders that aren't hidden. Raises HandfulError."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise HandfulError(f"{path}: no such file or folder")
        candidates = sorted([*path.iterdir(), *path.glob("images/*")]) if path.is_dir() else [path]
        files += [path for path in candidates if path.is_file() and not path.name.startswith(".")]
    return files


def _field(path: Path) -> str:
    return "card" if path.name == CARD else "archive" if path.suffix == ".zip" else "files"


class Models:
    def __init__(self, connection: Connection, jobs: Jobs):
        self._connection, self._jobs = connection, jobs

    def scores(self) -> Rows:
        """Return the scores of all uploaded models, by task and number of shots."""
        return Rows(lambda: self._connection.rows("models/"))

    def get(self, name: str) -> Record:
        """Return a model with its files and their scores."""
        return self._connection.get(f"models/{name}/")

    def upload(
        self,
        name: str,
        *files: Path | str,
        task: str | None = None,
        shots: int | None = None,
        split: int | None = None,
        progress: bool = True,
        **details: Any,
    ) -> Record:
        """Upload prediction files, and return the model with its scores.

        Name the files TASK_10_3.jsonl, TASK_0.jsonl or (fully supervised) TASK_all.jsonl. A file
        with another name needs `task` (NAME or NAME@VERSION), `shots` and `split`, and must be the
        only one. Details are title, link, revision, ... If a file is invalid, none is stored.
        """
        place = {"task": task, "shots": shots, "split_number": split}
        data = {k: str(v) for k, v in {"name": name, **place, **details}.items() if v is not None}
        with ExitStack() as opened:
            uploads = [
                ("files", (Path(file).name, opened.enter_context(Path(file).open("rb"))))
                for file in files
            ]
            reply = self._connection.post("models/", files=uploads, data=data)
        if "job" not in reply:
            return dict(reply)
        self._jobs.ended(reply, progress=progress)
        return self.get(name)

    def delete(self, name: str) -> None:
        """Delete one of your models, with all its predictions."""
        for file in self.get(name)["files"]:
            self._connection.delete(f"models/{name}/files/{file['id']}/")
        self._connection.delete(f"models/{name}/")

    def predictions(self, name: str, task: str | None = None) -> Rows:
        """Return a model's prediction and S1 for each test example."""
        return Rows(lambda: self._connection.rows(f"models/{name}/predictions/", task=task))


NO_LOGIN = (
    "No server is set. Run `handful login https://HOST`, or set HANDFUL_SERVER and HANDFUL_TOKEN"
)


def token_file() -> Path:
    """Return the path of the login file, under XDG_CONFIG_HOME or APPDATA (mode 0600)."""
    home = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "handful" / "logins.json"


def stored_login(server: str | None, token: str | None) -> tuple[str, str]:
    """Find the server and token in the arguments, the environment or the stored login.

    A stored token is only sent to the server for which it was stored. Raises HandfulError.
    """
    stored = _token_data()
    server = server or os.environ.get("HANDFUL_SERVER") or stored["server"]
    if not server:
        raise HandfulError(NO_LOGIN)
    server = checked(server)
    token = token or os.environ.get("HANDFUL_TOKEN") or stored["tokens"].get(server)
    if not token:
        raise HandfulError(f"No token is stored for {server}. Run `handful login {server}`.")
    return server, token


def store_token(server: str, token: str) -> Path:
    """Store the token and make its server the default. Return the path of the file."""
    data = _token_data()
    server = checked(server)
    data |= {"server": server, "tokens": {**data["tokens"], server: token}}
    target = token_file()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp sets mode 0600 before the token is written.
    handle, part = tempfile.mkstemp(prefix=".logins-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
        os.replace(part, target)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return target


def _token_data() -> dict[str, Any]:
    empty: dict[str, Any] = {"server": "", "tokens": {}}
    try:
        data = json.loads(token_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return empty
    except (OSError, ValueError) as error:
        raise HandfulError(f"{token_file()} cannot be read ({error}). Log in again.") from None
    return empty | data if isinstance(data, dict) else empty
