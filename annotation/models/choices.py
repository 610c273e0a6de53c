"""Choices of a design: screening rules, orders, and the reward on Prolific."""

from django.db import models


class Qualification(models.TextChoices):
    """The screening rule after the training step (docs/protocol.md#after-the-training-step)."""

    NONE = "none", "no screening"
    MINIMUM = "minimum", "a mean training S1 of at least the threshold"
    POINTS_BELOW = (
        "points_below",
        "at most the threshold (in points) below the other annotators' mean",
    )
    SDS_BELOW = (
        "sds_below",
        "at most the threshold (in SDs) below the other annotators' mean",
    )
    RESEARCHER = "researcher", "a researcher decides while the annotator waits"


class Order(models.TextChoices):
    SHUFFLED_APART = "shuffled_apart", "shuffled, with examples of the same context kept apart"
    CONTEXTS_TOGETHER = (
        "contexts_together",
        "contexts shuffled, with the examples of a context kept together",
    )
    FILE_ORDER = "file_order", "in file order"


class ProlificReward(models.TextChoices):
    """How the reward on Prolific is set if scenarios have different lengths."""

    SHORTEST = "shortest", "based on the shortest scenario; longer work is paid as a bonus"
    LONGEST = "longest", "based on the longest scenario, regardless of the assigned scenario"


# Maps rules to the maximum threshold and the text that explains its unit.
SCALES = {
    Qualification.MINIMUM: (100, "0 to 100, such as 60"),
    Qualification.POINTS_BELOW: (100, "0 to 100 points, such as 20"),
    Qualification.SDS_BELOW: (10, "0 to 10 standard deviations, such as 2"),
}
