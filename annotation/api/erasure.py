"""How long a study's people are known, and deleting a study, by program."""

from typing import Any, ClassVar

from rest_framework.request import Request

from annotation.api import form_bodies
from annotation.api.views import StudyTwin
from annotation.models import Study
from annotation.pages.researcher.forms.retention import EraseForm, RetentionForm
from annotation.recruitment import identities
from annotation.steps import erasure


class Retention(StudyTwin):
    page, form_class = "retention", RetentionForm
    summary = "The days after which identities, and the study, are deleted; empty: by hand alone"

    def form(self, about: Study, sent: dict[str, Any]) -> RetentionForm:
        return RetentionForm.of(about, form_bodies.as_form_data(sent))

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        identities_until, answers_until = sent["until"], sent["answers_until"]
        erasure.keep_until(about, identities_until, answers_until, request.user)
        return {
            "done": f"Identities are deleted after {identities_until or 'no day'}, the study after"
            f" {answers_until or 'no day'}."
        }


class Erase(StudyTwin):
    """For good: a tombstone stays."""

    page, form_class = "study_erase", EraseForm
    summary = "Delete a closed study: `typed` is its name once more"
    faults: ClassVar = {erasure.ErasureError: "typed", identities.PurgeError: "typed"}

    def do(self, about: Study, sent: dict[str, Any], request: Request) -> dict[str, str]:
        tombstone = erasure.erase(about, sent["typed"], request.user)
        return {"done": f"{about.name} was deleted, with {tombstone.answers_erased} answers."}
