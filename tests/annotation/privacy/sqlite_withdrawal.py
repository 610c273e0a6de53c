"""Store a participant's text and withdraw; test_withdrawal.py runs this on a separate database.

The argument is the text. Prints whether SQLite overwrites deleted data.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"


def main(told: str) -> None:
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connection

    from annotation.privacy import withdrawal
    from annotation.protocol import exclusion, own_questions
    from tests import factories

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("ada")
    study = factories.make_study(owner, factories.make_task(), shots=[0], annotators=1)
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat)
    own_questions.answer_exit(seat.token, {"comments": told})
    exclusion.decide(seat, False, told, owner)
    connection.close()
    path = Path(connection.settings_dict["NAME"])
    assert told.encode() in path.read_bytes(), "it was never in the file"
    withdrawal.withdraw(seat.token)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        print("secure_delete", cursor.fetchone()[0])
    connection.close()


main(sys.argv[1])
