"""The data stored about an annotator's work on a task, as a file for that annotator.

It contains only examples that they were shown, and nothing derived from gold answers: no scores,
correct answers, reasons for decisions (some contain scores) or marks for attention checks. It can
therefore be handed out at any time.
"""

from collections.abc import Collection
from typing import Any

from annotation.models import Participation, PaymentBatch, Step, Turn
from annotation.protocol.activity_summary import REPORTS
from annotation.protocol.own_questions import EXIT_QUESTIONS

WHOLE = frozenset({"read", "pay"})

LEFT_OUT = (
    "Right answers, scores and the reasons for decisions, because they could reveal right answers"
    " that are still in use. Ask the researcher for them. If you have an id on a platform, it is"
    " stored encrypted until all annotators are paid and the researchers delete it. A keyed hash"
    " that does not identify you remains stored, so that the same task cannot be done twice."
)


def personal_data(
    participation: Participation, code: str | None, rights: Collection[str] = WHOLE
) -> dict[str, Any]:
    """Return the data about a participation without LEFT_OUT. Times are in ISO 8601, UTC.

    `code` is the completion code that the annotator currently sees. For researchers, answers
    require the right to read, and earnings and the code require the right to pay.
    """
    consent = participation.consent_text
    submissions = participation.submissions.order_by("pk")
    data = {
        "study": participation.study.title,
        "task": participation.scenario.task.card.title,
        "pseudonym": participation.pseudonym,
        "status": participation.get_status_display(),
        "arrived_at": participation.arrived_at,
        "consented_at": participation.consented_at,
        "consent_text": consent.text if consent else None,
        "returned_at": participation.returned_at,
        "finished_at": participation.finished_at,
        "completion_code": code,
        "attempts_at_questions_about_the_instructions": participation.comprehension_attempts_used,
        "a_cookie_of_the_browser_is_stored_as_a_hash": bool(participation.browser),
        "platforms": [
            {"platform": row.platform, "status": row.status, "arrived_at": row.arrived_at,
             "id_is_stored": bool(row.person or row.reference)}
            for row in submissions
        ],
    }  # fmt: skip
    if "read" in rights:
        turns = participation.turns.select_related(
            "example", "answer", "activity", "draft", "reading", "confidence", "problem"
        )
        data |= {
            "examples": [_turn_data(turn) for turn in turns.prefetch_related("answer__spans")],
            "questions_of_the_study": [
                {"question": row.question, "answer": row.answer, "at": row.at}
                for row in participation.own_answers.all()
            ],
            "questions_at_the_end": _exit_answers(participation),
        }
    if "pay" in rights:
        data["earnings"] = [
            {
                "kind": entry.get_kind_display(), "amount": entry.amount,
                "currency": entry.currency, "at": entry.at,
                "is_paid": payment is not None and payment.batch.state == PaymentBatch.State.PAID,
            }
            for entry in participation.ledger.select_related("payment__batch")
            for payment in [getattr(entry, "payment", None)]
        ]  # fmt: skip
    else:
        del data["completion_code"]
    return data | {
        "decisions": [
            {"about": row.get_about_display(), "outcome": row.outcome, "at": row.at}
            for row in participation.decisions.readable_by(rights).order_by("pk")
        ],
        "left_out": LEFT_OUT,
    }


def _turn_data(turn: Turn) -> dict[str, Any]:
    given, activity = turn.given, getattr(turn, "activity", None)
    reading, rated = getattr(turn, "reading", None), getattr(turn, "confidence", None)
    data: dict[str, Any] = {
        "step": Step.ANNOTATION if turn.step == Step.CHECK else turn.step,
        "shown_at": turn.shown_at,
        "shown_by": turn.channel,
        "texts": turn.shown_example.context,
        "question": turn.example.question,
        "unsent_answer": turn.draft.content if hasattr(turn, "draft") else None,
        "seconds_at_the_right_answer": reading.seconds if reading else None,
        "confidence": {"point": rated.value, "reason": rated.reason} if rated else None,
        "reported_problem": turn.problem.text if hasattr(turn, "problem") else None,
        "answer": None,
    }
    if activity is not None:
        data |= {
            "times_left": activity.blurs,
            "seconds_away": activity.away_seconds,
            "pastes": activity.pastes,
            **{name: getattr(activity, name) for name in REPORTS},
        }
    if given is not None:
        data["answer"] = {
            "submitted_at": given.submitted_at,
            "came_by": given.channel,
            "active_seconds": given.active_seconds,
            "no_answer": given.no_answer,
            "label": given.label,
            "values": given.values,
            "highlights": [
                {"segment": span.segment, "start": span.start, "end": span.end, "text": span.text}
                for span in given.spans.all()
            ],
        }
    return data


def _exit_answers(participation: Participation) -> dict[str, str] | None:
    row = getattr(participation, "exit_answers", None)
    return None if row is None else {name: getattr(row, name) for name in EXIT_QUESTIONS}
