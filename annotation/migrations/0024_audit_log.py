"""The log of a study becomes the audit log: of everything, insert-only, with before and after."""

import re

import django.core.serializers.json
import django.db.models.deletion
from django.db import migrations, models

OF_A_PERSON = re.compile(r"^seat of (\S+) freed: |^rejected on Prolific \([^)]*\): (\S+)$")


def name_whom_it_is_about(apps, schema_editor):
    """By its pseudonym a withdrawal finds the sentence whose reason it empties."""
    entries = apps.get_model("annotation", "AuditEntry").objects
    for entry in entries.filter(what__startswith="seat of ") | entries.filter(
        what__startswith="rejected on Prolific"
    ):
        if found := OF_A_PERSON.match(entry.what):
            entry.about = found[1] or found[2]
            entry.save(update_fields=["about"])


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0023_archive_of_studies"),
    ]

    operations = [
        migrations.RenameModel("StudyEvent", "AuditEntry"),
        migrations.AlterModelOptions(
            name="auditentry",
            options={"ordering": ["at", "pk"], "verbose_name_plural": "audit entries"},
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="study",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="annotation.study",
            ),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="topic",
            field=models.CharField(
                choices=[
                    ("study", "Changes while it runs"),
                    ("design", "Design"),
                    ("team", "Team"),
                    ("people", "Annotators"),
                    ("pay", "Pay"),
                    ("platform", "Platforms and links"),
                    ("results", "Analysis and report"),
                    ("task", "Tasks"),
                    ("model", "Models"),
                    ("download", "Downloads and look-ups"),
                    ("account", "Accounts"),
                ],
                default="study",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="about",
            field=models.CharField(blank=True, default="", max_length=200),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="auditentry",
            name="before",
            field=models.JSONField(
                encoder=django.core.serializers.json.DjangoJSONEncoder, null=True
            ),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="after",
            field=models.JSONField(
                encoder=django.core.serializers.json.DjangoJSONEncoder, null=True
            ),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="token",
            field=models.CharField(blank=True, default="", max_length=60),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="auditentry",
            name="once",
            field=models.CharField(max_length=64, null=True, unique=True),
        ),
        migrations.RunPython(name_whom_it_is_about),
    ]
