"""Is an error that of a database that is away, read-only or full, rather than one of ours?"""

from django.db import Error, InterfaceError, OperationalError

# PostgreSQL's SQLSTATE: lost connections, no resources (disk, connections), shutdown, read-only.
STATES = ("08", "53", "57P", "25006")
# The same of SQLite, whose names have more detail behind these.
NAMES = ("BUSY", "LOCKED", "READONLY", "FULL", "CANTOPEN", "IOERR")


def is_away(error: BaseException | None) -> bool:
    """Would the request have succeeded with a database that is there, writable and has room?"""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, Error):
        return False
    state = getattr(error.__cause__, "pgcode", None)
    if state:
        return state.startswith(STATES)
    if not isinstance(error, OperationalError):
        return False
    name = getattr(error.__cause__, "sqlite_errorname", "")
    # PostgreSQL gives no state where there is no connection.
    return not name or name.removeprefix("SQLITE_").startswith(NAMES)
