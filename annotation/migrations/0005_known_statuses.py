from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0004_the_declined_become_a_count'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='participation',
            name='a_participation_has_a_known_status',
        ),
        migrations.AlterField(
            model_name='participation',
            name='status',
            field=models.CharField(choices=[('arrived', 'has a seat, consent not given yet'), ('working', 'at work'), ('completed', 'completed'), ('expired', "idle for longer than the study's limit"), ('refused', 'had done this task before'), ('withdrawn', 'withdrew their answers')], default='arrived', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['arrived', 'working', 'completed', 'expired', 'refused', 'withdrawn'])), name='a_participation_has_a_known_status'),
        ),
    ]
