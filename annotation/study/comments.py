"""What the team of a study says about its examples, one to the other."""

from django.contrib.auth.models import User
from django.db.models import QuerySet

from annotation.models import ExampleComment, Study
from tasks.clock import database_now
from tasks.models import Example


def on(study: Study, example: Example) -> QuerySet[ExampleComment]:
    """The comments on an example in that study, the oldest first."""
    return study.comments.filter(example=example).select_related("by")


def add(study: Study, example: Example, text: str, by: User) -> ExampleComment:
    """Store a comment with its author and time; it stays as it is."""
    return study.comments.create(example=example, text=text, by=by, at=database_now())
