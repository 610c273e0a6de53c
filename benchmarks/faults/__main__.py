"""Break a server and count the consequences: `python -m benchmarks.faults NAME`, or `all`.

Requires nginx, PgBouncer and, for the clocks, libfaketime. Prints a row of Markdown. Exits with 1
if an acknowledged answer was lost or stored twice, a seat was given twice, an annotator could not
continue, or another condition failed. `all` runs each fault in a separate process.
"""

import argparse
import subprocess
import sys

from benchmarks.faults import clocks, killed
from benchmarks.faults.scene import Size

FAULTS = {
    fault.__name__: fault
    for fault in (killed.killed_server, killed.killed_database, killed.deploy, clocks.clock)
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("fault", choices=[*FAULTS, "all"])
    parser.add_argument("--answers", type=int, default=Size.answers)
    parser.add_argument("--annotators", type=int, default=Size.annotators)
    parser.add_argument("--seconds", type=float, default=Size.seconds, help="of a state")
    options = parser.parse_args()
    if options.fault == "all":
        command = [sys.executable, "-m", "benchmarks.faults"]
        return max(subprocess.call([*command, name, *sys.argv[2:]]) for name in FAULTS)
    size = Size(options.answers, options.annotators, options.seconds)
    result = FAULTS[options.fault](size)
    print(f"| `{options.fault}`: {result.did} | {result.outcome.row()} |", flush=True)
    for sentence in (*result.outcome.odd, *result.wrong):
        print(f"WRONG: {sentence}", file=sys.stderr)
    return int(not result.holds)


if __name__ == "__main__":
    sys.exit(main())
