"""The report of a study: what a paper needs to say, from its design and its record.

A document as data (blocks.py), from numbers gathered once (study_record.py). People only; simulated
annotators and models have sections of their own. Nobody is named.
"""

from collections.abc import Callable, Mapping, Sequence

from analysis.documents import checklist, methods, wording
from analysis.documents.blocks import (
    Block,
    Bullets,
    Checklist,
    Document,
    Fact,
    Facts,
    Grid,
    Paragraph,
    Picture,
    Section,
)
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import moment, same_recipe
from analysis.figures import data as figure_data
from analysis.stats.uncertainty import t_interval_of_scores, why_no_interval
from analysis.tables import columns, differences, findings, findings_columns, rendering
from analysis.tables.performance import PerformanceTable, kinds_of, versions
from annotation.models import Kind, Study
from annotation.money.ledger import in_currency


def for_study(
    study: Study,
    sent: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
    masked: Callable[[str], str] = str,
) -> Document | None:
    """The report of a study; None while it is a draft.

    `sent` holds answers to the checklist that could not be stored and are shown instead of the
    stored ones, `problems` why; `masked` is applied to texts that people wrote.
    """
    if study.is_draft:
        return None
    answers = dict(study.report_answers.values_list("item", "text"))
    shown = {item: masked(text) for item, text in (answers | dict(sent or {})).items()}
    return document(StudyRecord(study, masked), shown, problems)


def document(
    record: StudyRecord, answers: Mapping[str, str], problems: Mapping[str, str] | None = None
) -> Document:
    """The report from these numbers and answers (by item of the checklist)."""
    others = [kind for kind in kinds_of(record.frame) if kind != Kind.PERSON]
    sections = [
        Section("Methods", methods.paragraphs(record)),
        Section("Human performance", _performance(record, [Kind.PERSON])),
        Section("Uncertainty and differences", _uncertainty(record)),
        Section("Figures", _figures(record)),
    ]
    if record.models:
        sections.append(Section("Models on the same examples", _models(record)))
    if others:
        sections.append(Section("Non-human annotators", _performance(record, others)))
    sections += [
        Section("Participant flow", _funnel(record)),
        Section("Pay and time", _pay(record)),
        Section("Consent, withdrawals, exclusions", _consent(record)),
        Section("Deviations from the frozen design", _deviations(record)),
        Section("Checklist for human baselines", _checklist(record, answers, problems)),
        Section("Reproducibility", _provenance(record)),
    ]
    return Document(f"Report: {record.study.title}", sections)


# Results ------------------------------------------------------------------------------------------


def _performance(record: StudyRecord, kinds: Sequence[str]) -> list[Block]:
    """The tables of these kinds, each also with those excluded, if any."""
    return [_table(table) for kind in kinds for table in versions(record.study, kind, record.frame)]


def _table(table: PerformanceTable) -> Grid:
    rows = [[name, *texts] for name, texts in rendering.lines(table)]
    columns = ["Shots", *(task.name for task in table.tasks)]
    return Grid(table.heading, columns, rows, rendering.notes(table))


def _uncertainty(record: StudyRecord) -> list[Block]:
    people = record.analysed
    if people.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    rows = []
    for (task, shots), part in people.groupby(["task", "shots"]):
        own = list(part["mean_s1"])
        t, why_not = t_interval_of_scores(own), why_no_interval(own)
        interval = columns.between((100 * t.low, 100 * t.high, why_not))
        mean = columns.points(100 * part["mean_s1"].mean())
        rows.append([str(task), str(shots), str(len(part)), mean, interval])
    blocks: list[Block] = [
        Grid(
            "Means with t intervals",
            ["Task", "Shots", "n", "Mean S1 x 100", "95 % CI"],
            rows,
            [
                "t intervals over annotators, truncated at 0 and 100; they generalise to other"
                " annotators on the same examples and are undefined for one annotator or if all"
                " scores are equal. Bootstrap intervals over examples, annotators and both are on"
                " the page Analysis."
            ],
        )
    ]
    frame = people.rename(columns={"mean_s1": "s1"})[["task", "shots", "annotator", "s1"]]
    contrasts = findings.contrasts(frame, record.study.seed)
    if contrasts:
        table = findings_columns.table("contrasts", contrasts)
        meanings = " ".join(f"{c.heading}: {c.meaning}." for c in table.columns if c.meaning)
        headings = [column.heading for column in table.columns]
        blocks.append(Grid("Differences between shots", headings, table.cells, [meanings]))
    return blocks


def _figures(record: StudyRecord) -> list[Block]:
    """Pictures if they can be drawn, else the numbers behind them."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    blocks: list[Block] = []
    for figure in figure_data.page_figures(record.study, Kind.PERSON):
        if figure.why_not:
            blocks.append(Paragraph(f"{figure.title}: {figure.why_not}"))
        elif figure_data.can_draw():
            caption = f"{figure.title}. {figure.caption}"
            blocks.append(Picture(figure.name, caption, figure.description))
        else:
            headings = [column.heading for column in figure.columns]
            blocks.append(Grid(figure.title, headings, figure.cells, [figure.caption]))
    return blocks


def _models(record: StudyRecord) -> list[Block]:
    rows = [
        [
            row.model,
            row.task.name,
            str(row.shots),
            row.score.text,
            f"{row.score.n} of {row.score.of}",
        ]
        for row in record.models
    ]
    scores = Grid(
        "Models",
        ["Model", "Task", "Shots", "Mean S1 x 100", "Splits"],
        rows,
        ["Mean ± SD (ddof = 1) over training splits, scored by the same function as people."],
    )
    return [scores, *_people_minus_models(record)]


def _people_minus_models(record: StudyRecord) -> list[Block]:
    rows = [
        [
            row.model,
            row.task,
            str(row.shots),
            columns.signed_points(row.difference),
            columns.points(row.se_clustered),
            columns.p_value(row.p_sign_flip),
            columns.p_value(row.p_holm),
        ]
        for row in differences.differences(record.study, Kind.PERSON)
    ]
    if not rows:
        return []
    return [
        Grid(
            "People minus models",
            ["Model", "Task", "Shots", "Difference", "SE", "p", "p Holm"],
            rows,
            [
                "In points, paired by example, with contexts as clusters; two-sided p from a"
                f" sign-flipping permutation test over clusters. {differences.LEFT_OUT}"
            ],
        )
    ]


# Conduct ------------------------------------------------------------------------------------------


STAGES = {
    "arrived": "took a seat",
    "consented": "agreed to take part",
    "trained": "completed the training step (at zero shots: saw the first example)",
    "qualified": "admitted to the annotation step",
    "completed": "answered all test examples",
    "analysed": "completed and not excluded",
}
WAYS_OUT = {
    "declined": "did not consent",
    "refused": "had already done this task",
    "screened_out": "screened out",
    "returned": "returned the seat",
    "expired": "exceeded the idle limit",
    "withdrawn": "withdrew",
    "rejected": "rejected on the platform",
    "at_work": "still at work",
}


def _funnel(record: StudyRecord) -> list[Block]:
    whole = record.whole
    names = ["Scenario", *(stage.capitalize() for stage in STAGES)]
    rows = [
        [str(scenario), *(str(getattr(funnel, stage)) for stage in STAGES)]
        for scenario, funnel in record.funnels
    ]
    rows.append(["Total", *(str(getattr(whole, stage)) for stage in STAGES)])
    left = [f"{words}: {getattr(whole, way)}" for way, words in WAYS_OUT.items()]
    left.append(f"completed, but excluded from the analysis: {record.excluded}")
    if record.failed_questions:
        left.append(
            f"of those screened out, by the comprehension questions: {record.failed_questions}"
        )
    return [
        Grid(
            "Participant flow by scenario",
            names,
            rows,
            [
                " ".join(f"{stage.capitalize()}: {words}." for stage, words in STAGES.items()),
                "A person who took part in two tasks is counted twice. Arrivals without a free"
                " seat are"
                " not recorded.",
            ],
        ),
        Bullets([line for line in left if not line.endswith(": 0")] or ["Nobody dropped out."]),
    ]


def _pay(record: StudyRecord) -> list[Block]:
    currency = record.manifest["currency"]
    blocks: list[Block] = [Bullets(wording.pay_sentences(record.manifest, wording.REPORTED))]
    if not record.wages:
        return [*blocks, Paragraph("No earnings have been settled yet.")]

    def wage(name: str) -> str:
        known = record.median(name)
        return "–" if known is None else f"{in_currency(round(known))} {currency}"

    active = sum(settled.active_seconds for settled in record.wages)
    rows = [
        [amount.words, str(amount.entries), in_currency(amount.cents)] for amount in record.amounts
    ]
    rows.append(["total", str(sum(a.entries for a in record.amounts)), in_currency(record.earned)])
    facts = [
        Fact("Participations with settled earnings", str(len(record.wages))),
        Fact("Median earnings per active hour", wage("per_active_hour")),
        Fact("Median earnings per elapsed hour", wage("per_elapsed_hour")),
        Fact("Total active hours", f"{active / 3600:.1f}"),
        Fact("Median active minutes", _minutes(record.median("active_seconds"))),
        Fact("Median elapsed minutes", _minutes(record.median("elapsed_seconds"))),
        Fact("Mean active seconds per test answer", columns.points(record.seconds_per_answer)),
        Fact("Total earned", f"{in_currency(record.earned)} {currency}"),
        Fact("Paid so far", f"{in_currency(record.paid)} {currency}"),
    ]
    return [
        *blocks,
        Facts(facts),
        Grid("Earnings by kind", ["Kind", "Entries", f"Amount ({currency})"], rows),
    ]


def _minutes(seconds: float | None) -> str:
    return columns.points(None if seconds is None else seconds / 60)


def _consent(record: StudyRecord) -> list[Block]:
    agreed = [[str(version), moment(since), str(n)] for version, since, n in record.consents]
    withdrew = (
        f"{wording.count(record.withdrawn, 'annotator')} withdrew; their answers were erased and"
        " are"
        " not part of any score."
        if record.withdrawn
        else "No annotator has withdrawn."
    )
    blocks: list[Block] = [
        Grid("Consent texts", ["Version", "In use since", "People who consented"], agreed),
        Paragraph(f"{withdrew} Completed, but excluded from the analysis: {record.excluded}."),
    ]
    if record.exclusions:
        rows = [
            [
                exclusion.annotator,
                "included again" if exclusion.in_analysis else "excluded",
                "by the design" if exclusion.by_design else "by a researcher",
                exclusion.reason,
                moment(exclusion.at),
            ]
            for exclusion in record.exclusions
        ]
        columns = ["Annotator", "Decision", "Made", "Reason", "Time"]
        blocks.append(Grid("Exclusion decisions", columns, rows))
    return blocks


def _deviations(record: StudyRecord) -> list[Block]:
    items = [(at, what) for at, what in record.changes]
    items += [
        (
            exclusion.at,
            f"{exclusion.annotator} {'included again' if exclusion.in_analysis else 'excluded'}",
        )
        for exclusion in record.exclusions
        if not exclusion.by_design
    ]
    if not items:
        return [Paragraph("None: the study has not been changed since it was opened.")]
    lines = [f"{moment(at)}: {what}" for at, what in sorted(items)]
    return [
        Paragraph("All changes to the study since its design was frozen:"),
        Bullets(lines),
    ]


def _checklist(
    record: StudyRecord, answers: Mapping[str, str], problems: Mapping[str, str] | None
) -> list[Block]:
    items = checklist.items(record, answers, problems)
    still_open = sum(item.is_open for item in items)
    return [
        Paragraph(
            "Items are numbered as in Wei et al. (2025, arXiv 2506.13776) and phrased in our own"
            " words. Information known to the platform is filled in; the questions are for the"
            " researcher." + (f" Unanswered questions: {still_open}." if still_open else "")
        ),
        Checklist(items),
    ]


def _provenance(record: StudyRecord) -> list[Block]:
    return [
        Facts(
            [
                Fact("SHA-256 of the frozen design", record.study.manifest_hash, is_code=True),
                *same_recipe(record.manifest),
            ]
        ),
        Paragraph(
            "The release bundle contains the design (manifest.json), every answer with its times,"
            " and verify.py, which recomputes every number in the tables from the CSVs alone."
        ),
    ]
