"""A checklist for human baselines, filled in where the platform knows and asking where it does not.

Items by the numbers of Wei, Paskov, Dev, Byun, Reuel et al. 2025 (arXiv 2506.13776), in words of
our own. What is filled in is taken from the study; what is asked is the researcher's to answer.
"""

from collections import Counter
from collections.abc import Mapping

from analysis.documents import methods, wording
from analysis.documents.blocks import Item
from analysis.documents.study_record import Conduct
from analysis.documents.wording import count
from analysis.stats import significance
from annotation.money.ledger import in_currency
from tasks.cards import FAMILIES

# Item -> what only the researcher can say.
ASKED = {
    "1.5": "What was changed to make the task fair for people or for models, if anything?",
    "1.6": "Was there a pilot, and what was changed after it?",
    "1.7": "What did it cost to run the models (money, tokens or hours)?",
    "1.8": "What difference would have mattered, and was the number of annotators chosen for it?",
    "1.9": "Which ethics board reviewed the study, under which number, or why none?",
    "1.10": "Where was the study preregistered (URL)?",
    "2.1": "Whom should the annotators stand for?",
    "2.2": "How were they sampled (platform filters, country, language, quotas)?",
    "2.4": "Were authors or their colleagues among the annotators?",
    "3.3": "How did the models' prompt differ from the annotators' page?",
    "3.4": "Which instructions did the models get?",
    "3.5": "Which tools were allowed to people and to models, and how was that enforced?",
    "5.1.1": "Which demographics of the annotators are known and may be published?",
    "5.2": "Where are the data published (URL, licence)?",
    "5.4": "Where is the code of the models' runs (URL)?",
}


def items(found: Conduct, answers: Mapping[str, str]) -> list[Item]:
    """The whole checklist of a study; `answers` are the researcher's by item."""
    known = {
        **_design(found),
        **_people(found),
        **_execution(found),
        **_analysis(found),
        **_documentation(found),
    }
    return [
        Item(number, title, text, ASKED.get(number, ""), answers.get(number, ""))
        for number, (title, text) in known.items()
    ]


Known = dict[str, tuple[str, str]]
NO_DIFFERENCES = "No differences between shots are planned."


def _design(found: Conduct) -> Known:
    manifest, prereg, shots = found.manifest, found.study.opened_at, found.study.shots
    languages = sorted({task["card"]["language"] for task in manifest["tasks"]})
    sizes = ", ".join(f"{name} {size:,}" for name, size in found.test_sizes.items())
    seats = sum(one["seats"] for one in manifest["scenarios"])
    per_person = sorted(set(found.test_sizes.values()))
    contrasts = wording.pairs(manifest["scenarios"])
    smallest = min((significance.smallest_p(*pair[3:]) for pair in contrasts), default=None)
    detectable = "; ".join(
        f"{one} and {two} annotators: {wording.sds(significance.detectable(min(one, two)))}"
        for one, two in sorted({pair[3:] for pair in contrasts})
    )
    effort = "No active time is known yet."
    if found.seconds_per_answer is not None:
        effort = f"{found.seconds_per_answer:.1f} s of active time for a test answer, on average."
        if found.wages:
            earned = sum(wage.earned for wage in found.wages)
            effort += f" People earned {in_currency(earned)} {manifest['currency']} in all."
    models = _models(found)
    return {
        "0.7": ("Language of the items", ", ".join(languages)),
        "0.8": ("Size of the data", f"Test examples: {sizes}."),
        "0.9": ("Test items that models were scored on", models),
        "0.10": (
            "Model outputs for each item",
            "One for each training split (see the table of models)."
            if found.models
            else "No predictions are uploaded.",
        ),
        "1.1": (
            "Number of annotators",
            f"{seats} planned in {count(len(manifest['scenarios']), 'scenario')};"
            f" {len(found.analysed)} in the analysis.",
        ),
        "1.2": ("Number of items for people", f"All test examples: {sizes}."),
        "1.2.1": (
            "How the items were chosen",
            "The whole test file of each task, as imported; nothing was sampled."
            + (
                f" The training files are those of number {found.study.split_number}."
                if any(shots)
                else ""
            ),
        ),
        "1.3": (
            "Answers for each item",
            f"{found.study.annotators} planned for each number of shots, by different people."
            f"{methods.per_browser(found)}",
        ),
        "1.4": (
            "Items for each annotator",
            " or ".join(f"{size:,}" for size in per_person)
            + " test examples"
            + (", after the training examples of the scenario." if any(shots) else "."),
        ),
        "1.5": ("Adjustments for people and models", ""),
        "1.6": (
            "Pilots and changes of design",
            f"{count(found.pilots, 'other study')} of these tasks opened earlier here."
            if found.pilots == 1
            else f"{found.pilots} other studies of these tasks opened earlier here.",
        ),
        "1.7": ("Effort of people and of models", effort),
        "1.8": (
            "Power",
            f"Smallest p of the exact permutation test: {smallest:.3g}."
            if smallest is not None
            else NO_DIFFERENCES,
        ),
        "1.8.1": (
            "Smallest difference that could be shown",
            f"At p < .05, 80 %: {detectable}." if contrasts else NO_DIFFERENCES,
        ),
        "1.9": (
            "Ethics and consent",
            "Consent was asked before the first example. It was given"
            f" {count(found.whole.consented, 'time')} and refused"
            f" {count(found.whole.declined, 'time')}; withdrawn later, with the answers erased:"
            f" {found.withdrawn}.",
        ),
        "1.10": (
            "Preregistration",
            f"The design was frozen {wording.moment(prereg)} with the SHA-256"
            f" {found.study.manifest_hash}, before a seat was taken."
            if prereg
            else "",
        ),
    }


def _models(found: Conduct) -> str:
    if not found.models:
        return "No predictions are uploaded."
    names = sorted({row.model for row in found.models})
    return f"The same test examples as people, all of them ({', '.join(names)})."


def _people(found: Conduct) -> Known:
    manifest, whole = found.manifest, found.whole
    came = found.came or "none yet"
    asked = manifest["comprehension_questions"].strip()
    seen = found.exit_answers["seen_before"]
    refused = whole.refused
    left = whole.arrived - whole.qualified
    lists = found.study.access_rules.count()
    return {
        "2.1": ("Population", ""),
        "2.2": ("Sampling", f"Seats taken: {came}."),
        "2.3": (
            "Criteria for taking part",
            " ".join(
                [
                    "Questions about the instructions had to be answered right."
                    if asked
                    else "No questions about the instructions.",
                    wording.rule_text(manifest),
                    f"Entries on the lists of who may take part: {lists}.",
                ]
            ),
        ),
        "2.3.2": (
            "Share who came and did not reach the test examples",
            f"{left} of {whole.arrived} who took a seat{_share(left, whole)}.",
        ),
        "2.4": ("Authors among the annotators", ""),
        "2.5": (
            "Earlier contact with the items",
            "Nobody could take part in a task twice, in any version or study; turned away for that:"
            f" {refused}.{methods.per_browser(found)} Whether they had seen the texts before:"
            f" {_counts(found, seen)}.",
        ),
        "2.6": (
            "Training",
            " ".join(_training(found)),
        ),
        "2.7": ("Pay", " ".join(wording.pay_sentences(manifest))),
    }


def _share(number: int, whole) -> str:
    arrived = whole.arrived
    return f" ({number / arrived:.0%})" if arrived else ""


def _training(found: Conduct) -> list[str]:
    shots = sorted(found.study.shots)
    said = []
    if any(shots):
        said.append("At k shots: k examples, each revealed after its answer.")
    if 0 in shots:
        helped = wording.help_at_zero_shots(found.manifest)
        said.append(f"At zero shots: the description and the instructions{helped}.")
    return [*said, f"Shots: {', '.join(map(str, shots))}."]


def _counts(found: Conduct, answers: Counter[str]) -> str:
    """How often what was answered to one of the questions at the end."""
    if not found.manifest.get("exit_questionnaire"):
        return "not asked"
    if not answers:
        return "asked at the end, and nobody has answered"
    asked = ", ".join(f"{word} {n}" for word, n in sorted(answers.items()))
    return f"asked at the end: {asked}"


def _execution(found: Conduct) -> Known:
    manifest, whole = found.manifest, found.whole
    active = found.median("active_seconds")
    passed, checks = found.check_results
    blurs, pastes = found.page_signs
    reached, analysed = whole.qualified, whole.analysed
    return {
        "3.1": (
            "Length of the sessions",
            f"Median active time of {active / 60:.1f} minutes; breaks of up to"
            f" {manifest['idle_limit_hours']} hours were allowed."
            if active is not None
            else "Nobody has ended yet.",
        ),
        "3.1.1": (
            "Order of the items",
            (
                f"Training step: {wording.order(manifest['training_order'])}. "
                if any(found.study.shots)
                else ""
            )
            + f"Annotation step: {wording.order(manifest['annotation_order'])}."
            f" Seed {manifest['seed']}.",
        ),
        "3.2": (
            "Quality control during the work",
            (
                f"Attention checks passed: {passed} of {checks}."
                if manifest["attention_checks"]
                else "No attention checks."
            )
            + f" Qualified for the test examples: {reached}; of these in the analysis: {analysed}."
            " Nobody who completed was excluded automatically.",
        ),
        "3.3": (
            "The same interface",
            "What annotators saw is in the release bundle. Models answer in files.",
        ),
        "3.4": ("The same instructions", "Annotators' instructions are in the release bundle."),
        "3.5": (
            "The same tools",
            f"Their pages told of being left {count(blurs, 'time')} and of"
            f" {count(pastes, 'paste')}, over all annotators in the analysis.",
        ),
        "3.6": ("Reasons for answers", "Annotators were not asked for reasons."),
    }


def _analysis(found: Conduct) -> Known:
    excluded = found.excluded
    return {
        "4.1": (
            "Tests of differences",
            " ".join(_tests(found)),
        ),
        "4.2": (
            "Uncertainty",
            "SD over annotators and t intervals in this report; bootstraps over examples,"
            " annotators and both on the page Analysis.",
        ),
        "4.3": ("The same metric", f"S1 for both. {_recipes(found)}"),
        "4.4": ("The same rubric", "The same gold texts and gold rule for both."),
        "4.5": ("The same method", "One function scores people's and models' answers."),
        "4.6": (
            "Robustness to exclusions",
            f"{count(excluded, 'annotator')} excluded by hand."
            + (" The table is shown in both versions." if excluded else "")
            + " The page Sensitivity has it under other rules.",
        ),
    }


def _tests(found: Conduct) -> list[str]:
    """Which tests this study has, and where they stand."""
    said = []
    if wording.pairs(found.manifest["scenarios"]):
        said.append(
            "Between shots by Welch's test with Holm's correction and by exact permutation, in this"
            " report and on the page Analysis."
        )
    if found.models:
        said.append(
            "Against models paired by example, in this report and on the page Humans and models."
        )
    return said or ["None: one number of shots for each task, and no models."]


def _recipes(found: Conduct) -> str:
    return "; ".join(sorted({task["recipe"] for task in found.manifest["tasks"]}))


def _documentation(found: Conduct) -> Known:
    whole = found.whole
    families = {task.card.family for task in found.tasks}
    active = found.seconds_per_answer
    return {
        "5.1.1": ("Demographics", "Handful asks for none and stores none."),
        "5.1.2": (
            "Instructions",
            f"Of {count(len(found.tasks), 'task')}"
            f" ({', '.join(name.replace('_', ' ') for name in FAMILIES if name in families)}),"
            " word for word in the release bundle.",
        ),
        "5.1.3": (
            "Time",
            f"Mean {active:.1f} s of active time for a test answer; each one is in answers.csv."
            if active is not None
            else "No test answers yet.",
        ),
        "5.1.4": (
            "Use of AI tools",
            f"{_counts(found, found.exit_answers['ai_used']).capitalize()}.",
        ),
        "5.1.5": (
            "Share who completed",
            f"{whole.completed} of {whole.arrived} who took a seat"
            f"{_share(whole.completed, whole)}.",
        ),
        "5.2": (
            "Data of individuals",
            "The release bundle holds every answer under a pseudonym, with times, and a program"
            " that recomputes every number.",
        ),
        "5.3": (
            "Materials",
            "Task cards, instructions, consent text and the pages are in the release bundle.",
        ),
        "5.4": ("Code", "Handful is open; verify.py in the bundle needs nothing but Python."),
    }
