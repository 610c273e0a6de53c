"""Storing a researcher's answers to the report form."""

import hashlib
import json
from collections.abc import Mapping

from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import AuditEntry, ReportAnswer, Study, Topic


class StaleAnswers(ValueError):
    """Someone else has answered the same items in the meantime."""


def versions(study: Study) -> str:
    """Return hashes of the stored answers by item, as JSON for a form field."""
    stored = study.report_answers.values_list("item", "text")
    return json.dumps({item: _mark(text) for item, text in stored}, sort_keys=True)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8] if text else ""


def touched(answers: Mapping[str, str], made_from: str) -> dict[str, str]:
    """Return the answers that differ from `made_from`, the `versions` of the rendered page."""
    marks = _parse(made_from)
    texts = {item: text.replace("\r\n", "\n").strip() for item, text in answers.items()}
    return {item: text for item, text in texts.items() if _mark(text) != marks.get(item, "")}


def save(study: Study, answers: Mapping[str, str], by: User, made_from: str = "") -> int:
    """Store either all of the changed answers or none. Answers set to "" are deleted.

    `made_from` is what `versions` returned when the page was rendered, which defaults to no
    answers. Returns the number of changes. Raises StaleAnswers.
    """
    marks = _parse(made_from)
    # If two owners save at the same time, the second one sees the answers of the first.
    with Study.locking(study.pk):
        stored = dict(study.report_answers.values_list("item", "text"))
        edits = touched(answers, made_from).items()
        changed = {item: text for item, text in edits if text != stored.get(item, "")}
        stale = [i for i in changed if _mark(stored.get(i, "")) != marks.get(i, "")]
        if stale:
            raise StaleAnswers(
                "Answered in another tab or by another owner after this page was opened: "
                + "; ".join(f"item {i}, now “{stored.get(i, '')[:300]}”" for i in stale)
                + ". Saving again overwrites it."
            )
        for item, text in changed.items():
            if not text:
                study.report_answers.filter(item=item).delete()
                continue
            ReportAnswer.objects.update_or_create(
                study=study, item=item, defaults={"text": text, "by": by, "at": timezone.now()}
            )
        if changed:
            AuditEntry.objects.record(
                "answers to the report's checklist", Topic.RESULTS, study=study, by=by,
                before={i: stored.get(i, "") for i in changed}, after=changed,
            )  # fmt: skip
    return len(changed)


def _parse(made_from: str) -> dict[str, str]:
    """Parse the hashes by item, or return {} if they are invalid."""
    try:
        marks = json.loads(made_from)
    except (ValueError, RecursionError):
        return {}
    return marks if isinstance(marks, dict) else {}
