from django.db import migrations
from django.db.models import F


def count(apps, schema_editor):
    """Who did not consent leaves nothing but a count: no row, and no worker known for nothing else."""
    models = {name: apps.get_model("annotation", name) for name in ("Participation", "Scenario", "Worker")}
    for one in models["Participation"].objects.filter(status="declined"):
        models["Scenario"].objects.filter(pk=one.scenario_id).update(declined=F("declined") + 1)
        one.delete()
        models["Worker"].objects.filter(pk=one.worker_id, participations__isnull=True).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0003_seats_and_withdrawal'),
    ]

    operations = [
        migrations.RunPython(count, migrations.RunPython.noop),
    ]
