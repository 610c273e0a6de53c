"""A scenario as an annotator sees it, without leaving data: nothing here is ever stored.

Only owners and analysts of the study may look, so a preview may reveal what an annotator's page
would not yet. Each request says by itself where it stands: step and position are in the address.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import ResearcherRequest, in_study_language, study_of
from annotation.models import JUDGED_STEPS, Scenario, Step
from annotation.pages.worker.reveal import Reveal, reveal_page
from annotation.pages.worker.translated import translated
from annotation.pages.worker.turn import TurnPage
from annotation.rights import right_to
from annotation.study import cross_task, screening
from tasks import answers, frozen
from tasks.comparison import compare_answer
from tasks.models import Example
from tasks.polling import go_to
from tasks.spans import AnswerError


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def scenario_preview(
    request: ResearcherRequest, name: str, scenario: int, step: str, position: int
) -> HttpResponse:
    """GET shows an example; POST shows what its reveal (training) or the next one would be."""
    study = study_of(request, name, right_to("scenario_preview"))
    chosen = get_object_or_404(study.scenarios.select_related("task", "study"), pk=scenario)
    examples = _examples(chosen, step)
    total = len(examples)
    if position >= total:
        raise Http404
    # As an annotator sees it, the upstream step and the training step are one.
    before = cross_task.length(study, chosen.arm)
    trained = before + chosen.training_examples
    is_trained = step in (Step.UPSTREAM, Step.TRAINING)
    page = TurnPage(
        card=frozen.card_of_example(examples[position].pk),
        example=examples[position],
        step=Step.TRAINING if is_trained else step,
        number=position + 1 + (before if step == Step.TRAINING else 0),
        total=trained if is_trained else total,
        key=f"preview-{chosen.pk}-{step}-{position}",
        answer_url=_address(chosen, step, position),
        continue_url=_following(chosen, step, position, total),
        shows_examples=chosen.shows_help_examples,
        training_total=trained,
        screening_total=chosen.screening_examples,
        preview=True,
    )
    with in_study_language(study.interface_language):
        return show(request, page)


def show(request: ResearcherRequest, page: TurnPage) -> HttpResponse:
    """That question, or what a POST to it leads to; an answer is checked as the real step does."""
    status = 200
    if request.method == "POST":
        if "turn" not in request.POST:
            # The Continue of the reveal before: it asks for this example.
            return go_to(request, page.answer_url)
        try:
            revealed = _reveal(page, request)
        except AnswerError as problem:
            page, status = (
                replace(page, error=translated(problem.sentence), sent=request.POST.dict()),
                422,
            )
        else:
            if revealed is None:
                return go_to(request, page.continue_url)
            page = replace(page, reveal=revealed)
    context = {"turn": page, "stage": "turn", "card": page.card, "preview": True}
    template = "worker/_turn.html" if request.htmx else "worker/work.html"
    return render(request, template, context, status=status)


def _examples(scenario: Scenario, step: str) -> Sequence[Example]:
    """Those of the step, in the order of their file."""
    if step == Step.UPSTREAM:
        return cross_task.samples(scenario.study, scenario.arm)
    if step == Step.SCREENING:
        return screening.examples(scenario.study, scenario.task) if not scenario.shots else []
    if step == Step.ANNOTATION:
        split = scenario.task.test_split
    elif step == Step.TRAINING and scenario.shots:
        split = scenario.task.train_split(scenario.shots, scenario.split_number)
    else:
        raise Http404
    return list(split.examples.order_by("position"))


def _address(scenario: Scenario, step: str, position: int) -> str:
    return reverse("scenario_preview", args=[scenario.study.name, scenario.pk, step, position])


def _following(scenario: Scenario, step: str, position: int, total: int) -> str:
    """The next example, over the annotation step back to the study at the end."""
    if position + 1 < total:
        return _address(scenario, step, position + 1)
    if step == Step.UPSTREAM and scenario.shots:
        return _address(scenario, Step.TRAINING, 0)
    if step in (Step.UPSTREAM, *JUDGED_STEPS):
        return _address(scenario, Step.ANNOTATION, 0)
    return reverse("study", args=[scenario.study.name])


def _reveal(page: TurnPage, request: ResearcherRequest) -> Reveal | None:
    """Check the answer as the real step does, and compare it in the training step."""
    card, example = page.card, page.example
    answer = answers.read(card, example, request.POST)
    if page.step != Step.TRAINING:
        return None
    comparison = compare_answer(card, example, answer, example.gold)
    return reveal_page(card, example, answer, comparison)
