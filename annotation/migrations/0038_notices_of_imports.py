# Jobs that import are of no study, and are told to who started them.

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0037_words_of_qualification'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='notice',
            name='study',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='annotation.study'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.UniqueConstraint(condition=models.Q(('study', None)), fields=('user', 'about', 'subject'), name='a_researcher_is_told_an_event_of_no_study_once'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.CheckConstraint(condition=models.Q(('study__isnull', False), ('about', 'job'), _connector='OR'), name='a_notice_of_no_study_is_about_a_job'),
        ),
    ]
