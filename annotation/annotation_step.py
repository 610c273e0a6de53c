"""The annotation step: the test examples, one after the other, without reveal and without score."""

from django.utils import timezone

from annotation.models import Participation, Step, Turn


def go_on(participation: Participation, answered: Turn) -> Turn | None:
    """Show the next test example, or finish after the last one (None).

    The caller holds the participation's lock, and runs this in the transaction that stores the
    answer: there is never an answered test example without what follows it.
    """
    if answered.position + 1 < len(participation.annotation_order):
        return participation.show(Step.ANNOTATION, answered.position + 1, after=answered)
    participation.status = Participation.Status.COMPLETED
    participation.finished_at = timezone.now()
    participation.save(update_fields=["status", "finished_at"])
    return None
