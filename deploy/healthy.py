"""Health check for the container. Exits with status 1 if the server does not respond.

The request uses a host name from ALLOWED_HOSTS, because the server rejects any other.
"""

import os
import sys
import urllib.request


def main() -> int:
    host = os.environ.get("ALLOWED_HOSTS", "").split(",")[0].strip()
    name = "127.0.0.1" if host in ("", "*") else host.lstrip(".")
    request = urllib.request.Request(
        f"http://127.0.0.1:{os.environ.get('PORT', '8000')}/health/live", headers={"Host": name}
    )
    try:
        with urllib.request.urlopen(request, timeout=4) as reply:
            return int(reply.status != 200)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
