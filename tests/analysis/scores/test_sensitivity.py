"""Results under other inclusion criteria."""

import csv
import io
import math
import re
from html import unescape

import pytest
from django.urls import reverse

from analysis.scores import findings, performance, sensitivity
from analysis.stats import two_way
from annotation.models import Kind, Step, Study
from annotation.protocol import attention_checks, own_questions
from tests import factories
from tests.annotation.protocol.test_comprehension import check_file


@pytest.fixture(scope="module")
def stored(module_researcher):
    """At 0 and 2 shots, two annotators are always right and one is always wrong."""
    task = factories.make_task(test_size=6)
    pilot = factories.make_study(
        module_researcher, task, shots=[0, 2], annotators=3, exit_questionnaire=True
    )
    for scenario in pilot.scenarios.all():
        for answer in (None, None, lambda turn: [turn.example.context[0].split()[0]]):
            factories.work_through(factories.seat(scenario), answer)
    return pilot.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def cells(study) -> dict[tuple[str, int], tuple[float, int]]:
    """Return (rule, shots) -> (mean, n)."""
    rows = sensitivity.table(study, "person")
    return {(row.rule, row.shots): (row.mean, row.n) for row in rows}


@pytest.mark.long
def test_the_first_row_equals_the_human_performance_table(study):
    shown = cells(study)
    for (_task, shots), cell in performance.performance(study).cells.items():
        assert shown["reported", shots] == pytest.approx((cell.mean, cell.n))


def test_a_minimum_in_training_leaves_out_those_below_it(study):
    shown = cells(study)
    assert shown["reported", 2] == pytest.approx((200 / 3, 3))
    assert shown["training_s1>=50", 2] == (100, 2)


def test_annotators_without_training_cannot_fail_the_minimum(study):
    assert cells(study)["training_s1>=90", 0][1] == 3


def test_a_manual_exclusion_can_be_undone(study):
    out = study.participations.filter(scenario__shots=2).last()
    out.in_analysis, out.seat_number = False, None
    out.save()
    shown = cells(study)
    assert shown["reported", 2] == (100, 2)
    assert shown["with_excluded", 2] == pytest.approx((200 / 3, 3))
    # The other rules apply to annotators in the analysis, not to all participants.
    assert shown["training_s1>=50", 2] == (100, 2)


def test_a_minimum_of_seconds_applies_to_the_median(study):
    answers = sensitivity.given(study, Kind.PERSON)
    people = sensitivity.people(study, Kind.PERSON)
    seconds = dict(zip(people["participation"][people["shots"] == 0], (1.5, 5.0, 0.5), strict=True))
    answers["seconds"] = answers["participation"].map(seconds)
    found = sensitivity.rows(study, people, answers)
    rows = {row.rule: row for row in found if row.shots == 0}
    assert [rows[f"median_seconds>={least}"].n for least in (1, 2, 5, 10)] == [2, 1, 1, 0]
    assert math.isnan(rows["median_seconds>=10"].mean)
    assert rows["median_seconds>=10"].why_not == "no annotator"


def test_each_cell_has_the_interval_of_the_tables(study):
    """It is the interval of docs/statistics.md, over the annotators whom the rule keeps."""
    first, second, third = study.participations.filter(scenario__shots=2).order_by("pk")
    own_questions.answer_exit(first.token, {"ai_used": "yes"})
    rows = {row.rule: row for row in sensitivity.table(study, Kind.PERSON) if row.shots == 2}
    answered = findings.answered(study, Kind.PERSON)
    for rule, people in {
        "reported": [first, second, third],
        "ai_used!=yes": [second, third],
    }.items():
        part = answered[answered["annotator"].isin([person.pseudonym for person in people])]
        matrix = part.pivot(index="annotator", columns="example", values="s1")
        contexts = part.drop_duplicates("example").set_index("example")["context"]
        estimate = two_way.mean_estimate(matrix.to_numpy(), list(contexts.loc[matrix.columns]))
        low, high = estimate.interval()
        assert (rows[rule].low, rows[rule].high) == pytest.approx(
            (100 * max(low, 0), 100 * min(high, 1))
        )
    # The rule keeps the two who are always right, and they tie.
    assert rows["training_s1>=50"].why_not == "annotators tie"
    assert math.isnan(rows["training_s1>=50"].low)


@pytest.mark.parametrize(
    ("told", "left"),
    [
        ({"seen_before": "yes"}, {"seen_before!=yes": 2, "seen_before=no": 0, "none_of_these": 2}),
        ({"seen_before": "unsure"}, {"seen_before!=yes": 3, "seen_before=no": 0}),
        ({"seen_before": "no"}, {"seen_before=no": 1, "none_of_these": 3}),
        ({"ai_used": "yes"}, {"ai_used!=yes": 2, "seen_before!=yes": 3, "none_of_these": 2}),
        ({"ai_used": "no"}, {"ai_used!=yes": 3, "ai_used=no": 1}),
    ],
)
def test_answers_to_the_exit_questionnaire_give_a_rule(study, told, left):
    person = study.participations.filter(scenario__shots=2).first()
    own_questions.answer_exit(person.token, told)
    study.participations.update(activity_summary=None)  # so only the exit questionnaire matters
    answers = sensitivity.given(study, Kind.PERSON)
    people = sensitivity.people(study, Kind.PERSON)
    people["flagged"] = False  # answers in tests are too fast
    rows = sensitivity.rows(study, people, answers)
    shown = {row.rule: row.n for row in rows if row.shots == 2}
    assert {rule: shown[rule] for rule in left} == left


def test_without_exit_answers_such_rules_are_omitted(study):
    assert not [rule for rule, _shots in cells(study) if "seen" in rule or "ai" in rule.split("_")]


@pytest.mark.long
def test_failed_checks_and_flags_are_rules(ada, researcher, tmp_path):
    """One of two fails the attention check; both are flagged, as answers in tests are too fast."""
    task = factories.make_task(test_size=6)
    attention_checks.import_checks(task, check_file(tmp_path))
    study = factories.make_study(researcher, task, shots=[0], annotators=2, attention_checks=1)
    scenario = study.scenarios.get()
    factories.work_through(factories.seat(scenario))
    factories.work_through(
        factories.seat(scenario),
        lambda turn: [] if turn.step == Step.CHECK else turn.example.gold,
    )
    shown = cells(study)
    assert shown["reported", 0][1] == 2
    assert shown["passed_checks", 0] == (100, 1)
    assert shown["not_flagged", 0][1] == shown["none_of_these", 0][1] == 0
    page = ada.get(reverse("sensitivity", args=[study.name]), follow=True).content.decode()
    assert "without annotators who failed a check" in page
    assert two_way.BOTH in page


def test_the_page_marks_changed_cells(ada, study):
    page = ada.get(reverse("sensitivity", args=[study.name]), follow=True).content.decode()
    assert "<td>66.7 ± 57.7 (n=3), 0.0 to 100.0 †</td>" in page
    assert "<td><strong>100.0 ± 0.0 (n=2), – (annotators tie)</strong></td>" in page
    # Answers in tests take less than a second, so the minimum time excludes everyone.
    assert "<td><strong>– (n=0)</strong></td>" in page


def test_criteria_with_the_same_cells_share_a_row(ada, study):
    """Most of the 13 rows per task used to repeat the reported one."""
    page = ada.get(reverse("sensitivity", args=[study.name]), follow=True).content.decode()
    page = " ".join(re.sub("</?small>", "", unescape(page)).split())
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', page)
    assert len({cells for _criteria, cells in rows}) == len(rows)
    first, *others = [criteria for criteria, _cells in rows]
    assert first.strip().startswith("as reported; with annotators excluded by a researcher")
    assert "median active time per example ≥ 1 s, 2 s, 5 s, 10 s" in "".join(others)
    words = [
        part.strip().partition("≥")[0] for criteria, _cells in rows for part in criteria.split("; ")
    ]
    table = {row.rule for row in sensitivity.table(study, Kind.PERSON)}
    for rule in sensitivity.RULES:
        assert (rule.label.partition("≥")[0] in words) == (rule.name in table)


def test_it_is_a_csv_with_all_digits(ada, study):
    reply = ada.get(reverse("sensitivity_file", args=[study.name]))
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    names = {rule.name for rule in sensitivity.RULES}
    told = {name for name in names if name.startswith(("seen_before", "ai_used"))}
    assert len(told) == 4  # the exit questionnaire is unanswered
    missing = told | {"by_page", "errors_unlike_models"}
    assert names - {row["rule"] for row in rows} == missing
    assert len(rows) == 2 * (len(names) - 6)
    assert rows[0]["rule"] == "reported"
    assert rows[0]["kind"] == "person"
    assert float(rows[0]["mean"]) == pytest.approx(2 / 3, abs=1e-12)


def test_an_empty_study_says_what_to_do(ada, researcher):
    study = factories.make_study(researcher, factories.make_task())
    page = ada.get(reverse("sensitivity", args=[study.name]), follow=True).content.decode()
    assert "share its link" in page
    assert ada.get(reverse("sensitivity_file", args=[study.name])).status_code == 200


def test_sensitivity_of_another_researcher_is_not_found(client, other_researcher, study):
    client.force_login(other_researcher)
    for name in ("sensitivity", "sensitivity_file"):
        assert client.get(reverse(name, args=[study.name]), follow=True).status_code == 404
