"""Workers and how they arrive: links, access lists, offers, allocations and refusals."""

from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from annotation.models.scenario import Kind, Scenario
from annotation.models.study import Study, new_code
from tasks.models.choices import one_of, unique

# For how long a worker is offered only the scenario that they declined.
OFFERED_AGAIN_FOR = timedelta(days=1)


class PersonalLink(models.Model):
    """A personal link, with a name chosen by the researcher. Its holder counts as one worker."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="personal_links")
    name = models.CharField(max_length=200)
    code = models.CharField(max_length=40, unique=True, default=new_code)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            unique(
                "a_name_has_one_personal_link_in_a_study",
                ["study", "name"],
                message="This study already has a personal link with that name.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Worker(models.Model):
    """A person or program that gives answers. `key` is a keyed hash of the platform and ID."""

    key = models.CharField(max_length=64, unique=True)
    platform = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [one_of("kind", Kind, "a_worker_is_of_a_known_kind")]


class KeyCheck(models.Model):
    """Identifies a key used for hashing or encrypting IDs (key_check.py)."""

    name = models.CharField(max_length=20, unique=True)
    value = models.CharField(max_length=64)


class Exposure(models.Model):
    """A permanent record that a worker has seen an example from any version of a task.

    It has no foreign keys, because it must outlive both the worker and the study.
    """

    worker_key = models.CharField(max_length=64)
    task_name = models.CharField(max_length=60)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [unique("a_worker_takes_part_once_per_task", ["worker_key", "task_name"])]


class Effect(models.TextChoices):
    ALLOW = "allow", "allow only"
    DENY = "deny", "exclude"


class Criterion(models.TextChoices):
    TASK = "task", "annotators who have seen the task"
    STUDY = "study", "annotators who qualified in the study"
    PEOPLE = "people", "annotators on a list of ids"


class AccessRule(models.Model):
    """An entry on a study's allow list or deny list, which apply in addition to the design.

    While the study is open, entries can be added and ended but never changed, which preserves the
    history. `value` is the name of a task or study. For a list of IDs, the workers are in `listed`.
    """

    Effect = Effect
    Criterion = Criterion

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="access_rules")
    effect = models.CharField(max_length=5, choices=Effect)
    criterion = models.CharField(max_length=6, choices=Criterion)
    value = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            one_of("effect", Effect, "an_access_rule_has_a_known_effect"),
            one_of("criterion", Criterion, "an_access_rule_has_a_known_criterion"),
        ]

    def __str__(self) -> str:
        value = self.value
        if self.criterion == self.Criterion.PEOPLE:
            count = self.listed.count()
            number = f"{count} {'person' if count == 1 else 'people'}"
            value = f"{number} of {value}" if value else number
        return f"{self.get_effect_display()} {self.get_criterion_display()}: {value}"


class ListedWorker(models.Model):
    """The keyed hash of a worker on a list of IDs, even if the worker has never arrived."""

    rule = models.ForeignKey(AccessRule, on_delete=models.CASCADE, related_name="listed")
    key = models.CharField(max_length=64)

    class Meta:
        ordering = ["pk"]
        constraints = [unique("a_worker_is_on_a_list_once", ["rule", "key"])]


class Allocation(models.Model):
    """Documents why a scenario was allocated: which ones could be joined, and how full they were.

    `arrival` numbers the study's allocations, across all kinds. Ties are broken by this number and
    the study's seed, so every choice can be reproduced from this row.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="allocations")
    arrival = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    # [[scenario key, seats taken, seats], ...] for the scenarios that could be joined.
    candidates = models.JSONField()
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="allocations")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["study", "arrival"]
        constraints = [
            one_of("kind", Kind, "an_allocation_is_of_a_known_kind"),
            unique("each_arrival_is_allocated_once", ["study", "arrival"]),
        ]


class DeclinedOfferQuerySet(models.QuerySet["DeclinedOffer"]):
    def fresh(self, now: datetime) -> "DeclinedOfferQuerySet":
        """Return offers declined in the last day. Older ones have no effect and get deleted."""
        return self.filter(declined_at__gt=now - OFFERED_AGAIN_FOR)


class DeclinedOffer(models.Model):
    """A scenario that a worker declined. For a day, they are not offered any other scenario.

    Only the keyed hash, and a count in the scenario, are stored.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="+")
    worker_key = models.CharField(max_length=64)
    declined_at = models.DateTimeField()

    objects = DeclinedOfferQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("a_worker_has_one_declined_offer_in_a_study", ["study", "worker_key"])
        ]


class Reason(models.TextChoices):
    """Reasons for turning visitors away: the codes in recruitment/join_errors.py, and MET."""

    MET = "met", "had already done these tasks in another study"
    DONE = "done", "had already taken part in this study"
    BROWSER = "browser", "another person had taken part from this browser"
    NOT_ELIGIBLE = "not_eligible", "not eligible"
    REJECTED = "rejected", "rejected on the platform"
    NOT_INVITED = "not_invited", "later part of a study that they had not started"
    DEVICE = "device", "no desktop or laptop computer"
    FULL = "full", "no free seat"
    BUDGET = "budget", "no budget left"
    PAUSED = "paused", "the study was paused"
    CLOSED = "closed", "the study was closed"
    LINK_OFF = "link_off", "the link was switched off"


class RefusedArrival(models.Model):
    """How many visitors were turned away for a reason, counted once per browser."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="refused_arrivals")
    reason = models.CharField(max_length=12, choices=Reason)
    number = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "reason"]
        constraints = [
            one_of("reason", Reason, "an_arrival_is_refused_for_a_known_reason"),
            unique("a_study_counts_each_reason_to_refuse_once", ["study", "reason"]),
        ]
