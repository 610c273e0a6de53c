"""For a large study, jobs compute figures and inclusion criteria, with the same content.

These tests set the limit for large studies to zero and don't check its value.
"""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analysis.scores import findings
from annotation.models import Kind, Study
from annotation.privacy import withdrawal
from annotation.protocol import exclusion, own_questions
from tasks import jobs
from tasks.models import Job
from tests import factories
from tests.analysis.documents.reports import make_study

pytestmark = pytest.mark.long

WORK = {
    "figures": "curves", "leaderboard": "curves", "sensitivity": "sensitivity",
    "examples": "examples", "gold_audit": "examples", "overlap": "overlap",
    "study_differences": "differences",
}  # fmt: skip
FILES = [
    *(("figure_file", name, ext) for name in ("shots", "models", "learning", "drift")
      for ext in ("csv", "json")),
    *(("figure_numbers", name) for name in ("shots", "models", "learning", "drift")),
    ("leaderboard_file",), ("sensitivity_file",), ("examples_file",), ("gold_audit_file",),
    ("overlap_file",), ("study_models_file", "differences"), ("study_models_file", "examples"),
]  # fmt: skip
OF_ALL_KINDS = [
    *(("human_performance_file", ext) for ext in ("md", "tex")), ("api_study_models",)
]  # fmt: skip


@pytest.fixture(scope="module")
def stored(module_researcher):
    study = make_study(module_researcher)
    factories.predict(study.owner, "first", study.tasks.get(), 0)
    person, *_others = people(study)
    exclusion.decide(person, False, "asleep", study.owner)
    factories.work_through(factories.seat(person.scenario))
    return study.pk


@pytest.fixture
def study(db, stored):
    findings.caches["process"].clear()
    return Study.objects.get(pk=stored)


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(findings, "SMALL", 0)


def people(study):
    return study.participations.filter(kind=Kind.PERSON, status="completed").order_by("pk")


def files(client, study, names=FILES) -> dict[tuple, bytes]:
    findings.caches["process"].clear()
    made = {at: client.get(reverse(at[0], args=[study.name, *at[1:]])) for at in names}
    assert {reply.status_code for reply in made.values()} == {200}
    return {at: reply.content for at, reply in made.items()}


def page(client, study, name: str) -> str:
    """Return the page below its title, without the CSRF tokens."""
    shown = client.get(reverse(name, args=[study.name]), follow=True).content.decode()
    return re.sub(r'(?<=csrfmiddlewaretoken" value=")\w+', "", shown.split("<h1>")[1])


def finished(client, study, name: str) -> str:
    """Return the page after its job has ended, as a browser without JavaScript gets it."""
    address = f"{reverse('analysis_run', args=[study.name])}?work={WORK[name]}"
    for _ in range(10):
        shown = page(client, study, name)
        if "<progress" not in shown:
            return shown
        assert client.post(address).status_code == 302
    raise AssertionError("The job never ended")


def test_a_browser_without_scripts_returns_to_the_page_it_came_from(ada, study, large):
    run = f"{reverse('analysis_run', args=[study.name])}?work=curves"
    here = f"{reverse('compare')}?study={study.name}"
    assert f'name="return_to" value="{here}"' in ada.get(here).content.decode()
    assert ada.post(run, {"again": "1", "return_to": here}).url == here
    for address in ("http://example.org/", "//example.org/", "figures"):
        away = ada.post(run, {"return_to": address}).url
        assert away == f"{reverse('figures', args=[study.name])}?kind=person"


@pytest.mark.parametrize("name", WORK)
def test_a_page_by_a_job_is_that_of_a_small_study(ada, study, monkeypatch, name):
    at_once = page(ada, study, name)
    monkeypatch.setattr(findings, "SMALL", 0)
    assert "<progress" in page(ada, study, name)
    assert not Job.objects.exists()  # a GET starts nothing
    assert finished(ada, study, name) == at_once
    assert Job.objects.get().is_done


def test_files_are_the_same_with_and_without_the_jobs(ada, study, large):
    before = files(ada, study, FILES + OF_ALL_KINDS)
    for name in WORK:
        finished(ada, study, name)
    assert files(ada, study, FILES + OF_ALL_KINDS) == before


def test_only_the_jobs_read_answers(ada, study, large, monkeypatch):
    for name in WORK:
        finished(ada, study, name)
    monkeypatch.setattr(findings.frames, "answers_in_order", None)  # any call fails
    monkeypatch.setattr("analysis.scores.sensitivity.given", None)
    monkeypatch.setattr("analysis.scores.overlap.given_texts", None)
    monkeypatch.setattr(findings, "answers_of", None)
    assert len(files(ada, study)) == len(FILES)


def test_a_comparison_waits_for_the_figures_of_each_study(ada, study, monkeypatch):
    def compared() -> str:
        return ada.get(reverse("compare"), {"study": study.name}).content.decode().split("<h1>")[1]

    at_once = compared()
    monkeypatch.setattr(findings, "SMALL", 0)
    assert f"Computing the figures of {study.name}" in compared()
    finished(ada, study, "figures")
    assert compared() == at_once


def test_the_leaderboard_reads_answers_at_the_largest_size_only(ada, study, monkeypatch):
    read, answers = [], findings.frames.scored_answers
    monkeypatch.setattr(
        findings.frames, "scored_answers", lambda *about: read.append(answers(*about)) or read[-1]
    )
    page(ada, study, "leaderboard")
    largest = study.tasks.get().training_sizes[-1]
    assert read
    assert all((frame["shots"] == largest).all() for frame in read)


def test_an_example_reads_its_own_answers_and_no_orders(ada, study, monkeypatch):
    def shown(example) -> str:
        reply = ada.get(reverse("example", args=[study.name, example.pk]))
        return reply.content.decode().split("<h1>")[1].partition("<form")[0]

    examples = list(study.tasks.get().test_split.examples.all())
    at_once = [shown(example) for example in examples]
    monkeypatch.setattr(findings, "SMALL", 0)
    finished(ada, study, "examples")
    with CaptureQueriesContext(connection) as queries:
        assert [shown(example) for example in examples] == at_once
    statements = [query["sql"] for query in queries]
    assert not [sql for sql in statements if "AVG(" in sql or '"annotation_order"' in sql]


def excluded(study):
    exclusion.decide(people(study).last(), False, "asleep", study.owner)


def withdrawn(study):
    withdrawal.withdraw(people(study).last().token)


def completed(study):
    last = people(study).last()
    exclusion.decide(last, False, "asleep", study.owner)
    factories.work_through(factories.seat(last.scenario), lambda turn: [])


def included(study):
    exclusion.decide(people(study).last(), False, "asleep", study.owner)
    exclusion.decide(people(study).first(), True, "awake", study.owner)


def answered(study):
    own_questions.answer_exit(people(study).last().token, {"ai_used": "yes"})


def predicted(study):
    factories.predict(study.owner, "second", study.tasks.get(), 0, predict=lambda example: [])


CHANGES = [excluded, withdrawn, completed, included]


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name in WORK if name != "overlap" for change in CHANGES]
    + [("sensitivity", answered), ("examples", predicted)]
    + [("overlap", change) for change in (withdrawn, completed, predicted)],
)
def test_every_input_of_a_page_starts_another_job(ada, study, large, name, change):
    finished(ada, study, name)
    before = files(ada, study)
    change(study)
    assert "<progress" in page(ada, study, name)
    after = finished(ada, study, name)
    assert Job.objects.count() == 1  # the earlier one is deleted
    made = files(ada, study)
    Job.objects.all().delete()
    assert files(ada, study) == made
    findings.SMALL = 10_000  # the fixture restores it
    assert page(ada, study, name) == after
    assert made != before


def test_an_exclusion_changes_no_error_overlap(ada, study, large):
    """Excluded annotators have rows too, and the permutation tests take minutes."""
    before = finished(ada, study, "overlap")
    included(study)
    assert page(ada, study, "overlap") == before


@pytest.mark.parametrize("name", ["sensitivity", "figures"])
def test_a_chunk_fails_if_its_annotators_changed_meanwhile(ada, study, large, name):
    finished(ada, study, name)
    Job.objects.update(state="waiting", done=0, result=[])
    excluded(study)
    job = Job.objects.get()
    jobs.advance(job)
    assert job.has_failed
    assert "have changed. Open the page again" in job.error


def test_an_arrival_starts_no_other_job(ada, study, large):
    for name in WORK:
        finished(ada, study, name)
    excluded(study)
    for name in WORK:
        finished(ada, study, name)
    factories.seat(study.scenarios.order_by("shots").last())
    for name in WORK:
        assert "<progress" not in page(ada, study, name)


def test_a_withdrawal_deletes_the_results_of_the_jobs(ada, study, large):
    for name in WORK:
        finished(ada, study, name)
    withdrawn(study)
    assert not Job.objects.exists()
