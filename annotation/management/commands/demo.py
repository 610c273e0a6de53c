"""Serve a demo study, with simulated results and seats for people to try (`make demo`)."""

import io
import os
import secrets
import socket
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.urls import reverse

from annotation.models import Study
from annotation.simulation.simulated_annotators import free_seats

TASKS = ("sentiment", "inference", "entities", "questions")


def _listens(host: str, port: int, server: int) -> bool:
    """Wait until the port accepts connections. Return False if the server exits first."""
    while os.getppid() == server:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


class Command(BaseCommand):
    help = "Serve a demo study, which is created on the first run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        self._check_that_free(host, port)
        self.stdout.write("Preparing the database and the static files ...")
        call_command("migrate", verbosity=0)
        if (settings.BASE_DIR / "manage.py").exists():  # a wheel contains collected static files
            settings.WHITENOISE_SKIP_COMPRESS_EXTENSIONS += ["css", "js", "svg"]  # saves seconds
            call_command("collectstatic", interactive=False, verbosity=0)
        password = self._researcher()
        study = Study.objects.filter(name="demo").first() or self._study()
        root = f"http://{host}:{port}"
        links = (
            f"\nAnnotators:  {root}{reverse('landing', args=[study.link_code])}\n"
            f"Dashboard:   {root}{reverse('study', args=[study.name])}\n"
            f"Table:       {root}{reverse('human_performance', args=[study.name])}\n"
            f"Login:       demo / {password}\n\n"
            "The results are simulated, and you can join as an annotator. Press Ctrl+C to stop.\n"
        )
        self.stdout.write("Starting the server ...")
        self.stdout.flush()
        connection.close()
        server = os.getpid()
        if os.fork() == 0:  # this process becomes the server, while the child waits and prints
            if _listens(host, port, server):
                self.stdout.write(links)
                self.stdout.flush()
            os._exit(0)
        serve = ["serve", "--host", host, "--port", str(port), "--verbosity", "0"]
        os.execv(sys.executable, [sys.executable, sys.argv[0], *serve])

    def _check_that_free(self, host: str, port: int) -> None:
        """Raise CommandError if the port is in use, since both servers would get its requests."""
        try:
            socket.create_server((host, port)).close()
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", error)
            raise CommandError(
                f"Cannot listen on {host}, port {port} ({reason}). Stop the program that uses it,"
                " or choose another port (--port 8123, or make demo PORT=8123)."
            ) from None

    def _researcher(self) -> str:
        """Return the password of the account `demo`, which var/ stores so that it can be shown."""
        path = settings.VAR_DIR / "demo-password.txt"
        users = User.objects.filter(username="demo")
        user = users.first() or User.objects.create_user("demo")
        user.user_permissions.add(Permission.objects.get(codename="spend"))
        if not path.exists():
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(9))
        password = path.read_text()
        if not user.check_password(password):
            user.set_password(password)
            user.save()
        return password

    def _study(self) -> Study:
        quiet = io.StringIO()
        for task in TASKS:
            folder = str(settings.BASE_DIR / "tasks" / "demo" / task)
            call_command("import_task", folder, owner="demo", verbosity=0, stdout=quiet)
        call_command(
            "create_study", "demo", tasks=[f"demo-{task}" for task in TASKS], shots=[0, 10],
            annotators=3, title="A short reading task", owner="demo", open=True, seed=1,
            rehearsal=True, stdout=quiet,
        )  # fmt: skip
        study = Study.objects.get(name="demo")
        self.stdout.write(f"{free_seats(study)} simulated annotators are working ...")
        call_command("simulate_workers", "demo", policy="noisy:0.85", seed=1, stdout=quiet)
        return study
