from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0022_accepted_leakage")]

    operations = [
        migrations.AddField("study", "archived_at", models.DateTimeField(null=True, blank=True)),
        migrations.AlterField(
            "study",
            "rehearsal",
            models.BooleanField(
                default=False,
                help_text="For trying a design out. Frozen with it, so a real study is never one.",
                verbose_name="a rehearsal: simulated annotators may be sent in",
            ),
        ),
    ]
