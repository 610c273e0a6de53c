"""A draft with the design of another study, as a rehearsal if that is wanted."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from annotation.models import Study
from annotation.study import design

LONGEST = 60  # characters of a name


def free_name(source: Study, ending: str) -> str:
    """NAME-ending, with a number where that is taken."""
    base = source.name[: LONGEST - len(ending) - 5]
    name, number = f"{base}-{ending}", 1
    while Study.objects.filter(name=name).exists():
        number += 1
        name = f"{base}-{ending}-{number}"
    return name


def copied(source: Study, owner: User) -> Study:
    """An unsaved draft of that owner with the design of `source`, but for its tasks."""
    fields = {f: getattr(source, f) for f in design.FORM_FIELDS if f not in design.LISTS}
    return Study(owner=owner, **fields)


def clone(source: Study, owner: User, changes: Mapping[str, Any]) -> Study:
    """A draft of that owner with the design of `source` but for these fields.

    Raises ValidationError (fields), and IntegrityError where somebody takes the name meanwhile.
    """
    study = copied(source, owner)
    for field, value in changes.items():
        setattr(study, field, value)
    upstream = list(source.upstream_tasks.all())
    design.save_draft(study, list(source.tasks.all()), upstream=upstream)
    return study
