"""The pages before and after the turns as everybody of a scenario meets them, for previews.

Like worker/state.py, but of nobody: there is no participation, and no address that stores anything.
"""

from datetime import timedelta
from typing import Any

from annotation.models import Scenario, Study
from annotation.money import ledger
from annotation.pages.worker.forms import ComprehensionForm, ExitForm, OwnForm
from annotation.pages.worker.state import instructions_of
from annotation.study import cross_task
from annotation.study.consent_text import as_html
from annotation.study.own_questions import AFTER, BEFORE, of_moment
from annotation.wording import in_words, money


def consent_of(study: Study, on: str) -> dict[str, Any]:
    """The consent page; its buttons lead to the address `on`."""
    return {"stage": "consent", "consent_html": as_html(study.consent_text), "consent_url": on}


def questions_of(study: Study, on: str) -> dict[str, Any]:
    """The questions of the study's own that stand before the instructions."""
    form = OwnForm(of_moment(study.own_questions, BEFORE))
    return {"stage": "own_questions", "own_form": form, "own_url": on}


def instructions_before(scenario: Scenario, on: str) -> dict[str, Any]:
    """The instructions, with the questions about them where the design has some."""
    study = scenario.study
    page = instructions_of(scenario)
    page["training_total"] += cross_task.length(study, scenario.arm)
    page |= {"stage": "instructions", "begin_url": on, "minutes": scenario.estimated_minutes}
    if study.comprehension_questions.strip():
        page["questions_form"] = ComprehensionForm(study)
        page["attempts_left"] = study.comprehension_attempts
        page["comprehend_url"] = on
    return page


def end_of(scenario: Scenario, on: str) -> dict[str, Any]:
    """The end, as after the announced minutes, with the questions of the design."""
    study = scenario.study
    own = of_moment(study.own_questions, AFTER)
    asks = study.exit_questionnaire or own
    worked = timedelta(minutes=scenario.estimated_minutes)
    earned = max(ledger.for_time(study, worked), ledger.cents(study.base_reward))
    return {
        "stage": "finished",
        # "arrived": who looks at a preview has nothing to leave or to withdraw.
        "participation": {"worked_seconds": worked.total_seconds(), "status": "arrived"},
        "answered": scenario.training_examples + scenario.task.test_split.examples.count(),
        "worked": in_words(worked),
        "pay": money(ledger.in_currency(earned), study.currency) if earned else "",
        "exit": {"code": "PREVIEW"},
        "exit_form": ExitForm(study.exit_questionnaire, own) if asks else None,
        "questionnaire_url": on,
    }
