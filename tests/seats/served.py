"""Serve an open study in Handful's environment, for check_inspect*.py.

Arguments: the folder of its database, and the names of the kinds of tasks. Prints one line of JSON
once it is ready: address, study, a researcher's token, and the examples with right answers.
"""

import json
import os
import socketserver
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
FOLDER, KINDS = Path(sys.argv[1]), sys.argv[2:]
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "HANDFUL_VAR": str(FOLDER),
    "DATABASE_URL": f"sqlite:///{FOLDER / 'served.sqlite3'}",
}


class Threaded(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Silent(WSGIRequestHandler):
    def log_message(self, *args):
        """Print nothing: the output is the line of JSON only."""


def main() -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from config.wsgi import application
    from tests import factories

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("ada")
    tasks = [factories.make_kind(kind, splits=5) for kind in KINDS]
    study = factories.make_study(
        owner, *tasks, name="seats", shots=[0, 2], splits=[1, 2], annotators=1,
        comprehension_questions="Can an answer be changed?\n* No\n- Yes",
    )  # fmt: skip
    bearer = factories.bearer(owner, "read", "run")["Authorization"]
    server = make_server("127.0.0.1", 0, application, Threaded, Silent)
    told = {
        "server": f"http://127.0.0.1:{server.server_port}",
        "study": study.name,
        "token": bearer.removeprefix("Bearer "),
        "code": study.link_code,
        "examples": [
            [one.context, one.question, factories.right_texts(one)]
            for task in tasks
            for split in task.splits.all()
            for one in split.examples.all()
        ],
        "places": [
            {"task": s.task.name, "shots": s.shots, "split": s.split_number, "arm": s.arm}
            for s in study.scenarios.all()
        ],
    }
    print(json.dumps(told), flush=True)
    server.serve_forever()


main()
