"""The list of annotators: its columns can be sorted by and are in its file."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Participation
from annotation.monitoring import participants
from annotation.protocol import blinding, exclusion
from annotation.study import team
from tests import factories

WORK = ("trained", "annotated", "mean_s1", "seconds", "earned", "paid", "last_active_at", "flags")


@pytest.fixture
def study(researcher):
    task = factories.make_task(test_size=3)
    return factories.make_study(
        researcher, task, shots=[2], annotators=6, hourly_rate=12, base_reward=1
    )


def worked(study, *right: int) -> list[Participation]:
    """Return annotators who completed, each with this number of correct test answers."""
    seats = []
    for number in right:
        seat = factories.seat(study.scenarios.get())
        factories.work_through(
            seat,
            lambda turn, number=number: (
                factories.right_texts(turn.example)
                if turn.step != "annotation" or turn.position < number
                else ["home"]
            ),
        )
        seats.append(seat)
    return seats


def listed(client, study, query: str) -> list[str]:
    page = client.get(reverse("people", args=[study.name]) + query).context["participations"]
    return [row["participation"].pseudonym for row in page]


def in_file(client, study, query: str = "?format=csv") -> list[dict[str, str]]:
    text = client.get(reverse("people", args=[study.name]) + query).content.decode()
    return list(csv.DictReader(io.StringIO(text)))


def decide(*seats) -> None:
    for seat in seats:
        exclusion.decide(seat, False, "odd", seat.study.owner)


def test_scores_that_may_be_seen_sort_the_list_of_all_pages(ada, study, monkeypatch):
    monkeypatch.setattr(participants, "PER_PAGE", 2)
    seats = worked(study, 1, 3, 2)
    decide(*seats)
    names = [seat.pseudonym for seat in seats]
    best_first = [names[1], names[2], names[0]]
    pages = [listed(ada, study, f"?sort=-mean_s1&page={page}") for page in (1, 2)]
    assert [*pages[0], *pages[1]] == best_first
    assert listed(ada, study, "?sort=mean_s1") == best_first[:0:-1]
    rows = in_file(ada, study, "?sort=-mean_s1&format=csv")
    assert [row["annotator"] for row in rows] == best_first
    assert [float(row["mean_s1"]) for row in rows] == pytest.approx([1, 2 / 3, 1 / 3])


def test_neither_order_nor_file_reveals_a_hidden_score(ada, study):
    low, high, seen = worked(study, 0, 3, 1)
    blinding.show(seen, study.owner)
    by_score = [listed(ada, study, f"?sort={sign}mean_s1") for sign in ("", "-")]
    newest_first = [seat.pseudonym for seat in (seen, high, low)]
    assert by_score == [newest_first] * 2
    scores = {row["annotator"]: row["mean_s1"] for row in in_file(ada, study)}
    assert [scores[seat.pseudonym] for seat in (low, high)] == ["", ""]
    assert float(scores[seen.pseudonym]) == pytest.approx(1 / 3)


def test_the_file_has_what_the_reader_may_see(client, study, other_researcher):
    (seat,) = worked(study, 3)
    base = {"annotator", "kind", "scenario", "status", "in_analysis", "arrived_at"}
    base |= {"trained", "annotated", "last_active_at"}
    team.add(study, other_researcher.username, "payer", study.owner)
    client.force_login(other_researcher)
    (row,) = in_file(client, study)
    assert row.keys() == base | {"seconds", "earned", "paid"}
    earned = seat.ledger.get().cents
    assert (row["trained"], row["annotated"]) == ("2", "3")
    assert (row["earned"], row["paid"]) == (f"{earned / 100:.2f}", "0.00")
    study.members.update(role="analyst")
    assert in_file(client, study)[0].keys() == base | {"mean_s1", "flags", "flag_names"}
    assert "sort=-earned" not in client.get(reverse("people", args=[study.name])).content.decode()


@pytest.mark.long
def test_flags_and_pay_sort_the_list(ada, study):
    fine, flagged = worked(study, 3, 3)
    ledger = fine.ledger.get()
    ledger.pk, ledger.kind = None, "bonus"
    ledger.save()
    Participation.objects.filter(pk=flagged.pk).update(browser="same")
    other = factories.seat(study.scenarios.get())
    Participation.objects.filter(pk=other.pk).update(browser="same")
    rows = in_file(ada, study, "?sort=-flags&format=csv")
    counts = [int(row["flags"]) for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) > 1
    assert listed(ada, study, "?sort=-earned") == [
        fine.pseudonym, flagged.pseudonym, other.pseudonym
    ]  # fmt: skip
    row = next(row for row in in_file(ada, study) if row["annotator"] == flagged.pseudonym)
    assert "the same browser was also used under another id" in row["flag_names"].split("; ")
    assert int(row["flags"]) == len(row["flag_names"].split("; "))


def test_each_order_and_the_file_take_the_same_queries_for_any_number(ada, study):
    address = reverse("people", args=[study.name])
    queries = [f"?sort=-{name}" for name in WORK] + ["?format=csv"]

    def counts() -> list[int]:
        numbers = []
        for query in queries:
            ada.get(address + query)  # logs the download
            ada.get(address)  # fills caches
            with CaptureQueriesContext(connection) as captured:
                assert ada.get(address + query).status_code == 200
            numbers.append(len(captured))
        return numbers

    decide(*worked(study, 1, 2))
    few = counts()
    decide(*worked(study, 3, 1, 2))
    assert counts() == few
