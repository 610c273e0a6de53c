"""Who answers, and how: studies, their scenarios, workers, participations, turns and answers.

The sentences of the protocol that can be constraints are constraints here, under names that say
them.
"""

from annotation.models.answers import LONGEST_COUNTED_GAP, Activity, Answer, AnswerSpan, Turn
from annotation.models.money import LedgerEntry, Payment, PaymentBatch
from annotation.models.people import (
    Allocation,
    Decision,
    DeclinedOffer,
    ExitAnswers,
    Exposure,
    KeyCheck,
    Participation,
    ParticipationQuerySet,
    PersonalLink,
    Tombstone,
    Worker,
)
from annotation.models.recruiting import Panel, ProlificStudy, Submission, WebhookEvent
from annotation.models.reporting import ReportAnswer
from annotation.models.study import (
    AccessRule,
    ConsentText,
    Kind,
    Member,
    Qualification,
    Role,
    Scenario,
    Step,
    Study,
    StudyEvent,
    _frozen_scenario,
    new_code,
    new_seed,
    new_token,
    scenario_of,
)

__all__ = [
    "LONGEST_COUNTED_GAP",
    "AccessRule",
    "Activity",
    "Allocation",
    "Answer",
    "AnswerSpan",
    "ConsentText",
    "Decision",
    "DeclinedOffer",
    "ExitAnswers",
    "Exposure",
    "KeyCheck",
    "Kind",
    "LedgerEntry",
    "Member",
    "Panel",
    "Participation",
    "ParticipationQuerySet",
    "Payment",
    "PaymentBatch",
    "PersonalLink",
    "ProlificStudy",
    "Qualification",
    "ReportAnswer",
    "Role",
    "Scenario",
    "Step",
    "Study",
    "StudyEvent",
    "Submission",
    "Tombstone",
    "Turn",
    "WebhookEvent",
    "Worker",
    "_frozen_scenario",
    "new_code",
    "new_seed",
    "new_token",
    "scenario_of",
]  # fmt: skip
