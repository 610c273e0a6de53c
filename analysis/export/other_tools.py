"""Answers in the formats of other tools: Inspect (inspect.aisi.org.uk) and lm-evaluation-harness.

As in answers.csv, annotators appear under pseudonyms, together with their kind. Only answers to
test examples are exported, and none by annotators who withdrew.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.models import ANALYSED, Answer, Participation, Scenario, Status, Step, Study
from tasks.datasets import making
from tasks.exporting import record_of
from tasks.models import Example
from tasks.predictions.format import as_completion


class NothingAnswered(Exception):
    """Raised if a study has nothing to export. The message is shown to users."""


def tested(study: Study) -> Iterator[tuple[Participation, list[Answer]]]:
    """Yield annotators with their answers to test examples, or raise NothingAnswered if empty."""
    people = study.participations.exclude(status=Status.WITHDRAWN)
    people = people.filter(turns__answer__isnull=False, turns__step=Step.ANNOTATION).distinct()
    people = people.annotate(analysed=ANALYSED).select_related("scenario__task")
    people = people.order_by(
        "scenario__task__name", "scenario__shots", "scenario__split_number", "scenario__arm",
        "pseudonym",
    )  # fmt: skip
    if not people.exists():
        raise NothingAnswered("There are no answers to test examples yet.")
    for participation in people.iterator(chunk_size=500):
        own = Answer.objects.filter(turn__participation=participation, turn__step=Step.ANNOTATION)
        rows = own.select_related("turn__example").prefetch_related("spans").order_by("turn")
        yield participation, list(rows)


def _metadata(participation: Participation) -> dict[str, Any]:
    """Return data on an annotator and the scenario. The keys are columns of annotators.csv."""
    study, scenario = participation.study, participation.scenario
    return {
        "study": study.name,
        "manifest": study.manifest_hash,
        "task": scenario.task.name,
        "task_version": scenario.task.version,
        "shots": scenario.shots,
        "split": scenario.split_number,
        "arm": scenario.arm,
        "annotator": participation.pseudonym,
        "kind": participation.kind,
        "status": participation.status,
        "in_analysis": bool(participation.analysed),  # type: ignore[attr-defined]  # annotated
    }


def place_name(scenario: Scenario) -> str:
    """Return the task, shots and split as in prediction file names: MNLI@1_10_3 or MNLI@1_0."""
    number = f"_{scenario.split_number}" if scenario.shots else ""
    return f"{scenario.task.name}@{scenario.task.version}_{scenario.shots}{number}"


def _mean_s1(rows: list[Answer]) -> float:
    return math.fsum(row.s1 for row in rows) / len(rows)


def _prompt(scenario: Scenario, example: Example) -> str:
    return "\n\n".join([*example.context, scenario.task.card.wording(example.question)])


# Inspect logs, one per annotator, written with Inspect's own library (inspect-ai), so that
# `read_eval_log` and the viewer can open them. The model of a log is KIND/PSEUDONYM, so that humans
# are not listed as models.


def write_inspect_logs(study: Study, folder: Path) -> dict[str, int]:
    """Write the logs and return the sample count of each file. Raises NothingAnswered."""
    from inspect_ai.log import write_eval_log

    counts = {}
    for participation, rows in tested(study):
        name = f"{place_name(participation.scenario)}_{participation.pseudonym}.eval"
        write_eval_log(_log(participation, rows), folder / name)
        counts[name] = len(rows)
    return counts


def _log(participation: Participation, rows: list[Answer]) -> Any:
    """Build an EvalLog. Its status is "success" if the entire test set was answered."""
    from inspect_ai import log

    metadata = _metadata(participation)
    card = participation.scenario.task.card
    model = f"{participation.kind}/{participation.pseudonym}"
    metrics = {"mean": log.EvalMetric(name="mean", value=_mean_s1(rows))}
    times = {
        "started_at": rows[0].turn.shown_at.isoformat(),
        "completed_at": rows[-1].submitted_at.isoformat(),
    }
    is_completed = participation.status == Status.COMPLETED
    identity = f"{participation.study.name}-{participation.pseudonym}"
    return log.EvalLog(
        status="success" if is_completed else "cancelled",
        eval=log.EvalSpec(
            eval_id=identity,
            run_id=identity,
            task_id=identity,
            created=times["started_at"],
            task=place_name(participation.scenario),
            task_version=participation.scenario.task.version,
            task_display_name=card.title,
            task_args={key: metadata[key] for key in ("shots", "split", "arm")},
            tags=[participation.kind],
            dataset=log.EvalDataset(
                name=card.name,
                samples=len(rows),
                sample_ids=[row.turn.example.source_id for row in rows],
                shuffled=True,
            ),
            model=model,
            config=log.EvalConfig(),
            packages={"handful": settings.VERSION},
            metadata=metadata,
        ),
        results=log.EvalResults(
            total_samples=len(rows),
            completed_samples=len(rows),
            scores=[log.EvalScore(name="s1", scorer="s1", metrics=metrics)],
        ),
        stats=log.EvalStats(**times),
        samples=[_eval_sample(participation.scenario, model, row) for row in rows],
    )


def _eval_sample(scenario: Scenario, model: str, row: Answer) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    card, texts = scenario.task.card, row.as_given.texts
    example = scenario.shown_example(row.turn.example)
    prompt, completion = _prompt(scenario, example), as_completion(texts)
    choices = [label.name for label in card.labels] or list(example.options)
    return EvalSample(
        id=example.source_id,
        epoch=1,
        input=prompt,
        choices=choices or None,
        target=list(example.gold),
        messages=[ChatMessageUser(content=prompt), ChatMessageAssistant(content=completion)],
        output=ModelOutput.from_content(model, completion),
        scores={"s1": Score(value=row.s1, answer=completion)},
        metadata={
            "predicted": texts,
            "spans": [span._asdict() for span in row.as_given.spans],
            "gold_rule": card.gold_rule,
            "hash": example.content_hash,
            "position": row.turn.position,
            "channel": row.channel,
        },
        started_at=row.turn.shown_at.isoformat(),
        completed_at=row.submitted_at.isoformat(),
        total_time=(row.submitted_at - row.turn.shown_at).total_seconds(),
        working_time=row.active_seconds,
    )


# Samples for EleutherAI's lm-evaluation-harness (--log_samples). Each annotator has a folder named
# KIND_PSEUDONYM, like the harness's folders for models, which contains samples_TASK_TIME.jsonl and
# results_TIME.json. Samples have one field that the harness does not write: `channel`, as in
# answers.csv. Source: lm_eval/loggers/evaluation_tracker.py and lm_eval/evaluator.py in the
# harness's repository.


def write_harness_samples(study: Study, folder: Path) -> dict[str, int]:
    """Write the folders and return the sample count of each file. Raises NothingAnswered."""
    counts = {}
    for participation, rows in tested(study):
        subfolder = folder / f"{participation.kind}_{participation.pseudonym}"
        subfolder.mkdir()
        time = rows[-1].submitted_at.strftime("%Y-%m-%dT%H-%M-%S.%f")
        scenario = participation.scenario
        task = place_name(scenario)
        file = subfolder / f"samples_{task}_{time}.jsonl"
        lines = (json.dumps(_sample(scenario, row), ensure_ascii=False) + "\n" for row in rows)
        file.write_text("".join(lines), encoding="utf-8", newline="\n")
        results = json.dumps(_results(participation, task, rows), ensure_ascii=False, indent=2)
        (subfolder / f"results_{time}.json").write_text(results + "\n", encoding="utf-8")
        counts[f"{subfolder.name}/{file.name}"] = len(rows)
    return counts


def _results(participation: Participation, task: str, rows: list[Answer]) -> dict[str, Any]:
    metadata = _metadata(participation)
    version = participation.scenario.task.version
    return {
        "results": {task: {"alias": task, "s1,none": _mean_s1(rows), "s1_stderr,none": "N/A"}},
        "configs": {task: {"task": task, "output_type": "generate_until", "metadata": metadata}},
        "versions": {task: version},
        "n-shot": {task: metadata["shots"]},
        "higher_is_better": {task: {"s1": True}},
        "n-samples": {task: {"original": len(rows), "effective": len(rows)}},
        "config": {"model": participation.kind, "model_args": metadata},
        "model_name": f"{participation.kind}/{participation.pseudonym}",
        "model_name_sanitized": f"{participation.kind}_{participation.pseudonym}",
        "handful_version": settings.VERSION,
    }


def _sample(scenario: Scenario, row: Answer) -> dict[str, Any]:
    """Build a sample. `doc_id` is the example's position in the test file, and `doc` its line."""
    example = row.turn.example
    doc = making.line(record_of(example))
    prompt = _prompt(scenario, scenario.shown_example(example))
    target, completion = as_completion(example.gold), as_completion(row.as_given.texts)
    return {
        "doc_id": example.position,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}},
        "resps": [[completion]],
        "filtered_resps": [completion],
        "filter": "none",
        "metrics": ["s1"],
        "doc_hash": _hash(json.dumps(doc, ensure_ascii=False, indent=2)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(target),
        "s1": row.s1,
        "channel": row.channel,
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
