#!/usr/bin/python3
"""The part of systemctl that the handbook needs, for a folder without systemd.

Starts services as their unit defines (program, user, folder, variables) but without its sandboxing,
and three of Debian's by their init scripts. Checks that timers exist without running them.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

UNITS = [Path("/etc/systemd/system"), Path("/lib/systemd/system")]
BY_SCRIPT = {"postgresql", "redis-server", "nginx"}
PIDS = Path("/run/handful-test")


def unit(name: str) -> dict[str, list[str]]:
    """Return the settings of a unit: name -> values, with %i replaced."""
    base, at, instance = name.partition("@")
    file = next(
        file for folder in UNITS if (file := folder / (f"{base}@.service" if at else name)).exists()
    )
    pairs = re.findall(r"^(\w+)=(.*)$", file.read_text(), re.M)
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value.replace("%i", instance.removesuffix(".service")))
    return values


def start(name: str) -> int:
    values = unit(name)
    if "OnCalendar" in values:
        return 0
    variables = dict(os.environ)
    for file in values.get("EnvironmentFile", []):
        variables |= dict(re.findall(r"^(\w+)=(.*)$", Path(file).read_text(), re.M))
    variables |= dict(text.split("=", 1) for text in values.get("Environment", []))
    command = values["ExecStart"][0].replace("$$", "$").replace("%%", "%")
    (user,), (folder,) = values["User"], values.get("WorkingDirectory", ["/"])
    done = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {command}"], user=user, group=user, extra_groups=[], cwd=folder,
        env=variables, start_new_session=True,
    )  # fmt: skip
    if values.get("Type") == ["oneshot"]:
        return done.wait()
    time.sleep(3)
    PIDS.mkdir(exist_ok=True)
    (PIDS / name).write_text(str(done.pid))
    return done.poll() or 0


def running(name: str) -> int:
    """Return the process id of a running service, or 0."""
    try:
        pid = int((PIDS / name).read_text())
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return 0
    return 0 if state == "Z" else pid


def stop(name: str) -> int:
    unit(name)
    if pid := running(name):
        os.kill(pid, signal.SIGTERM)
        for _tenth in range(300):
            if not running(name):
                return 0
            time.sleep(0.1)
        os.killpg(pid, signal.SIGKILL)
    return 0


def main() -> int:
    step, *names = sys.argv[1:]
    if step == "daemon-reload":
        return 0
    failed = 0
    for name in names:
        if name in BY_SCRIPT:
            failed |= subprocess.call(["service", name, step])
            continue
        name = name if re.search(r"\.(service|timer|target)$", name) else f"{name}.service"
        if step == "enable":
            failed |= int("WantedBy" not in unit(name))
        elif step == "is-active":
            failed |= int(not running(name))
        else:
            failed |= stop(name) if step in ("stop", "restart") else 0
            failed |= start(name) if step in ("start", "restart") else 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
