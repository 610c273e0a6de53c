"""The manifest: everything that determines what annotators see and what is analysed.

It is written and hashed as canonical JSON when a study opens (study/lifecycle.py), and never
changes once any participant has taken a seat.
"""

from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import Study
from annotation.pay import ledger
from annotation.study import consequences, cross_task, design_file, screening
from annotation.study.screening import OTHERS_NEEDED
from tasks.formats import digest_of
from tasks.metrics import recipe
from tasks.models import Example, Split, Task
from tasks.tokens import TOKENISER


def build_manifest(study: Study) -> dict[str, Any]:
    tasks = study.tasks.order_by("name")
    return {
        **{
            key: design_file.plain(study, field)
            for key, field in design_file.FIELDS.items()
            if "." not in key and key not in ("shots", "splits", "annotators", "arms")
        },
        "tasks": [_task(task, study) for task in tasks],
        "scenarios": [
            {
                "task": s.task.name,
                "shots": s.shots,
                "split": s.split_number,
                "seats": s.seats,
                "minutes": s.estimated_minutes,
            }
            | ({"arm": s.arm} if s.arm else {})
            for s in study.scenarios.select_related("task").order_by(
                "task__name", "shots", "split_number", "arm"
            )
        ],
        "cross_task": cross_task.manifest(study),
        "pay": _pay(study),
        "qualification": {
            key: design_file.plain(study, field)
            for key, field in design_file.TABLES["qualification"].items()
        }
        | {"others_needed": OTHERS_NEEDED.get(study.qualification, 0)},
        "screening_hashes": {
            task.name: [example.content_hash for example in screening.examples(study, task)]
            for task in (tasks if study.screening_examples else [])
        },
        "anchor_hashes": {
            task.name: [example.content_hash for example in screening.anchors(study, task)]
            for task in (tasks if study.anchor_examples else [])
        },
        "attention_check_hashes": {
            task.name: _check_hashes(task) for task in (tasks if study.attention_checks else [])
        },
        "data_warnings": consequences.design_warnings(
            study, study.tasks.with_reports().order_by("name")
        ),
        "tokeniser": TOKENISER,
    }


def _task(task: Task, study: Study) -> dict[str, Any]:
    return {
        "name": task.name,
        "version": task.version,
        "content_hash": task.content_hash,
        "rechained": task.rechained,
        "card": task.card.as_dict(),
        "recipe": recipe(task.card.gold_rule, metric=task.card.metric),
        "splits": [_split(split) for split in splits_of(study, task)],
    }


def splits_of(study: Study, task: Task) -> QuerySet[Split]:
    """Return the task files that the study shows: training splits and test, in order."""
    trained = study.scenarios.filter(task=task, shots__gt=0).values("shots", "split_number")
    train = Q(pk__in=[])
    for scenario in trained.order_by("shots"):
        train |= Q(shots=scenario["shots"], number=scenario["split_number"])
    is_test = Q(kind=Split.Kind.TEST)
    return task.splits.filter(is_test | train & Q(kind=Split.Kind.TRAIN)).order_by("kind", "shots")


def _split(split: Split) -> dict[str, Any]:
    """Return a file's entry, whose SHA-256 covers the hashes of its examples in order."""
    hashes = list(split.examples.order_by("position").values_list("content_hash", flat=True))
    return {
        "kind": split.kind,
        "shots": split.shots,
        "number": split.number,
        "examples": len(hashes),
        "sha256": digest_of(hashes),
    }


def _pay(study: Study) -> dict[str, Any]:
    cap = ledger.cap(study)
    return {
        **{
            key: design_file.plain(study, field)
            for key, field in design_file.TABLES["pay"].items()
            if key != "idle_cutoff_seconds"
        },
        # The maximum earnings per person, not counting bonuses.
        "cap": None if cap is None else ledger.in_currency(cap),
        "active_time": f"sum of min(gap, {study.idle_cutoff_seconds} s) between signs of work",
    }


def _check_hashes(task: Task) -> list[str]:
    examples = Example.objects.filter(split__task=task, split__kind=Split.Kind.CHECK)
    return list(examples.order_by("position").values_list("content_hash", flat=True))
