"""A study's tables, formatted for printing in a paper.

Rows and columns are the same as on the page, in the CSV file and in the API. Recipes, remarks and
the meanings of columns are added as notes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.db.models import Count, Q

from analysis.cross_task import upstream
from analysis.documents.wording import table_note
from analysis.examples import difficulty, gold_audit
from analysis.figures import data as figure_data
from analysis.models import differences, leaderboard, model_runs, models_columns
from analysis.models import models as model_tables
from analysis.scores import (
    attrition,
    findings_columns,
    frames,
    marks,
    means,
    metrics,
    performance,
    rendering,
    sensitivity,
    training,
)
from analysis.scores.attrition import ADMISSION, SAMPLE
from analysis.scores.columns import ASSUMES, Table, table_columns
from analysis.scores.markup import PaperTable, as_latex
from analysis.scores.overlap import OVERLAP
from analysis.scores.training import PLATEAU
from analysis.stats.two_way import BOTH
from annotation.models import Kind, Study
from annotation.study import compared_files
from tasks.columns import NOTHING, Column, shots_text
from tasks.metrics import recipe
from tasks.models import Split

OVER_BOTH = "Mean ± SD (x 100) over annotators or training splits."
METHODS = {"FT": "fine-tuning", "PT": "prompt-based fine-tuning", "ICL": "in-context learning"}
ANNOTATOR_KINDS = {
    Kind.PERSON: "people",
    Kind.SIMULATED: "simulated annotators (not people)",
    Kind.MODEL: "models as annotators (not people)",
}
Maker = Callable[[Study, str], Iterator[PaperTable]]


class Printed(NamedTuple):
    """A table that is printed as one or more PaperTables.

    It may have rows if the study has what the table `needs` (a key in `filled`) and if `part`, a
    part of the design, is true.
    """

    title: str
    make: Maker
    needs: str = "people"
    part: Callable[[Study], object] = lambda study: True


def titles(study: Study) -> dict[str, str]:
    return {name: table.title for name, table in _printed(study).items()}


def filled(study: Study, kind: str) -> dict[str, str]:
    """Return the titles of tables that may have rows here, without computing most of them."""
    people = study.participations.analysed().filter(kind=kind).exists()
    seated = study.participations.filter(kind=Kind.MODEL).exists()
    models = seated or compared_files.for_overlap(study).exists()
    has = {
        "nothing": True,
        "people": people,  # this kind's annotators in the analysis
        "people and models": people and models,
        "people or models": people or models,
        "seated models": seated,
        "sized models": figure_data.SIZES in figure_data.names(study),
        "confidence": people and study.confidence_share,
        "sample": SAMPLE.rows(study, kind),
        "training of three": people
        and any(max(row.train, default=0) > 2 for row in task_rows(study)),
    }
    printed = _printed(study).items()
    return {name: table.title for name, table in printed if has[table.needs] and table.part(study)}


def _printed(study: Study) -> dict[str, Printed]:
    printed = TABLES | ARM_TABLES if study.is_cross_task else TABLES
    has_strata = means.strata_of(study)
    return printed | {means.STRATA.name: _simple(means.STRATA)} if has_strata else printed


def tables(study: Study, kind: str, name: str) -> list[PaperTable]:
    """Return the non-empty tables for a name in `titles`. Findings are computed immediately."""
    return [table for table in _printed(study)[name].make(study, kind) if table.rows]


def latex(study: Study, kind: str, name: str) -> str:
    texts = [as_latex(table) for table in tables(study, kind, name)]
    return "\n".join(texts) or "% This table has no rows yet.\n"


def _table(
    study: Study,
    kind: str,
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Any],
    intro: str = "",
    groups: Sequence[tuple[str, int]] = (),
) -> PaperTable:
    recipes = sorted({recipe(t.card.gold_rule, metric=t.card.metric) for t in study.tasks.all()})
    notes = [*filter(None, [intro]), f"Recipe: {'; '.join(recipes)}", *marks.sentences(study)]
    caption = f"{title}: {study.title}, {ANNOTATOR_KINDS[Kind(kind)]}"
    return PaperTable(f"{study.name}-{name}-{kind}", caption, columns, rows, notes, groups)


def _performance(study: Study, kind: str) -> Iterator[PaperTable]:
    for table in performance.versions(study, kind, frames.annotators(study)):
        if table.has_scores:
            yield rendering.paper_table(table)


def _training(study: Study, kind: str) -> Iterator[PaperTable]:
    rows, intro = training.training(study, kind), table_note("training")
    yield _table(study, kind, "training", "Training", training.columns(rows), rows, intro)


def _admission(study: Study, kind: str) -> Iterator[PaperTable]:
    intro = " ".join([ADMISSION.intro, *attrition.warnings(study)])
    rows = ADMISSION.rows(study, kind)
    yield _table(study, kind, ADMISSION.name, ADMISSION.title, ADMISSION.columns, rows, intro)


def _sensitivity(study: Study, kind: str) -> Iterator[PaperTable]:
    intro = table_note("sensitivity", to_both=BOTH, assumes=ASSUMES)
    for table in sensitivity.task_tables(sensitivity.table(study, kind)):
        columns = [
            Column("", "Criterion", get=itemgetter(0)),
            *(
                Column("", shots_text(shots),
                       get=partial(lambda place, line: line[1][place][0], place))
                for place, shots in enumerate(table.shots)
            ),
        ]  # fmt: skip
        name = f"sensitivity-{table.task}"
        title = f"Sensitivity to inclusion criteria: {table.task}"
        yield _table(study, kind, name, title, columns, table.lines, intro)


def _models(study: Study, kind: str) -> Iterator[PaperTable]:
    for table in model_tables.tables(study, kind):
        columns = [
            Column("", "Respondents", get=str),
            *(
                Column("", task.name, get=partial(lambda place, row: row.scores[place].text, place))
                for place, task in enumerate(table.tasks)
            ),
            Column("", "Average", models_columns.SCORE_COLUMNS[1].meaning,
                   get=lambda row: "–" if row.aggregate is None else row.aggregate.score.text),
            Column("", "SD of the sum", models_columns.SCORE_COLUMNS[2].meaning, get="sum_text"),
        ]  # fmt: skip
        notes = " ".join(
            f"{source}: {text}"
            for source, text in models_columns.explanations("Annotators", table.rows)
        )
        yield _table(
            study, kind, f"models-{table.shots}", f"Humans and models, {table.heading.lower()}",
            columns, table.rows, notes, [*table.families, ("All tasks", 2)],
        )  # fmt: skip


def _methods(study: Study, kind: str) -> Iterator[PaperTable]:
    tables = model_tables.tables(study, kind)
    rows = model_tables.by_method(tables)
    of_study = tables[0].tasks if tables else []
    for family, grouped in groupby(of_study, key=lambda task: task.card.family):
        tasks = list(grouped)
        cells = [(task.name, table.shots) for task in tasks for table in tables]
        columns = [
            Column("", "Respondents", get="name"),
            *(
                Column("", "All" if shots == model_tables.ALL else str(shots),
                       get=partial(lambda cell, row: row.texts.get(cell, NOTHING), (task, shots)))
                for task, shots in cells
            ),
        ]  # fmt: skip
        shown = [r for r in rows if any(r.texts.get(cell, NOTHING) != NOTHING for cell in cells)]
        is_full = any(shots == model_tables.ALL for _task, shots in cells)
        note = f"Columns: shots{'; All: fully supervised' if is_full else ''}. {OVER_BOTH}"
        stated = [f"{m}: {METHODS[m]}" for m in METHODS if any(f" {m}, " in r.name for r in shown)]
        note += f" {'; '.join(stated)}, as stated by the uploader." if stated else ""
        title = f"Humans and models by method, {performance.FAMILY_NAMES[family]}"
        groups = [(task.name, len(tables)) for task in tasks]
        name = f"methods-{family.replace('_', '-')}"
        yield _table(study, kind, name, title, columns, shown, note, groups)


def _simple(table: Table, needs: str = "people") -> Printed:
    def make(study: Study, kind: str) -> Iterator[PaperTable]:
        rows = table.rows(study, kind)
        page = table.page(study, kind, rows)
        yield _table(study, kind, table.name, table.title, page["columns"], rows, page["intro"])

    return Printed(table.title, make, needs, table.needs)


def _leaderboard(study: Study, kind: str) -> Iterator[PaperTable]:
    for board in leaderboard.boards(study, kind):
        columns = [
            Column("", "Entry", get=lambda e: e.name + (" (published)" if e.is_published else "")),
            *leaderboard.board_columns(board),
        ]
        rows = [entry for _heading, entries in board.groups for entry in entries]
        title = f"Leaderboard, {board.heading}"
        name = f"leaderboard-{board.heading}"
        yield _table(study, kind, name, title, columns, rows, board.test_text)


def _figure(name: str, study: Study, kind: str) -> Iterator[PaperTable]:
    figure = figure_data.figure(study, kind, name)
    title, rows = f"{figure.title}, data", figure.numbers
    yield _table(
        study, kind, f"figure-{name}", title, figure.all_columns, rows, figure.caption
    )  # fmt: skip


def task_rows(study: Study, _kind: str = "") -> Iterator[SimpleNamespace]:
    """Yield the study's tasks, except upstream tasks, with the sizes of their files.

    These are the sizes of the study's own training files, in ascending order, and of the test file.
    """
    trained = Q(kind=Split.Kind.TRAIN, shots__in=study.shots, number__in=study.splits)
    for task in sorted(study.tasks.all(), key=attrgetter("place")):
        used = task.splits.filter(trained | Q(kind=Split.Kind.TEST)).order_by()
        sizes = list(used.annotate(size=Count("examples")).values_list("kind", "size"))
        train = sorted({size for kind, size in sizes if kind == Split.Kind.TRAIN})
        yield SimpleNamespace(task=task, train=train, test=dict(sizes)[Split.Kind.TEST])


TASKS = Table(
    "tasks",
    "Tasks",
    table_columns("tasks", task=lambda row: performance.FAMILY_NAMES[row.task.card.family]),
    task_rows,
)


FIGURES_NEED = {figure_data.SIZES: "sized models", figure_data.CALIBRATION: "confidence"}
# The tables by name, in the order of the menu.
TABLES: dict[str, Printed] = {
    "human-performance": Printed("Human performance", _performance),
    TASKS.name: _simple(TASKS, "nothing"),
    "training": Printed("Training", _training),
    SAMPLE.name: _simple(SAMPLE, "sample"),
    **{table.name: _simple(table)
       for table in (*findings_columns.TABLES.values(), *findings_columns.ARM_TABLES)},
    PLATEAU.name: _simple(PLATEAU, "training of three"),
    ADMISSION.name: Printed(ADMISSION.title, _admission, "nothing", ADMISSION.needs),
    OVERLAP.name: _simple(OVERLAP, "people and models"),
    "sensitivity": Printed("Sensitivity to inclusion criteria", _sensitivity),
    "models": Printed("Humans and models by task", _models, "people or models"),
    "methods": Printed("Humans and models by method (CLUES, Tables 5 and 6)", _methods,
                       "people or models"),
    "effort": _simple(
        Table("effort", "Time and cost per answer", model_runs.EFFORT,
              lambda study, _kind: model_runs.efforts(study)),
        "seated models",
    ),
    "metrics": _simple(
        Table("metrics", "Every metric", metrics.COLUMNS, metrics.page_rows,
              {"note": metrics.NOTE}, lambda study: not metrics.is_s1_alone(study)),
    ),
    "differences": _simple(
        Table("differences", "Differences between humans and models", models_columns.DIFFERENCES,
              differences.differences, {"note": differences.LEFT_OUT}),
        "people and models",
    ),
    "leaderboard": Printed("Leaderboard", _leaderboard, "people or models"),
    "gold-audit": _simple(
        Table("gold-audit", "Doubtful gold answers by task", gold_audit.TALLY,
              lambda study, kind: difficulty.doubts(study, kind)[0]),
    ),
    **{f"figure-{name}": Printed(f"{title}, data", partial(_figure, name),
                                 FIGURES_NEED.get(name, "people"))
       for name, title in figure_data.TITLES.items()},
}  # fmt: skip
GAINS_FIGURE = f"figure-{figure_data.GAINS}"
# Additional tables for a cross-task study.
ARM_TABLES: dict[str, Printed] = {
    **{name: _simple(table) for name, table in upstream.ARM_TABLES.items()},
    GAINS_FIGURE: TABLES.pop(GAINS_FIGURE),
}
