"""Rebuilds the table of answers (on SQLite), changes a guarded column, and breaks off if asked."""

import os
import signal
from pathlib import Path

from django.db import migrations, models

import annotation.migrations

LAST = max(path.stem for path in Path(annotation.migrations.__file__).parent.glob("0*.py"))


def fill(apps, schema_editor):
    answers = apps.get_model("annotation", "Answer").objects
    assert answers.update(active_seconds=77.0)
    match os.environ.get("BREAK"):
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "fail":
            raise RuntimeError("the next release has a mistake")


class Migration(migrations.Migration):
    dependencies = [("annotation", LAST)]
    operations = [
        migrations.AlterField("answer", "label", models.CharField(max_length=120, blank=True)),
        migrations.RunPython(fill),
    ]
