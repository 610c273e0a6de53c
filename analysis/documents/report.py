"""A study report for use in a paper.

Numbers are gathered in study_record.py, and tables are computed in results.py. The report is about
human annotators, has separate sections for simulated annotators and models, and names only
its authors.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from operator import itemgetter
from types import SimpleNamespace

from analysis.documents import (
    blocks,
    checklists,
    front,
    methods,
    paper_tables,
    results,
    wording,
)
from analysis.documents.blocks import Block, Bullets, Fact, Facts, Grid, Paragraph, Section
from analysis.documents.checklists.facts import Facts as Record
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import moment, recomputed, same_recipe
from analysis.scores import columns, markup, overlap, rendering
from analysis.scores.attrition import SAMPLE
from analysis.scores.performance import versions
from annotation.models import ORDERS, Kind, Qualification, Reason, Status, Study
from annotation.monitoring import flags
from annotation.monitoring.sample import about_export
from annotation.pay.ledger import in_currency
from annotation.web.wording import in_words
from tasks.columns import NOTHING, Column


def for_study(
    study: Study,
    rejected: Mapping[str, str] | None = None,
    masked: Callable[[str], str] = str,
    sums: str = "",
    job: results.Job | None = None,
) -> blocks.Document | None:
    """Return a study's report, or None for a draft.

    `rejected` contains rejected answers, shown instead of the stored ones. `masked` is applied to
    text entered by users. `sums` is the SHA-256 of SHA256SUMS if the report is part of a bundle.
    """
    if study.is_draft:
        return None
    answers = dict(study.report_answers.values_list("item", "text"))
    texts = {item: masked(text) for item, text in (answers | dict(rejected or {})).items()}
    return document(Record(study, masked, sums), texts, job)


def document(
    record: Record, answers: Mapping[str, str], job: results.Job | None = None
) -> blocks.Document:
    marked = [Paragraph(mark) for mark in record.marks]
    parts = results.parts(record, job)
    arms = results.arm_blocks(record.study) if record.study.is_cross_task else []
    tasks, listed = paper_tables.task_rows(record.study), paper_tables.TASKS.columns
    tables = _sizes([*chain.from_iterable(parts.values()), *arms])
    sections = [
        *_hypotheses(record),
        Section("Methods", methods.paragraphs(record, tables)),
        Section("Tasks", [Grid.of("Tasks", listed, tasks, [blocks.meanings(listed)])]),
        Section("Human performance", _performance(record, Kind.PERSON)),
        Section(
            "Uncertainty and differences",
            [
                *parts["uncertainty"],
                *parts["groups"],
                *results.attrition_blocks(record),
                *results.admission_blocks(record),
                *marked,
            ],
        ),
        *_section(results.SENSITIVITY, parts["criteria"], marked),
        *_section(results.ARM_GAINS, arms),
        *_section("Confidence and calibration", parts["confidence"], marked),
        *_section("Learning in the training step", parts["training"], marked),
        *_section("Agreement and aggregated answers", parts["agreement"], marked),
        Section(
            "Human ceiling and doubtful gold answers",
            [*wording.data_warnings(record.manifest), *parts["ceilings"], *marked],
        ),
        Section("Figures", [*parts["figures"], *marked]),
        *_section("Models on the same examples", parts["models"], marked),
    ]
    if Kind.SIMULATED in set(record.frame["kind"]):
        sections.append(Section("Simulated annotators", _performance(record, Kind.SIMULATED)))
    forms = checklists.for_study(record, answers).values()
    sections += [
        Section("Participant flow", _funnel(record)),
        *_section("Behaviour of annotators", _behaviour(record)),
        *_sample(record),
        Section("Pay and time", _pay(record)),
        Section("Consent, withdrawals and exclusions", _consent(record)),
        Section("Changes since the design was frozen", _changes(record)),
        *(Section(form.title, [Paragraph(form.source), form]) for form in forms),
        Section("Reproducibility", _provenance(record)),
    ]
    head = front.front(record, answers)
    return blocks.Document(front.title(record, answers), blocks.numbered(sections), head)


def _section(title: str, blocks: Sequence[Block], marked: Sequence[Block] = ()) -> list[Section]:
    return [Section(title, [*blocks, *marked])] if blocks else []


def _hypotheses(record: StudyRecord) -> list[Section]:
    text = record.manifest["hypotheses"]
    frozen = "As frozen with the design, before the first seat was taken."
    return [Section("Hypotheses", [blocks.Quote(frozen, text)])] if text else []


def _sizes(blocks: Iterable[Block]) -> dict[str, int]:
    """Count each table's rows by its caption. For differences, only rows with a p value count."""
    sizes = {}
    for grid in (block for block in blocks if isinstance(block, Grid)):
        has_p = [dict(zip(grid.columns, row, strict=True)).get("p") != NOTHING for row in grid.rows]
        sizes[grid.caption] = sum(has_p)
    return sizes


def _performance(record: StudyRecord, kind: str) -> list[Block]:
    return [
        Grid(
            table.heading,
            ["Shots", *(task.name for task in table.tasks)],
            list(rendering.lines(table)),
            rendering.notes(table, remarks=record.marks),
        )
        for table in versions(record.study, kind, record.frame)
    ]


ZERO_SHOTS = " (at zero shots without a screening set: saw the first example)"
FUNNEL = columns.table_columns("flow", {"zero_shots": ZERO_SHOTS})


def _funnel(record: StudyRecord) -> list[Block]:
    texts = _texts(record)
    dropouts = markup.texts(texts, "left_") + [
        f"refused on the landing page (refusals, not participants), {Reason(key).label}: {number}"
        for key, number in record.refused_arrivals.items()
        if number
    ]
    meaning = " ".join(f"{column.heading}: {column.meaning}." for column in FUNNEL[1:])
    notes = [meaning if 0 in record.study.shots else meaning.replace(ZERO_SHOTS, "")]
    notes += markup.texts(texts, "flow_")
    rows = [
        SimpleNamespace(scenario=scenario, flow=flow)
        for scenario, flow in [*record.funnels, ("Total", record.flow)]
    ]
    return [
        Grid.of("Participant flow by scenario", FUNNEL, rows, notes),
        Bullets(dropouts or ["No dropouts."]),
    ]


BEHAVIOUR = columns.table_columns("behaviour")


def _behaviour(record: StudyRecord) -> list[Block]:
    errors: dict[int, list[str]] = {}
    for row in overlap.table(record.study, Kind.PERSON):
        sentences = errors.setdefault(row.participation, [])
        if row.agrees or row.why_not:
            sentences.append(f"{row.model}: {row.result}")
    people = record.people.filter(status=Status.COMPLETED).defer(*ORDERS)
    rows = [
        SimpleNamespace(
            annotator=person.pseudonym,
            scenario=str(person.scenario),
            behaviour=flags.behaviour_in_words(person),
            errors="; ".join(errors.get(person.pk, [NOTHING])) or overlap.AS_EXPECTED,
        )
        for person in people.select_related("scenario__task").order_by("scenario", "pseudonym")
    ]
    notes = [_texts(record)["behaviour"]]
    return [Grid.of("Behaviour by annotator", BEHAVIOUR, rows, notes)] if rows else []


def _pay(record: StudyRecord) -> list[Block]:
    currency = record.manifest["currency"]
    blocks: list[Block] = [Bullets(markup.texts(record.pay_sentences))]
    if not record.settled:
        return [*blocks, Paragraph("No earnings have been settled yet.")]

    def minutes(name: str) -> str:
        seconds = record.median(name, record.settled)
        return columns.points(None if seconds is None else seconds / 60)

    def wage(name: str) -> str:
        median = record.median(name)
        return "–" if median is None else f"{in_currency(round(median))} {currency}"

    active = sum(settled.active_seconds for settled in record.settled)
    entries = sum(amount.entries for amount in record.amounts)
    total = SimpleNamespace(words="total", entries=entries, cents=record.earned)
    amounts = [
        Column("words", "Kind"),
        Column("entries", "Entries"),
        Column("cents", f"Amount ({currency})", show=in_currency),
    ]
    early = sum(row.participation.status != Status.COMPLETED for row in record.settled)
    texts = _texts(record, early=early, unpaid=len(record.settled) - len(record.wages))
    settled = Fact("Annotators with settled pay", texts["settled"])
    rule = record.manifest["qualification"]["rule"]
    waited = ", including waiting" if rule == Qualification.RESEARCHER else ""
    times = [
        Fact(f"Total active time{waited}", in_words(timedelta(seconds=active))),
        Fact(f"Median active minutes{waited}", minutes("active_seconds")),
        Fact("Median elapsed minutes", minutes("elapsed_seconds")),
        Fact(
            "Mean seconds per test example, excluding idle time (annotators in the analysis)",
            columns.points(record.seconds_per_answer),
        ),
    ]
    if not wording.is_paid(record.manifest) and not record.earned:
        return [*blocks, Facts([settled, *times])]
    earnings = [
        Fact("Median earnings per active hour", wage("per_active_hour")),
        Fact("Median earnings per elapsed hour", wage("per_elapsed_hour")),
    ]
    sums = [
        Fact("Total earned", f"{in_currency(record.earned)} {currency}"),
        Fact("Recorded as paid", f"{in_currency(record.paid)} {currency}"),
    ]
    return [
        *blocks,
        Facts([settled, *earnings, *times, *sums]),
        Grid.of("Earnings by kind", amounts, [*record.amounts, total]),
    ]


def _texts(record: StudyRecord, **numbers: int) -> dict[str, str]:
    values = {"m": record.manifest, "record": record, "recomputed": recomputed(record.manifest)}
    return markup.rendered("report", values | numbers)


def _decision(in_analysis: bool) -> str:
    return "included again" if in_analysis else "excluded"


# Columns for (version, since, number of participants).
CONSENTS = [
    Column("version", "Version", get=itemgetter(0)),
    Column("since", "In use since", show=moment, get=itemgetter(1)),
    Column("n", "Consents", get=itemgetter(2)),
]
EXCLUSIONS = [
    Column("annotator", "Annotator"),
    Column("in_analysis", "Decision", show=_decision),
    Column("made", "Made"),
    Column("reason", "Reason"),
    Column("at", "Time", show=moment),
]


def _consent(record: StudyRecord) -> list[Block]:
    blocks: list[Block] = [
        Grid.of("Consent texts", CONSENTS, record.consents),
        Paragraph(_texts(record)["consent"]),
    ]
    if record.exclusions:
        blocks.append(Grid.of("Exclusion decisions", EXCLUSIONS, record.exclusions))
    return blocks


def _changes(record: StudyRecord) -> list[Block]:
    items = record.changes + [
        (exclusion.at, f"{exclusion.annotator} {_decision(exclusion.in_analysis)}")
        for exclusion in record.exclusions
        if not exclusion.by_design
    ]
    if not items:
        return [Paragraph("The study has not been changed since it was opened.")]
    lines = [f"{moment(at)}: {change}" for at, change in sorted(items)]
    return [Paragraph("All changes to the study since its design was frozen:"), Bullets(lines)]


def _sample(record: StudyRecord) -> list[Section]:
    rows = record.sample
    if not rows:
        return []
    notes = list(filter(None, [SAMPLE.intro, about_export(record.study)]))
    return [Section(SAMPLE.title, [Grid.of("Sample", SAMPLE.columns, rows, notes)])]


def _provenance(record: StudyRecord) -> list[Block]:
    return [
        Facts(
            [
                Fact("SHA-256 of the frozen design", record.study.manifest_hash, is_code=True),
                Fact("Seed of all random choices", str(record.manifest["seed"])),
                *same_recipe(record.manifest),
                *([Fact("SHA-256 of SHA256SUMS", record.sums, True)] if record.sums else []),
            ]
        ),
        Paragraph(_texts(record)["bundle"]),
    ]
