"""Jobs: work that takes the server longer than a request."""

import time
from collections.abc import Callable

from handful.connection import Connection, Record, bar
from handful.errors import JobFailed


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
