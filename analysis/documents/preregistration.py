"""A study's preregistration, which describes its frozen design in prose.

The text is generated from the manifest, and every export contains the manifest's hash. The only
exceptions are the opening time, the version of the consent text, and the number of seats taken
before opening.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from analysis.documents import planned_analysis, recruitment, wording
from analysis.documents.blocks import (
    Bullets,
    Document,
    Fact,
    Facts,
    Grid,
    Paragraph,
    Quote,
    Section,
)
from analysis.documents.wording import Manifest, count, moment
from analysis.scores.performance import FAMILY_NAMES
from analysis.scores.sensitivity import SECONDS, TRAINING
from annotation.models import Study
from annotation.study import screening
from annotation.study.design_file import OPTIONS
from tasks.cards import place
from tasks.columns import Column

NO_HYPOTHESES = " The design contains no hypotheses."


@dataclass(frozen=True)
class Opening:
    """Details of the opening that the manifest doesn't contain."""

    hash: str
    at: datetime
    consent_version: int
    seats_before: int


def for_study(study: Study) -> Document | None:
    """Return the preregistration generated at opening, or None for a draft."""
    if study.is_draft or study.opened_at is None:
        return None
    opening = Opening(
        study.manifest_hash,
        study.opened_at,
        # Opening froze the text, so the newest version is the one in the manifest.
        study.consent_texts.latest("version").version,
        study.allocations.filter(at__lt=study.opened_at).count()
        + study.participations.filter(arrived_at__lt=study.opened_at).count(),
    )
    return document(json.loads(study.manifest), opening)


def document(manifest: Manifest, opening: Opening) -> Document:
    hypotheses = _quoted(manifest, "hypotheses", "As written before opening")
    return Document(
        f"Preregistration: {manifest['title']}",
        [
            Section("Frozen design", _what(manifest, opening)),
            *([Section("Hypotheses", hypotheses)] if hypotheses else []),
            Section("Tasks", _tasks(manifest)),
            Section("Scenarios and annotators", _scenarios(manifest)),
            Section("Procedure", _procedure(manifest)),
            Section("Screening and exclusion", _rules(manifest)),
            Section(
                "Pay",
                [
                    Bullets(
                        [*wording.pay_sentences(manifest), *wording.reward_on_prolific(manifest)]
                    )
                ],
            ),
            Section("Consent", _consent(manifest, opening)),
            Section("Planned analysis", planned_analysis.blocks(manifest)),
        ],
    )


def _what(manifest: Manifest, opening: Opening) -> list:
    seats = opening.seats_before
    return [
        Paragraph(
            "This document describes the frozen design of the study in words. It is generated from"
            " the design alone; none of it depends on any answer."
            + ("" if manifest["hypotheses"] else NO_HYPOTHESES)
        ),
        Facts(
            [
                Fact("Study", manifest["name"]),
                Fact("Frozen and opened", moment(opening.at)),
                Fact("SHA-256 of the design", opening.hash, is_code=True),
                Fact(
                    "Seats taken before opening",
                    f"{seats}"
                    if seats
                    else "None. A draft assigns no seats, so no answer could have been seen.",
                ),
            ]
        ),
        Paragraph(
            "Every export of the study contains the design as manifest.json; the hash above is the"
            " hash of that file. Later changes to the study (pauses, added seats, entries in its"
            " access lists, exclusions) are logged outside the design and listed in the report."
        ),
    ]


# Columns for the tasks of a manifest.
TASKS = [
    Column("", "Task", get=itemgetter("name")),
    Column("", "Version", get=itemgetter("version")),
    Column("", "Family", get=lambda task: FAMILY_NAMES[task["card"]["family"]]),
    Column("", "Answered by", get=lambda task: wording.WAYS[wording.way(task["card"])][0]),
    Column("", "Gold rule", get=lambda task: task["card"]["gold_rule"]),
    Column("", "Language", get=lambda task: task["card"]["language"]),
    Column("", "Splits renumbered", get=lambda task: "yes" if task["rechained"] else "no"),
]


def _tasks(manifest: Manifest) -> list:
    return [
        Grid.of(
            "Tasks",
            TASKS,
            sorted(manifest["tasks"], key=lambda task: place(task["name"])),
            [
                "Gold rule: set compares an answer with all gold texts jointly; any_of compares it"
                " with the best-matching gold text. Splits renumbered: whether training splits were"
                " renumbered so that larger splits contain smaller ones."
            ],
        ),
        Facts([Fact(f"Hash of {t['name']}", t["content_hash"], True) for t in manifest["tasks"]]),
        Bullets([f"{task['name']}: {task['card']['description']}" for task in manifest["tasks"]]),
        *wording.data_warnings(manifest),
    ]


def _assignment(manifest: Manifest) -> str:
    if not manifest["participants_choose_scenario"]:
        return recruitment.assignment()
    return f"{recruitment.choice()} {recruitment.assignment(of=recruitment.ELSEWHERE)}"


def _scenarios(manifest: Manifest) -> list:
    scenarios = sorted(
        manifest["scenarios"], key=lambda s: (place(s["task"]), s["shots"], s["split"] or 0)
    )
    has_minutes = len(set(wording.minutes_of(manifest))) > 1
    told, limit = planned_analysis.arms(manifest), manifest["tasks_per_worker"]
    each = "one unseen task" if told else "one task" if limit == 1 else f"up to {limit} tasks"
    columns = [
        Column("", "Task", get=itemgetter("task")),
        Column("", "Shots", get=itemgetter("shots")),
        Column("", "Training split", get=lambda scenario: scenario["split"] or "none"),
        *([Column("", "Arm", get=itemgetter("arm"))] if "arm" in scenarios[0] else []),
        Column("", "Annotators", get=itemgetter("seats")),
        *([Column("", "Announced minutes", get=itemgetter("minutes"))] if has_minutes else []),
    ]
    total = count(sum(scenario["seats"] for scenario in scenarios), "seat")
    recruited = [
        recruitment.rehearsal(manifest),
        recruitment.programs(manifest),
        *recruitment.audience(manifest),
    ]
    return [
        Paragraph(
            f"The design has {count(len(scenarios), 'scenario')} ({wording.scenario_is(manifest)})"
            f" with {total} in total. {_assignment(manifest)} A seat that becomes free (declined,"
            " returned, expired, screened out, rejected before completion, withdrawn, excluded) is"
            " reassigned. Participants take part in each task only once, regardless of version,"
            f" shots or study; each participant may take part in {each} of this"
            " study. For participants who arrive through the study's open link, this is enforced"
            " per browser only."
        ),
        *map(Paragraph, filter(None, recruited)),
        *([Paragraph(told)] if told else []),
        Grid.of(
            "Scenarios",
            columns,
            scenarios,
            [
                "Annotators who complete a task answer all of its test examples."
                + (
                    f" At k shots, the k training examples{wording.per_label(manifest)} of that"
                    " split come first."
                    if wording.shots_of(manifest) != {0}
                    else ""
                )
                + (f" {part}" if (part := wording.parts_of_tests(manifest)) else "")
            ],
        ),
    ]


def _procedure(manifest: Manifest) -> list:
    shots = wording.shots_of(manifest)
    items = [
        f"Training step: one example at a time ({wording.order(manifest['training_order'])}); the"
        " gold answer and the score are revealed once the annotator's answer is stored. Answers"
        " cannot be changed."
        if any(shots)
        else "There is no training step.",
        f"Annotation step: {wording.order(manifest['annotation_order'])}; neither gold answers nor"
        " scores are shown.",
        f"Seed of all random choices: {manifest['seed']}.",
        "Annotators may interrupt their work for up to"
        f" {count(manifest['idle_limit_hours'], 'hour')} (on Prolific, within the maximum"
        f" submission time). The announced duration is {wording.announced(manifest)}.",
    ]
    items += planned_analysis.anchors(manifest)
    items += planned_analysis.confidence(manifest)
    if 0 in shots:
        helped = wording.help_at_zero_shots(manifest)
        items.append(
            f"At zero shots, annotators are given the task description and the"
            f" instructions{helped}."
        )
    if (language := wording.interface_language(manifest)) != "English":
        items.append(f"The annotation interface is in {language}.")
    items += [planned for option, (planned, _done) in OPTIONS.items() if manifest[option]]
    by_character = [
        task["name"] for task in manifest["tasks"] if task["card"].get("granularity") == "char"
    ]
    where = f", and {', '.join(by_character)} by character" if by_character else ""
    items.append(f"Texts are tokenised with the tokeniser {manifest['tokeniser']}{where}.")
    return [Bullets(items)]


def _rules(manifest: Manifest) -> list:
    items = [wording.rule_text(manifest)]
    questions = screening.parse(manifest["comprehension_questions"])
    if questions:
        items.append(
            "Before the first example, annotators must answer"
            f" {count(len(questions), 'question')} about the instructions correctly within"
            f" {count(manifest['comprehension_attempts'], 'attempt')}; those who do not are"
            f" screened out{' and paid for their time' if float(manifest['hourly_rate']) else ''}."
        )
    else:
        items.append("There are no comprehension questions before the first example.")
    checks = manifest["attention_checks"]
    items.append(
        "The test examples of each annotator are interspersed with"
        f" {count(checks, 'attention check')}, which are excluded from S1; failing a check does not"
        " lead to automatic exclusion."
        if checks
        else "There are no attention checks."
    )
    items += [
        "Signs of careless work (implausibly fast answers, one repeated answer, long absences,"
        " pasting, leaving the page) raise quality flags, which are exported; no flag leads to"
        " automatic exclusion.",
        "Annotators who leave before the last test example are excluded from every score; the"
        " report states how many reached each step of each scenario, and how the others left.",
        "Annotators who completed the study are excluded from the analysis only by a researcher's"
        " decision with a stated reason, which is published; a rejection on a platform does not"
        " exclude them. The results table is then shown both without and with the excluded"
        " annotators.",
        "A sensitivity analysis shows the results under other inclusion criteria:"
        f" {_sensitivity(manifest)}.",
    ]
    if wording.is_paid(manifest):
        items.append("Payment and inclusion in the analysis are decided independently.")
    items += filter(None, [wording.stopping(manifest)])
    blocks: list = [Bullets(items[:1] + wording.pausing(manifest) + items[1:])]
    if questions:
        title = "Comprehension questions (* marks the correct option)"
        blocks.append(Quote(title, _questions(questions)))
    return blocks


def _sensitivity(manifest: Manifest) -> str:
    told = "answers to the exit questionnaire" if manifest["exit_questionnaire"] else ""
    checks = "attention checks" if manifest["attention_checks"] else ""
    training, seconds = (", ".join(map(str, least)) for least in (TRAINING, SECONDS))
    trained = (
        f"mean training S1 (x 100) of at least {training}"
        if any(wording.shots_of(manifest))
        else ""
    )
    slow = f"median active time per example of at least {seconds} s"
    rules = ["with excluded annotators", trained, slow, checks, told]
    return "; ".join(filter(None, [*rules, "quality flags"]))


def _questions(questions: list[screening.Question]) -> str:
    return "\n\n".join(
        "\n".join(
            [
                question.text,
                *(
                    f"{'*' if index == question.right else '-'} {option}"
                    for index, option in enumerate(question.options)
                ),
            ]
        )
        for question in questions
    )


def _consent(manifest: Manifest, opening: Opening) -> list:
    return [
        Paragraph(
            "Consent is requested after a seat is assigned. For participants who decline, the"
            " scenario and the time of the assignment are stored without a pseudonym; for one day,"
            " a keyed hash that recognises returning participants is also stored. Annotators can"
            " withdraw at any time; their answers are then erased."
        ),
        Quote(f"Consent text, version {opening.consent_version}", manifest["consent_text"]),
        *_quoted(manifest, "ethics_contact", "Ethics board, as shown to annotators"),
        *_quoted(manifest, "own_questions", "Study-specific questions, asked once per participant"),
    ]


def _quoted(manifest: Manifest, key: str, title: str) -> list[Quote]:
    text = manifest[key]
    return [Quote(title, text)] if text else []
