from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0043_channel_of_answers"),
        ("tasks", "0011_tags_of_tasks_and_models"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="audience",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="Who may take part on Prolific, and the content warning that all participants read.",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="participants_choose_scenario",
            field=models.BooleanField(
                default=False,
                help_text="One study there per scenario, in place of one in which each arrival is assigned to a scenario. Differences between scenarios can then be differences between the people who chose them, and every table says so.",
                verbose_name="participants choose their scenario on Prolific",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="prolific_reward",
            field=models.CharField(
                choices=[
                    ("shortest", "for the shortest scenario; longer work is paid by a bonus"),
                    ("longest", "for the longest scenario, whichever a participant gets"),
                ],
                default="shortest",
                help_text="All scenarios are one study there, so they have one reward. Either way everybody earns at least the hourly rate.",
                max_length=8,
                verbose_name="reward on Prolific",
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("prolific_reward__in", ["shortest", "longest"])),
                name="a_study_has_a_known_reward_on_prolific",
                violation_error_message="Choose one of these: for the shortest scenario; longer work is paid by a bonus, for the longest scenario, whichever a participant gets.",
            ),
        ),
    ]
