"""Let 64 people press Start at once on SQLite; test_recruitment.py runs this separately."""

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

    from annotation.recruitment.join_errors import RecruitmentError
    from tests import factories

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("ada")
    study = factories.make_study(owner, factories.make_task(), shots=[0, 2, 4], annotators=4)
    outcomes: list[str] = []
    gate = threading.Barrier(64)

    def start() -> None:
        gate.wait()
        try:
            factories.join(study)
            outcomes.append("seated")
        except RecruitmentError as refused:
            outcomes.append(refused.code)
        except Exception as error:
            outcomes.append(repr(error))
        finally:
            connections.close_all()

    crowd = [threading.Thread(target=start) for _ in range(64)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    seats = sorted(
        (scenario.pk, number)
        for scenario in study.scenarios.all()
        for number in scenario.participations.values_list("seat_number", flat=True)
    )
    print(
        {word: outcomes.count(word) for word in sorted(set(outcomes))}, len(seats), len(set(seats))
    )


main()
