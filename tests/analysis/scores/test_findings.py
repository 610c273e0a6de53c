"""The analysis page counts the right annotators, and its numbers follow from the answers."""

import csv
import io
import math
import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.export.columns import COLUMNS
from analysis.scores import findings, findings_columns, frames, means, tested
from analysis.stats import uncertainty
from annotation.models import Kind, Step, Study
from tasks import jobs
from tasks.models import Job
from tests import factories


@pytest.fixture(scope="module")
def stored(module_researcher):
    """At 0 and 2 shots, one annotator is always right and one always answers "no answer"."""
    study = factories.make_study(module_researcher, factories.make_task(test_size=6), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.mark.long
def test_the_mean_and_its_intervals(study):
    rows = list(findings.intervals(findings.answered(study, Kind.PERSON), seed=1))
    assert [(row.task, row.shots, row.n, row.examples) for row in rows] == [
        ("toy-places", 0, 2, 6),
        ("toy-places", 2, 2, 6),
    ]
    # The second annotator is right only on the two of six examples without an answer: 1/3.
    assert rows[0].mean == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert rows[0].low <= rows[0].t_low < rows[0].mean < rows[0].t_high <= rows[0].high
    assert rows[0].examples_low < rows[0].mean < rows[0].examples_high


def test_examples_are_read_without_their_answers(study):
    """On tables without statistics, PostgreSQL used to read all answers for each example."""
    with CaptureQueriesContext(connection) as asked:
        assert len(findings.answered(study, Kind.PERSON)) == 24
    read = [query["sql"] for query in asked.captured_queries]
    of_examples = [sql for sql in read if 'FROM "tasks_example"' in sql]
    assert len(of_examples) == 1
    assert "annotation_" not in of_examples[0]


def test_spans_are_read_by_one_query_without_a_join(study):
    """On tables without statistics, PostgreSQL used to read all spans for each answer."""
    with CaptureQueriesContext(connection) as asked:
        assert len(findings.answered(study, Kind.PERSON)) == 24
    read = [query["sql"] for query in asked.captured_queries]
    of_spans = [sql for sql in read if 'FROM "annotation_answerspan"' in sql]
    assert len(of_spans) == 1
    assert "JOIN" not in of_spans[0]
    assert of_spans[0].count("SELECT") == 1


def test_a_million_answers_are_not_sorted_like_a_list_of_studies(study):
    """Ordering by a foreign key sorts by the default order of its model, with a join for each."""
    with CaptureQueriesContext(connection) as asked:
        answers = frames.answers_in_order(study, Kind.PERSON, Step.ANNOTATION)
    (read,) = [query["sql"] for query in asked if 'FROM "annotation_answer"' in query["sql"]]
    assert "created_at" not in read
    in_order = [pk for pk in study.participations.values_list("pk", flat=True) for _ in range(6)]
    assert answers["participation"].tolist() == in_order
    assert answers["position"].tolist() == list(range(6)) * 4


@pytest.mark.long
def test_a_bootstrap_over_people_needs_ten_people(researcher):
    """Below ten, a reason replaces the interval: with three people, it would cover only 75 %."""
    study = factories.make_study(
        researcher, factories.make_task(test_size=3), annotators=10, shots=[0]
    )
    for number in range(10):
        answer = None if number % 2 else lambda turn: []
        factories.work_through(factories.seat(study.scenarios.get()), answer)
        (row,) = findings.intervals(findings.answered(study, Kind.PERSON), seed=1)
        ends = (row.annotators_low, row.annotators_high, row.both_low, row.both_high)
        if number < 9:
            assert row.no_bootstrap
            assert all(map(math.isnan, ends))
    assert row.no_bootstrap == ""
    assert row.annotators_low < row.mean < row.annotators_high
    assert row.both_low < row.mean < row.both_high


def test_agreement_does_not_depend_on_the_gold(study):
    row = next(findings.agreements(findings.answered(study, Kind.PERSON)))
    assert row.pairwise_s1 == pytest.approx(100 / 3)
    assert row.alpha_nominal < row.pairwise_s1 / 100


def test_the_majority_of_two_is_their_common_answer(study):
    row = next(findings.aggregates(findings.answered(study, Kind.PERSON)))
    assert row.majority == pytest.approx(100 / 3)
    assert row.individuals == pytest.approx(200 / 3)


@pytest.mark.long
def test_labels_have_a_plurality_and_dawid_skene(researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[0], annotators=3)
    wrong = {"positive": "negative", "negative": "positive"}
    for mistakes in (False, False, True):
        answer = (lambda turn: [wrong[turn.example.gold[0]]]) if mistakes else None
        factories.work_through(factories.seat(study.scenarios.get()), answer)
    (row,) = findings.aggregates(findings.answered(study, Kind.PERSON))
    assert row.individuals == pytest.approx(200 / 3)
    assert row.majority == row.dawid_skene == pytest.approx(100)


def test_one_annotator_has_no_dawid_skene(researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    (row,) = findings.aggregates(findings.answered(study, Kind.PERSON))
    assert (row.n, row.majority) == (1, 100)
    assert math.isnan(row.dawid_skene)


def test_a_contrast_of_four_people_shows_the_smallest_possible_p(study):
    (row,) = findings.contrasts(findings.answered(study, Kind.PERSON), seed=1)
    assert (row.from_shots, row.to_shots, row.difference) == (0, 2, 0)
    assert row.floor == pytest.approx(1 / 3)
    assert row.permutation_p == 1
    assert row.p_holm == row.p == 1
    assert row.low < -100 < 100 < row.high
    assert (row.hedges_g, row.no_interval) == (0, "")
    assert row.smallest_margin < row.high
    assert (tested.equivalence(row), math.isnan(row.p_equivalence)) == ("–", True)


def test_an_excluded_annotator_is_in_no_finding(study):
    seat = study.participations.first()
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    rows = findings.tables(study, Kind.PERSON)["intervals"]
    assert sorted(row.n for row in rows) == [1, 2]


def finish(client, study, **kind) -> int:
    """Press "Continue" until the job ends; return the number of presses."""
    address = reverse("analysis_run", args=[study.name])
    for presses in range(50):
        if client.get(reverse("analysis", args=[study.name]), kind).context["job"] is None:
            return presses
        client.post(address + "?" + urlencode(kind), follow=True)
    raise AssertionError("the job does not end")


def same(first, other) -> bool:
    """Return whether two sets of tables are equal to the last digit; NaN equals NaN."""

    def plain(tables):
        return {
            name: [
                (type(row), {k: None if v != v else v for k, v in vars(row).items()})
                for row in rows
            ]
            for name, rows in tables.items()
        }

    return plain(first) == plain(other)


@pytest.mark.long
def test_the_job_gives_the_same_numbers_as_the_functions(client, researcher, study):
    """The job computes in chunks and stores them, but the tables equal those computed directly."""
    frame = findings.answered(study, Kind.PERSON)
    direct = {name: list(make(frame, study.seed)) for name, make in findings.TABLES.items()}
    client.force_login(researcher)
    assert finish(client, study) > 0
    job = findings.job_of(study, Kind.PERSON)
    assert job.is_done
    assert same(findings.stored(job), direct)
    assert same(findings.tables(study, Kind.PERSON), direct)


def test_the_bootstrap_with_a_fixed_seed_does_not_change(study):
    """These ends were drawn with seed 7 before a job did the resampling."""
    frame = findings.answered(study, Kind.PERSON)
    matrix, contexts, _keys = means.matrix_of(frame[frame["shots"] == 0])
    interval = uncertainty.bootstrap(matrix, "both", clusters=contexts, seed=study.seed)
    assert (interval.low, interval.high) == pytest.approx((1 / 6, 1))
    first = findings.tables(study, Kind.PERSON)["intervals"][0]
    assert (first.examples_low, first.examples_high) == pytest.approx((50, 250 / 3))


@pytest.mark.long
def test_undoing_an_exclusion_reuses_the_first_tables(client, researcher, study):
    client.force_login(researcher)
    finish(client, study)
    seat = study.participations.last()
    number = seat.seat_number
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    assert finish(client, study) > 0
    assert Job.objects.count() == 2
    seat.in_analysis, seat.seat_number = True, number
    seat.save()
    assert finish(client, study) == 0


@pytest.mark.long
def test_unresampled_tables_are_shown_at_once_and_the_rest_later(client, researcher, study):
    client.force_login(researcher)
    page = client.get(reverse("analysis", args=[study.name]))
    shown = page.content.decode()
    assert [table["name"] for table in page.context["tables"] if table["is_waiting"]] == [
        "intervals", "contrasts",
    ]  # fmt: skip
    assert "Computing bootstrap intervals" in shown
    assert "0 of 3 parts done" in shown
    words = " ".join(shown.split())
    still = (
        "Still being computed: 95 % confidence intervals of the mean, Differences between shots."
    )
    assert words.count(still) == 1
    assert '<noscript><button class="secondary outline compact">Continue</button>' in shown
    assert "Pairwise S1" in shown
    assert not Job.objects.exists()
    finish(client, study)
    page = client.get(reverse("analysis", args=[study.name]))
    assert "Computing bootstrap intervals" not in page.content.decode()
    assert "66.7" in page.content.decode()
    assert client.get(reverse("analysis", args=[study.name]), {"kind": "x"}).status_code == 404


def test_each_poll_shows_progress_and_the_last_asks_for_a_reload(
    client, researcher, study, monkeypatch
):
    client.force_login(researcher)
    monkeypatch.setattr(jobs, "POLL", 0)
    address, header = reverse("analysis_run", args=[study.name]), {"HX-Request": "true"}
    for done in (1, 2):
        shown = client.post(address, headers=header).content.decode()
        assert f'<progress value="{done}" max="3"' in shown
        assert f"{done} of 3 parts done" in shown
        assert re.search(r"About \d+ (s|min) left", shown)
        assert "<html" not in shown
    assert client.post(address, headers=header)["HX-Refresh"] == "true"


def test_an_unfinished_job_for_older_data_is_dropped(client, researcher, study, monkeypatch):
    client.force_login(researcher)
    monkeypatch.setattr(jobs, "POLL", 0)
    address = reverse("analysis_run", args=[study.name])
    client.post(address)
    seat = study.participations.last()
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    client.post(address)
    assert Job.objects.get().done == 1


def test_swapping_two_exclusions_is_noticed(researcher, study):
    """The swap keeps the numbers of annotators and answers, so counting would miss it."""
    first, second = study.participations.filter(scenario__shots=0)
    means = []
    for out, back in ((first, second), (second, first)):
        out.in_analysis, out.seat_number = False, None
        out.save()
        back.in_analysis, back.seat_number = True, 1
        back.save()
        job = findings.job_of(study, Kind.PERSON, researcher)
        while not job.is_done:
            jobs.advance(job)
        means.append(findings.stored(job)["intervals"][0].mean)
    assert means == pytest.approx([100 / 3, 100])


@pytest.mark.long
@pytest.mark.parametrize("table", findings.TABLES)
def test_each_table_can_be_had_as_csv_with_all_digits(client, researcher, study, table):
    client.force_login(researcher)
    reply = client.get(reverse("analysis_file", args=[study.name, table]))
    finish(client, study)
    again = client.get(reverse("analysis_file", args=[study.name, table]))
    assert again.content == reply.content
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    assert len(rows) == (1 if table == "contrasts" else 2)
    assert {row["kind"] for row in rows} == {"person"}
    if table == "intervals":
        assert float(rows[0]["mean"]) == pytest.approx(2 / 3, abs=1e-9)


def page_csv_and_api(client, study) -> tuple[str, list[dict], list[dict]]:
    """Return the analysis page, and its intervals as CSV and as JSON."""
    finish(client, study)
    page = client.get(reverse("analysis", args=[study.name])).content.decode()
    file = client.get(reverse("analysis_file", args=[study.name, "intervals"])).content.decode()
    (reply,) = client.get(reverse("api_analysis", args=[study.name])).json()
    return page, list(csv.DictReader(io.StringIO(file, newline=""))), reply["intervals"]


@pytest.mark.long
def test_a_missing_bootstrap_over_people_is_explained_once(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(test_size=6), annotators=2, shots=[0]
    )
    for answer in (None, lambda turn: ["home"]):
        factories.work_through(factories.seat(study.scenarios.get()), answer)
    page, rows, _api = page_csv_and_api(ada, study)
    assert page.count("No bootstrap over annotators is shown: fewer than 10 annotators.") == 1
    assert "Bootstrap, annotators" not in page
    assert rows[0]["no_bootstrap"] == "fewer than 10 annotators"


@pytest.mark.long
def test_a_reason_that_many_cells_share_is_stated_once(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(shots=(4,), test_size=6), annotators=2, shots=[4]
    )
    for _annotator in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    page, _rows, _api = page_csv_and_api(ada, study)
    plateau = page.partition('id="plateau"')[2].partition("</section>")[0]
    assert "(no interval: fewer than 10 annotators)" not in page
    assert plateau.count("Numbers without an interval are based on fewer than 10 annotators.") == 1
    assert re.findall(r'class="list-number">([^<]*)<', plateau)[-2:] == ["0.0", "0.0"]


def test_a_reason_that_a_cell_only_quotes_stays_in_it():
    quoted = "a label (no interval: fewer than 10 annotators)"
    page = render_to_string("web/_cells.html", {"cells": [["row", quoted]], "columns": []})
    assert quoted in page
    assert "Numbers without an interval" not in page


ASSUMES = "fewer than 10 annotators: assumes that the annotators' scores are approximately normal"


@pytest.mark.long
def test_interval_of_under_ten_annotators_states_its_assumption(ada, researcher):
    """A dagger marks the interval and a note explains it, on pages and in files."""
    task = factories.make_task(shots=(2,), test_size=6)
    study = factories.make_study(researcher, task, annotators=3, shots=[0, 2])
    for scenario in study.scenarios.all():
        for slips in (0, 1, 2):
            factories.work_through(
                factories.seat(scenario),
                lambda turn, slips=slips: (
                    turn.example.context[0].split()[:1]
                    if turn.step == "annotation" and turn.example.position < slips
                    else turn.example.gold
                ),
            )
    finish(ada, study)
    for address, mark in (
        (reverse("analysis", args=[study.name]), "†"),
        (reverse("report_file", args=[study.name]), "†"),
        (reverse("table_latex", args=[study.name, "intervals"]), r"\textdagger{}"),
        (reverse("table_latex", args=[study.name, "contrasts"]), r"\textdagger{}"),
        (reverse("human_performance_file", args=[study.name, "md"]), "†"),
        (reverse("human_performance_file", args=[study.name, "tex"]), r"\textdagger{}"),
        (reverse("sensitivity", args=[study.name]), "†"),
        (reverse("leaderboard", args=[study.name]), "†"),
        (reverse("figure_table", args=[study.name, "shots"]), "†"),
        (reverse("figure_table", args=[study.name, "models"]), "†"),
        (f"{reverse('compare')}?study={study.name}", "†"),
    ):
        text = " ".join(unescape(ada.get(address, follow=True).content.decode()).split())
        assert re.search(rf"\d\.\d to \+?\d+\.\d {re.escape(mark)}", text), address
        assert f"{mark} {ASSUMES}" in text, address
    assume = f"Intervals of {ASSUMES.replace('s: assumes', 's assume')}."
    compared = f"{reverse('compare')}?study={study.name}"
    for address in (reverse("figures", args=[study.name]), compared):
        page = unescape(ada.get(address, follow=True).content.decode())
        shown = [part.split("</figcaption>")[0] for part in page.split("<figcaption>")[1:]]
        assert sum(assume in caption for caption in shown) == 1
    for file in ("intervals.csv", "contrasts.csv", "model_differences.csv"):
        assert ASSUMES in COLUMNS[file]["low_95"]
    # From ten annotators on, the dagger is gone.
    (row, *_others) = means.means(findings.answered(study, Kind.PERSON))
    (shown,) = [
        column for column in findings_columns.COLUMNS["intervals"] if column.heading == "95 % CI"
    ]
    assert shown.text(row).endswith(" †")
    row.n = 10
    assert not shown.text(row).endswith(" †")


@pytest.mark.long
@pytest.mark.parametrize(("people", "why"), [(1, "one annotator"), (3, "annotators tie")])
def test_one_annotator_or_a_tie_gives_no_interval_over_people(ada, researcher, people, why):
    study = factories.make_study(
        researcher, factories.make_task(test_size=6), annotators=people, shots=[0]
    )
    for _ in range(people):
        factories.work_through(factories.seat(study.scenarios.get()), lambda turn: [])
    page, (row,), (interval,) = page_csv_and_api(ada, study)
    assert page.count(f"– ({why})") == 2  # the default interval and the t interval
    assert row["no_interval"] == interval["no_interval"] == why
    for name in ("", "t_", "annotators_", "both_"):
        assert row[f"{name}low_95"] == row[f"{name}high_95"] == ""
        assert interval[f"{name}low_95"] is interval[f"{name}high_95"] is None
    assert interval["examples_low_95"] < interval["mean"] < interval["examples_high_95"]
    (figure,) = ada.get(reverse("api_figure", args=[study.name, "shots"])).json()
    (number,) = figure["numbers"]
    assert (number["low_95"], number["no_interval"]) == (None, why)
    numbers = ada.get(reverse("figure_table", args=[study.name, "shots"])).content.decode()
    assert f"– ({why})" in numbers
    assert f"– ({why})" in ada.get(reverse("report", args=[study.name])).content.decode()


@pytest.mark.long
def test_perfect_annotators_have_no_interval_of_zero_width(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(test_size=4), annotators=2, shots=[0]
    )
    for _ in range(2):
        factories.work_through(factories.seat(study.scenarios.get()))
    page, (row,), (interval,) = page_csv_and_api(ada, study)
    assert "100.0 to 100.0" not in page
    assert "– (contexts tie)" in page
    assert (row["examples_low_95"], row["no_examples"]) == ("", "contexts tie")
    assert interval["no_interval"] == "annotators tie"
    told = [
        ada.get(reverse("figure_table", args=[study.name, name])).content.decode()
        for name in ("shots", "drift")
    ]
    # One for the mean; two for the difference between halves and the slope.
    assert [page.count("– (annotators tie)") for page in told] == [1, 2]


@pytest.mark.long
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_difference_of_two_tied_groups_has_no_interval(ada, researcher):
    """Three score 7 of 10 and three 5 of 10, so nothing shows how much people vary."""
    study = factories.make_study(
        researcher,
        factories.make_task(test=factories.label_records("test", 10), labels=factories.LABELS),
        annotators=3,
    )
    for scenario in study.scenarios.all():
        wrong = 5 if scenario.shots else 3
        for _ in range(3):
            factories.work_through(
                factories.seat(scenario),
                lambda turn, wrong=wrong: (
                    [{"positive": "negative", "negative": "positive"}[turn.example.gold[0]]]
                    if turn.step == "annotation" and turn.example.position < wrong
                    else turn.example.gold
                ),
            )
    (row,) = findings.contrasts(findings.answered(study, Kind.PERSON), seed=1)
    assert row.difference == pytest.approx(-20)
    assert row.no_interval == "annotators tie"
    for number in (row.low, row.p, row.p_holm, row.hedges_g, row.welch_p, row.smallest_margin):
        assert math.isnan(number)


def test_an_empty_study_says_what_is_missing(client, researcher):
    study = factories.make_study(researcher, factories.make_task())
    client.force_login(researcher)
    reply = client.get(reverse("analysis", args=[study.name]))
    assert "No annotator in the analysis has completed the study yet" in reply.content.decode()
    assert "Computing bootstrap intervals" not in reply.content.decode()
    client.post(reverse("analysis_run", args=[study.name]))
    assert not Job.objects.exists()
    assert client.get(reverse("analysis_file", args=[study.name, "intervals"])).status_code == 200


def test_the_analysis_of_another_researcher_is_not_found(client, other_researcher, study):
    client.force_login(other_researcher)
    for name, rest in (("analysis", []), ("analysis_file", ["intervals"])):
        assert client.get(reverse(name, args=[study.name, *rest])).status_code == 404
    assert client.post(reverse("analysis_run", args=[study.name])).status_code == 404


# Equivalence -------------------------------------------------------------------------------------


@pytest.mark.long
def test_equivalence_uses_the_margin_frozen_in_the_design(ada, researcher):
    """The same answers are equivalent within 99 points, but not within 1."""
    shown = {}
    documents: dict[str, dict[object, str]] = {}
    for margin in (99, 1, None):
        name = f"toy-{margin or 'none'}"
        study = factories.make_study(
            researcher,
            factories.make_task(name=name, test_size=6),
            shots=[0, 2],
            annotators=3,
            equivalence_margin=margin,
        )
        for scenario in study.scenarios.all():
            for slips in (0, 1, 2):
                factories.work_through(
                    factories.seat(scenario),
                    lambda turn, slips=slips: (
                        turn.example.context[0].split()[:1]
                        if turn.step == "annotation" and turn.example.position < slips
                        else turn.example.gold
                    ),
                )
        assert f'"equivalence_margin":{margin or "null"}' in study.manifest.replace(" ", "")
        finish(ada, study)
        page = ada.get(reverse("analysis", args=[study.name])).content.decode()
        file = ada.get(reverse("analysis_file", args=[study.name, "contrasts"]))
        (row,) = csv.DictReader(io.StringIO(file.content.decode(), newline=""))
        shown[margin] = page, row
        for name, address in (
            ("report", reverse("report_file", args=[study.name])),
            ("latex", reverse("table_latex", args=[study.name, "contrasts"])),
        ):
            text = ada.get(address).content.decode()
            documents.setdefault(name, {})[margin] = " ".join(text.split())
        within = (margin or 0) / 100
        inside = -within < float(row["low_90"]) and float(row["high_90"]) < within
        if margin is not None:
            assert float(row["margin"]) == within
            assert (float(row["p_equivalence"]) < 0.05) == inside
    assert "within ± 99 (each at .05, without correction for multiple testing)" in shown[99][0]
    within = {name: texts[99] for name, texts in documents.items()}
    assert "within ± 99 (each at .05, without correction for multiple testing)" in within["report"]
    assert (
        r"within $\pm$ 99 (each at .05, without correction for multiple testing)" in within["latex"]
    )
    meaning = COLUMNS["contrasts.csv"]["p_equivalence"]
    assert "± margin; each at .05, without correction for multiple testing" in meaning
    assert "not shown for ± 1" in shown[1][0]
    assert "±" not in shown[None][0].split("Differences between shots")[1].split("</tbody>")[0]
    assert shown[None][1]["margin"] == shown[None][1]["p_equivalence"] == ""
    # The smallest margin that could be shown doesn't depend on the margin of the design.
    smallest = {row["smallest_margin"] for _page, row in shown.values()}
    assert len(smallest) == 1
    assert 0.01 < float(smallest.pop()) < 0.99
