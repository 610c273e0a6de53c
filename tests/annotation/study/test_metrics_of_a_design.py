"""A task's card sets its metric; a design can add metrics, which are frozen at launch."""

import json
import re

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Study
from annotation.study import design
from tasks.cards import CardError, load_card, parse_card
from tasks.importing import CARDS
from tasks.metrics import METRICS
from tests import factories

NUMBERS = [{**label, "name": name} for label, name in zip(factories.LABELS, "12", strict=True)]


def test_the_six_clues_cards_default_to_s1():
    cards = [load_card(path) for path in sorted(CARDS.rglob("*.toml"))]
    assert len(cards) == 6
    assert {card.metric for card in cards} == {"S1"}
    assert not any("metric" in card.as_dict() for card in cards)


def test_a_card_stores_its_metric_and_refuses_an_unknown_one():
    data = factories.card_data(labels=factories.LABELS, metric="Classification-F1")
    card = parse_card(data, "task.toml")
    assert (card.metric, card.as_dict()["metric"]) == ("Classification-F1", "Classification-F1")
    with pytest.raises(CardError, match="task.toml: key metric: expected one of S1, EM, ACC"):
        parse_card(data | {"metric": "accuracy"}, "task.toml")


@pytest.mark.parametrize(
    ("card", "metric", "said"),
    [
        ({}, "Classification-F1", "does not apply to answers of type spans: it averages over"),
        ({}, "Pearson-Correlation", "does not apply to answers of type spans: it needs numbers"),
        ({"labels": factories.LABELS}, "Rouge-L", "type label: it compares the words of texts"),
        ({"labels": factories.LABELS}, "Pearson-Correlation", "not every label is one"),
        ({"labels": factories.LABELS}, "Matthew-Correlation", "needs a label “acceptable”"),
        (
            {"labels": [{**factories.LABELS[0], "name": name} for name in ("Yes", "yes")]},
            "ACC",
            "reads the labels “Yes” and “yes” as the same text",
        ),
        (
            {"labels": [{**factories.LABELS[0], "name": name} for name in ("-", "+")]},
            "EM",
            "reads the labels “-” and “+” as the same text",
        ),
    ],
)
def test_a_metric_that_does_not_fit_the_answers_is_refused(card, metric, said):
    with pytest.raises(CardError, match="card: key metric: .*" + re.escape(said)):
        parse_card(factories.card_data(metric=metric, **card), "card")


@pytest.mark.parametrize(
    ("card", "fitting"),
    [
        ({}, {"S1", "EM", "ACC", "QA-F1", "Rouge-L"}),
        ({"labels": factories.LABELS}, {"S1", "EM", "ACC", "Classification-F1"}),
        (
            {"labels": NUMBERS},
            {"S1", "EM", "ACC", "Classification-F1", "Pearson-Correlation"},
        ),
    ],
)
def test_metrics_fit_spans_labels_or_numeric_labels(card, fitting):
    parsed = parse_card(factories.card_data(**card), "card")
    assert {name for name in METRICS if not parsed.misfit(name)} == fitting


def test_further_metrics_are_frozen_with_the_design(researcher, tmp_path):
    factories.make_task(labels=factories.LABELS)
    metrics = ["ACC", "Classification-F1"]
    call_command("create_study", "one", tasks=["toy-places"], shots=[0], metrics=metrics, open=True)
    assert json.loads(Study.objects.get(name="one").manifest)["metrics"] == metrics
    text = 'name = "two"\ntasks = ["toy-places"]\nshots = [0]\nmetrics = '
    (tmp_path / "two.toml").write_text(f'{text}["EM"]\n')
    call_command("create_study", design=tmp_path / "two.toml")
    assert Study.objects.get(name="two").metrics == ["EM"]
    (tmp_path / "three.toml").write_text(f'{text}"EM"\n'.replace("two", "three"))
    with pytest.raises(CommandError, match="three.toml: metrics: expected a list of names"):
        call_command("create_study", design=tmp_path / "three.toml")


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (["BLEU"], "Unknown metric 'BLEU'. Known: S1, EM"),
        (["EM", "EM"], "EM is named twice"),
        (["S1"], "S1 is already the metric of every task's card"),
        (["Classification-F1"], "any of the study's tasks. Classification-F1 does not apply"),
        ("EM", "Enter a list of metric names"),
        ([3], "Enter a list of metric names"),
    ],
)
def test_a_metric_that_does_not_fit_is_refused(researcher, metrics, said):
    with pytest.raises(ValidationError) as refused:
        factories.make_study(researcher, factories.make_task(), metrics=metrics)
    assert list(refused.value.message_dict) == ["metrics"]
    assert said in refused.value.message_dict["metrics"][0]


def test_a_metric_that_fits_one_of_the_tasks_is_accepted(researcher):
    tasks = [factories.make_task(), factories.make_task(name="moods", labels=factories.LABELS)]
    study = factories.make_study(researcher, *tasks, metrics=["Classification-F1"])
    assert study.metrics == ["Classification-F1"]


@pytest.mark.long
def test_the_form_of_a_draft_stores_further_metrics(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), status="draft")
    address = reverse("study_edit", args=[study.name])
    form = ada.get(address, follow=True).context["form"]
    data = {field.html_name: field.value() for field in form if field.value() is not None}
    reply = ada.post(address, data | {"metrics": ["EM", "QA-F1"]})
    assert reply.status_code == 302
    study.refresh_from_db()
    assert study.metrics == ["EM", "QA-F1"]
    assert (
        'value="QA-F1" id="id_metrics_3" checked' in ada.get(address, follow=True).content.decode()
    )
    reply = ada.post(address, data | {"metrics": ["Rouge-L", "BLEU"]})
    assert reply.status_code == 422
    assert design.values(study)["metrics"] == ["EM", "QA-F1"]
