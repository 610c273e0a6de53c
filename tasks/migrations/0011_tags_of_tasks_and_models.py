from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0010_chunks_of_jobs")]

    operations = [
        migrations.AddField("task", "tags", models.JSONField(blank=True, default=list)),
        migrations.AddField("languagemodel", "tags", models.JSONField(blank=True, default=list)),
    ]
