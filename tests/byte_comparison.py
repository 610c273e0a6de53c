"""Write the output that a refactoring must not change.

Usage: `python tests/byte_comparison.py FOLDER`. Writes the exports and manifests of the demo and of
a study with every answer type, the OpenAPI document and the HTML of pages. The database is new;
clock and randomness are fixed, so that two runs write the same bytes. Run it before and after a
change, then `diff -r BEFORE AFTER`.
"""

import io
import os
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

var = tempfile.TemporaryDirectory(prefix="handful-bytes-")
os.environ |= {
    "DATABASE_URL": f"sqlite:///{var.name}/db.sqlite3", "HANDFUL_VAR": var.name, "DEBUG": "1",
    "STARTS_PER_HOUR": "0", "DJANGO_SETTINGS_MODULE": "config.settings",
}  # fmt: skip
sys.path.insert(0, str(Path(__file__).parents[1]))

# Tokens, pseudonyms and nonces: every value from the operating system's random source.
chance = random.Random(1)
os.urandom = lambda size: chance.randbytes(size)
random._urandom = os.urandom  # type: ignore[attr-defined]  # of secrets and SystemRandom

import django.core.signing  # noqa: E402
import django.utils.timezone  # noqa: E402

clock = datetime(2026, 1, 5, 9, tzinfo=UTC)
django.utils.timezone.now = lambda: clock
django.core.signing.time = SimpleNamespace(time=lambda: clock.timestamp())

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.auth.models import Permission  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402

from annotation.models import Kind, Study  # noqa: E402
from annotation.privacy import withdrawal  # noqa: E402
from annotation.protocol import exclusion, training_step  # noqa: E402
from annotation.recruitment import consent  # noqa: E402
from annotation.study import lifecycle  # noqa: E402
from tests import factories  # noqa: E402

# Pages of each study; NAME is replaced by its name.
PAGES = {
    "study": "/studies/NAME/",
    "table": "/studies/NAME/human-performance/",
    "analysis": "/studies/NAME/analysis/",
    "examples": "/studies/NAME/examples/",
    "people": "/studies/NAME/people/",
    "report": "/studies/NAME/report/",
    "preregistration": "/studies/NAME/preregistration/",
    "training": "/studies/NAME/training/",
}
WHOLE = {"studies": "/", "tasks": "/tasks/", "new-study": "/new-study/", "sign-in": "/sign-in/"}


def passes(seconds: float) -> None:
    """Advance the clock and seed the random numbers with the new time."""
    global clock
    clock += timedelta(seconds=seconds)
    chance.seed(clock.isoformat())


def demo() -> Study:
    """Create a study on two demo tasks with simulated annotators."""
    for task in ("sentiment", "entities"):
        call_command(
            "import_task", f"tasks/demo/{task}", owner="ada", verbosity=0, stdout=io.StringIO()
        )
    call_command(
        "create_study", "demo", tasks=["demo-sentiment", "demo-entities"], shots=[0, 10],
        annotators=2, title="Small reading tasks", owner="ada", estimated_minutes=10, open=True,
        seed=1, rehearsal=True, stdout=io.StringIO(),
    )  # fmt: skip
    study = Study.objects.get(name="demo")
    for number in range(8):
        passes(60)
        seat = factories.join(study, Kind.SIMULATED, f"robot-{number}")
        consent.record(seat, agree=True)
        training_step.begin(seat.token)
        factories.work_through(seat, answered(number))
    return study


def every_kind(owner) -> Study:
    """Create a study with a task for each answer type, annotated by people and a model.

    The people alternate between right and wrong answers.
    """
    tasks = [factories.make_kind(kind) for kind in factories.KINDS]
    study = factories.make_study(
        owner, *tasks, name="kinds", shots=[0, 2], annotators=3, equivalence_margin=5,
        exit_questionnaire=True, base_reward=3,
    )  # fmt: skip
    for number in range(6 * len(tasks)):
        passes(60)
        person = factories.join(study, identity=f"person-{number}")
        consent.record(person, agree=number != 5)
        if number == 5:
            continue
        training_step.begin(person.token)
        factories.work_through(person, answered(number), limit=3 if number == 9 else 10_000)
        if number == 11:
            withdrawal.withdraw(person.token)
        if number == 13:
            exclusion.decide(person, False, "Asked others", owner)
    for task in tasks:
        factories.predict(owner, "toy", task, 0, None, sometimes_wrong)
    passes(60)
    lifecycle.change_status(study, "close", owner)
    return study


def wrong_texts(example) -> list[str]:
    card = example.split.task.card
    is_found = card.is_highlighted and not card.typed
    return factories.right_texts(example)[1:] if is_found else factories.wrong_texts(example)


def sometimes_wrong(example) -> list[str]:
    return (factories.right_texts if example.position % 3 else wrong_texts)(example)


def answered(number: int):
    def answer(turn) -> list[str]:
        passes(4)
        is_wrong = (turn.position + number) % 3 == 0
        return (wrong_texts if is_wrong else factories.right_texts)(turn.example)

    return answer


def write_page(client: Client, folder: Path, name: str, address: str) -> None:
    chance.seed(address)
    reply = client.get(address, follow=True)
    content = reply.getvalue()
    head = f"{reply.status_code} {address}\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_bytes(head + content)


def main(target: Path) -> None:
    setup_test_environment()
    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("ada", "ada@example.org", "right horse")
    owner.user_permissions.add(Permission.objects.get(codename="spend"))
    passes(1)
    studies = [demo(), every_kind(owner)]
    target.mkdir(parents=True)
    call_command("spectacular", file=str(target / "openapi.yaml"))
    client = Client()
    for name, address in WHOLE.items() if client.get("/sign-in/") else ():
        write_page(client, target / "pages" / "anonymous", name, address)
    chance.seed("sign-in")
    client.force_login(owner)
    for name, address in WHOLE.items():
        write_page(client, target / "pages", name, address)
    for study in studies:
        passes(1)
        call_command("export_study", study.name, str(target / study.name), verbosity=0)
        for name, address in PAGES.items():
            address = address.replace("NAME", study.name)
            write_page(client, target / "pages" / study.name, name, address)
        write_page(Client(), target / "pages" / study.name, "link", f"/join/{study.link_code}/")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
