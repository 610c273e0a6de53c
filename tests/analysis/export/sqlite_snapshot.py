"""Store an answer while SQLite reads an export; test_exports.py runs this on a separate database.

Prints the answers that the export sees before and after that answer, and those stored at the end.
"""

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"


def main() -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connections

    from analysis.export.columns import COLUMNS
    from analysis.export.files import snapshot
    from analysis.export.rows import answers_rows
    from tests import factories

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("ada")
    study = factories.make_study(owner, factories.make_task(), shots=[0], annotators=1)
    seat = factories.seat(study.scenarios.get())

    def answer() -> None:
        factories.work_through(seat, limit=2)
        connections.close_all()

    def answered() -> int:
        at = list(COLUMNS["answers.csv"]).index("submitted_at") - 2  # rows lack study and manifest
        return sum(row[at] != "" for row in answers_rows(study))

    with snapshot():
        before = answered()
        somebody = threading.Thread(target=answer)
        somebody.start()
        somebody.join()
        print(before, answered(), end=" ")
    print(answered())


main()
