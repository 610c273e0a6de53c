"""Tags by program: what sets those of a study, a task or a model."""

from typing import Any, ClassVar

from django import forms

from annotation.api.form_bodies import Texts, as_form_data
from annotation.api.problems import Unprocessable
from annotation.api.views import Twin
from annotation.pages.tags import TagsForm
from tasks import tags


class Tags(Twin):
    """The body of a twin that sets tags; an empty list takes all off, an empty body nothing."""

    form_class = TagsForm
    more_fields: ClassVar = {"tags": Texts(help_text=tags.HELP)}

    def form(self, about: Any, sent: dict[str, Any]) -> forms.BaseForm:
        if not isinstance(sent.get("tags"), list):
            raise Unprocessable({"tags": ["Send a list of texts; an empty one takes all off."]})
        if joined := [tag for tag in sent["tags"] if isinstance(tag, str) and "," in tag]:
            told = "“%s” holds a comma; send each tag as a text of its own."
            raise Unprocessable({"tags": [told % tag for tag in joined]})
        return TagsForm(as_form_data(sent))
