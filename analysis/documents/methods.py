"""The methods paragraphs of the report: the design in words, and nothing that it did not have."""

from collections.abc import Callable, Iterable
from typing import Any

from analysis.documents import wording
from analysis.documents.blocks import Paragraph
from analysis.documents.study_record import RECRUITERS, Conduct
from analysis.documents.wording import count, moment, order
from annotation.money.ledger import in_currency
from annotation.study import gates


def paragraphs(found: Conduct) -> list[Paragraph]:
    """Design, steps, gates, people, score and pay; nothing that this study did not have."""
    made = [_design(found), _steps(found), _gates(found), _people(found), _score(found)]
    made.append(_pay(found))
    if not found.whole.completed:
        made.insert(0, "No person has completed this study yet: this describes its design.")
    return [Paragraph(text) for text in made]


def per_browser(found: Conduct) -> str:
    """For whom exclusivity holds per browser, as a sentence; "" where nobody came like that."""
    came = dict(found.recruiters).get(RECRUITERS["link"])
    return f" For the {came} by an open link this holds per browser." if came else ""


def _design(found: Conduct) -> str:
    manifest, shots = found.manifest, sorted(found.study.shots)
    tasks = [f"{task['name']} (version {task['version']})" for task in manifest["tasks"]]
    number = len(manifest["scenarios"])
    each = "The one scenario" if number == 1 else f"Each of the {number} scenarios"
    return (
        f"We measured how well people do {_listed(tasks)} with {_listed(map(str, shots))}"
        f" {'shot' if shots == [1] else 'shots'}, by the protocol of CLUES (Mukherjee et al. 2021),"
        f" on the platform Handful. {_answers(manifest)} {each} (a task at a number of shots) was"
        f" planned for {count(found.study.annotators, 'annotator')}; nobody took part in a task"
        f" twice.{per_browser(found)} The design was frozen {moment(found.study.opened_at)}, before"
        " anybody took a seat; what was done to the study after that is listed below."
    )


def _answers(manifest: dict[str, Any]) -> str:
    """What an answer is in these tasks."""
    labels = _named(manifest, lambda card: card.get("labels"))
    spans = _named(manifest, lambda card: not card.get("labels"))
    if not labels:
        return "Annotators answered by highlighting spans of the text."
    if not spans:
        return "Annotators answered by choosing a label."
    return (
        f"Annotators answered by highlighting spans of the text in {_listed(spans)}, by choosing a"
        f" label in {_listed(labels)}."
    )


def _named(manifest: dict[str, Any], wanted: Callable[[dict[str, Any]], Any]) -> list[str]:
    """The names of the tasks whose cards are like that."""
    return [task["name"] for task in manifest["tasks"] if wanted(task["card"])]


def _steps(found: Conduct) -> str:
    manifest, shots = found.manifest, found.study.shots
    said = []
    if any(shots):
        where = "At more than zero shots annotators" if 0 in shots else "Annotators"
        said.append(
            f"{where} began with the training step: the k examples of training file number"
            f" {found.study.split_number}, one at a time ({order(manifest['training_order'])});"
            " after each answer, which could not be changed, the right one was shown."
        )
    said.append(
        "In the annotation step annotators answered all test examples of the task"
        f" ({order(manifest['annotation_order'])}), without feedback."
    )
    if 0 in shots:
        said.append(
            "At zero shots there was no training step: annotators had the description and the"
            f" instructions{wording.help_at_zero_shots(manifest)}."
        )
    return " ".join(said)


def _gates(found: Conduct) -> str:
    manifest = found.manifest
    said = []
    if manifest.get("computer_only"):
        said.append("Phones were turned away.")
    questions = gates.parse(manifest["comprehension_questions"])
    if questions:
        attempts = count(manifest["comprehension_attempts"], "attempt")
        said.append(
            f"Before the first example {count(len(questions), 'question')} about the instructions"
            f" had to be answered right within {attempts}; who did not was screened out and paid"
            " for the time."
        )
    said.append(wording.rule_text(manifest))
    checks = manifest["attention_checks"]
    if checks:
        said.append(
            f"Among the test examples of each annotator stood {count(checks, 'attention check')},"
            " which S1 does not count."
        )
    return " ".join(said)


def _people(found: Conduct) -> str:
    whole, excluded = found.whole, found.excluded
    came = f" ({found.came})" if found.came else ""
    said = [
        f"Seats taken: {whole.arrived}{came}; consented: {whole.consented}; completed:"
        f" {whole.completed}; in the analysis: {whole.analysed}."
    ]
    if found.manifest["tasks_per_worker"] > 1:
        said.append("A person on two tasks counts twice.")
    if whole.screened_out:
        said.append(f"Screened out and paid: {whole.screened_out}.")
    if found.withdrawn:
        said.append(f"Withdrawn, with their answers erased: {found.withdrawn}.")
    if excluded:
        said.append(
            f"Completed and excluded by hand, each with a reason (below): {excluded}; the tables"
            " stand without and with them."
        )
    return " ".join(said)


def _score(found: Conduct) -> str:
    manifest = found.manifest
    said = [
        "An answer is scored by S1: the harmonic mean of precision and recall between the set of"
        " answered texts and the set of gold texts, which match exactly; two empty sets score 1,"
        " exactly one empty set scores 0."
    ]
    if _named(manifest, lambda card: card.get("labels")):
        said.append("For a label that is 1 if it is right, else 0.")
    alternatives = _named(manifest, lambda card: card["gold_rule"] == "any_of")
    if alternatives:
        said.append(
            f"The gold texts of {_listed(alternatives)} are alternatives (gold rule any_of): the"
            " best S1 against one of them counts."
        )
    said.append(
        "We report the mean ± standard deviation (ddof 1) over annotators of their mean S1 over the"
        " test examples, x 100; no answers are aggregated. The recipe below each table names every"
        " choice that changes its numbers."
    )
    return " ".join(said)


def _pay(found: Conduct) -> str:
    manifest = found.manifest
    currency = manifest["currency"]
    said = [
        f"The pay was {manifest['hourly_rate']} {currency} per active hour, whatever the score."
    ]
    said += wording.least_and_most(manifest)
    wage = found.median("per_active_hour")
    if wage is not None:
        known = sum(one.per_active_hour is not None for one in found.wages)
        said.append(
            f"What was earned came to a median of {in_currency(round(wage))} {currency} per active"
            f" hour (n = {known})."
        )
    return " ".join(said)


def _listed(words: Iterable[str]) -> str:
    """a; a and b; a, b and c."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
