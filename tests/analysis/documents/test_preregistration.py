"""The preregistration is generated from the frozen manifest alone; a draft has none."""

import hashlib
import json

import pytest
from django.urls import reverse

from analysis.documents import blocks, preregistration
from annotation.models import Study
from annotation.protocol import exclusion
from annotation.study import design, lifecycle
from tests import factories

QUESTIONS = "How often can you change an answer?\n- As often as I like\n* Never"


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(
        module_researcher, factories.make_task(), shots=[0, 2, 4], annotators=3, seed=4711,
        title="A | small_study", comprehension_questions=QUESTIONS, qualification="minimum",
        qualification_threshold=40, base_reward="2.50", exit_questionnaire=True,
    ).pk  # fmt: skip


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def markdown(client, study) -> str:
    reply = client.get(reverse("preregistration_file", args=[study.name]))
    assert reply["Content-Type"].startswith("text/markdown")
    return reply.content.decode()


def test_it_names_the_manifest_hash_and_the_opening_time(ada, study):
    text = markdown(ada, study)
    assert hashlib.sha256(study.manifest.encode()).hexdigest() in text
    assert study.opened_at.strftime("%Y-%m-%d %H:%M:%S UTC") in text
    assert "None. A draft assigns no seats" in text


@pytest.mark.parametrize(
    "words",
    [
        "| toy-places | 1 | Named Entity Recognition | highlighted spans | set | en | no |",
        "| toy-places | 4 | 1 | 3 |",
        "3 scenarios (a combination of task and number of shots) with 9 seats in total",
        "shuffled, with examples of the same context kept apart",
        "The seed of all random choices is 4711.",
        "annotators need a mean training S1 (x 100) of at least 40.",
        "1 question about the instructions correctly within 2 attempts",
        "* Never",
        "There are no attention checks.",
        "12.00 USD per hour of active time",
        "Annotators who complete the task earn at least 2.50 USD.",
        "Consent text, version 1",
        "Taking part is voluntary.",
        "`s1|match:exact|empty:1|gold:set|mean:examples|sd:annotators|ddof:1|v:1`",
        # Three against three have 20 permutations, so p is at least 0.1; 3.51 SDs are detectable.
        "| 3 and 3 | 3 | 0.1 | 3.51 SDs |",
    ],
)
def test_it_describes_the_design_in_words(ada, study, words):
    assert words in markdown(ada, study)


def test_it_names_the_interface_language_unless_it_is_english(ada, study, settings):
    assert "The interface" not in markdown(ada, study)
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    task = study.tasks.get()
    german = factories.make_study(study.owner, task, interface_language="de")
    assert "The annotation interface is in German." in markdown(ada, german)


def test_every_task_and_its_content_is_named(ada, study):
    (task,) = study.tasks.all()
    assert task.content_hash in markdown(ada, study)


def test_texts_of_the_researcher_do_not_break_the_markdown(ada, study):
    assert r"A \| small\_study" in markdown(ada, study)


def test_it_is_generated_from_the_manifest_only(study):
    opening = preregistration.Opening("0" * 64, study.opened_at, 1, 0)
    changed = json.loads(study.manifest) | {"seed": 99, "hourly_rate": "7.77"}
    text = blocks.as_markdown(preregistration.document(changed, opening))
    assert "choices is 99." in text
    assert "7.77 USD per hour" in text


def test_later_events_do_not_change_it(ada, researcher):
    study = factories.make_study(researcher, factories.make_task())
    before = markdown(ada, study)
    seat = factories.seat(study.scenarios.get(shots=0))
    factories.work_through(seat)
    seat.refresh_from_db()
    exclusion.decide(seat, False, "a reason", researcher)
    lifecycle.add_seats(study.scenarios.get(shots=2), 2, researcher, confirmed=True)
    lifecycle.change_status(study, "pause", researcher)
    assert markdown(ada, study) == before


def test_a_draft_explains_that_opening_generates_it(ada, researcher):
    draft = factories.make_study(researcher, factories.make_task(), status="draft")
    page = ada.get(reverse("preregistration", args=[draft.name])).content.decode()
    assert "When you open it, Handful freezes the design and creates this document" in page
    address = reverse("preregistration_file", args=[draft.name])
    assert ada.get(address).status_code == 404


def test_a_return_to_draft_removes_it_and_reopening_renews_it(ada, study):
    first = markdown(ada, study)
    lifecycle.change_status(study, "draft")
    page = ada.get(reverse("preregistration", args=[study.name])).content.decode()
    assert "The study is a draft" in page
    study.hourly_rate = "13.00"
    design.save_draft(study, list(study.tasks.all()))
    lifecycle.change_status(study, "open")
    second = markdown(ada, study)
    assert "13.00 USD per hour" in second
    assert second != first


def test_the_page_shows_the_same(ada, study):
    page = ada.get(reverse("preregistration", args=[study.name])).content.decode()
    assert "Statistical power of this design" in page
    assert study.manifest_hash in page
    assert reverse("preregistration_file", args=[study.name]) in page


def test_one_number_of_shots_has_no_contrasts(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    assert "no differences between shot counts" in markdown(ada, study)


def test_each_number_of_contrasts_has_one_detectable_column(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2])
    (head,) = [line for line in markdown(ada, study).splitlines() if "Detectable at p" in line]
    assert head.count("Detectable at p") == 1
    three = factories.make_study(researcher, study.tasks.get(), shots=[0, 2, 4])
    (head,) = [line for line in markdown(ada, three).splitlines() if "Detectable at p" in line]
    columns = [part.strip(" |") for part in head.split("|") if "Detectable" in part]
    assert columns == ["Detectable at p \\< 0.05", "Detectable at p \\< 0.017"]


def test_ethics_board_and_custom_questions_are_in_it(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), ethics_contact="Board 7 <b@example.org>",
        own_questions="language, before, choice, required: First language?\n- English\n- Other",
    )  # fmt: skip
    written = markdown(ada, study)
    assert "Board 7" in written
    assert "language, before, choice, required: First language?" in written
    page = ada.get(reverse("study_design", args=[study.name])).content.decode()
    assert "Board 7 &lt;b@example.org&gt;" in page
    assert "before: First language?" in page
    assert "(choice, required: English, Other)" in " ".join(page.split())
    assert "toy-places: " in page  # followed by the number of test examples
    none = factories.make_study(researcher, study.tasks.get(), shots=[0])
    assert "Ethics board" not in markdown(ada, none)


def test_one_annotator_per_side_detects_no_difference(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=1)
    assert "| 1 and 1 | 1 | 1 | more than 50 SDs |" in markdown(ada, study)


def test_only_the_owner_may_read_it(client, other_researcher, study):
    client.force_login(other_researcher)
    for name in ("preregistration", "preregistration_file"):
        assert client.get(reverse(name, args=[study.name])).status_code == 404
