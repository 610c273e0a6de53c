"""A request to the fake Prolific and its reply, as its routes take and give them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Asked:
    """One request: `body` is the JSON object or the form, whichever came."""

    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any]
    is_form: bool
    site: str  # such as http://127.0.0.1:8100
    cookie: str


@dataclass
class Reply:
    status: int
    content: Any = None  # a text is HTML, everything else JSON
    headers: tuple[tuple[str, str], ...] = ()


Route = tuple[str, str, Callable[..., Reply]]  # method, pattern of the whole path, what answers
