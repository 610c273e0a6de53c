"""Django's PostgreSQL backend with a cheaper check for idle persistent connections."""

import select

from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_INERROR


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Return whether the persistent connection is still open.

        Between requests, the server only sends data when it closes the connection (restart,
        timeout, operator). A connection with nothing to read is therefore usable. Only other
        connections are tested with a statement, which Django would otherwise run before every
        request. A failed transaction only accepts a rollback, so it counts as unusable.
        """
        if self.connection is None or self.connection.closed:
            return False
        if self.connection.info.transaction_status == TRANSACTION_STATUS_INERROR:
            return False
        said = select.poll()
        said.register(self.connection, select.POLLIN | select.POLLPRI)
        return not said.poll(0) or super().is_usable()
