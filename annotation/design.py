"""From draft to closed: the rules of a design, its scenarios, and the freezing at opening."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotation.models import Scenario, Study
from tasks.formats import canonical
from tasks.metrics import recipe
from tasks.models import Task
from tasks.spans import TOKENISER

# action -> (from which status, to which status)
TRANSITIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "open": (("draft",), "open"),
    "pause": (("open",), "paused"),
    "reopen": (("paused",), "open"),
    "close": (("open", "paused"), "closed"),
    "draft": (("open", "paused"), "draft"),
}


class DesignError(Exception):
    """A change of status that the study does not allow now; the text is for people."""


def check_design(study: Study, tasks: Sequence[Task]) -> None:
    """Raise ValidationError with the reason at each field that breaks a rule."""
    study.clean_fields(exclude=["owner"])


def save_draft(study: Study, tasks: Sequence[Task]) -> None:
    """Check and save a draft, with its scenarios."""
    with transaction.atomic():
        study.save()
        study.tasks.set(tasks)
        study.scenarios.all().delete()
        Scenario.objects.bulk_create(
            Scenario(
                study=study,
                task=task,
                shots=shots,
                split_number=study.split_number if shots else None,
                seats=study.annotators,
            )
            for task in tasks
            for shots in study.shots
        )


def build_manifest(study: Study) -> dict[str, Any]:
    return {"study": study.name, "recipe": [recipe(t.card.gold_rule) for t in study.tasks.all()], "tokeniser": TOKENISER}


def change_status(study: Study, action: str) -> None:
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        allowed, target = TRANSITIONS[action]
        if locked.status not in allowed:
            raise DesignError(f"A study that is {locked.status} cannot be changed to {target}.")
        study.status = target
        if action == "open":
            text = canonical(build_manifest(study)).decode()
            study.manifest = text
            study.manifest_hash = hashlib.sha256(text.encode()).hexdigest()
            study.opened_at = timezone.now()
        if action == "draft":
            study.manifest = study.manifest_hash = ""
        study.save()
