"""Items 3.1 to 3.6 of Wei et al.: sessions, quality control, and humans compared with models."""

from analysis.documents import wording
from analysis.documents.blocks import Entry, Reply
from analysis.documents.checklists.facts import Facts, between
from analysis.documents.checklists.short_form import (
    NOT_STATED,
    Answers,
    Status,
    joined,
    prose,
    status,
    text,
)
from analysis.documents.wording import count
from annotation.models import ModelRun, Study
from annotation.models.study import DEFAULT_CONSENT
from annotation.study.own_questions import AFTER, TEXT, of_moment
from tasks.answer_keys import LONG_TEXT, NUMBER, SHORT_TEXT

NA = Status.NOT_APPLICABLE


def entries(facts: Facts, answers: Answers) -> list[Entry]:
    return [
        *_sitting(facts),
        *_quality(facts),
        *_interface(facts, answers),
        *_instructions(facts, answers),
        *_tools(facts, answers),
        _explanations(facts),
    ]


def _sitting(facts: Facts) -> list[Entry]:
    manifest = facts.manifest
    parts = ["test examples"]
    if any(facts.shots):
        parts.insert(0, "training examples")
    if facts.upstream:
        parts.insert(0, "upstream or sham examples")
    if manifest["qualification"].get("screening_examples", 0):
        parts.insert(0, "screening examples")
    if manifest.get("anchor_examples"):
        parts.insert(0, "anchor examples")
    if manifest["attention_checks"]:
        parts.append("attention checks")
    breaks = facts.breaks
    active = facts.median("active_seconds", facts.settled)
    tasks = manifest["tasks_per_worker"]
    return [
        text(
            "3.1", "Items per session", between([*facts.sessions.values(), facts.longest]),
            f"Consecutive items in one participation ({', '.join(parts)}):"
            f" {between(facts.sessions.values())}; breaks of up to {breaks} were allowed and are"
            " not recorded as separate sessions.",
            f"A participant could continue with up to {tasks} tasks." if tasks > 1 else "",
            f"Median active time: {active / 60:.1f} minutes." if active is not None else "",
        ),
        _order(facts),
    ]  # fmt: skip


def _order(facts: Facts) -> Entry:
    manifest = facts.manifest
    orders = {manifest["annotation_order"]}
    steps = []
    if facts.upstream:
        steps.append("Upstream step: random task order, with the examples of a task together.")
    if any(facts.shots):
        orders.add(manifest["training_order"])
        steps.append(f"Training step: {wording.order(manifest['training_order'])}.")
    steps.append(f"Annotation step: {wording.order(manifest['annotation_order'])}.")
    fixed = Study.Order.FILE_ORDER in orders
    answer = Status.YES
    if fixed:
        answer = Status.NO if orders == {Study.Order.FILE_ORDER} else Status.PARTIAL
    seed = "" if answer == Status.NO else f"Seed {manifest['seed']}."
    return text("3.1.1", "Random order of items", str(answer), *steps, seed)


def _quality(facts: Facts) -> list[Entry]:
    controls = _controls(facts)
    out = facts.excluded + facts.rejected_early
    return [
        status(
            "3.2", "Quality control during annotation", Status.YES if controls else Status.PARTIAL,
            "" if controls else "Signs of careless work were recorded; none led to an exclusion.",
            f"Admitted to the annotation step: {facts.whole.qualified}; of these, included in the"
            f" analysis: {facts.whole.analysed}.",
        ),
        text("3.2.1", "Quality criteria", joined([*controls, FLAGS])),
        text(
            "3.2.2", "Excluded by these criteria", count(out, "participation"),
            f"Completed, then excluded by a researcher with a reason: {facts.excluded}.",
            f"Rejected on the platform before completion: {facts.rejected_early}."
            if facts.rejected_early
            else "",
            f"Test answers outside the analysis: {facts.answers_left_out} (from these"
            " participations and those that ended early; answers of participants who withdrew are"
            " not stored).",
        ),
    ]  # fmt: skip


FLAGS = (
    "Quality flags (implausibly fast answers, one repeated answer, long absences, pasting, leaving"
    " the page) are recorded and do not lead to automatic exclusion."
)


def _controls(facts: Facts) -> list[str]:
    manifest, found = facts.manifest, []
    if checks := manifest["attention_checks"]:
        passed, answered = facts.check_results
        found.append(
            f"{count(checks, 'attention check')} per annotator; annotators in the analysis passed"
            f" {passed} of {answered}."
        )
    if _refuses_pastes(facts):
        found.append("Text could not be pasted into typed answers.")
    if facts.excluded:
        found.append(f"Participations excluded by a researcher with a reason: {facts.excluded}.")
    if facts.rejected_early:
        found.append(
            f"Participations ended by a rejection on the platform: {facts.rejected_early}."
        )
    return found


def _refuses_pastes(facts: Facts) -> bool:
    typed = (SHORT_TEXT, LONG_TEXT, NUMBER, "typed")
    ways = (wording.way(task["card"]) for task in facts.manifest["tasks"])
    return bool(facts.manifest["refuse_pastes"]) and any(way in typed for way in ways)


SEATED = (
    "Models in the annotator's seat took part through the API, with the same texts, steps and"
    " reveals but without the graphical pages."
)
UPLOADED = "The uploaded predictions were computed outside Handful."
PAGES = "The annotators' pages are in the release bundle (seen/), without scripts."


def _interface(facts: Facts, answers: Answers) -> list[Entry]:
    where = facts.who_ran or "No model was run."
    told = [SEATED] if facts.seated else []
    if facts.uploaded:
        told.append(UPLOADED)
    answer = Status.NO if facts.uploaded else Status.PARTIAL if facts.seated else NA
    by_program = (
        "The design allows programs in human annotators' seats; programs do not see the pages."
        if facts.manifest["programs_as_people"]
        else ""
    )
    adjusted, how = _adjustment(facts, answers)
    return [
        status("3.3", "Same interface", answer, where, *told, PAGES, by_program),
        Entry(
            "3.3.1", "Graphical interface for humans, API for models", Reply.CHECKBOX,
            "Checked" if facts.seated else "Unchecked",
            "How the uploaded predictions were obtained is not recorded."
            if facts.uploaded
            else ""
            if facts.model_cells
            else "No model was run.",
        ),
        status("3.3.2", "Adjustment for different interfaces", adjusted, *how, field="3.4"),
    ]  # fmt: skip


def _adjustment(facts: Facts, answers: Answers) -> tuple[Status, list[str]]:
    if not facts.model_cells:
        return NA, []
    how = []
    if facts.seated:
        how.append(
            "Models in the annotator's seat received one example at a time, with its reveal, in an"
            " order drawn as for human annotators; the same function scored their answers."
        )
    if facts.uploaded:
        how.append(prose(answers["3.4"]))
    if facts.uploaded and not answers["3.4"]:
        return (Status.PARTIAL if facts.seated else Status.UNKNOWN), how
    return Status.PARTIAL, how


def _instructions(facts: Facts, answers: Answers) -> list[Entry]:
    title, adjusted = "Same instructions", "Adjustment for different instructions"
    if not facts.model_cells:
        return [status("3.4", title, NA, "No model was run."), status("3.4.1", adjusted, NA)]
    seat = _of_seats(facts)
    given = answers.status("3.4")
    if facts.uploaded and facts.seated:
        answer = Status.YES if given == Status.YES else Status.PARTIAL
    else:
        answer = given if facts.uploaded else Status.PARTIAL
    evidence = [facts.who_ran, *seat]
    if facts.uploaded:
        stated = prose(answers["3.4"] or NOT_STATED)
        evidence.append(f"Instructions given to models with uploaded predictions: {stated}")
    evidence.append("The annotators' instructions are in the release bundle.")
    how = answers["3.4"] if answer not in (Status.YES, Status.UNKNOWN) else ""
    done = NA if answer == Status.YES else Status.PARTIAL if how else Status.UNKNOWN
    return [
        status("3.4", title, answer, *evidence, field="3.4"),
        status("3.4.1", adjusted, done, how, field="3.4"),
    ]


def _of_seats(facts: Facts) -> list[str]:
    if not facts.seated:
        return []
    told = [
        "The API gave models in the annotator's seat the annotators' instructions; the prompt"
        " template in the export shows whether a prompt contained them."
    ]
    if runs := [run for run in facts.runs if run.participation.scenario.shots]:
        shown = sum(run.examples == ModelRun.Examples.SHOWN for run in runs)
        told.append(
            "At more than zero shots, runs that answered the training examples:"
            f" {len(runs) - shown}; runs that were shown them with the gold: {shown}."
        )
    return told


# The last paragraph of the consent text that new studies begin with.
AI_INSTRUCTION = DEFAULT_CONSENT.rpartition("\n\n")[2]


def _tools(facts: Facts, answers: Answers) -> list[Entry]:
    seen = facts.page_signs
    signs = (
        "Browsers of all annotators in the analysis reported"
        f" {count(seen['blurs'], 'page exit')}, {count(seen['copies'], 'copy event')} (after"
        f" {seen['left_after_copy']}, the page was left), {count(seen['pastes'], 'paste event')};"
        f" answers submitted by a program: {seen['automated']}, without a press or key:"
        f" {seen['no_input']}, in a narrow window: {seen['narrow']}."
    )
    watched = ["Page exits, copies, pastes and signs of programs were counted and raise flags."]
    if AI_INSTRUCTION in facts.manifest["consent_text"]:
        watched.append(f"Annotators agreed to a text that says: {AI_INSTRUCTION}")
    if _refuses_pastes(facts):
        watched.append("Text could not be pasted into typed answers.")
    if facts.manifest["exit_questionnaire"]:
        watched.append("The exit questionnaire asked about AI and other help.")
    else:
        watched.append("Annotators were not asked about AI or other help.")
    if facts.manifest["programs_as_people"]:
        watched.append("Programs in human annotators' seats do not report these signs.")
    return [
        answers.entry("3.5", "Same tools", signs),
        status("3.5.1", "Oversight of tools", Status.PARTIAL, *watched),
    ]


def _explanations(facts: Facts) -> Entry:
    title = "Annotator explanations"
    asked = [
        question.id
        for question in of_moment(facts.manifest["own_questions"], AFTER)
        if question.kind == TEXT
    ]
    if facts.manifest.get("asks_reasons"):
        return status(
            "3.6", title, Status.PARTIAL,
            "Annotators could give a one-line reason after"
            f" {100 * facts.manifest['confidence_share']:g} % of their answers.",
        )  # fmt: skip
    if asked:
        return status(
            "3.6", title, Status.PARTIAL,
            "Individual answers were not explained; after the task, the study asked in free text:"
            f" {', '.join(asked)}.",
        )  # fmt: skip
    return status("3.6", title, Status.NO, "Annotators were not asked to explain their answers.")
