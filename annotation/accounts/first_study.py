"""A four-step guide to a first study, for new researchers.

Each step links to the regular page. Progress is derived from existing rows, not stored.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Kind, Participation, Preferences, Status, Study, StudyStatus
from annotation.web.access import ResearcherRequest, signed_in
from tasks.cards import load_card
from tasks.formats import read_folder
from tasks.importing import import_task
from tasks.models import Task

SAMPLE = settings.BASE_DIR / "tasks" / "demo" / "sentiment"  # written for Handful
NAME = "demo-sentiment"


@dataclass(frozen=True)
class Step:
    """A step in the guide: a link to a page, or a button that imports the sample task."""

    title: str
    text: str
    is_done: bool
    address: str = ""
    is_button: bool = False


def steps(user: User) -> list[Step]:
    """Return the four steps of the guide. Steps do not have a URL until they can be done."""
    task = Task.objects.filter(name=NAME, archived_at=None).order_by("-version").first()
    own = Study.objects.filter(owner=user).order_by("-pk")
    study = own.filter(rehearsal=False).first()
    rehearsal = own.filter(rehearsal=True).first()
    robots = Participation.objects.filter(
        study__owner=user, study__rehearsal=True, kind=Kind.SIMULATED, status=Status.COMPLETED
    )
    return [
        Step(
            "Import the sample task",
            "20 short reviews to label as positive or negative, with training sets of 10, 20 and"
            " 30 examples. Included with Handful.",
            is_done=task is not None or Task.objects.exists(),
            is_button=True,
        ),
        Step(
            "Create a study",
            "Choose the number of training examples, the number of annotators and the pay."
            " Annotators cannot start until you open the study.",
            is_done=study is not None,
            address=f"{reverse('study_new')}?task={NAME}" if task else reverse("study_new"),
        ),
        Step(
            "Rehearse with simulated annotators",
            "On the Design page, press “Save and rehearse”: simulated annotators fill a clone."
            " Check its tables and figures before you pay annotators.",
            is_done=robots.exists(),
            address=_of("robots", rehearsal) or _of("study_design", study),
        ),
        Step(
            "Open and share the study",
            "Opening the study freezes its design. The Recruit page has the link, a QR code and an"
            " invitation text.",
            is_done=study is not None and study.status != StudyStatus.DRAFT,
            address=_of("recruit", study) if study and not study.is_draft else _of("study", study),
        ),
    ]


def _of(page: str, study: Study | None) -> str:
    return reverse(page, args=[study.name]) if study else ""


def shown_to(user: User, studies: Iterable[Study]) -> list[Step]:
    """Return the steps, or [] if the user has opened one of these studies or skipped the guide."""
    opened = (
        study.owner_id == user.pk and not study.rehearsal and not study.is_draft
        for study in studies
    )
    if any(opened) or Preferences.objects.filter(user=user, skips_first_study=True).exists():
        return []
    return steps(user)


@signed_in("POST")
def first_study(request: ResearcherRequest) -> HttpResponse:
    """Import the sample task if it doesn't exist yet, skip the guide, or show it again."""
    action = request.POST.get("action")
    if action == "import":
        if not Task.objects.filter(name=NAME).exists():
            card = load_card(SAMPLE / "task.toml")
            import_task(card, read_folder(SAMPLE, card), by=request.user)
        messages.success(request, "The sample task was imported.")
    elif action in ("skip", "show"):
        skips = {"skips_first_study": action == "skip"}
        Preferences.objects.update_or_create(user=request.user, defaults=skips)
    return redirect("studies")
