"""Submit by the page and by the API, in one run: `python benchmarks/api.py`.

Needs PostgreSQL (tests/with_postgres.py starts one) and the published CLUES files (HANDFUL_SHARED).
The same study, server and answers; the doors take turns. Prints a Markdown table.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import load
from benchmarks.run import SERVERS, database, row, seats, served

DOORS = {"page": load.annotate, "API": load.by_program}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=SERVERS, default="granian")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--people", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--cycles", type=int, default=2400, help="of each measurement (2400)")
    options = parser.parse_args()
    with database("handful_api_bench") as address:
        os.environ |= {"DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "config.settings"}
        cycles = 2 * options.rounds * options.cycles * len(options.people)
        tokens = iter(seats(cycles // 200 + 2 * options.rounds * sum(options.people) + 16))
        print("| what | annotators | cycles/s | p50 ms | p95 ms | p99 ms | errors | API / page |")
        print("|---|---|---|---|---|---|---|---|")
        with served(options.server, "config.wsgi:application", {"DATABASE_URL": address}) as port:
            for door in DOORS.values():
                load.run([door(port, tokens)], 100)  # to warm up
            for people in options.people:
                for _round in range(options.rounds):
                    measured = {
                        name: load.run(
                            [door(port, tokens) for _ in range(people)], options.cycles // people
                        )
                        for name, door in DOORS.items()
                    }
                    ratio = f"{measured['API'].rate / measured['page'].rate:.2f}"
                    row("page", people, measured["page"])
                    row("API", people, measured["API"], ratio)


if __name__ == "__main__":
    main()
