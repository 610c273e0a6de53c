from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0041_gold_marked_as_wrong")]

    operations = [
        migrations.AddField("study", "tags", models.JSONField(blank=True, default=list)),
    ]
