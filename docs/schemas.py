"""Write the JSON Schemas of design files and task cards to docs/schemas: `make dictionary`.

They follow from the same declarations as the parsers. Rules that combine several keys are only in
the parsers, so a valid document can still be refused.
"""

import json
import os
import sys
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import django

DOCS = Path(__file__).resolve().parent
DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}
TASK = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object", "required": ["name"], "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "version": {"type": "integer"}},
        },
    ],
}  # fmt: skip
TASKS = {"type": "array", "items": TASK}


def _table(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": False,
    }  # fmt: skip


def card() -> dict[str, Any]:
    """The schema of task.toml, from the fields of Card."""
    from tasks.cards import KEYS, REQUIRED, Card

    kinds = get_type_hints(Card)
    properties = {name: _card_key(kinds[name], field.metadata) for name, field in KEYS.items()}
    return {"$schema": DRAFT, "title": "Task card", **_table(properties, list(REQUIRED))}


def _card_key(kind: Any, metadata: Any) -> dict[str, Any]:
    if part := metadata["part"]:
        keys = {key: {"type": "string"} for key in part.__dataclass_fields__}
        return {"type": "array", "items": _table(keys, list(keys))}
    if isinstance(check := metadata["check"], partial):
        return {"enum": list(check.args[0])}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": {"type": NAMES[get_args(kind)[0]]}}
    return {"type": NAMES[next(each for each in get_args(kind) or [kind] if each is not NoneType)]}


def design() -> dict[str, Any]:
    """The schema of a design file, from the fields of Study that it sets."""
    from annotation.study.design_file import FIELDS, NAMING, TABLES

    properties: dict[str, Any] = {"tasks": TASKS}
    properties |= {table: _table({}, []) for table in TABLES}
    for key, field in FIELDS.items():
        table, _dot, inner = key.rpartition(".")
        place = properties[table]["properties"] if table else properties
        place[inner] = _design_key(field)
    for key in NAMING:
        table, _dot, inner = key.rpartition(".")
        place = properties[table]["properties"]
        place[inner] = TASK if inner == "sham_task" else TASKS
    return {"$schema": DRAFT, "title": "Design of a study", **_table(properties, ["name", "tasks"])}


def _design_key(name: str) -> dict[str, Any]:
    from annotation.models import Study
    from annotation.study import audience
    from annotation.study.design_file import WRITTEN
    from tasks.metrics import METRICS

    field = Study.design_field(name)
    types = next(types for kind, (types, _words) in WRITTEN.items() if isinstance(field, kind))
    if name == "audience":
        schema: dict[str, Any] = _table({key: {} for key in audience.FIELDS}, [])
    elif name == "metrics":
        schema = {"type": "array", "items": {"enum": list(METRICS)}}
    elif name == "arms":
        keys: dict[str, Any] = {"name": {"type": "string"}, "examples": {"type": "integer"}}
        keys["tasks"] = {"type": "array", "items": {"type": "string"}}
        schema = {"type": "array", "items": _table(keys, ["name"])}
    elif types == (list,):
        schema = {"type": "array", "items": {"type": "integer"}}
    elif field.choices:
        schema = {"enum": [value for value, _label in field.flatchoices]}
    else:
        schema = {"type": [NAMES[each] for each in types]}
    if field.null:
        schema = {"anyOf": [schema, {"enum": ["", None]}]}
    return schema | {"description": field.help_text} if field.help_text else schema


def files() -> dict[str, str]:
    """The text of each file in docs/schemas."""
    schemas = {"design.json": design(), "task-card.json": card()}
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for name, text in files().items():
        (DOCS / "schemas" / name).write_text(text, encoding="utf-8")
