"""Each generated sentence of the checklists appears only in studies where it is true.

What a sentence says comes from the study, and the five studies differ in what they have.
"""

import json

import pytest
from django.urls import reverse

from analysis.cross_task import cross_task
from analysis.documents import checklists
from analysis.documents.checklists import for_study
from analysis.documents.checklists.facts import Facts
from analysis.models import differences
from analysis.scores import findings, means
from analysis.scores.tested import contrasts
from analysis.stats import power
from annotation.models import ExitAnswers, Kind, Status, Study
from annotation.models.options import default_consent
from annotation.pay import ledger
from annotation.protocol import exclusion, own_questions, training_step
from annotation.recruitment import consent
from annotation.study import lifecycle
from tests import factories
from tests.analysis import five_studies

FIVE = list(five_studies.BUILDERS)
pytestmark = pytest.mark.long
NO_STUDY: dict = {}


@pytest.fixture
def studies(db, five) -> dict[str, Study]:
    return {name: Study.objects.get(pk=pk) for name, pk in five.items()}


def wei(study, form="wei-2025", answers=NO_STUDY, **manifest) -> dict:
    """Return number -> item; `manifest` adds keys that only later designs have."""
    record = Facts(study)
    record.manifest |= manifest
    return {entry.number: entry for entry in for_study(record, answers)[form].entries}


def whole(entry) -> str:
    return f"{entry.answer} | {entry.evidence}"


# Item number, words in it, and the studies whose checklists must have them.
SAYS = [
    ("0.8", "own-choice, 4 of 10 test examples drawn with seed 3.", {"multiple choice"}),
    ("0.9", "Models with uploaded predictions: uploaded-model.", {"multiple choice"}),
    ("0.9", "Models in the annotator's seat: openai/toy r1", {"seated models"}),
    ("0.9", "N/A | The study includes no models", {"clues", "cross-task", "prolific"}),
    ("0.10", "Each file of uploaded predictions contains one output per item", {"multiple choice"}),
    ("0.10", "one answer per item in each run", {"seated models"}),
    ("1.1", "6 scenarios of all arms", {"cross-task"}),
    ("1.1", "12 seats planned in 4 scenarios", {"clues", "seated models"}),
    ("1.3", "6 (3 in each group) |", {"clues", "seated models"}),
    ("1.3", "9 (3 in each group) |", {"cross-task"}),
    ("1.3", "24 (12 in each group) |", {"multiple choice"}),
    ("1.3", "4 (2 in each group) |", {"prolific"}),
    ("1.1", "(12 seats)", {"seated models"}),
    ("1.2.1", "No sampling", {"clues", "cross-task", "seated models", "prolific"}),
    ("1.2.1", "Simple random sample of the test examples of own-choice", {"multiple choice"}),
    ("1.2.1", "own-choice, 4 of 10 test examples drawn with seed 3.", {"multiple choice"}),
    ("1.3", "unseen-a, 4 shots, upstream arm: 3", {"cross-task"}),
    ("1.3", "toy-places, 0 shots: 2; toy-places, 2 shots: 2", {"prolific"}),
    ("1.4", "up to 2 tasks", {"seated models"}),
    ("1.4", "12 |", {"seated models"}),
    ("1.7", "as reported by its runs: 32 answers, 6.0 minutes, 1.0000 USD", {"seated models"}),
    ("1.7", "Handful limited neither the tokens nor the cost", {"seated models"}),
    ("1.7", "Annotators had no time limit per item", set(FIVE)),
    ("1.7", "Neither people nor models", set()),
    ("1.7", "4,800 input, 240 output", {"seated models"}),
    ("1.7", "Effort for models with uploaded predictions: not stated", {"multiple choice"}),
    ("1.8", "contrast", {"clues", "multiple choice", "seated models", "prolific"}),
    ("1.8", "average relative gain", {"cross-task"}),
    ("1.8.1", "Holm's correction over 2 contrasts", {"clues", "seated models"}),
    ("1.8.1", "ARG of upstream against sham", {"cross-task"}),
    ("1.8.1", "No detectable gain is computed", {"cross-task"}),
    ("1.8.1", "power by Welch's t test over annotators alone", set(FIVE) - {"cross-task"}),
    ("0.1", "not stated", set(FIVE)),
    ("1.9", "6 consented (12 seats) and 0 declined", {"seated models"}),
    ("1.9", "Later withdrawals: 1; these answers were erased.", {"cross-task"}),
    ("2.2", "Crowdsource", {"prolific"}),
    ("2.2", "least-filled", set(FIVE)),
    ("2.3", "Yes", {"cross-task", "multiple choice", "prolific"}),
    ("2.3", "Partial", {"clues", "seated models"}),
    ("2.3.1", "participants could join only one arm", {"cross-task"}),
    ("2.3.1", "mean training S1", {"multiple choice"}),
    ("2.3.1", "1 question about the instructions", {"multiple choice"}),
    ("2.3.1", "desktop or laptop", {"prolific"}),
    ("2.3.2", "declined 1; returned the seat 1", {"clues"}),
    ("2.3.2", "withdrew 1", {"cross-task"}),
    ("2.3.2", "not recorded", set()),
    ("2.5", "per browser only", set(FIVE) - {"prolific"}),
    ("2.5", "The study did not ask about exposure elsewhere", set(FIVE) - {"clues"}),
    ("2.6", "Yes", {"cross-task"}),
    ("2.6.1", "the upstream arm 6 examples of up-one, up-two", {"cross-task"}),
    ("2.6.1", "At zero shots", set(FIVE) - {"cross-task"}),
    ("2.6.2", "Partial | Pay was promised, but no payment has", set(FIVE) - {"seated models"}),
    ("2.7", "Partial | Pay was promised, but no payment has", set(FIVE) - {"seated models"}),
    ("2.7", "No | No payment was promised", {"seated models"}),
    ("2.7.1", "N/A", {"seated models"}),
    ("2.7.3", "Partial", {"prolific"}),
    ("2.7.3", "so amounts depended on active time", {"clues", "cross-task"}),
    ("2.7.3", "or the fixed amount if that is higher", {"multiple choice", "prolific"}),
    ("2.6.2.1", "At least", {"multiple choice", "prolific"}),
    ("2.7.3.1", "not paid in 1 case", {"prolific"}),
    ("3.1", "10 to 16 |", {"cross-task"}),
    ("3.1", "6 to 16 |", {"seated models"}),
    ("3.1", "(training examples, test examples): 6 to 8;", {"seated models", "prolific"}),
    ("3.1", "upstream or sham examples", {"cross-task"}),
    ("3.1", "up to 2 tasks", {"seated models"}),
    ("3.1.1", "Upstream step", {"cross-task"}),
    ("3.2", "Partial", set(FIVE) - {"multiple choice"}),
    ("3.2.1", "Excluded by a researcher with a reason: 1.", {"multiple choice"}),
    ("3.2.2", "excluded by a researcher with a reason: 1.", {"multiple choice"}),
    ("3.2.1", "Rejected on the platform before completion", set()),
    ("3.2.2", "Test answers outside the analysis: 4 ", {"multiple choice"}),
    ("3.3", "No |", {"multiple choice"}),
    ("3.3", "Partial | Models in the annotator's seat", {"seated models"}),
    ("3.3.1", "Checked", {"seated models"}),
    ("3.3.1", "No model was run.", {"clues", "cross-task", "prolific"}),
    ("3.3.2", "N/A", {"clues", "cross-task", "prolific"}),
    ("3.3.2", "Partial", {"seated models"}),
    ("3.4", "Partial | Models in the annotator's seat", {"seated models"}),
    ("3.4", "Unknown", {"multiple choice"}),
    (
        "3.4",
        "At more than zero shots, runs that answered the training examples: 2;",
        {"seated models"},
    ),
    ("3.5.1", "asked about AI", {"clues"} | set(FIVE)),
    ("4.1", "Yes", {"multiple choice", "seated models"}),
    ("4.1", "N/A", {"clues", "cross-task", "prolific"}),
    ("4.1.1", "Humans minus models with uploaded predictions", {"multiple choice"}),
    ("4.1.1", "Humans minus models in the annotator's seat", {"seated models"}),
    ("4.1.1", "the larger p value of Welch's t", set(FIVE) - {"cross-task"}),
    ("4.1.1", "average relative gain", {"cross-task"}),
    ("4.1.1", "Holm-adjusted", {"clues", "seated models"}),
    ("4.2", "own-choice, 0 shots; own-choice, 5 shots", {"multiple choice"}),
    ("4.2", "Bootstraps over annotators are not reported", set(FIVE) - {"multiple choice"}),
    ("4.3", "Yes", {"multiple choice", "seated models"}),
    ("4.3", "ACC for own-choice", {"multiple choice"}),
    ("4.4", "Yes", {"multiple choice", "seated models"}),
    ("4.5", "Yes", {"multiple choice", "seated models"}),
    ("4.6", "shown without and with", {"multiple choice"}),
    ("5.1.1", "No |", set(FIVE)),
    ("5.1.2", "Named Entity Recognition", set(FIVE) - {"cross-task"}),
    ("5.1.2", "for 5 tasks (", {"cross-task"}),
    ("5.1.4", "answered by 0 of 12 participants who completed", {"clues"}),
    ("5.1.5", "12 of 14", {"clues"}),
    ("5.1.5", "2 ended early.", {"clues"}),
    ("5.1.5", "in progress", set()),
    ("4.2", "95 % intervals and bootstrap intervals over contexts", set(FIVE)),
    ("4.6", "The section “Sensitivity to inclusion criteria”", set(FIVE)),
]


def test_each_sentence_is_used_only_for_studies_where_it_holds(studies):
    known = {name: wei(study) for name, study in studies.items()}
    wrong = [
        (number, words, found, expected)
        for number, words, expected in SAYS
        if (found := {n for n, items in known.items() if words in whole(items[number])}) != expected
    ]
    assert wrong == []


def test_reported_tests_match_the_tables(studies):
    for name, study in studies.items():
        facts = Facts(study)
        rows = contrasts(findings.answered(study, Kind.PERSON), study.seed)
        assert facts.tested_pairs == sum(row.p == row.p for row in rows), name
        compared = differences.differences(study, Kind.PERSON)
        assert {(row.task, row.shots, row.model.partition(" (")[0]) for row in compared} == {
            (cell.task, cell.shots, cell.model.partition(" (")[0]) for cell in facts.compared
        }, name


def test_reported_bootstraps_match_the_table_of_intervals(studies):
    for name, study in studies.items():
        rows = means.intervals(findings.answered(study, Kind.PERSON), study.seed)
        boot = {f"{r.task}, {r.shots} shots" for r in rows if not r.no_bootstrap}
        assert set(Facts(study).bootstrapped) == boot, name


def test_detectable_difference_uses_the_first_step_of_holm(studies):
    said = wei(studies["clues"])["1.8.1"].answer
    assert (
        f"{power.detectable(3, 0.05 / 2):.2f} SDs (uncorrected: {power.detectable(3):.2f} SDs"
        in (said)
    )
    assert "uncorrected" not in wei(studies["multiple choice"])["1.8.1"].answer
    plan = {row.width: row.people for row in cross_task.plan(studies["cross-task"], Kind.PERSON)}
    assert "± 5 %:" in wei(studies["cross-task"])["1.8.1"].answer
    assert plan


def test_people_are_counted_once_over_all_arms(studies):
    counted = {name: wei(study)["1.1"].answer for name, study in studies.items()}
    assert counted == {
        "clues": "12", "multiple choice": "24", "cross-task": "18", "seated models": "6",
        "prolific": "4",
    }  # fmt: skip
    assert "6 took" not in wei(studies["seated models"], "acl-d")["D"].evidence
    assert (
        "Participants who took a seat: 6." in wei(studies["seated models"], "acl-d")["D"].evidence
    )


# Keys of the design that a study can have ---------------------------------------------------------

AUDIENCE = {
    "countries": ["GB"], "languages": ["English"], "minimum_age": 18, "maximum_age": 65,
    "approval_rate": 95, "content_warning": "Rude words.",
    "filters": [{"filter_id": "sex", "selected_values": ["0"], "weightings": {"0": 1}}],
}  # fmt: skip


def test_the_audience_of_the_design_is_printed_and_sets_criteria(studies):
    study = studies["prolific"]
    plain, aimed = (
        wei(study, computer_only=False),
        wei(study, computer_only=False, audience=AUDIENCE),
    )
    assert (plain["2.1"].answer, aimed["2.1"].answer) == ("Unknown", "Partial")
    assert (plain["2.1.1"].answer, aimed["2.1.1"].answer) == (
        "not stated",
        "Language, Gender or sex, Age, Other",
    )
    assert (plain["2.3"].answer, aimed["2.3"].answer) == ("Partial", "Yes")
    for number in ("2.1", "2.2", "2.3.1"):
        assert "countries GB" in whole(aimed[number]), number
        assert "countries" not in whole(plain[number]), number
    said = whole(aimed["2.3.1"])
    for words in (
        "minimum age 18",
        "maximum age 65",
        "at least 95 %",
        '"weightings": {"0": 1}',
        "Rude words",
    ):
        assert words in said
    said = wei(study, audience={"minimum_age": 18})
    assert "minimum age 18" in whole(said["2.3.1"])


@pytest.mark.parametrize(
    ("filters", "characteristics"),
    [(["sex"], "Gender or sex"), (["sex", "vegan"], "Gender or sex, Other"), ([], "not stated")],
)
def test_filters_alone_are_characteristics_of_the_population(studies, filters, characteristics):
    audience = {"filters": [{"filter_id": name, "selected_values": ["0"]} for name in filters]}
    said = wei(studies["prolific"], audience=audience)
    assert said["2.1.1"].answer == characteristics
    joined = {"filters": [{"filter_id": "and", "selected_filters": audience["filters"]}]}
    if filters:
        said = wei(studies["prolific"], audience=joined)
        assert said["2.1.1"].answer == characteristics


def test_an_audience_without_prolific_excludes_no_participants(studies):
    study = studies["clues"]
    said = wei(study, audience=AUDIENCE)
    assert said["2.3"].answer == "Partial"
    assert "countries" not in whole(said["2.3.1"])
    forms = wei(study, "acl-d", audience=AUDIENCE) | wei(study, "neurips-14-15", audience=AUDIENCE)
    for number, entry in (said | forms).items():
        assert "were recruited under" not in whole(entry), number
    for entry in (said["2.1"], said["2.1.1"], said["2.2"], forms["D2"], forms["D5"], forms["14"]):
        assert "but no participants were recruited there." in entry.evidence
        assert "warned of the content: “Rude words.”" in entry.evidence


def test_programs_in_seats_and_chosen_scenarios_are_reported(studies):
    study = studies["clues"]
    plain = wei(study)
    other = wei(study, programs_as_people=True)
    for number, words in (
        ("1.1", "allows programs in human annotators' seats"),
        ("3.3", "allows programs in human annotators' seats"),
        ("3.5.1", "Programs in human annotators' seats do not report these signs"),
    ):
        assert words not in whole(plain[number]), number
        assert words in whole(other[number]), number
    prolific = studies["prolific"]
    assert "least-filled" in whole(wei(prolific, participants_choose_scenario=True)["2.2"])
    five_studies.have_chosen(prolific)
    said = whole(wei(prolific)["2.2"])
    assert "participants chose among them" in said
    assert "not randomly assigned" in said
    assert "least-filled" not in said


def test_orders_checks_pastes_and_screening_are_reported(researcher):
    task = factories.make_kind("short text", name="texts", shots=(2, 4))
    plain = factories.make_study(researcher, task, name="plain", try_the_tool=False)
    other = factories.make_study(
        researcher, task, name="other", annotation_order="file_order",
        training_order="file_order", refuse_pastes=True, exit_questionnaire=True,
    )  # fmt: skip
    fixed, free = wei(other), wei(plain)
    assert (fixed["3.1.1"].answer, free["3.1.1"].answer) == ("No", "Yes")
    assert "Seed" not in fixed["3.1.1"].evidence
    assert (fixed["3.2"].answer, free["3.2"].answer) == ("Yes", "Partial")
    for number in ("3.2.1", "3.5.1"):
        assert "Text could not be pasted" in whole(fixed[number])
        assert "Text could not be pasted" not in whole(free[number])
    assert "were not asked about AI" in whole(free["3.5.1"])
    assert "exit questionnaire asked about AI" in whole(fixed["3.5.1"])
    assert "try the tool" in whole(fixed["2.6.1"])
    assert "try the tool" not in whole(free["2.6.1"])
    mixed = wei(plain, annotation_order="file_order")
    assert mixed["3.1.1"].answer == "Partial"
    checked = wei(plain, attention_checks=2)
    assert checked["3.2"].answer == "Yes"
    assert "2 attention checks per annotator" in whole(checked["3.2.1"])
    assert checked["3.1"].answer == "6 to 8"
    rule = json.loads(plain.manifest)["qualification"] | {"rule": "minimum", "threshold": 50}
    screened = wei(plain, qualification=rule | {"screening_examples": 3})
    assert "screening examples" in whole(screened["3.1"])
    assert screened["2.3"].answer == "Yes"
    only_zero = factories.make_study(researcher, task, name="zero", shots=[0])
    assert wei(only_zero, qualification=rule)["2.3"].answer == "Partial"
    none = wei(only_zero)
    assert [none[n].answer for n in ("2.6", "2.6.1", "2.6.2", "2.6.2.1")] == [
        "No", "N/A", "N/A", "N/A",
    ]  # fmt: skip
    assert "No differences between shots are planned." in whole(none["1.8"])
    assert none["1.8.1"].answer == "No differences between shots are planned."


def test_an_instruction_against_ai_is_reported_if_the_consent_has_it(researcher):
    study = factories.make_study(researcher, factories.make_task())
    said = "Annotators agreed to a text that says: Please work alone, without"
    assert said in whole(wei(study)["3.5.1"])
    assert said not in whole(wei(study, consent_text="You agree.")["3.5.1"])
    german = {"interface_language": "de", "consent_text": default_consent("de")}
    assert "Bitte arbeiten Sie allein, ohne" in whole(wei(study, **german)["3.5.1"])
    assert said in whole(wei(study, interface_language="de")["3.5.1"])  # opened before translation


def test_refused_pastes_are_reported_only_for_typed_answers(researcher):
    labels = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, labels, refuse_pastes=True)
    assert wei(study)["3.2"].answer == "Partial"
    assert "pasted into" not in whole(wei(study)["3.5.1"])


def test_custom_questions_give_sample_facts_and_explanations(researcher):
    asked = (
        "native, before, choice: Is English your first language?\n- Yes\n- No\n\n"
        "why, after, text: Why did you answer as you did?"
    )
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=6, own_questions=asked
    )
    before = wei(study)
    assert (before["3.6"].answer, "free text: why." in before["3.6"].evidence) == ("Partial", True)
    assert before["5.1.1"].answer == "Partial"  # asked, but no cell can be shown
    for _person in range(6):
        seat = factories.join(study)
        consent.record(seat, agree=True)
        own_questions.answer(seat.token, "before", {"native": "Yes"})
        training_step.begin(seat.token)
        factories.work_through(seat)
    said = wei(study)["5.1.1"]
    assert "Is English your first language?" in said.evidence
    assert wei(study, "acl-d")["D5"].answer == "Yes"
    text_alone = factories.make_study(
        researcher, factories.make_task(name="other"), shots=[0],
        own_questions="why, before, text: Why?",
    )  # fmt: skip
    assert (wei(text_alone)["3.6"].answer, wei(text_alone)["5.1.1"].answer) == ("No", "No")


def test_answers_to_the_exit_questionnaire_are_counted(studies):
    study = studies["clues"]
    assert "answered by 0 of 12 participants who completed the study" in whole(wei(study)["2.5"])
    Study.objects.filter(pk=study.pk).update(status="open")
    assert "no answers yet" in whole(wei(Study.objects.get(pk=study.pk))["2.5"])
    assert wei(study)["5.1.4"].answer == "No"
    person = study.participations.filter(status=Status.COMPLETED).first()
    ExitAnswers.objects.create(participation=person, seen_before="yes", ai_used="no")
    assert "(exit questionnaire): yes 1" in whole(wei(study)["2.5"])
    assert wei(study)["5.1.4"].answer == "Partial"
    assert "no 1" in wei(study)["5.1.4"].evidence
    assert wei(studies["prolific"])["5.1.4"].evidence == "Not asked."


def test_manual_bonuses_and_pay_without_a_rate_are_reported(researcher):
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    assert wei(study)["2.7.2"].answer == "No"
    person = factories.seat(study.scenarios.get())
    factories.work_through(person)
    ledger.add_bonus(person, 250, "thorough", researcher)
    said = wei(study)
    assert (said["2.7.2"].answer, said["2.7.2.1"].answer) == ("Partial", "2.50 USD")
    assert (said["2.7.3"].answer, "awarded manually: 1" in said["2.7.3.1"].answer) == (
        "Partial",
        True,
    )
    fixed = factories.make_study(
        researcher, task, name="fixed", shots=[2], hourly_rate=0, base_reward="3.00"
    )
    said = wei(fixed)
    assert (said["2.6.2"].answer, said["2.7"].answer) == ("Partial", "Partial")
    assert said["2.7.3"].evidence == "The same amounts applied to all annotators."
    assert "Median" not in said["2.7.1"].answer


def test_without_results_nothing_is_claimed_of_them(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2])
    factories.predict(researcher, "m", study.tasks.get(), 0)
    said = wei(study)
    assert (said["1.1"].answer, said["1.3"].answer) == ("0", "none")
    assert (said["4.1"].answer, said["4.1.1"].answer) == ("No", "None.")
    assert (said["4.2"].answer, said["4.2.1"].answer) == ("No", "none yet")
    assert (said["4.6"].answer, said["5.1.3"].answer, said["5.1.5"].answer) == ("N/A", "No", "No")
    factories.work_through(factories.seat(study.scenarios.get(shots=0)))
    said = wei(study)
    assert (said["4.1"].answer, said["4.2"].answer) == ("No", "No")
    assert said["4.2.1"].answer == "Point estimate"
    assert "at least two human annotators" in said["4.1"].evidence


@pytest.mark.parametrize("examples", [1, 4])
def test_no_test_and_no_interval_is_claimed_if_none_could_be_computed(researcher, examples):
    task = factories.make_task(labels=factories.LABELS, test_size=examples)
    study = factories.make_study(researcher, task, shots=[0, 2])
    factories.predict(researcher, "m", task, 2, 1)
    for scenario in [*study.scenarios.all()] * 2:
        mistakes = five_studies.mistakes(int(examples == 1 and scenario.participations.exists()))
        factories.work_through(factories.seat(scenario), mistakes)
    rows = contrasts(findings.answered(study, Kind.PERSON), study.seed)
    assert [row.p == row.p for row in rows] == [False]
    said = wei(study)
    assert (said["4.1"].answer, said["4.1.1"].answer) == ("No", "None.")
    assert (said["4.2"].answer, said["4.2.1"].answer) == ("Partial", "Point estimate")
    assert "No mean has a 95 % interval" in said["4.2"].evidence


def test_a_contrast_with_ties_in_one_cell_only_is_tested(researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[0, 2])
    for number, scenario in enumerate([*study.scenarios.order_by("shots")] * 2):
        factories.work_through(factories.seat(scenario), five_studies.mistakes(int(number == 3)))
    rows = contrasts(findings.answered(study, Kind.PERSON), study.seed)
    assert Facts(study).tested_pairs == sum(row.p == row.p for row in rows) == 1
    assert wei(study)["4.2"].answer == "Yes"


def test_excluded_annotators_are_not_said_not_to_exist(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=1)
    person = factories.seat(study.scenarios.get())
    factories.work_through(person)
    person.refresh_from_db()
    exclusion.decide(person, False, "Asleep.", researcher)
    lifecycle.change_status(study, "close", researcher)
    pages = "human_performance", "analysis", "examples", "report"
    for page, show in [*((page, "") for page in pages), ("human_performance", "figures")]:
        address = reverse(page, args=[study.name], query={"show": show})
        text = " ".join(ada.get(address).content.decode().split())
        for words in ("No annotator has", "no annotator has", "No annotator completed"):
            assert words not in text, page
    said = wei(study)
    assert "No test answers are in the analysis" in said["5.1.3"].evidence
    assert said["4.6"].evidence.endswith("Completed, then excluded by a researcher: 1.")


def test_a_task_without_a_model_run_is_named(researcher):
    tasks = factories.make_task(), factories.make_task(name="other", test_size=7)
    study = factories.make_study(researcher, *tasks, shots=[2])
    factories.predict(researcher, "m", tasks[0], 2, 1)
    said = wei(study)["0.9"]
    assert (said.answer, "No model was run on other." in said.evidence) == ("4", True)
    factories.predict(researcher, "m", tasks[1], 2, 1)
    assert "No model was run on" not in wei(study)["0.9"].evidence


def test_models_of_another_team_are_not_named(researcher, other_researcher):
    task = factories.make_task()
    study = factories.make_study(researcher, task, shots=[2])
    factories.predict(other_researcher, "theirs", task, 2, 1)
    assert not [entry.number for entry in wei(study).values() if "theirs" in whole(entry)]
    factories.predict(researcher, "ours", task, 2, 1)
    said = wei(study)
    assert "ours" in said["0.9"].evidence
    assert not [entry.number for entry in said.values() if "theirs" in whole(entry)]


def test_several_files_of_a_model_give_several_outputs_per_item(researcher):
    task = factories.make_task(splits=2)
    study = factories.make_study(researcher, task, shots=[0, 2])
    for shots, number in ((0, None), (2, 1), (2, 2)):
        factories.predict(researcher, "m", task, shots, number)
    assert wei(study)["0.10"].answer == "1 to 2"


def test_added_seats_access_lists_and_ethics_board_are_reported(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=2, ethics_contact="Board 7"
    )
    said = wei(study)
    assert "2 seats planned in 1 scenario;" in said["1.1"].evidence
    assert "The consent page names: Board 7" in said["1.9"].evidence
    assert "least-filled" not in said["2.2"].evidence  # there is only one scenario
    lifecycle.add_seats(study.scenarios.get(), 1, researcher)
    told = "2 seats planned in 1 scenario, 1 added after the study was opened;"
    assert told in wei(study)["1.1"].evidence
    study.access_rules.create(effect="deny", criterion="task", value="toy", made_by=researcher)
    assert wei(study)["2.3"].answer == "Yes"
    other = factories.make_study(researcher, factories.make_task(name="o"), shots=[0])
    assert "names:" not in wei(other)["1.9"].evidence


def test_an_undrawn_part_of_a_test_set_is_not_called_random(researcher):
    task = factories.make_task(test_of=9)
    study = factories.make_study(researcher, task, shots=[0])
    said = wei(study)
    assert said["0.8"].answer == "9"
    assert "random" not in said["1.2.1"].answer
    assert "All readable test examples" in said["1.2.1"].answer


def test_an_annotator_taken_back_is_not_reported_as_excluded(studies, researcher):
    study = studies["multiple choice"]
    out = study.participations.get(status=Status.COMPLETED, in_analysis=False)
    other = study.participations.filter(scenario=out.scenario, in_analysis=True).first()
    exclusion.decide(other, False, "Also asleep.", researcher)
    assert "by a researcher with a reason: 2." in wei(study)["3.2.2"].evidence
    exclusion.decide(out, True, "Awake.", researcher)
    assert "by a researcher with a reason: 1." in wei(study)["3.2.2"].evidence


def test_instructions_of_external_models_come_from_an_answer(studies):
    study = studies["multiple choice"]
    same = wei(study, answers={"3.4": "Yes, word for word. 3 USD."})
    other = wei(study, answers={"3.4": "No: a prompt of their own, with the labels added."})
    assert (same["3.4"].answer, same["3.4.1"].answer) == ("Yes", "N/A")
    assert (other["3.4"].answer, other["3.4.1"].answer) == ("No", "Partial")
    assert other["3.3.2"].answer == "Partial"
    assert "3 USD." in same["1.7"].evidence
    assert checklists.as_latex(checklists.form_of(study, "wei-2025"))
