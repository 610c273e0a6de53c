"""nginx asks one server for a file that the other lacks, and compresses replies."""

import gzip
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.faults.installation import behind_nginx


@contextmanager
def serving(*files: str) -> Iterator[tuple[int, list[str]]]:
    """Start a server with only these addresses; yield its port and the requests it received."""
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()


def statuses(port: int, path: str) -> list[int]:
    """Return the statuses of four requests, enough for each server to be asked first."""
    told = []
    for _ in range(4):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", path, headers={"Host": "localhost"})
        told.append(connection.getresponse().status)
        connection.close()
    return told


def test_a_static_file_is_looked_up_on_both_releases(tmp_path):
    (tmp_path / "nginx").mkdir()
    with (
        serving("/static/site.new.css") as (new, asked_new),
        serving("/static/site.old.css") as (old, asked_old),
        behind_nginx(new, old, folder=tmp_path / "nginx") as front,
    ):
        assert statuses(front, "/static/site.new.css") == [200] * 4
        assert statuses(front, "/static/site.old.css") == [200] * 4
        assert statuses(front, "/static/site.none.css") == [404] * 4
        before = len(asked_new) + len(asked_old)
        # nginx must not repeat other requests: the first server may have acted on them.
        assert statuses(front, "/work/token/") == [404] * 4
        assert len(asked_new) + len(asked_old) == before + 4


TYPES = ("text/html; charset=utf-8", "text/csv; charset=utf-8", "application/json")
BODY = b"the same words again and again, " * 100


def test_nginx_compresses_replies(tmp_path):
    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", TYPES[int(self.path[-1])])
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, *_args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with behind_nginx(server.server_address[1], folder=tmp_path) as front:
            for number in range(len(TYPES)):
                connection = http.client.HTTPConnection("127.0.0.1", front, timeout=10)
                headers = {"Host": "localhost", "Accept-Encoding": "gzip"}
                connection.request("GET", f"/studies/{number}", headers=headers)
                reply = connection.getresponse()
                assert reply.headers["Content-Encoding"] == "gzip", TYPES[number]
                assert gzip.decompress(reply.read()) == BODY
                connection.close()
    finally:
        server.shutdown()
        server.server_close()
