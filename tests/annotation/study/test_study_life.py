"""Researchers can clone, rehearse and archive a study, and delete a draft."""

import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Kind, Participation, Study
from annotation.protocol import qualification
from annotation.simulation import simulated_annotators
from annotation.study import design, design_file, lifecycle
from tasks import teams
from tasks.models import Job, LanguageModel
from tests import factories


@pytest.fixture
def task(researcher):
    return factories.make_task(by=researcher)


@pytest.fixture
def study(researcher, task):
    return factories.make_study(
        researcher, task, name="real", shots=[0, 2], hourly_rate=0, hide_test_scores=True
    )


def page(client, name: str, *args, query: str = "") -> str:
    return client.get(reverse(name, args=args) + query, follow=True).content.decode()


def post(client, address: str, study, *more, **fields):
    return client.post(reverse(address, args=[study.name, *more]), fields)


# Clone -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_clone_is_a_draft_with_the_same_design_and_a_free_name(ada, study):
    for name in ("real-copy", "real-copy-2"):
        reply = post(ada, "study_clone", study)
        assert reply.url == reverse("study", args=[name])
    copy = Study.objects.get(name="real-copy")
    assert copy.is_draft
    assert design_file.as_data(copy) == design_file.as_data(study) | {"name": "real-copy"}
    assert copy.scenarios.count() == study.scenarios.count()
    assert post(ada, "study_clone", study, name="mine").url == reverse("study", args=["mine"])


@pytest.mark.parametrize(("name", "words"), [("real", "exists"), ("A B", "lower-case letters")])
def test_a_clone_with_an_invalid_name_is_refused(ada, study, name, words):
    reply = post(ada, "study_clone", study, name=name)
    assert reply.status_code == 422
    assert words in reply.content.decode()
    assert f'value="{name}"' in reply.content.decode()
    assert Study.objects.count() == 1


def test_a_refused_clone_of_a_draft_leaves_the_draft_unchanged(ada, study):
    draft = lifecycle.clone(study, study.owner, {"name": "draft"})
    before = design_file.as_data(draft)
    reply = post(ada, "study_clone", draft, name="A B")
    assert reply.status_code == 422
    assert 'value="A B"' in reply.content.decode()
    assert reply.context["form"]["title"].value() == draft.title
    draft.refresh_from_db()
    assert design_file.as_data(draft) == before


def test_an_analyst_clones_into_their_account(client, study, other_researcher):
    study.members.create(user=other_researcher, role="analyst")
    client.force_login(other_researcher)
    post(client, "study_clone", study, name="hers")
    assert Study.objects.get(name="hers").owner == other_researcher


# Rehearsal ---------------------------------------------------------------------------------------


def rehearse(client, study) -> Study:
    return simulated_annotators.rehearsal_of(study, study.owner)


def test_one_click_clones_opens_and_runs_a_rehearsal(ada, study):
    assert 'name="policy" value="noisy:0.8"' in page(ada, "study_design", study.name)
    reply = post(ada, "rehearsal", study, policy="noisy:0.8")
    assert reply.url == reverse("rehearsal", args=["real-rehearsal"])
    rehearsal = Study.objects.get(name="real-rehearsal")
    assert (rehearsal.rehearsal, rehearsal.status, study.status) == (True, "open", "open")
    work_all(ada, rehearsal)
    job = Job.objects.get(kind="simulate")
    assert job.total == sum(scenario.seats for scenario in rehearsal.scenarios.all())
    done = post(ada, "rehearsal_run", rehearsal, job.pk)
    assert done.url == reverse("human_performance", args=[rehearsal.name])


def test_a_rehearsal_that_cannot_run_leaves_no_clone(ada, study):
    reply = post(ada, "rehearsal", study, policy="nonsense")
    assert reply.status_code == 422
    assert Study.objects.count() == 1


@pytest.mark.long
def test_simulated_annotators_are_started_from_the_page(ada, study):
    rehearsal = rehearse(ada, study)
    assert rehearsal.rehearsal
    assert rehearsal.status == "open"
    reply = post(ada, "rehearsal", rehearsal, policy="gold", number="3", seed="5")
    assert reply.url == reverse("rehearsal", args=[rehearsal.name])
    job = Job.objects.get(kind="simulate")
    assert (job.total, job.seed) == (3, 5)
    assert "Running simulated annotators" in page(ada, "rehearsal", rehearsal.name)
    for _part in range(10):
        post(ada, "rehearsal_run", rehearsal, job.pk)
    done = Participation.objects.filter(study=rehearsal, kind=Kind.SIMULATED, status="completed")
    assert done.count() == 3
    shown = page(ada, "rehearsal", rehearsal.name)
    assert "Policy gold, seed 5: 3 simulated annotators finished." in shown
    assert "Free seats for simulated annotators: 1." in shown
    assert "100.0" in page(ada, "human_performance", rehearsal.name)  # rehearsals hide no scores


def work_all(client, study) -> None:
    """Run every simulated annotator of the newest job."""
    job = Job.objects.filter(kind="simulate").latest("pk")
    for _part in range(job.total + 1):
        post(client, "rehearsal_run", study, job.pk)
    job.refresh_from_db()
    assert job.is_done


@pytest.mark.long
def test_admitted_simulated_annotators_continue_on_next_click(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=3, qualification="researcher",
        rehearsal=True,
    )  # fmt: skip
    post(ada, "rehearsal", study, policy="gold", number="3", seed="5")
    work_all(ada, study)
    waiting = study.participations.filter(kind=Kind.SIMULATED, status="waiting")
    assert waiting.count() == 3
    assert "your decision</a>: 3." in page(ada, "rehearsal", study.name)
    first, second, _third = names = list(waiting.values_list("pseudonym", flat=True))
    for name, outcome in ((first, "yes"), (second, "no")):
        sent = {"annotators": [name], "outcome": outcome, "reason": "seen"}
        ada.post(reverse("people_decide", args=[study.name]), sent)
    shown = page(ada, "rehearsal", study.name)
    assert "Admitted and ready to continue: 1." in shown
    assert 'value="gold"' in shown  # preselects the earlier policy
    assert post(ada, "rehearsal", study, policy="gold", number="0").status_code == 302
    assert "Admitted and" not in page(ada, "rehearsal", study.name)  # they have resumed
    work_all(ada, study)
    ends = dict(study.participations.values_list("pseudonym", "status"))
    assert [ends[name] for name in names] == ["completed", "screened_out", "waiting"]
    (done,) = study.participations.filter(status="completed")
    assert set(done.turns.values_list("answer__s1", flat=True)) == {1.0}
    refused = post(ada, "rehearsal", study, policy="gold", number="0")
    assert "no admitted annotator" in refused.content.decode()


@pytest.mark.long
def test_the_command_continues_admitted_simulated_annotators(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=1, qualification="researcher",
        rehearsal=True,
    )  # fmt: skip
    call_command("simulate_workers", study.name, policy="gold", processes=1, verbosity=0)
    (robot,) = study.participations.all()
    assert robot.status == "waiting"
    qualification.decide(robot.token, True, "seen", researcher)
    call_command("simulate_workers", study.name, policy="gold", processes=1, verbosity=0)
    robot.refresh_from_db()
    assert robot.status == "completed"


def test_a_real_study_accepts_no_simulated_annotators(ada, client, study, researcher):
    reply = post(ada, "rehearsal", study, policy="gold")
    assert reply.url == reverse("rehearsal", args=["real-rehearsal"])  # runs in a clone
    assert Job.objects.get().parameters["study"] == Study.objects.get(name="real-rehearsal").pk
    assert reverse("rehearsal", args=[study.name]) not in page(ada, "study", study.name)
    with pytest.raises(CommandError, match="can be used in rehearsals only"):
        call_command("simulate_workers", study.name)
    assert client.get(reverse("landing", args=[study.simulated_link_code])).status_code == 404
    join = f"/api/v1/join/{study.link_code}/"
    headers = factories.bearer(researcher, "run")
    reply = client.post(join, {"kind": "simulated"}, "application/json", headers=headers)
    assert reply.status_code == 422
    assert "rehearsals only" in reply.json()["detail"]
    assert not Participation.objects.exists()


@pytest.mark.long
def test_rehearsal_results_do_not_appear_in_the_original_study(ada, study):
    names = [
        ("study", ()), ("human_performance_file", ("tex",)), ("leaderboard", ()),
        ("report_file", ()), ("analysis_file", ("intervals",)),
    ]  # fmt: skip

    def results():
        shown = [page(ada, name, study.name, *more) for name, more in names]
        return [re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text) for text in shown]

    rehearsal = rehearse(ada, study)
    results()  # discard: the first page still shows the clone's notice
    before = results()
    for scenario in rehearsal.scenarios.all():
        factories.work_through(factories.seat(scenario, Kind.SIMULATED))
    assert results() == before
    assert not any("imulated annotators" in text for text in before)
    scores = page(ada, "human_performance", study.name)
    assert "They aren't results, and they don't appear in any of this" in scores


@pytest.mark.long
def test_a_job_of_another_study_cannot_be_run(ada, study, researcher, task):
    rehearsal = rehearse(ada, study)
    post(ada, "rehearsal", rehearsal, policy="gold", number="1")
    job = Job.objects.get()
    assert post(ada, "rehearsal_run", study, job.pk).status_code == 404


def test_an_unknown_policy_is_named_at_its_field(ada, study):
    rehearsal = rehearse(ada, study)
    reply = post(ada, "rehearsal", rehearsal, policy="clever")
    assert reply.status_code == 422
    assert "unknown policy" in reply.content.decode()
    assert not Job.objects.exists()


# Archive -----------------------------------------------------------------------------------------


def test_an_archived_study_only_leaves_the_list(ada, study):
    factories.make_study(study.owner, study.tasks.get(), name="other")
    post(ada, "study_archive", study)
    listed = page(ada, "studies")
    assert "/studies/other/" in listed
    assert "/studies/real/" not in listed
    shelf = page(ada, "studies", query="?show=archived")
    assert "/studies/real/" in shelf
    assert "/studies/other/" not in shelf
    chip = '<p class="state">Archived</p>'
    assert chip in ada.get(reverse("study", args=[study.name])).content.decode()
    study.refresh_from_db()
    assert study.status == "open"
    assert factories.join(study).status == "arrived"
    assert study.events.filter(what="archived").count() == 1
    post(ada, "study_unarchive", study)
    assert "/studies/real/" in page(ada, "studies")


def test_the_api_archives_studies_tasks_and_models(client, study, task, researcher):
    factories.predict(researcher, "toy", task, 2, 1)
    headers = factories.bearer(researcher, "read", "run")
    address = reverse("api_archive", args=[study.name])
    reply = client.post(address, {}, "application/json", headers=headers)
    assert reply.json() == {"done": f"{study.name} is archived."}
    for name, args, row in [
        ("api_{}archive", [study.name], study),
        ("api_task_{}archive", [task.name, 1], task),
        ("api_model_{}archive", ["toy"], LanguageModel.objects.get()),
    ]:
        for way, is_archived in (("", True), ("", True), ("un", False)):
            address = reverse(name.format(way), args=args)
            reply = client.post(address, {}, "application/json", headers=headers)
            assert reply.status_code == 200, reply.content
            row.refresh_from_db()
            assert (row.archived_at is not None) is is_archived


def test_an_archived_task_version_is_replaced_by_an_earlier_one(ada, task, researcher):
    teams.archive_task(
        factories.make_task(title="Later", by=None), is_archived=True, by=_root(researcher)
    )
    listed = page(ada, "tasks")
    assert "toy-places v1" in listed
    assert "toy-places v2" not in listed
    assert "toy-places v2" in page(ada, "tasks", query="?show=archived")
    assert "toy-places v1" not in page(ada, "tasks", query="?show=archived")


@pytest.mark.long
def test_an_archived_version_is_offered_only_to_its_drafts(ada, task, researcher):
    later = factories.make_task(title="Later", by=None)
    draft = factories.make_study(researcher, later, name="draft-of-it", status="draft")
    teams.archive_task(later, is_archived=True, by=_root(researcher))

    def offered(address: str) -> list[str]:
        field = ada.get(address).context["form"]["tasks"]
        return [str(choice.choice_label) for choice in field.subwidgets]

    (new,) = offered(reverse("study_new"))
    assert "v2" not in new
    own = offered(reverse("study_design", args=[draft.name]))
    assert any("v2" in label and "archived" in label for label in own)
    assert design_file.task_named("toy-places") == task
    assert design_file.task_named("toy-places@2") == later
    teams.archive_task(task, is_archived=True, by=researcher)
    with pytest.raises(design_file.DesignFileError, match="is archived"):
        design_file.task_named("toy-places")


def _root(user):
    user.is_superuser = True
    user.save()
    return user


def test_only_the_team_can_archive_a_task_or_a_model(client, task, researcher):
    factories.predict(researcher, "toy", task, 2, 1)
    stranger = type(researcher).objects.create_user("stranger")
    client.force_login(stranger)
    reply = client.post(reverse("task_archive", args=[task.name, 1]))
    assert reply.status_code == 403
    assert client.post(reverse("model_archive", args=["toy"])).status_code == 404
    task.refresh_from_db()
    assert task.archived_at is None


def test_an_archived_model_leaves_the_list(ada, task, researcher):
    factories.predict(researcher, "toy", task, 2, 1)
    ada.post(reverse("model_archive", args=["toy"]))
    assert "/models/toy/" not in page(ada, "models")
    assert "/models/toy/" in page(ada, "models", query="?show=archived")
    assert "Unarchive" in page(ada, "model", "toy")
    ada.post(reverse("model_unarchive", args=["toy"]))
    assert "/models/toy/" in page(ada, "models")


# Drafts ------------------------------------------------------------------------------------------


def test_a_draft_is_deleted_after_a_confirmation(ada, researcher, task):
    draft = factories.make_study(researcher, task, name="draft", status="draft")
    shown = page(ada, "study_settings", "draft")
    assert "No one has taken part in the study yet, so no answers will be lost." in shown
    reply = post(ada, "study_delete", draft)
    assert reply.url == reverse("studies")
    assert not Study.objects.exists()


def test_an_opened_study_cannot_be_deleted(ada, client, study, researcher):
    assert reverse("study_delete", args=["real"]) not in page(ada, "study_settings", "real")
    reply = post(ada, "study_delete", study)
    assert reply.status_code == 422
    assert "Only a draft without participants" in reply.content.decode()
    headers = factories.bearer(researcher, "run")
    assert client.delete("/api/v1/studies/real/", headers=headers).status_code == 409
    with pytest.raises(design.DesignError):
        lifecycle.delete_draft(study)
    assert Study.objects.filter(name="real").exists()


def test_a_draft_that_has_been_open_and_empty_is_deleted_too(client, study, researcher):
    lifecycle.change_status(study, "draft", researcher)
    headers = factories.bearer(researcher, "run")
    assert client.delete("/api/v1/studies/real/", headers=headers).status_code == 204
    assert not Study.objects.exists()


def test_a_draft_with_a_study_on_prolific_cannot_be_deleted(researcher, task):
    draft = factories.make_study(researcher, task, status="draft")
    draft.prolific_studies.create(
        name="There", reward_cents=100, places=1, minutes=5, max_minutes=60
    )
    with pytest.raises(design.DesignError, match="without a study on Prolific"):
        lifecycle.delete_draft(draft)


@pytest.mark.long
def test_pages_link_to_the_form_that_adds_seats(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    place = f'href="{reverse("recruit", args=[study.name])}#seats"'

    def shown(page: str) -> str:
        return ada.get(reverse(page, args=[study.name])).content.decode()

    assert place in shown("study")
    assert 'id="seats"' in shown("recruit")
    lifecycle.change_status(study, "close", researcher)
    assert place not in shown("study")
    assert 'id="seats"' not in shown("recruit")


def test_sections_of_recruit_are_folded_unless_they_are_in_use(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], budget=500)

    def sections(page: str) -> dict[str, tuple[bool, str]]:
        """Map each section to (is unfolded, summary)."""
        pattern = r'<details class="design-part"( open)?>\s*<summary><h2>(.*?)</h2><small>(.*?)</'
        return {name: (bool(is_open), said) for is_open, name, said in re.findall(pattern, page)}

    address = reverse("recruit", args=[study.name])
    assert sections(ada.get(address).content.decode()) == {
        "Seats": (False, "2 free"),
        "Budget": (False, "500.00 USD"),
        "Eligibility": (False, "no rules"),
        "Open link": (False, "on"),
    }
    refused = ada.post(reverse("seats", args=[study.name]), {"number": "x"}).content.decode()
    assert {name for name, (is_open, _said) in sections(refused).items() if is_open} == {"Seats"}
    rule = {"effect": "deny", "criterion": "task", "value": "toy-places"}
    ada.post(reverse("lists", args=[study.name]), rule)
    assert sections(ada.get(address).content.decode())["Eligibility"] == (True, "1 rule")
    ada.post(reverse("lists", args=[study.name]), {"end": study.access_rules.get().pk})
    assert sections(ada.get(address).content.decode())["Eligibility"] == (True, "no rules")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "section", "sent"),
    [
        ("lists", "eligibility", {"effect": "deny", "criterion": "task", "value": "unknown"}),
        ("seats", "seats", {"number": "x"}),
        ("budget", "budget", {"amount": "x"}),
        ("switches", "open-link", None),
    ],
)
def test_sections_of_recruit_take_their_forms(ada, researcher, name, section, sent):
    """Access rules used to be a separate page; its address redirects to this section."""
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    address = reverse(name, args=[study.name])
    assert ada.get(address).url == f"{reverse('recruit', args=[study.name])}#{section}"
    if sent:
        reply = ada.post(address, sent)
        assert reply.status_code == 422
        shown = reply.content.decode()
        assert "<h1>Recruit</h1>" in shown
        assert shown.index(f'id="{section}"') < shown.index('id="problems"')
    else:
        assert ada.post(address, {}).url.endswith("#open-link")
