"""Each field with choices has a CHECK constraint, so the database refuses any other value."""

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from analysis.examples import gold_audit
from annotation import guards
from annotation.models import (
    OPTIONS,
    AccessRule,
    ArmTaken,
    Channel,
    Confidence,
    Decision,
    Delivery,
    ExitAnswers,
    Invitation,
    LedgerEntry,
    Member,
    Notice,
    OwnAnswer,
    PaymentBatch,
    RefusedArrival,
    Study,
    UpstreamExample,
    Webhook,
)
from annotation.models.records import ModelRun
from tasks.models import Job
from tasks.models.choices import LanguageField
from tests import factories

FIELDS = {
    f"{model.__name__}.{field.name}": (model, field.name)
    for app in ("annotation", "tasks")
    for model in apps.get_app_config(app).get_models()
    for field in model._meta.local_fields
    # Languages are added with their catalogues, without a migration.
    if field.choices and not isinstance(field, LanguageField)
}


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Store at least one row of each model that has a field with choices."""
    researcher, other_researcher = module_researcher, get_user_model().objects.create_user("grace")
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[2])
    factories.predict(researcher, "toy", task, 2, 1)
    participation = factories.seat(study.scenarios.get())
    factories.work_through(participation, limit=1)
    mine = {"participation": participation}
    Confidence.objects.create(
        turn=participation.turns.first(), value=3, seconds=1, given_at=timezone.now(),
        channel=Channel.PAGE,
    )  # fmt: skip
    Member.objects.create(study=study, user=other_researcher, role="analyst")
    AccessRule.objects.create(
        study=study, effect="deny", criterion="task", value="toy-places", made_by=researcher
    )
    Decision.objects.create(**mine, about="pay", outcome=True, reason="a test")
    OwnAnswer.objects.create(**mine, moment="before", question="age", answer="30")
    ExitAnswers.objects.create(**mine, seen_before="no", ai_used="")
    LedgerEntry.objects.create(**mine, kind="bonus", cents=1, currency="USD", reason="a test")
    PaymentBatch.objects.create(study=study, method="hand")
    Job.objects.create(kind="bootstrap", key="k", parameters={}, total=1)
    ArmTaken.objects.create(study=study, worker_key="k", arm="direct")
    gold_audit.add(study, task.test_split.examples.first(), "a test", researcher, "wrong")
    UpstreamExample.objects.create(
        study=study, arm="sham", task=task, example=task.test_split.examples.first(), position=0
    )
    RefusedArrival.objects.create(study=study, reason="met", number=1)
    now = timezone.now()
    webhook = Webhook.objects.create(
        study=study, url="https://example.org", events=[], secret="s", made_by=researcher,
        created_at=now,
    )  # fmt: skip
    Delivery.objects.create(
        webhook=webhook, event="job.done", subject="job 1", body={}, next_at=now, created_at=now
    )
    ModelRun.objects.create(
        **mine, template="t", examples="answered", context="each", retries=0, input_tokens=0,
        output_tokens=0, answers=1, invalid=0, refusals=0, seconds=1.0,
    )  # fmt: skip
    Invitation.objects.create(
        study=study, role="analyst", digest="d", made_by=researcher, created_at=now, expires_at=now
    )
    Notice.objects.create(
        user=researcher, study=study, about="first", subject="s", what="w", page="study",
        created_at=now,
    )  # fmt: skip


@pytest.fixture
def rows(stored, db):
    guards.lift(connection)  # so that only the constraints can refuse


def own_check(model: type[models.Model], field: str) -> str:
    """Return the name of the constraint on only this field."""
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.CheckConstraint) and isinstance(constraint.condition, Q):
            children = constraint.condition.children
            if len(children) == 1 and children[0][0] == f"{field}__in":
                return constraint.name
    return "none"


@pytest.mark.parametrize(("model", "field"), FIELDS.values(), ids=FIELDS)
def test_the_database_refuses_a_value_that_is_not_a_choice(rows, model, field):
    row = model.objects.all()[:1]
    assert row, "add a row of this model to the fixture"
    values = model.objects.filter(pk=row[0].pk)
    with pytest.raises(IntegrityError, match=own_check(model, field)), transaction.atomic():
        values.update(**{field: "?"})
    values.update(**{field: getattr(row[0], field)})  # the control


@pytest.mark.parametrize("name", [name for name, field in OPTIONS.items() if field.choices])
def test_the_database_refuses_an_option_that_is_not_a_choice(rows, name):
    options = Study.objects.get().options
    check = own_check(Study, f"options__{name}")
    with pytest.raises(IntegrityError, match=check), transaction.atomic():
        Study.objects.update(options=options | {name: "?"})
    Study.objects.update(options=options)  # the control
