from django.db import migrations, models
from django.db.models import F


def carry_over(apps, schema_editor):
    """What was checked before is checked; whoever was rejected cannot come back any more."""
    submissions = apps.get_model("annotation", "Submission").objects
    submissions.filter(prolific_study__signed=True).update(verified=True)
    apps.get_model("annotation", "WebhookEvent").objects.update(handled_at=F("received_at"))
    participations = apps.get_model("annotation", "Participation").objects
    for rejected in submissions.filter(status="REJECTED").exclude(participation=None).iterator():
        later = submissions.filter(participation=rejected.participation_id, pk__gt=rejected.pk)
        gone = participations.filter(
            pk=rejected.participation_id, status__in=["returned", "expired"]
        )
        if not later.exists() and gone.exists():
            submissions.filter(pk=rejected.pk).update(status_before_rejection=gone.get().status)
            gone.update(status="rejected")


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0018_withdrawal_leaves_no_score'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='participation',
            name='a_participation_has_a_known_status',
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='approved_unknown',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='pause_reason',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='paused_here',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='returns_open',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='returns_until',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='signing_keys',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='submission',
            name='return_requested_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='submission',
            name='status_before_rejection',
            field=models.CharField(blank=True, max_length=12),
        ),
        migrations.AddField(
            model_name='submission',
            name='verified',
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name='webhookevent',
            name='handled_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='webhookevent',
            name='resource',
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AlterField(
            model_name='participation',
            name='status',
            field=models.CharField(choices=[('arrived', 'has a seat, consent not given yet'), ('working', 'at work'), ('waiting', 'waits for a decision after the training step'), ('between', 'between two parts'), ('completed', 'completed'), ('screened_out', 'screened out, paid'), ('returned', 'gave the place back'), ('expired', 'idle for longer than allowed'), ('refused', 'had done this task before'), ('withdrawn', 'withdrew their answers'), ('rejected', 'rejected on the platform')], default='arrived', max_length=12),
        ),
        migrations.AlterField(
            model_name='prolificstudy',
            name='signed',
            field=models.BooleanField(default=False),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['arrived', 'working', 'waiting', 'between', 'completed', 'screened_out', 'returned', 'expired', 'refused', 'withdrawn', 'rejected'])), name='a_participation_has_a_known_status'),
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
