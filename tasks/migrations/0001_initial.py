import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('only', models.BooleanField(default=True, editable=False, unique=True)),
                ('folder_id', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('owned_since', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('only', True)), name='there_is_one_installation')],
            },
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease', models.CharField(blank=True, max_length=32)),
                ('leased_until', models.DateTimeField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('kind', models.CharField(max_length=40)),
                ('key', models.CharField(max_length=64, unique=True)),
                ('parameters', models.JSONField()),
                ('seed', models.BigIntegerField(default=0)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('total', models.PositiveIntegerField()),
                ('done', models.PositiveIntegerField(default=0)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=7)),
                ('error', models.TextField(blank=True)),
                ('result', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('touched_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'running', 'done', 'failed'])), name='a_job_is_in_a_known_state', violation_error_message='Choose one of these: Waiting, Running, Done, Failed.'), models.CheckConstraint(condition=models.Q(('done__lte', models.F('total')), ('total__gt', 0)), name='a_job_has_chunks_and_does_no_more_than_these'), models.CheckConstraint(condition=models.Q(models.Q(('done', models.F('total')), ('state', 'done')), models.Q(models.Q(('state', 'done'), _negated=True), ('done__lt', models.F('total'))), _connector='OR'), name='a_job_is_done_when_all_its_chunks_are'), models.CheckConstraint(condition=models.Q(models.Q(('lease', ''), ('leased_until__isnull', True)), models.Q(('leased_until__isnull', False), ('state', 'running'), models.Q(('lease', ''), _negated=True)), _connector='OR'), name='a_lease_has_an_end_and_only_a_running_job_has_one'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), models.Q(('error', ''), _negated=True)), models.Q(models.Q(('state', 'failed'), _negated=True), ('error', '')), _connector='OR'), name='a_failed_job_says_why')],
            },
        ),
        migrations.CreateModel(
            name='PeriodicPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=30, unique=True)),
                ('busy_until', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('succeeded_at', models.DateTimeField(null=True)),
                ('message', models.CharField(blank=True, max_length=300)),
                ('error', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('busy_until__isnull', True), ('started_at__isnull', False), _connector='OR'), name='a_part_that_is_busy_has_begun')],
            },
        ),
        migrations.CreateModel(
            name='Image',
            fields=[
                ('name', models.CharField(max_length=68, primary_key=True, serialize=False)),
                ('data', models.BinaryField()),
                ('stored_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('version', models.PositiveIntegerField()),
                ('content_hash', models.CharField(max_length=64)),
                ('card_data', models.JSONField()),
                ('rechained', models.BooleanField(default=False)),
                ('imported_at', models.DateTimeField(auto_now_add=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('imported_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('images', models.ManyToManyField(to='tasks.image')),
            ],
            options={
                'ordering': ['name', '-version'],
                'constraints': [models.UniqueConstraint(fields=('name', 'version'), name='one_task_per_version'), models.UniqueConstraint(fields=('name', 'content_hash'), name='changed_content_makes_a_new_version')],
            },
        ),
        migrations.CreateModel(
            name='TaskMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task_name', models.CharField(max_length=60)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='task_memberships', to=settings.AUTH_USER_MODEL)),
                ('added_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('added_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['task_name', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('task_name', 'user'), name='somebody_is_in_the_team_of_a_task_once', violation_error_message='This person is already in the team.')],
            },
        ),
        migrations.CreateModel(
            name='LanguageModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, unique=True, validators=[django.core.validators.RegexValidator('\\A[A-Za-z0-9][A-Za-z0-9._-]*\\Z', 'Use letters, digits, dots, hyphens and underscores, such as T5-Large.')])),
                ('title', models.CharField(blank=True, max_length=200)),
                ('link', models.CharField(blank=True, max_length=500, validators=[django.core.validators.URLValidator(schemes=['http', 'https'])])),
                ('parameters', models.PositiveBigIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)])),
                ('size_class', models.CharField(blank=True, choices=[('', 'other, or not stated'), ('base', 'base'), ('large', 'large')], default='', max_length=10)),
                ('external_labelled', models.CharField(blank=True, choices=[('', 'not stated'), ('no', 'no'), ('yes', 'yes')], default='', max_length=3)),
                ('external_unlabelled', models.CharField(blank=True, choices=[('', 'not stated'), ('no', 'no'), ('yes', 'yes')], default='', max_length=3)),
                ('uploaded_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uploaded_models', to=settings.AUTH_USER_MODEL)),
                ('uploaded_at', models.DateTimeField(auto_now_add=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.CheckConstraint(condition=models.Q(('size_class__in', ['', 'base', 'large'])), name='a_model_is_of_a_known_size_class', violation_error_message='Choose one of these: other, or not stated, base, large.'), models.CheckConstraint(condition=models.Q(('external_labelled__in', ['', 'no', 'yes'])), name='a_model_says_if_it_had_labelled_data', violation_error_message='Choose one of these: not stated, no, yes.'), models.CheckConstraint(condition=models.Q(('external_unlabelled__in', ['', 'no', 'yes'])), name='a_model_says_if_it_had_unlabelled_data', violation_error_message='Choose one of these: not stated, no, yes.')],
            },
        ),
        migrations.CreateModel(
            name='TaskUpload',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uploads', to=settings.AUTH_USER_MODEL)),
                ('card_name', models.CharField(blank=True, max_length=40)),
                ('refused', models.JSONField(default=list)),
                ('revision', models.PositiveIntegerField(default=0)),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='tasks.job')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='TaskReport',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='data_report', serialize=False, to='tasks.task')),
                ('content', models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name='UnfinishedImport',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='unfinished', serialize=False, to='tasks.task')),
                ('begun_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Split',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='splits', to='tasks.task')),
                ('kind', models.CharField(choices=[('train', 'Train'), ('dev', 'Dev'), ('test', 'Test'), ('check', 'Check')], max_length=5)),
                ('shots', models.PositiveIntegerField(null=True)),
                ('number', models.PositiveIntegerField(null=True)),
                ('filename', models.CharField(max_length=200)),
            ],
            options={
                'ordering': ['task', 'kind', 'shots', 'number'],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['train', 'dev', 'test', 'check'])), name='a_split_is_of_a_known_kind', violation_error_message='Choose one of these: Train, Dev, Test, Check.'), models.UniqueConstraint(fields=('task', 'kind', 'shots', 'number'), name='one_training_split_per_shots_and_number'), models.UniqueConstraint(condition=models.Q(('kind', 'test')), fields=('task',), name='one_test_split_per_task'), models.UniqueConstraint(condition=models.Q(('kind', 'check')), fields=('task',), name='one_file_of_checks_per_task'), models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['train', 'dev']), ('number__gt', 0), ('number__isnull', False), ('shots__gt', 0), ('shots__isnull', False)), models.Q(('kind__in', ['test', 'check']), ('number__isnull', True), ('shots__isnull', True)), _connector='OR'), name='only_a_training_split_has_shots_and_number')],
            },
        ),
        migrations.CreateModel(
            name='PredictionFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='files', to='tasks.languagemodel')),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='prediction_files', to='tasks.task')),
                ('shots', models.PositiveIntegerField(null=True)),
                ('split_number', models.PositiveIntegerField(null=True)),
                ('filename', models.CharField(max_length=255)),
                ('sha256', models.CharField(max_length=64)),
                ('remarks', models.JSONField()),
                ('numbering', models.CharField(blank=True, choices=[('', 'not stated'), ('published', 'as published'), ('rechained', 'renumbered so that they nest')], default='', max_length=10)),
                ('seen_test', models.CharField(blank=True, choices=[('', 'not stated'), ('no', 'no'), ('maybe', 'not known'), ('yes', 'yes')], default='', max_length=10)),
                ('predicted_on', models.DateField(null=True)),
                ('revision', models.CharField(blank=True, default='', max_length=100)),
                ('method', models.CharField(blank=True, choices=[('', 'not stated'), ('FT', 'fine-tuning'), ('PT', 'prompt-based fine-tuning'), ('ICL', 'in-context learning'), ('other', 'other')], default='', max_length=5)),
                ('tuning', models.CharField(blank=True, choices=[('', 'not stated'), ('fixed', 'fixed in advance'), ('training', 'on the training data'), ('held-out', 'on held-out data')], default='', max_length=10)),
                ('arm', models.CharField(blank=True, default='', max_length=20)),
                ('witness', models.BooleanField(default=False)),
                ('uploaded_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['model__name', 'task__name', '-task__version', 'shots', 'split_number', 'arm'],
                'constraints': [models.CheckConstraint(condition=models.Q(('numbering__in', ['', 'published', 'rechained'])), name='predictions_have_a_known_numbering', violation_error_message='Choose one of these: not stated, as published, renumbered so that they nest.'), models.CheckConstraint(condition=models.Q(('seen_test__in', ['', 'no', 'maybe', 'yes'])), name='predictions_say_whether_the_test_was_seen', violation_error_message='Choose one of these: not stated, no, not known, yes.'), models.CheckConstraint(condition=models.Q(('method__in', ['', 'FT', 'PT', 'ICL', 'other'])), name='predictions_have_a_known_method', violation_error_message='Choose one of these: not stated, fine-tuning, prompt-based fine-tuning, in-context learning, other.'), models.CheckConstraint(condition=models.Q(('tuning__in', ['', 'fixed', 'training', 'held-out'])), name='predictions_say_how_settings_were_chosen', violation_error_message='Choose one of these: not stated, fixed in advance, on the training data, on held-out data.'), models.CheckConstraint(condition=models.Q(('arm', ''), ('arm__regex', '\\A[a-z0-9][a-z0-9.-]{0,19}\\Z'), _connector='OR'), name='predictions_have_a_named_arm_or_none', violation_error_message='Enter the name of an arm, such as upstream.'), models.UniqueConstraint(models.F('model'), models.F('task'), models.F('shots'), models.F('split_number'), models.Case(models.When(arm='direct', then=models.Value('')), default=models.F('arm')), name='a_model_predicts_once_per_task_shots_split_and_arm'), models.UniqueConstraint(models.F('model'), models.F('task'), models.Case(models.When(arm='direct', then=models.Value('')), default=models.F('arm')), condition=models.Q(('shots', 0)), name='a_model_predicts_once_per_task_and_arm_at_zero_shots'), models.UniqueConstraint(condition=models.Q(('shots__isnull', True)), fields=('model', 'task'), name='a_model_predicts_once_per_task_fully_supervised'), models.CheckConstraint(condition=models.Q(models.Q(models.Q(('shots', 0), ('shots__isnull', True), _connector='OR'), ('split_number__isnull', True)), models.Q(('shots__gt', 0), ('shots__isnull', False), ('split_number__gt', 0), ('split_number__isnull', False)), _connector='OR'), name='zero_shots_means_no_split_of_predictions')],
            },
        ),
        migrations.CreateModel(
            name='Example',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('split', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='examples', to='tasks.split')),
                ('position', models.PositiveIntegerField()),
                ('source_id', models.CharField(max_length=200)),
                ('context', models.JSONField()),
                ('question', models.TextField(blank=True)),
                ('gold', models.JSONField()),
                ('gold_starts', models.JSONField(null=True)),
                ('explanation', models.TextField(blank=True, default='')),
                ('options', models.JSONField(blank=True, default=list)),
                ('stratum', models.CharField(blank=True, default='', max_length=100)),
                ('content_hash', models.CharField(db_index=True, max_length=64)),
            ],
            options={
                'ordering': ['split', 'position'],
                'constraints': [models.UniqueConstraint(fields=('split', 'position'), name='one_example_per_position_in_a_split'), models.UniqueConstraint(fields=('split', 'source_id'), name='an_id_is_unique_inside_its_file')],
            },
        ),
        migrations.CreateModel(
            name='Prediction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='predictions', to='tasks.predictionfile')),
                ('example', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='predictions', to='tasks.example')),
                ('predicted', models.JSONField()),
                ('s1', models.FloatField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('file', 'example'), name='one_prediction_per_file_and_example')],
            },
        ),
    ]
