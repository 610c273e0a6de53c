"""Figures on how a study was run: arrivals and exits, pay, decisions and changes.

They are gathered once for the report, and cover only human annotators unless their name says
otherwise. Amounts are in cents and times in seconds. The only names are annotators' pseudonyms.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from django.db.models import Avg, Count, Q, Sum, prefetch_related_objects

from analysis.documents import wording
from analysis.heavy import pd
from analysis.models import models as model_tables
from analysis.scores import findings, frames, marks
from analysis.scores.attrition import sample
from annotation.models import (
    ANALYSED,
    Activity,
    Arm,
    Decision,
    ExitAnswers,
    Kind,
    LedgerEntry,
    Participation,
    ParticipationQuerySet,
    Scenario,
    Status,
    Step,
    Study,
    Topic,
)
from annotation.monitoring import funnel
from annotation.monitoring.sample import Row
from annotation.pay import ledger
from annotation.pay.budget import PAUSED
from annotation.prolific.adapter import ProlificAdapter
from annotation.protocol.activity_summary import REPORTS
from annotation.recruitment.links import OpenLink
from annotation.recruitment.platform_adapters import source_of
from annotation.study import compared_files
from tasks.cards import place_in_results
from tasks.models import Example, Split, Task

# Matches sentences in the audit log (AuditEntry.what) that do not contain names.
ANONYMOUS_CHANGE = re.compile(
    rf"{PAUSED}|paused$|reopened$|closed for good$|budget raised from "
    r"|\d+ seats? added to |list entry (created|ended): "
    r"|rejected on Prolific \([^)]*\): A-[A-Z2-9]{5}$"
)
# Opening is not a change, and participants cannot see drafts on Prolific.
NO_CHANGE = re.compile(r"opened$|\d+ stud(y|ies) on Prolific drafted$")


class StudyRecord:
    """The numbers for one opened study, each of which is computed only once.

    `masked` is applied to text entered by users; for publication, it is identities.without_ids.
    `sums` is the SHA-256 of SHA256SUMS in the bundle that contains the report.
    """

    def __init__(self, study: Study, masked: Callable[[str], str] = str, sums: str = ""):
        self.study = study
        self.masked = masked
        self.sums = sums
        self.manifest: dict[str, Any] = json.loads(study.manifest)
        self.manifest["tasks"].sort(key=lambda t: place_in_results(t["card"]["family"], t["name"]))
        prefetch_related_objects([study], "tasks")  # most parts use the tasks

    @cached_property
    def frame(self) -> pd.DataFrame:
        return frames.annotators(self.study)

    @cached_property
    def analysed(self) -> pd.DataFrame:
        return frames.counted(self.frame, Kind.PERSON)

    @cached_property
    def answered(self) -> pd.DataFrame:
        return findings.answered(self.study, Kind.PERSON)

    @cached_property
    def tasks(self) -> list[Task]:
        return sorted(self.study.tasks.all(), key=lambda task: task.place)

    @cached_property
    def test_sizes(self) -> dict[str, int]:
        examples = Example.objects.filter(split__task__in=self.tasks, split__kind=Split.Kind.TEST)
        by_task = examples.order_by().values_list("split__task__name")
        return dict(by_task.annotate(size=Count("pk")))

    @cached_property
    def funnels(self) -> list[tuple[Scenario, funnel.Funnel]]:
        scenarios = list(funnel.with_training_size(self.study))
        funnels = funnel.by_scenario_and_kind(self.study, scenarios)
        return [(each, funnels[each.pk, Kind.PERSON]) for each in scenarios]

    @cached_property
    def flow(self) -> funnel.Funnel:
        return sum((part for _scenario, part in self.funnels), funnel.Funnel())

    @cached_property
    def workers(self) -> dict[str, int]:
        """Count the distinct participants who arrived, who consented, and who are in the analysis.

        A participant who takes part in several tasks is counted only once.
        Declines are counted individually, because no participations are stored for them.
        """
        reached = {"arrived": Q(), "consented": Q(consented_at__isnull=False), "analysed": ANALYSED}
        counts = {name: Count("worker", distinct=True, filter=q) for name, q in reached.items()}
        numbers: dict[str, int] = self.people.aggregate(**counts)
        return numbers | {"arrived": numbers["arrived"] + self.flow.declined}

    @cached_property
    def refused_arrivals(self) -> dict[str, int]:
        """Count refusals on the landing page by reason, at most once per browser.

        A person may still be counted more than once. `met` and `done` are for people who had
        already done the tasks.
        """
        return dict(self.study.refused_arrivals.values_list("reason", "number"))

    @cached_property
    def design(self) -> dict[str, str]:
        """Map blocks of templates/documents/design.txt to sentences about the design."""
        strata = wording.strata(self.study)
        return wording.design(self.manifest, wording.REPORTED, strata, self.came_from_prolific)

    @cached_property
    def pay_sentences(self) -> dict[str, str]:
        """Map blocks of templates/documents/pay.txt to sentences about pay."""
        ends = (self.rewards[0], self.rewards[-1]) if self.rewards else ()
        paid = f"{ledger.in_currency(self.paid)} {self.manifest['currency']}"
        return wording.pay(
            self.manifest,
            wording.REPORTED,
            rewards=list(dict.fromkeys(map(ledger.in_currency, ends))),
            earned=self.earned and ledger.in_currency(self.earned),
            paid="none" if not self.paid else "all" if self.paid == self.earned else paid,
        )

    @property
    def has_fixed_amounts(self) -> bool:
        return bool(self.rewards) or wording.has_fixed_amounts(self.manifest)

    @property
    def excluded(self) -> int:
        return self.flow.completed - self.flow.analysed

    @cached_property
    def excluded_manually(self) -> int:
        latest = {e.annotator: e for e in self.exclusions if not e.by_design}
        return sum(e.by_researcher and not e.in_analysis for e in latest.values())

    @property
    def people(self) -> ParticipationQuerySet:
        return self.study.participations.filter(kind=Kind.PERSON)

    @cached_property
    def rejected(self) -> tuple[int, int]:
        """Count completed participants whom a platform rejected, and those still analysed."""
        rejections = self.people.filter(submissions__status="REJECTED", status=Status.COMPLETED)
        return rejections.distinct().count(), rejections.analysed().distinct().count()

    @cached_property
    def marks(self) -> list[str]:
        return marks.sentences(self.study)

    @cached_property
    def chose_scenario(self) -> bool:
        return marks.scenarios_were_chosen(self.study)

    @cached_property
    def _on_prolific(self) -> list[tuple[int, int]]:
        """Return (reward in cents, time limit in minutes) for each study created on Prolific."""
        created = self.study.prolific_studies.exclude(external_id=None)
        return sorted(created.values_list("reward_cents", "max_minutes"))

    @property
    def rewards(self) -> list[int]:
        """Return the rewards of studies created on Prolific, in cents and in ascending order."""
        return [reward for reward, _minutes in self._on_prolific]

    @property
    def breaks(self) -> str:
        idle = wording.count(self.manifest["idle_limit_hours"], "hour")
        if not self._on_prolific:
            return idle
        longest = max(minutes for _reward, minutes in self._on_prolific)
        return f"{idle} (on Prolific, a submission ends after {longest} minutes)"

    @cached_property
    def failed_questions(self) -> int:
        if not self.study.comprehension_questions.strip():
            return 0
        out = self.people.filter(comprehended_at__isnull=True, status=Status.SCREENED_OUT)
        return out.count()

    @cached_property
    def settled(self) -> list[ledger.Wage]:
        """Return the times and earnings of annotators with settled pay who have not withdrawn.

        Annotators left unpaid by a decision are included, but their earnings are never summed.
        """
        return ledger.wages(seat for seat in self._seats if seat.status != Status.WITHDRAWN)

    @cached_property
    def _seats(self) -> list[Participation]:
        return list(ledger.settled(self.study))

    @property
    def withdrawn_with_pay(self) -> int:
        seats = [seat for seat in self._seats if seat.status == Status.WITHDRAWN and seat.is_paid]
        return sum(bool(seat.earned) for seat in seats)  # type: ignore[attr-defined]  # annotated

    @cached_property
    def wages(self) -> list[ledger.Wage]:
        return [wage for wage in self.settled if wage.participation.is_paid]

    def median(self, name: str, wages: list[ledger.Wage] | None = None) -> float | None:
        """Return the median of a Wage attribute (paid wages only, by default), or None."""
        values = [getattr(wage, name) for wage in (self.wages if wages is None else wages)]
        numbers = [value for value in values if value is not None]
        return statistics.median(numbers) if numbers else None

    @property
    def hourly_wage(self) -> str:
        """Return the median earnings per active hour as text, or "" if unknown."""
        wage = self.median("per_active_hour")
        return "" if wage is None else ledger.in_currency(round(wage))

    @cached_property
    def amounts(self) -> list[SimpleNamespace]:
        """Return the number of ledger entries of each kind, and their sum in cents."""
        labels = dict(LedgerEntry.Kind.choices)
        entries = LedgerEntry.objects.filter(
            participation__study=self.study, participation__is_paid=True
        ).order_by("kind")
        sums = entries.values_list("kind").annotate(entries=Count("pk"), cents=Sum("cents"))
        return [
            SimpleNamespace(kind=kind, words=str(labels[kind]), entries=entries, cents=cents)
            for kind, entries, cents in sums
        ]

    @property
    def earned(self) -> int:
        return sum(amount.cents for amount in self.amounts)

    @cached_property
    def paid(self) -> int:
        """Return how much of the earnings, in cents, belongs to paid batches."""
        entries = LedgerEntry.objects.filter(participation__study=self.study)
        paid = entries.filter(payment__batch__state="paid")
        return paid.aggregate(total=Sum("cents"))["total"] or 0

    @cached_property
    def seconds_per_answer(self) -> float | None:
        """Return the mean active seconds per test answer, for participants who saw the contexts."""
        answers = self.people.analysed().answers()
        answers = answers.exclude(turn__participation__scenario__arm=Arm.QUESTION)
        return answers.aggregate(mean=Avg("active_seconds"))["mean"]

    @cached_property
    def check_results(self) -> tuple[int, int]:
        """Return (passed, answered) attention checks of the participants in the analysis."""
        checks = self.people.analysed().answers(Step.CHECK)
        counts = checks.aggregate(n=Count("pk"), passed=Count("pk", filter=Q(s1=1)))
        return counts["passed"], counts["n"]

    @cached_property
    def page_reports(self) -> dict[str, int]:
        activity = Activity.objects.filter(turn__participation__in=self.people.analysed())
        sums = activity.aggregate(**{name: Sum(name) for name in ("blurs", "pastes", *REPORTS)})
        return {name: value or 0 for name, value in sums.items()}

    @cached_property
    def exit_answers(self) -> dict[str, Counter[str]]:
        given = ExitAnswers.objects.filter(participation__in=self.people)
        return {
            name: Counter(answer or "not answered" for answer in given.values_list(name, flat=True))
            for name in ("seen_before", "ai_used")
        }

    @cached_property
    def consents(self) -> list[tuple[int, datetime, int]]:
        """Return (version, start, number of participants who agreed) for each consent text."""
        people = self.people.filter(consented_at__isnull=False)
        counts = dict(people.order_by().values_list("consent_text").annotate(n=Count("pk")))
        texts = self.study.consent_texts.order_by("version")
        return [(text.version, text.since, counts.get(text.pk, 0)) for text in texts]

    @cached_property
    def sample(self) -> list[Row]:
        return sample(self.study, Kind.PERSON)

    @cached_property
    def withdrawn(self) -> int:
        return self.people.filter(status=Status.WITHDRAWN).count()

    @cached_property
    def exclusions(self) -> list[SimpleNamespace]:
        """Return decisions about inclusion in the analysis, in chronological order.

        `by_design` means that the annotator was screened out by the frozen design, through a rule
        or a researcher's decision. `by_researcher` means that a researcher decided about an
        annotator who was not screened out.
        """
        decisions = Decision.objects.filter(
            participation__in=self.people, about=Decision.About.ANALYSIS
        )
        rows = decisions.values_list(
            "participation__pseudonym", "outcome", "reason", "at", "participation__status", "by"
        )
        exclusions = []
        for annotator, outcome, reason, at, status, by in rows:
            by_design = status == Status.SCREENED_OUT
            by_researcher = by is not None and not by_design
            source = "by a researcher" if by_researcher else "automatically"
            exclusions.append(
                SimpleNamespace(
                    annotator=annotator,
                    in_analysis=outcome,
                    reason=self.masked(reason),
                    at=at,
                    by_design=by_design,
                    by_researcher=by_researcher,
                    made="by the design" if by_design else source,
                )
            )
        return exclusions

    @cached_property
    def platforms(self) -> list[tuple[str, int]]:
        counts = self.people.order_by("worker__platform").values_list("worker__platform")
        return [(source_of(name), n) for name, n in counts.annotate(n=Count("pk"))]

    @property
    def came_from_prolific(self) -> bool:
        return ProlificAdapter.label in dict(self.platforms)

    @property
    def reached(self) -> list[str]:
        """Return sentences about the audience of the design, or that Prolific was not used."""
        return list(filter(None, (self.design["audience"], self.design["content_warning"])))

    @property
    def via_open_link(self) -> int:
        return dict(self.platforms).get(OpenLink.label, 0)

    @property
    def sources(self) -> str:
        """Describe where the participants came from. Declines are stored without their source."""
        sources = [f"{n} via {name}" for name, n in self.platforms]
        if self.flow.declined:
            sources.append(f"{self.flow.declined} declined, source not stored")
        return "; ".join(sources)

    @cached_property
    def model_names(self) -> list[str]:
        names = compared_files.files(self.study).order_by().distinct()
        return sorted(names.values_list("model__name", flat=True))

    @cached_property
    def models(self) -> list[SimpleNamespace]:
        return model_tables.model_rows(compared_files.files(self.study))

    @cached_property
    def changes(self) -> list[tuple[datetime, str]]:
        """Return the changes since opening, except to the team, in chronological order.

        The log may name researchers, so only sentences of a known form are repeated.
        """
        events = self.study.events.filter(at__gt=self.study.opened_at, topic=Topic.STUDY)
        return [
            (at, text if ANONYMOUS_CHANGE.match(text) else "another change (see the study's log)")
            for at, text in events.values_list("at", "what")
            if not NO_CHANGE.match(text)
        ]

    @cached_property
    def pilots(self) -> int:
        names = [task.name for task in self.tasks]
        studies = Study.objects.filter(owner=self.study.owner_id, tasks__name__in=names)
        earlier = studies.filter(opened_at__lt=self.study.opened_at).exclude(pk=self.study.pk)
        return earlier.distinct().count()
