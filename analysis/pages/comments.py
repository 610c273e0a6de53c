"""Comments of a team on an example of its study, by program; the page is that of the example."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.pages.examples import example_of
from analysis.pages.forms import CommentForm
from annotation.access import scores_of
from annotation.api.form_bodies import as_form_data
from annotation.api.paging import page_of, small_list
from annotation.api.views import Twin
from annotation.models import ExampleComment, GoldOpinion, Study
from annotation.rights import right_to
from annotation.study import comments
from tasks.models import Example

FIELDS: dict[str, serializers.Field] = {
    "text": serializers.CharField(),
    "gold": serializers.ChoiceField(
        ["", *GoldOpinion.values], help_text="what it says of the gold, if anything"
    ),
    "by": serializers.CharField(help_text="user name"),
    "at": serializers.DateTimeField(help_text="UTC"),
}


def as_record(comment: ExampleComment) -> dict[str, Any]:
    """One comment as JSON."""
    return {
        "text": comment.text,
        "gold": comment.gold,
        "by": comment.by.get_username(),
        "at": comment.at,
    }


class Comments(Twin):
    page, form_class = "example_comment", CommentForm
    summary = "Comment on an example, for the team of the study"
    success = 201

    @extend_schema(
        summary="The comments on an example, oldest first",
        operation_id="comments_list",
        responses=page_of("Comment", FIELDS),
    )
    def get(self, request: Request, name: str, pk: int) -> Response:
        study = scores_of(request, name)
        return small_list(map(as_record, comments.on(study, example_of(study, pk))))

    def door(self, request: Request, sent: dict[str, Any], **names: Any) -> tuple[Study, Example]:
        study = scores_of(request, names["name"], right_to(self.page))
        return study, example_of(study, names["pk"])

    def form(self, about: Any, sent: dict[str, Any]) -> CommentForm:
        return CommentForm(as_form_data(sent))

    def do(self, about: tuple[Study, Example], sent: dict[str, Any], request: Request) -> Any:
        study, example = about
        comments.add(study, example, sent["text"], request.user, sent["gold"])
        return {"done": "The comment is stored."}
