"""Hold the figures of a run against those of the last release.

Every program of `make bench` notes its figures (`note`) in the file that HANDFUL_FIGURES names. At
the end `python -m benchmarks.release` prints them beside release.json and says what got slower;
`python -m benchmarks.release --keep 0.2.0` stores them there, once before a release is made.

A figure is work per yardstick of the same run, lower is better: machines, and what else they do,
differ by more than releases do. Of a figure that was noted several times the median counts.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

STORED = Path(__file__).with_name("release.json")
NOISE = 1.3  # times: on a shared machine figures swing by a third from run to run


def note(figure: str, value: float) -> None:
    """Add the figure to the file of the run, if there is one."""
    if path := os.environ.get("HANDFUL_FIGURES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"figure": figure, "value": value}) + "\n")


def yard() -> float:
    """Seconds of processor time of a fixed piece of work: the median of five."""
    seconds = []
    for _ in range(5):
        started = time.process_time()
        rows = [{"key": f"{number:06}", "value": number / 7} for number in range(20_000)]
        json.loads(json.dumps(sorted(rows, key=lambda row: -row["value"])))
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def noted(path: str) -> dict[str, float]:
    """The figures of that file."""
    values: dict[str, list[float]] = defaultdict(list)
    for line in Path(path).read_text("utf-8").splitlines():
        row = json.loads(line)
        values[row["figure"]].append(row["value"])
    return {figure: round(statistics.median(own), 3) for figure, own in values.items()}


def compare(last: dict[str, float], now: dict[str, float]) -> str:
    """A Markdown table of both, then the names of what is slower beyond the noise.

    >>> print(compare({"a": 1.0, "b": 2.0}, {"a": 1.5, "c": 1.0}))
    | figure | last release | now | ratio |
    |---|---|---|---|
    | a | 1.00 | 1.50 | 1.50 |
    | b | 2.00 | not measured | |
    | c | not measured | 1.00 | |
    <BLANKLINE>
    Slower than the last release by more than 1.3 times: a.
    """
    lines = ["| figure | last release | now | ratio |", "|---|---|---|---|"]
    for figure in [*last, *(new for new in now if new not in last)]:
        sides = [
            f"{side[figure]:.2f}" if figure in side else "not measured" for side in (last, now)
        ]
        both = figure in last and figure in now and last[figure] > 0
        ratio = f" {now[figure] / last[figure]:.2f} |" if both else " |"
        lines.append(f"| {figure} | {' | '.join(sides)} |{ratio}")
    slower = [
        figure for figure, value in now.items() if figure in last and value > NOISE * last[figure]
    ]
    said = f"Slower than the last release by more than {NOISE} times: {', '.join(slower)}."
    return "\n".join(
        [*lines, "", said if slower else f"Nothing is slower by more than {NOISE} times."]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", metavar="RELEASE", help="store the figures as that release's")
    options = parser.parse_args()
    now = noted(os.environ["HANDFUL_FIGURES"])
    stored = json.loads(STORED.read_text("utf-8"))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"\nLast release: {stored['release']}, {stored['date']}, {stored['machine']}.")
    print(f"Now: {machine}, load {os.getloadavg()[0]:.1f}. Work per yardstick, lower is better.\n")
    print(compare(stored["figures"], now))
    if options.keep:
        machine += f", load {os.getloadavg()[0]:.0f}"
        date = f"{datetime.now(UTC):%Y-%m-%d}"
        kept = {"release": options.keep, "date": date, "machine": machine, "figures": now}
        STORED.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
