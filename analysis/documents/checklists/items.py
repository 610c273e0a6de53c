"""The items of the checklists, filled in for a study.

Titles are in questions.toml, and answers and evidence in templates/documents/checklists.txt. All of
them are in our own words.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings

from analysis.cross_task import cross_task as gains
from analysis.cross_task import learners
from analysis.documents import preregistration, wording
from analysis.documents.blocks import Entry, Form
from analysis.documents.checklists import short_form
from analysis.documents.checklists.facts import Facts, between, by_task
from analysis.documents.checklists.short_form import CRITERIA, NOT_STATED, Answers, Status, prose
from analysis.documents.wording import LEVEL, POWER, sds
from analysis.scores import marks, markup
from analysis.scores.performance import FAMILY_NAMES
from analysis.stats import power
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP
from annotation.models import Kind, ModelRun, Reason, Study
from annotation.models.options import default_consent
from annotation.pay.ledger import in_currency
from annotation.study import screening
from annotation.study.cross_task import training_in
from annotation.study.own_questions import AFTER, TEXT, questions_at
from tasks.answer_keys import LONG_TEXT, NUMBER, SHORT_TEXT
from tasks.columns import shots_text

SHARED = ("preregistration", "data", "materials", "code")  # lines in the answer to item 5.2


def for_study(facts: Facts, given: Mapping[str, str]) -> dict[str, Form]:
    answers = Answers(given)
    blocks = markup.rendered("checklists", _context(facts, answers))

    def entry(number: str, reply: str, title: str, field: str = "") -> Entry:
        answer, evidence = blocks.get(f"answer_{number}"), blocks.get(number, "")
        if answer is None:
            answer = answers.status(field)
            evidence = short_form.joined([prose(answers[field]), evidence])
        if number.startswith("3.4") and not facts.model_cells:
            field = ""  # nothing to ask about models
        return Entry(number, title, reply, str(answer or NOT_STATED), evidence, field)

    return {
        name: Form(name, form["title"], form["source"], [entry(*item) for item in form["items"]])
        for name, form in short_form.QUESTIONS["forms"].items()
    }


def _context(facts: Facts, given: Answers) -> dict[str, Any]:
    public = given.public
    return {
        **wording.context(facts.manifest),
        "facts": facts,
        "flow": facts.flow,
        "design": facts.design,
        "given": given,
        "paper": given.paper,
        "given_instructions": given["3.4"],
        "said": {
            "ethics": prose(given["1.9"]),
            "instructions": prose(given["3.4"]),
            "population": prose(given["2.1"]),
            "sampling": prose(given["2.2"]),
            **{key: prose(public[key]) for key in SHARED},
        },
        "status": {
            "ethics": given.status("1.9"),
            "instructions": given.status("3.4"),
            "population": given.status("2.1"),
            **{key: short_form.verdict(public[key]) for key in SHARED},
        },
        "is_public": short_form.verdict(public["data"]) in (Status.YES, Status.PARTIAL),
        "criteria": [CRITERIA[key] for key in _criteria(facts, given)],
        "opened_at": facts.study.opened_at and wording.moment(facts.study.opened_at),
        "programs_mark": marks.programs_mark(facts.study),
        "recomputed": wording.recomputed(facts.manifest),
        **_item_values(facts),
        **_power(facts),
        **_precision(facts),
        **_participant_values(facts),
        **_session_values(facts),
        **_model_values(facts),
        "gain_interval": preregistration.interval(facts.manifest),
        "fewest": FEWEST_FOR_BOOTSTRAP,
        "recipes": sorted({task["recipe"] for task in facts.manifest["tasks"]}),
    }


def _item_values(facts: Facts) -> dict[str, Any]:
    cards = {task["name"]: task["card"] for task in facts.manifest["tasks"]}
    sampled = [name for name, card in cards.items() if "test_seed" in card]
    imported = facts.test_sizes | {
        name: card.get("test_of", facts.test_sizes.get(name, 0)) for name, card in cards.items()
    }
    all_tasks = [*facts.tasks, *facts.study.trained_tasks]
    families = {task.card.family for task in all_tasks}
    per_item: Counter[str] = Counter()
    for (task, _shots, _arm), n in facts.by_arm.items():
        per_item[task] += n
    return {
        "languages": sorted({card["language"] for card in cards.values()}),
        "imported_items": sum(imported.values()),
        "imported_sizes": by_task(imported),
        "test_items": sum(facts.test_sizes.values()),
        "test_sizes": by_task(facts.test_sizes),
        "test_range": between(facts.test_sizes.values()),
        "per_item": between(per_item.values()),
        "per_group": between(facts.by_arm.values()),
        "items_per_person": between(facts.items_per_person or facts.test_sizes.values()),
        "drawn": sampled,
        "readable": [name for name in cards if "test_of" in cards[name] and name not in sampled],
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


def _participant_values(facts: Facts) -> dict[str, Any]:
    flow, arrived = facts.flow, max(facts.flow.arrived, 1)
    dropouts = {
        "declined": flow.declined, "returned the seat": flow.returned,
        "exceeded the idle limit": flow.expired, "withdrew": facts.withdrawn,
    }  # fmt: skip
    refused = {str(Reason(reason).label): n for reason, n in facts.refused_arrivals.items()}
    return {
        "questions": len(screening.parse(facts.manifest["comprehension_questions"])),
        "access_rules": facts.study.access_rules.count(),
        "out_share": (flow.screened_out + flow.refused) / arrived,
        "left": _numbers(dropouts),
        "refused": _numbers(refused),
        "seen_before": _numbers(dict(sorted(facts.exit_answers["seen_before"].items()))),
        "ai_used": _numbers(dict(sorted(facts.exit_answers["ai_used"].items()))),
        "sample_questions": list(dict.fromkeys(f"“{row.question}”" for row in facts.sample)),
        "has_sample": any(row.n is not None for row in facts.sample),
        "completed_share": flow.completed / arrived,
        "ended_early": flow.arrived - flow.completed - facts.withdrawn - flow.at_work,
        "earned": in_currency(facts.earned),
        "bounds": markup.texts(facts.pay_sentences, "bound_"),
        "is_settled": bool(facts.earned) and facts.paid == facts.earned,
        "differs": facts.bonuses[0] or facts.unpaid,
    }


def _numbers(numbers: Mapping[str, int]) -> list[str]:
    return [f"{label} {n}" for label, n in numbers.items() if n]


def _session_values(facts: Facts) -> dict[str, Any]:
    manifest, active = facts.manifest, facts.median("active_seconds", facts.settled)
    trained = [
        bool(s["shots"]) or s.get("arm", "") in facts.upstream for s in manifest["scenarios"]
    ]
    typed = (SHORT_TEXT, LONG_TEXT, NUMBER, "typed")
    kinds = (wording.answer_kind(task["card"]) for task in manifest["tasks"])
    parts = {
        "anchor examples": manifest.get("anchor_examples"),
        "screening examples": manifest["qualification"].get("screening_examples", 0),
        "upstream or sham examples": facts.upstream,
        "training examples": any(facts.shots),
        "test examples": True,
        "attention checks": manifest["attention_checks"],
    }
    questions = questions_at(manifest["own_questions"], AFTER)
    return {
        "trained": trained,
        "is_trained": any(trained),
        "trained_arms": [
            {"name": arm, "examples": n, "tasks": training_in(manifest["cross_task"])[arm][0]}
            for arm, n in facts.upstream.items()
        ],
        "session_parts": [part for part, is_used in parts.items() if is_used],
        "session_range": between(facts.sessions.values()),
        "session_lengths": between([*facts.sessions.values(), facts.longest]),
        "active_minutes": None if active is None else active / 60,
        "random_order": _random_order(facts),
        "refuses_pastes": manifest["refuse_pastes"] and any(kind in typed for kind in kinds),
        "ai_instruction": _ai_instruction(manifest["consent_text"]),
        "asked_in_text": [question.id for question in questions if question.kind == TEXT],
    }


def _ai_instruction(consent: str) -> str:
    """Return the default consent text's last paragraph in the language that is used, or ""."""
    paragraphs = [default_consent(code).split("\n\n")[-1] for code, _name in settings.LANGUAGES]
    return next((text for text in paragraphs if text in consent), "")


def _random_order(facts: Facts) -> Status:
    steps = ["annotation_order", *(["training_order"] if any(facts.shots) else [])]
    orders = {facts.manifest[step] for step in steps}
    if Study.Order.FILE_ORDER not in orders:
        return Status.YES
    return Status.PARTIAL if len(orders) > 1 else Status.NO


def _model_values(facts: Facts) -> dict[str, Any]:
    tasks = {cell.task for cell in facts.model_cells}
    sizes = {name: size for name, size in facts.test_sizes.items() if name in tasks}
    groups = {True: "in the annotator's seat", False: "with uploaded predictions"}
    trained = [run for run in facts.runs if run.participation.scenario.shots]
    in_prompt = sum(run.examples == ModelRun.Examples.SHOWN for run in trained)
    return {
        "uploaded_models": list(dict.fromkeys(cell.model for cell in facts.uploaded)),
        "seated_models": list(dict.fromkeys(cell.model for cell in facts.seated)),
        "model_items": sum(sizes.values()),
        "model_sizes": by_task(sizes),
        "tasks_without_model": sorted(set(facts.test_sizes) - set(sizes)),
        "runs": between(cell.runs for cell in facts.model_cells),
        "uploaded_runs": between(cell.runs for cell in facts.uploaded),
        "seated_runs": between(cell.runs for cell in facts.seated),
        # How models used the training examples, by number of runs.
        "trained_runs": trained and {"answered": len(trained) - in_prompt, "shown": in_prompt},
        # Cells that can be tested, because the human mean has an interval.
        "compared": sum(
            facts.no_interval.get((cell.task, cell.shots)) == "" for cell in facts.compared
        ),
        "compared_models": list(dict.fromkeys(groups[cell.is_seated] for cell in facts.compared)),
    }


# Prolific's filters that are criteria of their own.
FILTERED = {"sex": "gender", "age": "age", "fluent-languages": "language"}


def _filter_ids(conditions: list[dict[str, Any]]) -> Iterator[str]:
    for condition in conditions:
        if nested := condition.get("selected_filters"):
            yield from _filter_ids(nested)
        else:
            yield condition["filter_id"]


def _criteria(facts: Facts, given: Answers) -> list[str]:
    reached, criteria = facts.manifest["audience"], set(given.ticked("criteria"))
    if reached.get("languages"):
        criteria.add("language")
    if reached.get("minimum_age") is not None or reached.get("maximum_age") is not None:
        criteria.add("age")
    if any(reached.get(key) for key in ("countries", "approval_rate")):
        criteria.add("other")
    for identity in _filter_ids(reached.get("filters") or []):
        criteria.add(FILTERED.get(identity, "other"))
    return [key for key in CRITERIA if key in criteria]
