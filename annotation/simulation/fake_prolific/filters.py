"""The fake Prolific's filters: which there are, who is kept out, how many are left.

Groups, lists of people and earlier studies decide who may arrive. What is asked of people (age,
language and so on) keeps out those whose answer does not fit; who arrives without an answer is
admitted. The weights of a filter's choices share out the places of a study.
"""

from typing import Any

from annotation.simulation.fake_prolific.books import TAKES_A_PLACE, Books
from annotation.simulation.fake_prolific.rules import FakeError

POPULATION = 130_000  # people, if nothing narrows them down
FEWEST = 25  # people: a smaller count is told as 0
MEMBERSHIP = {
    "participant_group": "ParticipantGroupID",
    "custom": "ParticipantID",
    "previous_studies": "StudyID",
}
# What people are asked: choices, or the least and the greatest number.
ASKED: dict[str, tuple[str, dict[str, str] | tuple[int, int]]] = {
    "age": ("Age", (18, 100)),
    "approval_rate": ("Approval rate", (0, 100)),
    "approval_numbers": ("Number of approved submissions", (0, 100_000)),
    "handedness": ("Handedness", {"0": "Right-handed", "1": "Left-handed", "2": "Ambidextrous"}),
    "sex": ("Sex", {"0": "Male", "1": "Female"}),
    "current-country-of-residence": (
        "Current country of residence",
        {"0": "United Kingdom", "1": "United States", "45": "Canada", "92": "Ireland"},
    ),
    "nationality": ("Nationality", {"0": "United Kingdom", "1": "United States"}),
    "first-language": ("First language", {"19": "English", "22": "French", "26": "German"}),
    "fluent-languages": ("Fluent languages", {"19": "English", "22": "French", "26": "German"}),
    "primary-language": ("Primary language", {"19": "English", "22": "French", "26": "German"}),
    "highest-education-level-completed": (
        "Highest education level completed",
        {"3": "High school diploma", "4": "Technical college", "5": "Undergraduate degree"},
    ),
}


class Filters(Books):
    """Filters of studies, over the books."""

    def filters(self) -> list[dict[str, Any]]:
        """All filters, with what can be chosen now."""
        with self._open() as data:
            choices = {
                "participant_group": {
                    key: group["name"] for key, group in self._live_groups().items()
                },
                "custom": {},
                "previous_studies": {key: study["name"] for key, study in data["studies"].items()},
            }
            shown: list[dict[str, Any]] = []
            for kind, data_type in MEMBERSHIP.items():
                for verb in ("allowlist", "blocklist"):
                    shown.append(
                        {
                            "filter_id": f"{kind}_{verb}",
                            "title": f"{kind.replace('_', ' ').capitalize()} {verb}",
                            "type": "select",
                            "data_type": data_type,
                            "choices": choices[kind],
                        }
                    )
            for name, (title, asked) in ASKED.items():
                form: dict[str, Any]
                if isinstance(asked, dict):
                    form = {"type": "select", "data_type": "ChoiceID", "choices": asked}
                else:
                    form = {"type": "range", "data_type": "integer"}
                    form |= {"min": asked[0], "max": asked[1]}
                shown.append({"filter_id": name, "title": title, **form})
            return shown

    def eligible(self, body: dict[str, Any]) -> dict[str, int]:
        """How many people pass every filter; fewer than 25 are told as 0."""
        with self._open():
            filters = body.get("filters")
            if complaints := self._complaints_about_filters(filters):
                raise FakeError(400, {"filters": complaints})
            assert isinstance(filters, list)
            count = POPULATION
            for condition in filters:
                kind, _, verb = condition["filter_id"].rpartition("_")
                if kind in MEMBERSHIP:
                    people = len(self._people_of(kind, condition["selected_values"]))
                    count = min(count, people) if verb == "allowlist" else count - people
                elif condition["filter_id"] in ASKED:
                    count = round(count * _share(condition))
            return {"count": count if count >= FEWEST else 0}

    def _complaints_about_filters(self, filters: Any) -> list[str]:
        if not isinstance(filters, list) or not all(isinstance(each, dict) for each in filters):
            return ["must be a list of objects"]
        return [complaint for each in filters for complaint in self._complaints_about_filter(each)]

    def _complaints_about_filter(self, condition: dict[str, Any]) -> list[str]:
        name = str(condition.get("filter_id"))
        if name in ("and", "or"):
            inner = self._complaints_about_filters(condition.get("selected_filters"))
            return [f"{name}: {complaint}" for complaint in inner]
        kind, _, verb = name.rpartition("_")
        chosen = condition.get("selected_values")
        is_list = isinstance(chosen, list) and all(isinstance(each, str) for each in chosen)
        if kind in MEMBERSHIP and verb in ("allowlist", "blocklist"):
            if not is_list:
                return [f"{name}: selected_values must be a list of texts"]
            known: dict[str, Any] = {"participant_group": self._live_groups(), "custom": chosen}
            known["previous_studies"] = self._data["studies"]
            return [
                f"{name}: no such id: {each}" for each in chosen or [] if each not in known[kind]
            ]
        if name not in ASKED:
            return [f"there is no filter {name!r}"]
        choices = ASKED[name][1]
        if isinstance(choices, tuple):
            bounds = condition.get("selected_range")
            if not isinstance(bounds, dict) or not {"lower", "upper"} & bounds.keys():
                return [f"{name}: selected_range needs lower or upper"]
            return []
        unknown = [str(each) for each in chosen or [] if each not in choices] if is_list else ["?"]
        if unknown:
            return [f"{name}: selected_values are of {', '.join(choices)}"]
        weights = condition.get("weightings", {})
        if not isinstance(weights, dict) or weights.keys() - set(chosen or []):
            return [f"{name}: weightings are of the selected values"]
        return []

    def _live_groups(self) -> dict[str, Any]:
        return {
            key: group for key, group in self._data["groups"].items() if not group["is_deleted"]
        }

    def _kept_out_by(self, filters: list[dict[str, Any]], participant_id: str) -> str:
        """The first filter that does not admit this person; empty if all do."""
        for condition in filters:
            name = str(condition["filter_id"])
            if name in ("and", "or"):
                out = [
                    self._kept_out_by([each], participant_id)
                    for each in condition["selected_filters"]
                ]
                if out and (any(out) if name == "and" else all(out)):
                    return f"{name}: {', '.join(filter(None, out))}"
                continue
            kind, _, verb = name.rpartition("_")
            if kind in MEMBERSHIP:
                is_in = participant_id in self._people_of(kind, condition["selected_values"])
                if is_in != (verb == "allowlist"):
                    return name
            elif not _fits(condition, self._answer(participant_id, name)):
                return name
        return ""

    def _answer(self, participant_id: str, name: str) -> Any:
        """What somebody has answered to what a filter asks; None for nothing."""
        return self._data["people"].get(participant_id, {}).get(name)

    def _full_quota(self, study: dict[str, Any], participant_id: str) -> str:
        """The filter by whose weights no place is left for this person; empty if there is one."""
        for condition in study["filters"] or []:
            weights, name = condition.get("weightings"), str(condition["filter_id"])
            answer = self._answer(participant_id, name)
            if not weights or answer is None:
                continue
            choices = ASKED[name][1]
            assert isinstance(choices, dict)  # as it was checked
            own = sum(share for key, share in weights.items() if choices[key] == answer)
            most = round(study["total_available_places"] * own / sum(weights.values()))
            same = [
                each
                for each in self._of(study["id"])
                if each["status"] in TAKES_A_PLACE
                and self._answer(each["participant"], name) == answer
            ]
            if len(same) >= most:
                return name
        return ""

    def _people_of(self, kind: str, chosen: list[str]) -> set[str]:
        if kind == "custom":
            return set(chosen)
        if kind == "participant_group":
            return {each for group in chosen for each in self._data["groups"][group]["members"]}
        return {each["participant"] for study in chosen for each in self._of(study)}


def _fits(condition: dict[str, Any], answer: Any) -> bool:
    """Does an answer, a choice's text or a number, pass a filter that asks people?"""
    asked = ASKED[condition["filter_id"]][1]
    if answer is None:
        return True
    if isinstance(asked, dict):
        return answer in [asked[key] for key in condition["selected_values"]]
    lower, upper = _bounds(condition, asked)
    return bool(lower <= answer <= upper)


def _bounds(condition: dict[str, Any], asked: tuple[int, int]) -> tuple[float, float]:
    chosen = condition["selected_range"]
    lower, upper = chosen.get("lower"), chosen.get("upper")
    return asked[0] if lower is None else lower, asked[1] if upper is None else upper


def _share(condition: dict[str, Any]) -> float:
    """How much of the population passes a filter, as if answers were spread evenly."""
    asked = ASKED[condition["filter_id"]][1]
    if isinstance(asked, dict):
        return len(condition["selected_values"]) / len(asked)
    lower, upper = _bounds(condition, asked)
    return max(upper - lower, 0) / (asked[1] - asked[0])
