"""The form of tags, of a study, a task or a model."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.pages.fields import PageForm
from tasks import tags


class _Joined(forms.TextInput):
    """One text with commas between the tags; a list of them, as programs send it, is joined."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> str | None:
        sent = data.getlist(name) if hasattr(data, "getlist") else data.get(name)
        return tags.in_words(sent) if isinstance(sent, list) else sent


class TagsField(forms.CharField):
    """Tags as a list of texts."""

    widget = _Joined

    def clean(self, value: Any) -> list[str]:
        try:
            return tags.parse(super().clean(value))
        except tags.TagError as error:
            raise ValidationError(error.problems) from None


class TagsForm(PageForm):
    """All tags at once: what is left out is taken off."""

    key = "tags"
    tags = TagsField(required=False, label="Tags", help_text=tags.HELP)

    @classmethod
    def of(cls, stored: Iterable[str]) -> "TagsForm":
        """The form with the tags that are there."""
        return cls(initial={"tags": tags.in_words(stored)})
