"""A preregistration's planned analysis section, including parts for cross-task studies."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.cross_task import cross_task, learners, upstream
from analysis.documents import wording
from analysis.documents.blocks import Block, Bullets, Facts, Grid, Paragraph, meanings
from analysis.documents.wording import LEVEL, PLANNED, POWER, Manifest, Verbs, count
from analysis.stats import power, significance
from analysis.stats.two_way import BOTH, RUNS
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP, RESAMPLES
from annotation.models import Kind, Study
from annotation.study import screening
from tasks.answer_keys import LABEL
from tasks.answers import KINDS
from tasks.columns import Column, on_page


def blocks(manifest: Manifest) -> list[Block]:
    """Return the planned computations, fixed before the first seat is taken."""
    return [
        Bullets(
            [
                *SCORES,
                *_further(manifest),
                _models(manifest),
                *filter(None, [wording.metrics(manifest)]),
                *_equivalence(manifest),
            ]
        ),
        Facts(wording.same_recipe(manifest)),
        *_contrasts(manifest["scenarios"], manifest["qualification"]),
        *planned(manifest),
    ]


SCORES = [
    "S1 of an answer: the harmonic mean of precision and recall between the set of answered"
    " texts and the set of gold texts under exact match; 1 if both sets are empty, 0 if exactly one"
    " of them is.",
    "Score of an annotator: the test-set score under the task's metric, x 100; for S1, the mean"
    " over the test examples. Each cell of the results table is the mean ± standard deviation (ddof"
    " = 1; exports also give ddof = 0) over the annotators who completed the scenario and were not"
    " excluded.",
    f"The 95 % confidence intervals of these means generalise to {BOTH}. Each is the wider of the t"
    " interval over annotators and the t interval from the two-way mean squares of annotators and"
    " contexts (SE² = (MS_A + MS_C - MS_AC) / ab, at least the larger of MS_A and MS_C over ab,"
    " with Satterthwaite's degrees of freedom, at least the smaller of those of annotators and of"
    " contexts). No interval is computed for a single annotator or if all annotators have the same"
    " score.",
]


def _further(manifest: Manifest) -> list[str]:
    """Return sentences about inter-annotator agreement and further intervals for the means."""
    largest = max(wording.group_sizes(manifest["scenarios"]).values())
    over_people = (
        f" and, with at least {FEWEST_FOR_BOOTSTRAP} annotators, over annotators and over both"
        if largest >= FEWEST_FOR_BOOTSTRAP
        else ""
    )
    sentences = [
        "Sensitivity analysis: t intervals over annotators (examples fixed); percentile bootstraps"
        f" over contexts (annotators fixed){over_people} ({RESAMPLES:,} resamples, seeded with the"
        " study's seed)."
    ]
    if largest > 1:
        sentences.append(
            "Agreement: Krippendorff's alpha with nominal, Jaccard, MASI and 1 - S1 distances, and"
            f" mean pairwise S1. Aggregated answers ({_votes(manifest)}) are reported separately"
            " from individual performance."
        )
    return sentences


def _votes(manifest: Manifest) -> str:
    """Return how answers are aggregated, which depends on the tasks' answer types."""
    kinds = {wording.way(task["card"]) for task in manifest["tasks"]}
    choices = {kind.name for kind in KINDS.values() if kind.is_one_choice}
    votes = {
        "plurality vote on labels and options": kinds & choices,
        "majority vote on sets of texts": kinds - choices,
        "Dawid-Skene on labels": kinds & {LABEL},
    }
    return "; ".join(words for words, fitting in votes.items() if fitting)


def _models(manifest: Manifest) -> str:
    is_s1 = {task["card"].get("metric", "S1") == "S1" for task in manifest["tasks"]}
    parts = {
        True: "each annotator's S1 minus the model's S1 on each example",
        False: "the parts of both scores under the task's metric",
    }
    compared = " or ".join(words for key, words in parts.items() if key in is_s1)
    return (
        "Models: if predictions are uploaded or models take part in the annotator's seat, they are"
        " scored by the same functions on the same examples. The difference between humans and a"
        f" model is estimated with the same two-way estimator, applied to {compared}; its interval"
        f" and p value generalise to {RUNS}. The two-sided p values are Holm-adjusted over one"
        " family: all differences between humans and a model, at each task and number of shots, for"
        " the models in a seat and for prediction files uploaded by the study's team. The family is"
        " frozen when the study is closed. A sign-flip test over contexts is reported as a"
        " sensitivity analysis."
    )


def _equivalence(manifest: Manifest) -> list[str]:
    margin = manifest["equivalence_margin"]
    if margin is None:
        return ["The design has no equivalence margin: no claim of equivalence is planned."]
    compared = (
        "two numbers of shots, or humans and a model,"
        if wording.pairs(manifest["scenarios"])
        else "humans and a model"
    )
    arms = " No margin applies to the gains of the arms." if manifest["cross_task"] else ""
    return [
        f"Equivalence: {compared} are considered equivalent if the 90 % interval of their"
        f" difference lies within ± {margin:g} points of score x 100 (two one-sided tests, each at"
        " .05, without correction for the number of differences). The smallest margin that could"
        f" have been shown, half that interval, is reported with each difference.{arms}"
    ]


def anchors(manifest: Manifest, verbs: wording.Verbs = wording.PLANNED) -> list[str]:
    """Return a description of any anchor examples and the primary contrast."""
    if not manifest.get("anchor_examples"):
        return []
    are, is_, kinds = verbs.are, verbs.is_, ("raw", "adjusted")
    primary, other = reversed(kinds) if manifest["adjusts_for_anchors"] else kinds
    return [
        f"Before all other examples, annotators of all arms of a task {are} given the same"
        f" {count(manifest['anchor_examples'], 'anchor example')}, without revealing the gold"
        f" answers. The anchor score {is_} not part of any other score and not used to screen out"
        " annotators. Next to the raw difference between shots, the difference adjusted for the"
        f" anchor score {is_} estimated (ANCOVA: score ~ arm + anchor score, within a task). The"
        f" {primary} difference {is_} primary, and the {other} one a sensitivity analysis."
    ]


def confidence(manifest: Manifest, verbs: wording.Verbs = wording.PLANNED) -> list[str]:
    """Return a description of the question about confidence, if the design asks it."""
    share = manifest.get("confidence_share")
    if not share:
        return []
    are, of = verbs.are, "all examples" if share == 1 else f"{100 * share:g} % of the examples"
    reason = " and for a one-line reason" if manifest["asks_reasons"] else ""
    return [
        f"For {of} of the training and annotation steps, drawn for each annotator, annotators"
        f" {are} asked how sure they {are} of being right (0, 25, 50, 75 or 100 %){reason}, after"
        " the final answer and before the gold answer or the next example. Annotators can skip the"
        " question. Calibration (mean confidence against mean S1, expected calibration"
        " error over the five points, Brier score) and the change of mean confidence between"
        f" numbers of shots {are} reported for the annotation step, with 95 % bootstrap intervals"
        " over annotators; no hypothesis is tested on them."
    ]


def _contrasts(scenarios: list[dict[str, Any]], rule: dict[str, Any]) -> list[Block]:
    planned = wording.pairs(scenarios)
    if not planned:
        return [
            Paragraph(
                "Each task has a single number of shots; no differences between shots are tested."
            )
        ]
    number = count(len(planned), "contrast")
    shots = sorted({scenario["shots"] for scenario in scenarios})
    told = screening.warning(rule["rule"], shots, rule.get("screening_examples", 0))
    return [
        *([Paragraph(told)] if told else []),
        Paragraph(
            f"Differences between shots: one family of {number} (every pair of shots of every"
            " task). The groups consist of different annotators who answer the same test examples:"
            " annotators are nested in groups, and contexts are crossed with groups. The primary"
            " test corresponds to the interval: its two-sided p value is the larger of the p values"
            f" of Welch's t test over annotators and the two-way t test. It generalises to {BOTH};"
            " p values are Holm-adjusted over the whole family. We report each difference with its"
            " 95 % interval and Hedges' g. As a sensitivity analysis, we report Welch's test and"
            " the exact permutation test over annotators, with the smallest p value that the latter"
            " can attain."
        ),
        _power([pair[3:] for pair in planned]),
    ]


def _power(groups: list[tuple[int, int]]) -> Grid:
    """Return a table of the differences detectable in contrasts between these group sizes."""
    number = len(groups)
    levels = sorted({LEVEL, LEVEL / number}, reverse=True)
    rows = [
        [
            f"{fewer} and {more}",
            str(groups.count((fewer, more))),
            f"{significance.smallest_p(fewer, more):.3g}",
            *(wording.sds(power.detectable(min(fewer, more), level, POWER)) for level in levels),
        ]
        for fewer, more in sorted(set(groups))
    ]
    corrected = (
        f" The last column applies the first step of Holm's correction over {number} contrasts."
        if number > 1
        else ""
    )
    return Grid(
        "Statistical power of this design",
        [
            "Annotators per group", "Contrasts", "Smallest permutation p",
            *(f"Detectable at p < {level:.2g}" for level in levels),
        ],
        rows,
        [
            f"Detectable: the minimum detectable difference at {POWER:.0%} power by"
            f" {wording.OF_PEOPLE}, in SDs between annotators.{corrected} {wording.AT_LEAST}"
            " Multiplied by the SD in points, the value is a difference in points of score x 100."
        ],
    )  # fmt: skip


# Additional sections for a cross-task study: arms, planned analysis and gains.

OF_ARMS = "Gains of the arms"  # table caption and section title
OF_CURVE = "Learning curve within an upstream task"


def arms(manifest: Manifest, verbs: Verbs = PLANNED) -> str:
    """Return sentences about the arms and their training, or "" unless the study is cross-task."""
    frozen, v = manifest["cross_task"], verbs
    if not frozen:
        return ""
    names = {
        arm: [pool["task"] for pool in frozen["pools"] if pool["arm"] == arm]
        for arm in ("upstream", "sham")
    }
    each = frozen["upstream_examples"]
    partition = f" of the partition {frozen['partition']}" if frozen["partition"] else ""
    return (
        f"The study {v.is_} a between-subjects cross-task study: a scenario combines an unseen"
        " task, a training split and an arm. Before the training on the unseen task, the upstream"
        f" arm {v.completes} {count(each, 'example')} of each of"
        f" {', '.join(names['upstream'])}{partition} with feedback, in random task order; the sham"
        f" arm {v.completes} {count(each * len(names['upstream']), 'example')} of"
        f" {', '.join(names['sham'])} with feedback; the direct arm {v.completes} none. The"
        f" examples {v.are} drawn with the study's seed from frozen pools that share no text (by"
        f" hash) with an unseen task or with each other. Participants who {v.have} met an upstream"
        f" or sham task before {v.are} not eligible for any arm, and participants {v.may} join only"
        " one arm."
    )


def planned(manifest: Manifest) -> list[Block]:
    """Return the planned analysis of the arms, or [] unless the study is cross-task."""
    if not manifest["cross_task"]:
        return []
    return [
        Bullets(
            [
                "Primary outcome: the average relative gain (ARG) of the upstream arm over the sham"
                " arm. Test-set scores under the task's metric are averaged over the participants"
                " of an arm; the gain of each unseen task is (upstream - sham) / sham; the ARG is"
                " the mean over tasks. Secondary outcomes: upstream against direct (transfer and"
                " practice) and sham against direct (practice).",
                f"95 % interval of the ARG: {interval(manifest)}; it generalises to"
                f" {cross_task.QUESTION}.{_bootstrap(manifest)} No p value is computed for a gain.",
                "A gain is reported as not computable, with its task and the reason, if the base is"
                " at or below zero, below 0.01, or less than four standard errors from zero, or if"
                " a mean is undefined. In that case, no ARG is computed, because a mean over the"
                " remaining tasks would favour those with a high base. The absolute difference is"
                " reported for all tasks.",
                "Manipulation check: S1 over upstream tasks in their order, the learning curve"
                " within an upstream task, and active time. Tables by task and shots, their"
                " intervals, and comparisons with models include only the direct arm.",
            ]
        )
    ]


def interval(manifest: Manifest) -> str:
    """Return the interval method for a gain, which depends on the number of unseen tasks."""
    if len({scenario["task"] for scenario in manifest["scenarios"]}) == 1:
        return "Fieller's"
    return (
        "the delta method with Satterthwaite's degrees of freedom over all tasks, Fieller's for a"
        " single task"
    )


def _bootstrap(manifest: Manifest) -> str:
    """Return a sentence about the bootstrap over annotators if planned groups are large enough."""
    seats: Counter[tuple[str, str]] = Counter()
    for scenario in manifest["scenarios"]:
        seats[scenario.get("arm", ""), scenario["task"]] += scenario["seats"]
    least: dict[str, int] = {}
    for (arm, _task), number in seats.items():
        least[arm] = min(number, least.get(arm, number))
    if sum(number >= FEWEST_FOR_BOOTSTRAP for number in least.values()) < 2:
        return ""
    return (
        f" With at least {FEWEST_FOR_BOOTSTRAP} participants in both arms of each task, a bootstrap"
        " over participants is also reported."
    )


def results(study: Study) -> list[Block]:
    """Return the gains section, with published models and the manipulation check."""
    rows = cross_task.gains(study, Kind.PERSON)
    if not rows:
        return [Paragraph("No unseen task has been completed by participants in two arms yet.")]
    published = [row for row in cross_task.published() if row.partition == study.partition]
    left = upstream.OF_ARMS["completions"]
    tables: list[tuple[str, Sequence[Column], Sequence[Any]]] = [
        (OF_ARMS, cross_task.GAINS, cross_task.joint(study, Kind.PERSON)),
        *((own.title, own.columns, own.rows(study, Kind.PERSON)) for own in learners.TABLES),
        (left.title, left.columns, left.rows(study, Kind.PERSON)),
        ("ARG of models, as published (Ye et al., 2021)", cross_task.PUBLISHED, published),
        ("Manipulation check", upstream.MANIPULATION, upstream.manipulation(study, Kind.PERSON)),
        (OF_CURVE, upstream.CURVE, upstream.curve(study, Kind.PERSON)),
    ]
    intros = {left.title: [left.intro]}
    return [
        Bullets(list(cross_task.sentences(study, Kind.PERSON))),
        *(
            Grid.of(caption, columns, found, [*intros.get(caption, []), meanings(on_page(columns))])
            for caption, columns, found in tables
            if found
        ),
    ]
