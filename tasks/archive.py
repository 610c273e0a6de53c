"""Archiving: what is archived leaves its list, and nothing else about it changes."""

from django.contrib.auth.models import User

from tasks import teams
from tasks.clock import database_now
from tasks.models import LanguageModel, Task


def set_archived(row: Task | LanguageModel, is_archived: bool) -> None:
    """Archive it, or take it back; a second time changes nothing."""
    if (row.archived_at is not None) != is_archived:
        row.archived_at = database_now() if is_archived else None
        row.save(update_fields=["archived_at"])


def archive_task(task: Task, is_archived: bool, by: User) -> None:
    """The same of a version of a task, by its team. Raises teams.NotInTeam."""
    teams.check(task.name, by)
    set_archived(task, is_archived)
