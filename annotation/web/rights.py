"""The rights required for POST requests on pages and in the API, and their audit log topics.

A page and its API counterpart look up the same row of rights.toml (`right_to`), so both require the
same right. tests/annotation/web/test_rights.py compares the rows with the URLs that exist.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.models import Topic


@dataclass(frozen=True)
class Post:
    """The right that a page's POST request requires, and its API counterpart.

    `right` is one of models.study.RIGHTS, or "" for pages outside studies, where users may change
    their own objects. `topic` is that of the audit log entry that the middleware adds if the step
    did not write one (config/audit.py), or None if signals write all entries or `unlogged` explains
    why none are written. Polling (`is_polled`) is recorded at most once an hour. `twin` is the URL
    name of the API counterpart, and `reason` explains why it is missing.
    """

    right: str = ""
    topic: Topic | None = None
    twin: str = ""
    reason: str = ""
    is_polled: bool = False
    unlogged: str = ""


_TABLES = tomllib.loads(Path(__file__).with_name("rights.toml").read_text(encoding="utf-8"))


def _post(row: dict[str, Any]) -> Post:
    """Convert a row. Raises KeyError, ValueError or TypeError if it contains an unknown name."""
    topic = Topic(row["topic"]) if "topic" in row else None
    reasons = {key: _TABLES["reasons"][row[key]] for key in ("reason", "unlogged") if key in row}
    return Post(**row | reasons | {"topic": topic})


POSTS = {name: _post(row) for name, row in _TABLES["posts"].items()}


def right_to(page: str) -> str:
    return POSTS[page].right
