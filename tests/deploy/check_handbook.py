"""Follow docs/install.md word for word on an empty Debian, from installation to an upgrade.

One shell runs the blocks marked `sh` in order. The test adds what a reader would have: an init
(systemctl.py starts the units), a host name, a certificate, a newer version, and some answers.
"""

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy import machine

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "docs" / "install.md"
# Heading -> what runs before its first block.
BEFORE = {
    "The program": """
        echo "127.0.0.1 localhost $NAME" > /etc/hosts
        git config --global user.email a@example.org; git config --global user.name A
    """,
    "The database": "rm -f /usr/sbin/policy-rc.d",
    "nginx": """
        live=/etc/letsencrypt/live/$NAME; mkdir -p "$live"
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \\
            -keyout "$live/privkey.pem" -out "$live/fullchain.pem" \\
            -subj "/CN=$NAME" -addext "subjectAltName=DNS:$NAME" 2>/dev/null
        cp "$live/fullchain.pem" /usr/local/share/ca-certificates/own.crt
        update-ca-certificates >/dev/null 2>&1
        export REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt
    """,
    "Back up and restore": """
        DJANGO_SUPERUSER_PASSWORD=$(key) handful createsuperuser --noinput --username ada \\
            --email ada@example.org
        handful import_task /srv/handful/tasks/demo/sentiment >/dev/null
        handful create_study pilot --tasks demo-sentiment --shots 0 10 --annotators 2 \\
            --rehearsal --open
        handful simulate_workers pilot --policy noisy:0.8 --seed 1
        install -d -o handful /tmp/exports
        handful export_study pilot /tmp/exports/before
    """,
    "Upgrade": """
        handful export_study pilot /tmp/exports/after
        diff -r /tmp/exports/before /tmp/exports/after
        echo EXPORTS ARE EQUAL
        git clone -q "$SOURCE" /tmp/newer && cd /tmp/newer && echo newer >> README.md
        git commit -qam Newer && git push -q && cd /
    """,
}
AFTER = """
    grep -q newer /srv/handful/README.md
    handful export_study pilot /tmp/exports/upgraded
    diff -r /tmp/exports/before /tmp/exports/upgraded
    for unit in handful@8000 handful@8001 handful-worker; do systemctl is-active "$unit"; done
    pgrep -u handful -f 'manage.py serve --port 8000' >/dev/null
    echo FOLLOWED TO THE END
"""


def blocks() -> list[tuple[str, str]]:
    """Return (heading, text) of each block that a reader would type, in order."""
    heading, typed = "", []
    heading_or_block = re.compile(r"^## ([^\n]*)$|^```sh\n(.*?)^```$", re.M | re.S)
    for match in heading_or_block.finditer(HANDBOOK.read_text()):
        heading = match[1] or heading
        if match[2]:
            typed.append((heading, match[2]))
    return typed


def script() -> str:
    """Return all commands as one script that prints each block's heading before it."""
    lines = ["set -eo pipefail", "NAME=annotate.example.org", "SOURCE=/srv/source.git", "set -u"]
    begun = set()
    for number, (heading, text) in enumerate(blocks(), 1):
        if heading not in begun:
            lines.append(BEFORE.get(heading, ""))
            begun.add(heading)
        lines += [f"echo '=== {number}. {heading}'", text]
    assert set(BEFORE) <= begun
    return "\n".join([*lines, AFTER])


@pytest.fixture
def empty(tmp_path) -> Path:
    """An empty machine with this working copy of the repository at /srv/source.git."""
    tmp_path.chmod(0o755)
    root = machine.new(tmp_path / "root", "ca-certificates", "git", "openssl", "procps")
    init = root / "usr/local/bin/systemctl"
    shutil.copy2(ROOT / "tests/deploy/systemctl.py", init)
    init.chmod(0o755)
    work = tmp_path / "work"
    files = machine.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, work / name)
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(work)]
    machine.run([*git, "init", "-q", "-b", "main"])
    machine.run([*git, "add", "-A"])
    machine.run([*git, "commit", "-qm", "Current state"])
    machine.run(["git", "clone", "-q", "--bare", str(work), str(root / "srv/source.git")])
    return root


def test_the_handbook_works_from_an_empty_machine_to_an_upgrade(empty, tmp_path):
    log = tmp_path / "log"
    command = machine.inside(empty, ["bash", "-c", script()], waits_for_network=True)
    with (
        machine.with_own_network(command, log) as process,
        contextlib.suppress(subprocess.TimeoutExpired),
    ):
        process.wait(1200)
    text = log.read_text(errors="replace")
    print(text)
    assert "FOLLOWED TO THE END" in text, text[-6000:]
    assert "EXPORTS ARE EQUAL" in text
    assert '"status": "ready"' in text
