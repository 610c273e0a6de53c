"""Conversion of a design's audience to Prolific's filters.

The audience is validated by study/audience.py. IDs of choices can differ between workspaces, so
they are looked up whenever a study is created.
"""

from difflib import get_close_matches
from typing import Any

from annotation.models import Study
from annotation.prolific.client import Client, Json
from annotation.prolific.drafts import PlanError

# Maps each key of an audience to a filter's ID and title, either of which identifies it.
CHOICES = {
    "countries": ("current-country-of-residence", "Current country of residence"),
    "languages": ("fluent-languages", "Fluent languages"),
}
RANGES = {
    ("age", "Age"): {"lower": "minimum_age", "upper": "maximum_age"},
    ("approval_rate", "Approval rate"): {"lower": "approval_rate"},
}


def filters(study: Study, client: Client, workspace: str) -> list[Json]:
    """Return the filters for the study's audience. Raises PlanError if Prolific lacks any."""
    spec = {key: value for key, value in study.audience.items() if value not in (None, [], {})}
    available = client.filters(workspace) if spec.keys() - {"filters", "content_warning"} else []
    selected: dict[str, Json] = {}
    for key, names in CHOICES.items():
        if key in spec:
            match = _filter(available, names, key)
            values = [_choice(match, name, key) for name in spec[key]]
            pk = match["filter_id"]
            selected[pk] = {"filter_id": pk, "selected_values": values}
    for names, bounds in RANGES.items():
        if limits := {bound: spec[key] for bound, key in bounds.items() if key in spec}:
            pk = _filter(available, names, ", ".join(bounds.values()))["filter_id"]
            selected[pk] = {"filter_id": pk, "selected_range": limits}
    for name, shares in spec.get("quotas", {}).items():
        _add_quota(selected, _filter(available, (name, name), "quotas"), shares)
    return [*selected.values(), *spec.get("filters", [])]


def _filter(available: list[Json], names: tuple[str, str], key: str) -> Json:
    """Return the filter with this ID or title. Raises PlanError."""
    for candidate in available:
        if candidate.get("filter_id") == names[0] or _matches(candidate.get("title"), names[1]):
            return candidate
    titles = [str(candidate.get("title")) for candidate in available]
    raise PlanError(
        f"Audience, {key}: Prolific has no filter “{names[1]}”.{_near(names[1], titles)}"
    )


def _choice(match: Json, name: str, key: str) -> str:
    """Return the ID of the choice with this name in the filter. Raises PlanError."""
    choices = match.get("choices")
    titles = choices if isinstance(choices, dict) else {}
    for pk, title in titles.items():
        if _matches(title, name):
            return str(pk)
    raise PlanError(
        f"Audience, {key}: Prolific's filter “{match.get('title')}” has no choice"
        f" “{name}”.{_near(name, list(map(str, titles.values())))}"
    )


def _add_quota(conditions: dict[str, Json], match: Json, shares: dict[str, float]) -> None:
    shares_by_id = {_choice(match, name, "quotas"): share for name, share in shares.items()}
    weights = dict(sorted(shares_by_id.items()))  # sorted, because PostgreSQL's JSON is unordered
    condition = conditions.setdefault(match["filter_id"], {"filter_id": match["filter_id"]})
    selected = condition.get("selected_values")
    if selected is not None and set(selected) != set(weights):
        raise PlanError(
            f"Audience, quotas: “{match.get('title')}” needs a share for each choice in the"
            " audience, and no others."
        )
    condition |= {"selected_values": list(weights), "weightings": weights}


def _matches(title: Any, name: str) -> bool:
    return isinstance(title, str) and title.strip().casefold() == name.strip().casefold()


def _near(name: str, titles: list[str]) -> str:
    near = get_close_matches(name, titles, n=3) or sorted(titles)[:5]
    return f" Similar: {', '.join(near)}." if near else ""


def warning(study: Study) -> Json:
    """Return the fields for the content warning, or {} if the study has none."""
    text = study.audience.get("content_warning", "")
    return {"content_warnings": ["sensitive"], "content_warning_details": text} if text else {}
