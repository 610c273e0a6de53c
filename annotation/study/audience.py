"""A design's audience: filters and content warnings on Prolific.

It is declared before the study opens and frozen with it. Whether Prolific has a country or filter
is checked when the study is created there (prolific/audience.py).
"""

from typing import Any

from tasks.formats import canonical

# Audience key -> label, and the value's format.
FIELDS = {
    "countries": ("Countries of residence", "one per line, as Prolific names them"),
    "languages": ("Fluent languages", "one per line, as Prolific names them"),
    "minimum_age": ("Minimum age", "a whole number from 18 to 100"),
    "maximum_age": ("Maximum age", "a whole number from 18 to 100"),
    "approval_rate": ("Minimum approval rate (percent)", "a number from 0 to 100"),
    "quotas": (
        "Quotas",
        "one filter per line with the share of each of its choices, such as"
        " Sex: Female 50, Male 50",
    ),
    "filters": ("Further filters", "a list of Prolific's own filter objects, in JSON"),
    "content_warning": (
        "Content warning",
        "distressing content in the texts; shown on Prolific and before the study starts",
    ),
}
AGES = (18, 100)
LONGEST_WARNING = 500  # characters


def problems(audience: Any) -> list[str]:
    """Return an audience's errors: sentences that start with the key and a colon."""
    if not isinstance(audience, dict):
        return ["audience: expected a table."]
    try:
        canonical(audience)
    except (ValueError, RecursionError):
        return ["audience: contains an invalid character or number."]
    known = ", ".join(FIELDS)
    wrong = [f"{key}: unknown key. Known keys: {known}." for key in audience if key not in FIELDS]
    for key in FIELDS:
        if key in audience and (sentence := _problem(key, audience[key])):
            wrong.append(f"{key}: {sentence}")
    lowest, highest = audience.get("minimum_age"), audience.get("maximum_age")
    if not wrong and lowest is not None and highest is not None and lowest > highest:
        wrong.append("maximum_age: less than the minimum age.")
    if not wrong and (twice := sorted(_asked_twice(audience))):
        wrong.append(f"filters: {', '.join(twice)} is set by another field of the audience.")
    return wrong


def _problem(key: str, value: Any) -> str:
    """Return that value's error, or "" if it is valid."""
    if key in ("countries", "languages"):
        right = isinstance(value, list) and all(_is_text(each) for each in value)
        if not right:
            return "expected a list of names."
        twice = [name for name in value if value.count(name) > 1]
        return f"{twice[0]} is named twice." if twice else ""
    if key in ("minimum_age", "maximum_age"):
        right = type(value) is int and AGES[0] <= value <= AGES[1]
        return "" if right else f"expected {FIELDS[key][1]}."
    if key == "approval_rate":
        right = type(value) in (int, float) and 0 <= value <= 100
        return "" if right else f"expected {FIELDS[key][1]}."
    if key == "quotas":
        return _problem_of_quotas(value)
    if key == "filters":
        return _problem_of_filters(value)
    if not isinstance(value, str) or len(value) > LONGEST_WARNING or "\0" in value:
        return f"expected a text of at most {LONGEST_WARNING} characters."
    return ""


def _problem_of_quotas(value: Any) -> str:
    if not isinstance(value, dict):
        return "expected filters, each with the shares of its choices."
    for name, shares in value.items():
        if not isinstance(shares, dict) or len(shares) < 2:
            return f"{name} needs at least two choices with their shares."
        for choice, share in shares.items():
            if type(share) not in (int, float) or not 0 < share <= 1000:
                return f"the share of {choice} in {name} must be a number above 0."
    return ""


def _problem_of_filters(value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return "expected a list of objects."
    for condition in value:
        if not _is_text(condition.get("filter_id")):
            return "each object needs a filter_id."
        if condition["filter_id"] in ("and", "or"):
            if not condition.get("selected_filters"):
                return f"{condition['filter_id']} needs selected_filters."
            if sentence := _problem_of_filters(condition["selected_filters"]):
                return sentence
        elif not isinstance(condition.get("selected_values"), list) and not isinstance(
            condition.get("selected_range"), dict
        ):
            return f"{condition['filter_id']} needs selected_values or selected_range."
    return ""


def _asked_twice(audience: dict[str, Any]) -> set[str]:
    """Return the names of Prolific's filters that two audience fields set."""
    own = {
        "age": {"minimum_age", "maximum_age"}, "approval_rate": {"approval_rate"},
        "current-country-of-residence": {"countries"}, "fluent-languages": {"languages"},
    }  # fmt: skip
    named = {condition["filter_id"] for condition in audience.get("filters", [])}
    return {name for name in named & own.keys() if own[name] & audience.keys()}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value
