"""Comments of a study's team on its examples."""

from collections import defaultdict
from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.models import ExampleComment, GoldOpinion, Study
from tasks.clock import database_now
from tasks.models import Example


def on(study: Study, example: Example) -> QuerySet[ExampleComment]:
    """Return the comments on an example in that study, oldest first."""
    return study.comments.filter(example=example).select_related("by")


def add(study: Study, example: Example, text: str, by: User, gold: str = "") -> ExampleComment:
    """Store a comment with author, time and opinion on the gold; it never changes."""
    return study.comments.create(example=example, text=text, gold=gold, by=by, at=database_now())


def wrong_gold(said: Iterable[ExampleComment]) -> ExampleComment | None:
    """Return, of an example's ordered comments, the one that marks its gold as wrong.

    The latest opinion applies: None if it is "right after all".
    """
    latest = None
    for comment in said:
        latest = comment if comment.gold else latest
    return latest if latest and latest.gold == GoldOpinion.WRONG else None


def wrong_golds(study: Study) -> dict[int, ExampleComment]:
    """Return example -> that comment, for all examples whose gold is marked as wrong."""
    said = study.comments.exclude(gold="").select_related("by", "example__split__task")
    of_examples = defaultdict(list)
    for comment in said.order_by("at", "pk"):
        of_examples[comment.example_id].append(comment)
    return {pk: one for pk, own in of_examples.items() if (one := wrong_gold(own))}
