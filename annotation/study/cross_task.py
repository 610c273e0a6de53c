"""Cross-task studies: does training on other tasks improve performance on an unseen task?

People can't unlearn, so each arm has different annotators. They first train on the upstream tasks
(*upstream*), on as many examples of one neutral task (*sham*), or not at all (*direct*). Then all
arms have the same training and test on an unseen task. A design can replace *upstream* with several
named arms, which differ in their tasks or examples; *sham* is then as long as the longest of them.
Opening the study freezes a pool of training examples that share no text with an unseen task or with
another task in the pool. All upstream arms draw from the same pool.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from annotation.models import Arm, Participation, Qualification, Step, Study, UpstreamExample
from tasks import frozen
from tasks.columns import grouped
from tasks.formats import digest_of
from tasks.gym import catalogue
from tasks.images import image_in
from tasks.models import Example, Split, Task
from tasks.models.choices import ARM_NAME, CELL_ARMS

FEWEST_WORDS = 4  # minimum length of a segment that identifies a text; "yes" occurs in many tasks
Refuse = Callable[[str, str], None]
# Maps each arm to the names of its training tasks, and the number of examples from each.
Training = dict[str, tuple[list[str], int]]


def arms(study: Study) -> list[str]:
    """Return the names of a study's arms, starting with the upstream arms."""
    names = [arm["name"] for arm in study.arms] or [str(Arm.UPSTREAM)]
    return [*names, str(Arm.SHAM), str(Arm.DIRECT)] if study.is_cross_task else [str(Arm.NONE)]


def training(study: Study, upstream: Sequence[Task] | None = None) -> Training:
    """Return the training of each arm, in the order of `arms`, or {} if not a cross-task study."""
    if not study.is_cross_task:
        return {}
    tasks = study.upstream_tasks.all() if upstream is None else upstream
    sham = [study.sham_task.name] if study.sham_task else []
    examples = study.upstream_examples or 0
    return _training(sorted(task.name for task in tasks), sham, examples, study.arms)


def training_in(frozen: dict[str, Any]) -> Training:
    """Return the same as `training`, from the `cross_task` entry of a manifest."""
    if "upstream_arms" in frozen:
        return {arm: tuple(frozen["upstream_arms"][arm]) for arm in frozen["arms"]}
    upstream, sham = (
        [pool["task"] for pool in frozen["pools"] if pool["arm"] == arm]
        for arm in (Arm.UPSTREAM, Arm.SHAM)
    )
    return _training(upstream, sham, frozen["upstream_examples"], [])


def _training(
    upstream: list[str], sham: list[str], default: int, arms: list[dict[str, Any]]
) -> Training:
    by_arm = {
        arm["name"]: (sorted(arm.get("tasks") or upstream), arm.get("examples") or default)
        for arm in arms or [{"name": str(Arm.UPSTREAM)}]
    }
    longest = max(len(tasks) * examples for tasks, examples in by_arm.values())
    return by_arm | {str(Arm.SHAM): (sham, longest), str(Arm.DIRECT): ([], 0)}


def lengths(study: Study) -> dict[str, int]:
    """Map arms to the number of examples in the upstream step, or {} if not a cross-task study."""
    return {arm: len(tasks) * examples for arm, (tasks, examples) in training(study).items()}


def check(study: Study, tasks: Sequence[Task], upstream: Sequence[Task], refuse: Refuse) -> None:
    """Call `refuse(field, sentence)` for each rule of cross-task designs that is violated."""
    if not study.is_cross_task:
        if upstream:
            refuse("upstream_examples", "Enter the number of examples of each upstream task.")
        for field in ("sham_task", "partition", "arms"):
            if getattr(study, field):
                refuse(field, "This is only for cross-task studies, so leave it blank.")
        return
    if not upstream:
        refuse("upstream_tasks", "Choose at least one upstream task.")
    if study.sham_task is None:
        refuse("sham_task", "Choose the neutral task of the sham arm.")
    if study.tasks_per_worker != 1:
        refuse("tasks_per_worker", "Enter 1, because each annotator takes part in only one arm.")
    if study.qualification != Qualification.NONE:
        refuse("qualification", "Screening after training would select each arm differently.")
    if study.participants_choose_scenario:
        refuse("participants_choose_scenario", "Arms of a cross-task study cannot be chosen.")
    if study.anchor_examples:
        refuse("anchor_examples", "Enter 0, because anchors would show the unseen task first.")
    _check_names(study, tasks, upstream, refuse)
    if not _arms_are_right(study, upstream, refuse):
        return
    _check_partition(study, tasks, upstream, refuse)
    if study.sham_task is not None and study.upstream_examples:
        for arm, task, number in _demand(study, upstream):
            size = len(_pool(task, number, _texts_of_unseen(study, tasks)))
            if size < number:
                field = "sham_task" if arm == Arm.SHAM else "upstream_tasks"
                refuse(field, f"{task.name}: needs {number} training examples that share no text"
                       f" with an unseen task, but has {size}.")  # fmt: skip


def _check_names(
    study: Study, tasks: Sequence[Task], upstream: Sequence[Task], refuse: Refuse
) -> None:
    """Reject tasks used in two roles, even if in different versions."""
    unseen, trained = {task.name for task in tasks}, [task.name for task in upstream]
    for name in sorted({name for name in trained if trained.count(name) > 1}):
        refuse("upstream_tasks", f"{name} is chosen twice.")
    for name in sorted(unseen.intersection(trained)):
        refuse("upstream_tasks", f"{name} is an unseen task and cannot be used for training.")
    if study.sham_task is not None and study.sham_task.name in unseen.union(trained):
        refuse("sham_task", f"{study.sham_task.name} is also an unseen or an upstream task.")


def _arms_are_right(study: Study, upstream: Sequence[Task], refuse: Refuse) -> bool:
    """Reject arms with unsuitable names, tasks or numbers, and return whether all are valid."""
    problems, names = [], [task.name for task in upstream]
    arm_names = [arm["name"] for arm in study.arms]
    for arm in study.arms:
        name, trains = arm["name"], arm.get("tasks") or names
        if not re.match(ARM_NAME, name):
            problems.append(f"{name!r}: use up to 20 lower-case letters, digits, dots and hyphens.")
        if name in (*Step.values, *Arm.values):  # exports also contain names of steps
            problems.append(f"{name} is the name of a step or of another arm.")
        if arm_names.count(name) > 1:
            problems.append(f"{name} is named twice.")
        if arm.get("examples", 1) < 1:
            problems.append(f"{name}: enter at least 1 example.")
        if len(set(trains)) < len(trains):
            problems.append(f"{name}: a task is named twice.")
        problems += [
            f"{name}: {task} is not an upstream task." for task in trains if task not in names
        ]
    used = {task for arm in study.arms for task in arm.get("tasks") or names}
    if study.arms:
        problems += [f"{task} isn't in any arm." for task in names if task not in used]
    for problem in dict.fromkeys(problems):
        refuse("arms", problem)
    return not problems


def _check_partition(
    study: Study, tasks: Sequence[Task], upstream: Sequence[Task], refuse: Refuse
) -> None:
    if not study.partition:
        return
    published = catalogue.partitions().get(study.partition)
    if published is None:
        refuse("partition", f"The partition {study.partition} does not exist.")
        return
    offered = catalogue.offer(published)
    for field, selected, allowed in (
        ("tasks", tasks, offered.unseen([task.name for task in tasks])),
        ("upstream_tasks", upstream, offered.upstream),
    ):
        for name in [task.name for task in selected if task.name not in allowed]:
            refuse(field, f"{name}: {_why_outside(name, offered, field)}.")
        for task in selected:
            if (length := frozen.median_words(task)) > catalogue.MOST_WORDS:
                limit = f"tasks of a partition have at most {catalogue.MOST_WORDS}"
                refuse(field, f"{task.name}: its median example has {length} words; {limit}.")


def left_out(study: Study) -> str:
    """Return a sentence about excluded tasks of the partition, or ""."""
    if not study.partition:
        return ""
    used = (
        list(tasks.values_list("name", flat=True)) for tasks in (study.tasks, study.upstream_tasks)
    )
    return catalogue.left_out(study.partition, *used)


def _why_outside(name: str, offered: catalogue.Partition, field: str) -> str:
    if name in offered.leaked:
        return f"the published {offered.name} lists it twice, so it cannot be used here"
    if field == "tasks" and name in offered.dev:
        return "a development task can only be unseen in a pilot without held-out tasks"
    kind = "held-out" if field == "tasks" else "upstream"
    return catalogue.why_not(name) or f"it is not one of the {kind} tasks of {offered.name}"


def _demand(study: Study, upstream: Sequence[Task]) -> Iterator[tuple[str, Task, int]]:
    """Yield (arm of the pool, task, largest number of its examples in any arm)."""
    by_arm = training(study, upstream)
    sham = by_arm.pop(Arm.SHAM)
    for task in sorted(upstream, key=lambda task: task.name):
        yield Arm.UPSTREAM, task, max(n for tasks, n in by_arm.values() if task.name in tasks)
    if study.sham_task is not None:
        yield Arm.SHAM, study.sham_task, sham[1]


# Texts --------------------------------------------------------------------------------------------


def texts_of(context: Iterable[str]) -> set[str]:
    """Return hashes of the images and long segments or, if there are none, of the whole context."""
    long = [s.strip() for s in context if len(s.split()) >= FEWEST_WORDS or image_in(s)]
    return {hashlib.sha256(text.encode()).hexdigest() for text in long or ["\n".join(context)]}


def _texts_of_unseen(study: Study, tasks: Sequence[Task]) -> set[str]:
    """Return hashes of all texts in all files of the unseen tasks."""
    rows = Example.objects.filter(split__task__in=[task.pk for task in tasks])
    return {
        text for context in rows.values_list("context", flat=True) for text in texts_of(context)
    }


def _pool(task: Task, number: int, used: set[str]) -> list[Example]:
    """Return a task's training examples that share no text with `used` or with each other.

    They come, in file order, from the smallest training file that contains enough of them together
    with its development file, or else from the largest. The paper trains on both files, too.
    """
    pool: list[Example] = []
    trained = Example.objects.filter(split__task=task, split__kind__in=["train", "dev"])
    splits = task.splits.filter(kind=Split.Kind.TRAIN).order_by("shots", "number")
    for split in splits:
        pool, met = [], set(used)
        files = trained.filter(split__shots=split.shots, split__number=split.number)
        for example in files.order_by("-split__kind", "position"):
            texts = texts_of(example.context)
            if met.isdisjoint(texts):
                pool.append(example)
                met |= texts
        if len(pool) >= number:
            break
    return pool


# The frozen pool ----------------------------------------------------------------------------------


def freeze(study: Study) -> None:
    """Store the training pools. Each text occurs in only one task. Raises ValidationError."""
    if not study.is_cross_task:
        return
    for arm, task, number, pool in _unfrozen(study):
        if len(pool) < number:
            raise ValidationError(
                f"{task.name} has {len(pool)} training examples that share no text with another"
                f" task of the study, but {number} are needed."
            )
        UpstreamExample.objects.bulk_create(
            UpstreamExample(study=study, arm=arm, task=task, example=example, position=position)
            for position, example in enumerate(pool)
        )


def _unfrozen(study: Study) -> Iterator[tuple[str, Task, int, list[Example]]]:
    """Yield (arm, task, number of examples per person, pool), as frozen on opening."""
    used = _texts_of_unseen(study, list(study.tasks.all()))
    for arm, task, number in _demand(study, list(study.upstream_tasks.all())):
        pool = _pool(task, number, used)
        used |= {text for example in pool for text in texts_of(example.context)}
        yield arm, task, number, pool


def manifest(study: Study) -> dict[str, Any] | None:
    """Return the additional manifest entries of a cross-task study, or None for other studies."""
    if not study.is_cross_task:
        return None
    return {
        "partition": study.partition,
        "upstream_examples": study.upstream_examples,
        "arms": arms(study),
        # The tasks of each arm, and how many examples of each of them.
        **({"upstream_arms": training(study)} if study.arms else {}),
        "pools": [_pool_of(rows) for rows in pools(study).values()],
    }


def pools(study: Study) -> dict[tuple[str, str], list[UpstreamExample]]:
    """Return the frozen pools by (upstream or sham, task name), sorted by both."""
    rows: QuerySet[UpstreamExample] = study.upstream_pool.select_related("task", "example")
    ordered = rows.order_by("arm", "task__name", "position")
    return grouped(((row.arm, row.task.name), row) for row in ordered)


def _pool_of(rows: list[UpstreamExample]) -> dict[str, Any]:
    task = rows[0].task
    return {
        "arm": rows[0].arm,
        "task": task.name,
        "version": task.version,
        "content_hash": task.content_hash,
        "card": task.card.as_dict(),
        "examples": len(rows),
        "sha256": digest_of(row.example.content_hash for row in rows),
    }


# The training of a single annotator --------------------------------------------------------------


def draw(participation: Participation) -> list[int]:
    """Return the keys of an annotator's examples in the upstream step, in order.

    Returns [] for arms without such a step. Tasks are in random order, each with as many examples
    as the arm has. The draw depends on the study's seed and the pseudonym, so it can be reproduced.
    """
    scenario, study = participation.scenario, participation.study
    tasks, examples = training(study).get(scenario.arm, ([], 0))
    rows = study.upstream_pool.filter(task__name__in=tasks).order_by("task__name", "position")
    pools = grouped(rows.values_list("task__name", "example_id"))
    return order_of(pools, examples, f"{study.seed}:{participation.pseudonym}:upstream")


def order_of(pools: dict[str, list[int]], number: int, seed: str) -> list[int]:
    """Draw an order: shuffle the tasks (given by name), then sample from the pool of each task."""
    rng = random.Random(seed)
    names = list(pools)
    rng.shuffle(names)
    return [example for name in names for example in rng.sample(pools[name], number)]


def samples(study: Study, arm: str) -> list[Example]:
    """Return the examples for one person, from the start of each pool. Used in previews."""
    tasks, number = training(study).get(arm, ([], 0))
    if not tasks:
        return []
    examples = {
        name: [row.example for row in rows] for (_arm, name), rows in pools(study).items()
    } or {task.name: pool for _arm, task, _number, pool in _unfrozen(study)}
    return [example for name in tasks for example in examples[name][:number]]


def length(study: Study, arm: str) -> int:
    return 0 if arm in CELL_ARMS else lengths(study).get(arm, 0)


def trained_first(study: Study) -> list[Task]:
    """Return the upstream tasks and the sham task by name, or [] if not a cross-task study."""
    return sorted(study.trained_tasks, key=lambda task: task.name) if study.is_cross_task else []
