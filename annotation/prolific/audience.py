"""Convert a design's audience to Prolific's filters.

study/audience.py validates the audience. Choice IDs can differ between workspaces, so they are
looked up each time a study is created.
"""

from difflib import get_close_matches
from typing import Any

from annotation.models import Study
from annotation.prolific.client import Client, Json
from annotation.prolific.drafts import PlanError

# Maps keys of the audience to the ID and the title of a filter. Either identifies it.
CHOICES = {
    "countries": ("current-country-of-residence", "Current country of residence"),
    "languages": ("fluent-languages", "Fluent languages"),
}
RANGES = {
    ("age", "Age"): {"lower": "minimum_age", "upper": "maximum_age"},
    ("approval_rate", "Approval rate"): {"lower": "approval_rate"},
}


def filters(study: Study, client: Client, workspace: str) -> list[Json]:
    """Return the filters for the study's audience. Raises PlanError if Prolific lacks one."""
    held = study.audience
    wanted = {key: held[key] for key in (*CHOICES, "quotas") if held.get(key)}
    ranges = {
        names: {bound: held[key] for bound, key in bounds.items() if held.get(key) is not None}
        for names, bounds in RANGES.items()
    }
    sent: dict[str, Json] = {}
    if wanted or any(ranges.values()):
        known = client.filters(workspace)
        for key, names in CHOICES.items():
            if key in wanted:
                found = _found(known, names, key)
                ids = [_choice(found, name, key) for name in wanted[key]]
                sent[found["filter_id"]] = {
                    "filter_id": found["filter_id"], "selected_values": ids,
                }  # fmt: skip
        for names, bounds in ranges.items():
            if bounds:
                found = _found(known, names, ", ".join(RANGES[names].values()))
                sent[found["filter_id"]] = {
                    "filter_id": found["filter_id"], "selected_range": bounds,
                }  # fmt: skip
        for name, shares in wanted.get("quotas", {}).items():
            _add_quota(sent, _found(known, (name, name), "quotas"), shares)
    return [*sent.values(), *held.get("filters", [])]


def _found(known: list[Json], names: tuple[str, str], key: str) -> Json:
    """Return the filter with this ID or title. Raises PlanError."""
    for each in known:
        if each.get("filter_id") == names[0] or _same(each.get("title"), names[1]):
            return each
    titles = [str(each.get("title")) for each in known]
    raise PlanError(
        f"Audience, {key}: Prolific has no filter “{names[1]}”.{_near(names[1], titles)}"
    )


def _choice(found: Json, name: str, key: str) -> str:
    """Return the ID of the filter's choice with this name. Raises PlanError."""
    choices = found.get("choices")
    named = choices if isinstance(choices, dict) else {}
    for pk, title in named.items():
        if _same(title, name):
            return str(pk)
    raise PlanError(
        f"Audience, {key}: Prolific's filter “{found.get('title')}” has no choice"
        f" “{name}”.{_near(name, list(map(str, named.values())))}"
    )


def _add_quota(sent: dict[str, Json], found: Json, shares: dict[str, float]) -> None:
    named = {_choice(found, name, "quotas"): share for name, share in shares.items()}
    weights = dict(sorted(named.items()))  # sorted, because PostgreSQL's JSON is unordered
    condition = sent.setdefault(found["filter_id"], {"filter_id": found["filter_id"]})
    selected = condition.get("selected_values")
    if selected is not None and set(selected) != set(weights):
        raise PlanError(
            f"Audience, quotas: “{found.get('title')}” needs a share for each choice in the"
            " audience, and no others."
        )
    condition |= {"selected_values": list(weights), "weightings": weights}


def _same(title: Any, name: str) -> bool:
    return isinstance(title, str) and title.strip().casefold() == name.strip().casefold()


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=3) or sorted(known)[:5]
    return f" Similar: {', '.join(near)}." if near else ""


def warning(study: Study) -> Json:
    """Return the content warning's fields, or {} if there is no warning."""
    text = study.audience.get("content_warning", "")
    return {"content_warnings": ["sensitive"], "content_warning_details": text} if text else {}
