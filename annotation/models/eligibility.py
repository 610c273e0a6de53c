"""Allow and deny lists: who may take part in a study besides its design."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from annotation.models.study import Study
from tasks.models.choices import one_of


class Effect(models.TextChoices):
    ALLOW = "allow", "allow only"
    DENY = "deny", "exclude"


class Criterion(models.TextChoices):
    TASK = "task", "workers who have seen the task"
    STUDY = "study", "workers who qualified in the study"
    PEOPLE = "people", "workers on a list of ids"


class AccessRule(models.Model):
    """Who may take part in a study besides its design: an entry of its allow or deny list.

    It can be made and ended while the study is open; it is never changed, so that the list can be
    told for any moment. `value` names a task or a study; a list of ids is its `listed` workers.
    """

    Effect = Effect
    Criterion = Criterion

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="access_rules")
    effect = models.CharField(max_length=5, choices=Effect)
    criterion = models.CharField(max_length=6, choices=Criterion)
    value = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            one_of("effect", Effect, "an_access_rule_has_a_known_effect"),
            one_of("criterion", Criterion, "an_access_rule_has_a_known_criterion"),
        ]

    def __str__(self) -> str:
        about = self.value
        if self.criterion == self.Criterion.PEOPLE:
            count = self.listed.count()
            number = f"{count} {'person' if count == 1 else 'people'}"
            about = f"{number} of {about}" if about else number
        return f"{self.get_effect_display()} {self.get_criterion_display()}: {about}"


class ListedWorker(models.Model):
    """A worker on the list of ids of an entry, by the keyed hash; they may never have come."""

    rule = models.ForeignKey(AccessRule, on_delete=models.CASCADE, related_name="listed")
    key = models.CharField(max_length=64)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["rule", "key"], name="a_worker_is_on_a_list_once")
        ]

    def __str__(self) -> str:
        return f"{self.key[:8]} on {self.rule_id}"
