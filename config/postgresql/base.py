"""Django's PostgreSQL backend with prepared statements, and a cheap check of idle connections."""

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_INERROR


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._prepared: dict[str, str] = {}
        return super().get_new_connection(conn_params)

    def prepared(self, sql: str) -> str:
        """Return SQL that runs this SQL with one value, and is planned only once per connection.

        Behind PgBouncer, transactions may use different connections, so nothing is prepared.
        """
        if self.settings_dict["DISABLE_SERVER_SIDE_CURSORS"]:
            return sql
        if sql not in self._prepared:
            name = f"prepared_{len(self._prepared)}"
            with self.wrap_database_errors, self.connection.cursor() as cursor:
                cursor.execute(f"PREPARE {name} AS {sql.replace('%s', '$1')}")
            self._prepared[sql] = f"EXECUTE {name}(%s)"
        return self._prepared[sql]

    def is_usable(self) -> bool:
        """Return whether the persistent connection is still open.

        Between requests, the server sends data only when it closes the connection (restart,
        timeout, operator), so a connection with nothing to read is usable. Only the others are
        tested with a statement, which Django would otherwise run before every request. A failed
        transaction accepts nothing but a rollback, so it is treated as unusable.
        """
        if self.connection is None or self.connection.closed:
            return False
        if self.connection.info.transaction_status == TRANSACTION_STATUS_INERROR:
            return False
        poll = select.poll()
        poll.register(self.connection, select.POLLIN | select.POLLPRI)
        return not poll.poll(0) or super().is_usable()
