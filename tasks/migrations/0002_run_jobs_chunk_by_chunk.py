"""Chunks of a job no longer run at the same time: what some of them gave is computed again."""

from django.db import migrations


def begin_unfinished_parts_again(apps, schema_editor):
    for job in apps.get_model("tasks", "Job").objects.exclude(state="done"):
        job.done = len(job.result)
        job.sent_at = None
        job.save(update_fields=["done", "sent_at"])


class Migration(migrations.Migration):
    dependencies = [("tasks", "0001_initial")]

    operations = [
        migrations.RunPython(begin_unfinished_parts_again, migrations.RunPython.noop),
        migrations.DeleteModel(name="JobChunk"),
    ]
