"""The pages shown to annotators, for offline use: consent, instructions, questions and reveals.

They are rendered from the real templates and examples, but without scripts, because browsers block
scripts in local files. screenshots.py takes screenshots of the pages with scripts enabled.
"""

from collections.abc import Iterator
from typing import Any

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import get_language, get_language_bidi

from annotation.models import Scenario, Step, Study
from annotation.participation.question import Place
from annotation.participation.reveal import Reveal, reveal_page
from annotation.participation.state import comprehension_page, instructions_page
from annotation.participation.turn import TurnPage, progress_at
from annotation.study import cross_task, screening
from annotation.web.wording import as_html
from tasks.cards import Card
from tasks.columns import grouped
from tasks.comparison import compare_answer
from tasks.models import Example, Task
from tasks.spans import GivenAnswer

NO_LINK = "(each annotator had a personal link here)"


def pages(study: Study) -> dict[str, str]:
    """Map names to the HTML of the pages, in the study's language.

    There is one consent page. Each task has instructions, the first test example as a question at
    the lowest shot count, and a revealed training example at the lowest shot count with a training
    step. A screening set is represented by its first example. If some annotators see no contexts,
    their first question is included. In a cross-task study, each arm that is first trained on other
    tasks has its own consent page, which names the first of these tasks. Each of these also has
    instructions, a question page with the first example, and a revealed example.
    """
    with translation.override(study.interface_language):
        return dict(_pages(study))


def _pages(study: Study) -> Iterator[tuple[str, str]]:
    yield "consent", _consent(study, study.tasks.order_by("name")[0].card)
    for task in study.tasks.order_by("name"):
        lowest, *higher = study.scenarios.filter(task=task).order_by("shots", "arm")
        yield f"{task.name}-instructions", _instructions(lowest)
        first = task.test_split.examples.order_by("position")[0]
        yield f"{task.name}-question", _turn(lowest, first, Step.ANNOTATION)
        if alone := next((scenario for scenario in higher if scenario.hides_context), None):
            yield f"{task.name}-question-alone", _turn(alone, first, Step.ANNOTATION)
        trained = next((scenario for scenario in (lowest, *higher) if scenario.shots), None)
        if trained:
            split = task.train_split(trained.shots, trained.split_number)
            examples = split.examples.order_by("position")
            revealed = next((example for example in examples if example.gold), examples[0])
            page = _turn(trained, revealed, Step.TRAINING, is_revealed=True)
            yield f"{task.name}-reveal", page
        screened = screening.examples(study, task) if lowest.screening_examples else []
        if screened:
            page = _turn(lowest, screened[0], Step.SCREENING, (1, len(screened)))
            yield f"{task.name}-screening", page
    for arm in cross_task.arms(study):
        yield from _upstream(study, arm)


def _upstream(study: Study, arm: str) -> Iterator[tuple[str, str]]:
    samples = cross_task.samples(study, arm)
    if samples:
        yield f"consent-{arm}", _consent(study, samples[0].split.task.card)
    scenario = study.scenarios.filter(arm=arm).first()
    by_task = grouped((pair[1].split.task, pair) for pair in enumerate(samples, start=1))
    for task, examples in by_task.items():
        assert scenario is not None  # an arm with samples always has scenarios
        yield f"{task.name}-instructions", _instructions(scenario, task)
        total = len(samples) + scenario.training_examples
        number, example = examples[0]
        yield f"{task.name}-question", _turn(scenario, example, Step.TRAINING, (number, total))
        number, example = next((pair for pair in examples if pair[1].gold), examples[0])
        page = _turn(scenario, example, Step.TRAINING, (number, total), is_revealed=True)
        yield f"{task.name}-reveal", page


def _page(template: str, title: str, context: dict[str, Any]) -> str:
    frame = {
        "shown": template,
        "title": title,
        "root": "../",
        "resume_url": NO_LINK,
        "language": get_language(),
        "is_mirrored": get_language_bidi(),
    }
    page = render_to_string("export/seen.html", frame | context)
    return page.replace('"/images/', '"../images/')


def _consent(study: Study, card: Card) -> str:
    """Render the consent page. Its opening lines come from the card of the first task."""
    context = {
        "study": study,
        "card": card,
        "consent_html": as_html(study.consent_text),
        "consent_url": "#",
    }
    return _page("participation/_consent.html", "Consent", context)


def _instructions(scenario: Scenario, upstream: Task | None = None) -> str:
    study, card = scenario.study, (upstream or scenario.task).card
    context = instructions_page(study, scenario, "#", card)
    context |= {"minutes": scenario.estimated_minutes, "try_url": "#" if study.try_the_tool else ""}
    if study.comprehension_questions.strip():
        context |= comprehension_page(study, "#")
    return _page("participation/_instructions.html", f"{card.title}: instructions", context)


def _turn(
    scenario: Scenario,
    example: Example,
    step: str,
    place: tuple[int, int] | None = None,
    *,
    is_revealed: bool = False,
) -> str:
    """Render an example as a question or a reveal.

    `place` is (number, total) and defaults to the example's position in the file. The upstream and
    training steps look the same here, because they look the same to annotators.
    """
    task, study = example.split.task, scenario.study
    card = scenario.shown_card(task.card)
    number, total = place or (example.position + 1, example.split.examples.count())
    extra = cross_task.length(study, scenario.arm)
    turn = TurnPage(
        card=card,
        example=scenario.shown_example(example),
        place=Place(
            step, number, total, scenario.training_examples + extra, scenario.screening_examples
        ),
        key="",
        answer_url="#",
        continue_url="#",
        shows_examples=scenario.shows_help_examples,
        progress=progress_at(hourly_rate=study.hourly_rate, currency=study.currency),
        reveal=_reveal(task, example) if is_revealed else None,
    )
    context = {"turn": turn, "card": card}
    return _page("participation/_turn.html", f"{card.title}: {turn.state}", context)


def _reveal(task: Task, example: Example) -> Reveal:
    """Build a reveal for a made-up answer: the first gold text in place, or the first choice."""
    card = task.card
    answer = GivenAnswer((), "", True)
    if card.labels:
        answer = GivenAnswer((), card.labels[0].name, False)
    elif not card.is_highlighted:
        answer = GivenAnswer((), "", False, tuple([*example.options, *example.gold][:1]))
    for text in example.gold if card.is_highlighted else ():
        if place := next(card.source_of(example).occurrences(text), None):
            answer = GivenAnswer((place,), "", False)
            break
    comparison = compare_answer(card, example, answer, example.gold)
    return reveal_page(card, example, answer, comparison)
