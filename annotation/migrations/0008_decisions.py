from django.db import migrations, models


class Migration(migrations.Migration):
    """A decision says what it is about: until now all were about the analysis."""

    dependencies = [("annotation", "0007_personal_link")]

    operations = [
        migrations.RenameModel("AnalysisDecision", "Decision"),
        migrations.RenameField("Decision", "in_analysis", "outcome"),
        migrations.AddField(
            "Decision",
            "about",
            models.CharField(
                choices=[
                    ("analysis", "in the analysis"),
                    ("pay", "paid"),
                    ("qualification", "qualified"),
                ],
                default="analysis",
                max_length=13,
            ),
            preserve_default=False,
        ),
    ]
