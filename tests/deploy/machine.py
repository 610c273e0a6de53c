"""Empty Debian machines in folders, made by mmdebstrap, and commands that run in them.

Requires root, for mounts. pip and apt in a machine use the registry settings of the host.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

RELEASE = "bookworm"
NAMES = "10.0.2.3"  # slirp4netns's name server
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run(command: list[str], **options) -> str:
    """Run a command and return its output; AssertionError with the output if it fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}"
    return done.stdout


def new(root: Path, *packages: str) -> Path:
    """Create an empty machine: Debian's essential packages, these packages, and no service."""
    include = [f"--include={','.join(packages)}"] if packages else []
    # The machine is temporary: skip writing each package safely to disk.
    quick = ["--dpkgopt=force-unsafe-io"]
    run(["mmdebstrap", "--quiet", "--variant=minbase", *quick, *include, RELEASE, str(root)])
    # As in official images, packages start no services.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    return root


def copy(root: Path, other: Path) -> Path:
    run(["cp", "-a", "--reflink=auto", str(root), str(other)])
    return other


def _pip() -> tuple[dict[str, str], list[Path]]:
    """Return the host's pip configuration as variables, and the folders that they name."""
    lines = run(["python3", "-m", "pip", "config", "list"]).splitlines()
    settings = {}
    for line in lines:
        if not line.startswith((":env:", "global.", "install.")) or "=" not in line:
            continue
        key, value = line.split("=", 1)
        name = "PIP_" + key.replace(":env:.", "").rpartition(".")[2].upper().replace("-", "_")
        settings[name] = " ".join(shlex.split(value))
    places = [
        Path(word.removeprefix("file://"))
        for value in settings.values()
        for word in value.split()
        if word.startswith(("/", "file:///"))
    ]
    # An index links to files in its parent folder.
    places = [place.parent if place.name == "simple" else place for place in places]
    return settings, sorted({place for place in places if place.exists()})


def inside(
    root: Path,
    command: list[str],
    *,
    environment: Mapping[str, str] = {},
    user: str = "0:0",
    folder: str = "/",
    read_only: bool = False,
    writable: Mapping[str, Path] = {},
    waits_for_network: bool = False,
) -> list[str]:
    """Return a command line that runs `command` in the machine, with separate mounts and processes.

    With `read_only`, only /tmp and the folders in `writable` (path inside -> host folder) are
    writable.
    """
    settings, places = _pip()
    steps = [f"mount --bind {root} {root}"]
    for number, place in enumerate(places):
        if place.is_dir():
            steps += [f"mkdir -p {root}{place}", f"mount --bind -o ro {place} {root}{place}"]
        else:  # apart from Debian's files, which packages replace
            copied = f"/run/pip/{number}"
            steps += [f"mkdir -p {root}/run/pip", f"cp {place} {root}{copied}"]
            settings = {k: v.replace(str(place), copied) for k, v in settings.items()}
    steps += [f"cp --remove-destination /etc/resolv.conf {root}/etc/resolv.conf"]
    if read_only:
        steps += [f"mount -o remount,bind,ro {root}", f"mount -t tmpfs -o mode=1777 tmp {root}/tmp"]
        steps += [f"mount --bind {here} {root}{there}" for there, here in writable.items()]
    steps += [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
    variables = {"PATH": PATH, "HOME": "/tmp", "LANG": "C.UTF-8"} | settings | dict(environment)
    line = [
        "chroot", f"--userspec={user}", str(root), "/usr/bin/env", "-i", f"--chdir={folder}",
        *(f"{name}={value}" for name, value in variables.items()), *command,
    ]  # fmt: skip
    if waits_for_network:
        steps += ["until grep -q tap0 /proc/net/dev; do sleep 0.1; done"]
        steps += [f"echo nameserver {NAMES} > {root}/etc/resolv.conf"]
    script = "set -e\n" + "\n".join(steps) + "\nexec " + shlex.join(line)
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]


def first_processes(process: subprocess.Popen) -> list[int]:
    """Return the host's process id of the first process in a command line of `inside`."""
    return [
        int(child)
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ]


def stop(process: subprocess.Popen) -> None:
    """End such a command line; the end of its first process ends all others."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        for first in first_processes(process):
            os.kill(first, sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
            return


@contextlib.contextmanager
def with_own_network(command: list[str], log: Path) -> Iterator[subprocess.Popen]:
    """Run `command`, from `inside(waits_for_network=True)`, in a separate network."""
    with log.open("w") as file:
        process = subprocess.Popen(["unshare", "--net", *command], stdout=file, stderr=file)
        ours = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{process.pid}/ns/net") == ours:
            time.sleep(0.05)
        network = subprocess.Popen(
            ["slirp4netns", "--configure", "--disable-host-loopback", str(process.pid), "tap0"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                stop(process)
            network.terminate()
            network.wait()
