"""Who answers, and how: studies, their scenarios, workers, participations, turns and answers.

The sentences of the protocol that can be constraints are constraints here, under names that say
them.
"""

from annotation.models.answers import LONGEST_COUNTED_GAP, Activity, Answer, AnswerSpan, Turn
from annotation.models.money import LedgerEntry, Payment, PaymentBatch
from annotation.models.people import (
    ANALYSED,
    LIVE,
    MAY_RESUME,
    Allocation,
    Decision,
    DeclinedOffer,
    ExitAnswers,
    Exposure,
    KeyCheck,
    Participation,
    ParticipationQuerySet,
    PersonalLink,
    Status,
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
    StudyStatus,
    new_code,
    new_seed,
    new_token,
)

__all__ = [
    "ANALYSED",
    "LIVE",
    "LONGEST_COUNTED_GAP",
    "MAY_RESUME",
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
    "Status",
    "Step",
    "Study",
    "StudyEvent",
    "StudyStatus",
    "Submission",
    "Tombstone",
    "Turn",
    "WebhookEvent",
    "Worker",
    "new_code",
    "new_seed",
    "new_token",
]  # fmt: skip
