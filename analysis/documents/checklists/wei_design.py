"""Items 0.1 to 1.10 of Wei et al.: the paper, the baseline's size and the design."""

from collections import Counter

from analysis.cross_task import cross_task as gains
from analysis.documents import methods, wording
from analysis.documents.blocks import Entry, Reply
from analysis.documents.checklists.facts import (
    Facts,
    ModelCell,
    between,
    by_task,
    participations,
)
from analysis.documents.checklists.short_form import (
    NOT_STATED,
    Answers,
    Status,
    prose,
    status,
    text,
    verdict,
)
from analysis.documents.wording import AT_LEAST, LEVEL, OF_PEOPLE, POWER, count, sds
from analysis.scores import marks
from analysis.stats import power
from annotation.models import Kind
from annotation.pay.ledger import in_currency

NO_MODELS = "The study includes no models."


def entries(facts: Facts, answers: Answers) -> list[Entry]:
    return [
        *_paper(answers),
        *_data(facts),
        *_sizes(facts),
        answers.entry("1.5", "Fairness to humans and models"),
        answers.entry(
            "1.6", "Pilots and iterations of the design",
            "Other studies of these tasks by the same owner that were opened earlier:"
            f" {facts.pilots}.",
        ),
        _effort(facts, answers),
        *_power(facts, answers),
        answers.entry("1.9", "Ethics review", consent(facts), ethics_contact(facts)),
        _preregistration(facts, answers),
    ]  # fmt: skip


def _paper(answers: Answers) -> list[Entry]:
    kinds = ", ".join(answers.evaluation)
    return [
        text("0.1", "Title of the paper", answers.title),
        text("0.2", "Link to the paper", answers.line("paper", "link"), field="paper"),
        text("0.3", "Year", answers.line("paper", "year"), field="paper"),
        text("0.4", "Venue", answers.line("paper", "venue"), field="paper"),
        Entry(
            "0.5", "What the evaluation measures", Reply.CHOICES, kinds or NOT_STATED, "", "paper"
        ),
        Entry("0.6", "Modality of the items", Reply.CHOICES, "Text", "All examples are texts."),
    ]


def _data(facts: Facts) -> list[Entry]:
    languages = sorted({task["card"]["language"] for task in facts.manifest["tasks"]})
    whole = dict(facts.test_sizes)
    for task in facts.manifest["tasks"]:
        whole[task["name"]] = task["card"].get("test_of", whole.get(task["name"], 0))
    part = facts.design["parts_of_tests"]
    return [
        text("0.7", "Language of the items", ", ".join(languages)),
        text("0.8", "Items of the dataset", f"{sum(whole.values()):,}", f"{by_task(whole)}.", part),
        *_models(facts),
    ]


def _models(facts: Facts) -> list[Entry]:
    items, outputs = "Items on which models were run", "Model outputs per item"
    if not facts.model_cells:
        none = (str(Status.NOT_APPLICABLE), NO_MODELS)
        return [text("0.9", items, *none), text("0.10", outputs, *none)]
    tasks = {cell.task for cell in facts.model_cells}
    sizes = {name: size for name, size in facts.test_sizes.items() if name in tasks}
    missing = sorted(set(facts.test_sizes) - tasks)
    evidence = []
    if facts.uploaded:
        evidence.append(
            "Each file of uploaded predictions contains one output per item; files per model, task"
            f" and number of shots: {_runs(facts.uploaded)}."
        )
    if facts.seated:
        evidence.append(
            "Models in the annotator's seat gave one answer per item in each participation;"
            f" participations per model, task and number of shots: {_runs(facts.seated)}."
        )
    return [
        text(
            "0.9", items, f"{sum(sizes.values()):,}",
            f"The same test examples as for human annotators: {by_task(sizes)}.",
            f"No model was run on {', '.join(missing)}." if missing else "",
            facts.who_ran,
        ),
        text("0.10", outputs, _runs(facts.model_cells), *evidence),
    ]  # fmt: skip


def _runs(cells: list[ModelCell]) -> str:
    return between(cell.runs for cell in cells)


def _sizes(facts: Facts) -> list[Entry]:
    manifest = facts.manifest
    seats = sum(scenario["seats"] for scenario in manifest["scenarios"])
    added = f", {facts.seats_added} added after it was opened" if facts.seats_added else ""
    arms = " of all arms" if facts.upstream else ""
    sizes = facts.test_sizes
    tasks = manifest["tasks_per_worker"]
    return [
        text(
            "1.1", "Number of annotators", f"{facts.workers['analysed']:,}",
            f"{count(seats, 'seat')} planned in"
            f" {count(len(manifest['scenarios']), 'scenario')}{arms}{added};"
            f" {facts.workers['analysed']:,} included in the analysis{participations(facts)}.",
            "The design allows programs in human annotators' seats."
            if manifest["programs_as_people"]
            else "",
            marks.programs_mark(facts.study),
        ),
        text("1.2", "Items annotated by humans", f"{sum(sizes.values()):,}", f"{by_task(sizes)}."),
        _selection(facts),
        _per_item(facts),
        text(
            "1.4", "Items per annotator", between(facts.items_per_person or sizes.values()),
            f"Test examples per task: {between(sizes.values())}; each annotator of a task answered"
            " all of them.",
            f"A participant could take part in up to {tasks} tasks." if tasks > 1 else "",
        ),
    ]  # fmt: skip


def _selection(facts: Facts) -> Entry:
    cards = {task["name"]: task["card"] for task in facts.manifest["tasks"]}
    drawn = [name for name, card in cards.items() if "test_seed" in card]
    parts = [name for name, card in cards.items() if "test_of" in card and name not in drawn]
    answer = "No sampling: all test examples of each task."
    if drawn:
        answer = f"Simple random sample of the test examples of {', '.join(drawn)}."
    elif parts:
        answer = f"All readable test examples, not the whole file: {', '.join(parts)}."
    training = [k for k in facts.shots if k]
    return text(
        "1.2.1", "Selection of the items", answer,
        facts.design["parts_of_tests"],
        f"Training examples are those of {wording.training_splits(facts.manifest)}."
        if training
        else "",
    )  # fmt: skip


def _per_item(facts: Facts) -> Entry:
    """Return the range of annotators per task. If a task has several groups, add their range."""
    title = "Annotators per item"
    if not facts.by_arm:
        return text("1.3", title, "none", "No participant is in the analysis yet.")
    of_task: Counter[str] = Counter()
    for (task, _shots, _arm), n in facts.by_arm.items():
        of_task[task] += n
    answer, apart = between(of_task.values()), ""
    if facts.upstream or len(facts.shots) > 1:
        answer += f" ({between(facts.by_arm.values())} in each group)"
        apart = f"Participants could be in only one group of a task.{methods.per_browser(facts)} "
    named = [
        f"{task}, {shots} shots{f', {arm} arm' if arm else ''}: {n}"
        for (task, shots, arm), n in facts.by_arm.items()
    ]
    return text("1.3", title, answer, f"{apart}In the analysis: {'; '.join(named)}.")


def _effort(facts: Facts, answers: Answers) -> Entry:
    evidence = ["Annotators had no time limit per item; their times are recorded."]
    if facts.seated:
        evidence.append(
            "Handful limited neither the tokens nor the cost of models in the annotator's seat; it"
            " recorded the values that their runs reported."
        )
    if facts.seconds_per_answer is not None:
        evidence.append(
            f"Mean time per test example, excluding idle time: {facts.seconds_per_answer:.1f} s."
        )
    if facts.earned:
        earned = in_currency(facts.earned)
        evidence.append(f"Total earnings: {earned} {facts.manifest['currency']}.")
    for row in facts.efforts:
        cost = f", {row.cost:.4f} {row.currency}" if row.cost == row.cost else ", cost not stated"
        evidence.append(
            f"{row.who}, as reported by its runs: {count(row.answers, 'answer')},"
            f" {row.minutes:.1f} minutes{cost}."
        )
    if facts.runs:
        read, written = facts.tokens
        evidence.append(
            f"Tokens of models in the annotator's seat: {read:,} input, {written:,} output."
        )
    if facts.uploaded:
        stated = prose(answers["3.4"] or NOT_STATED)
        evidence.append(f"Effort for models with uploaded predictions: {stated}")
    return status("1.7", "Effort control", Status.NO, *evidence, field="3.4")


def _power(facts: Facts, answers: Answers) -> list[Entry]:
    number = len(facts.planned_pairs)
    evidence, detectable = [], []
    if number:
        evidence.append(
            "The preregistration, generated before the first seat was taken, states the detectable"
            f" difference for {count(number, 'planned contrast')} between shots."
        )
        detectable.append(_detectable(facts, number))
    if facts.upstream:
        evidence.append(
            "The primary outcome is the average relative gain (ARG) of the upstream arm over the"
            " sham arm; the design does not state a gain to be detected."
        )
        detectable.append(_of_arms(facts))
    if not evidence:
        evidence.append("No differences between shots are planned.")
    return [
        answers.entry("1.8", "Power analysis", *evidence),
        text(
            "1.8.1", "Smallest detectable difference",
            " ".join(detectable) or "No differences between shots are planned.",
        ),
    ]  # fmt: skip


def _detectable(facts: Facts, number: int) -> str:
    groups = Counter(pair[3:] for pair in facts.planned_pairs)
    said = []
    for fewer, more in sorted(groups):
        n = min(fewer, more)
        first = sds(power.detectable(n, LEVEL / number, POWER))
        alone = f" (uncorrected: {sds(power.detectable(n, LEVEL, POWER))})" if number > 1 else ""
        said.append(f"{fewer} and {more} annotators: {first}{alone}")
    corrected = f" at p < {LEVEL}"
    if number > 1:
        corrected = (
            f" at the first step of Holm's correction over {number} contrasts"
            f" (p < {LEVEL / number:.2g})"
        )
    return (
        f"With {POWER:.0%} power by {OF_PEOPLE}{corrected}, in SDs between annotators:"
        f" {'; '.join(said)}. {AT_LEAST}"
    )


def _of_arms(facts: Facts) -> str:
    """Return the ARG's precision by participants per arm, based on this study's SDs."""
    new, base = next(iter(gains.CONTRASTS))
    plans = [
        row for row in gains.plan(facts.study, Kind.PERSON)
        if (row.new_arm, row.base_arm) == (str(new), str(base))
    ]  # fmt: skip
    if not plans:
        return "ARG: no plan is computed yet, as it requires two participants in each arm."
    widths = "; ".join(f"± {row.width:g} %: {row.people:,}" for row in plans)
    return (
        "No detectable gain is computed, as gains are not tested. Precision of the ARG of"
        f" {new} against {base}, from the means and SDs of this study: participants required in"
        f" each arm of each task for a 95 % interval of {widths}."
    )


def consent(facts: Facts) -> str:
    """Return how many participants consented, declined and withdrew."""
    whole = facts.whole
    people, seats = facts.workers["consented"], whole.consented
    each = f" ({count(seats, 'participation')})" if seats != people else ""
    erased = "; their answers were erased" if facts.withdrawn else ""
    return (
        f"Consent was requested before the first answer: {people} consented{each} and"
        f" {whole.declined} declined. Participations withdrawn later: {facts.withdrawn}{erased}."
    )


def ethics_contact(facts: Facts) -> str:
    """Return the ethics board named on the consent page, or "" if none is named."""
    named = facts.manifest["ethics_contact"]
    return f"The consent page names: {named}" if named else ""


def _preregistration(facts: Facts, answers: Answers) -> Entry:
    where = answers.line("5.2", "preregistration")
    study = facts.study
    frozen = ""
    if study.opened_at:
        frozen = (
            f"The design was frozen on {wording.moment(study.opened_at)}, before any seat was"
            f" assigned; SHA-256: {study.manifest_hash}."
        )
    public = "" if where else "Whether it was registered publicly is not stated."
    return status(
        "1.10", "Preregistration", verdict(where), prose(where), frozen, public, field="5.2"
    )  # fmt: skip
