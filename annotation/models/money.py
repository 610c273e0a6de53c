"""Earnings (an insert-only ledger) and payments."""

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.participation import Participation
from annotation.models.study import Study
from tasks.models.choices import Row, check, one_of


class EntryKind(models.TextChoices):
    BASE = "base", "base reward"
    SCREEN_OUT = "screen_out", "fixed reward for being screened out"
    TOP_UP = "top_up", "top-up to the hourly rate"
    PARTIAL = "partial", "partial work"
    WAITING = "waiting", "waiting for a decision"
    BONUS = "bonus", "bonus"


class LedgerEntry(models.Model):
    """An amount earned, in whole cents. Insert-only (guards.py), even after a withdrawal."""

    Kind = EntryKind

    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="ledger"
    )
    kind = models.CharField(max_length=10, choices=Kind)
    cents = models.PositiveIntegerField()
    currency = models.CharField(max_length=3)
    # The submission, if this is the platform's reward or screen-out payment for it.
    submission = models.ForeignKey(
        "annotation.Submission", null=True, on_delete=models.PROTECT, related_name="ledger"
    )
    reason = models.CharField(max_length=200)
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "ledger entries"
        constraints = [
            one_of("kind", EntryKind, "an_entry_is_of_a_known_kind"),
            check("an_entry_is_an_amount", Q(cents__gt=0), message="Enter an amount above 0."),
        ]

    @property
    def amount(self) -> str:
        """Return the amount in currency units, such as "12.34"."""
        return f"{self.cents // 100}.{self.cents % 100:02d}"


class Method(models.TextChoices):
    EXIT = "exit", "paid by the platform at exit"
    APPROVAL = "approval", "approval on Prolific"
    BONUS = "bonus", "bonus on Prolific"
    HAND = "hand", "manually, using a CSV file"


class BatchState(models.TextChoices):
    PREPARED = "prepared"
    PAYING = "paying"
    PAID = "paid"
    CANCELLED = "cancelled"


class PaymentBatch(Row):
    """Ledger entries paid together by the same method.

    Bonus batches go from prepared to paying to paid. Cancelling a prepared batch frees its entries.
    "paying" is stored before payment is requested, so that a crash in between can be detected.
    """

    Method = Method
    State = BatchState

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="payment_batches")
    method = models.CharField(max_length=8, choices=Method)
    state = models.CharField(max_length=9, choices=State, default=State.PREPARED)
    prolific_study = models.ForeignKey(
        "annotation.ProlificStudy", null=True, on_delete=models.PROTECT, related_name="+"
    )
    external_id = models.CharField(max_length=100, blank=True)
    made_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    paying_since = models.DateTimeField(null=True)
    paid_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "payment batches"
        constraints = [
            one_of("method", Method, "a_batch_is_paid_by_a_known_method"),
            one_of("state", BatchState, "a_batch_is_in_a_known_state"),
            check(
                "a_batch_is_paid_at_a_time",
                Q(state="paid", paid_at__isnull=False)
                | (~Q(state="paid") & Q(paid_at__isnull=True)),
            ),
        ]


class Payment(models.Model):
    """A ledger entry in a payment batch. Unique, so that no entry is ever paid twice."""

    batch = models.ForeignKey(PaymentBatch, on_delete=models.PROTECT, related_name="payments")
    entry = models.OneToOneField(LedgerEntry, on_delete=models.PROTECT, related_name="payment")
