"""Personal one-time links: whoever holds the link is the worker, on any device.

Made in bulk with names of the researcher's choice. The name stays with the link: it is in no
export, and the worker is known by the keyed hash of the link's code like any other.
"""

from collections.abc import Sequence

from django.db import transaction

from annotation.models import AuditEntry, PersonalLink, Status, Study, Topic
from annotation.recruitment.doors import PERSONAL
from annotation.recruitment.identities import worker_key

MOST = 1000
LONGEST_NAME = 200

# What a link is by now, from the latest participation of its worker in the study.
STATES = {
    Status.ARRIVED: "active",
    Status.WORKING: "active",
    Status.WAITING: "active",
    Status.BETWEEN: "active",
    Status.SCREENED_OUT: "done",
    Status.RETURNED: "expired",
    Status.COMPLETED: "done",
    Status.EXPIRED: "expired",
    Status.REFUSED: "had done the task before",
    Status.WITHDRAWN: "withdrawn",
    Status.REJECTED: "rejected",
}


class LinkError(ValueError):
    """Why the links were not made; the text names the line."""


def make(study: Study, text: str) -> list[PersonalLink]:
    """Make one link for each line of names. All or none.

    Raises LinkError for too many, one too long, and one that the study has already.
    """
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if len(names) > MOST:
        raise LinkError(f"At most {MOST} links can be made at once; these are {len(names)}.")
    taken = set(study.personal_links.values_list("name", flat=True))
    for number, name in enumerate(names, start=1):
        if len(name) > LONGEST_NAME:
            raise LinkError(f"Name {number} is longer than {LONGEST_NAME} characters.")
        if name in taken:
            raise LinkError(f"Name {number}, “{name}”, already exists: names must differ.")
        taken.add(name)
    with transaction.atomic():
        AuditEntry.objects.record(
            "personal links made", Topic.PLATFORM, study=study, after={"links": len(names)}
        )
        return PersonalLink.objects.bulk_create(
            PersonalLink(study=study, name=name) for name in names
        )


def with_states(study: Study) -> list[tuple[PersonalLink, str]]:
    """The links of a study, oldest first, each with its state: unused, active, done, ..."""
    links: Sequence[PersonalLink] = list(study.personal_links.order_by("pk"))
    keys = {worker_key(PERSONAL, link.code): link.pk for link in links}
    participations = study.participations.filter(worker__platform=PERSONAL).order_by("pk")
    states = {
        keys[key]: STATES[Status(status)]
        for key, status in participations.values_list("worker__key", "status")
        if key in keys
    }
    return [(link, states.get(link.pk, "unused")) for link in links]
