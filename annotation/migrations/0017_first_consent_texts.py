from django.db import migrations


def fill(apps, schema_editor):
    """Studies opened before texts had versions: theirs, frozen since, is the first version.

    Everybody who consented in such a study agreed to that text.
    """
    models = {name: apps.get_model("annotation", name) for name in ("Study", "ConsentText", "Participation")}
    opened = models["Study"].objects.exclude(status="draft").filter(consent_texts__isnull=True)
    for study in opened.iterator():
        text = models["ConsentText"].objects.create(
            study=study,
            version=1,
            text=study.consent_text,
            since=study.opened_at or study.created_at,
        )
        agreed = models["Participation"].objects.filter(study=study, consented_at__isnull=False)
        agreed.filter(consent_text__isnull=True).update(consent_text=text)


class Migration(migrations.Migration):

    dependencies = [("annotation", "0016_seats_of_who_left")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
