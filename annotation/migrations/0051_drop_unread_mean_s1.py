from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotation", "0050_prolific_accounts")]

    operations = [
        migrations.RemoveConstraint("participation", "only_who_completed_has_a_mean_s1"),
        migrations.RemoveField("participation", "test_s1"),
    ]
