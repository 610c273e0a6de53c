"""Tags: words by which studies, tasks and models are found again; no number depends on them."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from tasks import teams
from tasks.models import LanguageModel, Task

MOST = 10  # tags of one study, task or model
LONGEST = 30  # characters of one tag
HELP = f"Words to find it by, commas between them: up to {MOST}, of up to {LONGEST} characters."


class TagError(ValueError):
    """Tags that are not taken; `problems` are sentences for their writer, all of them."""

    def __init__(self, problems: list[str]):
        super().__init__(" ".join(problems))
        self.problems = problems


def parse(text: str) -> list[str]:
    """The tags of "Pilot, spring  2026": in lower case, each once, in alphabetical order.

    Raises TagError where there are too many or some are too long.
    """
    tags = sorted({_plain(tag) for tag in text.split(",")} - {""})
    if len(tags) > MOST:
        raise TagError([f"{len(tags)} tags, but there can be at most {MOST}."])
    if problems := [
        f"“{tag}” has {len(tag)} characters; a tag has at most {LONGEST}."
        for tag in tags
        if len(tag) > LONGEST
    ]:
        raise TagError(problems)
    return tags


def _plain(tag: str) -> str:
    return " ".join(tag.split()).casefold()


def with_tag(rows: QuerySet[Any], tag: str) -> QuerySet[Any]:
    """The studies, tasks or models with this tag, however it is written."""
    wanted = _plain(tag)
    return rows.filter(pk__in=[pk for pk, tags in rows.values_list("pk", "tags") if wanted in tags])


def in_words(tags: Iterable[str]) -> str:
    """As they are typed: commas between them."""
    return ", ".join(tags)


def of_task(name: str, tags: list[str], by: User) -> None:
    """Set those of a task, of all its versions alike, by its team. Raises teams.NotInTeam."""
    teams.check(name, by)
    Task.with_unfinished.filter(name=name).update(tags=tags)


def of_model(model: LanguageModel, tags: list[str]) -> None:
    """Set those of a model, for its uploader."""
    model.tags = tags
    model.save(update_fields=["tags"])
