"""The screening step: what zero-shot annotators answer in place of the training step.

Nothing is revealed and no score shown, as in the annotation step; the answers serve the rule of the
design and count nowhere else. So all arms can be selected alike (docs/protocol.md#screening-step).
"""

from annotation.models import Participation, Step, Turn
from annotation.steps import qualification


def go_on(participation: Participation, answered: Turn) -> Turn | None:
    """Show the next example; after the last one the rule judges, and None where it does not admit.

    The caller holds the participation's lock, and runs this in the transaction that stores the
    answer: there is never an answered example without what follows it.
    """
    if answered.position + 1 < len(participation.screening_order):
        given = answered.answer
        return participation.show(
            Step.SCREENING, answered.position + 1, given.channel, after=answered,
            shown_at=given.submitted_at,
        )  # fmt: skip
    return qualification.after_judged_step(participation, answered, answered.answer.channel)
