import datetime
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import functools
import secrets
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tasks', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(choices=[('training', 'training step'), ('annotation', 'annotation step'), ('check', 'attention check')], max_length=10)),
                ('position', models.PositiveIntegerField()),
                ('shown_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('worked_before', models.DurationField(default=datetime.timedelta)),
                ('example', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='turns', to='tasks.example')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ConsentText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('since', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['study', 'version'],
            },
        ),
        migrations.CreateModel(
            name='KeyCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=20, unique=True)),
                ('value', models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='Participation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('person', 'people'), ('simulated', 'simulated annotators'), ('model', 'models')], max_length=10)),
                ('token', models.CharField(default=functools.partial(secrets.token_urlsafe, *(18,), **{}), max_length=40, unique=True)),
                ('pseudonym', models.CharField(max_length=20)),
                ('status', models.CharField(choices=[('arrived', 'has a seat, not yet consented'), ('working', 'at work'), ('waiting', 'waiting for a decision after the training step'), ('between', 'between two parts'), ('completed', 'completed'), ('screened_out', 'screened out'), ('returned', 'returned the seat'), ('expired', 'exceeded the idle limit'), ('refused', 'had already done this task'), ('withdrawn', 'withdrew'), ('rejected', 'rejected on the platform')], default='arrived', max_length=12)),
                ('seat_number', models.PositiveIntegerField(null=True)),
                ('in_analysis', models.BooleanField(default=True)),
                ('is_paid', models.BooleanField(default=True)),
                ('training_order', models.JSONField(default=list)),
                ('annotation_order', models.JSONField(default=list)),
                ('checks', models.JSONField(default=list)),
                ('completion_code', models.CharField(max_length=20)),
                ('arrived_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('consented_at', models.DateTimeField(null=True)),
                ('returned_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('comprehension_attempts_used', models.PositiveIntegerField(default=0)),
                ('comprehended_at', models.DateTimeField(null=True)),
                ('qualified', models.BooleanField(null=True)),
                ('waiting_since', models.DateTimeField(null=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('worked_seconds', models.FloatField(null=True)),
                ('signs', models.JSONField(null=True)),
                ('browser', models.CharField(blank=True, max_length=64)),
                ('part', models.PositiveSmallIntegerField(default=0)),
                ('consent_text', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.consenttext')),
            ],
            options={
                'ordering': ['study', 'scenario', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='ProlificStudy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.PositiveSmallIntegerField(default=0)),
                ('until', models.PositiveIntegerField(null=True)),
                ('name', models.CharField(max_length=120)),
                ('code', models.CharField(default=functools.partial(secrets.token_urlsafe, *(12,), **{}), max_length=40, unique=True)),
                ('external_id', models.CharField(max_length=40, null=True, unique=True)),
                ('status', models.CharField(default='not created', max_length=20)),
                ('reward_cents', models.PositiveIntegerField()),
                ('screen_out_cents', models.PositiveIntegerField(default=0)),
                ('minutes', models.PositiveIntegerField()),
                ('max_minutes', models.PositiveIntegerField()),
                ('places', models.PositiveIntegerField()),
                ('codes', models.JSONField(default=dict)),
                ('signed', models.BooleanField(default=False)),
                ('signing_keys', models.JSONField(default=dict)),
                ('qualified_group', models.CharField(blank=True, max_length=40)),
                ('blocklist_id', models.CharField(blank=True, max_length=40)),
                ('blocklist_size', models.PositiveIntegerField(default=0)),
                ('creation', models.CharField(blank=True, max_length=32)),
                ('creation_until', models.DateTimeField(null=True)),
                ('pause_reason', models.CharField(blank=True, max_length=200)),
                ('paused_here', models.BooleanField(default=False)),
                ('returns_open', models.PositiveIntegerField(default=0)),
                ('returns_until', models.DateTimeField(null=True)),
                ('approved_unknown', models.PositiveIntegerField(default=0)),
            ],
            options={
                'verbose_name_plural': 'Prolific studies',
                'ordering': ['study', 'part', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Used in links and files: lower-case letters, digits and hyphens.', max_length=60, unique=True, validators=[django.core.validators.RegexValidator('\\A[a-z0-9][a-z0-9-]*\\Z', 'Use lower-case letters, digits and hyphens, such as mnli-pilot.')])),
                ('title', models.CharField(help_text='Shown to annotators.', max_length=120)),
                ('status', models.CharField(choices=[('draft', 'Draft'), ('open', 'Open'), ('paused', 'Paused'), ('closed', 'Closed')], default='draft', max_length=8)),
                ('shots', models.JSONField(default=list, help_text='Numbers separated by spaces, such as 0 10 20 30. At 0 there is no training step.')),
                ('split_number', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1)], verbose_name='number of the training split')),
                ('annotators', models.PositiveIntegerField(default=3, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='annotators per scenario')),
                ('training_order', models.CharField(choices=[('shuffled_apart', 'shuffled, with examples of the same context kept apart'), ('contexts_together', 'contexts shuffled, with the examples of a context kept together'), ('file_order', 'in file order')], default='shuffled_apart', max_length=20)),
                ('annotation_order', models.CharField(choices=[('shuffled_apart', 'shuffled, with examples of the same context kept apart'), ('contexts_together', 'contexts shuffled, with the examples of a context kept together'), ('file_order', 'in file order')], default='shuffled_apart', max_length=20)),
                ('tasks_per_worker', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1)])),
                ('help_examples_at_zero_shots', models.BooleanField(default=False, verbose_name='show the examples of the help windows at zero shots')),
                ('hourly_rate', models.DecimalField(decimal_places=2, default=Decimal('12.00'), help_text='Everybody earns at least this rate for the time worked, even if they end early. 0 for volunteers.', max_digits=7, validators=[django.core.validators.MinValueValidator(Decimal('0'))])),
                ('currency', models.CharField(default='USD', max_length=3, validators=[django.core.validators.RegexValidator('\\A[A-Z]{3}\\Z', 'Use a three-letter code, such as USD.')])),
                ('estimated_minutes', models.PositiveIntegerField(default=60, validators=[django.core.validators.MinValueValidator(1)])),
                ('idle_limit_hours', models.PositiveIntegerField(default=48, help_text='After this time without an answer, the seat is released.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='idle limit (hours)')),
                ('base_reward', models.DecimalField(decimal_places=2, default=Decimal('0'), help_text='Minimum earnings of annotators who complete the study.', max_digits=7, validators=[django.core.validators.MinValueValidator(Decimal('0'))])),
                ('minimum_pay', models.DecimalField(decimal_places=2, default=Decimal('0'), help_text='Minimum earnings of annotators who have seen an example.', max_digits=7, validators=[django.core.validators.MinValueValidator(Decimal('0'))])),
                ('max_paid_hours', models.DecimalField(blank=True, decimal_places=1, help_text='Caps the earnings of one person, including waiting time and top-ups; shown to annotators. Required to open a study that pays by the hour.', max_digits=5, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0.1'))], verbose_name='maximum paid hours')),
                ('budget', models.DecimalField(blank=True, decimal_places=2, help_text='A seat is assigned only while the budget covers the cap for everybody seated and one more. Required to open a paid study; platform fees are extra.', max_digits=9, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='budget of the study')),
                ('idle_cutoff_seconds', models.PositiveIntegerField(default=60, help_text='Longest gap between two signs of work that counts as active time (the page sends one every 20 seconds while it is used).', validators=[django.core.validators.MinValueValidator(10), django.core.validators.MaxValueValidator(600)], verbose_name='idle cut-off (seconds)')),
                ('consent_text', models.TextField(default='You are invited to take part in a study of how well people perform a language task after seeing a few examples. You will read short texts and answer questions about them.\n\nParticipation is voluntary. You can stop at any time by closing the page. We store your answers and the times at which you gave them under a random pseudonym that does not reveal who you are.\n\nPlease work on your own, without the help of other people, search engines or AI tools.', help_text='Markdown. Changing the text creates a new version.')),
                ('comprehension_questions', models.TextField(blank=True, help_text='Optional, asked before the first example: each question is followed by its options, one per line, beginning with - or, for the correct one, with *. Separate questions by a blank line.')),
                ('comprehension_attempts', models.PositiveIntegerField(default=2, validators=[django.core.validators.MinValueValidator(2), django.core.validators.MaxValueValidator(10)], verbose_name='attempts at the comprehension questions')),
                ('qualification', models.CharField(choices=[('none', 'nobody is screened out'), ('minimum', 'a mean training S1 of at least the threshold'), ('points_below', "at most the threshold (in points) below the others' mean"), ('sds_below', "at most the threshold (in SDs) below the others' mean"), ('researcher', 'a researcher decides while the annotator waits')], default='none', help_text='Declared before the study opens. Annotators who are screened out are paid for their time.', max_length=12, verbose_name='after the training step')),
                ('qualification_threshold', models.FloatField(blank=True, help_text="a mean training S1 of at least the threshold: 0 to 100, such as 60; at most the threshold (in points) below the others' mean: 0 to 100 points, such as 20; at most the threshold (in SDs) below the others' mean: 0 to 10 standard deviations, such as 2", null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='threshold of this rule')),
                ('max_screen_outs_in_a_row', models.PositiveIntegerField(blank=True, default=5, help_text='The study then pauses automatically until you reopen it. Empty: never.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='pause after this many screen-outs in a row')),
                ('decision_minutes', models.PositiveIntegerField(default=15, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(240)], verbose_name='decision time limit (minutes)')),
                ('attention_checks', models.PositiveIntegerField(default=0, help_text="Taken from the task's file of attention checks; excluded from S1.", verbose_name='attention checks per annotator')),
                ('exit_questionnaire', models.BooleanField(default=False, verbose_name='ask a few questions at the end')),
                ('computer_only', models.BooleanField(default=False, verbose_name='for computers only, not for phones')),
                ('seed', models.PositiveIntegerField(default=functools.partial(secrets.randbelow, *(2147483648,), **{}), help_text='Determines the order of examples and ties between scenarios.')),
                ('link_code', models.CharField(default=functools.partial(secrets.token_urlsafe, *(12,), **{}), max_length=40, unique=True)),
                ('open_link_on', models.BooleanField(default=True, verbose_name='Anybody can join by the open link')),
                ('shared_computers', models.BooleanField(default=False, verbose_name='Several people may take part from one browser')),
                ('simulated_link_code', models.CharField(default=functools.partial(secrets.token_urlsafe, *(12,), **{}), max_length=40, unique=True)),
                ('manifest_hash', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='studies', to=settings.AUTH_USER_MODEL)),
                ('tasks', models.ManyToManyField(related_name='studies', to='tasks.task')),
            ],
            options={
                'verbose_name_plural': 'studies',
                'ordering': ['-created_at'],
                'permissions': [('spend', 'May spend: publish on Prolific, pay, and set budgets above the limit')],
            },
        ),
        migrations.CreateModel(
            name='AccessRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('effect', models.CharField(choices=[('allow', 'allow only'), ('deny', 'exclude')], max_length=5)),
                ('criterion', models.CharField(choices=[('task', 'workers who have seen the task'), ('study', 'workers who qualified in the study'), ('people', 'workers on a list of ids')], max_length=6)),
                ('value', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('made_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_rules', to='annotation.study')),
            ],
            options={
                'ordering': ['created_at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Activity',
            fields=[
                ('turn', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='annotation.turn')),
                ('seconds', models.FloatField(default=0.0)),
                ('last_at', models.DateTimeField()),
                ('blurs', models.PositiveIntegerField(default=0)),
                ('away_seconds', models.FloatField(default=0.0)),
                ('pastes', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('turn', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='annotation.turn')),
                ('no_answer', models.BooleanField()),
                ('label', models.CharField(blank=True, max_length=100)),
                ('s1', models.FloatField()),
                ('tokeniser', models.CharField(max_length=10)),
                ('active_seconds', models.FloatField()),
                ('submitted_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Exposure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker_key', models.CharField(max_length=64)),
                ('task_name', models.CharField(max_length=40)),
                ('since', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('worker_key', 'task_name'), name='a_worker_takes_part_once_per_task')],
            },
        ),
        migrations.CreateModel(
            name='ListedWorker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64)),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='listed', to='annotation.accessrule')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddField(
            model_name='turn',
            name='participation',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='turns', to='annotation.participation'),
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('base', 'base reward'), ('screen_out', 'fixed reward for being screened out'), ('top_up', 'top-up to the hourly rate'), ('partial', 'partial work'), ('waiting', 'waiting for a decision'), ('bonus', 'bonus')], max_length=10)),
                ('cents', models.PositiveIntegerField()),
                ('currency', models.CharField(max_length=3)),
                ('reason', models.CharField(max_length=200)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('participation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ledger', to='annotation.participation')),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ExitAnswers',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seen_before', models.CharField(blank=True, choices=[('no', 'No'), ('yes', 'Yes'), ('unsure', 'Not sure')], max_length=6, verbose_name='Had you seen these texts or this task before?')),
                ('ai_used', models.CharField(blank=True, choices=[('no', 'No'), ('yes', 'Yes'), ('unsure', 'Not sure')], max_length=6, verbose_name='Did you use an AI tool, such as a chatbot?')),
                ('tools', models.TextField(blank=True, verbose_name='Which tools or people helped you, if any?')),
                ('comments', models.TextField(blank=True, verbose_name='Is there anything else that you would like to tell us?')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('participation', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='exit_answers', to='annotation.participation')),
            ],
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('about', models.CharField(choices=[('analysis', 'in the analysis'), ('pay', 'paid'), ('qualification', 'qualified'), ('release', 'released for payment')], max_length=13)),
                ('outcome', models.BooleanField()),
                ('reason', models.TextField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('participation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='annotation.participation')),
            ],
            options={
                'ordering': ['at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='PaymentBatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('method', models.CharField(choices=[('exit', 'paid by the platform at exit'), ('approval', 'approval on Prolific'), ('bonus', 'bonus on Prolific'), ('hand', 'by hand, from a CSV')], max_length=8)),
                ('state', models.CharField(choices=[('prepared', 'Prepared'), ('paying', 'Paying'), ('paid', 'Paid'), ('cancelled', 'Cancelled')], default='prepared', max_length=9)),
                ('external_id', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('paying_since', models.DateTimeField(null=True)),
                ('paid_at', models.DateTimeField(null=True)),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('prolific_study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.prolificstudy')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payment_batches', to='annotation.study')),
            ],
            options={
                'verbose_name_plural': 'payment batches',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='payment', to='annotation.ledgerentry')),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='annotation.paymentbatch')),
            ],
        ),
        migrations.CreateModel(
            name='Scenario',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shots', models.PositiveIntegerField()),
                ('split_number', models.PositiveIntegerField(null=True)),
                ('seats', models.PositiveIntegerField()),
                ('declined', models.PositiveIntegerField(default=0)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scenarios', to='tasks.task')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scenarios', to='annotation.study')),
            ],
            options={
                'ordering': ['study', 'task__name', 'shots'],
            },
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='scenarios',
            field=models.ManyToManyField(related_name='prolific_studies', to='annotation.scenario'),
        ),
        migrations.AddField(
            model_name='participation',
            name='scenario',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participations', to='annotation.scenario'),
        ),
        migrations.CreateModel(
            name='StudyManifest',
            fields=[
                ('study', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='stored_manifest', serialize=False, to='annotation.study')),
                ('text', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='ReportAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('item', models.CharField(max_length=10)),
                ('text', models.TextField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='report_answers', to='annotation.study')),
            ],
            options={
                'ordering': ['study', 'item'],
            },
        ),
        migrations.AddField(
            model_name='prolificstudy',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='prolific_studies', to='annotation.study'),
        ),
        migrations.CreateModel(
            name='PersonalLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('code', models.CharField(default=functools.partial(secrets.token_urlsafe, *(12,), **{}), max_length=40, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='personal_links', to='annotation.study')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddField(
            model_name='participation',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participations', to='annotation.study'),
        ),
        migrations.CreateModel(
            name='Panel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('code', models.CharField(default=functools.partial(secrets.token_urlsafe, *(12,), **{}), max_length=40, unique=True)),
                ('id_parameter', models.CharField(max_length=60)),
                ('submission_parameter', models.CharField(blank=True, max_length=60)),
                ('completed_url', models.CharField(blank=True, max_length=500)),
                ('completed_code', models.CharField(blank=True, max_length=60)),
                ('other_url', models.CharField(blank=True, max_length=500)),
                ('other_code', models.CharField(blank=True, max_length=60)),
                ('turned_away_url', models.CharField(blank=True, max_length=500)),
                ('turned_away_code', models.CharField(blank=True, max_length=60)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='panels', to='annotation.study')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('analyst', 'Analyst'), ('payer', 'Payer')], max_length=7)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='annotation.study')),
            ],
            options={
                'ordering': ['study', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='DeclinedOffer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker_key', models.CharField(max_length=64)),
                ('declined_at', models.DateTimeField()),
                ('scenario', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.scenario')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.study')),
            ],
        ),
        migrations.AddField(
            model_name='consenttext',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consent_texts', to='annotation.study'),
        ),
        migrations.CreateModel(
            name='Allocation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('arrival', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('person', 'people'), ('simulated', 'simulated annotators'), ('model', 'models')], max_length=10)),
                ('candidates', models.JSONField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('scenario', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='allocations', to='annotation.scenario')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='allocations', to='annotation.study')),
            ],
            options={
                'ordering': ['study', 'arrival'],
            },
        ),
        migrations.CreateModel(
            name='StudyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(max_length=200)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='annotation.study')),
            ],
            options={
                'ordering': ['at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Submission',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('platform', models.CharField(max_length=80)),
                ('key', models.CharField(max_length=64, unique=True)),
                ('person', models.TextField(blank=True)),
                ('reference', models.TextField(blank=True)),
                ('status', models.CharField(blank=True, max_length=20)),
                ('outcome', models.CharField(blank=True, max_length=20)),
                ('verified', models.BooleanField(null=True)),
                ('return_requested_at', models.DateTimeField(null=True)),
                ('status_before_rejection', models.CharField(blank=True, max_length=12)),
                ('arrived_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('panel', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='annotation.panel')),
                ('participation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='submissions', to='annotation.participation')),
                ('prolific_study', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='annotation.prolificstudy')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='submissions', to='annotation.study')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='submission',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='ledger', to='annotation.submission'),
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('erased_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('turns_erased', models.PositiveIntegerField()),
                ('participation', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, to='annotation.participation')),
            ],
        ),
        migrations.CreateModel(
            name='WebhookEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.CharField(max_length=100, unique=True)),
                ('resource', models.CharField(blank=True, max_length=100)),
                ('received_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('handled_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('event_id', ''), _negated=True), name='an_event_has_an_id')],
            },
        ),
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64, unique=True)),
                ('platform', models.CharField(max_length=80)),
                ('kind', models.CharField(choices=[('person', 'people'), ('simulated', 'simulated annotators'), ('model', 'models')], max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['person', 'simulated', 'model'])), name='a_worker_is_of_a_known_kind', violation_error_message='Choose one of these: people, simulated annotators, models.')],
            },
        ),
        migrations.AddField(
            model_name='submission',
            name='worker',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='submissions', to='annotation.worker'),
        ),
        migrations.AddField(
            model_name='participation',
            name='worker',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participations', to='annotation.worker'),
        ),
        migrations.CreateModel(
            name='AnswerSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('segment', models.SmallIntegerField()),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('answer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='spans', to='annotation.answer')),
            ],
            options={
                'ordering': ['answer', 'segment', 'start'],
            },
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(('s1__gte', 0.0), ('s1__lte', 1.0)), name='s1_lies_between_0_and_1'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.CheckConstraint(condition=models.Q(('no_answer', False), ('label', ''), _connector='OR'), name='no_answer_means_no_label'),
        ),
        migrations.AddConstraint(
            model_name='listedworker',
            constraint=models.UniqueConstraint(fields=('rule', 'key'), name='a_worker_is_on_a_list_once'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(fields=['participation', '-id'], name='latest_turn'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(condition=models.Q(('step__in', ['training', 'annotation', 'check'])), name='a_turn_belongs_to_a_known_step', violation_error_message='Choose one of these: training step, annotation step, attention check.'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(fields=('participation', 'example'), name='one_turn_per_participation_and_example'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(fields=('participation', 'step', 'position'), name='one_turn_per_position_of_a_step'),
        ),
        migrations.AddConstraint(
            model_name='exitanswers',
            constraint=models.CheckConstraint(condition=models.Q(('seen_before__in', ['no', 'yes', 'unsure', ''])), name='seen_before_is_yes_no_unsure_or_empty', violation_error_message='Choose one of these: No, Yes, Not sure.'),
        ),
        migrations.AddConstraint(
            model_name='exitanswers',
            constraint=models.CheckConstraint(condition=models.Q(('ai_used__in', ['no', 'yes', 'unsure', ''])), name='ai_used_is_known_or_empty', violation_error_message='Choose one of these: No, Yes, Not sure.'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('about__in', ['analysis', 'pay', 'qualification', 'release'])), name='a_decision_is_about_something_known', violation_error_message='Choose one of these: in the analysis, paid, qualified, released for payment.'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='a_decision_has_a_reason', violation_error_message='Give a reason: it is stored in the log.'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['draft', 'open', 'paused', 'closed'])), name='a_study_is_draft_open_paused_or_closed', violation_error_message='Choose one of these: Draft, Open, Paused, Closed.'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('training_order__in', ['shuffled_apart', 'contexts_together', 'file_order'])), name='a_study_trains_in_a_known_order', violation_error_message='Choose one of these: shuffled, with examples of the same context kept apart, contexts shuffled, with the examples of a context kept together, in file order.'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('annotation_order__in', ['shuffled_apart', 'contexts_together', 'file_order'])), name='a_study_annotates_in_a_known_order', violation_error_message='Choose one of these: shuffled, with examples of the same context kept apart, contexts shuffled, with the examples of a context kept together, in file order.'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('qualification__in', ['none', 'minimum', 'points_below', 'sds_below', 'researcher'])), name='a_study_has_a_known_qualification_rule', violation_error_message="Choose one of these: nobody is screened out, a mean training S1 of at least the threshold, at most the threshold (in points) below the others' mean, at most the threshold (in SDs) below the others' mean, a researcher decides while the annotator waits."),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('manifest_hash', ''), ('status', 'draft')), models.Q(models.Q(('status', 'draft'), _negated=True), models.Q(('manifest_hash', ''), _negated=True)), _connector='OR'), name='a_study_is_hashed_exactly_when_it_is_no_draft'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('budget__isnull', True), ('budget__gte', 0), _connector='OR'), name='a_budget_is_an_amount', violation_error_message='Write an amount of at least 0.'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'draft'), _negated=True), ('qualification_threshold__isnull', True), models.Q(('qualification_threshold__gte', 0), ('qualification_threshold__lte', 100)), _connector='OR'), name='a_drafted_threshold_lies_on_its_scale', violation_error_message='The threshold lies between 0 and 100.'),
        ),
        migrations.AddConstraint(
            model_name='scenario',
            constraint=models.UniqueConstraint(fields=('study', 'task', 'shots'), name='one_scenario_per_study_task_and_shots'),
        ),
        migrations.AddConstraint(
            model_name='scenario',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('shots', 0), ('split_number__isnull', True)), models.Q(('shots__gt', 0), ('split_number__gt', 0), ('split_number__isnull', False)), _connector='OR'), name='zero_shots_means_no_training_split'),
        ),
        migrations.AddConstraint(
            model_name='reportanswer',
            constraint=models.UniqueConstraint(fields=('study', 'item'), name='an_item_of_a_report_has_one_answer'),
        ),
        migrations.AddConstraint(
            model_name='prolificstudy',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('creation', ''), ('creation_until__isnull', True)), models.Q(models.Q(('creation', ''), _negated=True), ('creation_until__isnull', False), ('external_id__isnull', True)), _connector='OR'), name='a_creation_ends_and_creates_what_is_not_there_yet'),
        ),
        migrations.AddConstraint(
            model_name='personallink',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='a_name_has_one_personal_link_in_a_study', violation_error_message='This study has a personal link of that name already.'),
        ),
        migrations.AddConstraint(
            model_name='paymentbatch',
            constraint=models.CheckConstraint(condition=models.Q(('method__in', ['exit', 'approval', 'bonus', 'hand'])), name='a_batch_is_paid_by_a_known_method', violation_error_message='Choose one of these: paid by the platform at exit, approval on Prolific, bonus on Prolific, by hand, from a CSV.'),
        ),
        migrations.AddConstraint(
            model_name='paymentbatch',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['prepared', 'paying', 'paid', 'cancelled'])), name='a_batch_is_in_a_known_state', violation_error_message='Choose one of these: Prepared, Paying, Paid, Cancelled.'),
        ),
        migrations.AddConstraint(
            model_name='paymentbatch',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('paid_at__isnull', False), ('state', 'paid')), models.Q(models.Q(('state', 'paid'), _negated=True), ('paid_at__isnull', True)), _connector='OR'), name='a_batch_is_paid_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='panel',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='a_panel_has_a_name_of_its_own', violation_error_message='This study has a platform of that name already.'),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'analyst', 'payer'])), name='a_member_has_a_known_role', violation_error_message='Choose one of these: Owner, Analyst, Payer.'),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.UniqueConstraint(fields=('study', 'user'), name='somebody_has_one_role_in_a_study', violation_error_message='This person is in the team already.'),
        ),
        migrations.AddConstraint(
            model_name='declinedoffer',
            constraint=models.UniqueConstraint(fields=('study', 'worker_key'), name='a_worker_has_one_declined_offer_in_a_study'),
        ),
        migrations.AddConstraint(
            model_name='consenttext',
            constraint=models.UniqueConstraint(fields=('study', 'version'), name='a_version_of_a_consent_text_is_one_text'),
        ),
        migrations.AddConstraint(
            model_name='allocation',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['person', 'simulated', 'model'])), name='an_allocation_is_of_a_known_kind', violation_error_message='Choose one of these: people, simulated annotators, models.'),
        ),
        migrations.AddConstraint(
            model_name='allocation',
            constraint=models.UniqueConstraint(fields=('study', 'arrival'), name='each_arrival_is_allocated_once'),
        ),
        migrations.AddConstraint(
            model_name='accessrule',
            constraint=models.CheckConstraint(condition=models.Q(('effect__in', ['allow', 'deny'])), name='an_access_rule_has_a_known_effect', violation_error_message='Choose one of these: allow only, exclude.'),
        ),
        migrations.AddConstraint(
            model_name='accessrule',
            constraint=models.CheckConstraint(condition=models.Q(('criterion__in', ['task', 'study', 'people'])), name='an_access_rule_has_a_known_criterion', violation_error_message='Choose one of these: workers who have seen the task, workers who qualified in the study, workers on a list of ids.'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['base', 'screen_out', 'top_up', 'partial', 'waiting', 'bonus'])), name='an_entry_is_of_a_known_kind', violation_error_message='Choose one of these: base reward, fixed reward for being screened out, top-up to the hourly rate, partial work, waiting for a decision, bonus.'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(('cents__gt', 0)), name='an_entry_is_an_amount', violation_error_message='Write an amount above 0.'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['person', 'simulated', 'model'])), name='a_participation_is_of_a_known_kind', violation_error_message='Choose one of these: people, simulated annotators, models.'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['arrived', 'working', 'waiting', 'between', 'completed', 'screened_out', 'returned', 'expired', 'refused', 'withdrawn', 'rejected'])), name='a_participation_has_a_known_status', violation_error_message='Choose one of these: has a seat, not yet consented, at work, waiting for a decision after the training step, between two parts, completed, screened out, returned the seat, exceeded the idle limit, had already done this task, withdrew, rejected on the platform.'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.UniqueConstraint(fields=('scenario', 'kind', 'seat_number'), name='a_seat_is_taken_once'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('arrived', 'working', 'waiting', 'between'))), fields=('worker', 'study'), name='a_worker_does_one_task_at_a_time_in_a_study'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.UniqueConstraint(fields=('study', 'pseudonym'), name='a_pseudonym_is_one_participation'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(models.Q(('status__in', ('arrived', 'working', 'waiting', 'between')), models.Q(('in_analysis', True), ('status', 'completed')), _connector='OR'), ('seat_number__gt', 0), ('seat_number__isnull', False)), models.Q(models.Q(models.Q(('status__in', ('arrived', 'working', 'waiting', 'between')), _negated=True), models.Q(('in_analysis', True), ('status', 'completed'), _negated=True)), ('seat_number__isnull', True)), _connector='OR'), name='live_or_analysed_means_seated'),
        ),
        migrations.AddConstraint(
            model_name='answerspan',
            constraint=models.UniqueConstraint(fields=('answer', 'segment', 'start'), name='spans_of_an_answer_start_apart'),
        ),
        migrations.AddConstraint(
            model_name='answerspan',
            constraint=models.CheckConstraint(condition=models.Q(('start__lt', models.F('end'))), name='a_span_starts_before_it_ends'),
        ),
        migrations.AddConstraint(
            model_name='answerspan',
            constraint=models.CheckConstraint(condition=models.Q(('segment__gte', -1)), name='a_span_stands_in_a_segment_or_the_question'),
        ),
    ]
