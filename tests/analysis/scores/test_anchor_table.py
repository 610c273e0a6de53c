"""Anchor scores on the Statistics page, in its CSV and in the API."""

import csv
import io

import pytest
from django.urls import reverse
from statsmodels.stats.multitest import multipletests

from analysis.documents import methods, paper_tables, preregistration, results
from analysis.documents.blocks import as_markdown
from analysis.documents.checklists import for_study
from analysis.documents.checklists.facts import Facts
from analysis.documents.study_record import StudyRecord
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher):
    return compared(researcher)


TWO_ARMS = [(0, 1), (1, 2), (0, 0)], [(1, 1), (1, 0), (2, 3)]
THIRD_ARM = [(0, 4), (1, 3), (2, 4)]


def compared(researcher, arms=TWO_ARMS, rate=None, **design):
    """Arms of three annotators, with a known number of errors in anchors and test set."""
    task = factories.make_task(
        labels=factories.LABELS, name="toy-labels", shots=(2, 4, 8), test_size=4
    )
    study = factories.make_study(
        researcher, task, shots=[0, 2, 4][: len(arms)], annotators=3, anchor_examples=2,
        hide_test_scores=False, **design,
    )  # fmt: skip
    for scenario, wrong in zip(study.scenarios.order_by("shots"), arms, strict=True):
        for anchors, tests in wrong:
            factories.work_through(
                factories.seat(scenario),
                mistaking({"anchor": anchors, "annotation": tests}),
                rate=rate,
            )
    return study


def mistaking(left):
    """Answer the first `left[step]` examples of each step wrong, and the rest right."""

    def answer(turn):
        (gold,) = turn.example.gold
        if left.get(turn.step, 0) > 0:
            left[turn.step] -= 1
            return ["negative" if gold == "positive" else "positive"]
        return [gold]

    return answer


def test_page_csv_and_api_show_balance_and_both_contrasts(ada, study):
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert '<h2 id="anchors">Anchors</h2>' in page
    assert "83.3 ± 28.9 (n = 3)" in page  # anchor scores at zero shots: 100, 50, 100
    reply = ada.get(reverse("analysis_file", args=[study.name, "anchors"])).content.decode()
    (row,) = csv.DictReader(io.StringIO(reply))
    assert (row["n_from"], row["n_to"], row["primary"]) == ("3", "3", "raw")
    assert float(row["balance"]) == pytest.approx(1 / 3 - 5 / 6)
    assert float(row["raw"]) == pytest.approx(2 / 3 - 3 / 4)
    assert float(row["adjusted"]) == pytest.approx(2 / 3 - 3 / 4 + _slope() * 0.5)
    assert float(row["adjusted_low"]) < float(row["adjusted"]) < float(row["adjusted_high"])
    api = ada.get(reverse("api_analysis", args=[study.name])).json()[0]["anchors"]
    assert api[0]["adjusted"] == pytest.approx(float(row["adjusted"]))


def test_p_values_of_all_adjusted_contrasts_are_corrected_as_one_family(ada, researcher):
    study = compared(researcher, [*TWO_ARMS, THIRD_ARM])
    reply = ada.get(reverse("analysis_file", args=[study.name, "anchors"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(reply)))
    p = [float(row["p"]) for row in rows]
    assert len(set(p)) == 3
    adjusted = multipletests(p, method="holm")[1]
    assert [float(row["p_holm"]) for row in rows] == pytest.approx(list(adjusted))
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert "Holm-adjusted over all adjusted contrasts in this table" in page
    assert "p Holm" in paper_tables.latex(study, "person", "anchors")


def _slope() -> float:
    """Return the common slope within the arms, from the scores of the fixture."""
    arms = [([1, 0.5, 1], [0.75, 0.5, 1]), ([0.5, 0.5, 0], [0.75, 1, 0.25])]
    xy = xx = 0.0
    for anchors, scores in arms:
        x, y = sum(anchors) / 3, sum(scores) / 3
        xy += sum((a - x) * (s - y) for a, s in zip(anchors, scores, strict=True))
        xx += sum((a - x) ** 2 for a in anchors)
    return xy / xx


@pytest.mark.parametrize("adjusts", [False, True])
def test_tables_say_that_adjusted_contrasts_are_primary(ada, researcher, adjusts):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], anchor_examples=2, adjusts_for_anchors=adjusts
    )
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert ("Primary contrasts are adjusted for anchor scores" in page) is adjusts


@pytest.mark.parametrize("adjusts", [False, True])
def test_documents_call_one_contrast_primary(researcher, adjusts):
    study = compared(researcher, adjusts_for_anchors=adjusts)
    plan = as_markdown(preregistration.for_study(study))
    assert ("The primary test corresponds to the interval" in plan) is not adjusts
    assert ("The test of the raw difference corresponds to its interval" in plan) is adjusts
    tables = {results.OF_SHOTS: 1}
    text = " ".join(part.text for part in methods.paragraphs(StudyRecord(study), tables))
    assert "between shot counts with the two-sided test" in text
    assert ("the primary differences are adjusted for the anchor score" in text) is adjusts
    entries = {entry.number: entry for entry in for_study(Facts(study), {})["wei-2025"].entries}
    answer = entries["4.1.1"].answer
    assert "Between shots" in answer
    assert "without correction" not in plan + text + answer
    assert ("adjusted for the anchor score (primary): ANCOVA" in answer) is adjusts


def test_a_design_without_anchors_has_no_such_table(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), hide_test_scores=False)
    page = ada.get(reverse("analysis", args=[study.name])).content.decode()
    assert 'id="anchors"' not in page
