"""Constraints and index of the audit log: PostgreSQL wants them after the rows are written."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0024_audit_log"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["study", "at"], name="audit_of_a_study"),
        ),
        migrations.AddConstraint(
            model_name="auditentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "topic__in",
                        [
                            "study", "design", "team", "people", "pay", "platform", "results",
                            "task", "model", "download", "account",
                        ],
                    )
                ),
                name="an_entry_has_a_known_topic",
                violation_error_message="Choose one of these: Changes while it runs, Design, Team,"
                " Annotators, Pay, Platforms and links, Analysis and report, Tasks, Models,"
                " Downloads and look-ups, Accounts.",
            ),
        ),
        migrations.AddConstraint(
            model_name="auditentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("what", ""), _negated=True),
                name="an_entry_says_what_was_done",
            ),
        ),
    ]
