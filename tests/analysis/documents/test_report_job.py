"""For a large study, a job computes the report once, with the same content as without a job.

These tests set the limit for large studies to zero and don't check its value.
"""

import re

import pytest
from django.urls import reverse

from analysis.documents import blocks, report, results
from analysis.scores import findings
from annotation.models import Kind, Participation, Study
from annotation.privacy import withdrawal
from annotation.protocol import exclusion, own_questions
from tasks import jobs
from tasks.models import Job
from tests import factories
from tests.analysis.documents.reports import make_study

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def stored(module_researcher):
    study = make_study(module_researcher)
    upload(study, "first")
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(findings, "SMALL", 0)


def upload(study, name: str) -> None:
    factories.predict(study.owner, name, study.tasks.get(), 0)


def shown(client, study) -> str:
    """Return the page after its job has ended, as a browser without JavaScript gets it."""
    address = reverse("report", args=[study.name])
    page = client.get(address).content.decode()
    for _ in range(10):
        if "Computing the tables and figures" not in page:
            return page
        page = client.post(reverse("report_run", args=[study.name]), follow=True).content.decode()
    raise AssertionError("The job never ended")


def told(page: str) -> str:
    """Return the page below its title, without the CSRF tokens."""
    return re.sub(r'(?<=csrfmiddlewaretoken" value=")\w+', "", page.split("<h1>")[1])


def test_a_small_study_needs_no_job(ada, study):
    assert "Human performance" in ada.get(reverse("report", args=[study.name])).content.decode()
    assert ada.post(reverse("report_run", args=[study.name])).status_code == 302
    assert not Job.objects.exists()


def test_the_report_by_a_job_is_that_of_a_small_study(ada, study, monkeypatch):
    at_once = ada.get(reverse("report", args=[study.name])).content.decode()
    document = report.for_study(study)
    monkeypatch.setattr(findings, "SMALL", 0)
    first = ada.get(reverse("report", args=[study.name])).content.decode()
    assert "<progress" in first
    assert "Human performance" not in first
    assert not Job.objects.exists()  # a GET starts nothing
    page = shown(ada, study)
    assert Job.objects.get().is_done
    assert told(page) == told(at_once)
    assert blocks.as_markdown(report.for_study(study)) == blocks.as_markdown(document)


def test_a_second_view_computes_nothing(ada, study, large, monkeypatch):
    shown(ada, study)
    monkeypatch.setattr(results, "PARTS", dict.fromkeys(results.PARTS, None))  # any call fails
    monkeypatch.setattr("analysis.scores.sensitivity.given", None)
    assert "Differences between humans and models" in shown(ada, study)


def excluded(study):
    person = study.participations.filter(kind=Kind.PERSON, status="completed").first()
    exclusion.decide(person, False, "asleep", study.owner)


def withdrawn(study):
    person = study.participations.filter(kind=Kind.PERSON, status="completed").first()
    withdrawal.withdraw(person.token)


def completed(study):
    free = study.participations.filter(kind=Kind.PERSON, status="completed").first()
    exclusion.decide(free, False, "asleep", study.owner)
    factories.work_through(factories.seat(free.scenario))


def uploaded(study):
    upload(study, "second")


def answered(study):
    person = study.participations.filter(kind=Kind.PERSON, status="completed").first()
    own_questions.answer_exit(person.token, {"ai_used": "yes"})


@pytest.mark.parametrize("change", [excluded, withdrawn, completed, uploaded, answered])
def test_every_input_of_the_report_starts_another_job(ada, study, large, change):
    before = shown(ada, study)
    change(study)
    assert "<progress" in ada.get(reverse("report", args=[study.name])).content.decode()
    after = shown(ada, study)
    assert after != before
    assert Job.objects.count() == 1  # the earlier one is deleted
    study = Study.objects.get(pk=study.pk)
    job = results.job_of(study)
    made = {name: list(make(results.StudyRecord(study))) for name, make in results.PARTS.items()}
    assert results.parts(results.StudyRecord(study)) == {
        name: [type(block)(**vars(block)) for block in part] for name, part in made.items()
    }
    assert job.is_done


def test_a_job_part_fails_if_its_annotators_changed_meanwhile(study, large):
    """An exclusion makes the waiting job fail; once it is undone, the job can be retried."""
    job = results.job_of(study, study.owner)
    person = study.participations.filter(kind=Kind.PERSON, status="completed").first()
    exclusion.decide(person, False, "asleep", study.owner)
    jobs.advance(job)
    assert (job.has_failed, job.is_done) == (True, False)
    assert "annotators or models have changed" in job.error
    exclusion.decide(person, True, "awake", study.owner)
    jobs.retry(job)
    while not job.is_done:
        jobs.advance(job)


def test_an_arrival_starts_no_other_job(ada, study, large):
    shown(ada, study)
    factories.seat(study.scenarios.last())
    assert "<progress" not in ada.get(reverse("report", args=[study.name])).content.decode()


def test_a_withdrawal_deletes_the_result_of_the_job(ada, study, large):
    shown(ada, study)
    person = study.participations.filter(kind=Kind.PERSON, status="completed").first()
    withdrawal.withdraw(person.token)
    assert not Job.objects.exists()
    assert Participation.objects.filter(pk=person.pk, status="withdrawn").exists()


def test_a_draft_has_nothing_to_compute(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(name="other"), status="draft")
    assert ada.post(reverse("report_run", args=[study.name])).status_code == 404
