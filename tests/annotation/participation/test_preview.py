"""A preview shows every page that annotators see, in both directions, and stores nothing."""

import itertools

import lxml.html
import pytest
from django.apps import apps
from django.urls import reverse

from annotation.protocol import attention_checks
from tests import factories
from tests.annotation.protocol.test_comprehension import check_file

pytestmark = pytest.mark.django_db
QUESTIONS = "How often can you change an answer?\n- As often as I like\n* Never"


@pytest.fixture
def scenario(researcher):
    study = factories.make_study(
        researcher,
        factories.make_task(shots=(2,)),
        consent_text="You agree to *this*.",
        comprehension_questions=QUESTIONS,
        exit_questionnaire=True,
    )
    return study.scenarios.get(shots=2)


def address(scenario, step, position=0) -> str:
    return reverse("scenario_preview", args=[scenario.study.name, scenario.pk, step, position])


def link(reply, rel: str) -> str:
    found = lxml.html.fromstring(reply.content).xpath(
        f'//nav[@class="preview-bar"]//a[@rel="{rel}"]'
    )
    return found[0].get("href") if found else ""


def rows() -> dict[str, int]:
    return {
        model.__name__: model.objects.count()
        for model in apps.get_app_config("annotation").get_models()
    }


@pytest.mark.long
def test_the_preview_links_from_consent_to_end_and_back(ada, scenario):
    before = rows()
    way, here = [], address(scenario, "consent")
    while here:
        way.append(here)
        reply = ada.get(here)
        assert reply.status_code == 200
        here = link(reply, "next")
    assert way == [
        *(address(scenario, step) for step in ("consent", "instructions")),
        *(address(scenario, "training", position) for position in range(2)),
        *(address(scenario, "annotation", position) for position in range(4)),
        address(scenario, "end"),
    ]
    for previous, place in itertools.pairwise(way):
        assert link(ada.get(place), "prev") == previous
    assert rows() == before


def test_each_preview_page_shows_what_annotators_see(ada, scenario):
    consent = ada.get(address(scenario, "consent")).content.decode()
    assert "You agree to <em>this</em>." in consent
    assert f'action="{address(scenario, "instructions")}"' in consent
    instructions = ada.get(address(scenario, "instructions")).content.decode()
    assert "Highlight every place." in instructions
    assert "As often as I like" in instructions
    end = ada.get(address(scenario, "end")).content.decode()
    assert "PREVIEW" in end
    assert "Had you seen these texts or this task before?" in end
    assert "Leave the study" not in end


@pytest.mark.parametrize("shots", [0, 2])
def test_the_end_of_a_preview_counts_the_answers_to_all_steps(ada, researcher, tmp_path, shots):
    task = factories.make_task(shots=(2, 8), test_size=6)
    attention_checks.import_checks(task, check_file(tmp_path))
    study = factories.make_study(
        researcher, task, shots=[0, 2], annotators=4, anchor_examples=2, screening_examples=3,
        qualification="minimum", qualification_threshold=60, attention_checks=2,
    )  # fmt: skip
    seat = factories.seat(study.scenarios.get(shots=shots))
    factories.work_through(seat)
    end = ada.get(reverse("work", args=[seat.token])).context["answered"]
    assert end == 2 + (shots or 3) + 6 + 2
    assert ada.get(address(seat.scenario, "end")).context["answered"] == end


def test_forms_of_the_preview_lead_to_the_next_page(ada, scenario):
    reply = ada.post(address(scenario, "instructions"), {"agree": "yes"})
    assert (reply.status_code, reply.url) == (302, address(scenario, "instructions"))
    example = scenario.task.test_split.examples.get(position=3)
    last = ada.post(
        address(scenario, "annotation", 3), {"turn": "x", **factories.fields_for(example, [])}
    )
    assert last.url == address(scenario, "end")
    assert ada.get(address(scenario, "end")).context["questionnaire_url"] == reverse(
        "study_design", args=[scenario.study.name], fragment="previews"
    )


def test_every_preview_page_links_out_and_to_the_other_parts(ada, scenario):
    design = reverse("study_design", args=[scenario.study.name])
    for step in ("consent", "instructions", "training", "annotation", "end"):
        page = lxml.html.fromstring(ada.get(address(scenario, step)).content)
        (bar,) = page.xpath('//nav[@class="preview-bar"]')
        links = {a.text_content(): a.get("href") for a in bar.xpath(".//a")}
        assert links["Close preview"] == f"{design}#previews"
        assert links["Training step"] == address(scenario, "training")
        (current,) = bar.xpath('.//a[@aria-current="step"]')
        assert current.get("href") == address(scenario, step)


def test_the_design_lists_previews_of_all_scenarios(ada, researcher, scenario):
    draft = factories.make_study(researcher, scenario.task, name="draft", status="draft")
    for study in (scenario.study, draft):
        page = lxml.html.fromstring(ada.get(reverse("study_design", args=[study.name])).content)
        links = {a.get("href"): a.text_content() for a in page.xpath('//ul[@class="previews"]//a')}
        assert links == {address(cell, "consent"): str(cell) for cell in study.scenarios.all()}


def test_a_preview_at_zero_shots_has_no_training(ada, scenario):
    zero = scenario.study.scenarios.get(shots=0)
    assert link(ada.get(address(zero, "instructions")), "next") == address(zero, "annotation")
    assert ada.get(address(zero, "training")).status_code == 404
