from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0006_options_of_an_example")]

    operations = [
        migrations.AddField("task", "archived_at", models.DateTimeField(null=True, blank=True)),
        migrations.AddField(
            "languagemodel", "archived_at", models.DateTimeField(null=True, blank=True)
        ),
    ]
