"""Values for templates/documents/wei.txt and templates/documents/acl.txt, and for answers."""

from collections.abc import Mapping
from typing import Any

from analysis.cross_task import cross_task as gains
from analysis.cross_task import learners
from analysis.documents import preregistration, wording
from analysis.documents.checklists.facts import Facts, ModelCell, between, by_task
from analysis.documents.checklists.short_form import Answers, Status, prose, verdict
from analysis.documents.wording import LEVEL, POWER, count, sds
from analysis.scores import marks, markup
from analysis.scores.performance import FAMILY_NAMES
from analysis.stats import power
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP
from annotation.models import Kind, ModelRun, Reason, Study, StudyStatus
from annotation.models.options import DEFAULT_CONSENT
from annotation.pay.ledger import in_currency
from annotation.study import screening
from annotation.study.cross_task import training_in
from annotation.study.own_questions import AFTER, TEXT, questions_at
from tasks.answer_keys import LONG_TEXT, NUMBER, SHORT_TEXT
from tasks.columns import shots_text

YES, PARTIAL, NO, UNKNOWN, NA = map(str, Status)
# The last paragraph of the consent text that new studies start with.
AI_INSTRUCTION = DEFAULT_CONSENT.rpartition("\n\n")[2]


SHARED = ("preregistration", "data", "materials", "code")  # lines in the answer to item 5.2


def context(facts: Facts, given: Answers) -> dict[str, Any]:
    study = facts.study
    return {
        **wording.context(facts.manifest),
        "facts": facts,
        "flow": facts.flow,
        "design": facts.design,
        "said": {
            "ethics": prose(given["1.9"]),
            "instructions": prose(given["3.4"]),
            "population": prose(given["2.1"]),
            "sampling": prose(given["2.2"]),
            **{key: prose(given.line("5.2", key)) for key in SHARED},
            "models": given.line("5.2", "models"),
        },
        "licence": given.licence,
        "opened_at": study.opened_at and wording.moment(study.opened_at),
        "programs_mark": marks.programs_mark(study),
        "ethics_contact": ethics_contact(facts),
        "recomputed": wording.recomputed(facts.manifest),
        "is_public": verdict(given.line("5.2", "data")) in (YES, PARTIAL),
        **_item_values(facts),
        **_power(facts),
        **_precision(facts),
        **_participant_values(facts),
        **_pay_values(facts),
        **_session_values(facts),
        **_model_values(facts, given),
        "gain_interval": preregistration.interval(facts.manifest),
        "fewest": FEWEST_FOR_BOOTSTRAP,
        "recipes": sorted({task["recipe"] for task in facts.manifest["tasks"]}),
    }


def _item_values(facts: Facts) -> dict[str, Any]:
    cards = {task["name"]: task["card"] for task in facts.manifest["tasks"]}
    sampled = [name for name, card in cards.items() if "test_seed" in card]
    parts = [name for name, card in cards.items() if "test_of" in card and name not in sampled]
    all_tasks = [*facts.tasks, *facts.study.trained_tasks]
    families = {task.card.family for task in all_tasks}
    return {
        "imported_sizes": by_task(imported_sizes(facts)),
        "test_sizes": by_task(facts.test_sizes),
        "test_range": between(facts.test_sizes.values()),
        "drawn": sampled,
        "readable": parts,
        "has_model_gains": any(learners.model_gains(facts.study)),
        "seats": sum(scenario["seats"] for scenario in facts.manifest["scenarios"]),
        "shots": list(map(str, facts.shots)),
        "by_arm": [
            f"{task}, {shots_text(shots)}{f', {arm} arm' if arm else ''}: {n}"
            for (task, shots, arm), n in facts.by_arm.items()
        ],
        "shown_tasks": len(all_tasks),
        "families": [title for name, title in FAMILY_NAMES.items() if name in families],
    }


def _participant_values(facts: Facts) -> dict[str, Any]:
    flow = facts.flow
    out = flow.screened_out + flow.refused
    dropouts = {
        "declined": flow.declined, "returned the seat": flow.returned,
        "exceeded the idle limit": flow.expired, "withdrew": facts.withdrawn,
    }  # fmt: skip
    refused = {str(Reason(reason).label): n for reason, n in facts.refused_arrivals.items()}
    answered = f"answered by 0 of {flow.completed} participants who completed the study"
    is_closed = facts.study.status == StudyStatus.CLOSED
    return {
        "consent": consent(facts),
        "questions": len(screening.parse(facts.manifest["comprehension_questions"])),
        "access_rules": facts.study.access_rules.count(),
        "out": out,
        "out_share": out / max(flow.arrived, 1),
        "left": _numbers(dropouts),
        "refused": _numbers(refused),
        "unanswered": answered if is_closed else "no answers yet",
        "seen_before": _counts(facts, "seen_before"),
        "ai_used": _counts(facts, "ai_used"),
        "sample": demographics(facts)[1],
        "completed_share": flow.completed / max(flow.arrived, 1),
        "ended_early": flow.arrived - flow.completed - facts.withdrawn - flow.at_work,
    }


def _pay_values(facts: Facts) -> dict[str, Any]:
    return {
        "earned": in_currency(facts.earned),
        "amount": amount(facts),
        "bounds": markup.texts(facts.pay_sentences, "bound_"),
        "training_pay": training_pay(facts),
        "is_settled": is_settled(facts),
        "differs": facts.bonuses[0] or facts.unpaid,
    }


def _session_values(facts: Facts) -> dict[str, Any]:
    active = facts.median("active_seconds", facts.settled)
    return {
        "is_trained": any(trained(facts)),
        "trained_arms": [
            {"name": arm, "examples": n, "tasks": training_in(facts.manifest["cross_task"])[arm][0]}
            for arm, n in facts.upstream.items()
        ],
        "session_parts": _session_parts(facts),
        "session_range": between(facts.sessions.values()),
        "active_minutes": None if active is None else active / 60,
        "is_random": random_order(facts) != NO,
        "refuses_pastes": _refuses_pastes(facts),
        "ai_instruction": AI_INSTRUCTION,
        "asked_in_text": asked_in_text(facts),
    }


def _model_values(facts: Facts, given: Answers) -> dict[str, Any]:
    is_adjusted = facts.model_cells and instructions(facts, given) not in (YES, UNKNOWN)
    groups = {True: "in the annotator's seat", False: "with uploaded predictions"}
    return {
        "model_sizes": by_task(model_sizes(facts)),
        "tasks_without_model": sorted(set(facts.test_sizes) - set(model_sizes(facts))),
        "uploaded_runs": runs(facts.uploaded),
        "seated_runs": runs(facts.seated),
        "trained_runs": _trained_runs(facts),
        "adjustment": given["3.4"] if is_adjusted else "",
        "compared": len(compared(facts)),
        "compared_models": list(dict.fromkeys(groups[cell.is_seated] for cell in facts.compared)),
    }


def imported_sizes(facts: Facts) -> dict[str, int]:
    cards = {task["name"]: task["card"] for task in facts.manifest["tasks"]}
    used = dict(facts.test_sizes)
    return used | {name: card.get("test_of", used.get(name, 0)) for name, card in cards.items()}


def model_sizes(facts: Facts) -> dict[str, int]:
    tasks = {cell.task for cell in facts.model_cells}
    return {name: size for name, size in facts.test_sizes.items() if name in tasks}


def runs(cells: list[ModelCell]) -> str:
    return between(cell.runs for cell in cells)


def _power(facts: Facts) -> dict[str, Any]:
    number = len(facts.planned_pairs)
    detectable = []
    for fewer, more in sorted({pair[3:] for pair in facts.planned_pairs}):
        n = min(fewer, more)
        first = sds(power.detectable(n, LEVEL / number, POWER))
        alone = f" (uncorrected: {sds(power.detectable(n, LEVEL, POWER))})" if number > 1 else ""
        detectable.append(f"{fewer} and {more} annotators: {first}{alone}")
    return {
        "contrasts": number,
        "power": POWER,
        "level": LEVEL,
        "first_level": LEVEL / max(number, 1),
        "detectable": detectable,
        "of_people": wording.WELCH_TEST,
        "at_least": wording.LOWER_BOUND,
    }


def _precision(facts: Facts) -> dict[str, Any]:
    if not facts.upstream:
        return {}
    new, base = next(iter(gains.contrasts(facts.study)))
    plans = [
        row for row in gains.plan(facts.study, Kind.PERSON)
        if (row.new_arm, row.base_arm) == (str(new), str(base))
    ]  # fmt: skip
    has_several = len({row.shots for row in plans}) > 1
    widths = [
        f"± {row.width:g} %{f' at {shots_text(row.shots)}' if has_several else ''}: {row.people:,}"
        for row in plans
    ]
    return {"new_arm": new, "base_arm": base, "gain_widths": widths}


def consent(facts: Facts) -> str:
    flow = facts.flow
    people, seats = facts.workers["consented"], flow.consented
    each = f" ({count(seats, 'seat')})" if seats != people else ""
    erased = "; these answers were erased" if facts.withdrawn else ""
    return (
        f"Consent was requested before the first answer: {people} consented{each} and"
        f" {flow.declined} declined. Later withdrawals: {facts.withdrawn}{erased}."
    )


def ethics_contact(facts: Facts) -> str:
    contact = facts.manifest["ethics_contact"]
    return f"The consent page names: {contact}" if contact else ""


def _numbers(numbers: Mapping[str, int]) -> list[str]:
    return [f"{label} {n}" for label, n in numbers.items() if n]


def _counts(facts: Facts, question: str) -> list[str]:
    return [f"{answer} {n}" for answer, n in sorted(facts.exit_answers[question].items())]


def trained(facts: Facts) -> list[bool]:
    scenarios = facts.manifest["scenarios"]
    return [bool(s["shots"]) or s.get("arm", "") in facts.upstream for s in scenarios]


def training_pay(facts: Facts) -> str:
    if not any(trained(facts)):
        return NA
    if float(facts.manifest["hourly_rate"]):
        return YES if is_settled(facts) else PARTIAL
    return PARTIAL if wording.is_paid(facts.manifest) else NO


def is_settled(facts: Facts) -> bool:
    return bool(facts.earned) and facts.paid == facts.earned


def amount(facts: Facts) -> str:
    sentences = markup.texts(facts.pay_sentences)
    wage = facts.median("per_active_hour")
    if wage is not None:
        median = f"{in_currency(round(wage))} {facts.manifest['currency']}"
        sentences.append(f"Median earnings per active hour: {median}.")
    return " ".join(sentences)


def _session_parts(facts: Facts) -> list[str]:
    manifest = facts.manifest
    parts = {
        "anchor examples": manifest.get("anchor_examples"),
        "screening examples": manifest["qualification"].get("screening_examples", 0),
        "upstream or sham examples": facts.upstream,
        "training examples": any(facts.shots),
        "test examples": True,
        "attention checks": manifest["attention_checks"],
    }
    return [part for part, is_used in parts.items() if is_used]


def random_order(facts: Facts) -> str:
    steps = ["annotation_order", *(["training_order"] if any(facts.shots) else [])]
    orders = {facts.manifest[step] for step in steps}
    if Study.Order.FILE_ORDER not in orders:
        return YES
    return PARTIAL if len(orders) > 1 else NO


def _refuses_pastes(facts: Facts) -> bool:
    typed = (SHORT_TEXT, LONG_TEXT, NUMBER, "typed")
    kinds = (wording.answer_kind(task["card"]) for task in facts.manifest["tasks"])
    return bool(facts.manifest["refuse_pastes"]) and any(kind in typed for kind in kinds)


def instructions(facts: Facts, given: Answers) -> str:
    if not facts.model_cells:
        return NA
    stated = given.status("3.4")
    if facts.uploaded and (not facts.seated or stated == YES):
        return stated
    return PARTIAL


def _trained_runs(facts: Facts) -> dict[str, int]:
    """Count runs with training by how the model used the training examples."""
    runs = [run for run in facts.runs if run.participation.scenario.shots]
    in_prompt = sum(run.examples == ModelRun.Examples.SHOWN for run in runs)
    return {"answered": len(runs) - in_prompt, "shown": in_prompt} if runs else {}


def asked_in_text(facts: Facts) -> list[str]:
    questions = questions_at(facts.manifest["own_questions"], AFTER)
    return [question.id for question in questions if question.kind == TEXT]


def compared(facts: Facts) -> list[ModelCell]:
    """Return the models' cells that can be tested, because the human mean has an interval."""
    return [cell for cell in facts.compared if facts.no_interval.get((cell.task, cell.shots)) == ""]


def demographics(facts: Facts) -> tuple[Status, str]:
    if not facts.sample:
        return Status.NO, (
            "The study did not ask any study-specific questions with choices or numbers, and no"
            " demographic export was uploaded."
        )
    questions = ", ".join(dict.fromkeys(f"“{row.question}”" for row in facts.sample))
    evidence = f"The report's section “Sample” tabulates {questions}."
    if any(row.n is not None for row in facts.sample):
        return Status.YES, evidence
    hidden = "All of its cells are suppressed because too few participants answered."
    return Status.PARTIAL, f"{evidence} {hidden}"
