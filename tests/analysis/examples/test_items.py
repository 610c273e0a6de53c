"""Difficulty of examples, and how well each separates good from weak respondents."""

import csv
import io
import math
import re

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.examples.difficulty import hardest
from analysis.stats.agreement import item_rest
from annotation.models import Kind
from tests import factories
from tests.analysis.export.tampering import Export


def test_the_item_rest_correlation_is_pearsons():
    scores = np.random.default_rng(3).random((7, 5))
    for item, r in enumerate(item_rest(scores)):
        rest = np.delete(scores, item, axis=1).mean(1)
        assert r == pytest.approx(np.corrcoef(scores[:, item], rest)[0, 1])


def test_an_item_that_all_get_right_has_no_item_rest_correlation():
    scores = np.array([[1, 1, 0.7], [1, 0, 0.7], [1, 1, 0.1], [1, 0, 0.1]])
    assert [math.isnan(r) for r in item_rest(scores)] == [True, False, False]
    assert all(map(math.isnan, item_rest(scores[:2])))
    assert all(map(math.isnan, item_rest(scores[:, :1])))


@pytest.fixture
def study(researcher):
    """One is always right and one always answers "no answer", at 0 and 2 shots; a model ran too."""
    task = factories.make_task(splits=2, test_size=6)
    study = factories.make_study(researcher, task, annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    factories.predict(researcher, "small", task, 2, 1, lambda example: [])
    factories.predict(researcher, "small", task, 2, 2)
    factories.predict(researcher, "small", task, 0, None, lambda example: [])
    return study


@pytest.mark.long
def test_people_and_models_are_respondents(study):
    task = study.tasks.get()
    golds = {e.pk: e.gold for e in task.test_split.examples.all()}
    rows = hardest(study, task, Kind.PERSON)
    # Four people, and one model that counts once although it ran at two numbers of shots.
    assert {row.respondents for row in rows} == {5}
    for row in rows:
        is_empty = not golds[row.example]
        assert row.right == (100 if is_empty else 50)
        assert row.right_models == pytest.approx(100 if is_empty else 100 / 3)
        # The same respondents are right on every example with places, and all on those without.
        assert math.isnan(row.item_rest) if is_empty else row.item_rest == pytest.approx(1)


@pytest.mark.long
def test_the_export_has_the_same_respondents_and_verifies(study, tmp_path, capsys):
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    export = Export(tmp_path / "export")
    assert {row["respondents"] for row in export["items.csv"] if not row["shots"]} == {"5"}
    assert export.verify() == 0, capsys.readouterr().out


@pytest.mark.long
def test_page_warns_of_few_respondents_and_csv_has_all_digits(ada, study):
    task = study.tasks.get()
    page = ada.get(reverse("examples", args=[study.name])).content.decode()
    assert "requires at least about 20 respondents" in " ".join(page.split())
    reply = ada.get(reverse("examples_file", args=[study.name]), {"task": task.name})
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    assert len(rows) == 6
    assert {row["respondents"] for row in rows} == {"5"}
    assert (rows[0]["mean_0_shots"], rows[0]["mean_2_shots"]) == ("0.5", "0.5")
    assert ada.get(reverse("examples_file", args=[study.name]), {"task": "x"}).status_code == 404


@pytest.mark.long
def test_a_question_that_all_examples_ask_is_stated_once(ada, study):
    address = reverse("examples", args=[study.name])
    examples = study.tasks.get().test_split.examples.all()
    questions = {example.question for example in examples}
    page = ada.get(address).content.decode()
    assert len(questions) == 1
    assert page.count(questions.pop()) == 1
    assert re.search(r'<a\s+href="[^"]*sort=[^"]*">sort by Pairwise S1</a>', page)
    menu = page.partition('<details class="export">')[2].partition("</details>")[0]
    assert re.findall(r">([^<]+) \(CSV\)</a>", menu) == ["This list", "All examples of the task"]
