"""Tasks: listing them, and importing them from files, a dataset or the Few-shot Gym."""

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm.utils import CallbackIOWrapper

from handful.connection import Connection, HandfulError, Jobs, Record, Rows, bar

CARD = "task.toml"
Files = list[tuple[str, tuple[str, Any]]]


class Tasks:
    """A server's tasks. An import is stored either in full or not at all."""

    def __init__(self, connection: Connection, jobs: Jobs):
        self._connection, self._jobs = connection, jobs

    def list(self, name: str | None = None) -> Rows:
        """Return all versions of all tasks, or of one task."""
        return Rows(lambda: self._connection.rows("tasks/", name=name))

    def get(self, name: str, version: int | None = None) -> Record:
        """Return a task version with its files, by default the newest one."""
        return self._connection.get(f"tasks/{name}/{self._version(name, version)}/")

    def card(self, name: str, version: int | None = None) -> Record:
        """Return a task's card, which contains everything that annotators read about it."""
        return self._connection.get(f"tasks/{name}/{self._version(name, version)}/card/")

    def report(self, name: str, version: int | None = None) -> Record:
        """Return the data report, with text in `lines` and numbers in `report`."""
        return self._connection.get(f"tasks/{name}/{self._version(name, version)}/report/")

    def import_files(
        self,
        *paths: Path | str,
        shipped_card: str | None = None,
        rechain: bool = False,
        progress: bool = True,
    ) -> Record:
        """Import a task from files in the published format, from folders, or from a ZIP.

        The card is the task.toml among the files, or a CLUES card on the server (`shipped_card`).
        Returns the name and version, and whether the version was `created`.
        """
        files = files_of(map(Path, paths))
        data = {"shipped_card": shipped_card or "", "rechain": "true" if rechain else ""}
        fields = [(_field(path), path) for path in files]
        return self._post_files("tasks/", fields, {k: v for k, v in data.items() if v}, progress)

    def import_dataset(self, path: Path | str, *, progress: bool = True, **mapping: Any) -> Record:
        """Make a task from a labelled dataset. `mapping` takes the options of `make_task`."""
        data = {"mapping": json.dumps(mapping)}
        return self._post_files("tasks/datasets/", [("file", Path(path))], data, progress)

    def import_gym(self, *paths: Path | str, progress: bool = True, **options: Any) -> Record:
        """Import NLP Few-shot Gym tasks from folders, files or a ZIP."""
        files = files_of(map(Path, paths))
        fields = [("archive" if path.suffix == ".zip" else "files", path) for path in files]
        return self._post_files("tasks/gym/", fields, {"options": json.dumps(options)}, progress)

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
    """Return the files, and each folder's own unhidden files. Raises HandfulError if missing."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise HandfulError(f"{path}: no such file or folder")
        candidates = sorted([*path.iterdir(), *path.glob("images/*")]) if path.is_dir() else [path]
        files += [path for path in candidates if path.is_file() and not path.name.startswith(".")]
    return files


def _field(path: Path) -> str:
    return "card" if path.name == CARD else "archive" if path.suffix == ".zip" else "files"
