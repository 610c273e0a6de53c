"""The rows of the exported files that only a cross-task study fills."""

from collections.abc import Iterator
from typing import Any

from analysis.tables import cross_task
from analysis.tables.answer_texts import texts_of, texts_of_upstream
from analysis.tables.performance import kinds
from analysis.values import cell, json_list, number
from annotation.models import Step, Study, Turn
from annotation.study.cross_task import pools
from tasks.columns import in_files
from tasks.csv_files import moment


def pool_rows(study: Study) -> Iterator[list[Any]]:
    """Every example that an arm may be trained on, in the order of the frozen pools."""
    for (arm, task), rows in pools(study).items():
        card = rows[0].task.card
        for row in rows:
            example = row.example
            yield [
                study.name, study.manifest_hash, arm, task, row.task.version, row.position,
                example.source_id, json_list(example.context), example.question,
                json_list(example.options) if example.options else "", json_list(example.gold),
                card.gold_rule, example.content_hash,
            ]  # fmt: skip


def upstream_rows(study: Study) -> Iterator[list[Any]]:
    """One row per turn of an upstream step; annotators by pseudonym, each in its order."""
    turns = Turn.objects.filter(participation__study=study, step=Step.UPSTREAM)
    turns = turns.order_by("participation__pseudonym", "position")
    texts = dict(texts_of_upstream(study))
    names = {
        row.example_id: (row.task.name, row.task.version)
        for rows in pools(study).values()
        for row in rows
    }
    rows = turns.values_list(
        "pk", "participation__pseudonym", "participation__scenario__arm", "position",
        "example_id", "example__source_id", "example__content_hash", "shown_at",
        "answer__submitted_at", "answer__label", "answer__values", "answer__s1",
        "answer__active_seconds", "channel", "answer__channel",
    )  # fmt: skip
    for (
        pk, who, arm, position, example, source, digest, shown, submitted, label, values, s1,
        active, shown_by, came_by,
    ) in rows.iterator(chunk_size=2000):  # fmt: skip
        is_given = submitted is not None
        given = texts_of(label, texts.get(pk, ()), values)
        yield [
            study.name, study.manifest_hash, who, arm, position, *names[example], source, digest,
            json_list(given) if is_given else "", number(s1) if is_given else "", moment(shown),
            moment(submitted) if is_given else "", number(active) if is_given else "",
            shown_by, came_by or "",
        ]  # fmt: skip


def gains_rows(study: Study) -> Iterator[list[Any]]:
    """One row per kind, contrast of two arms, and unseen task or all of them."""
    if not study.is_cross_task:
        return
    for kind in kinds(study):
        for row in cross_task.gains(study, kind):
            values = (cell(column.stored(row)) for column in in_files(cross_task.GAINS))
            yield [study.name, study.manifest_hash, *values]


ROWS = {
    "upstream_pool.csv": pool_rows,
    "upstream.csv": upstream_rows,
    "gains.csv": gains_rows,
}
