"""Alice owns a study, Bob analyses it, Carol pays its annotators, and Charlie isn't a member."""

import copy
import html
import re
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from analysis.export import bundle_job
from annotation.models import Member, Panel, Role, Study
from annotation.payout import batches
from annotation.simulation import simulated_annotators
from annotation.study import team
from annotation.web.access import POSTS
from tasks.models import Job
from tests import factories

EVERYBODY = {"alice", "bob", "carol"}
READERS = {"alice", "bob"}
PAYERS = {"alice", "carol"}
OWNERS = {"alice"}


class World:
    """A team and its study, with one completed and one current participation."""

    def __init__(self):
        make = get_user_model().objects.create_user
        self.people = {name: make(name) for name in ("alice", "bob", "carol", "charlie")}
        alice = self.people["alice"]
        self.task = factories.make_task()
        self.study = factories.make_study(
            alice, self.task, shots=[2], annotators=3, name="story", base_reward=Decimal(5)
        )
        team.add(self.study, "bob", Role.ANALYST, alice)
        team.add(self.study, "carol", Role.PAYER, alice)
        self.scenario = self.study.scenarios.get()
        self.done = factories.seat(self.scenario)
        factories.work_through(self.done)
        (self.batch,) = batches.prepare(self.study, alice)
        self.panel = Panel.objects.create(study=self.study, name="sona", id_parameter="id")
        self.example = self.task.test_split.examples.first()
        self.bundle = bundle_job.prepare(self.study, alice)
        self.model_file = factories.predict(alice, "toy", self.task, 2, 1)


@pytest.fixture(scope="module")
def stored(module_rows) -> World:
    return World()


@pytest.fixture
def world(stored, db, settings, tmp_path) -> World:
    settings.VAR_DIR = tmp_path
    return copy.deepcopy(stored)


def decide(about: str) -> dict[str, str]:
    return {"about": about, "outcome": "yes", "reason": "because"}


# (URL name, arguments after the study's name, fields to post or None for GET, allowed users).
ALLOWED = [
    ("study", (), None, EVERYBODY),
    ("study_progress", (), None, EVERYBODY),
    ("recruit", (), None, EVERYBODY),
    ("people", (), None, EVERYBODY),
    ("study_design", (), None, EVERYBODY),
    ("api_study", (), None, EVERYBODY),
    ("participation", ("pseudonym",), None, EVERYBODY),
    ("participation_data", ("pseudonym",), None, EVERYBODY),
    ("study_edit", (), None, EVERYBODY),  # redirects to Design
    ("study_edit", (), {}, OWNERS),
    ("study_status", (), {"action": "pause"}, OWNERS),
    ("study_clone", (), {"name": "A B"}, READERS),
    ("study_archive", (), {}, OWNERS),
    ("study_unarchive", (), {}, OWNERS),
    ("study_delete", (), {}, OWNERS),
    ("rehearsal", (), None, OWNERS),
    ("rehearsal", (), {"policy": "gold"}, OWNERS),
    ("study_settings", (), None, EVERYBODY),
    ("team", (), {"action": "add", "username": "unknown", "role": "owner"}, OWNERS),
    ("seats", (), {"scenario": "scenario", "number": "1"}, OWNERS),
    ("budget", (), {"amount": "1"}, OWNERS),
    ("retention", (), {"until": "x"}, OWNERS),
    ("study_erase", (), {"typed": "x"}, OWNERS),
    ("audit_log", (), None, READERS),
    ("notice_switches", (), {"page": "quiet"}, EVERYBODY),
    ("switches", (), {"open_link_on": "on"}, OWNERS),
    ("lists", (), {"effect": "deny", "criterion": "people", "value": "prolific x"}, OWNERS),
    ("behaviour_exclude", (), {"annotators": "unknown", "reason": "fine"}, OWNERS),
    ("people_pay", (), {"annotators": "unknown"}, PAYERS),
    ("people_withdraw", (), {"annotators": "unknown", "reason": "asked"}, OWNERS),
    ("people_decide", (), {"annotators": "unknown", "outcome": "yes", "reason": "fine"}, OWNERS),
    ("example_comment", ("example",), {"text": "Odd gold."}, READERS),
    ("participation_decide", ("pseudonym",), decide("analysis"), OWNERS),
    ("participation_decide", ("pseudonym",), decide("qualification"), OWNERS),
    ("participation_decide", ("pseudonym",), decide("pay"), PAYERS),
    ("participation_score", ("pseudonym",), {}, READERS),
    ("participation_bonus", ("pseudonym",), {"amount": "1", "reason": "kind"}, PAYERS),
    ("participation_free_seat", ("pseudonym",), {"reason": "gone"}, OWNERS),
    ("participation_withdraw", ("pseudonym",), {"reason": "asked", "confirm": "on"}, OWNERS),
    ("participation_review", ("pseudonym",), {"action": "return"}, OWNERS),
    ("behaviour", (), None, EVERYBODY),
    ("robots", (), None, OWNERS),
    ("pay", (), None, PAYERS),
    ("pay", (), {"action": "prepare"}, PAYERS),
    ("pay_batch_file", ("batch",), None, PAYERS),
    ("personal_links", (), None, PAYERS),
    ("personal_links", (), {"names": "Dora"}, OWNERS),
    ("platforms", (), None, OWNERS),
    ("panel_new", (), {"name": "x"}, OWNERS),
    ("panel_visit", ("panel",), None, OWNERS),
    ("prolific_plan", (), {"parts": "0"}, OWNERS),
    ("prolific_sync", (), {}, OWNERS),
    ("scenario_preview", ("scenario", "training", 0), None, READERS),
    ("scenario_preview", ("scenario", "training", 0), {"turn": "x", "no_answer": "1"}, READERS),
    ("human_performance", (), None, READERS),
    ("human_performance_file", ("csv",), None, READERS),
    ("training", (), None, READERS),
    ("training_table_file", (), None, READERS),
    ("cross_task_file", ("gains",), None, READERS),
    ("analysis", (), None, READERS),
    ("analysis_run", (), {"kind": "person"}, READERS),
    ("report_run", (), {}, READERS),
    ("analysis_file", ("intervals",), None, READERS),
    ("latex", (), None, READERS),
    ("table_latex", ("intervals",), None, READERS),
    ("figures", (), None, READERS),
    ("figure_file", ("shots", "json"), None, READERS),
    ("figure_numbers", ("shots",), None, READERS),
    ("figure_table", ("shots",), None, READERS),
    ("sensitivity", (), None, READERS),
    ("sensitivity_file", (), None, READERS),
    ("overlap", (), None, READERS),
    ("overlap_file", (), None, READERS),
    ("api_overlap", (), None, READERS),
    ("api_strata", (), None, READERS),
    ("examples", (), None, READERS),
    ("examples_file", (), None, READERS),
    ("gold_audit", (), None, READERS),
    ("gold_audit_file", (), None, READERS),
    ("example", ("example",), None, READERS),
    ("study_models", (), None, READERS),
    ("study_differences", (), None, READERS),
    ("study_models_file", ("scores",), None, READERS),
    ("leaderboard", (), None, READERS),
    ("leaderboard_file", (), None, READERS),
    ("export_zip", (), None, READERS),
    ("preregistration", (), None, READERS),
    ("preregistration_file", (), None, READERS),
    ("report", (), None, READERS),
    ("report", (), {"item-1.9": "Board 7"}, OWNERS),
    ("report_file", (), None, READERS),
    ("checklist_file", ("wei-2025", "json"), None, READERS),
    ("sample_upload", (), {"action": "remove"}, OWNERS),
    ("sample_file", ("csv",), None, READERS),
    ("api_sample", (), None, READERS),
    ("report_style", (), None, READERS),
    ("release", (), None, READERS),
    ("release_prepare", (), {}, READERS),
    ("release_run", ("bundle",), {}, READERS),
    ("release_zip", (), None, READERS),
    ("api_progress", (), None, EVERYBODY),
    ("api_scenarios", (), None, EVERYBODY),
    ("api_events", (), None, READERS),
    ("api_lists", (), None, READERS),
    ("api_team", (), None, OWNERS),
    ("api_links", (), None, PAYERS),
    ("api_panels", (), None, OWNERS),
    ("api_prolific", (), None, OWNERS),
    ("api_pay", (), None, PAYERS),
    ("api_pay_batch", ("batch",), None, PAYERS),
    ("api_participations", (), None, EVERYBODY),
    ("api_participation", ("pseudonym",), None, EVERYBODY),
    ("api_decisions", (), None, EVERYBODY),
    ("api_answers", (), None, READERS),
    ("api_spans", (), None, READERS),
    ("api_cross_task", ("gains",), None, READERS),
    ("api_sensitivity", (), None, READERS),
    ("api_examples", (), None, READERS),
    ("api_gold_audit", (), None, READERS),
    ("api_preregistration", (), None, READERS),
    ("api_report", (), None, READERS),
    ("api_report_text", (), None, READERS),
    ("api_export_zip", (), None, READERS),
    ("api_table_latex", ("intervals",), None, READERS),
    ("api_webhooks", (), None, OWNERS),
    ("api_webhooks", (), {}, OWNERS),
    ("api_clone", (), {}, READERS),
    ("api_human_performance", (), None, READERS),
    ("api_analysis", (), None, READERS),
    ("api_training", (), None, READERS),
    ("api_figure", ("learning",), None, READERS),
    ("api_study_models", (), None, READERS),
    ("api_leaderboard", (), None, READERS),
]
# The objects don't exist in this study, but permission is checked first.
NOT_THERE = [
    ("cross_task", (), None, READERS),
    ("prolific_study", (1,), {"action": "publish"}, OWNERS),
    ("rehearsal_run", (1,), {}, OWNERS),
]
# Addresses that don't belong to a study: public ones, and researchers' own.
WITHOUT_A_STUDY = {
    "help", "help_index", "search",
    "home", "studies", "study_new", "tasks", "task", "planner", "models", "models_file", "model",
    "model_file", "model_delete", "prediction_file_delete", "model_upload",
    "compare", "compare_file", "compare_design", "api_compare", "deleted_studies",
    "api_studies", "schema", "api_docs", "api_models",
    "api_unknown", "api_planner", "api_task", "api_task_card", "api_task_report", "api_job",
    "api_predictions",
    "tokens", "token_revoke", "prolific_token", "prolific_token_remove",
    "site_log", "notices", "first_study",
    "dataset_columns", "gym_tasks", "gym_run",
    "task_checks", "task_team", "task_examples", "task_card", "task_files", "task_edit",
    "task_archive", "task_unarchive", "model_archive", "model_unarchive",
    "task_add", "task_add_moved", "task_upload", "task_upload_files",
    "task_upload_run", "task_upload_confirm", "task_upload_discard", "task_upload_preview",
}  # fmt: skip

# API views that share their access check with a listed view.
ALIKE = {
    "api_pause", "api_reopen", "api_close", "api_draft", "api_release_zip", "api_webhook",
    "api_deliveries",
}  # fmt: skip


def researcher_addresses() -> set[str]:
    """Return the names of all addresses except public ones and account settings."""

    def walk(patterns, prefix: str = "") -> set[str]:
        names = set()
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLPattern):
                names |= {pattern.name} if not route.startswith(ANYBODY) else set()
            else:
                names |= walk(pattern.url_patterns, route)
        return names

    return walk(get_resolver().url_patterns)


ANYBODY = (
    "join/", "work/", "declined/", "images/", "api/v1/join/", "api/v1/work/", "health/", "metrics",
    "sign-in/", "sign-up/", "sign-out/", "password/", "account/", "users/", "first-owner/",
    "invitation/",  # tests/config/test_two_factor.py, tests/annotation/accounts/test_invitations.py
)  # fmt: skip


def test_every_researcher_address_has_its_permissions_listed():
    written = {name for name, *_rest in ALLOWED + NOT_THERE}
    twins = {post.twin for post in POSTS.values()} - {""}  # tests/annotation/web/test_rights.py
    assert written | WITHOUT_A_STUDY | twins | ALIKE == researcher_addresses()


@pytest.mark.parametrize(
    ("name", "rest", "fields", "allowed"),
    ALLOWED + NOT_THERE,
    ids=[f"{case[0]}-{'get' if case[2] is None else 'post'}" for case in ALLOWED + NOT_THERE],
)  # fmt: skip
def test_each_role_may_open_exactly_its_addresses(client, world, name, rest, fields, allowed):
    keys = {
        "pseudonym": world.done.pseudonym,
        "batch": world.batch.pk,
        "panel": world.panel.pk,
        "scenario": world.scenario.pk,
        "example": world.example.pk,
        "bundle": world.bundle.pk,
    }
    address = reverse(name, args=[world.study.name, *(keys.get(part, part) for part in rest)])
    fields = fields and {key: keys.get(value, value) for key, value in fields.items()}

    def status() -> int:
        is_followed = "_auth_user_id" in client.session  # redirects of earlier addresses
        if fields is None:
            return client.get(address, follow=is_followed).status_code
        return client.post(address, fields).status_code

    assert status() in (302, 401)
    before = Study.objects.values().get()
    # Try users without permission first, because their requests must not change anything.
    for person in sorted(world.people, key=lambda person: person in allowed):
        client.force_login(world.people[person])
        if person == "charlie":
            assert status() == 404
        elif person not in allowed:
            assert status() == 403, person
            assert Study.objects.values().get() == before
        elif (name, rest, fields, allowed) in NOT_THERE:
            assert status() == 404
        else:
            assert status() not in (401, 403, 404, 405), person


def test_a_refused_role_gets_an_explanation(client, world):
    client.force_login(world.people["bob"])
    reply = client.get(reverse("pay", args=["story"]))
    assert "Your role in this study is analyst. Pay and identities" in reply.content.decode()
    client.force_login(world.people["carol"])
    reply = client.get(reverse("api_analysis", args=["story"]))
    assert "owners and analysts" in reply.json()["detail"]


@pytest.mark.parametrize(("name", "shown"), [("alice", True), ("bob", True), ("charlie", False)])
def test_a_study_is_in_the_overview_of_its_team(client, world, name, shown):
    client.force_login(world.people[name])
    assert ("story" in client.get(reverse("studies")).content.decode()) is shown
    assert bool(client.get(reverse("api_studies")).json()["results"]) is shown


# What the pages show -----------------------------------------------------------------------------


def links(client, world, name: str) -> set[str]:
    """Return the names of the study's addresses that its page links to for this person."""
    client.force_login(world.people[name])
    shown = client.get(reverse("study", args=["story"])).content.decode()
    every = {name: reverse(name, args=["story"]) for name, rest, *_ in ALLOWED if not rest}
    return {name for name, address in every.items() if f'href="{address}"' in shown}


@pytest.mark.long
def test_the_study_page_links_only_to_permitted_pages(client, world):
    may = {
        person: {name for name, _rest, _fields, allowed in ALLOWED if person in allowed}
        for person in EVERYBODY
    }
    for person in EVERYBODY:
        assert links(client, world, person) <= may[person], person
    assert {"study_settings", "recruit", "pay", "export_zip"} <= links(client, world, "alice")
    assert "export_zip" in links(client, world, "bob")
    assert "pay" in links(client, world, "carol")


PLACES = [("study", ()), ("participation", ("pseudonym",)), ("studies", None)]


@pytest.mark.parametrize(("name", "rest"), PLACES)
def test_an_analyst_sees_no_money(client, world, name, rest):
    args = [] if rest is None else ["story", *(world.done.pseudonym for _ in rest)]
    shown = {}
    for person in EVERYBODY:
        client.force_login(world.people[person])
        shown[person] = client.get(reverse(name, args=args)).content.decode()
    # Match whole numbers, because the microseconds of a time could contain these digits.
    money = re.compile(r"\b5\.00\b")
    assert money.search(shown["alice"])
    assert money.search(shown["carol"])
    assert not money.search(shown["bob"])


def test_an_analyst_cannot_read_the_reason_of_unpaid_work(client, world):
    address = reverse("participation", args=["story", world.done.pseudonym])
    client.force_login(world.people["carol"])
    client.post(
        reverse("participation_decide", args=["story", world.done.pseudonym]),
        {"about": "pay", "outcome": "no", "reason": "paid twice elsewhere"},
    )
    assert "paid twice elsewhere" in client.get(address).content.decode()
    client.force_login(world.people["bob"])
    assert "paid twice elsewhere" not in client.get(address).content.decode()


def test_a_payer_sees_no_answers(client, world):
    address = reverse("participation", args=["story", world.done.pseudonym])
    client.force_login(world.people["carol"])
    shown = client.get(address).content.decode()
    assert "test 0" not in shown
    assert "Only the study's owners and analysts can see answers" in shown
    assert "Mean S1" not in client.get(reverse("study", args=["story"])).content.decode()
    client.force_login(world.people["bob"])
    assert "test 0" in client.get(address).content.decode()


def test_a_payer_is_offered_neither_previews_nor_the_open_link(client, world):
    client.force_login(world.people["carol"])
    page = client.get(reverse("recruit", args=[world.study.name])).content.decode()
    assert "review" not in page
    assert world.study.link_code not in page
    assert reverse("recruit", args=[world.study.name], query={"show": "links"}) in page
    design = reverse("study_design", args=[world.study.name])
    assert "preview" not in client.get(design).content.decode()
    client.force_login(world.people["bob"])
    page = client.get(reverse("recruit", args=[world.study.name])).content.decode()
    assert world.study.link_code in page
    assert "Nothing you enter in a preview is stored" in client.get(design).content.decode()


def test_a_payer_reads_no_score_in_the_reason_of_a_decision(client, world):
    address = reverse("participation", args=["story", world.done.pseudonym])
    for about in ("qualification", "analysis"):
        world.done.decisions.create(
            about=about, outcome=True, reason="training S1 83.3", by=world.people["alice"]
        )
    client.force_login(world.people["carol"])
    assert "training S1 83.3" not in client.get(address).content.decode()
    client.force_login(world.people["bob"])
    assert client.get(address).content.decode().count("training S1 83.3") == 2


@pytest.mark.long
def test_a_payer_cannot_use_results_in_the_planner(client, world):
    for person, knows in (("bob", True), ("carol", False)):
        client.force_login(world.people[person])
        assert ("person:story" in client.get(reverse("planner")).content.decode()) is knows


@pytest.mark.long
def test_an_analyst_reads_the_report_without_a_form(client, world):
    for person, writes in (("alice", True), ("bob", False)):
        client.force_login(world.people[person])
        shown = client.get(reverse("report", args=["story"])).content.decode()
        assert ("Save answers" in shown) is writes


SECTIONS = {
    "team": "", "notice_switches": "#notices", "retention": "#retention",
}  # fmt: skip


def test_settings_show_each_role_its_sections(client, world):
    """Team, notices and retention used to be separate pages; their addresses redirect here."""
    address = reverse("study_settings", args=["story"])
    for person, sections in (("alice", {"team", "notices", "retention"}), ("bob", {"notices"})):
        client.force_login(world.people[person])
        shown = client.get(address).content.decode()
        assert {s for s in ("team", "notices", "retention") if f'id="{s}"' in shown} == sections
    client.force_login(world.people["alice"])
    for name, section in SECTIONS.items():
        assert client.get(reverse(name, args=["story"])).url == address + section
    refused = client.post(reverse("retention", args=["story"]), {"until": "x"})
    shown = refused.content.decode()
    assert shown.index('id="retention"') < shown.index('id="problems"') < shown.index('id="archive')


# The team ----------------------------------------------------------------------------------------


def act(client, world, **fields: str):
    return client.post(reverse("team", args=["story"]), fields)


def shares_a_study_with(world, name: str) -> None:
    """Make Alice and this researcher members of an earlier study."""
    other = factories.make_study(world.people["alice"], world.task, name="earlier")
    team.add(other, name, Role.ANALYST, world.people["alice"])


def test_an_owner_adds_a_member_and_it_is_logged(client, world):
    shares_a_study_with(world, "charlie")
    client.force_login(world.people["alice"])
    assert act(client, world, action="add", username=" charlie ", role="analyst").status_code == 302
    client.force_login(world.people["charlie"])
    assert client.get(reverse("human_performance", args=["story"])).status_code == 200
    event = world.study.events.last()
    assert (event.what, event.by) == ("charlie joined the team as analyst", world.people["alice"])


def test_a_role_can_be_changed_and_removed(client, world):
    client.force_login(world.people["alice"])
    act(client, world, action="change", username="bob", role="payer", was="analyst")
    assert world.study.events.last().what == "bob is now payer, was analyst"
    client.force_login(world.people["bob"])
    assert client.get(reverse("human_performance", args=["story"])).status_code == 403
    client.force_login(world.people["alice"])
    act(client, world, action="remove", username="bob")
    assert world.study.events.last().what == "bob left the team, was payer"
    client.force_login(world.people["bob"])
    assert client.get(reverse("study", args=["story"])).status_code == 404


def test_another_owner_may_do_all_except_remove_the_creator(client, world):
    team.add(world.study, "charlie", Role.OWNER, world.people["alice"])
    client.force_login(world.people["charlie"])
    assert act(client, world, action="add", username="alice", role="payer").status_code == 422
    assert not Member.objects.filter(user__username="alice").exists()
    shown = client.get(reverse("study_settings", args=["story"])).content.decode()
    assert "owner, creator of the study" in shown
    assert "Remove alice" not in shown
    reply = act(client, world, action="remove", username="charlie")
    assert (reply.status_code, reply.url) == (302, reverse("studies"))


REFUSED = [
    ({"action": "add", "username": "unknown", "role": "analyst"}, "share no study with an account"),
    # The same error for an existing account, so that names are not revealed to strangers.
    ({"action": "add", "username": "charlie", "role": "analyst"}, "share no study with an account"),
    ({"action": "add", "username": "", "role": "analyst"}, "Enter the user name"),
    ({"action": "add", "username": "bob", "role": "payer"}, "already in the team"),
    ({"action": "add", "username": "charlie", "role": "god"}, "Choose a role"),
    ({"action": "change", "username": "charlie", "role": "payer"}, "not a member of the team"),
    ({"action": "change", "username": "x", "role": "payer"}, "not a member of the team"),
    ({"action": "remove", "username": ""}, "not a member of the team"),
]


@pytest.mark.parametrize(("fields", "sentence"), REFUSED)
def test_an_invalid_team_change_is_reported_and_changes_nothing(client, world, fields, sentence):
    client.force_login(world.people["alice"])
    before = list(Member.objects.values()), world.study.events.count()
    reply = act(client, world, **fields)
    assert reply.status_code == 422
    assert sentence in reply.content.decode()
    assert (list(Member.objects.values()), world.study.events.count()) == before


@pytest.mark.parametrize(
    ("fields", "status", "problem"),
    [
        ({"action": "add", "username": "charlie", "role": "god"}, 422, "Choose a role"),
        ({"action": "add", "username": "bob", "role": "payer"}, 422, "already in the team"),
        ({"action": "change", "username": "bob", "role": "payer", "was": "owner"}, 422,
         "bob is now analyst"),
        ({"action": "remove", "username": "charlie"}, 422, "not a member of the team"),
        ({"action": "change", "username": "bob", "role": "payer"}, 200, ""),
        ({"action": "remove", "username": "bob"}, 200, ""),
    ],
)  # fmt: skip
def test_page_and_api_reply_the_same_to_a_team_change(client, world, fields, status, problem):
    alice = world.people["alice"]
    address, headers = reverse("api_team", args=["story"]), factories.bearer(alice, "run")
    with transaction.atomic():
        reply = Client().post(address, fields, "application/json", headers=headers)
        transaction.set_rollback(True)
    assert reply.status_code == status, reply.content
    client.force_login(alice)
    page = client.post(reverse("team", args=["story"]), fields, follow=True)
    assert page.status_code == status
    shown = html.unescape(page.content.decode())
    said = reply.json().get("done") or reply.json()["detail"]
    assert said in shown
    assert problem in shown


def test_an_unknown_team_action_is_404_and_names_the_actions_in_the_api(client, world):
    alice = world.people["alice"]
    client.force_login(alice)
    assert act(client, world, action="fly").status_code == 404
    address, headers = reverse("api_team", args=["story"]), factories.bearer(alice, "run")
    reply = Client().post(address, {"action": "fly"}, "application/json", headers=headers)
    assert reply.status_code == 422
    assert reply.json()["fields"] == {"action": ["Expected one of add, change, remove."]}


def test_a_member_of_another_study_cannot_be_removed_here(client, world):
    other = factories.make_study(world.people["charlie"], world.task, name="other")
    get_user_model().objects.create_user("dora")
    theirs = team.add(other, "dora", Role.ANALYST, world.people["charlie"])
    client.force_login(world.people["alice"])
    reply = act(client, world, action="remove", username="dora")
    assert reply.status_code == 422
    assert Member.objects.filter(pk=theirs.pk).exists()


def test_a_closed_account_cannot_be_added(client, world):
    shares_a_study_with(world, "charlie")
    get_user_model().objects.filter(username="charlie").update(is_active=False)
    client.force_login(world.people["alice"])
    reply = act(client, world, action="add", username="charlie", role="analyst")
    assert reply.status_code == 422


def test_concurrent_role_changes_conflict(client, world):
    client.force_login(world.people["alice"])
    bob = world.study.members.get(user__username="bob")
    form = {"action": "change", "username": "bob", "was": "analyst"}
    act(client, world, **form, role="payer")
    reply = act(client, world, **form, role="owner")
    assert reply.status_code == 422
    assert "bob is now payer" in reply.content.decode()
    bob.refresh_from_db()
    assert bob.role == "payer"


def test_a_former_member_cannot_see_jobs_they_started(world):
    """Access to a job depends on the role in its study, even for the user who started it."""
    bob = world.people["bob"]
    job = bundle_job.prepare(world.study, bob)
    Job.objects.filter(pk=job.pk).update(owner=bob)
    headers = factories.bearer(bob, "read", "run")
    address = reverse("api_job", args=[job.pk])
    assert Client().get(address, headers=headers).status_code == 200
    world.study.members.filter(user=bob).delete()
    assert Client().get(address, headers=headers).status_code == 404
    run = reverse("api_job_run", args=[job.pk])
    assert Client().post(run, {}, "application/json", headers=headers).status_code == 404


@pytest.mark.parametrize("scopes", [(), ("read", "run")])
def test_an_analyst_cannot_run_simulated_annotators_as_a_job(world, scopes):
    alice, bob = world.people["alice"], world.people["bob"]
    rehearsal = factories.make_study(alice, world.task, rehearsal=True)
    team.add(rehearsal, "bob", Role.ANALYST, alice)
    job = simulated_annotators.start(rehearsal, alice, "gold", 1, 0)
    visitor = Client(headers=factories.bearer(bob, *scopes) if scopes else None)
    if not scopes:
        visitor.force_login(bob)
    assert visitor.get(reverse("api_job", args=[job.pk])).status_code == 200
    assert visitor.post(reverse("api_job_run", args=[job.pk])).status_code == 403
    assert not rehearsal.participations.exists()
