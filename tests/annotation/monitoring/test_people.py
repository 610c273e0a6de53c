"""The list of annotators: its columns, its file, and joint payments and withdrawals."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Answer, Participation, PaymentBatch, Status
from annotation.monitoring import participants
from annotation.pay import ledger
from annotation.protocol import blinding, exclusion
from annotation.recruitment.links import make_links
from annotation.study import team
from tests import factories

WORK = (
    "trained", "annotated", "mean_s1", "seconds", "earned", "paid", "last_active_at", "flag_count"
)  # fmt: skip


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
    assert in_file(client, study)[0].keys() == base | {"mean_s1", "flags", "flag_count"}
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
    rows = in_file(ada, study, "?sort=-flag_count&format=csv")
    counts = [int(row["flag_count"]) for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) > 1
    assert listed(ada, study, "?sort=-earned") == [
        fine.pseudonym, flagged.pseudonym, other.pseudonym
    ]  # fmt: skip
    row = next(row for row in in_file(ada, study) if row["annotator"] == flagged.pseudonym)
    assert "the same browser was also used under another id" in row["flags"].split("; ")
    assert int(row["flag_count"]) == len(row["flags"].split("; "))


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


def test_the_file_has_what_the_page_shows_without_reading_the_answers(ada, study):
    seats = worked(study, 1, 3)
    working = factories.seat(study.scenarios.get())
    factories.work_through(working, limit=4)
    decide(*seats)
    page = ada.get(reverse("people", args=[study.name])).context["participations"]
    with CaptureQueriesContext(connection) as captured:
        rows = in_file(ada, study)
    for name in ("trained", "annotated"):
        assert [row[name] for row in rows] == [str(row[name]) for row in page]
    means = [row["mean_s1"] and 100 * float(row["mean_s1"]) for row in rows]
    assert means == [pytest.approx(row["mean_s1"]) if row["mean_s1"] else "" for row in page]
    assert [row["last_active_at"] for row in rows] == [
        f"{row['last_active_at']:%Y-%m-%dT%H:%M:%S.%fZ}" for row in page
    ]
    (read,) = (q["sql"] for q in captured if 'COUNT("annotation_answer"."turn_id")' in q["sql"])
    assert f"IN ({working.pk})" in read


# Joint payments and withdrawals ------------------------------------------------------------------


def press(client, study, url: str, seats, **sent):
    names = [seat.pseudonym for seat in seats]
    return client.post(reverse(url, args=[study.name]) + "?q=A", {"annotators": names, **sent})


def asked(reply) -> str:
    """Return the consequence that a first press states, and that the button confirms."""
    assert reply.status_code == 422
    (sentence,) = reply.context["together"].errors["confirmed"]
    assert f'name="confirmed" value="{sentence}"' in reply.content.decode()
    return sentence


def test_a_joint_payment_states_the_sum_and_pays_only_those(ada, study):
    seats = worked(study, 3, 2, 1)
    cents = sum(entry.cents for seat in seats[:2] for entry in seat.ledger.all())
    first = press(ada, study, "people_pay", seats[:2])
    sentence = asked(first)
    assert sentence.startswith(f"Annotators: 2. Payment: {cents / 100:.2f} USD,")
    assert first.content.decode().count(" checked>") == 2
    assert not PaymentBatch.objects.exists()
    reply = press(ada, study, "people_pay", seats[:2], confirmed=sentence)
    assert reply.url == reverse("pay", args=[study.name])
    assert "1 batch was prepared." in ada.get(reply.url).content.decode()
    paid = PaymentBatch.objects.get().payments.values_list("entry__participation", flat=True)
    assert set(paid) == {seat.pk for seat in seats[:2]}
    again = press(ada, study, "people_pay", seats[:2], confirmed=sentence)
    problems = again.context["together"].errors["annotators"]
    assert {each.partition(":")[0] for each in problems} == {s.pseudonym for s in seats[:2]}
    assert PaymentBatch.objects.count() == 1


def test_a_sum_that_has_changed_is_asked_again(ada, study):
    seats = worked(study, 3)
    before = asked(press(ada, study, "people_pay", seats))
    ledger.add_bonus(seats[0], 100, "kind", study.owner)
    now = asked(press(ada, study, "people_pay", seats, confirmed=before))
    assert now != before
    assert not PaymentBatch.objects.exists()


def test_a_joint_payment_is_refused_if_one_cannot_be_paid(ada, study):
    fine, withheld, held, done = worked(study, 3, 3, 3, 3)
    ledger.decide(withheld, False, "no work", study.owner)
    held.ledger.create(
        kind="top_up", cents=9999, currency="USD", reason="hours", at=held.arrived_at
    )
    live = factories.seat(study.scenarios.get())
    sentence = asked(press(ada, study, "people_pay", [done]))
    press(ada, study, "people_pay", [done], confirmed=sentence)
    for other in (withheld, live, done):
        reply = press(ada, study, "people_pay", [fine, other])
        (problem,) = reply.context["together"].errors["annotators"]
        assert problem.startswith(f"{other.pseudonym}: nothing can be paid now")
    # What is not held is paid; what is held stays out of the sum.
    base = held.ledger.exclude(cents=9999).get().cents
    assert f"Payment: {base / 100:.2f} USD" in asked(press(ada, study, "people_pay", [held]))
    reply = press(ada, study, "people_pay", [])
    assert "Select an annotator." in reply.content.decode()
    assert PaymentBatch.objects.count() == 1


def test_a_joint_withdrawal_states_what_it_erases(ada, study):
    seats = worked(study, 3, 2, 1)
    cents = sum(entry.cents for seat in seats[:2] for entry in seat.ledger.all())
    sent = {"reason": "asked by mail"}
    sentence = asked(press(ada, study, "people_withdraw", seats[:2], **sent))
    assert "asked for this: 2. Answers to erase permanently: 10." in sentence
    assert f"keep: {cents / 100:.2f} USD so far" in sentence
    assert Answer.objects.count() == 15
    reply = press(ada, study, "people_withdraw", seats[:2], confirmed=sentence, **sent)
    assert reply.url.endswith("/people/?q=A#participations")
    statuses = [Participation.objects.get(pk=seat.pk).status for seat in seats]
    assert statuses == [Status.WITHDRAWN, Status.WITHDRAWN, Status.COMPLETED]
    assert Answer.objects.count() == 5
    logged = study.events.filter(what="withdrawn on request", by=study.owner)
    assert {entry.about for entry in logged} == {seat.pseudonym for seat in seats[:2]}
    assert {entry.after["reason"] for entry in logged} == {"asked by mail"}


def test_a_joint_withdrawal_is_refused_if_one_was_withdrawn(ada, study):
    seats = worked(study, 3, 2)
    sent = {"reason": "asked"}
    confirmed = asked(press(ada, study, "people_withdraw", seats[:1], **sent))
    press(ada, study, "people_withdraw", seats[:1], confirmed=confirmed, **sent)
    confirmed = asked(press(ada, study, "people_withdraw", seats, **sent))
    reply = press(ada, study, "people_withdraw", seats, confirmed=confirmed, **sent)
    problem = f"{seats[0].pseudonym}: This participant has already been withdrawn."
    assert reply.context["together"].errors["annotators"] == [problem]
    assert Participation.objects.get(pk=seats[1].pk).status == Status.COMPLETED
    assert press(ada, study, "people_withdraw", seats).context["together"].errors["reason"]


def test_programs_pay_and_withdraw_several_annotators(client, study, researcher):
    seats = worked(study, 3, 2)
    names = [seat.pseudonym for seat in seats]
    headers = factories.bearer(researcher, "run", "pay")

    def post(url: str, **body):
        address = reverse(url, args=[study.name])
        body = {"annotators": names, **body}
        return client.post(address, body, "application/json", headers=headers)

    for url, more in (("api_bulk_pay", {}), ("api_bulk_withdraw", {"reason": "asked"})):
        refused = post(url, **more)
        assert refused.status_code == 422
        (sentence,) = refused.json()["fields"]["confirmed"]
        done = post(url, confirmed=sentence, **more)
        assert done.status_code == 200, done.json()
        assert done.json()["done"].endswith(("prepared.", "erased: 2."))
    assert post("api_bulk_pay").json()["fields"]["annotators"]


@pytest.mark.parametrize(("role", "buttons"), [("payer", 1), ("analyst", 0), ("owner", 3)])
def test_buttons_are_those_of_the_role(client, study, other_researcher, role, buttons):
    worked(study, 3)
    team.add(study, other_researcher.username, role, study.owner)
    client.force_login(other_researcher)
    page = client.get(reverse("people", args=[study.name])).content.decode()
    assert page.count("formaction=") == buttons
    assert ('name="annotators"' in page) is bool(buttons)


# Other lists of the tab --------------------------------------------------------------------------


def test_earnings_can_be_searched_sorted_and_saved(ada, study):
    seats = worked(study, 3, 3)
    ledger.add_bonus(seats[0], 150, "kind", study.owner)
    address = reverse("pay", args=[study.name])
    page = ada.get(f"{address}?q={seats[1].pseudonym}").content.decode()
    assert seats[1].pseudonym in page[page.index('id="wages"') :]
    assert seats[0].pseudonym not in page
    assert "?sort=-earned#wages" in ada.get(address).content.decode()
    text = ada.get(f"{address}?sort=-earned&format=csv").content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["annotator"] for row in rows] == [seat.pseudonym for seat in seats]
    cents = sum(entry.cents for entry in seats[0].ledger.all())
    assert (rows[0]["earned"], rows[0]["paid"]) == (f"{cents / 100:.2f}", "0.00")


def test_personal_links_can_be_searched_filtered_and_saved(ada, study):
    make_links(study, "Ida\nBo\nIdris")
    address = reverse("recruit", args=[study.name], query={"show": "links"})

    def names(query: str) -> list[str]:
        return [row.name for row in ada.get(address + query).context["listing"].rows]

    assert names("&q=id") == ["Ida", "Idris"]
    assert names("&q=id&sort=-name") == ["Idris", "Ida"]
    assert names("&state=unused") == ["Ida", "Bo", "Idris"]
    text = ada.get(f"{address}&q=bo&format=csv").content.decode()
    assert [row["name"] for row in csv.DictReader(io.StringIO(text))] == ["Bo"]


def test_doubtful_golds_can_be_searched_sorted_and_saved(ada, researcher):
    task = factories.make_task(test_size=3)
    study = factories.make_study(researcher, task, shots=[0], annotators=2)
    for seat in (factories.seat(study.scenarios.get()) for _ in range(2)):
        factories.work_through(seat, lambda turn: ["home"])
    first, *_others = task.test_split.examples.all()
    address = reverse("examples", args=[study.name], query={"show": "gold_audit"})
    table = ada.get(f"{address}&q={first.source_id}").context["listing"]
    assert [row.example for row in table.rows] == [first.pk]
    text = ada.get(f"{address}&sort=-example&format=csv").content.decode()
    ids = [row["example"] for row in csv.DictReader(io.StringIO(text))]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 3
