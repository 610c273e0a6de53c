"""Every number of an export is recomputed from its answers with third-party libraries.

From an export alone, `verify.py` recomputes only some of them.
"""

import functools
import itertools
import json
import shutil

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.export.columns import COLUMNS
from analysis.scores.columns import type_of
from tasks.metrics import METRICS, Answers, over_test_set
from tests.analysis.export import recomputed_models as models
from tests.analysis.export import recomputed_tables as tables
from tests.analysis.export.recomputed import CELL, Exported, differences
from tests.analysis.export.recomputed_scores import judge
from tests.analysis.export.recomputed_studies import FURTHER, exports, metrics_study  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.long]

PAIR = ["kind", "task", "from_shots", "to_shots"]
RUN = ["model", "task", "shots", "split"]
# File -> its key columns, and the function that computes the other columns.
TABLES = {
    "examples.csv": (["task", "file_kind", "shots", "split", "example"], tables.examples),
    "answers.csv": (["annotator", "step", "example"], tables.answers),
    "annotators.csv": (["annotator"], tables.annotators),
    "upstream.csv": (["annotator", "task", "example"], tables.upstream),
    "scenarios.csv": ([*CELL, "split"], tables.scenarios),
    "human_performance.csv": (CELL, tables.human_performance),
    "training.csv": ([*CELL, "split", "in_shots", "not_in_shots"], tables.training),
    "agreement.csv": (CELL, tables.agreement),
    "ceilings.csv": (CELL, tables.ceilings),
    "intervals.csv": (CELL, tables.intervals),
    "contrasts.csv": (PAIR, tables.contrasts),
    "attrition.csv": (PAIR, tables.attrition),
    "flow.csv": ([*tables.SCENARIO, "kind"], tables.flow),
    "predictions.csv": ([*RUN, "example"], models.predictions),
    "metric_values.csv": (["kind", "name", *RUN[1:], "metric"], models.metric_values),
    "metrics.csv": (["kind", "name", "task", "shots", "metric"], models.metrics),
    "model_scores.csv": (RUN[:3], models.model_scores),
    "model_differences.csv": ([*CELL, "model"], models.model_differences),
    "items.csv": ([*CELL, "example"], models.items),
    "sensitivity.csv": ([*CELL, "rule"], models.sensitivity),
    "wages.csv": (["study"], models.wages),
    "gains.csv": (["kind", "task", "new_arm", "base_arm"], models.gains),
}
# Positions of rows, and numbers that verify.py redraws, slices or adds up.
IN_VERIFY = {
    "examples.csv": "position", "answers.csv": "position", "upstream.csv": "position",
    "upstream_pool.csv": "position", "annotators.csv": "arrival", "allocations.csv": "arrival",
    "spans.csv": "start end", "decisions.csv": "outcome", "pay.csv": "cents",
    "pay_totals.csv": "entries cents",
}  # fmt: skip
# Numbers that don't follow from other cells of an export, and why.
NOT_RECOMPUTED = {
    ("answers.csv", "noted as it happened"): "active_seconds reveal_seconds blurs away_seconds"
    " pastes copies left_after_copy automated no_input narrow jumps confidence",
    ("annotators.csv", "the clock of pay"): "worked_seconds waited_seconds elapsed_seconds",
    ("upstream.csv", "noted as it happened"): "active_seconds",
    ("decisions.csv", "noted as it happened"): "score_seen",
    ("refused_arrivals.csv", "counted as they came"): "number",
    ("pay.csv", "told by the platform"): "by_platform",
    ("pay_totals.csv", "of people whose rows are left out"): "withdrawn_cents",
    ("model_annotators.csv", "told by the run"): "replicate retries temperature seed input_tokens"
    " output_tokens cost_usd answers invalid refusals seconds",
    ("human_performance.csv", "measured at import: test_floors.py"): "floor_frequent",
    ("human_performance.csv", "no time of added seats is exported"): "late_seats",
    ("human_performance.csv", "quoted from the paper"): "published_mean published_spread",
    ("model_differences.csv", "no time of uploads is exported"): "in_family",
    ("overlap.csv", "by hand and by permutations: test_error_overlap.py"): "errors same share"
    " others low_95 high_95 p p_holm model_errors telling telling_same telling_others",
    ("anchors.csv", "against statsmodels: test_ancova.py"): "from_shots to_shots n_from n_to"
    " anchor_mean_from anchor_sd_from anchor_mean_to anchor_sd_to balance balance_low balance_high"
    " raw raw_low raw_high adjusted adjusted_low adjusted_high p p_holm r",
    ("question_alone.csv", "by hand: test_context_free.py"): "n_alone mean_alone sd_alone n_context"
    " mean_context sd_context difference low_95 high_95 p p_holm se df people_se people_df",
    ("confidence.csv", "by hand: test_confidence_table.py"): "n answers skipped mean_confidence"
    " mean_confidence_low mean_confidence_high s1_rated s1_rated_low s1_rated_high overconfidence"
    " overconfidence_low overconfidence_high ece ece_low ece_high brier brier_low brier_high"
    " change change_low change_high",
    ("calibration.csv", "by hand: test_confidence_table.py"): "point chance answers s1_rated"
    " s1_rated_low s1_rated_high",
    ("plateau.csv", "of known curves: test_calibration.py"): "n training_n plateau plateau_low"
    " plateau_high plateau_gain plateau_gain_low plateau_gain_high",
    ("model_gains.csv", "by hand: test_model_gains.py"): "new_runs base_runs new base gain"
    " difference",
}


@functools.cache
def expected(export, file):
    return TABLES[file][1](export)


@pytest.mark.parametrize("file", TABLES)
def test_every_number_of_a_table_follows_from_the_answers(exports, file):  # noqa: F811
    for name, export in exports.items():
        assert differences(export[file], TABLES[file][0], expected(export, file)) == [], name


@pytest.mark.parametrize("file", TABLES)
def test_an_altered_cell_of_each_column_is_named(exports, file):  # noqa: F811
    keys, filled, computed = TABLES[file][0], set(), set()
    for export in exports.values():
        for _place, row in export[file].iterrows():
            own = expected(export, file)[tuple(row[keys])]
            computed |= own.keys()
            for column in [column for column in own.keys() - filled if row[column]]:
                filled.add(column)
                for cell in (str(1.0001 * float(row[column]) + 0.0001), ""):
                    altered = pd.DataFrame([{**row, column: cell}])
                    (found,) = differences(altered, keys, {tuple(row[keys]): own})
                    assert found.startswith(f"{column} of ")
    assert filled == computed, "in some study each column holds a number"


def test_every_number_is_recomputed_or_named_with_its_reason(exports):  # noqa: F811
    named = {file: set(columns.split()) for file, columns in IN_VERIFY.items()}
    for (file, _why), columns in NOT_RECOMPUTED.items():
        named[file] = named.get(file, set()) | set(columns.split())
    for file, columns in COLUMNS.items():
        numbers = {column for column in columns if type_of(column, file) in ("integer", "number")}
        numbers -= {"task_version", "shots", "split", *TABLES.get(file, ([],))[0]}
        rows = [expected(export, file).values() for export in exports.values() if file in TABLES]
        computed = {column for row in itertools.chain(*rows) for column in row}
        assert computed.isdisjoint(named.get(file, set())), file
        assert computed | named.get(file, set()) == numbers, file


def test_one_changed_answer_changes_every_dependent_table(exports, tmp_path):  # noqa: F811
    folder = shutil.copytree(exports["S1"].folder, tmp_path / "export")
    answers = exports["S1"]["answers.csv"].copy()
    counted = "step == 'annotation' and in_analysis == '1' and kind == 'person' and shots == '0'"
    at = answers.query(f"{counted} and s1 == '0.0'").index[0]
    answers.loc[at, "answer"] = json.dumps(json.loads(answers.loc[at, "gold"])[:1])
    answers.to_csv(folder / "answers.csv", index=False)
    export = Exported(folder, FURTHER)
    moved = {f for f in TABLES if differences(export[f], TABLES[f][0], expected(export, f))}
    assert moved - {"ceilings.csv"} == {
        "answers.csv", "annotators.csv", "scenarios.csv", "human_performance.csv", "agreement.csv",
        "intervals.csv", "contrasts.csv", "attrition.csv", "metric_values.csv", "metrics.csv",
        "model_differences.csv", "items.csv", "sensitivity.csv",
    }  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
@given(data=st.data())
def test_scores_of_test_sets_equal_those_of_other_libraries(metric, data):
    listed = ["1", "2", "3.5"]
    if not metric.startswith("Pearson"):
        listed += ["acceptable", "the cat", "A cat. It sat", "x", "."]
    words = st.sampled_from(listed)
    texts = st.tuples(words) if not METRICS[metric].is_mean else st.lists(words, max_size=3)
    rows = data.draw(st.lists(st.tuples(texts, texts, st.integers(0, 3)), min_size=1, max_size=8))
    said, golds, contexts = (list(column) for column in zip(*rows, strict=True))
    rule, no_answer = data.draw(st.sampled_from(["set", "any_of"])), data.draw(st.booleans())
    again = judge(metric, [frozenset(own) for own in said], golds, rule, no_answer, contexts)
    score = over_test_set(metric, Answers(said, golds, rule, no_answer, contexts))
    assert score.value == pytest.approx(again.value, abs=1e-9, nan_ok=True)
    assert score.values == pytest.approx(list(again.parts), abs=1e-8, nan_ok=True)
