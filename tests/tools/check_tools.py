"""Round trips of answers through the formats and libraries of other tools."""

import json
from io import StringIO

import pytest
from datasets import Dataset
from django.core.management import CommandError, call_command
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from lm_eval.utils import get_file_task_name

from analysis.export import files, other_tools
from annotation.models import Answer, Kind
from tasks.formats import Record
from tasks.models import Prediction, PredictionFile
from tests import factories

ASTRAL = "🎉 Oslo e\u0301 and Lima, then Oslo."


@pytest.fixture
def study(researcher):
    """A person and a simulated annotator in every scenario of a span task and a label task."""
    places = factories.make_task(
        test=[
            Record("a", (ASTRAL,), "Which places are named?", ("Oslo", "Lima"), None),
            Record("b", ("We stayed in bed.",), "Which places are named?", (), None),
        ]
    )
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, title="Labels")
    study = factories.make_study(researcher, places, labels, shots=[0, 2], annotators=1)
    for scenario in study.scenarios.all():
        for kind in (Kind.PERSON, Kind.SIMULATED):
            factories.work_through(factories.seat(scenario, kind))
    return study


def export(study, folder, form):
    call_command("export_study", study.name, str(folder), form=form, stdout=StringIO())
    return folder


def stored():
    rows = Prediction.objects.values_list("example__source_id", "predicted", "s1")
    return {identity: (predicted, s1) for identity, predicted, s1 in rows}


# Inspect ----------------------------------------------------------------------------------------


def test_inspect_opens_every_log(study, tmp_path):
    folder = export(study, tmp_path / "out", "inspect")
    people = {row[0].pseudonym: row for row in other_tools.tested(study)}
    logs = [read_eval_log(info) for info in list_eval_logs(str(folder))]
    assert len(logs) == len(people) == 8
    for log in logs:
        kind, pseudonym = log.eval.model.split("/")
        participation, rows = people[pseudonym]
        assert (kind, log.status) == (participation.kind, "success")
        assert log.eval.metadata["in_analysis"] == (kind in ("person", "simulated"))
        assert log.eval.task == other_tools.place_name(participation.scenario)
        samples = {sample.id: sample for sample in log.samples}
        assert len(samples) == len(rows)
        for row in rows:
            sample = samples[row.turn.example.source_id]
            assert sample.metadata["predicted"] == row.as_given.texts
            assert sample.scores["s1"].value == row.s1
            assert sample.target == row.turn.example.gold
        mean = log.results.scores[0].metrics["mean"].value
        assert mean == pytest.approx(sum(row.s1 for row in rows) / len(rows))


def test_an_exported_log_imports_with_the_same_scores(study, tmp_path):
    folder = export(study, tmp_path / "out", "inspect")
    participation, rows = next(other_tools.tested(study))
    for log in folder.iterdir():
        if participation.pseudonym not in log.name:
            log.unlink()
    call_command("import_predictions", "echo", str(folder), by="ada", stdout=StringIO())
    assert stored() == {row.turn.example.source_id: (row.as_given.texts, row.s1) for row in rows}


def test_an_inspect_run_imports_as_predictions(study, tmp_path):
    """A built-in model of Inspect answers the test file; only the task's name is set here."""
    task = study.tasks.get(name="toy-labels")
    examples = list(task.test_split.examples.all())
    samples = [Sample(id=e.source_id, input=e.context[0], target=e.gold[0]) for e in examples]
    outputs = [ModelOutput.from_content("mockllm/model", "positive") for _ in samples]
    for output in outputs:
        output.usage = ModelUsage()  # otherwise Inspect downloads a file to count tokens
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = eval(
        Task(dataset=samples, name="toy-labels_2_1"), model=model, log_dir=str(tmp_path / "logs"),
        display="none",
    )  # fmt: skip
    assert log.status == "success", log.error
    call_command("import_predictions", "mock", str(tmp_path / "logs"), by="ada", stdout=StringIO())
    file = PredictionFile.objects.get()
    assert (file.task, file.shots, file.split_number) == (task, 2, 1)
    wanted = {e.source_id: (["positive"], float(e.gold == ["positive"])) for e in examples}
    assert stored() == wanted


def test_a_file_that_is_not_a_log_is_refused_by_name(study, tmp_path):
    (tmp_path / "toy-labels_0.eval").write_bytes(b"no archive")
    with pytest.raises(CommandError, match=r"toy-labels_0\.eval: Inspect cannot read this log"):
        call_command("import_predictions", "mock", str(tmp_path), by="ada")
    assert not PredictionFile.objects.exists()


# lm-evaluation-harness --------------------------------------------------------------------------


class Positive(LM):
    """A model of the harness that always gives the same reply."""

    tokenizer_name = ""

    def generate_until(self, requests, disable_tqdm=False):
        return ["positive" for _ in requests]

    def loglikelihood(self, requests, disable_tqdm=False):
        return [(0.0 if r.arguments[1].strip() == "positive" else -1.0, False) for r in requests]

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


def harness_task(name, data, **keys):
    return {
        "task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test", "doc_to_text": "{{context}}", **keys,
    }  # fmt: skip


GENERATED = {
    "output_type": "generate_until", "doc_to_target": "{{answer[0]}}",
    "generation_kwargs": {"until": ["\n"]}, "metric_list": [{"metric": "exact_match"}],
}  # fmt: skip
CHOSEN = {
    "output_type": "multiple_choice", "doc_to_choice": ["positive", "negative"],
    "doc_to_target": "{{answer[0]}}", "metric_list": [{"metric": "acc"}],
}  # fmt: skip


@pytest.mark.parametrize("keys", [GENERATED, CHOSEN], ids=["generated", "chosen"])
def test_a_harness_run_imports_as_predictions(study, tmp_path, keys, monkeypatch):
    """The harness runs on the test file of export_task and writes its samples."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    task = study.tasks.get(name="toy-labels")
    call_command("export_task", "toy-labels", str(tmp_path / "task"), stdout=StringIO())
    own = harness_task("toy-labels_2_1", tmp_path / "task" / "toy_test.jsonl", **keys)
    results = simple_evaluate(
        Positive(), tasks=[own], task_manager=TaskManager(include_defaults=False),
        log_samples=True, bootstrap_iters=0,
    )  # fmt: skip
    samples = results.pop("samples")
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)
    (folder,) = {path.parent for path in (tmp_path / "out").rglob("samples_*.jsonl")}
    call_command("import_predictions", "pos", str(folder), by="ada", stdout=StringIO())
    file = PredictionFile.objects.get()
    assert (file.task, file.shots, file.split_number) == (task, 2, 1)
    examples = task.test_split.examples.all()
    assert stored() == {
        e.source_id: (["positive"], float(e.gold == ["positive"])) for e in examples
    }


def test_exported_samples_have_the_format_of_the_harness(study, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = export(study, tmp_path / "out", "lm-eval")
    files = sorted(folder.rglob("samples_*.jsonl"))
    for file in files:
        task = get_file_task_name(file.name)
        (results,) = file.parent.glob("results_*.json")
        assert json.loads(results.read_text())["results"][task]["s1,none"] >= 0
    call_command("export_task", "toy-labels", str(tmp_path / "task"), stdout=StringIO())
    own = harness_task("toy-labels_0", tmp_path / "task" / "toy_test.jsonl", **GENERATED)
    theirs = simple_evaluate(
        Positive(), tasks=[own], task_manager=TaskManager(include_defaults=False),
        log_samples=True, bootstrap_iters=0,
    )["samples"]["toy-labels_0"][0]  # fmt: skip
    ours = json.loads(files[0].read_text().splitlines()[0])
    assert set(ours) == set(theirs) - {"exact_match"} | {"s1", "channel"}
    assert ours["channel"] == "page"


# Hugging Face datasets --------------------------------------------------------------------------


def test_datasets_reads_the_parquet_files(study, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    call_command("export_study", study.name, str(tmp_path / "out"), stdout=StringIO())
    files.write_parquet(tmp_path / "out" / "answers.csv", tmp_path / "answers.parquet")
    rows = Dataset.from_parquet(str(tmp_path / "answers.parquet"), cache_dir=str(tmp_path))
    assert sorted(rows["s1"]) == sorted(Answer.objects.values_list("s1", flat=True))
    assert set(rows["kind"]) == {"person", "simulated"}
