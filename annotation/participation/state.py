"""Context for the page of a participation outside turns: consent, instructions, wait, end."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import JsonResponse
from django.urls import reverse
from django.utils.translation import get_language, get_language_bidi, gettext, gettext_lazy

from annotation.models import (
    MAY_RESUME,
    Answer,
    ExitAnswers,
    OwnAnswer,
    Participation,
    Scenario,
    Status,
    Step,
    Study,
)
from annotation.participation.forms import ComprehensionForm, ExitForm, OwnForm
from annotation.participation.question import Place, Question
from annotation.participation.reveal import reveal_page
from annotation.participation.turn import TurnPage, progress_at
from annotation.pay import ledger
from annotation.privacy.personal_data import WHOLE, personal_data
from annotation.protocol import own_questions, qualification, training_step
from annotation.recruitment import join_errors
from annotation.recruitment.arrivals import current_exit, is_rejected
from annotation.study import compared_files, cross_task
from annotation.study.own_questions import AFTER, OwnQuestion, questions_at
from annotation.web.wording import as_html, in_words, money, translated
from tasks.answers.choices import MADE_UP_LABELS
from tasks.cards import Card, Label
from tasks.clock import database_now
from tasks.comparison import compare_answer
from tasks.models import Example
from tasks.spans import GivenAnswer, Source
from tasks.tokens import CHAR, WORD, has_no_spaces

ENDED_MESSAGES = {
    Status.EXPIRED: gettext_lazy(
        "You were away for longer than this study allows, so your place was released. If it is"
        " still free, you can continue where you left off."
    ),
    Status.RETURNED: gettext_lazy(
        "You have given up your place. If it is still free, you can continue where you left off."
    ),
    Status.REFUSED: training_step.ALREADY_DONE,
    Status.WITHDRAWN: gettext_lazy(
        "You have withdrawn, and all your answers were erased. You keep what you have earned. If a"
        " platform sent you here and you see no code or link for it, return the task there."
    ),
    Status.REJECTED: gettext_lazy(
        "The platform you came from lists your submission as rejected, so you cannot continue with"
        " this study. You will not be paid for this work. If you think this is wrong, contact the"
        " researcher on the platform."
    ),
    Status.SCREENED_OUT: gettext_lazy(
        "Thank you for your work. Only some of the people who started this study can continue, and"
        " your place goes to another person. This is not a judgement of you."
    ),
}

NOT_COMPREHENDED = gettext_lazy(
    "You have no attempts left for the questions about the instructions, so you cannot continue."
)
PAID = gettext_lazy("You are paid for the time you worked.")

# How many of the first and last training answers the end page compares, and the minimum for this.
TEN, FEWEST_TO_COMPARE = 10, 3


def page_outside_turns(participation: Participation) -> dict:
    token, study = participation.token, participation.study
    if participation.status == Status.ARRIVED:
        return consent_page(study, reverse("consent", args=[token]))
    if participation.status == Status.WORKING:
        if questions := own_questions.unanswered(participation, OwnAnswer.Moment.BEFORE):
            return questions_page(questions, reverse("own_questions", args=[token]))
        return _instructions(participation)
    if participation.status == Status.WAITING:
        return {
            "stage": "waiting",
            "until": qualification.end_of_wait(participation),
            "minutes": study.decision_minutes,
            "screened": not participation.scenario.shots,
            "wait_url": reverse("wait", args=[token]),
        }
    if participation.status == Status.BETWEEN:
        return {"stage": "between", "exit": current_exit(participation)}
    if is_rejected(participation):
        return {"stage": "gone", "reason": ENDED_MESSAGES[Status.REJECTED]}
    cents = sum(entry.cents for entry in participation.ledger.all())
    earned = {"pay": pay_in_words(cents, study.currency)}
    if participation.status == Status.COMPLETED:
        return earned | _finished(participation)
    reason = ENDED_MESSAGES[Status(participation.status)]
    is_out = participation.status == Status.SCREENED_OUT
    if is_out and own_questions.comprehension_is_open(participation):
        reason = NOT_COMPREHENDED
    return earned | {
        "stage": "gone",
        "reason": f"{reason} {PAID}" if _is_paid_for_time(participation) else str(reason),
        "may_come_back": participation.status in MAY_RESUME,
        "exit": current_exit(participation),
    }


def _is_paid_for_time(participation: Participation) -> bool:
    """Return whether the time before an early end is paid, as in ledger.amount_due."""
    has_left = participation.status in MAY_RESUME and participation.has_seen_an_example()
    is_paid = participation.is_paid and participation.study.hourly_rate > 0
    return is_paid and (has_left or participation.status == Status.SCREENED_OUT)


def consent_page(study: Study, address: str) -> dict:
    """Return the context for the consent page, whose form is submitted to `address`."""
    return {
        "stage": "consent",
        "consent_html": as_html(study.consent_text),
        "consent_url": address,
        "has_models": compared_files.has_models(study),
    }


def questions_page(questions: list[OwnQuestion], address: str) -> dict:
    return {"stage": "own_questions", "own_form": OwnForm(questions), "own_url": address}


def _instructions(participation: Participation) -> dict:
    token, study = participation.token, participation.study
    card, begin_url = training_step.first_card(participation), reverse("begin", args=[token])
    page = instructions_page(study, participation.scenario, begin_url, card)
    if study.try_the_tool:
        page["try_url"] = reverse("try_tool", args=[token, 1])
    if own_questions.comprehension_is_open(participation):
        used = participation.comprehension_attempts_used
        page |= comprehension_page(study, reverse("comprehend", args=[token]), used)
    return page | {"comprehended": participation.comprehended_at is not None}


def instructions_page(
    study: Study, scenario: Scenario, begin_url: str, card: Card | None = None
) -> dict:
    page = instructions_of(scenario, card)
    page["training_total"] += cross_task.length(study, scenario.arm)
    return page | {"stage": "instructions", "begin_url": begin_url}


def comprehension_page(study: Study, address: str, used: int = 0) -> dict:
    return {
        "questions_form": ComprehensionForm(study),
        "attempts_left": study.comprehension_attempts - used,
        "comprehend_url": address,
    }


def next_instructions(participation: Participation, card: Card) -> dict:
    begin_url = reverse("continue", args=[participation.token])
    page = instructions_page(participation.study, participation.scenario, begin_url, card)
    return page | {"leaving": "instructions"}


def instructions_of(scenario: Scenario, card: Card | None = None) -> dict:
    """Return the context for participation/_instructions.html, for the task or for `card`."""
    card, design = card or scenario.shown_card(scenario.task.card), scenario.design
    checks = 0 if scenario.hides_context else design.attention_checks
    return {
        "card": card,
        "instructions": paragraphs(card.instructions),
        "worked": worked_example(card),
        "help_windows": card.help_windows,
        "show_examples": scenario.shows_help_examples,
        "training_total": scenario.training_examples,
        "screening_total": scenario.screening_examples,
        "anchor_total": design.anchor_examples,
        "test_total": scenario.task.test_split.examples.count() + checks,
    }


def paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]


def _finished(participation: Participation) -> dict:
    token, study, worker = participation.token, participation.study, participation.worker
    worked = timedelta(seconds=participation.worked_seconds or 0)
    return {
        "stage": "finished",
        "answered": Answer.objects.filter(turn__participation=participation).count(),
        "learned": _learned(participation),
        "exit": current_exit(participation),
        "worked": in_words(worked),
        "next_task": not join_errors.refusal(study, worker.key, worker.kind),
        "next_task_url": reverse("next_task", args=[token]),
        "exit_form": exit_form(participation),
        "asked": study.exit_questionnaire or questions_at(study.own_questions, AFTER),
        "questionnaire_url": reverse("questionnaire", args=[token]),
    }


def exit_form(participation: Participation, *data: Any) -> ExitForm | None:
    """Return a form with the unanswered final questions, or None if all have been answered."""
    asks = participation.study.exit_questionnaire
    asks = asks and not ExitAnswers.objects.filter(participation=participation).exists()
    questions = own_questions.unanswered(participation, OwnAnswer.Moment.AFTER)
    return ExitForm(asks, questions, *data) if asks or questions else None


def _learned(participation: Participation) -> dict[str, Any]:
    """Return whether each training answer was correct, in order, or {} without a training step.

    Training answers have already been revealed. Results of the annotation step are never shown.
    """
    ticks = training_step.tally(participation, Step.TRAINING)
    if not ticks or not participation.scenario.task.card.kind.is_judged:
        return {}
    half = min(len(ticks) // 2, TEN)
    learned = {"ticks": ticks, "all": _of(ticks)}
    if half >= FEWEST_TO_COMPARE and sum(ticks[-half:]) > sum(ticks[:half]):
        learned |= {"first": _of(ticks[:half]), "last": _of(ticks[-half:])}
    return learned


def _of(ticks: list[bool]) -> str:
    return gettext("%(right)s of %(number)s") % {"right": sum(ticks), "number": len(ticks)}


def pay_in_words(cents: int, currency: str) -> str:
    """Format earnings, for example as "12.34 USD", or "" if there are none."""
    return money(ledger.in_currency(cents), currency) if cents else ""


def own_data_file(participation: Participation, rights: Collection[str] = WHOLE) -> JsonResponse:
    study_exit = current_exit(participation)
    return JsonResponse(
        personal_data(participation, study_exit.code if study_exit else None, rights),
        json_dumps_params={"indent": 1, "ensure_ascii": False},
        headers={"Content-Disposition": f'attachment; filename="{participation.pseudonym}.json"'},
    )


# Try-out -----------------------------------------------------------------------------------------

# Three invented sentences for trying out the tool, so that training only has to teach the task.
# They come before the first example (Study.try_the_tool), and are the same in all scenarios of a
# task. They never contain the task's labels, questions or text. Nothing is stored or scored, and
# the time counts as instruction time.


def try_out_is_offered(participation: Participation) -> bool:
    return (
        participation.study.try_the_tool
        and participation.status == Status.WORKING
        and not participation.turns.exists()
    )


def made_up(card: Card) -> list[Example]:
    return [
        Example(
            context=[translated(sentence.text)],
            question=translated(sentence.question),
            gold=list(map(translated, sentence.gold)),
            options=list(map(translated, sentence.options)),
        )
        for sentence in card.kind.tries(card)
    ]


def try_out_page(participation: Participation, number: int) -> TurnPage | None:
    """Return the page for the sentence with this (1-based) number, or None after the last one."""
    scenario = participation.scenario
    sentences = made_up(scenario.task.card)
    if not 1 <= number <= len(sentences):
        return None
    worked = participation.worked_before_first(database_now())
    return TurnPage(
        card=_tool_card(scenario.task.card),
        example=sentences[number - 1],
        place=Place(Step.TRAINING, number, len(sentences), trying=True),
        key=f"try-{number}",
        answer_url=reverse("try_tool", args=[participation.token, number]),
        continue_url=reverse("try_tool", args=[participation.token, number + 1]),
        shows_examples=False,
        progress=progress_at(worked=worked.total_seconds(), **scenario.promise),
    )


def worked_example(card: Card) -> dict[str, Any]:
    """Return the first invented example with its reveal, for participation/_example.html."""
    tool_card, example = _tool_card(card), made_up(card)[0]
    gold = tuple(example.gold)
    spans = tuple(
        next(Source(example.context).anywhere(text)) for text in gold * card.is_highlighted
    )
    label = gold[0] if card.labels else ""
    given = GivenAnswer(spans, label, False, () if spans or label else gold)
    reveal = reveal_page(tool_card, example, given, compare_answer(tool_card, example, given, gold))
    return {"card": tool_card, "question": Question(tool_card, example), "reveal": reveal}


def _tool_card(card: Card) -> Card:
    """Return a card with the same control, but without any content of the task."""
    language = get_language() or settings.LANGUAGE_CODE
    texts = " ".join(example.context[0] for example in made_up(card))
    return Card(
        name="try-the-tool",
        title=gettext("Try the tool"),
        family=card.family,
        description=gettext("Practise with three made-up sentences. Nothing is saved."),
        instructions=gettext(
            "Do what each question says. Then submit your answer. The page shows whether it is"
            " right."
        ),
        submit_hint="",
        segments=(gettext("Sentence"),),
        no_answer=card.no_answer and card.is_highlighted,
        gold_rule="set",
        language=language,
        direction="rtl" if get_language_bidi() else "ltr",
        source="made up",
        licence="CC0",
        max_spans=card.max_spans,
        granularity=CHAR if has_no_spaces(texts) else WORD,
        answer=card.answer,
        typed=card.typed,
        labels=tuple(Label(*map(translated, texts)) for texts in MADE_UP_LABELS if card.labels),
    )
