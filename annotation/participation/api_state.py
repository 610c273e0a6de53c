"""A participant's state as JSON, built by the same functions as the page.

Only `_revealed` and `_mistake` (the review) include gold answers. They require the page of a reveal
or review, which exists only once the examples have been answered (docs/protocol.md#invariants).
"""

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from django.utils import translation

from annotation.models import OwnAnswer, Participation, Scenario, Status, Turn
from annotation.participation.question import Place
from annotation.participation.reveal import Reveal, reveal_page
from annotation.participation.state import instructions_of, next_instructions, page_outside_turns
from annotation.participation.turn import TurnPage, turn_page
from annotation.protocol import own_questions, training_step
from annotation.protocol.training_step import Mistake
from annotation.recruitment.platform_adapters import Exit
from annotation.study import screening
from tasks.answers.typed import as_digits
from tasks.cards import Card, HelpWindow
from tasks.spans import GivenAnswer


def state_of(participation: Participation, turn: Turn | None = None) -> dict[str, Any]:
    """Return the participant's state. Pass the latest `turn` if it is loaded. Writes nothing."""
    translation.activate(participation.scenario.design.interface_language)
    participant = {
        "participation": participation.pseudonym,
        "kind": participation.kind,
        "status": participation.status,
    }
    if participation.status != Status.WORKING:
        return participant | _outside(participation)
    turn = turn or participation.latest_turn()
    if turn is None:
        return participant | _outside(participation)
    if card := training_step.card_shown_after(participation, turn):
        instructions = _instructions(participation.scenario, next_instructions(participation, card))
        return participant | {"step": "instructions", "leads_to": "continue"} | instructions
    return participant | _at_turn(participation, turn_page(participation, turn))


def record_of(participation: Participation) -> dict[str, Any]:
    """Return a participant's answers in order, with any gold answers already revealed.

    This lets programs continue after a crash. It contains only what earlier responses contained.
    """
    translation.activate(participation.scenario.design.interface_language)
    scenario = participation.scenario
    turns = participation.turns.filter(answer__isnull=False).order_by("pk")
    turns = turns.select_related("example", "answer", "confidence")
    answered: list[dict[str, Any]] = []
    for turn in turns.prefetch_related("answer__spans"):
        card, given = turn.card, turn.answer.as_given
        total = len(participation.order_of(turn.step))
        place = Place(turn.shown_step, turn.position + 1, total)
        page = TurnPage(
            card, turn.shown_example, place, str(turn.pk), "", "", scenario.shows_help_examples
        )
        record = {
            "task": task_of(card, page.shows_examples),
            "question": _question(page),
            "answer": _given(given),
        }
        if turn.is_revealed and not turn.awaits_confidence:
            compared = training_step.reveal(turn)
            record["reveal"] = _revealed(reveal_page(card, turn.shown_example, given, compared))
        answered.append(record)
    first = instructions_of(scenario, training_step.first_card(participation))
    lead = _instructions(scenario, first) if participation.turns.exists() else None
    return {"lead": lead, "answered": answered}


def declined(study_exit: Exit | None) -> dict[str, Any]:
    return {"step": "declined"} | _exit(study_exit)


def _outside(participation: Participation) -> dict[str, Any]:
    page, study = page_outside_turns(participation), participation.study
    step = page["stage"]
    if step == "consent":
        return {
            "step": step, "consent": study.consent_text, "ethics_contact": study.ethics_contact,
        }  # fmt: skip
    if step == "own_questions":
        return {"step": step, "questions": _questions(participation, OwnAnswer.Moment.BEFORE)}
    if step == "instructions":
        instructions = _instructions(participation.scenario, page)
        if not own_questions.comprehension_is_open(participation):
            return {"step": step, "leads_to": "begin"} | instructions
        items = screening.parse(study.comprehension_questions)
        questions = [{"text": item.text, "options": list(item.options)} for item in items]
        return {
            "step": "comprehension", **instructions,
            "questions": questions, "attempts_left": page["attempts_left"],
        }  # fmt: skip
    if step == "waiting":
        end = page["until"]
        return {"step": step, "until": end.isoformat() if end else None}
    ended: dict[str, Any] = {"step": step} | _exit(page.get("exit"))
    if step == "gone":
        may_resume = page.get("may_come_back", False)
        ended |= {"reason": str(page["reason"]), "may_resume": may_resume}
    if step == "finished":
        form = page["exit_form"]
        ended |= {
            "answered": page["answered"],
            "asks_questions": form is not None and form.asks,
            "own_questions": _questions(participation, OwnAnswer.Moment.AFTER),
            "next_task": page["next_task"],
        }
    return ended


def _questions(participation: Participation, moment: str) -> list[dict[str, Any]]:
    return [
        {
            "id": question.id, "text": question.text, "kind": question.kind,
            "required": question.is_required, "options": list(question.options),
        }
        for question in own_questions.unanswered(participation, moment)
    ]  # fmt: skip


def _exit(study_exit: Exit | None) -> dict[str, Any]:
    return {"exit": asdict(study_exit) if study_exit else None}


def _instructions(scenario: Scenario, page: dict[str, Any]) -> dict[str, Any]:
    counts = ("anchor_total", "training_total", "screening_total", "test_total")
    return {
        "scenario": {"shots": scenario.shots, "split": scenario.split_number},
        "task": task_of(page["card"], page["show_examples"]),
        **{count: page[count] for count in counts},
    }


def task_of(card: Card, shows_examples: bool) -> dict[str, Any]:
    limits = {"lowest": card.lowest, "highest": card.highest, "step": card.step}
    return {
        "title": card.title,
        "description": card.description,
        "instructions": card.instructions,
        "submit_hint": card.submit_hint,
        "help": [_help(window, shows_examples) for window in card.help_windows],
        "labels": [{"name": label.name, "definition": label.definition} for label in card.labels],
        "answer": {
            "kind": card.answered_by,
            "no_answer": card.no_answer,
            "typed": card.typed,
            "max_spans": card.max_spans,
            "question_selectable": card.question_selectable,
            "tokens": card.granularity,
            **{name: None if value is None else as_digits(value) for name, value in limits.items()},
            "unit": card.unit or "",
            "longest": card.longest_text or None,
            "words": list(card.words),
        },
        "language": card.language,
        "direction": card.direction,
    }


def _help(window: HelpWindow, shows_examples: bool) -> dict[str, str]:
    return {
        "title": window.title,
        "definition": window.definition,
        "example": window.example if shows_examples else "",
    }


def _at_turn(participation: Participation, page: TurnPage) -> dict[str, Any]:
    scenario = participation.scenario
    state: dict[str, Any] = {
        "step": page.state,
        "scenario": {"shots": scenario.shots, "split": scenario.split_number},
        "task": task_of(page.card, page.shows_examples),
        "question": _question(page),
    }
    if page.rated:
        state |= {"answer": _given(page.rated), "asks_reason": page.asks_reason}
        state["points"] = {point: str(label) for point, label, _percent in page.levels}
    elif page.review:
        state["review"] = [_mistake(mistake) for mistake in page.review]
    elif page.reveal is not None:
        state |= {"answer": _given(page.reveal.answer), "reveal": _revealed(page.reveal)}
    return state


def _question(page: TurnPage) -> dict[str, Any]:
    question, place = page.question, page.place
    return {
        "turn": int(page.key),
        "step": place.step,
        "number": place.number,
        "total": place.total,
        "segments": [
            {"name": segment.name, "text": segment.words}
            | ({"image": reverse("image", args=[segment.image.name])} if segment.image else {})
            for segment in question.segments
        ],
        "question": question.text,
        "asked": question.kind.name if question.kind else "",
        "options": list(page.example.options),
    }


def _given(given: GivenAnswer) -> dict[str, Any]:
    return {
        "spans": [span._asdict() for span in given.spans],
        "label": given.label,
        "values": list(given.values),
        "no_answer": given.no_answer,
        "texts": given.texts,
    }


def _revealed(reveal: Reveal) -> dict[str, Any]:
    compared = reveal.comparison
    return {
        "gold": list(reveal.gold),
        # Answers that are not judged have no score. The page shows both texts side by side instead.
        "s1": None if reveal.verdict == "compare" else compared.s1,
        "verdict": reveal.verdict,
        **{name: list(getattr(compared, name)) for name in ("right", "missed", "extra", "partial")},
        "also_accepted": list(compared.also_accepted),
        "explanation": reveal.explanation,
        "rule": _help(reveal.rule, shows_examples=False) if reveal.rule else None,
    }


def _mistake(mistake: Mistake) -> dict[str, Any]:
    return {
        "kind": mistake.kind,
        "count": mistake.count,
        "instances": [{"given": case.given, "gold": list(case.gold)} for case in mistake.instances],
        "rules": [rule.title for rule in mistake.rules],
    }
