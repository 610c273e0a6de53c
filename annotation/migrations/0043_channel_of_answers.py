from django.db import migrations, models

CHANNEL = {
    "blank": True,
    "choices": [("page", "a page"), ("api", "the API")],
    # A server of the release before, which does not know the column, can still store rows.
    "db_default": "",
    "default": "",
    "max_length": 4,
}


def known_channel(name):
    return models.CheckConstraint(
        condition=models.Q(("channel__in", ["page", "api", ""])),
        name=name,
        violation_error_message="Choose one of these: a page, the API.",
    )


class Migration(migrations.Migration):
    """What each turn and answer came by; rows that are there already hold ""."""

    dependencies = [("annotation", "0042_tags_of_studies")]

    operations = [
        migrations.AddField(
            "study",
            "programs_as_people",
            models.BooleanField(
                default=False,
                help_text="Otherwise people take part on the pages alone, and the API refuses them."
                " Where it is allowed, every table says for how many people a program answered."
                " Frozen with the design.",
                verbose_name="programs may take the seats of people, by the API",
            ),
        ),
        migrations.AddField("turn", "channel", models.CharField(**CHANNEL)),
        migrations.AddField("answer", "channel", models.CharField(**CHANNEL)),
        migrations.AddConstraint("turn", known_channel("a_turn_has_a_known_channel")),
        migrations.AddConstraint("answer", known_channel("an_answer_has_a_known_channel")),
    ]
