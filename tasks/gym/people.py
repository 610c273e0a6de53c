"""Which published tasks and partitions fit a cross-task study with people.

People can be trained on choices between short options in the minutes that a study has; typed long
texts, queries and closed-book questions would measure something else.
"""

from dataclasses import dataclass

from tasks.gym.catalogue import Partition, tasks

CHOICES = (
    "cls/", "qa/binary", "qa/multiple-choice qa", "other/linguistic phenomenon", "other/regression",
)  # fmt: skip
MAX_WORDS = 150  # of the median example of an imported task
SHOWN = 3  # names in one sentence


def why_not(name: str, words: int | None = None) -> str:
    """Why this task is not offered for people; "" where it is.

    `words` are those of its median example, None as long as it is not imported.
    """
    published = tasks().get(name)
    if published is None:
        return "it is none of the 160 tasks"
    if not published.ontology.startswith(CHOICES):
        return f"{published.ontology}: its answers are not chosen among options"
    if words is not None and words > MAX_WORDS:
        return f"its median text has {words} words, more than {MAX_WORDS}"
    return ""


@dataclass(frozen=True)
class Offer:
    """A partition as it is offered: what of it fits people, and why it is refused ("": it is not).

    `upstream` leaves out what is in two lists of the published partition.
    """

    name: str
    upstream: tuple[str, ...]
    held_out: tuple[str, ...]
    leaked: tuple[str, ...]
    refused: str


def offer(partition: Partition) -> Offer:
    """Refused unless every held-out task fits people, and some upstream task does."""
    upstream = [name for name in partition.upstream if not why_not(name)]
    upstream = [name for name in upstream if name not in partition.leaked]
    unfit = [name for name in partition.held_out if why_not(name)]
    refused = ""
    if unfit:
        more = f" and {len(unfit) - SHOWN} more" if len(unfit) > SHOWN else ""
        refused = (
            f"{len(unfit)} of its {len(partition.held_out)} held-out tasks are not answered by"
            f" choosing among options: {', '.join(unfit[:SHOWN])}{more}"
        )
    elif not upstream:
        refused = "none of its upstream tasks is answered by choosing among options"
    held_out = tuple(name for name in partition.held_out if name not in unfit)
    return Offer(partition.name, tuple(upstream), held_out, partition.leaked, refused)
