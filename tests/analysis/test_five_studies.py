"""The five studies have the features that the tests of documents rely on."""

import pytest

from analysis.scores.performance import performance
from annotation.models import Kind, ModelRun, Status, Study, StudyStatus
from tests.analysis import five_studies

pytestmark = pytest.mark.long

# Study -> completed participations, those in the analysis, workers, and people per cell.
PEOPLE = {
    "clues": (12, 12, 12, 3),
    "multiple choice": (25, 24, 25, 12),
    "cross-task": (18, 18, 18, 3),
    "seated models": (12, 12, 6, 3),
}


@pytest.fixture
def studies(db, five) -> dict[str, Study]:
    return {name: Study.objects.get(pk=pk) for name, pk in five.items()}


def test_each_study_is_closed_with_the_expected_people(studies):
    assert {study.status for study in studies.values()} == {StudyStatus.CLOSED}
    for name, expected in PEOPLE.items():
        people = studies[name].participations.filter(kind=Kind.PERSON, status=Status.COMPLETED)
        workers = people.values("worker").distinct().count()
        (cell,) = {cell.n for cell in performance(studies[name], Kind.PERSON).cells.values()}
        analysed = people.filter(in_analysis=True).count()
        assert (people.count(), analysed, workers, cell) == expected, name


def test_the_people_of_a_cell_differ_in_their_scores(studies):
    for name, study in studies.items():
        assert study.participations.filter(kind=Kind.PERSON).count() > 3
        wrong = study.participations.filter(turns__answer__s1__lt=1, turns__step="annotation")
        assert wrong.exists(), name


def test_each_study_has_its_own_special_feature(studies):
    assert ModelRun.objects.filter(participation__study=studies["seated models"]).count() == 4
    assert studies["cross-task"].is_cross_task
    on_prolific = studies["prolific"]
    assert on_prolific.submissions.filter(status="REJECTED").count() == 1
    assert on_prolific.participations.filter(status=Status.COMPLETED).count() == 4
    assert studies["multiple choice"].tasks.get().test_part
    assert set(studies) == set(five_studies.BUILDERS)
