"""Preview of a scenario as annotators see it. Nothing is stored.

The preview includes every page: consent, instructions with their questions, training with reveals,
the annotation step and the final questions. A bar on each page links to the next and previous pages
and to the exit. Only the study's owners and analysts may open a preview, so it may show gold
answers before annotators would see them. Step and position are in the URL, so no state is stored.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.cache import never_cache

from annotation.models import Scenario, Step
from annotation.participation.forms import ExitForm
from annotation.participation.question import STEPS, Place
from annotation.participation.state import (
    comprehension_page,
    consent_page,
    instructions_page,
    pay_in_words,
    questions_page,
)
from annotation.participation.turn import TurnPage, render_turn, tried
from annotation.pay import ledger
from annotation.study import cross_task, screening
from annotation.study.own_questions import AFTER, BEFORE, questions_at
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from annotation.web.wording import in_words
from tasks import frozen
from tasks.jobs import go_to
from tasks.models import Example


@never_cache
@signed_in("GET", "POST")
def scenario_preview(
    request: ResearcherRequest, name: str, scenario: int, step: str, position: int
) -> HttpResponse:
    """Show an example on GET. On POST, show its reveal (in training) or the next example."""
    study = study_of(request, name, right_to("scenario_preview"))
    cell = get_object_or_404(study.scenarios.select_related("task", "study"), pk=scenario)
    if step in OUTSIDE:
        return _outside_turns(request, cell, step)
    examples = _examples(cell, step)
    if position >= len(examples):
        raise Http404
    sizes = (_sizes(cell).get(part, 0) for part in STEPS)
    preview_bar = bar(cell, step, position)
    page = TurnPage(
        card=cell.shown_card(frozen.card_of_example(examples[position].pk)),
        example=cell.shown_example(examples[position]),
        place=Place.at(step, position, *sizes),
        key=f"preview-{cell.pk}-{step}-{position}",
        answer_url=_address(cell, step, position),
        continue_url=preview_bar["next_url"] or reverse("study", args=[study.name]),
        shows_examples=cell.shows_help_examples,
        bar=preview_bar,
    )
    with translation.override(study.interface_language):
        return show(request, page)


def show(request: ResearcherRequest, page: TurnPage) -> HttpResponse:
    """Show a question, or the result of a POST. Answers are checked as in the real step."""
    status = 200
    if request.method == "POST":
        if "turn" not in request.POST:
            # Continue was pressed on the previous reveal.
            return go_to(request, page.answer_url)
        page, status = tried(page, request.POST)
        if page.reveal and page.place.step != Step.TRAINING:
            return go_to(request, page.continue_url)
    return render_turn(request, page, status)


def _examples(scenario: Scenario, step: str) -> Sequence[Example]:
    """Return the examples of a step in file order. Raises Http404 for unknown steps."""
    if step == Step.UPSTREAM:
        return cross_task.samples(scenario.study, scenario.arm)
    if step == Step.ANCHOR:
        return screening.anchors(scenario.study, scenario.task)
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


# The sequence of pages -------------------------------------------------------------------------

CONSENT, OWN, INSTRUCTIONS, END = "consent", "questions", "instructions", "end"
OUTSIDE = (CONSENT, OWN, INSTRUCTIONS, END)
NAMES = {
    CONSENT: "Consent", OWN: "Questions", INSTRUCTIONS: "Instructions",
    Step.ANCHOR: "Anchor step", Step.UPSTREAM: "Upstream step",
    Step.TRAINING: "Training step", Step.SCREENING: "Screening step",
    Step.ANNOTATION: "Annotation step", END: "End",
}  # fmt: skip


def bar(scenario: Scenario, step: str, position: int) -> dict[str, Any]:
    """Return the context for participation/_preview_bar.html, which navigates the preview."""
    sizes = _sizes(scenario)
    places = [(part, number) for part, size in sizes.items() for number in range(size)]
    index = places.index((step, position))
    return {
        "scenario": str(scenario),
        "parts": [(NAMES[part], _address(scenario, part, 0), part == step) for part in sizes],
        "previous_url": _address(scenario, *places[index - 1]) if index else "",
        "next_url": _address(scenario, *places[index + 1]) if index + 1 < len(places) else "",
        "out_url": reverse("study_design", args=[scenario.study.name], fragment="previews"),
    }


def _sizes(scenario: Scenario) -> dict[str, int]:
    sizes = {
        CONSENT: 1,
        OWN: int(bool(questions_at(scenario.study.own_questions, BEFORE))),
        INSTRUCTIONS: 1,
        Step.ANCHOR.value: len(_examples(scenario, Step.ANCHOR)),
        Step.UPSTREAM.value: cross_task.length(scenario.study, scenario.arm),
        Step.TRAINING.value: scenario.training_examples,
        Step.SCREENING.value: len(_examples(scenario, Step.SCREENING)),
        Step.ANNOTATION.value: scenario.task.test_split.examples.count(),
        END: 1,
    }
    return {part: size for part, size in sizes.items() if size}


def _outside_turns(request: ResearcherRequest, scenario: Scenario, step: str) -> HttpResponse:
    if step not in _sizes(scenario):
        raise Http404
    preview_bar = bar(scenario, step, 0)
    if request.method == "POST":  # the button on the previous page was pressed
        return go_to(request, _address(scenario, step, 0))
    study, on = scenario.study, preview_bar["next_url"] or preview_bar["out_url"]
    with translation.override(study.interface_language):
        if step == CONSENT:
            page_context = consent_page(study, on)
        elif step == OWN:
            page_context = questions_page(questions_at(study.own_questions, BEFORE), on)
        elif step == INSTRUCTIONS:
            page_context = instructions_page(study, scenario, on)
            page_context["minutes"] = scenario.estimated_minutes
            if study.comprehension_questions.strip():
                page_context |= comprehension_page(study, on)
        else:
            page_context = end_of(scenario, on)
        context = {"card": scenario.task.card, "study": study, "resume_url": "", "bar": preview_bar}
        return render(request, "participation/work.html", context | page_context)


def end_of(scenario: Scenario, on: str) -> dict[str, Any]:
    study, page = scenario.study, instructions_page(scenario.study, scenario, on)
    questions = questions_at(study.own_questions, AFTER)
    asks = study.exit_questionnaire or questions
    worked = timedelta(minutes=scenario.estimated_minutes)
    earned = max(ledger.for_time(study, worked), ledger.cents(study.base_reward))
    return {
        "stage": "finished",
        # "arrived", because a preview offers nothing to leave or withdraw.
        "participation": {"worked_seconds": worked.total_seconds(), "status": "arrived"},
        "answered": sum(
            page[f"{step}_total"] for step in ("anchor", "training", "screening", "test")
        ),
        "worked": in_words(worked),
        "pay": pay_in_words(earned, study.currency),
        "exit": {"code": "PREVIEW"},
        "exit_form": ExitForm(study.exit_questionnaire, questions) if asks else None,
        "questionnaire_url": on,
    }
