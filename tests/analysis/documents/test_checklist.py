"""The checklists have every item of the forms, and use the answers in the short form."""

import json
import re

import pytest
from django.urls import reverse

from analysis.documents import checklists
from analysis.documents.checklists import FORMS, short_form
from analysis.documents.checklists.short_form import Status
from annotation.models import ReportAnswer, Study
from tests import factories
from tests.analysis.documents.latex_reader import problems
from tests.analysis.documents.reports import items, make_study

# The items of the published form in order (10, 12, 18, 13, 8 and 10); its 5.1 is a heading.
FORM = """
0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.10
1.1 1.2 1.2.1 1.3 1.4 1.5 1.6 1.7 1.8 1.8.1 1.9 1.10
2.1 2.1.1 2.2 2.3 2.3.1 2.3.2 2.4 2.5 2.6 2.6.1 2.6.2 2.6.2.1
2.7 2.7.1 2.7.2 2.7.2.1 2.7.3 2.7.3.1
3.1 3.1.1 3.2 3.2.1 3.2.2 3.3 3.3.1 3.3.2 3.4 3.4.1 3.5 3.5.1 3.6
4.1 4.1.1 4.2 4.2.1 4.3 4.4 4.5 4.6
5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2 5.2.1 5.2.2 5.3 5.4
"""
# Items for which the form offers Yes, Partial, No, Unknown and N/A.
STATUSES = """
1.5 1.6 1.7 1.8 1.9 1.10 2.1 2.3 2.4 2.5 2.6 2.6.2 2.7 2.7.2 2.7.3
3.2 3.3 3.3.2 3.4 3.4.1 3.5 3.5.1 3.6 4.1 4.2 4.3 4.4 4.5 4.6
5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2 5.2.1 5.3 5.4
"""
NUMBERS, BY_STATUS = FORM.split(), STATUSES.split()
CHOSEN = ["0.5", "0.6", "2.1.1", "2.2", "4.2.1"]


@pytest.fixture(scope="module")
def stored(module_researcher):
    return make_study(module_researcher).pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def answer(study, **fields):
    """Store answers of the short form, keyed by field: n19 is item 1.9, n110 is item 1.10."""
    for name, text in fields.items():
        item = f"{name[1]}.{name[2:].replace('_', '.')}" if name[1].isdigit() else name
        ReportAnswer.objects.update_or_create(
            study=study, item=item, defaults={"text": text, "by": study.owner}
        )


def entries(study, form="wei-2025") -> dict:
    return {entry.number: entry for entry in checklists.form_of(study, form).entries}


# The forms ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_all_71_items_are_there_in_the_order_of_the_form(study):
    form = checklists.form_of(study, "wei-2025")
    assert [entry.number for entry in form.entries] == NUMBERS
    assert len(NUMBERS) == 71
    assert list(items(study)) == NUMBERS


def test_each_item_has_the_kind_of_reply_of_the_form(study):
    kinds = {entry.number: entry.reply for entry in checklists.form_of(study, "wei-2025").entries}
    assert [number for number in NUMBERS if kinds[number] == "status"] == BY_STATUS
    assert [number for number in NUMBERS if kinds[number] == "choices"] == CHOSEN
    assert [number for number in NUMBERS if kinds[number] == "checkbox"] == ["3.3.1"]
    for name in FORMS:
        for entry in checklists.form_of(study, name).entries:
            assert entry.answer.strip(), entry.number
            if entry.reply == "status":
                assert entry.answer in list(Status), entry.number


def test_venue_forms_answer_each_item_yes_no_or_not_applicable(study):
    answer(study, n19="Partial: two of three boards")
    acl, neurips = entries(study, "acl-d"), entries(study, "neurips-14-15")
    assert list(acl) == ["D", "D1", "D2", "D3", "D4", "D5"]
    assert list(neurips) == ["14", "15"]
    assert {entry.answer for entry in (*acl.values(), *neurips.values())} <= {"Yes", "No", "N/A"}
    assert (acl["D4"].answer, neurips["15"].answer) == ("Yes", "Yes")


def test_without_people_the_forms_of_venues_do_not_apply(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    assert entries(study, "acl-d")["D"].answer == "No"
    assert {e.answer for n, e in entries(study, "acl-d").items() if n != "D"} == {"N/A"}
    assert {e.answer for e in entries(study, "neurips-14-15").values()} == {"N/A"}


# The short form -----------------------------------------------------------------------------------


@pytest.mark.long
def test_short_form_has_twelve_fields_and_items_link_to_them(ada, study):
    assert len(short_form.FIELDS) == 12
    used = {entry.field for name in FORMS for entry in checklists.form_of(study, name).entries}
    assert used - {""} == set(short_form.FIELDS)
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    for field in short_form.FIELDS:
        assert page.count(f'id="item-{field}"') == 1
        assert f'href="#item-{field}"' in page


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", "Unknown"), ("Board 7, no. 12", "Yes"), ("Yes. Board 7", "Yes"),
        ("Partial: exempted in part", "Partial"), ("no, there is none", "No"),
        ("None was asked", "No"), ("N/A", "N/A"), ("Unknown", "Unknown"),
        ("No. 12 of Board 7", "Yes"), ("Notes on the board", "Yes"),
    ],
)  # fmt: skip
def test_the_first_word_of_an_answer_is_the_status_of_its_item(study, said, expected):
    answer(study, n19=said)
    assert entries(study)["1.9"].answer == expected


def test_one_answer_of_the_short_form_fills_several_items(study):
    answer(
        study, paper="link: https://example.org/p\nyear: 2026\nvenue: TACL\ntype: Agent, knowledge",
        n52="data: https://osf.example/1\n materials: on request\npreregistration: https://osf/2",
        n19="Board 7", criteria="age, other", n22="Stratified: by age", title="A paper",
    )  # fmt: skip
    known = entries(study)
    said = {number: known[number].answer for number in NUMBERS}
    assert [said[f"0.{n}"] for n in range(1, 6)] == [
        "A paper", "https://example.org/p", "2026", "TACL", "Knowledge, Agent",
    ]  # fmt: skip
    assert (said["1.10"], said["5.2"], said["5.2.1"], said["5.3"]) == ("Yes",) * 4
    assert (said["5.4"], said["5.2.2"]) == ("Partial", "N/A")
    assert said["2.1.1"] == "Age, Other"
    assert said["2.2"] == "Stratified random sample"
    assert "Board 7." in entries(study, "acl-d")["D4"].evidence
    assert "Board 7." in entries(study, "neurips-14-15")["15"].evidence


def test_data_that_are_not_public_need_a_reason(study):
    answer(study, n52="data: No, because the texts are private.")
    known = entries(study)
    assert (known["5.2"].answer, known["5.2.1"].answer) == ("No", "N/A")
    assert known["5.2.2"].answer == "No, because the texts are private."
    assert known["5.4"].answer == "Unknown"


@pytest.mark.long
@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("5.2", "somewhere", "Line 1: start with one of “preregistration:”, “data:”"),
        ("5.2", "data: a\ndata: b", "Line 2: “data:” appears twice."),
        ("paper", "year: 26", "“year: 26”: enter four digits"),
        ("paper", "type: wit", "“type: wit”: enter one or more of knowledge"),
        ("criteria", "age, height", "“height” is not a choice. Choices: expertise"),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_at_its_field(
    ada, study, researcher, field, text, problem
):
    address = reverse("report", args=[study.name])
    reply = ada.post(address, {f"item-{field}": text.split(", ") if "," in text else text})
    assert reply.status_code == 422
    (asked,) = [f for f in reply.context["short_form"] if f["name"] == field]
    assert problem in asked["wrong"]
    assert f'id="item-{field}_error"' in reply.content.decode()
    told = ada.post(
        reverse("api_report", args=[study.name]), {field: text}, "application/json",
        headers=factories.bearer(researcher, "run"),
    )  # fmt: skip
    assert (told.status_code, problem in told.json()["fields"][field][0]) == (422, True)
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_an_answer_can_be_stored_shown_changed_and_removed(ada, researcher, study):
    address = reverse("report", args=[study.name])
    reply = ada.post(address, {"item-1.9": "Board 7, <b>no 12</b>", "item-2.4": ""})
    assert reply.status_code == 302
    stored = ReportAnswer.objects.get()
    assert (stored.item, stored.text, stored.by) == ("1.9", "Board 7, <b>no 12</b>", researcher)
    reply = ada.get(address)
    page = reply.content.decode()
    assert "Board 7, &lt;b&gt;no 12&lt;/b&gt;" in page
    assert "<b>no 12" not in page
    assert "Board 7" in ada.get(reverse("report_file", args=[study.name])).content.decode()
    ada.post(address, {"item-1.9": "Board 8", "versions": reply.context["answers_versions"]})
    assert ReportAnswer.objects.get().text == "Board 8"
    versions = ada.get(address).context["answers_versions"]
    ada.post(address, {"item-1.9": " ", "versions": versions})
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_selected_criteria_are_stored_and_can_be_cleared(ada, study):
    address = reverse("report", args=[study.name])
    assert ada.post(address, {"item-criteria": ["", "age", "language"]}).status_code == 302
    reply = ada.get(address)
    page = reply.content.decode()
    assert len(re.findall(r'name="item-criteria" value="\w+" checked', page)) == 2
    assert "2.1.1 Characteristics of that population: Language, Age" in page
    versions = reply.context["answers_versions"]
    ada.post(address, {"item-criteria": [""], "versions": versions})
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_two_tabs_cannot_overwrite_each_others_answer(ada, study):
    address = reverse("report", args=[study.name])
    versions = ada.get(address).context["answers_versions"]
    ada.post(address, {"item-1.9": "Board 7", "item-2.4": "", "versions": versions})
    reply = ada.post(address, {"item-1.9": "none", "item-2.4": "No.", "versions": versions})
    assert reply.status_code == 409
    page = reply.content.decode()
    assert "item 1.9, now “Board 7”" in page
    assert ">none</textarea>" in page
    assert ReportAnswer.objects.get().text == "Board 7"
    again = {"item-1.9": "none", "versions": reply.context["answers_versions"]}
    assert ada.post(address, again).status_code == 302
    assert ReportAnswer.objects.get().text == "none"


@pytest.mark.long
def test_a_concurrent_edit_of_another_item_is_not_overwritten(ada, study):
    address = reverse("report", args=[study.name])
    versions = ada.get(address).context["answers_versions"]
    ada.post(address, {"item-1.9": "Board 7", "item-2.4": "", "versions": versions})
    ada.post(address, {"item-1.9": "", "item-2.4": "No.", "versions": versions})
    stored = dict(ReportAnswer.objects.values_list("item", "text"))
    assert stored == {"1.9": "Board 7", "2.4": "No."}


def test_items_that_are_not_asked_are_not_stored(ada, study):
    ada.post(reverse("report", args=[study.name]), {"item-1.1": "x", "item-9": "x"})
    assert not ReportAnswer.objects.exists()


@pytest.mark.long
def test_an_answer_too_long_is_refused_and_stays_in_its_field(ada, study):
    sent = {"item-1.9": "short", "item-2.4": "y" * 5001}
    reply = ada.post(reverse("report", args=[study.name]), sent)
    assert reply.status_code == 422
    page = reply.content.decode()
    assert "Keep the answer under 5000 characters." in page
    assert ">short</textarea>" in page
    assert not ReportAnswer.objects.exists()


# Files --------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", list(FORMS))
def test_each_form_is_a_file_of_latex_and_of_json_in_its_order(ada, study, name):
    answer(study, n19="Board_7 & 50% {x} \\end{document}", n21="[all] adults in 大阪")
    numbers = [entry.number for entry in checklists.form_of(study, name).entries]
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    addresses = {ext: reverse("checklist_file", args=[study.name, name, ext]) for ext in FILES}
    assert all(f'href="{address}"' in page for address in addresses.values())
    text = ada.get(addresses["tex"]).content.decode()
    assert problems(text) == []
    assert re.findall(r"^\\item\[(.+?)\]", text, re.MULTILINE) == numbers
    assert r"Board\_7 \& 50\% \{x\} \textbackslash{}end\{document\}" in text
    record = json.loads(ada.get(addresses["json"]).content)
    assert [item["number"] for item in record["items"]] == numbers


FILES = ("tex", "json")


def test_an_unknown_form_and_a_draft_have_no_checklist_file(ada, researcher, study):
    draft = factories.make_study(researcher, factories.make_task(name="x"), status="draft")
    for args in ([study.name, "wei-2025", "pdf"], [study.name, "other", "json"],
                 [draft.name, "wei-2025", "json"]):  # fmt: skip
        assert ada.get(reverse("checklist_file", args=args)).status_code == 404
