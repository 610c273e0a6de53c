"""A checklist for human baselines: filled in from the study, with questions to the researcher.

Items are numbered as in Wei, Paskov, Dev, Byun, Reuel et al. 2025 (arXiv 2506.13776) and phrased
in our own words.
"""

from collections import Counter
from collections.abc import Mapping

from django.db.models import Sum

from analysis.documents import methods, wording
from analysis.documents.blocks import Item
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import count
from analysis.stats import power, significance
from annotation.models import AddedSeats
from annotation.money.ledger import in_currency
from annotation.monitoring.funnel import Funnel
from tasks.cards import FAMILIES

# Item -> the question to the researcher.
ASKED = {
    "1.5": "What was adjusted to make the comparison fair to people or models, if anything?",
    "1.6": "Was there a pilot study, and what was changed as a result?",
    "1.7": "What did running the models cost (money, tokens or hours)?",
    "1.8": "Which difference would be meaningful, and was the number of annotators based on it?",
    "1.9": "Which ethics board reviewed the study (with its reference number), or why was none"
    " involved?",
    "1.10": "Where was the study preregistered (URL)?",
    "2.1": "Which population are the annotators intended to represent?",
    "2.2": "How were they sampled (platform filters, country, language, quotas)?",
    "2.4": "Were any authors or their colleagues among the annotators?",
    "3.3": "How did the models' prompts differ from the annotators' pages?",
    "3.4": "Which instructions were given to the models?",
    "3.5": "Which tools were people and models allowed to use, and how was this enforced?",
    "5.1.1": "Which demographic information about the annotators is known and may be published?",
    "5.2": "Where are the data available (URL, licence)?",
    "5.4": "Where is the code for running the models available (URL)?",
}


def items(
    record: StudyRecord, answers: Mapping[str, str], problems: Mapping[str, str] | None = None
) -> list[Item]:
    """The whole checklist of a study; answers, and what is wrong with them, are by item."""
    wrong = problems or {}
    known = {
        **_dataset(record),
        **_design(record),
        **_people(record),
        **_execution(record),
        **_analysis(record),
        **_documentation(record),
    }
    return [
        Item(
            number,
            title,
            text,
            ASKED.get(number, ""),
            answers.get(number, ""),
            wrong.get(number, ""),
        )
        for number, (title, text) in known.items()
    ]


Known = dict[str, tuple[str, str]]
NO_DIFFERENCES = "No tests of differences between shots are planned."


def _dataset(record: StudyRecord) -> Known:
    languages = sorted({task["card"]["language"] for task in record.manifest["tasks"]})
    outputs = "No predictions have been uploaded."
    if record.model_names:
        outputs = "One output per training split (see the table of models)."
    return {
        "0.7": ("Language of the items", ", ".join(languages)),
        "0.8": ("Size of the dataset", f"Test examples: {_sizes(record)}."),
        "0.9": ("Test items used for models", _models(record)),
        "0.10": ("Model outputs per item", outputs),
    }


def _sizes(record: StudyRecord) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in record.test_sizes.items())


def _added(record: StudyRecord) -> str:
    """How many seats were added to those of the design."""
    added = AddedSeats.objects.filter(scenario__study=record.study)
    number = added.aggregate(n=Sum("number", default=0))["n"]
    return f", {number} added after it was opened" if number else ""


def _design(record: StudyRecord) -> Known:
    scenarios, any_shots = record.manifest["scenarios"], any(record.study.shots)
    seats = sum(scenario["seats"] for scenario in scenarios)
    per_person = " or ".join(f"{size:,}" for size in sorted(set(record.test_sizes.values())))
    after = ", after the training examples of the scenario" if any_shots else ""
    split = (
        f" Training examples are those of {wording.training_splits(record.manifest)}."
        if any_shots
        else ""
    )
    return {
        "1.1": (
            "Number of annotators",
            f"{seats} planned in {count(len(scenarios), 'scenario')}{_added(record)};"
            f" {len(record.analysed)} included in the analysis.",
        ),
        "1.2": ("Number of items annotated", f"All test examples: {_sizes(record)}."),
        "1.2.1": (
            "Selection of items",
            "The complete test file of each task, as imported; no sampling." + split,
        ),
        "1.3": (
            "Annotators per item",
            f"{record.study.annotators} planned at each number of shots, all different people."
            f"{methods.per_browser(record)}",
        ),
        "1.4": ("Items per annotator", f"{per_person} test examples{after}."),
        "1.5": ("Adjustments to the task", ""),
        "1.6": (
            "Pilot studies and changes of the design",
            f"Other studies of these tasks by the same owner that were opened earlier:"
            f" {record.pilots}.",
        ),
        "1.7": ("Effort of people and models", _effort(record)),
        **_power(record),
        **_before_the_start(record),
    }


def _effort(record: StudyRecord) -> str:
    if record.seconds_per_answer is None:
        return "No active time has been recorded yet."
    effort = f"Mean active time per test answer: {record.seconds_per_answer:.1f} s."
    if record.wages:
        earned = in_currency(sum(wage.earned for wage in record.wages))
        effort += f" Total earnings: {earned} {record.manifest['currency']}."
    return effort


def _power(record: StudyRecord) -> Known:
    groups = sorted({pair[3:] for pair in wording.pairs(record.manifest["scenarios"])})
    smallest = detectable = NO_DIFFERENCES
    if groups:
        p = min(significance.smallest_p(*group) for group in groups)
        smallest = f"Smallest p attainable by the exact permutation test: {p:.3g}."
        apart = "; ".join(
            f"{fewer} and {more} annotators: {wording.sds(power.detectable(min(fewer, more)))}"
            for fewer, more in groups
        )
        detectable = f"At p < .05 and 80 % power, by the primary test: {apart}."
    return {
        "1.8": ("Statistical power", smallest),
        "1.8.1": ("Minimum detectable difference", detectable),
    }


def _before_the_start(record: StudyRecord) -> Known:
    study, whole = record.study, record.whole
    frozen = ""
    if study.opened_at:
        frozen = (
            f"The design was frozen on {wording.moment(study.opened_at)}, before any seat was"
            f" assigned; SHA-256: {study.manifest_hash}."
        )
    return {
        "1.9": (
            "Ethics and consent",
            "Consent was requested before the first example:"
            f" {whole.consented} consented, {whole.declined} declined, and"
            f" {record.withdrawn} withdrew later, upon which their answers were erased."
            + (f" Annotators were told: {told}" if (told := _ethics(record)) else ""),
        ),
        "1.10": ("Preregistration", frozen),
    }


def _ethics(record: StudyRecord) -> str:
    """The ethics board as the consent page names it."""
    named: str = record.manifest.get("ethics_contact", "")
    return named


def _models(record: StudyRecord) -> str:
    if not record.model_names:
        return "No predictions have been uploaded."
    return (
        f"The same complete set of test examples as for people ({', '.join(record.model_names)})."
    )


def _people(record: StudyRecord) -> Known:
    manifest, whole = record.manifest, record.whole
    sources = record.sources or "none yet"
    asked = manifest["comprehension_questions"].strip()
    seen = record.exit_answers["seen_before"]
    refused = whole.refused
    left = whole.arrived - whole.qualified
    lists = record.study.access_rules.count()
    return {
        "2.1": ("Population", ""),
        "2.2": ("Sampling", f"Seats taken: {sources}."),
        "2.3": (
            "Inclusion criteria",
            " ".join(
                [
                    "Comprehension questions about the instructions had to be answered correctly."
                    if asked
                    else "No comprehension questions.",
                    wording.rule_text(manifest, wording.REPORTED),
                    f"Entries in the access lists of the study: {lists}.",
                ]
            ),
        ),
        "2.3.2": (
            "Attrition before the test examples",
            f"{left} of {whole.arrived} who took a seat{_share(left, whole)}.",
        ),
        "2.4": ("Authors among the annotators", ""),
        "2.5": (
            "Prior exposure to the items",
            "Nobody could participate in the same task twice, in any version or study; refused for"
            f" this reason: {refused}.{methods.per_browser(record)} Self-reported prior exposure:"
            f" {_counts(record, seen)}.",
        ),
        "2.6": ("Training", " ".join(_training(record))),
        "2.7": ("Pay", " ".join(wording.pay_sentences(manifest, wording.REPORTED))),
    }


def _share(number: int, whole: Funnel) -> str:
    arrived = whole.arrived
    return f" ({number / arrived:.0%})" if arrived else ""


def _training(record: StudyRecord) -> list[str]:
    shots = sorted(record.study.shots)
    sentences = []
    if any(shots):
        k = f"k examples{wording.per_label(record.manifest)}"
        sentences.append(f"At k shots: {k}, with the gold answer revealed after each.")
    if 0 in shots:
        helped = wording.help_at_zero_shots(record.manifest)
        sentences.append(f"At zero shots: the task description and the instructions{helped}.")
    return [*sentences, f"Shots: {', '.join(map(str, shots))}."]


def _counts(record: StudyRecord, answers: Counter[str]) -> str:
    """How often each answer to a question of the exit questionnaire was given."""
    if not record.manifest.get("exit_questionnaire"):
        return "not asked"
    if not answers:
        return "asked in the exit questionnaire; no answers yet"
    asked = ", ".join(f"{word} {n}" for word, n in sorted(answers.items()))
    return f"{asked} (exit questionnaire)"


def _execution(record: StudyRecord) -> Known:
    blurs, pastes = record.page_signs
    return {
        "3.1": ("Session length", _session_length(record)),
        "3.1.1": ("Order of items", _order(record)),
        "3.2": ("Quality control during annotation", _quality_control(record)),
        "3.3": (
            "Same interface",
            "The pages shown to annotators are in the release bundle. Models' predictions are"
            " uploaded as files.",
        ),
        "3.4": ("Same instructions", "The annotators' instructions are in the release bundle."),
        "3.5": (
            "Same tools",
            "Reported by the browsers of all annotators in the analysis:"
            f" {count(blurs, 'page exit')} and {count(pastes, 'paste event')}.",
        ),
        "3.6": ("Explanations", "Annotators were not asked to explain their answers."),
    }


def _session_length(record: StudyRecord) -> str:
    active = record.median("active_seconds")
    if active is None:
        return "No participation has ended yet."
    breaks = count(record.manifest["idle_limit_hours"], "hour")
    return f"Median active time: {active / 60:.1f} minutes; breaks of up to {breaks} were allowed."


def _order(record: StudyRecord) -> str:
    manifest = record.manifest
    training = f"Training step: {wording.order(manifest['training_order'])}. "
    return (
        training if any(record.study.shots) else ""
    ) + f"Annotation step: {wording.order(manifest['annotation_order'])}. Seed {manifest['seed']}."


def _quality_control(record: StudyRecord) -> str:
    passed, checks = record.check_results
    attention = "No attention checks."
    if record.manifest["attention_checks"]:
        attention = f"Attention checks passed: {passed} of {checks}."
    return (
        f"{attention} Admitted to the annotation step: {record.whole.qualified}; of these, included"
        f" in the analysis: {record.whole.analysed}. Nobody who completed the study was excluded"
        " automatically."
    )


def _analysis(record: StudyRecord) -> Known:
    excluded = record.excluded
    return {
        "4.1": ("Tests of differences", " ".join(_tests(record))),
        "4.2": (
            "Uncertainty",
            "SD over annotators and t intervals are in this report; bootstrap intervals over"
            " examples, annotators and both are on the page Analysis.",
        ),
        "4.3": (
            "Same metric",
            f"{wording.metrics(record.manifest) or 'S1 for both.'} {_recipes(record)}",
        ),
        "4.4": ("Same rubric", "The same gold texts and gold rule for both."),
        "4.5": ("Same method", "One function scores the answers of people and models."),
        "4.6": (
            "Robustness to exclusions",
            f"{count(excluded, 'annotator')} excluded by a researcher."
            + (" Results are shown without and with those excluded." if excluded else "")
            + " The page Sensitivity shows results under other exclusion rules.",
        ),
    }


def _tests(record: StudyRecord) -> list[str]:
    """Which tests this study has, and where they are reported."""
    tests = []
    if wording.pairs(record.manifest["scenarios"]):
        tests.append(
            "Between shots: Welch's t test with Holm's correction and an exact permutation test, in"
            " this report and on the page Analysis."
        )
    if record.model_names:
        tests.append(
            "Between people and models: paired by example, in this report and on the page Humans"
            " and models."
        )
    return tests or ["None: each task has a single number of shots, and there are no models."]


def _recipes(record: StudyRecord) -> str:
    return "; ".join(sorted({task["recipe"] for task in record.manifest["tasks"]}))


def _documentation(record: StudyRecord) -> Known:
    whole = record.whole
    families = {task.card.family for task in record.tasks}
    active = record.seconds_per_answer
    return {
        "5.1.1": (
            "Demographics",
            "The study asks questions of its own; the design has them, own_answers.csv the answers."
            if record.manifest.get("own_questions")
            else "Handful neither asks for nor stores demographic information.",
        ),
        "5.1.2": (
            "Instructions",
            f"Of {count(len(record.tasks), 'task')}"
            f" ({', '.join(name.replace('_', ' ') for name in FAMILIES if name in families)}),"
            " verbatim in the release bundle.",
        ),
        "5.1.3": (
            "Time",
            f"Mean active time per test answer: {active:.1f} s; all times are in answers.csv."
            if active is not None
            else "No test answers yet.",
        ),
        "5.1.4": (
            "Use of AI tools",
            f"{_counts(record, record.exit_answers['ai_used']).capitalize()}.",
        ),
        "5.1.5": (
            "Completion rate",
            f"{whole.completed} of {whole.arrived} who took a seat"
            f"{_share(whole.completed, whole)}.",
        ),
        "5.2": (
            "Individual-level data",
            "The release bundle contains every answer under a pseudonym, with times, and a program"
            " that recomputes scores and tables.",
        ),
        "5.3": (
            "Materials",
            "Task cards, instructions, consent text and pages are in the release bundle.",
        ),
        "5.4": ("Code", "Handful is open source; verify.py in the bundle requires only Python."),
    }
