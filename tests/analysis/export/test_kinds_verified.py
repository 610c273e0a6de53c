"""An export with every answer type verifies, and an altered cell of each is found."""

import json
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.documents import blocks, preregistration, report
from analysis.export import files
from annotation.models import Study
from annotation.study import lifecycle
from tasks.predictions.store import PredictionsError
from tests import factories
from tests.analysis.export.tampering import Export
from tests.annotation.study.test_cross_task import arrive, make_cross_task

pytestmark = pytest.mark.long

KINDS = [*factories.KINDS]
# Replacements for answers of these kinds; no example has them.
OTHER = {"number": ["4.75"], "label": ["neither"]}


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Two annotators per answer type, who err in turn, and a model that is sometimes wrong."""
    tasks = [factories.make_kind(kind) for kind in KINDS]
    study = factories.make_study(module_researcher, *tasks, shots=[2], annotators=2)
    for scenario in study.scenarios.order_by("pk"):
        for wrong_at in (0, 1):
            factories.work_through(factories.seat(scenario), _answers(wrong_at))
        factories.predict(
            module_researcher, "toy", scenario.task, 2, 1,
            lambda example: (factories.wrong_texts if example.position else factories.right_texts)(
                example
            ),
        )  # fmt: skip
    return study.pk


def _answers(wrong_at):
    def answer(turn):
        is_wrong = turn.position % 2 == wrong_at
        return (factories.wrong_texts if is_wrong else factories.right_texts)(turn.example)

    return answer


@pytest.fixture(scope="module")
def exported(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds") / "export"
    call_command("export_study", Study.objects.get(pk=stored).name, str(folder), verbosity=0)
    return folder


@pytest.fixture
def export(db, exported, tmp_path):
    return Export(Path(shutil.copytree(exported, tmp_path / "export")))


def rows_of(export, file, kind):
    return [row for row in export[file] if row["task"] == f"toy-{kind.replace(' ', '-')}"]


def test_the_export_verifies(export, capsys):
    assert export.verify() == 0, capsys.readouterr().out
    for kind in KINDS:
        scores = {row["s1"] for row in rows_of(export, "answers.csv", kind)}
        assert "1.0" in scores
        assert len(scores) > 1
        predicted = {row["s1"] for row in rows_of(export, "predictions.csv", kind)}
        assert "1.0" in predicted
        assert len(predicted) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("answers.csv", "answer"),
        ("answers.csv", "s1"),
        ("answers.csv", "gold"),
        ("examples.csv", "gold"),
        ("examples.csv", "options"),
        ("predictions.csv", "predicted"),
    ],
)
def test_an_altered_cell_is_found(export, capsys, kind, file, column):
    row = next(row for row in rows_of(export, file, kind) if row.get("s1") in (None, "1.0"))
    before = row[column]
    row[column] = "0.25" if before[:1].isdigit() else json.dumps(OTHER.get(kind, ["Elsewhere"]))
    assert row[column] != before
    export.write(file)
    assert export.verify() == 1
    capsys.readouterr()


def test_methods_and_plan_say_how_each_task_was_answered(db, stored):
    study = Study.objects.get(pk=stored)
    text = " ".join(part.text for part in report.for_study(study).sections[0].blocks)
    assert "by highlighting spans of the text in toy-spans" in text
    assert "by entering a number in toy-number" in text
    assert "and by typing a long text in toy-long-text." in text
    planned = blocks.as_markdown(preregistration.for_study(study))
    for noun in ("options of the example", "a short text", "highlighted spans or typed texts"):
        assert f"| {noun} |" in planned


def test_upstream_tasks_of_other_kinds_are_recomputed(researcher, db, tmp_path, capsys):
    more = [
        factories.make_kind(kind, name=f"up-{place}", shots=[8])
        for place, kind in enumerate(("option", "options", "number", "short text", "typed"))
    ]
    study = make_cross_task(researcher, more_upstream=more, upstream_examples=1)
    lifecycle.change_status(study, "open")
    people = [arrive(study, f"p{number}") for number in range(6)]
    trained = [person for person in people if person.scenario.arm == "upstream"]
    assert trained
    for person in trained:
        factories.work_through(person)
    files.write_export(study, tmp_path / "export")
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    answered = [row for row in export["upstream.csv"] if row["submitted_at"]]
    assert {row["s1"] for row in answered} == {"1.0"}
    assert {row["task"] for row in answered} >= {task.name for task in more}


BAD = [
    ("option", ["Elsewhere"], "are not options of their example: 'Elsewhere'"),
    ("option", [], "are “no answer”, which this task does not allow"),
    ("options", ["Oslo", "Lima", "Cairo", "Kyoto"], "are all options of their example"),
    ("number", ["about 3"], "are not numbers in plain digits: 'about 3'"),
    ("short text", ["Oslo", "Lima"], "have more than one text: 'Oslo', 'Lima'"),
]


@pytest.mark.parametrize(("kind", "texts", "sentence"), BAD)
def test_a_model_answer_that_people_cannot_give_is_refused(db, researcher, kind, texts, sentence):
    task = factories.make_kind(kind, name="toy-bad")

    def predict(example):
        return texts if example.position == 0 else factories.right_texts(example)

    with pytest.raises(PredictionsError, match=sentence.replace("(", r"\\(")):
        factories.predict(researcher, "bad", task, 2, 1, predict)


def test_numeric_predictions_are_compared_as_numbers(db, researcher):
    def spelled(example):
        (gold,) = example.gold
        return [f"+{gold}0" if "." in gold else f"{gold}.0"]

    task = factories.make_kind("number", name="toy-spelled")
    file = factories.predict(researcher, "spelled", task, 2, 1, spelled)
    assert set(file.predictions.values_list("s1", flat=True)) == {1.0}
