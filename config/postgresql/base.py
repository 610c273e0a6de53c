"""Django's PostgreSQL backend, but idle connections are checked without a statement."""

import select

from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_INERROR


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Return whether the persistent connection is still open.

        Between requests the server sends nothing, unless it ends the connection (a restart, a time
        limit, an operator). So a connection with nothing to read is usable, and only others are
        tested with a statement, which would otherwise precede every request. A failed transaction
        accepts no statement except its end, so it counts as unusable.
        """
        if self.connection is None or self.connection.closed:
            return False
        if self.connection.info.transaction_status == TRANSACTION_STATUS_INERROR:
            return False
        said = select.poll()
        said.register(self.connection, select.POLLIN | select.POLLPRI)
        return not said.poll(0) or super().is_usable()
