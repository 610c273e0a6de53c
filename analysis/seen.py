"""What annotators saw, as pages that open offline: an example's question, and its reveal.

The real templates with the real examples, without scripts: words are highlighted by pointing only
on the live page.
"""

from django.template.loader import render_to_string

from annotation.models import Step, Study
from annotation.turn_page import TurnPage, reveal_page
from tasks.comparison import compare
from tasks.models import Example, Split, Task
from tasks.spans import Answer, occurrences


def pages(study: Study) -> dict[str, str]:
    """Name of the page -> HTML.

    Of each task the first test example as a question, and the first training example revealed, if
    the study has a training step.
    """
    found = {}
    for task in study.tasks.order_by("name"):
        test = task.test_split
        question = test.examples.order_by("position").first()
        found[f"{task.name}-question"] = _page(study, task, test, question, Step.ANNOTATION)
        shots = [number for number in sorted(study.shots) if number]
        if shots:
            train = task.train_split(shots[0], study.split_number)
            example = train.examples.order_by("position").first()
            found[f"{task.name}-reveal"] = _page(study, task, train, example, Step.TRAINING)
    return found


def _page(study: Study, task: Task, split: Split, example: Example, step: str) -> str:
    card = task.card
    turn = TurnPage(
        card=card,
        example=example,
        step=step,
        number=example.position + 1,
        total=split.examples.count(),
        key="",
        answer_url="#",
        continue_url="#",
        shows_examples=step == Step.TRAINING or study.help_examples_at_zero_shots,
        training_total=split.shots or 0,
        hourly_rate=study.hourly_rate,
        currency=study.currency,
        reveal=_reveal(task, example) if step == Step.TRAINING else None,
    )
    return render_to_string("researcher/seen.html", {"turn": turn, "card": card, "root": "../"})


def _reveal(task: Task, example: Example):
    """The reveal after a made-up answer: the first gold text in its place, or the first label."""
    card = task.card
    question = card.selectable_question(example.question)
    answer = Answer((), "", True)
    if card.labels:
        answer = Answer((), card.labels[0].name, False)
    for text in example.gold if not card.labels else ():
        places = occurrences(text, example.context, question)
        if places:
            answer = Answer((places[0],), "", False)
            break
    comparison = compare(answer, example.gold, card.gold_rule, example.context, question)
    return reveal_page(card, example, answer, comparison)
