"""The sample table: what it counts and hides; only counts are stored."""

import csv
import io
import itertools
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.documents.blocks import Grid
from annotation.models import AuditEntry, ReportAnswer, Study, Submission, Worker
from annotation.monitoring import sample
from annotation.monitoring.sample import FEWEST, SMALL, WITHHELD
from annotation.privacy import withdrawal
from annotation.protocol import own_questions, training_step
from annotation.recruitment import consent
from annotation.recruitment.arrivals import submission_key
from annotation.recruitment.identities import worker_key
from tests import factories
from tests.analysis.documents.latex_reader import problems
from tests.analysis.documents.reports import block

pytestmark = pytest.mark.django_db
ASKED = """\
native, before, choice: Is English your first language?
- Yes
- No
- Rather not say

age, before, number: How old are you?

why, before, text: Why are you here?
"""
PEOPLE = 20


# Hiding -------------------------------------------------------------------------------------------


def possible(counts, marks) -> list[set[int]]:
    """Return the possible values of each hidden cell, given the visible cells and the total."""
    total = sum(n for n, mark in zip(counts, marks, strict=True) if mark)
    hidden = [mark for mark in marks if mark]
    unknown = len(set(marks)) == 1 and marks[0] == WITHHELD
    ranges = [
        range(total + 1)
        if unknown
        else range(FEWEST)
        if mark == SMALL
        else range(FEWEST, total + 1)
        for mark in hidden
    ]
    fits = [values for values in itertools.product(*ranges) if sum(values) == total]
    return [set(column) for column in zip(*fits, strict=True)]


@given(st.lists(st.integers(0, 14), min_size=2, max_size=4))
@example([20, 3])
@example([5, 0])
@example([4, 4, 30])
@example([0, 0, 30])
def test_no_hidden_cell_can_be_computed_from_the_others(counts):
    marks = sample.hidden(counts)
    assert all(mark for n, mark in zip(counts, marks, strict=True) if n < FEWEST)
    if sum(counts) >= FEWEST:
        assert all(n < FEWEST for n, mark in zip(counts, marks, strict=True) if mark == SMALL)
        assert all(len(values) > 1 for values in possible(counts, marks))


def test_nothing_is_hidden_where_every_cell_has_five():
    assert sample.hidden([5, 9, 12]) == ["", "", ""]


# Own questions ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(module_researcher):
    """20 people aged 21 to 40: 9 answer Yes, 8 No, 2 would rather not say, 1 doesn't answer."""
    study = factories.make_study(
        module_researcher, factories.make_task(), shots=[0], annotators=PEOPLE,
        own_questions=ASKED, title="Who they are",
    )  # fmt: skip
    given_ = ["Yes"] * 9 + ["No"] * 8 + ["Rather not say"] * 2 + [""]
    for number, native in enumerate(given_):
        seat = factories.join(study, identity=f"person-{number}")
        consent.record(seat, agree=True)
        answers = {"native": native, "age": str(21 + number), "why": "secret words"}
        own_questions.answer(seat.token, "before", answers)
        training_step.begin(seat.token)
        factories.work_through(seat)
    return study.pk


@pytest.fixture
def study(stored):
    return Study.objects.get(pk=stored)


def cells(study) -> dict[tuple[str, str], list[str]]:
    grid = block(study, "Sample", Grid)
    return {(row[0], row[1]): row[2:] for row in grid.rows}


NATIVE, AGE = "Is English your first language?", "How old are you?"


def test_choices_have_n_and_share_and_numbers_have_quartiles(study):
    shown = cells(study)
    assert shown[NATIVE, "Yes"] == ["19", "9", "47%", "–", "–"]
    assert shown[AGE, ""] == ["20", "20", "100%", "30.5", "25.75 to 35.25"]
    assert len(shown) == 4  # no row for the free text
    assert "secret words" not in json.dumps([list(row) for row in shown.values()])


def test_a_small_cell_is_hidden_and_cannot_be_computed(study):
    shown = cells(study)
    assert shown[NATIVE, "Rather not say"] == ["19", "<5", "–", "–", "–"]
    assert shown[NATIVE, "No"] == ["19", "withheld", "–", "–", "–"]
    for rows in (sample.own_rows(study),):
        hidden = [row for row in rows if row.hidden]
        assert len(hidden) == 2
        assert all(row.n is None and row.share is None for row in hidden)


@pytest.mark.long
def test_a_person_of_several_participations_is_counted_once(researcher):
    tasks = factories.make_task(), factories.make_task(name="other")
    study = factories.make_study(
        researcher,
        *tasks,
        shots=[0],
        annotators=6,
        tasks_per_worker=2,
        hourly_rate=0,
        own_questions=ASKED,
    )
    for number in range(12):
        seat = factories.join(study, identity=f"reader-{number % 6}")
        consent.record(seat, agree=True)
        own_questions.answer(seat.token, "before", {"age": "30"})
        training_step.begin(seat.token)
        factories.work_through(seat)
    (age,) = [row for row in sample.own_rows(study) if row.question == AGE]
    assert (age.n, age.median) == (6, 30)


def test_withdrawn_and_excluded_people_are_not_in_it(study):
    for person in study.participations.order_by("pk")[:2]:
        withdrawal.withdraw(person.token)
    assert cells(study)[NATIVE, "Yes"][0] == "17"


def test_a_study_without_questions_has_no_section(researcher):
    plain = factories.make_study(researcher, factories.make_task(name="plain"), shots=[0])
    assert sample.own_rows(plain) == []
    with pytest.raises(ValueError, match="unpack"):
        block(plain, "Sample", Grid)


@pytest.mark.long
def test_with_four_people_every_row_is_hidden(researcher):
    study = factories.make_study(
        researcher, factories.make_task(name="few"), shots=[0], annotators=4, own_questions=ASKED
    )
    for _number in range(4):
        seat = factories.join(study)
        consent.record(seat, agree=True)
        own_questions.answer(seat.token, "before", {"native": "Yes", "age": "30"})
        training_step.begin(seat.token)
        factories.work_through(seat)
    for row in sample.own_rows(study):
        assert (row.n, row.of, row.median) == (None, None, None)
        assert row.hidden


# The table in files -------------------------------------------------------------------------------


def test_the_sample_is_in_csv_json_latex_and_the_api(ada, researcher, study):
    text = ada.get(reverse("sample_file", args=[study.name, "csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert (rows[0]["answer"], rows[0]["n"], rows[0]["hidden"]) == ("Yes", "9", "")
    assert (rows[1]["answer"], rows[1]["n"], rows[1]["hidden"]) == ("No", "", "withheld")
    record = json.loads(ada.get(reverse("sample_file", args=[study.name, "json"])).content)
    assert record["rows"][3]["median"] == 30.5
    token = factories.bearer(researcher)
    assert ada.get(reverse("api_sample", args=[study.name]), headers=token).json() == record
    tex = ada.get(reverse("table_latex", args=[study.name, "sample"])).content.decode()
    assert problems(tex) == []
    assert r"\textless{}5" in tex
    assert ada.get(reverse("sample_file", args=[study.name, "pdf"])).status_code == 404


# Prolific's demographic export --------------------------------------------------------------------

HEADS = [
    "Submission id", "Participant id", "Status", "Time taken", "Age", "Sex", "Country of residence",
]  # fmt: skip


def export(rows, heads=HEADS) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([heads, *rows])
    return text.getvalue()


def line(number: int, **changes) -> list[str]:
    """Return the row of person `number` in Prolific's export."""
    own = {
        "Submission id": f"s{number}", "Participant id": f"p{number}", "Status": "APPROVED",
        "Time taken": "600", "Age": str(20 + number), "Sex": "Female" if number % 2 else "Male",
        "Country of residence": "Tuvalu" if number == 3 else "United Kingdom",
    }  # fmt: skip
    return [(own | changes)[head] for head in HEADS]


@pytest.fixture
def from_prolific(study):
    """The same people, as if they had come from Prolific."""
    for number, person in enumerate(study.participations.order_by("pk")):
        Worker.objects.filter(pk=person.worker_id).update(key=worker_key("prolific", f"P{number}"))
        Submission.objects.create(
            study=study, worker=person.worker, participation=person, platform="prolific",
            key=submission_key("prolific", f"s{number}"),
        )  # fmt: skip
    return study


def upload(client, study, text: str | bytes, name="export.csv"):
    data = text.encode() if isinstance(text, str) else text
    return client.post(
        reverse("sample_upload", args=[study.name]),
        {"csv": SimpleUploadedFile(name, data)},
    )


@pytest.mark.long
def test_the_demographic_export_is_stored_only_as_counts(ada, from_prolific):
    study = from_prolific
    rows = [line(n) for n in range(PEOPLE)]
    rows[7] = line(7, Age="DATA_EXPIRED", Sex="CONSENT_REVOKED")
    reply = upload(ada, study, "\ufeff" + export([*rows, line(99), line(98)]))
    assert reply.status_code == 302
    stored = ReportAnswer.objects.get(item="sample").text
    for words in ("Tuvalu", '"s3"', '"p3"', "DATA_EXPIRED", "APPROVED"):
        assert words not in stored
    shown = cells(study)
    assert shown["Sex", "Male"] == ["19", "10", "53%", "–", "–"]
    assert shown["Age", ""][:4] == ["19", "19", "100%", "30"]
    # One person lives elsewhere; neither the country nor the count can be inferred.
    assert shown["Country of residence", "other values"][1] == "<5"
    assert shown["Country of residence", "United Kingdom"][1] == "withheld"
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    assert "20 annotators in the analysis on that day; 2 other lines" in page
    log = AuditEntry.objects.latest("pk")
    assert "demographic export" in log.what
    assert "Female" not in json.dumps([log.before, log.after])
    answers = ada.get(reverse("api_report", args=[study.name])).json()["answers"]
    assert answers == {}


def test_people_match_by_participant_id_whatever_its_case(ada, from_prolific):
    place = HEADS.index("Participant id")
    heads = HEADS[1:]
    rows = [line(n)[1:] for n in range(PEOPLE)]
    rows[0][place - 1] = rows[0][place - 1].upper()
    assert upload(ada, from_prolific, export(rows, heads)).status_code == 302
    assert cells(from_prolific)["Sex", "Male"][1] == "10"


def test_the_first_submission_of_a_person_is_used(ada, from_prolific):
    rows = [line(n) for n in range(PEOPLE)]
    later = line(0, **{"Submission id": "s100", "Sex": "Female"})
    assert upload(ada, from_prolific, export([*rows, later])).status_code == 302
    assert cells(from_prolific)["Sex", "Male"][1] == "10"


@pytest.mark.long
def test_a_new_export_replaces_the_old_one_and_can_be_deleted(ada, from_prolific):
    for number in (PEOPLE, PEOPLE - 5):
        upload(ada, from_prolific, export([line(n) for n in range(number)]))
    assert cells(from_prolific)["Age", ""][0] == "15"
    address = reverse("sample_upload", args=[from_prolific.name])
    assert ada.post(address, {"action": "remove"}).status_code == 302
    assert not ReportAnswer.objects.exists()
    assert ("Age", "") not in cells(from_prolific)


WRONG = [
    ("", "Line 1: expected a column “Participant id”"),
    ("Age,Sex\n1,2\n", "Line 1: expected a column “Participant id”"),
    ("Participant id,Status\np1,x\n", "Line 1: no demographic column"),
    ("Participant id,Age,Age\np1,1,2\n", "Line 1: the column “Age” appears twice."),
    ("Participant id,Age\n", "Line 2: the file contains no submissions."),
    ("Participant id,Age\np1,30\np2\n", "Line 3: expected 2 cells, as in line 1."),
    ("Participant id,Age\np1,30,x\n", "Line 2: expected 2 cells, as in line 1."),
    ("Participant id,Age\np1,old\n", "Line 2, column Age: “old” is not an age"),
    ('Participant id,Age\n"p1"x,30\n', "Line 2: not valid CSV"),
    ("Participant id,Age\nother,30\n", "None of the 1 submissions"),
    (b"Participant id,Age\np1,\xff\n", "The file is not UTF-8 (byte 23)"),
]


@pytest.mark.long
@pytest.mark.parametrize(("text", "problem"), WRONG)
def test_an_unreadable_export_has_its_error_at_the_field(ada, from_prolific, text, problem):
    reply = upload(ada, from_prolific, text or " ")
    assert reply.status_code == 422
    field = reply.context["sample_form"]["csv"]
    assert problem in field.errors[0]
    assert "aria-invalid" in str(field)
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_a_program_uploads_and_deletes_the_export(ada, researcher, from_prolific):
    address = reverse("api_sample", args=[from_prolific.name])
    token = factories.bearer(researcher, "run")

    def send(**body):
        return ada.post(address, body, "application/json", headers=token)

    refused = send(csv="Participant id,Age\np1,old\n")
    assert (refused.status_code, "Line 2" in refused.json()["fields"]["csv"][0]) == (422, True)
    assert send().status_code == 422
    assert send(action="burn").status_code == 422
    done = send(csv=export([line(n) for n in range(PEOPLE)]))
    assert (done.status_code, done.json()["done"][:8]) == (200, "Read: 20")
    assert cells(from_prolific)["Age", ""][0] == "20"
    assert send(action="remove").status_code == 200
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_a_larger_file_is_refused(ada, from_prolific):
    reply = upload(ada, from_prolific, b"x" * (sample.LARGEST_EXPORT + 1))
    assert reply.status_code == 422
    assert "at most 2 MB" in reply.context["sample_form"]["csv"].errors[0]


@pytest.mark.long
def test_people_out_of_the_analysis_are_not_counted(ada, from_prolific):
    out = from_prolific.participations.order_by("pk").first()
    withdrawal.withdraw(out.token)
    upload(ada, from_prolific, export([line(n) for n in range(PEOPLE)]))
    assert cells(from_prolific)["Age", ""][0] == "19"
