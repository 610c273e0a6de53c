"""A server with the token of a researcher."""

from typing import Any, Self

from handful import login
from handful.connection import Connection
from handful.jobs import Jobs
from handful.models import Models
from handful.studies import Studies
from handful.tasks import Tasks


class Client:
    """Everything that a token opens: `tasks`, `studies`, `models`, `jobs`.

    Without arguments the server and the token of HANDFUL_SERVER and HANDFUL_TOKEN, or of `handful
    login`. `options` are those of Connection. Raises HandfulError where nobody has logged in.
    """

    def __init__(self, server: str | None = None, token: str | None = None, **options: Any):
        server, token = login.known(server, token)
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
