"""The analysis page: what it counts, and that its figures are those of the answers."""

import csv
import io

import pytest
from django.urls import reverse

from analysis import findings
from annotation.models import Kind
from tests import factories


@pytest.fixture
def study(researcher):
    """Two annotators at each of 0 and 2 shots: one always right, one always "no answer"."""
    study = factories.make_study(researcher, factories.make_task(test_size=6), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return study


def test_the_mean_and_its_intervals(study):
    rows = findings.intervals(findings.answered(study, Kind.PERSON), seed=1)
    assert [(row["task"], row["shots"], row["n"], row["examples"]) for row in rows] == [
        ("toy-places", 0, 2, 6),
        ("toy-places", 2, 2, 6),
    ]
    # Two of the six examples have no answer: the second annotator scores 1/3.
    assert rows[0]["mean"] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert rows[0]["both_low"] < rows[0]["mean"] < rows[0]["both_high"]
    assert rows[0]["annotators_low"] == pytest.approx(100 / 3)
    assert rows[0]["annotators_high"] == pytest.approx(100)


def test_agreement_is_between_people_whatever_the_gold(study):
    row = findings.agreements(findings.answered(study, Kind.PERSON))[0]
    assert row["pairwise_s1"] == pytest.approx(100 / 3)
    assert row["alpha nominal"] < row["pairwise_s1"] / 100


def test_the_majority_of_two_is_what_both_chose(study):
    row = findings.aggregates(findings.answered(study, Kind.PERSON))[0]
    assert row["majority"] == pytest.approx(100 / 3)
    assert row["individuals"] == pytest.approx(200 / 3)


def test_labels_have_a_plurality_and_dawid_skene(researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[0], annotators=3)
    wrong = {"positive": "negative", "negative": "positive"}
    for mistakes in (False, False, True):
        answer = (lambda turn: [wrong[turn.example.gold[0]]]) if mistakes else None
        factories.work_through(factories.seat(study.scenarios.get()), answer)
    (row,) = findings.aggregates(findings.answered(study, Kind.PERSON))
    assert row["individuals"] == pytest.approx(200 / 3)
    assert row["majority"] == row["dawid_skene"] == pytest.approx(100)


def test_a_contrast_says_how_little_four_people_can_show(study):
    (row,) = findings.contrasts(findings.answered(study, Kind.PERSON), seed=1)
    assert (row["from_shots"], row["to_shots"], row["difference"]) == (0, 2, 0)
    assert row["floor"] == pytest.approx(1 / 3)
    assert row["permutation_p"] == 1
    assert row["holm_p"] == pytest.approx(row["welch_p"])


def test_whoever_is_not_in_the_analysis_is_in_no_finding(study):
    seat = study.participations.first()
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    rows = findings.tables(study, Kind.PERSON)["intervals"]
    assert sorted(row["n"] for row in rows) == [1, 2]


def test_the_tables_are_remembered_until_something_changes(study):
    first = findings.tables(study, Kind.PERSON)["intervals"]
    again = findings.tables(study, Kind.PERSON)["intervals"]
    assert again == first
    seat = study.participations.last()
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    assert findings.tables(study, Kind.PERSON)["intervals"] != first


def test_who_trades_places_with_another_is_noticed(study):
    """As many annotators and as many answers, but other ones."""
    one, two = study.participations.filter(scenario__shots=0)
    means = []
    for out, back in ((one, two), (two, one)):
        out.in_analysis, out.seat_number = False, None
        out.save()
        back.in_analysis, back.seat_number = True, 1
        back.save()
        means.append(findings.tables(study, Kind.PERSON)["intervals"][0]["mean"])
    assert means == pytest.approx([100 / 3, 100])


def test_the_page_comes_first_and_then_its_tables(client, researcher, study):
    client.force_login(researcher)
    address = reverse("analysis", args=[study.name])
    page = client.get(address).content.decode()
    assert "Resampling" in page
    assert "part=tables" in page
    tables = client.get(address, {"part": "tables"}, headers={"HX-Request": "true"})
    shown = tables.content.decode()
    assert "<html" not in shown
    assert "66.7" in shown
    whole = client.get(address, {"part": "tables"}).content.decode()
    assert "<html" in whole
    assert "66.7" in whole
    assert client.get(address, {"kind": "nobody"}).status_code == 404


@pytest.mark.parametrize("table", findings.TABLES)
def test_each_table_can_be_had_as_csv_with_all_digits(client, researcher, study, table):
    client.force_login(researcher)
    reply = client.get(reverse("analysis_file", args=[study.name, table]))
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    assert len(rows) == (1 if table == "contrasts" else 2)
    assert {row["kind"] for row in rows} == {"person"}
    if table == "intervals":
        assert float(rows[0]["mean"]) == pytest.approx(200 / 3, abs=1e-9)


def test_an_empty_study_says_what_is_missing(client, researcher):
    study = factories.make_study(researcher, factories.make_task())
    client.force_login(researcher)
    reply = client.get(reverse("analysis", args=[study.name]), {"part": "tables"})
    assert "nobody has completed it" in reply.content.decode()
    assert client.get(reverse("analysis_file", args=[study.name, "intervals"])).status_code == 200


def test_somebody_elses_analysis_is_not_found(client, other_researcher, study):
    client.force_login(other_researcher)
    for name, rest in (("analysis", []), ("analysis_file", ["intervals"])):
        assert client.get(reverse(name, args=[study.name, *rest])).status_code == 404
