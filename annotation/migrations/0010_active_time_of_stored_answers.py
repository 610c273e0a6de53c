from django.db import migrations

LONGEST = 300  # seconds: what a gap counted at most before pages told of activity


def fill(apps, schema_editor):
    """Answers stored before there were signs of activity: submitted minus shown, at most 5 min."""
    Answer = apps.get_model("annotation", "Answer")
    rows = Answer.objects.values_list("turn_id", "turn__shown_at", "submitted_at")
    if not rows.exists():
        return
    # migrate lifts the guards of answers before, and puts them back afterwards (guards.py).
    for turn, shown_at, submitted_at in list(rows):
        seconds = min((submitted_at - shown_at).total_seconds(), LONGEST)
        Answer.objects.filter(turn_id=turn).update(active_seconds=seconds)


class Migration(migrations.Migration):

    dependencies = [("annotation", "0009_crowdsourcing")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
