"""What the fake Prolific accepts: studies, completion codes, amounts; pure functions."""

import math
import re
from typing import Any

ACTIONS = {
    "AUTOMATICALLY_APPROVE",
    "MANUALLY_REVIEW",
    "FIXED_SCREEN_OUT_PAYMENT",
    "REQUEST_RETURN",
    "DYNAMIC_PAYMENT",
    "ADD_TO_PARTICIPANT_GROUP",
    "REMOVE_FROM_PARTICIPANT_GROUP",
}
REJECTION_CATEGORIES = {
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
}
TEXTS = ("name", "description", "prolific_id_option")
ID_OPTIONS = ("url_parameters", "question", "not_required")
WHOLE_NUMBERS = ("reward", "total_available_places")
# Lists of a study: what may stand in them, and how many of it.
LISTS: dict[str, tuple[set[str], int]] = {
    "device_compatibility": ({"desktop", "tablet", "mobile"}, 3),
    "peripheral_requirements": ({"audio", "camera", "download", "microphone"}, 4),
    "study_labels": (
        {
            *("survey", "writing_task", "annotation", "decision_making_task", "interview"),
            *("other", "ai_annotation", "ai_evaluation", "ai_reasoning", "ai_fact_checking"),
            *("ai_safety", "ai_data_creation_text", "ai_data_creation_audio"),
            *("ai_data_creation_video", "ai_data_creation_images", "ai_other"),
        },
        1,
    ),
    "content_warnings": ({"sensitive", "explicit"}, 1),
}
LONGEST = 24 * 60 - 1  # minutes: less than a day
# Cents: an hour at least, an hour recommended, the smallest reward for being screened out.
PAY = {"GBP": (600, 900, 10), "USD": (800, 1200, 14)}


class FakeError(Exception):
    """What the platform refuses: HTTP status, what is wrong (a text, or texts by field), reason."""

    def __init__(self, status: int, detail: str | dict[str, list[str]], reason: str = ""):
        super().__init__(detail)
        self.status, self.detail, self.reason = status, detail, reason


def complaints_about(
    study: dict[str, Any], groups: dict[str, Any], currency: str
) -> dict[str, list[str]]:
    """What keeps a study from being created, by field; `groups` are the ids that exist."""
    wrong: dict[str, list[str]] = {}
    for name in TEXTS:
        if not isinstance(study.get(name), str) or not study[name].strip():
            wrong[name] = ["a text is required"]
    if "prolific_id_option" not in wrong and study["prolific_id_option"] not in ID_OPTIONS:
        wrong["prolific_id_option"] = [f"must be one of {', '.join(ID_OPTIONS)}"]
    for name in WHOLE_NUMBERS:
        if not is_whole(study.get(name)):
            wrong[name] = ["a whole number above 0 is required (a reward is in cents)"]
    for name, (known, most) in LISTS.items():
        if complaints := _complaints_about_list(study.get(name) or [], known, most):
            wrong[name] = complaints
    if not isinstance(study.get("content_warning_details", ""), str):
        wrong["content_warning_details"] = ["must be a text"]
    wrong |= _complaints_about_address(study)
    wrong |= _complaints_about_time(study)
    if not wrong.keys() & {"reward", "estimated_completion_time"}:
        least = PAY[currency][0] * study["estimated_completion_time"] / 60
        if study["reward"] < least:
            wrong["reward"] = [f"must be at least {math.ceil(least)}, the minimum for this time"]
    reward = 0 if "reward" in wrong else study["reward"]
    codes = study.get("completion_codes")
    if complaints := _complaints_about_codes(codes, reward, groups, PAY[currency][2]):
        wrong["completion_codes"] = complaints
    return wrong


def _complaints_about_list(chosen: Any, known: set[str], most: int) -> list[str]:
    if not isinstance(chosen, list):
        return ["must be a list"]
    if unknown := [str(each) for each in chosen if each not in known]:
        return [f"{', '.join(unknown)}: must be of {', '.join(sorted(known))}"]
    return [f"at most {most} can be chosen"] if len(chosen) > most else []


def _complaints_about_address(study: dict[str, Any]) -> dict[str, list[str]]:
    """One address for everybody, or a taskflow: several, each with its share of the places."""
    url, several = study.get("external_study_url"), study.get("access_details")
    if not several:
        if not is_address(url):
            return {"external_study_url": ["must begin with https:// or http://"]}
        return {}
    if url:
        return {"access_details": ["stand in place of external_study_url"]}
    if not isinstance(several, list) or not all(
        isinstance(task, dict)
        and is_address(task.get("external_url"))
        and is_whole(task.get("total_allocation"))
        for task in several
    ):
        return {"access_details": ["must be a list of external_url and total_allocation"]}
    if sum(task["total_allocation"] for task in several) != study.get("total_available_places"):
        return {"access_details": ["must add up to total_available_places"]}
    return {}


def _complaints_about_time(study: dict[str, Any]) -> dict[str, list[str]]:
    estimate, most = study.get("estimated_completion_time"), study.get("maximum_allowed_time")
    if not _is_positive(estimate):
        return {"estimated_completion_time": ["a number above 0 is required"]}
    least = shortest_maximum(float(str(estimate)))
    if not _is_positive(most) or not least <= float(str(most)) <= LONGEST:
        return {"maximum_allowed_time": [f"must be from {least:.2f} to {LONGEST}"]}
    return {}


def shortest_maximum(estimate: float) -> float:
    """The least maximum time for an estimate, both in minutes.

    >>> shortest_maximum(1), shortest_maximum(9)
    (6.0, 26.0)
    """
    return 2 + 2 * estimate + 2 * math.sqrt(estimate)


def _complaints_about_codes(
    codes: Any, reward: float, groups: dict[str, Any], smallest: int
) -> list[str]:
    if (
        not isinstance(codes, list)
        or not codes
        or not all(isinstance(each, dict) for each in codes)
    ):
        return ["at least one is required"]
    names = [each.get("code") for each in codes]
    wrong = [
        f"the code {name!r} is not unique" for name in {*map(str, names)} if names.count(name) > 1
    ]
    of_participants = [each for each in codes if each.get("actor") != "researcher"]
    for each in codes:
        is_alone = each in of_participants and len(of_participants) == 1
        wrong += _complaints_about_code(each, is_alone)
        if not wrong:
            wrong += [
                f"{each['code']}: {complaint}"
                for action in each["actions"]
                for complaint in _complaints_about_action(action, reward, groups, smallest)
            ]
    if not wrong and sum("FIXED_SCREEN_OUT_PAYMENT" in _kinds(each) for each in codes) > 1:
        wrong.append("only one code may have FIXED_SCREEN_OUT_PAYMENT")
    return wrong


def _complaints_about_code(each: dict[str, Any], is_alone: bool) -> list[str]:
    """`is_alone`: no other code is for participants."""
    code, actions, actor = each.get("code"), each.get("actions"), each.get("actor")
    wrong = []
    is_null = code is None and "code" in each
    if (is_null and not (is_alone and actions == [])) or (
        code is not None and (not isinstance(code, str) or not code)
    ):
        wrong.append(f"{code!r}: a code is a text; null is one participant's code alone")
    if "code" not in each or not isinstance(each.get("code_type"), str):
        wrong.append(f"{code!r} needs a code and a code_type")
    if actor not in (None, "participant", "researcher"):
        wrong.append(f"{code}: actor must be participant or researcher")
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        return [*wrong, f"{code}: actions must be a list of objects"]
    kinds = _kinds(each)
    for unknown in sorted(map(str, kinds - ACTIONS)):
        wrong.append(f"{code}: the fake knows no action {unknown}")
    if len(kinds & {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"}) > 1:
        wrong.append(f"{code}: approve and review exclude each other")
    if "DYNAMIC_PAYMENT" in kinds and actor != "researcher":
        wrong.append(f"{code}: DYNAMIC_PAYMENT is for the researcher alone")
    return wrong


def _kinds(code: dict[str, Any]) -> set[Any]:
    return {action.get("action") for action in code["actions"]}


def _complaints_about_action(
    action: dict[str, Any], reward: float, groups: dict[str, Any], smallest: int
) -> list[str]:
    kind, wrong = str(action.get("action")), []
    if kind == "REQUEST_RETURN" and not str(action.get("return_reason") or "").strip():
        wrong.append("REQUEST_RETURN needs a return_reason")
    if kind == "FIXED_SCREEN_OUT_PAYMENT":
        cents = action.get("fixed_screen_out_reward")
        if not isinstance(cents, int) or not smallest <= cents < reward:
            wrong.append(f"fixed_screen_out_reward must be from {smallest}, below the reward")
        if not is_whole(action.get("slots")):
            wrong.append("slots are required")
    if kind.endswith("_PARTICIPANT_GROUP") and action.get("participant_group") not in groups:
        wrong.append(f"no such group: {action.get('participant_group')}")
    return wrong


def code_of(study: dict[str, Any], code: Any, actor: str) -> dict[str, Any] | None:
    """The completion code that this actor may use, if the study has it.

    A code that is null stands for whatever a participant comes back with.
    """
    for each in study["completion_codes"]:
        if each["code"] in (code, None) and (each.get("actor") or "participant") == actor:
            entry: dict[str, Any] = each
            return entry
    return None


def is_address(value: Any) -> bool:
    return isinstance(value, str) and bool(re.match(r"https?://[^/\s]+", value))


def is_whole(value: Any) -> bool:
    """Above 0 and without a fraction, such as 150 or 150.0."""
    return _is_positive(value) and value == int(value)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


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


def required(body: dict[str, Any], *names: str) -> list[str]:
    """These fields of a body, each a text that is not empty."""
    wrong = {name: ["is required"] for name in names if not _is_text(body.get(name))}
    if wrong:
        raise FakeError(400, wrong)
    return [str(body[name]) for name in names]


def required_list(body: dict[str, Any], name: str) -> list[str]:
    """This field of a body, a list of texts with at least one in it."""
    texts = body.get(name)
    if not isinstance(texts, list) or not texts or not all(_is_text(each) for each in texts):
        raise FakeError(400, {name: ["a list with at least one is required"]})
    return texts


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
