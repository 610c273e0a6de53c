"""What the fake Prolific accepts: studies, completion codes, amounts; pure functions."""

import re
from typing import Any

GROUP_FILTERS = ("participant_group_allowlist", "participant_group_blocklist")
ACTIONS = {
    "AUTOMATICALLY_APPROVE",
    "MANUALLY_REVIEW",
    "FIXED_SCREEN_OUT_PAYMENT",
    "REQUEST_RETURN",
    "ADD_TO_PARTICIPANT_GROUP",
    "REMOVE_FROM_PARTICIPANT_GROUP",
}
REJECTION_CATEGORIES = {
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
}
TEXTS = ("name", "description", "external_study_url", "prolific_id_option")
ID_OPTIONS = ("url_parameters", "question", "not_required")
WHOLE_NUMBERS = (
    "reward",
    "total_available_places",
    "estimated_completion_time",
    "maximum_allowed_time",
)


class FakeError(Exception):
    """What the platform refuses: HTTP status, what is wrong (a text, or texts by field), reason."""

    def __init__(self, status: int, detail: str | dict[str, list[str]], reason: str = ""):
        super().__init__(detail)
        self.status, self.detail, self.reason = status, detail, reason


def complaints_about(study: dict[str, Any], groups: dict[str, Any]) -> dict[str, list[str]]:
    """What keeps a study from being created, by field; `groups` are the ids that exist."""
    wrong: dict[str, list[str]] = {}
    for name in TEXTS:
        if not isinstance(study.get(name), str) or not study[name].strip():
            wrong[name] = ["a text is required"]
    url, option = study.get("external_study_url"), study.get("prolific_id_option")
    if "external_study_url" not in wrong and not re.match(r"https?://[^/\s]+", str(url)):
        wrong["external_study_url"] = ["must begin with https:// or http://"]
    if "prolific_id_option" not in wrong and option not in ID_OPTIONS:
        wrong["prolific_id_option"] = [f"must be one of {', '.join(ID_OPTIONS)}"]
    for name in WHOLE_NUMBERS:
        if not is_whole(study.get(name)):
            wrong[name] = ["a whole number above 0 is required (a reward is in cents)"]
    if complaints := _complaints_about_filters(study.get("filters"), groups):
        wrong["filters"] = complaints
    reward = 0 if "reward" in wrong else study["reward"]
    if complaints := _complaints_about_codes(study.get("completion_codes"), reward, groups):
        wrong["completion_codes"] = complaints
    return wrong


def _complaints_about_filters(filters: Any, groups: dict[str, Any]) -> list[str]:
    if not isinstance(filters, list) or not all(isinstance(each, dict) for each in filters):
        return ["must be a list of objects"]
    chosen = [each for each in filters if each.get("filter_id") in GROUP_FILTERS]
    ids = [group for each in chosen for group in each.get("selected_values") or ["(none)"]]
    return [f"no such participant group: {group}" for group in ids if group not in groups]


def _complaints_about_codes(codes: Any, reward: int, groups: dict[str, Any]) -> list[str]:
    if (
        not isinstance(codes, list)
        or not codes
        or not all(isinstance(each, dict) for each in codes)
    ):
        return ["at least one is required"]
    names = [each.get("code") for each in codes]
    wrong = [f"the code {name!r} is not unique" for name in {*names} if names.count(name) > 1]
    screen_outs = 0
    for each in codes:
        code, actions = each.get("code"), each.get("actions")
        if not isinstance(code, str) or not code or not each.get("code_type"):
            wrong.append(f"{code!r} needs a code and a code_type")
        if each.get("actor", "participant") not in ("participant", "researcher"):
            wrong.append(f"{code}: actor must be participant or researcher")
        if not isinstance(actions, list) or not all(isinstance(one, dict) for one in actions):
            wrong.append(f"{code}: actions must be a list of objects")
            continue
        kinds = {one.get("action") for one in actions}
        for unknown in sorted(map(str, kinds - ACTIONS)):
            wrong.append(f"{code}: the fake knows no action {unknown}")
        if len(kinds & {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"}) > 1:
            wrong.append(f"{code}: approve and review exclude each other")
        for one in actions:
            if one.get("action") == "FIXED_SCREEN_OUT_PAYMENT":
                screen_outs += 1
                cents, slots = one.get("fixed_screen_out_reward"), one.get("slots", 1)
                if not is_whole(cents) or cents >= reward or not is_whole(slots):
                    wrong.append(f"{code}: needs fixed_screen_out_reward below the reward, slots")
            is_group = str(one.get("action")).endswith("_PARTICIPANT_GROUP")
            if is_group and one.get("participant_group") not in groups:
                wrong.append(f"{code}: no such group: {one.get('participant_group')}")
    if screen_outs > 1:
        wrong.append("only one code may have FIXED_SCREEN_OUT_PAYMENT")
    return wrong


def code_of(study: dict[str, Any], code: Any, actor: str) -> dict[str, Any] | None:
    """The completion code that this actor may use, if the study has it."""
    for each in study["completion_codes"]:
        if each["code"] == code and each.get("actor", "participant") == actor:
            found: dict[str, Any] = each
            return found
    return None


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def cents_of(amount: str) -> int | None:
    """Cents of a decimal amount such as 1.50 or 30; None for anything else, 0 included.

    >>> cents_of("1.5"), cents_of("30"), cents_of("0.00"), cents_of("1.005"), cents_of("-1")
    (150, 3000, None, None, None)
    """
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,2})?", amount):
        return None
    whole, _, part = amount.partition(".")
    return int(whole) * 100 + int(part.ljust(2, "0")) or None


def fee_on(cents: int) -> int:
    """The platform's fee, a third of what is paid, in cents."""
    return -(-cents // 3)


def plain(status: str) -> str:
    """A status without what varies between spellings: TIMED-OUT, timed_out, TIMED OUT."""
    return re.sub("[^A-Z]", "", status.upper())
