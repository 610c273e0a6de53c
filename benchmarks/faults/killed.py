"""Faults in which processes are killed or replaced while people answer."""

import shutil
import time
from pathlib import Path

from benchmarks.faults.installation import ROOT
from benchmarks.faults.scene import Result, Scene, Size, at_work

# A migration that a release may contain: a column that previous nodes do not know. Each migration
# has one table, as docs/contributing.md requires.
MIGRATION = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "{last}")]
    operations = [
        migrations.AddField("{table}", "noted", models.CharField(max_length=20, null=True)),
    ]
"""


def roll(scene: Scene) -> str:
    """Restart the nodes one by one (docs/operating.md#several-nodes). Return seconds of each."""
    took = []
    for node in scene.site.nodes:
        began = time.monotonic()
        node.stop()
        node.start()
        took.append(f"{time.monotonic() - began:.0f} s")
    return ", ".join(took)


def not_ready(scene: Scene) -> list[str]:
    """Return a sentence for each node that would not receive requests."""
    away = [node.port for node in scene.site.nodes if not node.answers("/health/ready")]
    return [f"node {port} is not ready at the end" for port in away]


def killed_server(size: Size) -> Result:
    """Kill a worker or a whole server in turn every five seconds."""
    kills = 0
    with at_work(size, begun=0.02) as scene:
        for number in scene.every(5):
            node = scene.site.nodes[number // 2 % 2]
            if number % 2:
                node.kill()
                node.start()
            else:
                node.kill_worker(number // 4)
            kills += 1
    return Result(scene.work.outcome, f"{kills} kills of a worker or a server, one every 5 s")


def killed_database(size: Size) -> Result:
    """Kill PostgreSQL twice, and restart it after two seconds."""
    with at_work(size) as scene:
        for share in (0.2, 0.6):
            scene.wait_for(share)
            scene.site.postgres.kill()
            time.sleep(2)
            scene.site.postgres.start()
    return Result(scene.work.outcome, "PostgreSQL killed twice, away for 2 s and its recovery")


def deploy(size: Size) -> Result:
    """Release new columns: migrate while annotators work, then restart the nodes one by one."""
    with at_work(size) as scene:
        scene.wait_for(0.2)
        new = next_release(scene.site.folder / "next")
        began = time.monotonic()
        done = scene.site.manage("migrate", "-v0", root=new)
        migrated = time.monotonic() - began
        wrong = [done.stderr[-300:]] if done.returncode else []
        for node in scene.site.nodes:
            node.root = new
        scene.wait_for(0.4)
        took = roll(scene)
        wrong += not_ready(scene)
    return Result(
        scene.work.outcome,
        f"a release with two more columns: migrate {migrated:.0f} s with the previous nodes,"
        f" then a rolling restart ({took})",
        wrong,
    )


def next_release(folder: Path) -> Path:
    """Copy this program and add two migrations."""
    left_out = shutil.ignore_patterns(".*", "var", "node_modules", "tests", "docs", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=left_out)
    place = folder / "annotation" / "migrations"
    last = max(path.stem for path in place.glob("[0-9]*.py"))
    for table in ("participation", "answer"):
        name = f"{int(last[:4]) + 1:04}_of_the_next_release"
        (place / f"{name}.py").write_text(MIGRATION.format(last=last, table=table))
        last = name
    return folder
