"""What the researcher answers to the report's checklist: kept, shown, and never guessed."""

from collections.abc import Mapping

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from annotation.models import ReportAnswer, Study

LONGEST = 5000  # characters


class ReportAnswerError(ValueError):
    """What cannot be stored; the text names the item."""


def save(study: Study, answers: Mapping[str, str], by: AbstractBaseUser) -> int:
    """Store the answers by item, all or none; an empty one takes an earlier one away.

    Returns how many have changed. Raises ReportAnswerError.
    """
    for item, text in answers.items():
        if len(text) > LONGEST or "\0" in text:
            raise ReportAnswerError(f"Item {item}: keep the answer under {LONGEST} characters.")
    changed = 0
    with transaction.atomic():
        stored = dict(study.report_answers.values_list("item", "text"))
        for item, text in answers.items():
            text = text.replace("\r\n", "\n").strip()
            if text == stored.get(item, ""):
                continue
            changed += 1
            if not text:
                study.report_answers.filter(item=item).delete()
                continue
            ReportAnswer.objects.update_or_create(
                study=study, item=item, defaults={"text": text, "by": by, "at": timezone.now()}
            )
    return changed
