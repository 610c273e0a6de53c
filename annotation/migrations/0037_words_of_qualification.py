# The words of two choices; nothing in the database changes.

import django.core.validators
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0036_first_study'),
        ('tasks', '0010_chunks_of_jobs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='study',
            name='qualification',
            field=models.CharField(choices=[('none', 'nobody is screened out'), ('minimum', 'a mean training S1 of at least the threshold'), ('points_below', "within the threshold (in points) of the other annotators' mean, or above it"), ('sds_below', "within the threshold (in SDs) of the other annotators' mean, or above it"), ('researcher', 'a researcher decides while the annotator waits')], default='none', help_text='Declared before the study opens. Annotators who are screened out are paid for their time.', max_length=12, verbose_name='after the training step'),
        ),
        migrations.AlterField(
            model_name='study',
            name='qualification_threshold',
            field=models.FloatField(blank=True, help_text="a mean training S1 of at least the threshold: 0 to 100, such as 60; within the threshold (in points) of the other annotators' mean, or above it: 0 to 100 points, such as 20; within the threshold (in SDs) of the other annotators' mean, or above it: 0 to 10 standard deviations, such as 2", null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='threshold of this rule'),
        ),
        migrations.AlterConstraint(
            model_name='study',
            name='a_study_has_a_known_qualification_rule',
            constraint=models.CheckConstraint(condition=models.Q(('qualification__in', ['none', 'minimum', 'points_below', 'sds_below', 'researcher'])), name='a_study_has_a_known_qualification_rule', violation_error_message="Choose one of these: nobody is screened out, a mean training S1 of at least the threshold, within the threshold (in points) of the other annotators' mean, or above it, within the threshold (in SDs) of the other annotators' mean, or above it, a researcher decides while the annotator waits."),
        ),
    ]
