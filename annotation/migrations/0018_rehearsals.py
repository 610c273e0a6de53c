from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0017_model_annotators")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="rehearsal",
            field=models.BooleanField(
                default=False,
                help_text="For trying a design out. Frozen with it, so a real study is never one.",
                verbose_name="a rehearsal: simulated annotators may be sent in by the API",
            ),
        ),
    ]
