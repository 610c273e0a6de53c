"""The form of a comment on an example."""

from django import forms

from annotation.models import GoldOpinion
from annotation.web.fields import PageForm, TextField

LONGEST_COMMENT = 2000


class CommentForm(PageForm):
    """A comment of a member of the team on an example."""

    key = "comment"
    text = TextField(
        label="Comment",
        max_length=LONGEST_COMMENT,
        widget=forms.Textarea({"rows": 3}),
        error_messages={"required": "Write something."},
    )
    gold = forms.ChoiceField(
        label="The gold is",
        choices=[("", "not what this is about"), *GoldOpinion.choices],
        required=False,
        help_text="An example marked as wrong stands on Gold audit; no score changes.",
    )
