"""Serve a database with a researcher, two tasks and a completed rehearsal.

Runs in Handful's environment; prints its address and three tokens, then serves.
"""

import io
import os
import socket
import sys
from pathlib import Path

import django

ROOT = Path(__file__).parents[2]
QUIET = {"stdout": io.StringIO()}


def prepare() -> list[str]:
    """Fill the database and return three tokens.

    The first can read and run, the second can also pay. The third has the scopes of the first; the
    documents use it because request limits apply to each token.
    """
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    sys.path.insert(0, str(ROOT))
    django.setup()

    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from annotation.models import Study
    from annotation.study import lifecycle, team
    from tests.factories import bearer

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("ada")
    for task in ("sentiment", "questions"):
        call_command("import_task", str(ROOT / "tasks" / "demo" / task), owner="ada", **QUIET)
    call_command(
        "create_study", "pilot", tasks=["demo-sentiment", "demo-questions"], shots=[0, 10],
        annotators=2, title="A pilot", owner="ada", estimated_minutes=10, seed=1,
        rehearsal=True, **QUIET,
    )  # fmt: skip
    Study.objects.update(programs_as_people=True)
    lifecycle.change_status(Study.objects.get(), "open")
    call_command("simulate_workers", "pilot", policy="noisy:0.85", seed=1, **QUIET)
    get_user_model().objects.create_user("bob")
    team.add(Study.objects.get(), "bob", "analyst", owner)
    headers = (
        bearer(owner, "read", "run"),
        bearer(owner, "read", "run", "pay"),
        bearer(owner, "read", "run"),
    )
    return [header["Authorization"].removeprefix("Bearer ") for header in headers]


if __name__ == "__main__":
    tokens = prepare()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port} {' '.join(tokens)}", flush=True)
    os.chdir(ROOT)
    serve = ["manage.py", "serve", "--port", str(port), "--workers", "1", "--verbosity", "0"]
    os.execv(sys.executable, [sys.executable, *serve])
