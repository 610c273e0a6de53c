"""Break a server on purpose and count: `python -m benchmarks.faults NAME`, or `all`.

Needs nginx and pgbouncer, for some faults faketime or root. Prints a row of Markdown; exits with 1
where an acknowledged answer was lost or stored twice, a seat was given twice, somebody could not go
on, or whatever else has to hold did not. `all` runs each in a process of its own, and puts the rows
into the README beside this file.
"""

import argparse
import platform
import re
import subprocess
import sys
import time
from datetime import date
from os import cpu_count
from pathlib import Path

from benchmarks.faults import crowds, killed, starved
from benchmarks.faults.scene import Size

FAULTS = {
    fault.__name__: fault
    for fault in (
        killed.two_nodes, killed.killed_server, killed.killed_database, killed.deploy,
        starved.full_disk, starved.read_only_database, starved.database_away,
        starved.slow_database, starved.clock,
        crowds.slow_clients, crowds.connection_storm, crowds.racing_arrivals, crowds.two_ticks,
    )
}  # fmt: skip
README = Path(__file__).with_name("README.md")
HEAD = (
    "| what | annotators | stored | acknowledged | lost | doubled | overfilled | stuck |"
    " blocked, median / max s | failed requests | s |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n"
)
TABLE = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end -->)", re.S)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("fault", choices=[*FAULTS, "all"])
    parser.add_argument("--answers", type=int, default=Size.answers)
    parser.add_argument("--annotators", type=int, default=Size.annotators)
    parser.add_argument("--seconds", type=float, default=Size.seconds, help="of a state")
    parser.add_argument("--unguarded", action="store_true", help="racing_arrivals' control")
    options = parser.parse_args()
    if options.fault == "all":
        return run_all(options)
    size = Size(options.answers, options.annotators, options.seconds)
    unguarded = {"guarded": False} if options.unguarded else {}
    result = FAULTS[options.fault](size, **unguarded)
    print(f"| `{options.fault}`: {result.did} | {result.outcome.row()} |", flush=True)
    for sentence in (*result.outcome.odd, *result.wrong):
        print(f"WRONG: {sentence}", file=sys.stderr)
    return int(not result.holds)


def run_all(options: argparse.Namespace) -> int:
    began = time.monotonic()
    rows, failed = [], []
    for name in FAULTS:
        done = subprocess.run(
            [
                sys.executable, "-m", "benchmarks.faults", name,
                "--answers", str(options.answers), "--annotators", str(options.annotators),
                "--seconds", str(options.seconds),
            ],
            stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        print(done.stdout, end="", flush=True)
        rows.append(done.stdout)
        if done.returncode:
            failed.append(name)
    told = (
        f"{date.today()}, Python {platform.python_version()}, {cpu_count()} cores for everything,"
        f" {time.monotonic() - began:.0f} s in all"
        + (f". What has to hold did not: {', '.join(failed)}.\n\n" if failed else ".\n\n")
    )
    text = README.read_text()
    README.write_text(TABLE.sub(lambda _found: f"\n{told}{HEAD}{''.join(rows)}\n", text))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
