"""Answers as Inspect logs (inspect.aisi.org.uk), one per annotator. Requires inspect-ai.

The model of a log is KIND/PSEUDONYM, so that humans are not listed as models. The task is written
as in prediction file names. Logs are written with Inspect's own library, so that `read_eval_log`
and the viewer can open them.
"""

import math
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.export import answered
from annotation.models import Answer, Participation, Scenario, Status, Study
from tasks.predictions.format import as_completion


def write(study: Study, folder: Path) -> dict[str, int]:
    """Write the logs and return the sample count of each file. Raises NothingAnswered."""
    from inspect_ai.log import write_eval_log

    counts = {}
    for participation, rows in answered.tested(study):
        name = f"{answered.place_name(participation)}_{participation.pseudonym}.eval"
        write_eval_log(_log(participation, rows), folder / name)
        counts[name] = len(rows)
    return counts


def _log(participation: Participation, rows: list[Answer]) -> Any:
    """Build an EvalLog. Its status is "success" if the entire test set was answered."""
    from inspect_ai import log

    metadata = answered.metadata(participation)
    card = participation.scenario.task.card
    model = f"{participation.kind}/{participation.pseudonym}"
    mean = math.fsum(row.s1 for row in rows) / len(rows)
    metrics = {"mean": log.EvalMetric(name="mean", value=mean)}
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
            task=answered.place_name(participation),
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
        samples=[_sample(participation.scenario, model, row) for row in rows],
    )


def _sample(scenario: Scenario, model: str, row: Answer) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    card, texts = scenario.task.card, row.as_given.texts
    example = scenario.shown_example(row.turn.example)
    prompt = "\n\n".join([*example.context, card.wording(example.question)])
    completion = as_completion(texts)
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
