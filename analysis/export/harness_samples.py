"""Answers as samples for EleutherAI's lm-evaluation-harness (--log_samples).

Each annotator has a folder named KIND_PSEUDONYM, like the harness's folders for models, which
contains samples_TASK_TIME.jsonl and results_TIME.json. TASK is written as in prediction file names.
Samples have one field that the harness does not write: `channel`, as in answers.csv. Source:
lm_eval/loggers/evaluation_tracker.py and lm_eval/evaluator.py in the harness's repository.
"""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.export import answered
from annotation.models import Answer, Participation, Scenario, Study
from tasks.datasets import making
from tasks.exporting import record_of
from tasks.predictions.format import as_completion


def write(study: Study, folder: Path) -> dict[str, int]:
    """Write the folders and return the sample count of each file. Raises NothingAnswered."""
    counts = {}
    for participation, rows in answered.tested(study):
        subfolder = folder / f"{participation.kind}_{participation.pseudonym}"
        subfolder.mkdir()
        time = rows[-1].submitted_at.strftime("%Y-%m-%dT%H-%M-%S.%f")
        task = answered.place_name(participation)
        scenario = participation.scenario
        file = subfolder / f"samples_{task}_{time}.jsonl"
        lines = (json.dumps(_sample(scenario, row), ensure_ascii=False) + "\n" for row in rows)
        file.write_text("".join(lines), encoding="utf-8", newline="\n")
        results = json.dumps(_results(participation, task, rows), ensure_ascii=False, indent=2)
        (subfolder / f"results_{time}.json").write_text(results + "\n", encoding="utf-8")
        counts[f"{subfolder.name}/{file.name}"] = len(rows)
    return counts


def _results(participation: Participation, task: str, rows: list[Answer]) -> dict[str, Any]:
    metadata = answered.metadata(participation)
    version = participation.scenario.task.version
    mean = math.fsum(row.s1 for row in rows) / len(rows)
    return {
        "results": {task: {"alias": task, "s1,none": mean, "s1_stderr,none": "N/A"}},
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
    seen_example, card = scenario.shown_example(example), scenario.task.card
    prompt = "\n\n".join([*seen_example.context, card.wording(seen_example.question)])
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
