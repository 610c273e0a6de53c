"""The release bundle in the browser: made in parts, reused while valid, never incomplete."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from analysis.export import bundle_job, release
from analysis.export.columns import COLUMNS
from annotation.models import Kind, Participation, Role
from annotation.monitoring import report_answers
from annotation.pay import ledger
from annotation.privacy import withdrawal
from annotation.protocol import answering, exclusion
from annotation.study import lifecycle, team
from tasks import jobs
from tasks.models import Job
from tests import factories
from tests.annotation.races import THREADS, race

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


@pytest.fixture
def study(researcher):
    """A completed simulated annotator and a person at work, so the bundle has no figures."""
    study = factories.make_study(
        researcher, factories.make_task(test_size=4), shots=[2], annotators=3
    )
    factories.work_through(factories.seat(study.scenarios.get(), Kind.SIMULATED))
    factories.work_through(factories.seat(study.scenarios.get()), limit=3)
    return study


@pytest.fixture
def one_by_one(monkeypatch):
    """Each press runs one part."""
    monkeypatch.setattr(jobs, "POLL", 0)


@pytest.fixture
def ada(client, researcher, django_capture_on_commit_callbacks):
    """A signed-in client whose requests also run what waits for the commit."""
    client.force_login(researcher)
    post = client.post

    def committed(*args, **kwargs):
        with django_capture_on_commit_callbacks(execute=True):
            return post(*args, **kwargs)

    client.post = committed
    return client


def shown(client, study) -> str:
    return client.get(reverse("release", args=[study.name])).content.decode()


def prepare(client, study) -> Job:
    reply = client.post(reverse("release_prepare", args=[study.name]))
    assert reply.url == reverse("release", args=[study.name])
    return bundle_job.job_of(study)


def go_on(client, study) -> None:
    job = bundle_job.job_of(study)
    client.post(reverse("release_run", args=[study.name, job.pk]))


def finish(client, study) -> Job:
    """Prepare the bundle and press "Continue" until it is ready."""
    prepare(client, study)
    for _ in bundle_job.PARTS:
        if bundle_job.job_of(study).is_done:
            break
        go_on(client, study)
    return bundle_job.job_of(study)


def downloaded(client, study) -> dict[str, bytes]:
    reply = client.get(reverse("release_zip", args=[study.name]))
    assert f'filename="{study.name}-release.zip"' in reply["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(reply.getvalue())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def kept(var) -> list[str]:
    return sorted(path.name for path in (var / "jobs").rglob("*") if path.is_file())


def test_the_bundle_has_the_files_that_the_command_writes(ada, study, tmp_path):
    finish(ada, study)
    release.write_release(study, tmp_path / "out")
    expected = {
        f"{study.name}/{path.relative_to(tmp_path / 'out').as_posix()}": path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert downloaded(ada, study) == expected
    assert f"{study.name}/parquet/answers.parquet" in expected


def _readme(files, study) -> str:
    return files[f"{study.name}/README.md"].decode()


def test_changed_rounding_of_times_rebuilds_the_bundle(ada, study, var):
    exact = finish(ada, study)
    address = reverse("release_prepare", args=[study.name])
    ada.post(address, {"round_times": "hour"})
    rounded = bundle_job.job_of(study)
    assert rounded.pk != exact.pk
    while not bundle_job.job_of(study).is_done:
        go_on(ada, study)
    assert "Annotators’ times are rounded down to the hour." in shown(ada, study)
    assert len(kept(var)) == 1  # the earlier one is deleted
    files = downloaded(ada, study)
    assert json.loads(files[f"{study.name}/versions.json"])["times_rounded_to"] == "hour"
    ada.post(address, {"round_times": "hour"})
    assert bundle_job.job_of(study).pk == rounded.pk


def test_other_roundings_are_refused_at_the_field_and_by_the_api(ada, study, researcher):
    reply = ada.post(reverse("release_prepare", args=[study.name]), {"round_times": "week"})
    assert reply.status_code == 422
    assert "Select a valid choice" in reply.content.decode()
    head = factories.bearer(researcher, "read")
    address = reverse("api_release", args=[study.name])
    sent = {"data": {"round_times": "week"}, "content_type": "application/json", "headers": head}
    assert ada.post(address, **sent).status_code == 422
    assert bundle_job.job_of(study) is None
    assert ada.post(address, **sent | {"data": {"round_times": "day"}}).status_code == 202
    assert bundle_job.rounding_of(bundle_job.job_of(study)) == "day"


def test_each_poll_runs_a_part_and_shows_progress(ada, study, one_by_one):
    job = prepare(ada, study)
    run = reverse("release_run", args=[study.name, job.pk])
    for done in range(job.total):
        page = shown(ada, study)
        assert f"{done} of {job.total} parts done" in page
        assert reverse("release_zip", args=[study.name]) not in page
        assert ada.get(reverse("release_zip", args=[study.name])).status_code == 302
        reply = ada.post(run, headers={"HX-Request": "true"})
        if done + 1 < job.total:
            bar = f'<progress value="{done + 1}" max="{job.total}"'
            assert bar in reply.content.decode()
    assert reply["HX-Refresh"] == "true"
    page = shown(ada, study)
    assert reverse("release_zip", args=[study.name]) in page
    assert "The study has not changed since then." in page
    assert "Prepare the bundle with different time rounding" in page


def test_the_command_to_verify_the_bundle_finds_both_hashes(ada, study, tmp_path):
    page = shown(ada, study)
    assert f"python {study.name}/verify.py\n    --design {study.manifest_hash}" in page
    assert "--sums" not in page
    finish(ada, study)
    page = shown(ada, study)
    for name, content in downloaded(ada, study).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (command,) = re.findall(r"<code>python (\S+/verify.py [^<]+)</code>", page)
    ran = subprocess.run(
        [sys.executable, *command.split()], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"anchored to design {study.manifest_hash[:12]} and sums " in ran.stdout
    assert "Consistent; not anchored" in page  # the stored output


def test_viewing_writes_nothing(ada, study, var):
    for name in ("release", "release_zip", "report", "study"):
        ada.get(reverse(name, args=[study.name]))
    assert not Job.objects.exists()
    assert not var.exists()


def test_an_unchanged_study_reuses_its_bundle(ada, study, var):
    job, files = finish(ada, study), kept(var)
    assert prepare(ada, study).pk == job.pk
    assert kept(var) == files
    assert len(files) == 1


def answers(study, researcher):
    factories.work_through(study.participations.get(status="working"), limit=1)


def excludes(study, researcher):
    exclusion.decide(study.participations.get(status="completed"), False, "a test", researcher)


def pays(study, researcher):
    ledger.add_bonus(study.participations.get(kind="person"), 150, "thanks", researcher)


def predicts(study, researcher):
    factories.predict(researcher, "toy", study.tasks.get(), 2, 1)


def reports(study, researcher):
    report_answers.save(study, {"1.9": "Board 7"}, researcher)


def pauses(study, researcher):
    lifecycle.change_status(study, "pause", researcher)


def pings(study, researcher):
    seat = study.participations.get(status="working")
    assert answering.ping(seat.token, seat.latest_turn().pk, {"blurs": "1", "away": "2"})


def arrives(study, researcher):
    factories.seat(study.scenarios.get())


@pytest.mark.parametrize(
    "change", [answers, excludes, pays, predicts, reports, pauses, pings, arrives]
)
def test_every_change_is_noticed(study, researcher, change):
    before = bundle_job.state(study)
    assert bundle_job.state(study) == before
    change(study, researcher)
    study.refresh_from_db()
    assert bundle_job.state(study) != before


def test_reading_and_commenting_do_not_change_the_bundle(ada, study):
    finish(ada, study)
    logged, before = study.events.count(), bundle_job.state(study)
    b"".join(ada.get(reverse("export_zip", args=[study.name])).streaming_content)
    example = study.tasks.get().test_split.examples.first()
    ada.post(reverse("example_comment", args=[study.name, example.pk]), {"text": "Two golds?"})
    assert study.events.count() == logged + 2
    assert bundle_job.state(study) == before


def test_a_changed_study_is_reported_and_its_bundle_rebuilt(ada, study, researcher, var):
    (old,) = finish(ada, study) and kept(var)
    before = downloaded(ada, study)[f"{study.name}/answers.csv"]
    answers(study, researcher)
    page = shown(ada, study)
    assert "The study has changed since then." in page
    assert reverse("release_prepare", args=[study.name]) in page
    assert downloaded(ada, study)[f"{study.name}/answers.csv"] == before
    finish(ada, study)
    (new,) = kept(var)
    assert new != old
    assert "The study has not changed since then." in shown(ada, study)
    after = downloaded(ada, study)[f"{study.name}/answers.csv"]
    assert after.count(b"\r\n") > before.count(b"\r\n")


def test_two_members_who_prepare_share_one_bundle(ada, study, researcher, one_by_one, var):
    bob = get_user_model().objects.create_user("bob")
    team.add(study, "bob", Role.ANALYST, researcher)
    other = type(ada)()
    other.force_login(bob)
    prepare(ada, study)
    go_on(ada, study)
    job = prepare(other, study)
    assert (Job.objects.count(), job.done) == (1, 1)
    for client in (ada, other) * len(bundle_job.PARTS):
        if not bundle_job.job_of(study).is_done:
            go_on(client, study)
    assert bundle_job.job_of(study).is_done
    assert len(kept(var)) == 1
    assert downloaded(ada, study) == downloaded(other, study)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_for_a_new_bundle_share_one_job(study, researcher):
    old = bundle_job.prepare(study, researcher)
    while jobs.run_chunk(old):
        pass
    answers(study, researcher)
    keys = race([lambda: bundle_job.prepare(study, researcher).pk] * THREADS)
    assert len(set(keys)) == 1
    assert Job.objects.get().pk == keys[0] != old.pk


# Stopped, broken, gone -----------------------------------------------------------------------


def seats(study):
    return Participation.objects.filter(study=study)


def test_every_part_of_a_job_can_be_repeated(ada, study, researcher, one_by_one, var, tmp_path):
    job = prepare(ada, study)
    for number in range(len(bundle_job.PARTS)):
        job.refresh_from_db()
        bundle_job.chunk(job, number)  # done, but stopped before this was stored
        if number == 0:
            answers(study, researcher)
        go_on(ada, study)
    assert len(kept(var)) == 1
    files = downloaded(ada, study)
    release.write_release(study, tmp_path / "out")
    for name in ("SHA256SUMS", "verify.txt"):
        assert files[f"{study.name}/{name}"] == (tmp_path / "out" / name).read_bytes()


def test_missing_files_are_reported_and_a_bundle_can_be_rebuilt(ada, study, one_by_one, var):
    prepare(ada, study)
    go_on(ada, study)
    shutil.rmtree(var / "jobs")
    go_on(ada, study)
    page = shown(ada, study)
    assert "no longer exist. Prepare the bundle again." in page
    assert reverse("release_prepare", args=[study.name]) in page
    assert finish(ada, study).is_done


def test_a_bundle_whose_file_is_gone_can_be_prepared(ada, study, var):
    finish(ada, study)
    for path in (var / "jobs").rglob("*.zip"):
        path.unlink()
    assert ada.get(reverse("release_zip", args=[study.name])).status_code == 302
    assert reverse("release_prepare", args=[study.name]) in shown(ada, study)
    finish(ada, study)
    assert f"{study.name}/verify.txt" in downloaded(ada, study)


def test_no_bundle_is_offered_if_verify_fails(ada, study):
    seats(study).filter(status="completed").update(pseudonym="nobody")
    finish(ada, study)
    page = shown(ada, study)
    assert "verify.py does not agree with the bundle" in page
    assert "Prepare again" in page
    assert ada.get(reverse("release_zip", args=[study.name])).status_code == 302


def test_a_withdrawal_deletes_finished_and_unfinished_bundles(
    ada, study, one_by_one, var, django_capture_on_commit_callbacks
):
    finish(ada, study)
    job = bundle_job.job_of(study)
    with django_capture_on_commit_callbacks(execute=True):
        withdrawal.withdraw(seats(study).get(status="working").token)
    assert kept(var) == []
    assert "Prepare the bundle" in shown(ada, study)
    # A page that still waits for the old bundle gets a message and starts nothing.
    waiting = ada.post(
        reverse("release_run", args=[study.name, job.pk]), headers={"HX-Request": "true"}
    )
    assert waiting["HX-Redirect"] == reverse("release", args=[study.name])
    assert bundle_job.job_of(study) is None
    prepare(ada, study)
    go_on(ada, study)
    assert kept(var)
    with django_capture_on_commit_callbacks(execute=True):
        withdrawal.withdraw(seats(study).get(status="completed").token)
    assert kept(var) == []


def test_the_next_preparation_deletes_old_files_without_a_job(ada, study, var):
    for name, age in (("77", 3700), ("88", 60)):  # the second one's job may not be committed yet
        (var / "jobs" / name).mkdir(parents=True)
        os.utime(var / "jobs" / name, (time.time() - age,) * 2)
    prepare(ada, study)
    assert [path.name for path in (var / "jobs").iterdir()] == ["88"]


def test_a_draft_has_no_bundle(ada, researcher, study):
    draft = factories.make_study(researcher, study.tasks.get(), name="draft", status="draft")
    assert ada.get(reverse("release", args=[draft.name])).status_code == 404
    assert ada.get(reverse("release_zip", args=[draft.name])).status_code == 404
    assert ada.post(reverse("release_prepare", args=[draft.name])).status_code == 404
    assert not Job.objects.exists()


def test_the_bundle_of_another_study_cannot_be_moved_on(ada, researcher, study, one_by_one):
    other = factories.make_study(researcher, study.tasks.get(), name="other", shots=[0])
    job = prepare(ada, other)
    ada.post(reverse("release_run", args=[study.name, job.pk]))
    job.refresh_from_db()
    assert job.done == 0


def test_every_csv_is_a_part_of_the_bundle_job():
    assert set(COLUMNS) < set(bundle_job.PARTS)
