"""A design declares its audience and its recruitment on Prolific, which are then frozen."""

import json

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from annotation.study import design, design_file, lifecycle
from tests import factories
from tests.annotation.study.test_design import fields

AUDIENCE = {
    "countries": ["United Kingdom", "Ireland"],
    "languages": ["English"],
    "minimum_age": 18,
    "maximum_age": 65,
    "approval_rate": 95,
    "filters": [
        {"filter_id": "handedness", "selected_values": ["0"]},
        {"filter_id": "sex", "selected_values": ["0", "1"], "weightings": {"0": 50, "1": 50}},
    ],
    "content_warning": "Some texts contain <b>insults</b>.",
}
WARNED = "Content warning."


def make_study(researcher, audience=AUDIENCE, **more) -> Study:
    number = Study.objects.count()
    more = {"shots": [2], "currency": "GBP", "estimated_minutes": 10, "annotators": 4, **more}
    task = factories.make_task(name=f"t{number}")
    return factories.make_study(researcher, task, audience=audience, **more)


# In the design ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("audience", "said"),
    [
        ([], "audience: expected a table."),
        ({"country": []}, "country: unknown key."),
        ({"countries": "Ireland"}, "countries: expected a list of names."),
        ({"countries": ["Ireland", "Ireland"]}, "countries: Ireland is named twice."),
        ({"languages": [""]}, "languages: expected a list of names."),
        ({"minimum_age": 17}, "minimum_age: expected a whole number from 18 to 100."),
        ({"minimum_age": True}, "minimum_age: expected a whole number from 18 to 100."),
        ({"minimum_age": 50, "maximum_age": 40}, "maximum_age: less than the minimum age."),
        ({"approval_rate": 101}, "approval_rate: expected a number from 0 to 100."),
        ({"filters": [{}]}, "filters: each object needs a filter_id."),
        ({"filters": [{"filter_id": "age"}]}, "filters: age needs selected_values"),
        ({"filters": [{"filter_id": "or"}]}, "filters: or needs selected_filters."),
        (
            {"minimum_age": 20, "filters": [{"filter_id": "age", "selected_range": {"lower": 1}}]},
            "filters: age is set by another field",
        ),
        ({"content_warning": "x" * 501}, "content_warning: expected a text of at most 500"),
        ({"content_warning": "\ud800"}, "audience: contains an invalid character"),
    ],
)
def test_an_error_in_an_audience_is_reported_with_its_key(researcher, audience, said):
    with pytest.raises(ValidationError) as refused:
        make_study(researcher, audience)
    (sentence,) = refused.value.message_dict["audience"]
    assert sentence.startswith(said)


def test_the_form_stores_an_audience_and_shows_it_again(ada):
    task = factories.make_task()
    sent = {
        "audience_countries": "United Kingdom\n Ireland \n",
        "audience_languages": "English",
        "audience_minimum_age": "18",
        "audience_maximum_age": "65",
        "audience_approval_rate": "95",
        "audience_filters": json.dumps(AUDIENCE["filters"]),
        "audience_content_warning": AUDIENCE["content_warning"],
        "prolific_reward": "longest",
        "participants_choose_scenario": "on",
    }
    assert ada.post(reverse("study_new"), fields(task) | sent).status_code == 302
    study = Study.objects.get()
    assert study.audience == AUDIENCE
    assert (study.prolific_reward, study.participants_choose_scenario) == ("longest", True)
    page = ada.get(reverse("study_design", args=[study.name])).content.decode()
    assert "United Kingdom\nIreland" in page
    assert "handedness" in page
    ada.post(reverse("study_status", args=[study.name]), factories.opening(study))
    shown = ada.get(reverse("study_design", args=[study.name])).content.decode()
    assert "participants choose their scenario" in shown
    assert "&lt;b&gt;insults" in shown


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("minimum_age", "5", "Expected a whole number from 18 to 100."),
        ("filters", "[", "Not valid JSON"),
        ("countries", "Ireland\nIreland", "Ireland is named twice."),
    ],
)
def test_an_error_in_the_audience_form_is_at_its_field(ada, field, text, said):
    reply = ada.post(
        reverse("study_new"), fields(factories.make_task()) | {f"audience_{field}": text}
    )
    assert reply.status_code == 422
    assert said in reply.context["form"].errors[f"audience_{field}"][0]


def test_an_audience_is_read_from_and_written_to_a_design_file(researcher, tmp_path):
    file = tmp_path / "design.toml"
    file.write_text(
        'prolific_reward = "longest"\nparticipants_choose_scenario = true\n'
        '[audience]\ncountries = ["Ireland"]\n'
    )
    read = design_file.read(file).fields
    assert read["audience"] == {"countries": ["Ireland"]}
    with pytest.raises(design_file.DesignFileError, match="audience: expected a table"):
        design_file.from_data("body", {"audience": []})
    study = make_study(researcher, **read, shots=[0, 2])
    assert design_file.as_data(study)["audience"] == read["audience"]
    manifest = json.loads(study.manifest)
    for key, value in read.items():
        assert manifest[key] == value


def test_a_design_without_an_audience_has_an_empty_one(researcher):
    manifest = json.loads(make_study(researcher, {}).manifest)
    assert manifest["audience"] == {}
    assert manifest["participants_choose_scenario"] is False
    assert manifest["prolific_reward"] == "shortest"


@pytest.mark.long
def test_a_conflicting_save_is_409_and_shows_the_other_audience(ada):
    task = factories.make_task()
    ada.post(reverse("study_new"), fields(task))
    study = Study.objects.get()
    version = design.version(study)
    study.audience = {"countries": ["Canada"]}
    study.save()
    sent = fields(task) | {"version": version, "audience_countries": "Ireland"}
    reply = ada.post(reverse("study_edit", args=[study.name]), sent)
    assert reply.status_code == 409
    assert "Canada" in reply.content.decode()


# What participants read ---------------------------------------------------------------------------


@pytest.mark.long
def test_a_content_warning_is_shown_on_the_landing_page(researcher):
    study = make_study(researcher)
    page = Client().get(reverse("landing", args=[study.link_code])).content.decode()
    assert WARNED in page
    assert "&lt;b&gt;insults&lt;/b&gt;" in page
    other = make_study(researcher, {})
    assert WARNED not in Client().get(reverse("landing", args=[other.link_code])).content.decode()


def test_the_warnings_on_cards_are_the_default_of_a_design(ada):
    rude = factories.make_task(content_warning="Some texts contain <b>insults</b>.")
    polite = factories.make_task(name="toy-moods")
    assert ada.post(reverse("study_new"), fields(polite)).status_code == 302
    study = Study.objects.get()
    assert study.audience == {}
    assert "content_warning" not in polite.card.as_dict()
    both = fields(polite, tasks=[polite.pk, rude.pk])
    changed = both | {"version": design.version(study)}
    assert ada.post(reverse("study_edit", args=[study.name]), changed).status_code == 302
    study.refresh_from_db()
    assert study.audience == {"content_warning": "Some texts contain <b>insults</b>."}
    own = {"version": design.version(study), "audience_content_warning": "Rude words."}
    ada.post(reverse("study_edit", args=[study.name]), both | own)
    study.refresh_from_db()
    assert study.audience == {"content_warning": "Rude words."}
    lifecycle.change_status(study, "open")
    page = Client().get(reverse("landing", args=[study.link_code])).content.decode()
    assert WARNED in page
    assert "Rude words." in page
    assert json.loads(study.manifest)["audience"] == study.audience


def test_warnings_of_several_cards_are_joined_up_to_the_longest(researcher):
    long = factories.make_task(content_warning="x" * 300)
    other = factories.make_task(name="toy-moods", content_warning="y" * 300)
    study = Study(owner=researcher, name="s", title="s", shots=[0], annotators=1)
    with pytest.raises(ValidationError, match="a text of at most 500"):
        design.save_draft(study, [long, other])
    design.save_draft(Study(owner=researcher, name="t", title="t", shots=[0], annotators=1), [long])
    assert Study.objects.get().audience == {"content_warning": "x" * 300}
