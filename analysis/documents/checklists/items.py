"""The items of the checklists, filled in for a study.

Titles (questions.toml), answers and evidence are in our own words. Sentences are in
templates/documents/wei.txt and templates/documents/acl.txt, and all other answers are here.
"""

from collections import Counter
from collections.abc import Mapping

from analysis.documents import wording
from analysis.documents.blocks import Entry, Form
from analysis.documents.checklists import sentences, short_form
from analysis.documents.checklists.facts import Facts, between
from analysis.documents.checklists.sentences import NA, NO, PARTIAL, UNKNOWN, YES
from analysis.documents.checklists.short_form import CRITERIA, NOT_STATED, Answers, verdict
from analysis.documents.wording import count
from analysis.scores import markup
from annotation.prolific.adapter import ProlificAdapter


def for_study(facts: Facts, given: Mapping[str, str]) -> dict[str, Form]:
    answers = Answers(given)
    values = sentences.context(facts, answers)
    blocks = markup.rendered("wei", values) | markup.rendered("acl", values)
    # Answers by item number, except those in `blocks` or in the short form alone.
    derived: dict[str, str] = {
        **_paper_and_design(facts, answers),
        **_recruitment(facts, answers, blocks),
        **_execution(facts, answers, blocks),
        **_analysis(facts, blocks),
        **_documentation(facts, answers),
        **_of_acl_and_neurips(facts, answers),
    }

    def entry(number: str, reply: str, title: str, field: str = "") -> Entry:
        answer, evidence = derived.get(number), blocks.get(number, "")
        if answer is None and number == field:
            answer = answers.status(field)
            evidence = short_form.joined([short_form.prose(answers[field]), evidence])
        if answer is None:
            answer = blocks[f"answer_{number}"]
        if number.startswith("3.4") and not facts.model_cells:
            field = ""  # nothing to ask about models
        return Entry(number, title, reply, str(answer or NOT_STATED), evidence, field)

    return {
        name: Form(name, form["title"], form["source"], [entry(*item) for item in form["items"]])
        for name, form in short_form.QUESTIONS["forms"].items()
    }


def _paper_and_design(facts: Facts, given: Answers) -> dict[str, str]:
    cards = [task["card"] for task in facts.manifest["tasks"]]
    return {
        "0.1": given.title,
        "0.2": given.line("paper", "link"),
        "0.3": given.line("paper", "year"),
        "0.4": given.line("paper", "venue"),
        "0.5": ", ".join(given.evaluation),
        "0.6": "Text, Image" if any("images" in card for card in cards) else "Text",
        "0.7": ", ".join(sorted({card["language"] for card in cards})),
        "0.8": f"{sum(sentences.imported_sizes(facts).values()):,}",
        "0.9": f"{sum(sentences.model_sizes(facts).values()):,}" if facts.model_cells else NA,
        "0.10": sentences.runs(facts.model_cells) if facts.model_cells else NA,
        "1.1": f"{facts.workers['analysed']:,}",
        "1.2": f"{sum(facts.test_sizes.values()):,}",
        "1.3": _per_item(facts),
        "1.4": between(facts.items_per_person or facts.test_sizes.values()),
        "1.7": NO,
        "1.10": verdict(given.line("5.2", "preregistration")),
    }


def _recruitment(facts: Facts, given: Answers, blocks: Mapping[str, str]) -> dict[str, str]:
    is_known = facts.reached and not given["2.1"]
    is_paid, (bonuses, total) = wording.is_paid(facts.manifest), facts.bonuses
    is_trained = sentences.trained(facts)
    return {
        "2.1": PARTIAL if is_known else given.status("2.1"),
        "2.1.1": ", ".join(CRITERIA[key] for key in _criteria(facts, given)),
        "2.2": given.sampling or _sampling(facts),
        "2.3": YES if blocks["rules"] else PARTIAL,
        "2.5": PARTIAL,
        "2.6": YES if all(is_trained) else PARTIAL if any(is_trained) else NO,
        "2.6.2": sentences.training_pay(facts),
        "2.7": (YES if sentences.is_settled(facts) else PARTIAL) if is_paid else NO,
        "2.7.2": PARTIAL if bonuses else NO if is_paid else NA,
        "2.7.2.1": total if bonuses else NA,
        "2.7.3": (PARTIAL if bonuses or facts.unpaid else YES) if is_paid else NA,
    }


def _execution(facts: Facts, given: Answers, blocks: Mapping[str, str]) -> dict[str, str]:
    is_explained = facts.manifest.get("asks_reasons") or sentences.asked_in_text(facts)
    return {
        "3.1": between([*facts.sessions.values(), facts.longest]),
        "3.1.1": sentences.random_order(facts),
        "3.2": YES if blocks["controls"] else PARTIAL,
        "3.2.2": count(facts.excluded + facts.rejected_early, "annotator"),
        "3.3": NO if facts.uploaded else PARTIAL if facts.seated else NA,
        "3.3.1": "Checked" if facts.seated else "Unchecked",
        "3.3.2": _adjusted_interface(facts, given),
        "3.4": sentences.instructions(facts, given),
        "3.4.1": _adjusted_instructions(facts, given),
        "3.5.1": PARTIAL,
        "3.6": PARTIAL if is_explained else NO,
    }


def _analysis(facts: Facts, blocks: Mapping[str, str]) -> dict[str, str]:
    by_models = YES if facts.model_cells else NA
    return {
        "4.1": (YES if sentences.compared(facts) else NO) if facts.model_cells else NA,
        "4.1.1": blocks["answer_4.1.1"] or "None.",
        "4.2": YES if facts.has_interval else PARTIAL if facts.has_variance else NO,
        "4.2.1": _estimate(facts),
        "4.3": by_models,
        "4.4": by_models,
        "4.5": by_models,
        "4.6": PARTIAL if facts.by_arm else NA,
    }


def _documentation(facts: Facts, given: Answers) -> dict[str, str]:
    is_public, code = verdict(given.line("5.2", "data")), given.line("5.2", "code")
    asked_ai = facts.manifest["exit_questionnaire"] and facts.exit_answers["ai_used"]
    return {
        "5.1.1": sentences.demographics(facts)[0],
        "5.1.2": YES,
        "5.1.3": NO if facts.seconds_per_answer is None else YES,
        "5.1.4": PARTIAL if asked_ai else NO,
        "5.1.5": YES if facts.flow.arrived else NO,
        "5.2": is_public,
        "5.2.1": is_public if is_public in (YES, PARTIAL) else NA,
        "5.2.2": _why_not_public(given),
        "5.3": verdict(given.line("5.2", "materials")),
        "5.4": PARTIAL if not code and is_public == YES else verdict(code),
    }


def _of_acl_and_neurips(facts: Facts, given: Answers) -> dict[str, str]:
    """Return the answers of forms that have no Partial, which means Yes, or Unknown, meaning No."""
    plain = {PARTIAL: YES, UNKNOWN: NO}
    ethics, described = given.status("1.9"), sentences.demographics(facts)[0]
    people = facts.flow.arrived > 0
    items = {
        **dict.fromkeys(("D1", "D2", "D3", "14"), YES),
        **dict.fromkeys(("D4", "15"), plain.get(ethics, ethics)),
        "D5": plain.get(described, described),
    }
    return {"D": YES if people else NO} | (items if people else dict.fromkeys(items, NA))


def _per_item(facts: Facts) -> str:
    if not facts.by_arm:
        return "none"
    of_task: Counter[str] = Counter()
    for (task, _shots, _arm), n in facts.by_arm.items():
        of_task[task] += n
    answer = between(of_task.values())
    if facts.upstream or len(facts.shots) > 1:
        answer += f" ({between(facts.by_arm.values())} in each group)"
    return answer


def _criteria(facts: Facts, given: Answers) -> list[str]:
    reached, criteria = facts.manifest["audience"], set(given.ticked("criteria"))
    if reached.get("languages"):
        criteria.add("language")
    if reached.get("minimum_age") is not None or reached.get("maximum_age") is not None:
        criteria.add("age")
    if any(reached.get(key) for key in ("countries", "approval_rate", "filters")):
        criteria.add("other")
    for quota in reached.get("quotas") or {}:
        criteria.add("gender" if quota.casefold() in ("sex", "gender") else "other")
    return [key for key in CRITERIA if key in criteria]


def _sampling(facts: Facts) -> str:
    sources = {name for name, _number in facts.platforms}
    return "Crowdsource" if sources == {ProlificAdapter.label} else UNKNOWN


def _adjusted_interface(facts: Facts, given: Answers) -> str:
    if not facts.model_cells:
        return NA
    is_unknown = facts.uploaded and not facts.seated and not given["3.4"]
    return UNKNOWN if is_unknown else PARTIAL


def _adjusted_instructions(facts: Facts, given: Answers) -> str:
    answer = sentences.instructions(facts, given)
    if answer == YES or not facts.model_cells:
        return NA
    return PARTIAL if answer != UNKNOWN and given["3.4"] else UNKNOWN


def _estimate(facts: Facts) -> str:
    if facts.has_interval:
        return "Point estimate, Interval estimate"
    return "Point estimate" if facts.by_arm else "none yet"


def _why_not_public(given: Answers) -> str:
    data = given.line("5.2", "data")
    is_public = verdict(data)
    return data if is_public == NO else "" if is_public == UNKNOWN else NA
