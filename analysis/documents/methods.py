"""A report's methods section: the frozen design, how the study was run, and the analysis."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from analysis.cross_task.cross_task import QUESTION
from analysis.documents import planned_analysis, recruitment, results, wording
from analysis.documents.blocks import Paragraph
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import PLANNED, REPORTED, count, moment
from analysis.stats import two_way
from analysis.stats.uncertainty import RESAMPLES
from annotation.models import Status, StudyStatus
from annotation.pay.ledger import in_currency
from annotation.prolific.adapter import ProlificAdapter
from annotation.recruitment.links import OpenLink
from annotation.study import own_questions, screening
from annotation.study.design_file import OPTIONS
from tasks.answers import KINDS


def paragraphs(record: StudyRecord, tables: Mapping[str, int]) -> list[Paragraph]:
    """Return the methods section, from the design to the tests and pay.

    `tables` maps the captions of the report's tables to their row counts. In tables of differences,
    only rows with a p value are counted.
    """
    texts = [
        _design(record),
        _recruitment(record),
        *filter(None, [planned_analysis.arms(record.manifest, REPORTED)]),
        _steps(record),
        _gates(record),
        _participants(record),
        _score(record),
        *filter(None, [_tests(record, tables)]),
        _pay(record),
    ]
    if not record.whole.completed:
        texts.insert(0, "No participant has completed this study yet; this describes its design.")
    return [Paragraph(text) for text in texts]


def per_browser(record: StudyRecord) -> str:
    """Return a sentence about participations exclusive only per browser, or ""."""
    number = dict(record.platforms).get(OpenLink.words)
    if not number:
        return ""
    people = count(number, "participation")
    return f" For the {people} via an open link, this was enforced per browser only."


def _design(record: StudyRecord) -> str:
    manifest, shots = record.manifest, sorted(record.study.shots)
    tasks = [f"{task['name']} (version {task['version']})" for task in manifest["tasks"]]
    opened_at = record.study.opened_at
    assert opened_at is not None  # drafts have no report
    number = len(manifest["scenarios"])
    scenarios = "the only scenario" if number == 1 else f"each of the {number} scenarios"
    arms = " and the arms of CrossFit (Ye et al., 2021)" if manifest["cross_task"] else ""
    sentences = [
        f"We measured human performance on {_listed(tasks)} at {_listed(map(str, shots))}"
        f" {'shot' if shots == [1] else 'shots'}, using the training and annotation steps of CLUES"
        f" (Mukherjee et al., 2021){arms}, on the Handful platform.",
        _answers(manifest),
        f"We planned {count(record.study.annotators, 'annotator')} for {scenarios}"
        f" ({wording.scenario_is(manifest)}).",
        f"The design was frozen on {moment(opened_at)}, before any seat was assigned; later changes"
        " to the study are listed below.",
        recruitment.rehearsal(manifest, REPORTED),
    ]
    return " ".join(filter(None, sentences))


def _recruitment(record: StudyRecord) -> str:
    sentences = [recruitment.assignment(REPORTED)]
    if record.chose_scenario:
        sentences = [recruitment.choice(REPORTED)]
        if {name for name, _number in record.platforms} - {ProlificAdapter.words}:
            sentences.append(recruitment.assignment(REPORTED, recruitment.ELSEWHERE))
    sentences += [
        f"Participants could take part in each task only once.{per_browser(record)}",
        recruitment.programs(record.manifest, REPORTED),
        *recruitment.reached(record),
    ]
    return " ".join(filter(None, sentences))


def _answers(manifest: dict[str, Any]) -> str:
    named: dict[str, list[str]] = {verb: [] for _noun, verb in wording.WAYS.values()}
    for task in manifest["tasks"]:
        _noun, verb = wording.WAYS[wording.way(task["card"])]
        named[verb].append(task["name"])
    ways = [(verb, names) for verb, names in named.items() if names]
    if len(ways) == 1:
        return f"Annotators answered by {ways[0][0]}."
    told = [f"by {verb} in {_listed(names)}" for verb, names in ways]
    return f"Annotators answered {_listed(told)}."


def _named(manifest: dict[str, Any], wanted: Callable[[dict[str, Any]], Any]) -> list[str]:
    return [task["name"] for task in manifest["tasks"] if wanted(task["card"])]


def _steps(record: StudyRecord) -> str:
    manifest, shots = record.manifest, record.study.shots
    sentences = []
    if any(shots):
        subject = "At more than zero shots, annotators" if 0 in shots else "Annotators"
        when = "then" if manifest["cross_task"] else "first"
        of = " of the unseen task" if manifest["cross_task"] else ""
        sentences.append(
            f"{subject} {when} completed a training step of k examples{of}"
            f"{wording.per_label(manifest)} ({wording.training_splits(manifest)}), presented one at"
            f" a time ({wording.order(manifest['training_order'])}); after each answer, which could"
            " not be changed, the gold answer and the score were revealed."
        )
    sentences.append(
        "In the annotation step, annotators answered all of the study's test examples for the task"
        f" ({wording.order(manifest['annotation_order'])}) without feedback."
    )
    sentences += planned_analysis.anchors(manifest, REPORTED)
    sentences += planned_analysis.confidence(manifest, REPORTED)
    if part := wording.parts_of_tests(manifest, REPORTED):
        sentences.append(part)
    if 0 in shots:
        sentences.append(
            "At zero shots, there was no training step; annotators were given the task description"
            f" and the instructions{wording.help_at_zero_shots(manifest)}."
        )
    return " ".join(sentences)


def _gates(record: StudyRecord) -> str:
    manifest = record.manifest
    sentences = [
        f"The announced duration was {wording.announced(manifest)}; annotators could interrupt"
        f" their work for up to {record.breaks}."
    ]
    if (language := wording.interface_language(manifest)) != "English":
        sentences.append(f"The annotation interface was in {language}.")
    sentences += [done for option, (_plan, done) in OPTIONS.items() if done and manifest[option]]
    questions = screening.parse(manifest["comprehension_questions"])
    if questions:
        attempts = count(manifest["comprehension_attempts"], "attempt")
        paid = ", with pay promised for their time" if float(manifest["hourly_rate"]) else ""
        sentences.append(
            "Before the first example, annotators had to answer"
            f" {count(len(questions), 'question')} about the instructions correctly within"
            f" {attempts}; those who did not were screened out{paid}."
        )
    sentences.append(wording.rule_text(manifest, REPORTED))
    checks = manifest["attention_checks"]
    if checks:
        sentences.append(
            "The test examples of each annotator were interspersed with"
            f" {count(checks, 'attention check')}, which were excluded from S1."
        )
    if asked := own_questions.parse(manifest["own_questions"]):
        number = count(len(asked), "study-specific question")
        sentences.append(f"Participants were asked {number}.")
    if manifest["exit_questionnaire"]:
        sentences.append(
            "An exit questionnaire asked annotators whether they had seen the texts before, whether"
            " they used AI tools, and which tools or people helped them."
        )
    is_closed = record.study.status == StudyStatus.CLOSED
    sentences.append(wording.stopping(manifest, REPORTED if is_closed else PLANNED))
    return " ".join(filter(None, sentences))


def _participants(record: StudyRecord) -> str:
    whole, excluded, by_hand = record.whole, record.excluded, record.excluded_by_hand
    sources = f" ({record.sources})" if record.sources else ""
    stayed = " and did not withdraw" if record.withdrawn else ""
    if record.manifest["tasks_per_worker"] > 1:
        sentences = [
            f"In total, {count(record.workers['arrived'], 'participant')} took"
            f" {count(whole.arrived, 'seat')}{sources}: {whole.consented:,} participations began"
            f" with consent, {whole.completed:,} completed the study{stayed}, and"
            f" {whole.analysed:,} (by {count(record.workers['analysed'], 'participant')})"
            f" {_were(whole.analysed)} included in the analysis.",
            "Participants could take part in several tasks and are counted below as one annotator"
            " for each task.",
        ]
    else:
        sentences = [
            f"Of {count(whole.arrived, 'participant')} who took a seat{sources},"
            f" {whole.consented:,} consented, {whole.completed:,} completed the study{stayed}, and"
            f" {whole.analysed:,} {_were(whole.analysed)} included in the analysis."
        ]
    if whole.screened_out:
        number = whole.screened_out
        sentences.append(f"In total, {count(number, 'annotator')} {_were(number)} screened out.")
    elif wording.can_screen_out(record.manifest):
        sentences.append("No annotator was screened out.")
    if record.withdrawn:
        sentences.append(
            f"In total, {count(record.withdrawn, 'annotator')} withdrew, and their answers were"
            " erased."
        )
    if by_hand:
        sentences.append(
            f"After completion, {count(by_hand, 'annotator')} {_were(by_hand)} excluded by a"
            " researcher; the reasons are given below."
        )
    if automatic := excluded - by_hand:
        sentences.append(
            f"After completion, {count(automatic, 'annotator')} {_were(automatic)} excluded"
            " automatically; the reasons are given below."
        )
    if excluded:
        sentences.append("Human performance is reported with and without excluded annotators.")
    rejected, analysed = record.rejected
    if rejected:
        sentences.append(
            f"Of those who completed the study, {rejected:,} {_were(rejected)} rejected on the"
            f" platform; of these, {analysed:,} {_were(analysed)} included in the analysis."
        )
    return " ".join(sentences)


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _score(record: StudyRecord) -> str:
    manifest = record.manifest
    told = wording.metrics(manifest)
    sentences = [
        f"{'Single answers' if told else 'Answers'} were scored with S1, the harmonic mean of"
        " precision and recall between the set of answered texts and the set of gold texts under"
        " exact match; S1 is 1 if both sets are empty and 0 if exactly one of them is."
    ]
    if _named(manifest, lambda card: card.get("labels")):
        sentences.append("For labels, S1 is 1 if the label is correct and 0 otherwise.")
    kinds = {wording.way(task["card"]) for task in manifest["tasks"]}
    if right := [k.right_noun for k in KINDS.values() if k.name in kinds and k.right_noun]:
        sentences.append(f"S1 is 1 for {' or '.join(dict.fromkeys(right))}, and 0 otherwise.")
    alternatives = _named(manifest, lambda card: card["gold_rule"] == "any_of")
    if alternatives:
        sentences.append(
            f"The gold texts of {_listed(alternatives)} are alternatives (gold rule any_of); the"
            " score is the highest S1 against any of them."
        )
    if told:
        sentences.append(told)
    score = "score" if told else "mean S1"
    sentences.append(
        f"We report the mean ± standard deviation (ddof = 1) over annotators of their {score} on"
        " the test examples, x 100; answers were not aggregated. The recipe below the"
        " human-performance table lists every choice that affects its numbers."
    )
    return " ".join(sentences)


def _tests(record: StudyRecord, tables: Mapping[str, int]) -> str:
    sentences = []
    if tables.get(results.OF_MEANS):
        sentences.append(
            "Confidence intervals of means treat annotators and test examples as samples: they"
            f" generalise to {two_way.BOTH}. Each interval is the wider of the t interval over"
            " annotators and the t interval from the two-way mean squares of annotators and"
            " contexts (Satterthwaite's degrees of freedom, at least the smaller of those of"
            " annotators and of contexts). As a sensitivity analysis, we report percentile"
            f" bootstraps of the means ({RESAMPLES:,} resamples)."
        )
    if tables.get(results.AGREEMENT):
        sentences.append(
            "Agreement among annotators and the scores of their aggregated answers are reported"
            " separately."
        )
    if number := tables.get(results.OF_SHOTS):
        sentences.append(
            f"We tested {count(number, 'difference')} between numbers of shots with the two-sided"
            f" test that corresponds to the difference's interval{_corrected(number)}."
        )
    if number := tables.get(results.OF_MODELS):
        sentences.append(
            f"We tested {count(number, 'difference')} between humans and a model on the same test"
            f" examples with the corresponding test{_corrected(number)}; it generalises to"
            f" {two_way.RUNS}."
        )
    margin = record.manifest["equivalence_margin"]
    named = {
        results.OF_SHOTS: "two numbers of shots", results.OF_MODELS: "humans and a model",
    }  # fmt: skip
    sides = [words for caption, words in named.items() if tables.get(caption)]
    if margin is not None and sides:
        sentences.append(
            f"We consider {' or '.join(sides)} equivalent if the 90 % interval of their difference"
            f" lies within the margin frozen in the design, ± {margin:g} points (two one-sided"
            " tests, each at .05, without correction for multiple testing)."
        )
    if tables.get(planned_analysis.OF_ARMS):
        sentences.append(
            f"The intervals of the arms' gains ({planned_analysis.interval(record.manifest)})"
            " treat annotators as a sample, and tasks and test examples as fixed: they generalise"
            f" to {QUESTION}. No p value is computed for a gain."
        )
    return " ".join(sentences)


def _corrected(number: int) -> str:
    return f" (p values Holm-adjusted over these {number} tests)" if number > 1 else ""


def _pay(record: StudyRecord) -> str:
    manifest = record.manifest
    sentences = [text for text in record.pay_sentences if not text.startswith(wording.ACTIVE_TIME)]
    wage = record.median("per_active_hour")
    if wage is not None and wording.is_paid(manifest):
        known = [settled for settled in record.wages if settled.per_active_hour is not None]
        early = sum(settled.participation.status != Status.COMPLETED for settled in known)
        ended = f", of which {early} ended before completion" if early else ""
        sentences.append(
            f"Median hourly earnings were {in_currency(round(wage))} {manifest['currency']}, based"
            f" on active time (n = {len(known)}{ended})."
        )
    return " ".join(sentences)


def _listed(words: Iterable[str]) -> str:
    """Join words: "a", "a and b" or "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
