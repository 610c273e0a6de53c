from django.db import migrations


def freeze_families(apps, schema_editor):
    """Of studies that are closed already, by what stands there now."""
    files = apps.get_model("tasks", "PredictionFile").objects
    compared = apps.get_model("annotation", "ComparedFile").objects
    members = apps.get_model("annotation", "Member").objects
    for study in apps.get_model("annotation", "Study").objects.filter(status="closed"):
        team = [study.owner_id, *members.filter(study=study).values_list("user", flat=True)]
        own = files.filter(task__in=study.tasks.all(), model__uploaded_by__in=team)
        for file in own.order_by("pk"):
            compared.create(study=study, file=file)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0045_arrivals_and_frozen_families'),
    ]

    operations = [
        migrations.RunPython(freeze_families, migrations.RunPython.noop),
    ]
