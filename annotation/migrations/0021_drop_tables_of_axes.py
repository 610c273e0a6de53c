"""django-axes is gone: names and addresses of failed sign-ins do not stay behind in its tables."""

from django.db import migrations

TABLES = [
    "axes_accessattemptexpiration",
    "axes_accessattempt",
    "axes_accesslog",
    "axes_accessfailurelog",
]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0020_test_scores_hidden_until_closed")]

    operations = [
        migrations.RunSQL(f"DROP TABLE IF EXISTS {table}", migrations.RunSQL.noop)
        for table in TABLES
    ]
