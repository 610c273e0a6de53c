"""Models: uploads, predictions and scores."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from handful.connection import Connection, Jobs, Record, Rows


class Models:
    """A server's uploaded models."""

    def __init__(self, connection: Connection, jobs: Jobs):
        self._connection, self._jobs = connection, jobs

    def scores(self) -> Rows:
        """Return the scores of every uploaded model, by task and shots."""
        return Rows(lambda: self._connection.rows("models/"))

    def get(self, name: str) -> Record:
        """Return a model, its files and their scores."""
        model: Record = self._connection.get(f"models/{name}/")
        return model

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
        """Upload all prediction files or none; return the model with its scores.

        Files are named TASK_10_3.jsonl, TASK_0.jsonl, or one file is given with its `task` (NAME or
        NAME@VERSION), `shots` and `split`. Details: title, link, parameters, revision, ...
        """
        place = {"task": task, "shots": shots, "split_number": split}
        data = {k: str(v) for k, v in {"name": name, **place, **details}.items() if v is not None}
        with ExitStack() as opened:
            sent = [
                ("files", (Path(file).name, opened.enter_context(Path(file).open("rb"))))
                for file in files
            ]
            reply = self._connection.post("models/", files=sent, data=data)
        if "job" not in reply:
            return dict(reply)
        self._jobs.ended(reply, progress=progress)
        return self.get(name)

    def delete(self, name: str) -> None:
        """Delete one of the user's models with all its predictions."""
        for file in self.get(name)["files"]:
            self._connection.delete(f"models/{name}/files/{file['id']}/")
        self._connection.delete(f"models/{name}/")

    def predictions(self, name: str, task: str | None = None) -> Rows:
        """Return a model's prediction for each test example, with S1."""
        return Rows(lambda: self._connection.rows(f"models/{name}/predictions/", task=task))
