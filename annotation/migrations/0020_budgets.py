from decimal import Decimal

import django.core.validators
from django.conf import settings
from django.db import migrations, models


def keep_what_was_frozen(apps, schema_editor):
    """What opened before these rules goes on as before; a draft with an impossible threshold loses it."""
    studies = apps.get_model("annotation", "Study").objects
    studies.exclude(status="draft").update(max_screen_outs_in_a_row=None)
    impossible = studies.filter(status="draft").exclude(
        models.Q(qualification_threshold=None)
        | models.Q(qualification_threshold__gte=0, qualification_threshold__lte=100)
    )
    impossible.update(qualification_threshold=None)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0019_prolific_as_documented"),
        ("tasks", "0009_task_teams"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="study",
            options={
                "ordering": ["-created_at"],
                "permissions": [
                    ("spend", "May spend: publish on Prolific, pay, and set budgets above the limit")
                ],
                "verbose_name_plural": "studies",
            },
        ),
        migrations.AddField(
            model_name="study",
            name="budget",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                max_digits=9,
                null=True,
                validators=[django.core.validators.MinValueValidator(Decimal("0"))],
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="max_screen_outs_in_a_row",
            field=models.PositiveIntegerField(
                blank=True,
                default=5,
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.RunPython(keep_what_was_frozen, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("budget__isnull", True), ("budget__gte", 0), _connector="OR"),
                name="a_budget_is_an_amount",
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "draft"), _negated=True),
                    ("qualification_threshold__isnull", True),
                    models.Q(
                        ("qualification_threshold__gte", 0),
                        ("qualification_threshold__lte", 100),
                    ),
                    _connector="OR",
                ),
                name="a_drafted_threshold_lies_on_its_scale",
            ),
        ),
        migrations.AlterField(
            model_name="decision",
            name="about",
            field=models.CharField(
                choices=[
                    ("analysis", "in the analysis"),
                    ("pay", "paid"),
                    ("qualification", "qualified"),
                    ("release", "released for payment"),
                ],
                max_length=13,
            ),
        ),
    ]
