"""Answers beside the examples that they were given to: what the files for other tools are made of.

As in answers.csv workers appear under pseudonyms, every kind of worker is marked, and nothing is
written of who withdrew. Answers of an upstream step and to attention checks are left out: they are
of other tasks, and of none.
"""

import hashlib
import importlib.util
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from annotation.models import ANALYSED, Answer, Participation, Status, Step, Study
from tasks.cards import Card
from tasks.datasets import layout
from tasks.exporting import record_of
from tasks.models import Example
from tasks.predictions.completions import as_completion
from tasks.spans import GivenAnswer

STEPS = (Step.TRAINING, Step.SCREENING, Step.ANNOTATION)


class NothingAnswered(Exception):
    """Why there is nothing to write; the text is for people."""


@dataclass(frozen=True)
class Answered:
    """One answer: what was asked, what was said, its S1 and when."""

    step: str
    position: int
    example: Example
    given: GivenAnswer
    s1: float
    shown_at: datetime
    submitted_at: datetime
    active_seconds: float
    channel: str


def participations(study: Study) -> QuerySet[Participation]:
    """Who answered anything, in a fixed order, with `analysed`; not who withdrew."""
    people = study.participations.exclude(status=Status.WITHDRAWN)
    people = people.filter(turns__answer__isnull=False, turns__step__in=STEPS).distinct()
    people = people.annotate(analysed=ANALYSED).select_related("scenario__task")
    return people.order_by(
        "scenario__task__name", "scenario__shots", "scenario__split_number", "scenario__arm",
        "pseudonym",
    )  # fmt: skip


def tested(study: Study) -> Iterator[tuple[Participation, list[Answered]]]:
    """Each participation with its answers to the test examples, if there are any.

    Raises NothingAnswered where nobody has answered one.
    """
    is_empty = True
    for participation in participations(study).iterator(chunk_size=500):
        rows = [row for row in answers(participation) if row.step == Step.ANNOTATION]
        if rows:
            is_empty = False
            yield participation, rows
    if is_empty:
        raise NothingAnswered("Nobody has answered a test example yet: there is nothing to write.")


def answers(participation: Participation) -> Iterator[Answered]:
    """Its answers in the order in which they were given."""
    stored = Answer.objects.filter(turn__participation=participation, turn__step__in=STEPS)
    stored = stored.select_related("turn__example").prefetch_related("spans").order_by("turn")
    for answer in stored:
        turn = answer.turn
        yield Answered(
            turn.step, turn.position, turn.example, answer.as_given(), answer.s1, turn.shown_at,
            answer.submitted_at, answer.active_seconds, answer.channel,
        )  # fmt: skip


def about(participation: Participation) -> dict[str, Any]:
    """Who answered and where, as in annotators.csv."""
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


def place_name(participation: Participation) -> str:
    """Task, version, shots and split, as a file of predictions is named: MNLI@1_10_3, MNLI@1_0."""
    scenario = participation.scenario
    number = f"_{scenario.split_number}" if scenario.shots else ""
    return f"{scenario.task.name}@{scenario.task.version}_{scenario.shots}{number}"


# Answers as logs of Inspect (inspect.aisi.org.uk), one for each participation: needs inspect-ai. A
# log's model is KIND/PSEUDONYM, so that no list of logs shows a person as a model; its task is
# named as a file of predictions is. Written by Inspect's own library, to be opened by its
# `read_eval_log` and viewer.

INSPECT = "inspect-ai"


def has_inspect() -> bool:
    """Whether Inspect is installed."""
    return importlib.util.find_spec("inspect_ai") is not None


def write_inspect(study: Study, folder: Path) -> dict[str, int]:
    """Write the logs; return the samples of each file. Raises NothingAnswered."""
    from inspect_ai.log import write_eval_log

    counts = {}
    for participation, rows in tested(study):
        name = f"{place_name(participation)}_{participation.pseudonym}.eval"
        write_eval_log(_inspect_log(participation, rows), folder / name)
        counts[name] = len(rows)
    return counts


def _inspect_log(participation: Participation, rows: list[Answered]) -> Any:
    """An EvalLog; "success" means that the whole test was answered."""
    from inspect_ai import log

    metadata = about(participation)
    card = participation.scenario.task.card
    model = f"{participation.kind}/{participation.pseudonym}"
    mean = math.fsum(row.s1 for row in rows) / len(rows)
    metrics = {"mean": log.EvalMetric(name="mean", value=mean)}
    times = {
        "started_at": rows[0].shown_at.isoformat(),
        "completed_at": rows[-1].submitted_at.isoformat(),
    }
    done = participation.status == Status.COMPLETED
    identity = f"{participation.study.name}-{participation.pseudonym}"
    return log.EvalLog(
        status="success" if done else "cancelled",
        eval=log.EvalSpec(
            eval_id=identity,
            run_id=identity,
            task_id=identity,
            created=times["started_at"],
            task=place_name(participation),
            task_version=participation.scenario.task.version,
            task_display_name=card.title,
            task_args={key: metadata[key] for key in ("shots", "split", "arm")},
            tags=[participation.kind],
            dataset=log.EvalDataset(
                name=card.name,
                samples=len(rows),
                sample_ids=[row.example.source_id for row in rows],
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
        samples=[_inspect_sample(card, model, row) for row in rows],
    )


def _inspect_sample(card: Card, model: str, row: Answered) -> Any:
    """An EvalSample: the texts and the question as they were shown, and the answer."""
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    example, texts = row.example, row.given.texts
    asked = "\n\n".join([*example.context, card.wording(example.question)])
    said = as_completion(texts)
    choices = [label.name for label in card.labels] or list(example.options)
    return EvalSample(
        id=example.source_id,
        epoch=1,
        input=asked,
        choices=choices or None,
        target=list(example.gold),
        messages=[ChatMessageUser(content=asked), ChatMessageAssistant(content=said)],
        output=ModelOutput.from_content(model, said),
        scores={"s1": Score(value=row.s1, answer=said)},
        metadata={
            "predicted": texts,
            "spans": [span._asdict() for span in row.given.spans],
            "gold_rule": card.gold_rule,
            "hash": example.content_hash,
            "position": row.position,
            "channel": row.channel,
        },
        started_at=row.shown_at.isoformat(),
        completed_at=row.submitted_at.isoformat(),
        total_time=(row.submitted_at - row.shown_at).total_seconds(),
        working_time=row.active_seconds,
    )


# Answers as the samples that EleutherAI's lm-evaluation-harness logs (--log_samples). A folder for
# each participation, called KIND_PSEUDONYM as the harness calls that of a model, with
# samples_TASK_TIME.jsonl and results_TIME.json. The task is named as a file of predictions is.
# Samples have one field that the harness lacks: `channel`, as in answers.csv. Source:
# lm_eval/loggers/evaluation_tracker.py and lm_eval/evaluator.py of its repository.


def write_harness(study: Study, folder: Path) -> dict[str, int]:
    """Write the folders; return the samples of each file. Raises NothingAnswered."""
    counts = {}
    for participation, rows in tested(study):
        own = folder / f"{participation.kind}_{participation.pseudonym}"
        own.mkdir()
        time = rows[-1].submitted_at.strftime("%Y-%m-%dT%H-%M-%S.%f")
        task = place_name(participation)
        card = participation.scenario.task.card
        file = own / f"samples_{task}_{time}.jsonl"
        lines = (json.dumps(_harness_sample(card, row), ensure_ascii=False) + "\n" for row in rows)
        file.write_text("".join(lines), encoding="utf-8", newline="\n")
        results = json.dumps(
            _harness_results(participation, task, rows), ensure_ascii=False, indent=2
        )
        (own / f"results_{time}.json").write_text(results + "\n", encoding="utf-8")
        counts[f"{own.name}/{file.name}"] = len(rows)
    return counts


def _harness_results(
    participation: Participation, task: str, rows: list[Answered]
) -> dict[str, Any]:
    metadata = about(participation)
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


def _harness_sample(card: Card, row: Answered) -> dict[str, Any]:
    """A sample; `doc_id` is the place of the example in the test file, `doc` its line there."""
    example = row.example
    doc = layout.line(record_of(example))
    prompt = "\n\n".join([*example.context, card.wording(example.question)])
    target, said = as_completion(example.gold), as_completion(row.given.texts)
    return {
        "doc_id": example.position,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}},
        "resps": [[said]],
        "filtered_resps": [said],
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
