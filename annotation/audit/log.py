"""The audit log's columns, and entries for changes made by `tasks` and Django.

Readers see the log of their study, and superusers that of the server. Only payers see entries about
pay.

`tasks` and Django don't import the log, so this module listens to their signals. They are sent
within the transaction, and cover pages, the API, jobs and commands.
"""

import json
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from annotation.models import ApiToken, AuditEntry, Panel, Study, Topic
from annotation.models.accounts import AuditQuerySet
from tasks.columns import declared
from tasks.models import LanguageModel, PredictionFile, Split, TaskMember, UnfinishedImport


def in_words(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "; ".join(f"{name}: {_plain(part)}" for name, part in value.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Columns for the CSV file and the API.
COLUMNS = declared(
    __file__, "audit_log", by=lambda entry: entry.by.get_username() if entry.by else ""
)


def study_entries(study: Study) -> AuditQuerySet:
    """Return the log entries that a reader of the study (visible_to) may see, newest first."""
    return study.events.readable_by(study.rights).select_related("by").order_by("-at", "-pk")


# Entries about changes made by `tasks` and Django.

record = AuditEntry.objects.record


@receiver(post_delete, sender=UnfinishedImport)
def task_imported(instance: UnfinishedImport, origin: Any, **_kwargs: Any) -> None:
    """Record an import when this row is deleted, unless its task is deleted, too (abandoned)."""
    model = origin.model if isinstance(origin, QuerySet) else type(origin)
    if model is UnfinishedImport:
        task = instance.task
        after = {"version": task.version, "content": task.content_hash}
        record("task imported", Topic.TASK, about=str(task), after=after, by=task.imported_by)


@receiver(post_save, sender=Split)
def checks_attached(instance: Split, created: bool, **_kwargs: Any) -> None:
    if created and instance.kind == Split.Kind.CHECK:
        record("attention checks attached", Topic.TASK, about=str(instance.task))


@receiver(post_save, sender=TaskMember)
def task_member_added(instance: TaskMember, created: bool, **_kwargs: Any) -> None:
    if created:
        after = {"member": str(instance.user)}
        record("added to a task's team", Topic.TASK, about=instance.task_name, after=after)


@receiver(post_save, sender=PredictionFile)
def predictions_stored(instance: PredictionFile, created: bool, **_kwargs: Any) -> None:
    if created:
        record("predictions stored", Topic.MODEL, about=f"{instance.model.name}: {instance}")


@receiver(post_delete, sender=PredictionFile)
def predictions_deleted(instance: PredictionFile, **_kwargs: Any) -> None:
    record("predictions deleted", Topic.MODEL, about=f"{instance.model.name}: {instance}")


@receiver(post_delete, sender=LanguageModel)
def model_deleted(instance: LanguageModel, **_kwargs: Any) -> None:
    record("model deleted", Topic.MODEL, about=instance.name)


@receiver(post_save, sender=ApiToken)
def token_made(instance: ApiToken, created: bool, **_kwargs: Any) -> None:
    if created:
        after = {"scopes": instance.scopes, "expires_at": instance.expires_at}
        record("API token created", Topic.ACCOUNT, study=instance.study, about=instance.name,
               after=after, by=instance.owner)  # fmt: skip


@receiver(post_save, sender=Panel)
def panel_stored(instance: Panel, created: bool, **_kwargs: Any) -> None:
    event = "platform added" if created else "platform changed"
    record(event, Topic.PLATFORM, study=instance.study, about=instance.name, after=fields(instance))


def fields(row: Model) -> dict[str, Any]:
    """Return the fields of a row as a dict, without keys, references, payment codes and URLs."""
    return {
        field.name: getattr(row, field.name)
        for field in row._meta.concrete_fields
        if not (field.primary_key or field.is_relation or field.name.endswith(("code", "url")))
    }


@receiver(post_save, sender=User)
def account_made(instance: User, created: bool, **_kwargs: Any) -> None:
    if created:
        record("account created", Topic.ACCOUNT, about=instance.get_username())
