"""`export_study --as` writes answers in the formats of other tools, which our readers can read.

In `make test-tools`, the tools' own libraries read them.
"""

import importlib.util
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from analysis.export import other_tools
from annotation.models import Answer, Kind, Study
from tasks.formats import Record
from tasks.models import Prediction, PredictionFile
from tasks.predictions.format import read_predictions
from tests import factories

pytestmark = pytest.mark.long

KINDS = ["spans", "label", "option", "options", "number", "short text", "long text"]
ASTRAL = "🎉 Oslo e\u0301 and Lima, then Oslo."


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Two people and a simulated annotator in every scenario of a span task and a label task."""
    places = factories.make_task(
        test=[
            Record("a", (ASTRAL,), "Which places are named?", ("Oslo", "Lima"), None),
            Record("b", ("We stayed in bed.",), "Which places are named?", (), None),
        ]
    )
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, title="Labels")
    study = factories.make_study(module_researcher, places, labels, shots=[0, 2], annotators=2)
    for scenario in study.scenarios.all():
        for kind in (Kind.PERSON, Kind.PERSON, Kind.SIMULATED):
            factories.work_through(factories.seat(scenario, kind))
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def export(study, folder, form):
    call_command("export_study", study.name, str(folder), form=form, stdout=StringIO())
    return folder


def people(study):
    return list(other_tools.tested(study))


def test_harness_samples_hold_every_test_answer_of_every_kind(study, tmp_path):
    folder = export(study, tmp_path / "out", "lm-eval")
    kinds = [path.name.partition("_")[0] for path in folder.iterdir()]
    assert sorted(set(kinds)) == ["person", "simulated"]
    files = sorted(folder.rglob("samples_*.jsonl"))
    assert len(files) == study.participations.count() == 12
    number = 0
    for file in files:
        _name, lines = read_predictions(file)
        number += len(lines.splitlines())
        stem, _, date = file.stem.removeprefix("samples_").rpartition("_")
        results = json.loads(file.with_name(f"results_{date}.json").read_text())
        assert results["n-shot"][stem] in (0, 2)
    assert number == Answer.objects.filter(turn__step="annotation").count()


def test_exported_samples_can_be_imported_with_the_same_score(study, tmp_path):
    """A person's samples are imported as if a model had given the answers."""
    folder = export(study, tmp_path / "out", "lm-eval")
    participation, rows = people(study)[0]
    own = folder / f"{participation.kind}_{participation.pseudonym}"
    call_command("import_predictions", "echo", str(own), by="ada", stdout=StringIO())
    file = PredictionFile.objects.get()
    assert file.task == participation.scenario.task
    assert (file.shots, file.split_number) == (
        participation.scenario.shots, participation.scenario.split_number,
    )  # fmt: skip
    stored = {p.example_id: (p.predicted, p.s1) for p in Prediction.objects.all()}
    assert stored == {row.turn.example.pk: (row.as_given.texts, row.s1) for row in rows}


def test_samples_without_ids_are_refused_with_what_to_do(study, tmp_path):
    folder = export(study, tmp_path / "out", "lm-eval")
    file = next(folder.rglob("samples_*.jsonl"))
    sample = json.loads(file.read_text().splitlines()[0])
    del sample["doc"]["id"]
    own = tmp_path / "own"
    own.mkdir()
    (own / file.name).write_text(json.dumps(sample))
    with pytest.raises(CommandError, match="line 1, column doc: the documents have no id"):
        call_command("import_predictions", "echo", str(own), by="ada")
    assert not PredictionFile.objects.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_is_written_in_every_format(researcher, tmp_path, kind):
    task = factories.make_kind(kind, shots=[2])
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    ((participation, rows),) = people(study)
    wanted = {row.turn.example.source_id: row.as_given.texts for row in rows}
    samples = export(study, tmp_path / "lm", "lm-eval")
    own = samples / f"person_{participation.pseudonym}"
    call_command("import_predictions", "echo", str(own), by="ada", stdout=StringIO())
    stored = Prediction.objects.values_list("example__source_id", "predicted")
    assert dict(stored) == wanted


def test_no_secret_is_in_the_samples(study, tmp_path):
    folder = export(study, tmp_path / "out", "lm-eval")
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).decode(
        errors="replace"
    )
    for participation in study.participations.select_related("worker"):
        assert participation.token not in written
        assert participation.worker.key not in written
        assert participation.completion_code not in written


def test_nothing_is_written_before_the_first_answer(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task())
    with pytest.raises(CommandError, match="There are no answers"):
        export(study, tmp_path / "out", "lm-eval")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is not None, reason="says what happens without it"
)
def test_without_inspect_both_ways_say_what_to_install(study, tmp_path):
    with pytest.raises(CommandError, match="inspect requires inspect-ai. Run pip"):
        export(study, tmp_path / "out", "inspect")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "toy-places_0.eval").write_bytes(b"PK")
    with pytest.raises(CommandError, match="toy-places_0.eval: reading Inspect logs requires"):
        call_command("import_predictions", "echo", str(tmp_path / "in"), by="ada")


def test_an_unknown_format_is_refused_by_name(study, tmp_path):
    with pytest.raises(CommandError, match="invalid choice: 'prodigy'"):
        call_command("export_study", study.name, str(tmp_path / "out"), "--as", "prodigy")
    assert Study.objects.filter(pk=study.pk).exists()
