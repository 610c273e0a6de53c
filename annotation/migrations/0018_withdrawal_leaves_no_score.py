from django.db import migrations


def forget(apps, schema_editor):
    """What withdrawing leaves out now, for those who withdrew before."""
    Participation = apps.get_model("annotation", "Participation")
    gone = Participation.objects.filter(status="withdrawn", tombstone__isnull=False)
    keys = list(gone.values_list("pk", flat=True))
    Decision = apps.get_model("annotation", "Decision")
    Decision.objects.filter(participation__in=keys).update(reason="withdrawn")
    Participation.objects.filter(pk__in=keys).update(
        qualified=None, comprehension_tries=0, browser=""
    )
    # Their results tell intervals over people that there are not, and hold who withdrew since.
    apps.get_model("tasks", "Job").objects.filter(kind="bootstrap").delete()


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0017_first_consent_texts"),
        ("tasks", "0004_job"),
    ]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
