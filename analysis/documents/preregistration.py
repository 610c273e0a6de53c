"""The preregistration of a study: its frozen design in plain words, made at opening.

Everything is taken from the manifest, whose hash stands in every export; around it stand only the
moment of opening, the version of the consent text, and how many seats were taken by then.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
from analysis.documents.wording import (
    LEVEL,
    POWER,
    Manifest,
    count,
    help_at_zero_shots,
    moment,
    order,
    pairs,
    pausing,
    pay_sentences,
    rule_text,
    same_recipe,
    sds,
    shots_of,
)
from analysis.stats import significance
from analysis.stats.uncertainty import RESAMPLES
from analysis.tables.performance import FAMILY_NAMES
from annotation.models import Study
from annotation.study import gates


@dataclass(frozen=True)
class Opening:
    """What opening added to the manifest."""

    hash: str
    at: datetime
    consent_version: int
    seats_before: int


def of(study: Study) -> Document | None:
    """The preregistration of a study; None while it is a draft, as opening makes it."""
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
    """The frozen design as a document."""
    return Document(
        f"Preregistration: {manifest['title']}",
        [
            Section("What was fixed, and when", _what(manifest, opening)),
            Section("Tasks", _tasks(manifest)),
            Section("Scenarios and annotators", _scenarios(manifest)),
            Section("Procedure", _procedure(manifest)),
            Section("Who goes on, and who counts", _rules(manifest)),
            Section("Pay", _pay(manifest)),
            Section("Consent", _consent(manifest, opening)),
            Section("Planned analysis", _analysis(manifest)),
        ],
    )


def _what(manifest: Manifest, opening: Opening) -> list:
    seats = opening.seats_before
    return [
        Paragraph(
            "This document says in words what the frozen design of the study says. It was made from"
            " the design alone: nothing in it depends on an answer. The design holds no hypotheses;"
            " add yours where you register this document."
        ),
        Facts(
            [
                Fact("Study", manifest["name"]),
                Fact("Frozen and opened", moment(opening.at)),
                Fact("SHA-256 of the design", opening.hash, is_code=True),
                Fact(
                    "Seats taken before that",
                    f"{seats}"
                    if seats
                    else "None: a draft gives out no seats, so no answer could have been seen.",
                ),
            ]
        ),
        Paragraph(
            "The hash is that of manifest.json in every export of the study. What is done to the"
            " study afterwards (pauses, added seats, entries of its lists, decisions about who"
            " counts) is logged outside the design and listed in the report as a deviation."
        ),
    ]


def _tasks(manifest: Manifest) -> list:
    rows = [
        [
            task["name"],
            str(task["version"]),
            FAMILY_NAMES[task["card"]["family"]],
            "a label" if task["card"].get("labels") else "highlighted spans",
            task["card"]["gold_rule"],
            task["card"]["language"],
            "yes" if task["rechained"] else "no",
        ]
        for task in manifest["tasks"]
    ]
    columns = ["Task", "Version", "Family", "Answered by", "Gold rule", "Language", "Renumbered"]
    return [
        Grid(
            "The tasks",
            columns,
            rows,
            [
                "Gold rule: set compares with all gold texts together, any_of with the best of"
                " them. Renumbered: training files were given other numbers so that the larger"
                " contain the smaller."
            ],
        ),
        Facts(
            [Fact(f"Content of {t['name']}", t["content_hash"], True) for t in manifest["tasks"]]
        ),
        Bullets([f"{task['name']}: {task['card']['description']}" for task in manifest["tasks"]]),
    ]


def _scenarios(manifest: Manifest) -> list:
    found = manifest["scenarios"]
    rows = [
        [
            one["task"],
            str(one["shots"]),
            str(one["split"]) if one["split"] else "none",
            str(one["seats"]),
        ]
        for one in found
    ]
    total = count(sum(one["seats"] for one in found), "seat")
    most = manifest["tasks_per_worker"]
    return [
        Paragraph(
            f"{count(len(found), 'scenario')} (a task at a number of shots) with {total} in all."
            " Whoever arrives gets the least filled scenario that they may join, ties by the"
            " seed; a seat that becomes free (returned, expired, screened out, withdrawn, excluded)"
            " is given to somebody else. Nobody takes part in a task twice, whatever its version,"
            f" its shots or the study; one person may do {count(most, 'task')} of this study. For"
            " those who come by the study's open link that holds per browser."
        ),
        Grid(
            "The scenarios",
            ["Task", "Shots", "Training file number", "Annotators"],
            rows,
            [
                "All test examples of a task are put before every annotator of it."
                + (
                    " At k shots the training examples of that file come first."
                    if shots_of(manifest) != {0}
                    else ""
                )
            ],
        ),
    ]


def _procedure(manifest: Manifest) -> list:
    shots = shots_of(manifest)
    items = [
        f"Training step: {order(manifest['training_order'])}, one example at a time; each is"
        " revealed after its answer is stored, and no answer can be changed."
        if any(shots)
        else "There is no training step.",
        f"Annotation step: {order(manifest['annotation_order'])}; no reveal and no score.",
        f"Seed of all random choices: {manifest['seed']}.",
        f"Work may be interrupted for at most {count(manifest['idle_limit_hours'], 'hour')}; it is"
        f" announced as about {count(manifest['estimated_minutes'], 'minute')}.",
    ]
    if 0 in shots:
        helped = help_at_zero_shots(manifest)
        items.append(f"At zero shots annotators have the description and the instructions{helped}.")
    if manifest.get("computer_only"):
        items.append("A computer is asked for: phones are turned away.")
    if manifest.get("exit_questionnaire"):
        items.append(
            "At the end annotators are asked whether they had seen the texts before, whether they"
            " used AI tools, and what helped them."
        )
    items.append(f"Texts are cut into words by tokeniser {manifest['tokeniser']}.")
    return [Bullets(items)]


def _rules(manifest: Manifest) -> list:
    found: list = []
    items = [rule_text(manifest)]
    questions = gates.parse(manifest["comprehension_questions"])
    if questions:
        items.append(
            f"Before the first example: {count(len(questions), 'question')} about the instructions,"
            f" with {count(manifest['comprehension_attempts'], 'attempt')}; who does not get them"
            " right is screened out and paid for the time."
        )
    else:
        items.append("No questions about the instructions are asked before the first example.")
    checks = manifest["attention_checks"]
    items.append(
        f"{count(checks, 'attention check')} among the test examples of each annotator; they never"
        " count in S1, and failing one excludes nobody by itself."
        if checks
        else "No attention checks are mixed in."
    )
    items += [
        "Signs of careless work (too fast, one answer, long absence, paste, left pages) are flagged"
        " and exported; nothing follows from them automatically.",
        "Exclusion from the analysis is by hand, of completed annotators, each with a reason that"
        " is kept and published. The tables are then shown without and with the excluded, and the"
        " sensitivity table shows them under other rules.",
        "Being paid and being in the analysis are two facts; neither follows from the other.",
    ]
    found.append(Bullets(items[:1] + pausing(manifest) + items[1:]))
    if questions:
        found.append(Quote("The questions (* marks the right option)", _questions(questions)))
    return found


def _questions(questions: list[gates.Question]) -> str:
    return "\n\n".join(
        "\n".join(
            [
                one.text,
                *(
                    f"{'*' if index == one.right else '-'} {option}"
                    for index, option in enumerate(one.options)
                ),
            ]
        )
        for one in questions
    )


def _pay(manifest: Manifest) -> list:
    return [Bullets(pay_sentences(manifest))]


def _consent(manifest: Manifest, opening: Opening) -> list:
    return [
        Paragraph(
            "A seat is taken before consent is asked; who does not consent leaves nothing but a"
            " count. Annotators can withdraw at any time: their answers are then erased."
        ),
        Quote(f"Consent text, version {opening.consent_version}", manifest["consent_text"]),
    ]


def _analysis(manifest: Manifest) -> list:
    items = [
        "Score of an answer: S1, from the set of answered texts and the set of gold texts. Both"
        " empty 1, exactly one empty 0, else the harmonic mean of precision and recall; texts match"
        " exactly.",
        "Score of an annotator: the mean S1 over the test examples, x 100. A cell of the table is"
        " the mean ± standard deviation over its annotators with ddof 1; exports carry ddof 0 too."
        " It counts people who completed and are in the analysis, and nobody else.",
        f"Intervals of 95 %: t over annotators; percentile bootstraps over contexts, over"
        f" annotators and over both, {RESAMPLES:,} resamples, seeded with the study's seed.",
        "Agreement: Krippendorff's alpha with nominal, Jaccard, MASI and 1 - S1 distances, and the"
        " mean pairwise S1. Aggregates (majority of sets, plurality and Dawid-Skene for labels) are"
        " shown beside the individuals, never in their table.",
        "Models, where predictions are uploaded, are scored by the same function on the same"
        " examples; differences are paired by example, with contexts as clusters.",
    ]
    return [
        Bullets(items),
        Facts(same_recipe(manifest)),
        *_contrasts(manifest["scenarios"]),
    ]


def _contrasts(scenarios: list[dict[str, Any]]) -> list:
    planned = pairs(scenarios)
    if not planned:
        return [Paragraph("One number of shots for each task: no differences between shots.")]
    number = len(planned)
    sizes = sorted({(one, two) for *_names, one, two in planned})
    rows = [
        [
            f"{one} and {two}",
            str(sum((one, two) == pair[3:] for pair in planned)),
            f"{significance.smallest_p(one, two):.3g}",
            sds(significance.detectable(min(one, two), LEVEL, POWER)),
            sds(significance.detectable(min(one, two), LEVEL / number, POWER)),
        ]
        for one, two in sizes
    ]
    return [
        Paragraph(
            f"Between shots of a task: {count(number, 'contrast')} (every pair of shots of every"
            " task). The annotator is the unit, as the groups are different people: Welch's t test,"
            f" two-sided, with Holm's correction over all {number}, and beside it the exact"
            " permutation test over annotators with the smallest p that it can give."
        ),
        Grid(
            "What this design can show",
            [
                "Annotators on both sides", "Contrasts", "Smallest permutation p",
                f"Detectable at p < {LEVEL:g}", f"Detectable at p < {LEVEL / number:.2g}",
            ],
            rows,
            [
                f"Detectable: the smallest difference, in SDs between annotators, that"
                f" {POWER:.0%} of such studies would show by a t test; the last column is Holm's"
                f" first step over {count(number, 'contrast')}. Times the SD in points it is a"
                " difference in points of S1 x 100."
            ],
        ),
    ]  # fmt: skip
