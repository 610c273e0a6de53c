"""Recruitment platforms: panels, Prolific accounts and studies, submissions and events."""

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from annotation.models.accounts import AuditEntry, Topic
from annotation.models.arrivals import Worker
from annotation.models.participation import Participation
from annotation.models.scenario import Scenario
from annotation.models.study import Study, new_code
from tasks.models.choices import Row, check, unique


class Panel(models.Model):
    """A platform that appends an ID to the study's URL and expects a code or redirect in return."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="panels")
    name = models.CharField(max_length=60)
    code = models.CharField(max_length=40, unique=True, default=new_code)
    id_parameter = models.CharField(max_length=60)
    submission_parameter = models.CharField(max_length=60, blank=True)
    completed_url = models.CharField(max_length=500, blank=True)
    completed_code = models.CharField(max_length=60, blank=True)
    other_url = models.CharField(max_length=500, blank=True)
    other_code = models.CharField(max_length=60, blank=True)
    # For visitors who did no work (no consent, full, wrong device) and are not paid by platforms.
    turned_away_url = models.CharField(max_length=500, blank=True)
    turned_away_code = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            unique(
                "a_panel_has_a_name_of_its_own",
                ["study", "name"],
                message="This study already has a platform with that name.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class ProlificAccount(models.Model):
    """A researcher's Prolific account: its API token, and the workspace in which to create studies.

    The row outlives its token, because the studies on Prolific belong to this account.
    """

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="prolific_accounts")
    # ID on Prolific. Emptied when the owner's account on this server is erased.
    external_id = models.CharField(max_length=40, blank=True)
    token = models.TextField(blank=True)  # encrypted (recruitment/identities.py)
    last_characters = models.CharField(max_length=4, blank=True)
    workspace = models.CharField(max_length=40, blank=True)
    project = models.CharField(max_length=40, blank=True)
    set_at = models.DateTimeField()

    class Meta:
        ordering = ["-set_at", "-pk"]
        constraints = [
            check(
                "a_prolific_token_is_shown_by_its_last_characters",
                Q(token="", last_characters="")
                | ~Q(token="") & ~Q(last_characters="") & ~Q(external_id=""),
            ),
            unique(
                "an_account_on_prolific_is_stored_once_for_each_owner",
                ["owner", "external_id"],
                condition=~Q(external_id=""),
            ),
        ]

    def remove_token(self) -> None:
        stored = ProlificAccount.objects.filter(pk=self.pk).exclude(token="")
        with transaction.atomic():
            if stored.update(token="", last_characters="", workspace="", project=""):
                AuditEntry.objects.record(
                    f"removed Prolific token ending in {self.last_characters}", Topic.ACCOUNT,
                    about=str(self.owner),
                )  # fmt: skip


class ProlificStudy(Row):
    """A study on Prolific for all scenarios, for some of them, or for a part of them.

    If participants choose their scenario, there is one Prolific study per scenario. `part` is 0 if
    a single Prolific study contains everything; otherwise, 1 is the training step, and 2, 3, ...
    are parts of the annotation step (recruitment/seats.py). `until` is the last example of a part,
    or null if it follows from the number of parts.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prolific_studies")
    # The account that created it, or null if PROLIFIC_TOKEN in the environment was used.
    account = models.ForeignKey(
        ProlificAccount, null=True, on_delete=models.PROTECT, related_name="studies"
    )
    scenarios = models.ManyToManyField(Scenario, related_name="prolific_studies")
    part = models.PositiveSmallIntegerField(default=0)
    until = models.PositiveIntegerField(null=True)
    name = models.CharField(max_length=120)
    code = models.CharField(max_length=40, unique=True, default=new_code)
    external_id = models.CharField(max_length=40, null=True, unique=True)
    status = models.CharField(max_length=20, default="not created")
    reward_cents = models.PositiveIntegerField()
    screen_out_cents = models.PositiveIntegerField(default=0)
    minutes = models.PositiveIntegerField()
    max_minutes = models.PositiveIntegerField()
    places = models.PositiveIntegerField()
    codes = models.JSONField(
        default=dict
    )  # outcome (platform_adapters.OUTCOMES) -> completion code
    # Only certain workspaces have signed URLs.
    signed = models.BooleanField(default=False)
    signing_keys = models.JSONField(default=dict)  # as published by Prolific (JWKS)
    qualified_group = models.CharField(max_length=40, blank=True)
    blocklist_id = models.CharField(max_length=40, blank=True)
    blocklist_size = models.PositiveIntegerField(default=0)
    # While one request creates the study on Prolific, others are locked out until this time, so
    # that it is not created twice if two people press Publish at once.
    creation = models.CharField(max_length=32, blank=True)
    creation_until = models.DateTimeField(null=True)
    # Why it was paused on Prolific, and whether Handful paused it and may therefore restart it.
    pause_reason = models.CharField(max_length=200, blank=True)
    paused_here = models.BooleanField(default=False)
    # How many submissions were asked to be returned but have not been, when the first of them will
    # be approved automatically, and how many were approved for people who did no work here.
    returns_open = models.PositiveIntegerField(default=0)
    returns_until = models.DateTimeField(null=True)
    approved_unknown = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "part", "pk"]
        verbose_name_plural = "Prolific studies"
        constraints = [
            check(
                "a_creation_ends_and_creates_what_is_not_there_yet",
                Q(creation="", creation_until__isnull=True)
                | ~Q(creation="") & Q(creation_until__isnull=False, external_id__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def id_there(self) -> str:
        """Return the ID on Prolific. Call this only once the study has been created there."""
        assert self.external_id is not None
        return self.external_id


class Submission(Row):
    """A platform's record of a person's work on one of its studies.

    `key` is a permanent keyed hash of the platform and submission. `person` and `reference` are
    encrypted IDs, which only payers can see and which are deleted after the date set in the study.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="submissions")
    worker = models.ForeignKey(
        Worker, null=True, on_delete=models.SET_NULL, related_name="submissions"
    )
    participation = models.ForeignKey(
        Participation, null=True, on_delete=models.SET_NULL, related_name="submissions"
    )
    platform = models.CharField(max_length=80)
    prolific_study = models.ForeignKey(
        ProlificStudy, null=True, on_delete=models.PROTECT, related_name="submissions"
    )
    panel = models.ForeignKey(
        Panel, null=True, on_delete=models.PROTECT, related_name="submissions"
    )
    key = models.CharField(max_length=64, unique=True)
    person = models.TextField(blank=True)
    reference = models.TextField(blank=True)
    status = models.CharField(max_length=20, blank=True)
    outcome = models.CharField(max_length=20, blank=True)
    # Whether the platform confirms that it belongs to this person, or null if not asked yet.
    verified = models.BooleanField(null=True)
    return_requested_at = models.DateTimeField(null=True)
    # Status before the platform rejected the submission, to restore if the rejection is reversed.
    status_before_rejection = models.CharField(max_length=12, blank=True)
    arrived_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"submission {self.key[:8]}"
