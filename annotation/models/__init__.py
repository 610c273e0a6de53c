"""Database models: studies, scenarios, workers, participations, turns, answers and more.

Protocol rules are enforced by database constraints wherever possible. Each constraint is named
after the rule that it enforces.
"""

from annotation.models.accounts import (
    ApiToken,
    AuditEntry,
    Invitation,
    Preferences,
    Topic,
    request_now,
)
from annotation.models.answers import (
    Activity,
    Answer,
    AnswerSpan,
    Channel,
    Confidence,
    Draft,
    ProblemReport,
    Reading,
    Turn,
)
from annotation.models.arrivals import (
    AccessRule,
    Allocation,
    DeclinedOffer,
    Exposure,
    KeyCheck,
    ListedWorker,
    PersonalLink,
    Reason,
    RefusedArrival,
    Worker,
)
from annotation.models.money import LedgerEntry, Payment, PaymentBatch
from annotation.models.notices import About as NoticeAbout
from annotation.models.notices import Delivery, Event, Notice, NoticeSwitch, Webhook
from annotation.models.options import OPTIONS, SCALES, ProlificReward, Qualification
from annotation.models.participation import (
    ANALYSED,
    AT_WORK_WITHIN,
    LIVE,
    MAY_RESUME,
    ORDERS,
    Participation,
    ParticipationQuerySet,
    Status,
    Tombstone,
)
from annotation.models.records import (
    ComparedFile,
    ConsentText,
    Decision,
    ExampleComment,
    ExitAnswers,
    GoldOpinion,
    ModelAnnotator,
    ModelRun,
    OwnAnswer,
    ReportAnswer,
    ScoreShown,
    StudyManifest,
    StudyTombstone,
)
from annotation.models.recruiting import (
    Panel,
    ProlificAccount,
    ProlificStudy,
    Submission,
)
from annotation.models.scenario import (
    JUDGED_STEPS,
    MODEL_SEATS,
    REVEALED,
    AddedSeats,
    ArmTaken,
    Kind,
    Scenario,
    Step,
    UpstreamExample,
)
from annotation.models.study import Member, Role, Study, StudyStatus
from tasks.models.choices import Arm
