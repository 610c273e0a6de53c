"""What the team of a study says about its examples, one to the other."""

from collections import defaultdict
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.models import ExampleComment, GoldOpinion, Study
from tasks.clock import database_now
from tasks.models import Example


def on(study: Study, example: Example) -> QuerySet[ExampleComment]:
    """The comments on an example in that study, the oldest first."""
    return study.comments.filter(example=example).select_related("by")


def add(study: Study, example: Example, text: str, by: User, gold: str = "") -> ExampleComment:
    """Store a comment with its author and time, and what it says of the gold; it stays as it is."""
    return study.comments.create(example=example, text=text, gold=gold, by=by, at=database_now())


def wrong_gold(said: Iterable[ExampleComment]) -> ExampleComment | None:
    """Of the comments on an example, in their order, the one by which its gold is marked as wrong.

    The latest that says what the gold is counts: None where it says "right after all".
    """
    latest = None
    for comment in said:
        latest = comment if comment.gold else latest
    return latest if latest and latest.gold == GoldOpinion.WRONG else None


def wrong_golds(study: Study) -> dict[int, ExampleComment]:
    """Example -> that comment, of all examples of the study whose gold is marked as wrong."""
    said = study.comments.exclude(gold="").select_related("by", "example__split__task")
    of_examples = defaultdict(list)
    for comment in said.order_by("at", "pk"):
        of_examples[comment.example_id].append(comment)
    return {pk: one for pk, own in of_examples.items() if (one := wrong_gold(own))}
