"""Django's PostgreSQL; a kept connection is looked at rather than asked before each request."""

import select

from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_INERROR


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Whether the kept connection still leads to the server.

        Between requests the server says nothing, except when it ends the connection: a restart, a
        time limit, an operator. So one with nothing to read is as it was left, and only another one
        is asked with a statement, which would otherwise stand before every request. One whose
        transaction has failed takes no statement but its end, which needs no asking either.
        """
        if self.connection is None or self.connection.closed:
            return False
        if self.connection.info.transaction_status == TRANSACTION_STATUS_INERROR:
            return False
        said = select.poll()
        said.register(self.connection, select.POLLIN | select.POLLPRI)
        return not said.poll(0) or super().is_usable()
