"""Task teams, whose members may add versions and attach checks.

The team consists of the user who imported the first version, and any users added since. All users
may read a task and use any of its versions in a study. A task without an owner (imported on the
command line without --owner, or before tasks had teams) belongs to superusers, who can add others.
"""

from django.contrib.auth.models import User

from tasks.clock import database_now
from tasks.models import LanguageModel, Task, TaskMember


class NotInTeam(Exception):
    """Raised if the user is not in the task's team. The message is shown to users."""

    def __init__(self, name: str):
        super().__init__(
            f"The task {name} belongs to other researchers. Only its team can add versions or"
            " attach checks. Ask to join the team, or choose another name in the card."
        )


class TeamError(ValueError):
    """Raised if a user couldn't be added. The message gives the reason."""


def owner(name: str) -> User | None:
    versions = Task.with_unfinished.filter(name=name).select_related("imported_by")
    first = versions.order_by("version").first()
    return first.imported_by if first else None


def may_change(name: str, user: User | None) -> bool:
    """Return whether a user (None: command line) may change a task. Anyone may create one."""
    if user is None or user.is_superuser or not Task.with_unfinished.filter(name=name).exists():
        return True
    return owner(name) == user or TaskMember.objects.filter(task_name=name, user=user).exists()


def check(name: str, user: User | None) -> None:
    """Raise NotInTeam unless the user may change the task."""
    if not may_change(name, user):
        raise NotInTeam(name)


def add(name: str, username: str, by: User) -> None:
    """Add a user to a task's team. Raises NotInTeam and TeamError."""
    check(name, by)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise TeamError(f"The account {username!r} does not exist.")
    TaskMember.objects.get_or_create(task_name=name, user=user, defaults={"added_by": by})


def set_archived(row: Task | LanguageModel, is_archived: bool) -> None:
    if (row.archived_at is not None) != is_archived:
        row.archived_at = database_now() if is_archived else None
        row.save(update_fields=["archived_at"])


def archive_task(task: Task, is_archived: bool, by: User) -> None:
    """Archive or restore a task version as a member of its team. Raises NotInTeam."""
    check(task.name, by)
    set_archived(task, is_archived)
