"""How people come to a study, in sentences that plan and report share."""

import json
from typing import Any

from analysis.documents.wording import PLANNED, Manifest, Verbs

ELSEWHERE = "Each arrival from elsewhere"


def assignment(verbs: Verbs = PLANNED, of: str = "Each arrival") -> str:
    """How arrivals come to a scenario, in a sentence."""
    return (
        f"{of} {verbs.is_} assigned to the least filled scenario that they {verbs.are} eligible"
        " for, with ties broken by the seed."
    )


def choice(verbs: Verbs = PLANNED) -> str:
    """That participants choose their scenario, in a sentence."""
    return (
        f"Participants {verbs.choose} their scenario on Prolific, where each scenario {verbs.is_} a"
        " study of its own, so contrasts between scenarios compare self-selected groups."
    )


# Key of the audience -> what the condition is called, and the end of its value.
CONDITIONS = {
    "countries": ("countries", ""),
    "languages": ("languages", ""),
    "minimum_age": ("minimum age", ""),
    "maximum_age": ("maximum age", ""),
    "approval_rate": ("approval rate of at least", " %"),
    "quotas": ("quotas", ""),
}


def audience(manifest: Manifest, verbs: Verbs = PLANNED) -> list[str]:
    """Who is invited on Prolific, as sentences; [] where the design does not say it."""
    asked = manifest["audience"] or {}
    wanted = [
        f"{name} {_flat(asked[key])}{end}"
        for key, (name, end) in CONDITIONS.items()
        if asked.get(key)
    ]
    if asked.get("filters"):
        wanted.append(f"filters of Prolific {json.dumps(asked['filters'], ensure_ascii=False)}")
    sentences = []
    if wanted:
        sentences.append(
            f"On Prolific, participants {verbs.are} recruited under these conditions:"
            f" {'; '.join(wanted)}."
        )
    if asked.get("content_warning"):
        warning = " ".join(asked["content_warning"].split())
        sentences.append(f"Annotators {verbs.are} warned of the content: “{warning}”")
    return sentences


def _flat(value: Any) -> str:
    """A condition in words, such as "sex (female 50, male 50)"."""
    if isinstance(value, dict):
        return ", ".join(
            f"{name} ({_flat(each)})" if isinstance(each, dict) else f"{name} {_flat(each)}"
            for name, each in value.items()
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def programs(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    """Whether programs may take people's seats, in a sentence; "" where they may not."""
    if not manifest["programs_as_people"]:
        return ""
    return (
        f"Programs {verbs.may} take people's seats by the API; the tables include their answers as"
        " those of people and state how many there are."
    )


def rehearsal(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    """That simulated annotators may take part, in a sentence; "" of a real study."""
    if not manifest["rehearsal"]:
        return ""
    return f"The study {verbs.is_} a rehearsal: simulated annotators {verbs.may} take part in it."
