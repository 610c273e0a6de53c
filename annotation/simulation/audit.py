"""What must hold after a rehearsal: full seats, a ledger that agrees with the books, wages."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Sum

from annotation.models import Kind, LedgerEntry, Participation, Study
from annotation.money import ledger
from annotation.recruitment import identities
from annotation.simulation.cast import expect


def audit(studies: Sequence[Study], paid: Mapping[str, int], arrivals: int) -> Iterator[str]:
    """Check all of it, given what Prolific paid to whom; yields a line for each result."""
    for study in studies:
        yield from _seats(study)
    yield _books(paid)
    for study in studies:
        yield _wages(study)
    statuses = Counter(Participation.objects.order_by("status").values_list("status", flat=True))
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    yield f"{arrivals} arrivals; participations: {counts}"


def _seats(study: Study) -> Iterator[str]:
    for scenario in study.scenarios.select_related("task"):
        people = scenario.participations.analysed().filter(kind=Kind.PERSON).count()
        expect(people == 3, f"{scenario}: three analysed annotators")
        yield f"{study}, {scenario}: {people} analysed annotators"


def _books(paid: Mapping[str, int]) -> str:
    """Everybody was paid what the ledger says, to the cent."""
    earned = _earned()
    for person in sorted(paid.keys() | earned.keys()):
        cents, due = paid.get(person, 0), earned.get(person, 0)
        expect(cents == due, f"{person}: {due} earned, {cents} paid")
    amount = ledger.in_currency(sum(earned.values()))
    return f"The ledger and Prolific's books agree to the cent: {amount} to {len(earned)} people"


def _earned() -> dict[str, int]:
    """Id on Prolific -> cents in the ledger."""
    sums: Counter[str] = Counter()
    for row in LedgerEntry.objects.values("participation").annotate(total=Sum("cents")):
        participation = Participation.objects.get(pk=row["participation"])
        sums[identities.decrypt(participation.submissions.latest("pk").person)] += row["total"]
    return dict(sums)


def _wages(study: Study) -> str:
    wages = ledger.wages(ledger.settled(study))
    rate = float(ledger.cents(study.hourly_rate))
    low = [wage for wage in wages if (hourly := wage.per_active_hour) is not None and hourly < rate]
    expect(not low, f"{study}: nobody earned under the rate")
    median = ledger.in_currency(int(ledger.median_wage(wages) or 0))
    return f"{study}: {len(wages)} wages, none under {study.hourly_rate}, median {median}"
