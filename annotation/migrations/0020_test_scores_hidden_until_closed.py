from django.db import migrations, models

FIELD = {
    "help_text": "From everybody, on pages, in files and in the API, so that no result decides"
    " when to stop. Training scores stay visible for decisions on admission. Recorded with the"
    " design. A rehearsal hides nothing.",
    "verbose_name": "hide test scores of people until the study is closed",
}


class Migration(migrations.Migration):
    """On in new studies; off in those that were designed without it."""

    dependencies = [("annotation", "0019_webhooks")]

    operations = [
        migrations.AddField("study", "hide_test_scores", models.BooleanField(default=False, **FIELD)),
        migrations.AlterField("study", "hide_test_scores", models.BooleanField(default=True, **FIELD)),
    ]
