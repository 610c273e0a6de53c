"""Items 4.1 to 5.4 of Wei et al.: tests, uncertainty, scoring, reporting and public data."""

from analysis.documents import planned_analysis
from analysis.documents.blocks import Entry, Reply
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.short_form import (
    Answers,
    Status,
    prose,
    status,
    text,
    verdict,
)
from analysis.documents.checklists.wei_recruitment import unanswered
from analysis.documents.wording import count, recomputed
from analysis.scores.performance import FAMILY_NAMES
from analysis.stats.uncertainty import FEWEST_FOR_BOOTSTRAP

NA = Status.NOT_APPLICABLE
NO_MODEL = "No model was run, so there was no comparison."


def entries(facts: Facts, answers: Answers) -> list[Entry]:
    return [
        *_tests(facts),
        *_uncertainty(facts),
        *_scoring(facts),
        _robustness(facts),
        *_reported(facts),
        *_public(facts, answers),
    ]


def _tests(facts: Facts) -> list[Entry]:
    """Return the statistical test items. Tests that compare humans with models come first."""
    found = tests(facts)
    compared = [cell for cell in facts.compared if facts.cells[cell.task, cell.shots] > 1]
    if not facts.model_cells:
        answer, why = NA, NO_MODEL
    elif compared:
        answer, why = Status.YES, facts.who_ran
    else:
        answer = Status.NO
        why = (
            "No difference was tested: a test requires at least two human annotators in the"
            " analysis for a task and number of shots for which a model also has a score."
        )
    return [
        status("4.1", "Statistical test of humans against models", answer, why),
        text("4.1.1", "Statistical tests used", " ".join(found) or "None."),
    ]


TWO_WAY = "the larger p value of Welch's t test over annotators and the two-way t test"


def tests(facts: Facts) -> list[str]:
    """Return one sentence for each test in the study's tables."""
    found = []
    if number := sum(facts.cells[cell.task, cell.shots] > 1 for cell in facts.compared):
        where = dict.fromkeys(
            "in the annotator's seat" if cell.is_seated else "with uploaded predictions"
            for cell in facts.compared
        )
        found.append(
            f"Humans minus models {' and '.join(where)}, paired by example: the interval over"
            f" annotators and contexts and its p value{_holm(number)}; as a sensitivity analysis, a"
            " sign-flip test over contexts."
        )
    if facts.tested_pairs:
        found.append(
            f"Between shots ({count(facts.tested_pairs, 'contrast')}): {TWO_WAY}"
            f"{_holm(facts.tested_pairs)}; as a sensitivity analysis, Welch's test and the exact"
            " permutation test."
        )
    if facts.upstream and facts.by_arm:
        found.append(
            "Between arms: the average relative gain (ARG) with its 95 % interval"
            f" ({planned_analysis.interval(facts.manifest)}), without a p value."
        )
    return found


def _holm(number: int) -> str:
    return ", Holm-adjusted over all of these differences" if number > 1 else ""


def _uncertainty(facts: Facts) -> list[Entry]:
    if not facts.has_variance:
        return [
            status(
                "4.2", "Uncertainty of the results", Status.NO,
                "No cell has two annotators yet, so no SD and no interval can be computed.",
            ),
            Entry("4.2.1", "Type of estimate", Reply.CHOICES,
                  "Point estimate" if facts.by_arm else "none yet"),
        ]  # fmt: skip
    told = [
        "The report states the SD over annotators, 95 % intervals, and bootstrap intervals over"
        " contexts."
    ]
    if facts.bootstrapped:
        told.append(
            f"Cells with at least {FEWEST_FOR_BOOTSTRAP} annotators also have bootstraps over"
            f" annotators and over both: {'; '.join(facts.bootstrapped)}."
        )
    elif facts.cells:
        told.append(
            "Bootstraps over annotators are not reported, as they require at least"
            f" {FEWEST_FOR_BOOTSTRAP} annotators in a cell."
        )
    if facts.upstream:
        smallest = min(facts.by_arm.values())
        enough = "is" if smallest >= FEWEST_FOR_BOOTSTRAP else "is not"
        told.append(
            f"A bootstrap of the ARG over annotators {enough} reported: it requires"
            f" {FEWEST_FOR_BOOTSTRAP} in each arm of a task, and the smallest arm has {smallest}."
        )
    return [
        status("4.2", "Uncertainty of the results", Status.YES, *told),
        Entry("4.2.1", "Type of estimate", Reply.CHOICES, "Point estimate, Interval estimate"),
    ]


def _scoring(facts: Facts) -> list[Entry]:
    if not facts.model_cells:
        return [
            status("4.3", "Same metric", NA, NO_MODEL),
            status("4.4", "Same rubric", NA),
            status("4.5", "Same scoring procedure", NA),
        ]
    recipes = "; ".join(sorted({task["recipe"] for task in facts.manifest["tasks"]}))
    return [
        status(
            "4.3", "Same metric", Status.YES, facts.design["metrics"] or "S1 for both.",
            recipes,
            "Annotators and runs are scored individually; aggregates are reported separately.",
        ),
        status(
            "4.4", "Same rubric", Status.YES, "The same gold texts and gold rule apply to both."
        ),
        status(
            "4.5", "Same scoring procedure", Status.YES,
            "The same function scores humans and models.",
        ),
    ]  # fmt: skip


def _robustness(facts: Facts) -> Entry:
    if not facts.by_arm:
        return status("4.6", "Robustness to exclusions", NA, "No results yet.")
    shown = "Results are shown without and with the excluded annotators."
    return status(
        "4.6", "Robustness to exclusions", Status.PARTIAL,
        f"Completed, then excluded by a researcher: {facts.excluded}.",
        shown if facts.excluded else "",
        "The section “Sensitivity to inclusion criteria” shows the results under other criteria;"
        " the paper must state whether its conclusions hold under them.",
    )  # fmt: skip


def _reported(facts: Facts) -> list[Entry]:
    whole = facts.whole
    shown = [*facts.tasks, *facts.study.trained_tasks]
    families, number = {task.card.family for task in shown}, len(shown)
    named = ", ".join(words for name, words in FAMILY_NAMES.items() if name in families)
    active = facts.seconds_per_answer
    is_crossed = facts.manifest["cross_task"]
    upstream = ", those of the upstream step in upstream.csv" if is_crossed else ""
    share = f" ({whole.completed / whole.arrived:.0%})" if whole.arrived else ""
    return [
        demographics(facts, "5.1.1", "Description of the sample"),
        status(
            "5.1.2", "Instructions", Status.YES,
            f"Verbatim in the release bundle, for {count(number, 'task')} ({named}).",
        ),
        status(
            "5.1.3", "Time", Status.NO if active is None else Status.YES,
            "No test answers yet."
            if active is None
            else f"Mean time per test example, excluding idle time: {active:.1f} s; all times are"
            f" in answers.csv{upstream}.",
        ),
        _ai(facts),
        status(
            "5.1.5", "Completion rate", Status.YES if whole.arrived else Status.NO,
            f"{whole.completed} of {whole.arrived} who took a seat{share} completed"
            + (f" and did not withdraw; {facts.withdrawn} withdrew" if facts.withdrawn else "")
            + (f"; {whole.at_work} still in progress" if whole.at_work else "")
            + f"; {whole.arrived - whole.completed - facts.withdrawn - whole.at_work} ended early."
            " Numbers are participations.",
        ),
    ]  # fmt: skip


def demographics(facts: Facts, number: str, title: str) -> Entry:
    if not facts.sample:
        return status(
            number, title, Status.NO,
            "The study asks no study-specific question with choices or numbers, and no demographic"
            " export was uploaded.",
        )  # fmt: skip
    questions = dict.fromkeys(f"“{row.question}”" for row in facts.sample)
    shown = any(row.n is not None for row in facts.sample)
    return status(
        number, title, Status.YES if shown else Status.PARTIAL,
        f"The report's section “Sample” tabulates {', '.join(questions)}.",
        "" if shown else "All of its cells are suppressed, as too few participants answered.",
    )  # fmt: skip


def _ai(facts: Facts) -> Entry:
    used = facts.exit_answers["ai_used"]
    answer, told = Status.NO, f"Asked in the exit questionnaire: {unanswered(facts)}."
    if not facts.manifest["exit_questionnaire"]:
        told = "Not asked."
    elif used:
        counts = ", ".join(f"{word} {n}" for word, n in sorted(used.items()))
        answer = Status.PARTIAL
        told = (
            f"Reported use of AI in the exit questionnaire: {counts}. The tools named, without"
            " versions, are in questionnaire.csv."
        )
    return status("5.1.4", "Use of AI tools by annotators", answer, told)


BUNDLE = (
    "The release bundle contains each stored answer with its times under a pseudonym (answers of"
    " participants who withdrew are erased)."
)


def _public(facts: Facts, answers: Answers) -> list[Entry]:
    data, materials, code, ran = (
        answers.line("5.2", key) for key in ("data", "materials", "code", "models")
    )
    is_public = verdict(data)
    individual = is_public if is_public in (Status.YES, Status.PARTIAL) else NA
    reason = data if is_public == Status.NO else ""
    licence = f"Licence: {answers.licence}." if answers.licence and data else ""
    code_status = verdict(code)
    if not code and is_public == Status.YES:
        code_status = Status.PARTIAL
    return [
        status("5.2", "Public data", is_public, prose(data), licence, BUNDLE, field="5.2"),
        status(
            "5.2.1", "Annotator-level data", individual,
            "" if individual == NA else BUNDLE, field="5.2",
        ),
        text(
            "5.2.2", "Why data are not public",
            reason or (str(NA) if is_public != Status.UNKNOWN else ""), field="5.2",
        ),
        status(
            "5.3", "Public materials", verdict(materials), prose(materials),
            "Task cards, instructions, consent text and pages are in the release bundle.",
            field="5.2",
        ),
        status(
            "5.4", "Public analysis code", code_status, prose(code),
            "The release bundle contains verify.py, which recomputes"
            f" {recomputed(facts.manifest)} with plain Python, and analysis.R, which fits a"
            " mixed model.",
            f"Code that ran the models: {ran}" if ran else "", field="5.2",
        ),
    ]  # fmt: skip
