"""Facts about a model's run, stored once at its end (docs/researchers/models.md)."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.models import Kind, ModelAnnotator, ModelRun, Status
from annotation.protocol.locking import lock


class RunError(ValueError):
    """Why a run is not stored; `code` for programs, the text for people."""

    def __init__(self, code: str, sentence: str):
        super().__init__(sentence)
        self.code = code


def note(token: str, told: Mapping[str, Any]) -> bool:
    """Store the facts of a completed run; False if stored before: the first ones remain.

    `told` has the fields of ModelRun. Raises Participation.DoesNotExist and RunError.
    """
    with transaction.atomic():
        participation = lock(token)
        if participation.kind != Kind.MODEL:
            raise RunError("no_model", "Only the run of a model is noted.")
        if participation.status not in (Status.COMPLETED, Status.SCREENED_OUT):
            raise RunError("not_finished", "A run is noted when it has ended.")
        template = hashlib.sha256(told["template"].encode()).hexdigest()
        model = ModelAnnotator.objects.get(worker=participation.worker_id)
        if template != model.prompt_hash:
            raise RunError("template", "The template is not the one whose hash was given at join.")
        _run, is_new = ModelRun.objects.get_or_create(participation=participation, defaults=told)
        return is_new
