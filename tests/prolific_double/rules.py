"""The double's checks beyond the OpenAPI document, its filters, and its prices."""

import math
import re
from decimal import Decimal

LONGEST = 24 * 60 - 1  # minutes: less than a day
# In cents: minimum per hour, recommended per hour, minimum reward for a screen-out.
PAY = {"GBP": (600, 900, 10), "USD": (800, 1200, 14)}
REQUIRED = (
    "name", "description", "prolific_id_option", "completion_codes", "total_available_places",
    "estimated_completion_time", "reward",
)  # fmt: skip
BY_GROUP = ("participant_group_allowlist", "participant_group_blocklist")
# Filter -> title, and its choices or its minimum and maximum.
FILTERS = {
    "age": ("Age", (18, 100)),
    "approval_rate": ("Approval rate", (0, 100)),
    "handedness": ("Handedness", {"0": "Right-handed", "1": "Left-handed", "2": "Ambidextrous"}),
    "sex": ("Sex", {"0": "Male", "1": "Female"}),
    "current-country-of-residence": (
        "Current country of residence",
        {"0": "United Kingdom", "1": "United States", "45": "Canada", "92": "Ireland"},
    ),
    "fluent-languages": ("Fluent languages", {"19": "English", "22": "French", "26": "German"}),
}
POPULATION, FEWEST = 130_000, 25  # people; counts below 25 are reported as 0


class FakeError(Exception):
    """An error reply with an HTTP status, a message (or messages by field), and a reason."""

    def __init__(self, status, detail, reason=""):
        super().__init__(detail)
        self.status, self.detail, self.reason = status, detail, reason


def complaints_about(study, groups, currency) -> dict[str, list[str]]:
    """Return the errors that prevent creating a study, by field; `groups` are the existing ids."""
    wrong = {name: ["is required"] for name in REQUIRED if not study.get(name)}
    if wrong:
        return wrong
    hourly, _recommended, smallest = PAY[currency]
    minutes = study["estimated_completion_time"]
    least = 2 + 2 * minutes + 2 * math.sqrt(minutes)
    if not least <= study["maximum_allowed_time"] <= LONGEST:
        wrong["maximum_allowed_time"] = [f"must be from {least:.2f} to {LONGEST}"]
    if study["reward"] < hourly * minutes / 60:
        wrong["reward"] = [f"must be at least {hourly} an hour"]
    if told := list(_about_codes(study["completion_codes"], study["reward"], groups, smallest)):
        wrong["completion_codes"] = told
    if told := list(about_filters(study["filters"] or [], groups)):
        wrong["filters"] = told
    return wrong


def _about_codes(codes, reward, groups, smallest):
    names = [each["code"] for each in codes]
    if len({*names}) < len(names):
        yield "a code is not unique"
    actions = [action for each in codes for action in each["actions"]]
    paid = [each for each in actions if each["action"] == "FIXED_SCREEN_OUT_PAYMENT"]
    if len(paid) > 1:
        yield "only one code may have FIXED_SCREEN_OUT_PAYMENT"
    for each in paid:
        if not smallest <= each["fixed_screen_out_reward"] < reward:
            yield f"fixed_screen_out_reward must be from {smallest}, below the reward"
    for each in actions:
        if each.get("participant_group") not in (None, *groups):
            yield f"no such group: {each['participant_group']}"


def about_filters(filters, groups):
    known = {name: choices for name, (_title, choices) in FILTERS.items()}
    known |= dict.fromkeys(BY_GROUP, groups)
    for each in filters:
        name = each["filter_id"]
        if name not in known:
            yield f"there is no filter {name!r}"
            continue
        for chosen in each.get("selected_values", []):
            if chosen not in known[name]:
                yield f"{name}: there is no {chosen}"


def listed_filters(groups) -> list[dict]:
    """Return the filters with their current choices; `groups` are names by id."""
    shown = [
        {"filter_id": name, "title": name.replace("_", " ").capitalize(), "type": "select",
         "data_type": "ParticipantGroupID", "choices": groups}
        for name in BY_GROUP
    ]  # fmt: skip
    for name, (title, known) in FILTERS.items():
        form = {"type": "select", "data_type": "ChoiceID", "choices": known}
        if isinstance(known, tuple):
            form = {"type": "range", "data_type": "integer", "min": known[0], "max": known[1]}
        shown.append({"filter_id": name, "title": title, **form})
    return shown


def cents_of(amount: str) -> int | None:
    """Convert an amount such as 1.50 or 30 to cents; return None if it is invalid or 0."""
    is_amount = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,2})?", amount)
    return int(Decimal(amount) * 100) or None if is_amount else None


def fee_on(cents: int) -> int:
    """Return the platform's fee in cents, a third of the payment."""
    return -(-cents // 3)
