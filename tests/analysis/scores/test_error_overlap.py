"""Errors that an annotator shares with a model: the statistic, its null distribution, its table."""

import csv
import io
import itertools
import re
from dataclasses import asdict

import lxml.html
import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.documents.blocks import Grid
from analysis.figures import data as figure_data
from analysis.scores import overlap, sensitivity
from analysis.stats import error_overlap
from analysis.stats.error_overlap import UNKNOWN, overlaps
from analysis.stats.significance import holm
from annotation.models import Kind, Step, Study
from annotation.study import compared_files
from benchmarks import ai_use
from tasks import jobs
from tests import factories
from tests.analysis import five_studies
from tests.analysis.documents.reports import block


def test_shares_are_those_computed_by_hand():
    # The model is wrong on the first six of ten examples: 1 is its wrong answer, 0 is right.
    model = np.array([1] * 6 + [0] * 4)
    people = np.array(
        [
            [1, 1, 1, 1, 1, 0, 1, 0, 0, 0],  # six errors, five shared with the model
            [1, 0, 0, 2, 0, 0, 1, 1, 1, 0],  # five errors, one shared with the model
            [1, 0, 0, 0, 2, 2, 1, 0, 2, 0],  # five errors, one shared with the model
        ]
    )
    own = overlaps(people, [model])[0][0]
    assert (own.errors, own.same, own.model_errors) == (6, 5, 6)
    # Each of the other two gives the model's answer on one of the first annotator's six errors.
    assert own.share == pytest.approx(5 / 6)
    assert own.others == pytest.approx(1 / 6)
    # The Wilson interval of 5 of 6, minus 1/6.
    assert (own.low, own.high) == pytest.approx((0.43649 - 1 / 6, 0.96995 - 1 / 6), abs=1e-4)
    # Most annotators are right on the second, third and sixth; the others never answer 1 there.
    assert (own.telling, own.telling_same, own.telling_others) == (3, 2, 0)


def test_p_is_that_of_all_permutations_with_these_errors(monkeypatch):
    people = np.array(
        [[1, 1, 1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 1, 1]]
    )
    model = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    columns = [
        [c for c in itertools.product((0, 1), repeat=3) if sum(c) == total]
        for total in people.sum(0)
    ]
    every = (np.array(chosen).T for chosen in itertools.product(*columns))
    alike = [one for one in every if (one.sum(1) == people.sum(1)).all()]
    # With one wrong answer per example, the statistic increases with the number of shared errors.
    values = np.array([_excess(one, model) for one in alike])
    exact = (values >= _excess(people, model) - 1e-9).mean()
    monkeypatch.setattr(error_overlap, "DRAWS", 10_000)
    monkeypatch.setattr(error_overlap, "ENOUGH", 10**9)
    assert len(alike) > 100
    assert overlaps(people, [model])[0][0].p == pytest.approx(exact, abs=0.01)


def _excess(people: np.ndarray, model: np.ndarray) -> float:
    """Return how many of the first annotator's errors the model shares, minus the others' mean."""
    wrong = [e for e in range(len(model)) if people[0, e]]
    shared = [[people[p, e] == model[e] for e in wrong] for p in range(len(people))]
    return sum(shared[0]) - float(np.mean([sum(own) for own in shared[1:]]))


def test_permutations_keep_examples_and_numbers_of_errors():
    people, _models = ai_use.crowd(np.random.default_rng(3), annotators=7, examples=40)
    drawn = next(error_overlap.permutations(people, np.random.default_rng(1)))
    assert (np.sort(drawn, axis=1) == np.sort(people, axis=0)).all()
    assert ((drawn > 0).sum(-1) == (people > 0).sum(-1)).all()
    assert (drawn != people).any()


def traded(chains, first, second, draw) -> np.ndarray:
    """A plain version of one round of trades in all chains."""
    ours, theirs = chains[:, first], chains[:, second]
    alone = (ours > 0) != (theirs > 0)
    number = ((ours > 0) & alone).sum(-1, keepdims=True)
    keys = draw.random(ours.shape, dtype=np.float32)
    rank = np.where(alone, keys, 2).argsort(-1, kind="stable").argsort(-1)
    is_wrong = np.where(alone, rank < number, ours > 0)
    swaps = np.where(alone, is_wrong != (ours > 0), keys >= 0.5)
    after = chains.copy()
    after[:, first], after[:, second] = np.where(swaps, [theirs, ours], [ours, theirs])
    return after


@pytest.mark.parametrize("annotators", [3, 8])
def test_permutations_are_trades_of_all_chains_in_one_random_stream(annotators):
    people, _models = ai_use.crowd(np.random.default_rng(3), annotators=annotators, examples=40)
    people = people[:, people.max(0) != people.min(0)]
    narrow = error_overlap.permutations(people.astype(np.uint8), np.random.default_rng(1))
    draw, chains = np.random.default_rng(1), np.repeat(people[None], error_overlap.CHAINS, 0)
    half = annotators // 2
    for rounds in (error_overlap.TRADES + 2 * annotators.bit_length(), error_overlap.TRADES):
        for _round in range(rounds):
            order = draw.permutation(annotators)
            chains = traded(chains, order[:half], order[half : 2 * half], draw)
        assert (next(narrow) == chains).all()


def test_a_copier_is_found_and_honest_annotators_are_not():
    people, model = ai_use.crowd(np.random.default_rng(5), annotators=10, copiers=2)
    ps = holm([own.p for own in overlaps(people, [model])[0]])
    assert max(ps[:2]) < 0.01 < min(ps[2:])


@pytest.mark.long
def test_without_copiers_small_p_values_are_rare():
    ps = []
    for seed in range(40):
        # Abilities differ widely, so the numbers of errors do too.
        people, model = ai_use.crowd(
            np.random.default_rng(seed), annotators=6, examples=120, copiers=0, spread=1.0
        )
        ps += [own.p for own in overlaps(people, [model], seed)[0] if not own.why_not]
    assert np.mean(np.array(ps) < 0.1) == pytest.approx(0.1, abs=0.05)


def test_names_of_answers_and_easy_examples_do_not_matter():
    people, model = ai_use.crowd(np.random.default_rng(2), annotators=6, examples=80)
    first = overlaps(people, [model], seed=4)
    renamed = np.where(people > 0, 50 - people, 0), np.where(model > 0, 50 - model, 0)
    easy = np.zeros((6, 30), int)
    longer = np.hstack([people, easy]), np.hstack([model, easy[0]])
    for others, models in (renamed, longer):
        again = overlaps(others, [models], seed=4)
        assert [asdict(own) for own in again[0]] == [asdict(own) for own in first[0]]


def test_the_seed_decides_the_p_value():
    people, model = ai_use.crowd(np.random.default_rng(2), annotators=6, copiers=0)
    first, again, other = (overlaps(people, [model], seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("people", "model", "why_not"),
    [
        (np.ones((2, 9), int), np.ones(9, int), "fewer than 3 annotators"),
        (np.ones((3, 9), int), np.array([1] * 4 + [0] * 5), "the model has fewer than 5 errors"),
        (np.zeros((3, 9), int), np.ones(9, int), "fewer than 5 errors"),
        (np.ones((3, 9), int), np.full(9, UNKNOWN), "the model has fewer than 5 errors"),
    ],
)
def test_where_it_cannot_work_there_is_a_reason(people, model, why_not):
    own = overlaps(people, [model])[0][0]
    assert own.why_not == why_not
    assert np.isnan([own.share, own.others, own.low, own.p]).all()


def test_equal_answers_agree_as_often_as_expected():
    # Everyone is always wrong, so the observed answers are the only permutation.
    for own in overlaps(np.ones((3, 9), int), [np.ones(9, int)])[0]:
        assert (own.same, own.share, own.others, own.p) == (9, 1, 1, 1)


def test_examples_without_the_models_answer_are_left_out():
    people, model = ai_use.crowd(np.random.default_rng(2), annotators=6, examples=80)
    unknown = np.where(np.arange(80) < 10, UNKNOWN, model)
    own = overlaps(people, [unknown])[0][0]
    assert own.errors == (people[0, 10:] > 0).sum()
    assert own.model_errors == (model[10:] > 0).sum()


# The table of a study ----------------------------------------------------------------------------


def predicted(example) -> list[str]:
    """The model's answer: wrong on every third example."""
    return ["From a model"] if example.position % 3 == 0 else example.gold[:1]


def answers_of(person: int):
    """The first person copies the model; the others are wrong on every fourth example."""

    def answer(turn):
        example = turn.example
        if person == 0:
            return predicted(example)
        return ["A guess"] if (example.position + person) % 4 == 0 else example.gold[:1]

    return answer


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Five people answer a short-text task at zero shots; the first copies a model."""
    task = factories.make_kind("short text", test_size=24)
    study = factories.make_study(
        module_researcher, task, shots=[0], annotators=5, hourly_rate=0, hide_test_scores=True
    )
    for person in range(5):
        factories.work_through(factories.seat(study.scenarios.get()), answers_of(person))
    return five_studies.close(study, module_researcher).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def compared(study):
    """The study, with predictions of the copied model."""
    factories.predict(study.owner, "T5-Large", study.tasks.get(), 0, predict=predicted)
    return study


def test_the_table_finds_the_annotator_who_copies(compared):
    rows = overlap.table(compared, Kind.PERSON)
    copier = compared.participations.order_by("pk").first()
    assert [row.annotator for row in rows if row.agrees] == [copier.pseudonym]
    assert overlap.agreeing(compared, Kind.PERSON) == {copier.pk}
    (own,) = (row for row in rows if row.agrees)
    assert (own.model, own.source) == ("T5-Large", "uploaded")
    assert (own.same, own.errors, own.telling) == (8, 8, 8)
    assert (own.share, own.others) == (1, 0)


def test_page_csv_and_api_show_the_same_rows(ada, compared):
    page = ada.get(reverse("overlap", args=[compared.name]), follow=True).content.decode()
    assert page.count("more often than expected</td>") == 1
    assert page.count("as expected</td>") == 4
    assert "<strong>1 of 5</strong> annotators make the same errors as a model" in page
    file = ada.get(reverse("overlap_file", args=[compared.name])).content.decode()
    rows = list(csv.DictReader(io.StringIO(file, newline="")))
    sent = ada.get(reverse("api_overlap", args=[compared.name])).json()["rows"]
    assert [row["annotator"] for row in rows] == [row["annotator"] for row in sent]
    assert [float(row["p_holm"]) for row in rows] == [row["p_holm"] for row in sent]
    assert sorted(row["result"] for row in sent)[-1] == "more often than expected"


def test_csv_does_not_wait_for_the_job_of_the_page(ada, compared, monkeypatch):
    monkeypatch.setattr(sensitivity.findings, "SMALL", 0)
    reply = ada.get(reverse("overlap", args=[compared.name]), {"format": "csv"}, follow=True)
    assert len(list(csv.DictReader(io.StringIO(reply.getvalue().decode(), newline="")))) == 5


def test_the_page_lists_50_rows_at_a_time(ada, compared):
    for number in range(10):
        factories.predict(
            compared.owner, f"Model-{number}", compared.tasks.get(), 0, predict=lambda e: e.gold[:1]
        )
    address = reverse("overlap", args=[compared.name])

    def rows(**query: str) -> list[str]:
        page = lxml.html.fromstring(ada.get(address, query, follow=True).content)
        return [row.xpath("string(td[4])") for row in page.xpath("//table/tbody/tr")]

    assert len(overlap.table(compared, Kind.PERSON)) == 55
    assert (len(rows()), len(rows(page="2"))) == (50, 5)
    assert rows(sort="p_holm")[0] == "more often than expected"
    assert rows(q="often", page="1") == ["more often than expected"]
    file = ada.get(address + "?q=often&format=csv", follow=True).content.decode()
    assert [row["result"] for row in csv.DictReader(io.StringIO(file))] == [
        "more often than expected"
    ]


def test_the_annotators_page_loads_the_annotators_row(ada, compared):
    for person, share in enumerate(["100%", "0%"]):
        annotator = compared.participations.order_by("pk")[person]
        about = [compared.name, annotator.pseudonym]
        hidden = ada.get(reverse("participation", args=about)).content.decode()
        assert "Errors of all annotators and models" in hidden
        assert "annotator=" not in hidden  # the number of errors would reveal the hidden score
        ada.post(reverse("participation_score", args=about))
        page = ada.get(reverse("participation", args=about))
        (part,) = lxml.html.fromstring(page.content).xpath("//section[@hx-trigger='revealed']")
        row = lxml.html.fromstring(ada.get(part.get("hx-get")).content).xpath("//tbody/tr")
        cells = [[cell.text_content() for cell in each] for each in row]
        result = "as expected" if person else "more often than expected"
        assert [each[:3] for each in cells] == [["T5-Large", result, share]]


def test_the_report_has_one_line_for_each_annotator(compared):
    grid = block(compared, "Behaviour of annotators", Grid)
    people = compared.participations.order_by("pk").values_list("pseudonym", flat=True)
    errors = dict.fromkeys(people, "as expected")
    errors[people[0]] = "T5-Large: more often than expected"
    assert {row[0]: row[3] for row in grid.rows} == errors
    assert {row[0]: row[2] for row in grid.rows} == {
        person.pseudonym: f"{24 - person.activity_summary['too_fast']} of 24 answers took long"
        " enough to read the example. Reported by the browser: nothing."
        for person in compared.participations.all()
    }


@pytest.mark.long
def test_sensitivity_shows_the_cell_without_them(ada, compared):
    rows = {row.rule: row for row in sensitivity.table(compared, Kind.PERSON)}
    assert rows["reported"].n == 5
    assert rows["errors_unlike_models"].n == 4
    page = ada.get(reverse("sensitivity", args=[compared.name]), follow=True).content.decode()
    assert "without annotators whose errors agree with a model’s more often" in page
    # The table changes neither inclusion nor pay.
    assert compared.participations.filter(in_analysis=True, is_paid=True).count() == 5


def test_each_part_of_the_job_compares_the_errors_in_its_task(researcher, monkeypatch):
    tasks = [factories.make_kind("short text", name=name, test_size=24) for name in ("a", "b")]
    study = factories.make_study(
        researcher, *tasks, shots=[0], annotators=4, hourly_rate=0, hide_test_scores=True
    )
    for task in tasks:
        factories.predict(researcher, "T5-Large", task, 0, predict=predicted)
        scenario = study.scenarios.get(task=task)
        for person in range(4):
            # Only the first task has a copier.
            answer = answers_of(person + (task != tasks[0]))
            factories.work_through(factories.seat(scenario), answer)
    five_studies.close(study, researcher)
    direct = sensitivity.table(study, Kind.PERSON)
    monkeypatch.setattr(sensitivity.findings, "SMALL", 0)
    job = sensitivity.job_of(study, Kind.PERSON, owner=researcher)
    read = []
    while not job.is_done:
        with CaptureQueriesContext(connection) as queries:
            jobs.run_chunk(job)
        wrong = [query["sql"] for query in queries if '"s1" < ' in query["sql"]]
        listed = re.findall(r"IN \(([\d, ]+)\)", " ".join(wrong))
        read.append({int(number) for numbers in listed for number in numbers.split(", ")})
    people = [study.participations.filter(scenario__task=task) for task in tasks]
    assert read == [{person.pk for person in of_task} for of_task in people]
    stored = sensitivity.table(study, Kind.PERSON)  # jsonb sorts keys, and NaN equals nothing
    assert [repr(sorted(vars(row).items())) for row in stored] == [
        repr(sorted(vars(row).items())) for row in direct
    ]
    shown = {row.task: row.n for row in direct if row.rule == "errors_unlike_models"}
    assert shown == {"a": 3, "b": 4}


def test_the_same_answers_are_permuted_once(compared, monkeypatch):
    before = repr(overlap.table(compared, Kind.PERSON))
    monkeypatch.setattr(error_overlap, "permutations", None)  # any further call fails
    assert repr(overlap.table(compared, Kind.PERSON)) == before
    compared.seed += 1
    with pytest.raises(TypeError):
        overlap.table(compared, Kind.PERSON)


def test_without_a_model_the_page_says_what_it_needs(ada, study):
    assert overlap.table(study, Kind.PERSON) == []
    page = ada.get(reverse("overlap", args=[study.name]), follow=True).content.decode()
    assert "uploaded predictions" in page
    assert "errors_unlike_models" not in {row.rule for row in sensitivity.table(study, Kind.PERSON)}


def test_models_that_have_seen_the_test_do_not_count(compared):
    compared.tasks.get().prediction_files.update(seen_test="yes")
    assert overlap.table(compared, Kind.PERSON) == []


def exported(study, folder) -> dict[str, bytes]:
    call_command("export_study", study.name, str(folder), verbosity=0)
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def test_a_witness_is_in_no_other_table(ada, study, tmp_path):
    before = exported(study, tmp_path / "before")
    folder = tmp_path / "predictions"
    folder.mkdir()
    lines = factories.prediction_lines(study.tasks.get(), predicted)
    (folder / f"{study.tasks.get().name}_0.jsonl").write_bytes(lines)
    call_command("import_predictions", "Chatbot", folder, witness=True, by=study.owner.username)
    rows = overlap.table(study, Kind.PERSON)
    assert {(row.model, row.source) for row in rows} == {("Chatbot", "witness")}
    figure = figure_data.figure(study, Kind.PERSON, "models", {Step.ANNOTATION})
    assert figure.why_not == figure_data.NO_MODELS
    assert not compared_files.are_compared(study)
    assert len([row for row in rows if row.agrees]) == 1
    after = exported(study, tmp_path / "after")
    differ = {name for name in before if before[name] != after[name]}
    assert differ == {"overlap.csv", "sensitivity.csv"}  # its row "errors_unlike_models"
    for name, show in (("study_models", ""), ("study_models", "leaderboard"), ("figures", "")):
        page = ada.get(reverse(name, args=[study.name]), {"show": show}).content.decode()
        assert "Chatbot" not in page
    assert "Chatbot" not in ada.get(reverse("models_file")).content.decode()
    files = ada.get(reverse("model", args=["Chatbot"])).content.decode()
    assert "witness, only for error overlap" in files
    assert compared_files.has_models(study)  # so the consent page mentions the comparison


def test_the_upload_form_stores_a_witness(ada, study):
    task = study.tasks.get()
    file = SimpleUploadedFile(f"{task.name}_0.jsonl", factories.prediction_lines(task, predicted))
    reply = ada.post(reverse("models"), {"name": "Chatbot", "witness": "on", "files": file})
    assert reply.status_code == 302
    assert task.prediction_files.get().witness


@pytest.mark.long
def test_a_model_has_the_answer_that_most_runs_gave(compared):
    task = compared.tasks.get()
    before = overlap.table(compared, Kind.PERSON)
    for number in (2, 4):
        factories.predict(compared.owner, "T5-Large", task, number, 1, predict=predicted)
    factories.predict(compared.owner, "Guesser", task, 2, 1, predict=lambda _example: ["A guess"])
    rows = overlap.table(compared, Kind.PERSON)
    assert [row for row in rows if row.model == "T5-Large"] == before
    assert {row.model for row in rows} == {"Guesser", "T5-Large"}


@pytest.mark.long
def test_models_in_the_seat_are_compared_but_have_no_rows(researcher):
    study = five_studies.models_as_annotators(researcher)
    rows = overlap.table(study, Kind.PERSON)
    assert {(row.model, row.source) for row in rows} == {("openai/toy", "seated")}
    assert len(rows) == 12
    assert {row.result for row in rows} == {"the model has fewer than 5 errors"}
    assert overlap.table(study, Kind.MODEL) == []


def test_while_scores_are_hidden_the_table_is_too(ada, researcher):
    task = factories.make_kind("short text", name="hidden", test_size=4)
    study = factories.make_study(researcher, task, shots=[0], hide_test_scores=True)
    factories.work_through(factories.seat(study.scenarios.get()))
    for name in ("overlap", "overlap_file", "api_overlap"):
        assert ada.get(reverse(name, args=[study.name]), follow=True).status_code == 403


def test_the_consent_page_says_so_only_if_there_are_models(client, researcher):
    task = factories.make_task()
    study = factories.make_study(researcher, task, annotators=2)
    address = reverse("work", args=[factories.join(study).token])
    sentence = "compare your wrong answers with those of language models"
    assert sentence not in " ".join(client.get(address).content.decode().split())
    factories.predict(researcher, "T5-Large", task, 0)
    assert sentence in " ".join(client.get(address).content.decode().split())
