"""Does the server answer while others hold unfinished requests? granian alone, and behind nginx.

`python benchmarks/unfinished_bodies.py` takes about a minute, needs nginx (apt-get install
nginx-light), and listens on 127.0.0.1 only. It runs deploy/nginx.conf with other ports and without
TLS, and looks into the log that it writes: no personal link may stand there. Exits with 1 if
the server behind nginx was silenced or a link was logged.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.run import served  # noqa: E402

HELD = 24  # unfinished requests
ASKED = 12  # honest ones beside them
PATIENCE = 5.0  # seconds of an honest visitor
LINK = "a-personal-link-that-nobody-may-log"


@contextlib.contextmanager
def behind_nginx(*ports: int, folder: Path) -> Iterator[int]:
    """deploy/nginx.conf before the servers on these ports: nginx's own port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        front, plain = server.getsockname()[1], two.getsockname()[1]
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for pattern, put in {
        r"listen 80;": f"listen 127.0.0.1:{plain};",
        r"listen 443 ssl;": f"listen 127.0.0.1:{front};",
        r" *ssl_.*\n": "",
        r"annotate\.example\.org": "127.0.0.1",
        r"server 127\.0\.0\.1:8000;": " ".join(f"server 127.0.0.1:{port};" for port in ports),
        r"/var/log/nginx": str(folder),
    }.items():
        text, count = re.subn(pattern, put, text)
        assert count, pattern
    kept = "".join(
        f"{what}_temp_path {folder}/{what}; "
        for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/start.log;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{ access_log off; {kept}\n{text}\n}}\n"
    )
    folder.chmod(0o755)  # nginx's worker is another user
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", front)):
                break
            if process.poll() is not None:
                sys.exit((folder / "start.log").read_text())
            time.sleep(0.1)
        yield front
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def unfinished(port: int) -> Iterator[None]:
    """Hold that many requests whose bodies never come."""
    start = (
        f"POST /work/{LINK}/answer/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9999\r\n"
        f"Cookie: csrftoken={'a' * 32}\r\n\r\nab"
    )
    with contextlib.ExitStack() as stack:
        for _ in range(HELD):
            server = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            server.sendall(start.encode())
        time.sleep(1)
        yield


def honest(port: int) -> int:
    """How many of the honest visitors see the page within their patience."""

    def visit(_number: int) -> bool:
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE)
        except OSError:
            return False
        with page:
            return page.status == 200

    with ThreadPoolExecutor(ASKED) as visitors:
        return sum(visitors.map(visit, range(ASKED)))


def main() -> int:
    if not shutil.which("nginx"):
        sys.exit("This needs nginx: apt-get install nginx-light")
    with tempfile.TemporaryDirectory(prefix="handful-bodies-") as name:
        folder = Path(name)
        environment = {
            "HANDFUL_VAR": name,
            "DATABASE_URL": f"sqlite:///{folder / 'own.sqlite3'}",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        migrate = [sys.executable, "manage.py", "migrate", "-v0"]
        subprocess.run(migrate, cwd=ROOT, env=os.environ | environment, check=True)
        seen = {}
        with served("granian", "config.wsgi:application", environment) as port:
            with behind_nginx(port, folder=folder) as front:
                for what, where in (("granian alone", port), ("behind nginx", front)):
                    honest(where)
                    calm = honest(where)
                    with unfinished(where):
                        seen[what] = (calm, honest(where))
                with contextlib.suppress(urllib.error.HTTPError):
                    urllib.request.urlopen(f"http://127.0.0.1:{front}/work/{LINK}/?id={LINK}")
            logged = (folder / "handful.log").read_text()
            logged += (folder / "handful-error.log").read_text()
    print(f"| honest visitors of {ASKED} served in {PATIENCE:.0f} s | calm | {HELD} bodies held |")
    print("|---|---|---|")
    for what, (calm, held) in seen.items():
        print(f"| {what} | {calm} | {held} |")
    links = logged.count(LINK)
    lines = logged.count("/work/...")
    print(f"\nnginx logged {lines} requests to personal links, the link itself {links} times.")
    return int(seen["behind nginx"][1] < ASKED or links > 0 or lines == 0)


if __name__ == "__main__":
    sys.exit(main())
