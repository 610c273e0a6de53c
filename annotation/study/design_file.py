"""A design as a TOML file or JSON object, using the keys of the manifest that researchers set.

`tasks` are names ("MNLI", or "MNLI@2" for a version), or tables with `name` and `version` as in the
manifest. The same applies to `upstream_tasks` and `sham_task` in [cross_task]. `shots`,
`annotators` and `splits` replace the manifest's scenarios, which are derived from them. An empty
string clears a field that may be empty in the form.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import models

from annotation.models import Study
from annotation.web.fields import read_amount
from tasks.models import Task

# Maps form headings to fields of the design, for the form, file, API, manifest and versions.
GROUPS: dict[str, list[str]] = {
    "Tasks and examples": [
        "title", "name", "tasks", "shots", "splits", "accepts_leakage", "annotators", "rehearsal",
    ],
    "Time and pay": [
        "estimated_minutes", "task_minutes", "hourly_rate", "currency", "max_paid_hours", "budget",
    ],
    "Further pay and idle time": [
        "base_reward", "minimum_pay", "idle_limit_hours", "idle_cutoff_seconds",
    ],
    "Order and presentation": [
        "training_order", "annotation_order", "shuffles_options", "seed", "tasks_per_worker",
        "help_examples_at_zero_shots", "try_the_tool", "auto_advance", "refuse_pastes",
        "refuse_copies", "interface_language",
    ],
    "Screening": [
        "computer_only", "programs_as_people", "comprehension_questions",
        "comprehension_attempts", "qualification", "qualification_threshold", "screening_examples",
        "max_screen_outs_in_a_row", "decision_minutes", "attention_checks",
    ],
    "Consent and questions": [
        "consent_text", "ethics_contact", "own_questions", "confidence_share", "asks_reasons",
        "exit_questionnaire",
    ],
    "Prolific": ["prolific_reward", "participants_choose_scenario", "audience"],
    "Analysis": [
        "hide_test_scores", "anchor_examples", "adjusts_for_anchors", "context_free_annotators",
        "hypotheses", "equivalence_margin", "metrics",
    ],
    "Cross-task study": ["upstream_tasks", "upstream_examples", "arms", "sham_task", "partition"],
}  # fmt: skip
FORM_FIELDS = tuple(name for names in GROUPS.values() for name in names)
LISTS = ("tasks", "upstream_tasks")  # lists of tasks, which are stored in separate tables
# Maps table keys in the file to fields of Study, which are named by field everywhere else.
TABLES = {
    "pay": {
        name: name
        for name in (
            "base_reward", "minimum_pay", "max_paid_hours", "budget", "idle_cutoff_seconds",
        )
    },
    "cross_task": {name: name for name in ("upstream_examples", "partition")},
    "qualification": {
        "rule": "qualification", "threshold": "qualification_threshold",
        "decision_minutes": "decision_minutes", "screening_examples": "screening_examples",
    },
}  # fmt: skip
TABLE_FIELDS = {
    f"{table}.{key}": field for table, keys in TABLES.items() for key, field in keys.items()
}
TASK_FIELDS = {*LISTS, "sham_task"}
# Maps keys in the file to fields of Study. Most of them are also in the manifest.
FIELDS = {
    name: name for name in FORM_FIELDS if name not in {*TABLE_FIELDS.values(), *TASK_FIELDS}
} | TABLE_FIELDS
NAMING = ("cross_task.upstream_tasks", "cross_task.sham_task")  # these also contain task names
# Accepted types, and how to describe them, for each kind of field. In Python, bool is an int.
WRITTEN: dict[type[models.Field], tuple[tuple[type, ...], str]] = {
    models.BooleanField: ((bool,), "true or false"),
    models.IntegerField: ((int,), "a whole number"),
    models.FloatField: ((int, float), "a number"),
    models.DecimalField: ((str, int, float), 'an amount, such as "12.00"'),
    models.JSONField: ((list,), "a list of whole numbers"),
    models.CharField: ((str,), "a text"),
    models.TextField: ((str,), "a text"),
}


class DesignFileError(ValueError):
    """An error in a design file or task name. The message is shown to users."""


@dataclass(frozen=True)
class DesignFile:
    """The fields and tasks in a file. Only cross-task studies have `upstream` and `sham`."""

    fields: dict[str, Any]
    tasks: list[str]
    upstream: list[str]
    sham: str

    def found(self) -> tuple[list[Task], list[Task], Task | None]:
        """Return the tasks, the upstream tasks and the sham task. Raises DesignFileError."""
        sham = task_named(self.sham) if self.sham else None
        return [*map(task_named, self.tasks)], [*map(task_named, self.upstream)], sham


def key_of(field: str) -> str:
    return next((key for key, name in FIELDS.items() if name == field), field)


def read(path: Path) -> DesignFile:
    """Read a design file without checking the rules for designs. Raises DesignFileError."""
    return from_data(str(path), data_in(path))


def data_in(path: Path) -> dict[str, Any]:
    """Return the keys and values in a file. Raises DesignFileError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise DesignFileError(f"{path}: {error}") from None
    except (RecursionError, ValueError) as error:  # an overlong number also raises this
        raise DesignFileError(f"{path}: not valid TOML: {error}") from None


def from_data(path: str, data: dict[str, Any]) -> DesignFile:
    """Convert keys and values. Error messages start with `path`. Raises DesignFileError."""
    fields, tasks, upstream, sham = {}, [], [], ""
    for key, value in _keys(path, data):
        if key == "tasks":
            tasks = _tasks(path, key, value)
        elif key == "cross_task.upstream_tasks":
            upstream = _tasks(path, key, value)
        elif key == "cross_task.sham_task":
            sham = _task(path, key, value) if value else ""
        elif key in FIELDS:
            fields[FIELDS[key]] = _value(path, key, value)
        else:
            keys = ", ".join(["tasks", *FIELDS, *NAMING])
            raise DesignFileError(f"{path}: {key}: unknown key. Known keys: {keys}.")
    return DesignFile(fields, tasks, upstream, sham)


def task_named(name: str) -> Task:
    """Return the newest unarchived version, or the one in NAME@VERSION. Raises DesignFileError."""
    base, _at, version = name.partition("@")
    # PostgreSQL rejects U+0000 in queries, but multipart fields and TOML may contain it.
    versions = Task.objects.none() if "\0" in name else Task.objects.filter(name=base)
    if _at:
        is_number = version.isascii() and version.isdecimal() and len(version) < 9
        tasks = versions.filter(version=version) if is_number else versions.none()
    else:
        tasks = versions.filter(archived_at=None)
    task = tasks.order_by("-version").first()
    if task is None and not _at and versions.exists():
        raise DesignFileError(
            f"The task {name} is archived. Restore it from the archive, or specify a version, such"
            f" as {name}@1."
        )
    if task is None:
        listed = ", ".join(t.name for t in Task.objects.latest_versions()) or "none yet"
        raise DesignFileError(f"The task {name} does not exist. Imported: {listed}.")
    return task


def as_data(study: Study) -> dict[str, Any]:
    """Return the design of a study by key, in the format that `from_data` reads."""
    data: dict[str, Any] = {"tasks": [_name(task) for task in study.tasks.order_by("name")]}
    for key, field in FIELDS.items():
        table, _dot, inner = key.rpartition(".")
        value = plain(study, field)
        (data.setdefault(table, {}) if table else data)[inner] = value
    upstream = study.upstream_tasks.order_by("name")
    data["cross_task"]["upstream_tasks"] = [_name(task) for task in upstream]
    data["cross_task"]["sham_task"] = _name(study.sham_task) if study.sham_task else ""
    return data


def plain(study: Study, field: str) -> Any:
    """Return a field's value, with amounts as text."""
    value = getattr(study, field)
    return str(value) if isinstance(value, Decimal) else value


def _name(task: Task) -> str:
    return f"{task.name}@{task.version}"


def _keys(path: str, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield keys and values, prefixing the keys with the name of their table."""
    for key, value in data.items():
        if key not in TABLES:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        else:
            raise DesignFileError(f"{path}: {key}: expected a table, [{key}].")


def _tasks(path: str, key: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise DesignFileError(f"{path}: {key}: expected a list of names.")
    return [_task(path, key, task) for task in value]


def _task(path: str, key: str, task: Any) -> str:
    """Convert a name or table to NAME or NAME@VERSION. Raises DesignFileError."""
    if isinstance(task, str):
        return task
    if isinstance(task, dict) and isinstance(task.get("name"), str):
        unknown = sorted(set(task) - {"name", "version"})
        if unknown:
            raise DesignFileError(f"{path}: {key}.{unknown[0]}: unknown key.")
        return f"{task['name']}@{task['version']}" if "version" in task else task["name"]
    raise DesignFileError(f"{path}: {key}: expected names, such as MNLI or MNLI@2.")


def _arms(path: str, arms: Any) -> list[dict[str, Any]]:
    """Check the types in [[arms]]. Raises DesignFileError."""
    kinds = {"name": str, "tasks": list, "examples": int}
    for arm in arms if isinstance(arms, list) else [None]:
        if not isinstance(arm, dict) or "name" not in arm:
            raise DesignFileError(f"{path}: arms: expected tables with a name, [[arms]].")
        for key, value in arm.items():
            are_texts = all(isinstance(task, str) for task in value) if key == "tasks" else True
            if type(value) is not kinds.get(key) or not are_texts:
                raise DesignFileError(
                    f"{path}: arms.{key}: expected the keys name (a text), tasks (a list of names)"
                    " and examples (a whole number)."
                )
    return arms


def _value(path: str, key: str, value: Any) -> Any:
    """Convert a value to the type of its field. Raises DesignFileError."""
    field = Study.design_field(FIELDS[key])
    if value in ("", None) and field.null:  # TOML has no null
        return None
    types, expected = next(entry for kind, entry in WRITTEN.items() if isinstance(field, kind))
    expected = "a list of names" if key == "metrics" else expected
    if key == "arms":
        return _arms(path, value)
    if key == "audience":  # its keys are checked along with the design
        types, expected = (dict,), "a table, [audience]"
    right = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    if right and list in types:
        right = all(type(item) is (str if key == "metrics" else int) for item in value)
    if right and isinstance(field, models.DecimalField):
        try:
            return read_amount(str(value))
        except ValueError:
            right = False
    if right and isinstance(field, models.FloatField):
        try:
            return float(value)
        except OverflowError:
            right = False
    if not right:
        raise DesignFileError(f"{path}: {key}: expected {expected}.")
    return value
