"""The fault in which clocks jump while people answer."""

import sys
import time
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path

from benchmarks.faults.installation import Installation, Node
from benchmarks.faults.scene import Result, Size, at_work

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


def clock(size: Size) -> Result:
    """Let the clocks of both nodes jump in different directions."""
    if not FAKETIME.exists():
        sys.exit("This needs libfaketime: apt-get install faketime")

    def set_clocks(*hours: int) -> None:
        for node, hour in zip(nodes, hours, strict=True):
            Path(node.environment["FAKETIME_TIMESTAMP_FILE"]).write_text(f"{hour * 3600:+d}")

    def prepare(site: Installation) -> None:
        nodes.extend(site.nodes)
        for number, node in enumerate(site.nodes):
            node.environment |= {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(site.folder / f"clock-{number}"),
                # In seconds. If the file is read with each look at the clock, under the lock of the
                # library, threads wait for a minute.
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        set_clocks(0, 0)

    nodes: list[Node] = []
    began = time.time()
    with at_work(size, prepare=prepare) as scene:
        for hours in ((3, 0), (3, -3), (-3, 3), (0, 0)):
            set_clocks(*hours)
            time.sleep(2)  # until the library has read the file again
            # The server keeps its last Date header until its clock has passed it.
            if hours == (3, 0) and abs(_date_of(nodes[0]) - time.time() - 3 * 3600) > 60:
                raise RuntimeError("libfaketime does not move the clock of a node")
            time.sleep(size.seconds / 8)
        scene.wait_for(1)
        wrong = wrong_times(began)
    return Result(
        scene.work.outcome,
        "clocks of the nodes set 3 h ahead and 3 h back in turn, apart from each other",
        wrong,
    )


def _date_of(node: Node) -> float:
    """Return the time according to a node."""
    reply = urllib.request.urlopen(f"http://127.0.0.1:{node.port}/health/live", timeout=20)
    with reply:
        return parsedate_to_datetime(reply.headers["Date"]).timestamp()


def wrong_times(began: float) -> list[str]:
    """Return answers before their question, and times outside this run."""
    from annotation.models import Answer

    times = Answer.objects.values_list("turn__shown_at", "submitted_at", "active_seconds")
    wrong = []
    for shown, submitted, active in times:
        if not began - 1 <= shown.timestamp() <= submitted.timestamp() <= time.time() + 1:
            wrong.append(f"shown {shown}, submitted {submitted}")
        if not 0 <= active <= time.time() - began:
            wrong.append(f"{active} active seconds")
    return wrong[:5]
