from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0021_drop_tables_of_axes")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="accepts_leakage",
            field=models.BooleanField(
                default=False,
                help_text="Some training examples stand in the test too: their answers are"
                " revealed before they are asked. Frozen with the design, and told in the report.",
                verbose_name="open it in spite of training examples that stand in the test",
            ),
        ),
    ]
