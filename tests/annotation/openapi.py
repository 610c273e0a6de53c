"""Record requests and replies, and check them against an OpenAPI 3.1 document.

`Recorder` wraps a WSGI application and stores each exchange. `Judge` reports any address,
parameter, field, status or type of body that the document does not define. This includes unknown
fields and parameters that JSON Schema would allow, because servers ignore them silently.
"""

import copy
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

import yaml
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass
class Exchange:
    """A request and its reply, with bodies parsed from JSON."""

    method: str
    path: str
    query: dict[str, str]
    has_token: bool
    body: Any
    status: int
    reply: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path} -> {self.status}"


class Recorder:
    """WSGI middleware that records each exchange with the API."""

    def __init__(self, app: Callable[..., list[bytes]]):
        self.app, self.seen = app, []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(raw)
        told: list[str] = []

        def note(status: str, headers: Any, *rest: Any) -> Any:
            told.append(status)
            return start_response(status, headers, *rest)

        payload = self.app(environ, note)
        if environ["PATH_INFO"].startswith(("/api/", "/.well-known/")):
            self.seen.append(
                Exchange(
                    environ["REQUEST_METHOD"],
                    environ["PATH_INFO"],
                    dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)),
                    environ.get("HTTP_AUTHORIZATION", "").startswith("Token "),
                    json.loads(raw or "null"),
                    int(told[0].split()[0]),
                    json.loads(b"".join(payload) or "null"),
                )
            )
        return payload


@dataclass
class Slips:
    """Known errors in the document and how to correct them, each with a reason."""

    # Schemas whose oneOf should be anyOf, because a value can match several choices.
    any_of: dict[str, str] = field(default_factory=dict)
    # (method, path) -> the schema that the reply actually has, and why.
    replies: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    # The schema of all error replies, and why.
    error: tuple[str, str] = ("", "")


class Judge:
    """Compares exchanges with the document, after correcting its known errors."""

    def __init__(self, text: str, slips: Slips):
        self.document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self.slips = slips
        schemas = self.document["components"]["schemas"]
        for name in slips.any_of:
            schemas[name]["anyOf"] = schemas[name].pop("oneOf")
        resource = Resource.from_contents(self.document, default_specification=DRAFT202012)
        self._registry = Registry().with_resource("urn:document", resource)
        self._formats = FormatChecker(formats=())
        self._formats.checks("date-time", raises=ValueError)(
            lambda value: not isinstance(value, str) or bool(datetime.fromisoformat(value))
        )
        self._patterns = [
            # Try addresses without a placeholder first, so that "bulk-approve" isn't read as an id.
            (re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path.rstrip("/"))) + "/?"), path)
            for path in sorted(self.document["paths"], key=lambda path: (path.count("{"), path))
        ]

    def operation(self, exchange: Exchange) -> tuple[str, dict[str, Any] | None]:
        """Return the documented path that matches, and its operation for this method."""
        for pattern, path in self._patterns:
            operation = self.document["paths"][path].get(exchange.method.lower())
            if pattern.fullmatch(exchange.path) and operation:
                return path, operation
        return "", None

    def complaints(self, exchange: Exchange) -> list[str]:
        """Return a line for each difference from the document."""
        path, operation = self.operation(exchange)
        if operation is None:
            return [f"{exchange}: no such operation"]
        faults = [*self._of_request(exchange, operation)]
        if exchange.status < 400:
            faults += self._of_reply(exchange, path, operation)
        else:
            faults += self._invalid(exchange.reply, self._named(self.slips.error[0]), "reply")
        return [f"{exchange}: {told}" for told in faults]

    def _of_request(self, exchange: Exchange, operation: dict[str, Any]) -> Iterator[str]:
        parameters = {
            each["name"]: each for each in operation.get("parameters", []) if each["in"] == "query"
        }
        needs_token = any(
            each["name"] == "Authorization" for each in operation.get("parameters", [])
        )
        if needs_token and not exchange.has_token:
            yield "no token"
        for name, text in exchange.query.items():
            if name not in parameters:
                yield f"query: there is no parameter {name}"
            else:
                schema = parameters[name].get("schema", {})
                value = int(text) if schema.get("type") == "integer" and text.isdigit() else text
                value = (
                    {"true": True, "false": False}.get(text, text)
                    if (schema.get("type") == "boolean")
                    else value
                )
                yield from self._invalid(value, schema, f"query {name}")
        for name, each in parameters.items():
            if each.get("required") and name not in exchange.query:
                yield f"query: {name} is required"
        content = operation.get("requestBody", {}).get("content", {})
        if not content:
            if exchange.body:
                yield "request: a body where there is none"
            return
        schema = content["application/json"]["schema"]
        body = {} if exchange.body is None else exchange.body
        yield from self._invalid(body, schema, "request")
        yield from self._unknown_fields(body, schema, "request")

    def _of_reply(self, exchange: Exchange, path: str, operation: dict[str, Any]) -> Iterator[str]:
        documented = operation["responses"].get(str(exchange.status))
        if documented is None:
            yield f"reply: the status {exchange.status} is not documented"
            return
        if exchange.status == 204:
            if exchange.reply is not None:
                yield "reply: a body where there is none"
            return
        schema = documented["content"]["application/json"]["schema"]
        slip = self.slips.replies.get((exchange.method, path))
        yield from self._invalid(exchange.reply, self._named(slip[0]) if slip else schema, "reply")

    def _invalid(self, value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
        absolute = json.loads(json.dumps(schema).replace('"#/', '"urn:document#/'))
        validator = Draft202012Validator(
            absolute, registry=self._registry, format_checker=self._formats
        )
        for error in validator.iter_errors(value):
            yield f"{where}, {error.json_path}: {error.message[:200]}"

    def _unknown_fields(self, value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
        """Yield fields that the schema does not name, at any depth."""
        schema = self._resolved(schema)
        if isinstance(value, list) and "items" in schema:
            for index, each in enumerate(value):
                yield from self._unknown_fields(each, schema["items"], f"{where}[{index}]")
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices and isinstance(value, dict | list):
            fitting = [
                choice for choice in choices if not list(self._invalid(value, choice, where))
            ]
            for choice in fitting[:1]:
                yield from self._unknown_fields(value, choice, where)
        elif isinstance(value, dict) and "properties" in schema:
            for name, each in value.items():
                if name not in schema["properties"]:
                    yield f"{where}: there is no field {name}"
                else:
                    inner = schema["properties"][name]
                    yield from self._unknown_fields(each, inner, f"{where}.{name}")

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    @staticmethod
    def _named(schema: str) -> dict[str, Any]:
        return {"$ref": f"#/components/schemas/{schema}"}


def changed(exchange: Exchange, **fields: Any) -> Exchange:
    """Return a copy of an exchange with these fields replaced."""
    copied = copy.deepcopy(exchange)
    for name, value in fields.items():
        setattr(copied, name, value)
    return copied
