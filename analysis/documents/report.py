"""The report of a study: what a paper needs to say, filled from the design and what happened.

A document as data (documents.py), from numbers gathered once (conduct.py). People only; simulated
annotators and models have a section of their own. Nobody is named.
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
from analysis.documents.study_record import Conduct
from analysis.documents.wording import moment, same_recipe
from analysis.figures import data as figure_data
from analysis.stats.uncertainty import t_interval_of_scores, why_no_interval
from analysis.tables import columns, differences, findings, findings_columns, rendering
from analysis.tables.performance import PerformanceTable, kinds_of, versions
from annotation.models import Kind, Study
from annotation.money.ledger import in_currency


def of(
    study: Study, sent: Mapping[str, str] | None = None, masked: Callable[[str], str] = str
) -> Document | None:
    """The report of a study; None while it is a draft, which has nothing to report.

    `sent` are answers to the checklist that could not be stored, shown instead of the stored ones;
    `masked` is applied to what people wrote.
    """
    if study.is_draft:
        return None
    answers = dict(study.report_answers.values_list("item", "text"))
    shown = {item: masked(text) for item, text in (answers | dict(sent or {})).items()}
    return document(Conduct(study, masked), shown)


def document(found: Conduct, answers: Mapping[str, str]) -> Document:
    """The report from those numbers and answers (by item of the checklist)."""
    others = [kind for kind in kinds_of(found.frame) if kind != Kind.PERSON]
    sections = [
        Section("Methods", methods.paragraphs(found)),
        Section("Human performance", _performance(found, [Kind.PERSON])),
        Section("Uncertainty and differences", _uncertainty(found)),
        Section("Figures", _figures(found)),
    ]
    if found.models:
        sections.append(Section("Models on the same examples", _models(found)))
    if others:
        sections.append(Section("Not people", _performance(found, others)))
    sections += [
        Section("From arrival to analysis", _funnel(found)),
        Section("Pay and time", _pay(found)),
        Section("Consent, withdrawals, exclusions", _consent(found)),
        Section("Deviations from the frozen design", _deviations(found)),
        Section("Checklist for human baselines", _checklist(found, answers)),
        Section("How to check this report", _provenance(found)),
    ]
    return Document(f"Report: {found.study.title}", sections)


# Results ------------------------------------------------------------------------------------------


def _performance(found: Conduct, kinds: Sequence[str]) -> list[Block]:
    """The tables of those kinds, each also with the excluded where there are any."""
    return [_table(table) for kind in kinds for table in versions(found.study, kind, found.frame)]


def _table(table: PerformanceTable) -> Grid:
    rows = [[name, *texts] for name, texts in rendering.lines(table)]
    columns = ["Shots", *(task.name for task in table.tasks)]
    return Grid(table.heading, columns, rows, rendering.notes(table))


def _uncertainty(found: Conduct) -> list[Block]:
    people = found.analysed
    if people.empty:
        return [Paragraph("Nobody has completed it yet.")]
    rows = []
    for (task, shots), part in people.groupby(["task", "shots"]):
        own = list(part["mean_s1"])
        t, why_not = t_interval_of_scores(own), why_no_interval(own)
        interval = columns.between((100 * t.low, 100 * t.high, why_not))
        mean = columns.points(100 * part["mean_s1"].mean())
        rows.append([str(task), str(shots), str(len(part)), mean, interval])
    blocks: list[Block] = [
        Grid(
            "Means with their t intervals",
            ["Task", "Shots", "n", "Mean S1 x 100", "95 % over annotators"],
            rows,
            [
                "The t interval, cut at 0 and 100, says how far the mean of these examples could be"
                " off for other annotators. One annotator, or several who tie, give none."
                " Bootstraps over examples, annotators and both are on the page"
                " Analysis."
            ],
        )
    ]
    frame = people.rename(columns={"mean_s1": "s1"})[["task", "shots", "annotator", "s1"]]
    contrasts = findings.contrasts(frame, found.study.seed)
    if contrasts:
        table = findings_columns.table("contrasts", contrasts)
        meanings = " ".join(f"{c.heading}: {c.meaning}." for c in table.columns if c.meaning)
        headings = [column.heading for column in table.columns]
        blocks.append(Grid("Differences between shots", headings, table.cells, [meanings]))
    return blocks


def _figures(found: Conduct) -> list[Block]:
    """Pictures where they can be drawn, else the numbers behind them."""
    if found.analysed.empty:
        return [Paragraph("Nobody has completed it yet.")]
    blocks: list[Block] = []
    for figure in figure_data.page_figures(found.study, Kind.PERSON):
        if figure.why_not:
            blocks.append(Paragraph(f"{figure.title}: {figure.why_not}"))
        elif figure_data.can_draw():
            caption = f"{figure.title}. {figure.caption}"
            blocks.append(Picture(figure.name, caption, figure.description))
        else:
            headings = [column.heading for column in figure.columns]
            blocks.append(Grid(figure.title, headings, figure.cells, [figure.caption]))
    return blocks


def _models(found: Conduct) -> list[Block]:
    rows = [
        [
            row.model,
            row.task.name,
            str(row.shots),
            row.score.text,
            f"{row.score.n} of {row.score.of}",
        ]
        for row in found.models
    ]
    blocks: list[Block] = [
        Grid(
            "Models",
            ["Model", "Task", "Shots", "Mean S1 x 100", "Splits"],
            rows,
            ["Mean ± SD (ddof 1) over training splits, by the scorer that scores people."],
        )
    ]
    compared = [
        [
            one.model,
            one.task,
            str(one.shots),
            one.difference_text,
            f"{one.se:.1f}",
            one.p_text,
            one.holm_text,
        ]
        for one in differences.differences(found.study, Kind.PERSON)
    ]
    if compared:
        blocks.append(
            Grid(
                "People minus models",
                ["Model", "Task", "Shots", "Difference", "SE", "p", "p Holm"],
                compared,
                [
                    "In points, paired by example with contexts as clusters; p by flipping the"
                    f" signs of clusters, two-sided. {differences.LEFT_OUT}"
                ],
            )
        )
    return blocks


# What happened ------------------------------------------------------------------------------------


STAGES = {
    "arrived": "took a seat",
    "consented": "agreed to take part",
    "trained": "finished the training step (at zero shots: saw the first example)",
    "qualified": "may do the annotation step, by the rule",
    "completed": "answered all test examples",
    "analysed": "completed and in the analysis",
}
WAYS_OUT = {
    "declined": "did not consent",
    "refused": "had done this task before",
    "screened_out": "screened out, paid",
    "returned": "gave the place back",
    "expired": "idle for longer than allowed",
    "withdrawn": "withdrew their answers",
    "rejected": "rejected on the platform",
    "at_work": "still there",
}


def _funnel(found: Conduct) -> list[Block]:
    whole = found.whole
    names = ["Scenario", *(stage.capitalize() for stage in STAGES)]
    rows = [
        [str(one), *(str(getattr(own, stage)) for stage in STAGES)] for one, own in found.funnels
    ]
    rows.append(["All", *(str(getattr(whole, stage)) for stage in STAGES)])
    left = [f"{words}: {getattr(whole, way)}" for way, words in WAYS_OUT.items()]
    left.append(f"completed, but taken out of the analysis: {found.excluded}")
    if found.failed_questions:
        left.append(
            f"of the screened out, at the instructions' questions: {found.failed_questions}"
        )
    return [
        Grid(
            "How far people came",
            names,
            rows,
            [
                " ".join(f"{stage.capitalize()}: {words}." for stage, words in STAGES.items()),
                "One person on two tasks counts twice. Who found no free seat left no trace.",
            ],
        ),
        Bullets([line for line in left if not line.endswith(": 0")] or ["Nobody left."]),
    ]


def _pay(found: Conduct) -> list[Block]:
    currency = found.manifest["currency"]
    blocks: list[Block] = [Bullets(wording.pay_sentences(found.manifest))]
    if not found.wages:
        return [*blocks, Paragraph("No pay is settled yet.")]

    def wage(name: str) -> str:
        known = found.median(name)
        return "–" if known is None else f"{in_currency(round(known))} {currency}"

    active = sum(one.active_seconds for one in found.wages)
    rows = [
        [amount.words, str(amount.entries), in_currency(amount.cents)] for amount in found.amounts
    ]
    rows.append(["all", str(sum(a.entries for a in found.amounts)), in_currency(found.earned)])
    facts = [
        Fact("Participations with settled pay", str(len(found.wages))),
        Fact("Median per active hour", wage("per_active_hour")),
        Fact("Median per elapsed hour", wage("per_elapsed_hour")),
        Fact("Active hours in all", f"{active / 3600:.1f}"),
        Fact("Median active minutes", _minutes(found.median("active_seconds"))),
        Fact("Median elapsed minutes", _minutes(found.median("elapsed_seconds"))),
        Fact("Seconds for a test answer", _one_digit(found.seconds_per_answer)),
        Fact("Total earned", f"{in_currency(found.earned)} {currency}"),
        Fact("Of it paid so far", f"{in_currency(found.paid)} {currency}"),
    ]
    return [
        *blocks,
        Facts(facts),
        Grid("What was earned", ["For", "Entries", f"Amount ({currency})"], rows),
    ]


def _minutes(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds / 60:.1f}"


def _one_digit(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _consent(found: Conduct) -> list[Block]:
    agreed = [[str(version), moment(since), str(n)] for version, since, n in found.consents]
    withdrew = (
        f"Withdrawn: {found.withdrawn}; their answers were erased and are in no score here."
        if found.withdrawn
        else "Nobody has withdrawn."
    )
    blocks: list[Block] = [
        Grid("Consent texts", ["Version", "Since", "People who agreed"], agreed),
        Paragraph(f"{withdrew} Completed, and taken out of the analysis: {found.excluded}."),
    ]
    if found.exclusions:
        rows = [
            [
                one.annotator,
                "back in" if one.in_analysis else "out",
                "by the design" if one.by_design else "by hand",
                one.reason,
                moment(one.at),
            ]
            for one in found.exclusions
        ]
        columns = ["Annotator", "Decision", "How", "Reason", "When"]
        blocks.append(Grid("Decisions about the analysis", columns, rows))
    return blocks


def _deviations(found: Conduct) -> list[Block]:
    items = [(at, what) for at, what in found.changes]
    items += [
        (
            one.at,
            f"{one.annotator} taken {'back into' if one.in_analysis else 'out of'} the analysis",
        )
        for one in found.exclusions
        if not one.by_design
    ]
    if not items:
        return [Paragraph("None: nothing was done to the study since it was opened.")]
    lines = [f"{moment(at)}: {what}" for at, what in sorted(items)]
    return [
        Paragraph("Everything that was done to the study after its design was frozen:"),
        Bullets(lines),
    ]


def _checklist(found: Conduct, answers: Mapping[str, str]) -> list[Block]:
    made = checklist.items(found, answers)
    still_open = sum(one.is_open for one in made)
    return [
        Paragraph(
            "Items by the numbers of Wei et al. 2025 (arXiv 2506.13776), in words of our own. What"
            " the platform knows is filled in; the questions are for the researcher."
            + (f" Not answered yet: {still_open}." if still_open else "")
        ),
        Checklist(made),
    ]


def _provenance(found: Conduct) -> list[Block]:
    return [
        Facts(
            [
                Fact("SHA-256 of the frozen design", found.study.manifest_hash, is_code=True),
                *same_recipe(found.manifest),
            ]
        ),
        Paragraph(
            "The release bundle holds the design (manifest.json), every answer with its times, and"
            " verify.py, which recomputes every number of the tables from the CSVs alone."
        ),
    ]
