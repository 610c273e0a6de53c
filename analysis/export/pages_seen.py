"""What annotators saw, as pages that open offline: consent, instructions, a question, its reveal.

The real templates with the real examples, without scripts, which browsers refuse to pages from a
disk: what a page looked like with them is in its pictures (pictures.py).
"""

from collections.abc import Iterator
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import get_language, get_language_bidi

from annotation.access import in_study_language
from annotation.models import Scenario, Step, Study
from annotation.pages.worker.forms import ComprehensionForm
from annotation.pages.worker.reveal import Reveal, reveal_page
from annotation.pages.worker.state import instructions_of
from annotation.pages.worker.turn import TurnPage
from annotation.study.consent_text import as_html
from tasks.comparison import compare_answer
from tasks.models import Example, Task
from tasks.spans import GivenAnswer, occurrences

NO_LINK = "(everybody had a link of their own here)"


def pages(study: Study) -> dict[str, str]:
    """Name of the page -> HTML, in the language of the study.

    The consent; of each task the instructions and the first test example as a question, at the
    fewest shots, and a training example revealed, at the fewest shots with a training step.
    """
    with in_study_language(study.interface_language):
        return dict(_pages(study))


def _pages(study: Study) -> Iterator[tuple[str, str]]:
    yield "consent", _consent(study)
    for task in study.tasks.order_by("name"):
        least, *others = study.scenarios.filter(task=task).order_by("shots")
        yield f"{task.name}-instructions", _instructions(least)
        first = task.test_split.examples.order_by("position")[0]
        yield f"{task.name}-question", _turn(least, first, Step.ANNOTATION)
        trained = next((scenario for scenario in (least, *others) if scenario.shots), None)
        if trained:
            yield f"{task.name}-reveal", _reveal_page(trained)


def _page(template: str, title: str, context: dict[str, Any]) -> str:
    shown = {
        "shown": template,
        "title": title,
        "root": "../",
        "resume_url": NO_LINK,
        "language": get_language(),
        "is_mirrored": get_language_bidi(),
    }
    return render_to_string("researcher/seen.html", shown | context)


def _consent(study: Study) -> str:
    """The page on which consent was asked; its first lines are those of the first task."""
    card = study.tasks.order_by("name")[0].card
    context = {
        "study": study,
        "card": card,
        "consent_html": as_html(study.consent_text),
        "consent_url": "#",
    }
    return _page("worker/_consent.html", "Consent", context)


def _instructions(scenario: Scenario) -> str:
    study, card = scenario.study, scenario.task.card
    context = instructions_of(scenario) | {
        "card": card,
        "minutes": study.estimated_minutes,
        "begin_url": "#",
        "try_url": "#" if study.try_the_tool else "",
        "comprehend_url": "#",
        "attempts_left": study.comprehension_attempts,
    }
    if study.comprehension_questions.strip():
        context["questions_form"] = ComprehensionForm(study)
    return _page("worker/_instructions.html", f"{card.title}: instructions", context)


def _reveal_page(scenario: Scenario) -> str:
    """The reveal of the first training example that has an answer, else of the first."""
    split = scenario.task.train_split(scenario.shots, scenario.split_number)
    examples = split.examples.order_by("position")
    shown = next((example for example in examples if example.gold), examples[0])
    return _turn(scenario, shown, Step.TRAINING)


def _turn(scenario: Scenario, example: Example, step: str) -> str:
    """An example as its question or (training step) as its reveal."""
    task, study = scenario.task, scenario.study
    card = task.card
    turn = TurnPage(
        card=card,
        example=example,
        step=step,
        number=example.position + 1,
        total=example.split.examples.count(),
        key="",
        answer_url="#",
        continue_url="#",
        shows_examples=scenario.shows_help_examples,
        training_total=scenario.training_examples,
        hourly_rate=study.hourly_rate,
        currency=study.currency,
        reveal=_reveal(task, example) if step == Step.TRAINING else None,
    )
    context = {"turn": turn, "card": card}
    return _page("worker/_turn.html", f"{card.title}: {turn.state}", context)


def _reveal(task: Task, example: Example) -> Reveal:
    """The reveal after a made-up answer: the first gold text in its place, or the first choice."""
    card = task.card
    question = card.selectable_question(example.question)
    answer = GivenAnswer((), "", True)
    if card.labels:
        answer = GivenAnswer((), card.labels[0].name, False)
    elif not card.is_highlighted:
        answer = GivenAnswer((), "", False, tuple([*example.options, *example.gold][:1]))
    for text in example.gold if card.is_highlighted else ():
        places = occurrences(text, example.context, question, card.granularity)
        if places:
            answer = GivenAnswer((places[0],), "", False)
            break
    comparison = compare_answer(card, example, answer, example.gold)
    return reveal_page(card, example, answer, comparison)
