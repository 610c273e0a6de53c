"""Under which licence a bundle is published: a choice of the researcher, by its SPDX name."""

from collections.abc import Mapping

OWN = "own"
# SPDX name -> title and address of its text.
LICENCES = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC0-1.0": (
        "CC0 1.0, no rights reserved",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    ),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC-BY-NC-4.0": (
        "Creative Commons Attribution-NonCommercial 4.0",
        "https://creativecommons.org/licenses/by-nc/4.0/",
    ),
    OWN: ("own terms, as written in LICENSE", ""),
}
NOT_STATED = "not stated"
OF_TASKS = (
    "It covers what this study adds: answers, tables, figures and documents. The texts of the tasks"
    " keep the licence of their source, which stands in `materials/`."
)


def title(answers: Mapping[str, str]) -> str:
    """The chosen licence in words."""
    chosen = answers.get("licence", "")
    return LICENCES[chosen][0] if chosen in LICENCES else NOT_STATED


def address(answers: Mapping[str, str]) -> str:
    """Where its text stands; "" for own terms and where none is chosen."""
    return LICENCES.get(answers.get("licence", ""), ("", ""))[1]


def problem(answers: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the choice, by the name of the answer."""
    chosen = answers.get("licence", "")
    if chosen and chosen not in LICENCES:
        return {"licence": f"Choose one of {', '.join(LICENCES)}, or leave it empty."}
    return {}


def text(answers: Mapping[str, str], holders: str) -> str:
    """The file LICENSE; "" where no licence is chosen."""
    chosen = answers.get("licence", "")
    if chosen not in LICENCES:
        return ""
    if chosen == OWN:
        terms = answers.get("own-terms", "").strip() or "No terms are written: all rights reserved."
        return f"{terms}\n\n{OF_TASKS}\n"
    name, at = LICENCES[chosen]
    return (
        f"Copyright: {holders}\n\nThis bundle is licensed under {name}.\n"
        f"SPDX-License-Identifier: {chosen}\nThe text of the licence: {at}legalcode\n\n{OF_TASKS}\n"
    )
