"""A seat in a study for asynchronous code: the connection of this package, in threads.

Every request may be sent again: a join, an answer and a Continue that arrive twice count once.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from anyio import to_thread

from handful.connection import Connection, Record


class Seat:
    """The API of a server with the token of one participation (or of a researcher, to join)."""

    def __init__(self, server: str, token: str):
        self.connection = Connection(server, token)

    async def get(self, address: str) -> Record:
        """The object at that address. Raises ApiError, NotReachable."""
        told: Record = await to_thread.run_sync(partial(self.connection.get, address))
        return told

    async def post(self, address: str, body: Mapping[str, Any]) -> Record:
        """The object of the reply. Raises ApiError, NotReachable."""
        ask = partial(self.connection.post, address, dict(body), again=True)
        told: Record = await to_thread.run_sync(ask)
        return told

    def close(self) -> None:
        self.connection.close()


async def take(
    researcher: Seat,
    code: str,
    model: Mapping[str, str],
    scenario: Mapping[str, Any],
    replicate: int,
) -> Record:
    """Join as a model: token, pseudonym and state of its participation.

    The same model again gets the same participation, however far it is: so a run is resumed.
    Raises ApiError, with code "done" or "full" where there is no seat.
    """
    return await researcher.post(
        f"join/{code}/",
        {"kind": "model", "model": model, "scenario": scenario, "replicate": replicate},
    )
