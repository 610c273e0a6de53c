"""If a design allows programs in people's seats, every page and file with results says so."""

import csv
import json

import pytest
from django.urls import reverse

from analysis.cross_task import cross_task
from analysis.export.files import write_export, write_sums
from analysis.export.verify import main
from analysis.figures import data as figures
from analysis.scores import marks, sensitivity
from annotation.models import Arm, Kind, Status, Study
from annotation.study import lifecycle
from tests import factories
from tests.analysis import five_studies
from tests.annotation.participation import both_doors
from tests.annotation.protocol.test_people_use_pages import go_through
from tests.annotation.study.test_cross_task import make_cross_task

SAYS = "Programs answered through the API for 1 of 3 humans in the analysis."


@pytest.fixture(scope="module")
def stored(module_researcher):
    """At two shots, two people use the pages, and a program sends the answers of a third."""
    study = both_doors.make_study(
        module_researcher, factories.make_task(), name="mixed", shots=[2], annotators=3
    )
    (scenario,) = study.scenarios.all()
    for _person in range(2):
        factories.work_through(
            factories.seat(scenario), lambda turn: [turn.example.context[0].split()[0]]
        )
    go_through(both_doors.Api(), study)
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def export(study, tmp_path):
    write_export(study, tmp_path / "export")
    return tmp_path / "export"


def rows_of(folder, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_it_counts_analysed_people_with_an_answer_by_the_api(study):
    assert marks.programs_mark(study) == SAYS
    assert marks.program_counts(study) == {("toy-places", 2): 1}
    (program,) = marks.by_program(study)
    program.in_analysis, program.seat_number = False, None
    program.save()
    assert marks.sentences(study) == []


def test_one_answer_by_the_api_counts_as_by_program(researcher):
    study = both_doors.make_study(researcher, factories.make_task(), shots=[2])
    seat = both_doors.seat(both_doors.Pages(), study)
    turn = seat.latest_turn()
    both_doors.Api().answer(seat.token, turn.pk, factories.fields_for(turn.example, ["home"]))
    factories.go_on(seat.token)
    factories.work_through(seat)
    assert "for 1 of 1 humans" in marks.programs_mark(study)


def answer_by_api(study: Study, name: str = "") -> None:
    """Take the next task as a person whose first answer is sent by a program."""
    seat = five_studies.come(study, name)
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, factories.right_texts(turn.example))
    both_doors.Api().answer(seat.token, turn.pk, fields)
    factories.go_on(seat.token)
    factories.work_through(seat)


@pytest.mark.long
def test_a_person_with_two_tasks_by_a_program_counts_once(ada, researcher):
    tasks = factories.make_task(), factories.make_task(name="other")
    study = both_doors.make_study(researcher, *tasks, shots=[2], tasks_per_worker=2)
    answer_by_api(study, "ida")
    answer_by_api(study, "ida")
    for _task in tasks:
        five_studies.complete(study, "bo")
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "Programs answered through the API for 1 of 2 humans in the analysis." in page


@pytest.mark.long
def test_no_cells_without_programs_are_announced_if_none_has_any(ada, researcher):
    study = make_cross_task(researcher, annotators=1, programs_as_people=True)
    lifecycle.change_status(study, "open")
    while not study.participations.filter(scenario__arm=Arm.UPSTREAM).exists():
        answer_by_api(study)
    study.participations.exclude(scenario__arm=Arm.UPSTREAM).update(
        in_analysis=False, seat_number=None
    )
    page = ada.get(reverse("human_performance", args=[study.name])).content.decode()
    assert "Programs answered through the API for 1 of 1 humans in the analysis." in page
    assert "The sensitivity analysis shows the results without them." not in page


@pytest.mark.long
def test_gains_without_programs_follow_the_gains(researcher):
    study = make_cross_task(researcher, programs_as_people=True)
    lifecycle.change_status(study, "open")
    answer_by_api(study)
    for _other in range(11):
        five_studies.complete(study)
    sentences = list(cross_task.sentences(study, Kind.PERSON))
    without = [text for text in sentences if text.startswith("Without humans for whom a program")]
    assert len(without) == len(sentences) / 2 == 3
    assert all("4 and 4 annotators" in text for text in sentences if text not in without)
    assert sum("3 and 4" in text or "4 and 3" in text for text in without) == 2


def test_models_and_simulated_annotators_are_not_counted(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], rehearsal=True)
    study.programs_as_people = True
    for kind in (Kind.SIMULATED, Kind.MODEL):
        seat = factories.seat(study.scenarios.get(), kind)
        factories.work_through(seat)
        assert seat.kind == kind
    assert marks.programs_mark(study) == ""


PAGES = [
    "human_performance", "training", "analysis", "sensitivity", "figures", "study_models",
    "leaderboard", "study_differences", "examples", "gold_audit", "latex", "report", "study",
]  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_every_page_with_results_marks_answers_by_program(ada, study, name):
    page = ada.get(reverse(name, args=[study.name]), follow=True).content.decode()
    assert SAYS in page


@pytest.mark.long
def test_a_study_without_programs_has_no_mark(ada, researcher):
    study = both_doors.make_study(researcher, factories.make_task(), shots=[2])
    factories.work_through(factories.seat(study.scenarios.get()))
    for name in PAGES:
        page = ada.get(reverse(name, args=[study.name]), follow=True).content.decode()
        assert "answered through the API for" not in page


@pytest.mark.long
def test_latex_and_report_mark_answers_by_program(ada, study):
    for name, args in (
        ("api_table_latex", [study.name, "human-performance"]),
        ("api_table_latex", [study.name, "intervals"]),
        ("api_report_text", [study.name]),
    ):
        assert SAYS in " ".join(ada.get(reverse(name, args=args)).content.decode().split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "items"), [("wei-2025", {"1.1"}), ("acl-d", {"D"}), ("neurips-14-15", {"14"})]
)
def test_every_checklist_has_the_number_of_programs(ada, study, form, items):
    texts = {
        ext: ada.get(reverse("checklist_file", args=[study.name, form, ext])).content.decode()
        for ext in ("tex", "json")
    }
    assert texts["tex"].count(SAYS) == 1
    read = json.loads(texts["json"])["items"]
    assert {item["number"] for item in read if SAYS in item["evidence"]} == items


@pytest.mark.parametrize("name", ["shots", "models", "learning", "drift"])
def test_every_figure_has_the_mark_in_caption_and_picture(study, name):
    figure = figures.figure(study, "person", name)
    assert SAYS in figure.caption
    assert SAYS in figure.description
    assert " ".join(figure.spec["title"]) == SAYS
    assert max(map(len, figure.spec["title"])) <= 44
    assert json.loads(figure.json)["title"] == figure.spec["title"]


@pytest.mark.long
@pytest.mark.parametrize("width", ["", "single", "double"])
def test_a_picture_for_a_paper_contains_the_mark(study, width):
    picture = figures.picture(figures.figure(study, "person", "shots"), "svg", width).decode()
    for line in figures.figure(study, "person", "shots").spec["title"]:
        assert line in picture


def test_a_comparison_names_the_study_with_the_mark(ada, study, researcher):
    other = both_doors.make_study(
        researcher, study.tasks.get(), name="pages-only", title="Only pages", shots=[2]
    )
    factories.work_through(factories.seat(other.scenarios.get()))
    address = f"{reverse('compare')}?study={study.name}&study={other.name}"
    page = ada.get(address).content.decode()
    assert f"A small study: {SAYS}" in page
    assert "Only pages: Programs" not in page


def test_sensitivity_has_a_row_without_answers_by_program(ada, study):
    rows = {row.rule: row for row in sensitivity.table(study, "person")}
    assert (rows["reported"].n, rows["by_page"].n) == (3, 2)
    assert rows["by_page"].mean < rows["reported"].mean
    assert rows["none_of_these"].n <= 2
    page = ada.get(reverse("sensitivity", args=[study.name]), follow=True).content.decode()
    assert "without people for whom a program answered" in page


def test_sensitivity_has_no_such_row_without_programs(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    factories.work_through(factories.seat(study.scenarios.get()))
    assert "by_page" not in {row.rule for row in sensitivity.table(study, "person")}


@pytest.mark.long
def test_the_export_names_the_channel_of_each_row_and_verifies(export, study):
    by = {}
    for row in rows_of(export, "answers.csv"):
        assert row["shown_channel"] == row["channel"]
        by.setdefault(row["annotator"], set()).add(row["channel"])
    assert sorted(map(sorted, by.values())) == [["api"], ["page"], ["page"]]
    (row,) = rows_of(export, "human_performance.csv")
    assert (row["n"], row["by_program"]) == ("3", "1")
    rules = {row["rule"]: row["n"] for row in rows_of(export, "sensitivity.csv")}
    assert rules["by_page"] == "2"
    assert SAYS in (export / "README.md").read_text()
    assert main(export) == 0


def alter(folder, name: str, column: str, value: str, first: int = 1000) -> None:
    """Replace the first `first` values of a column, and rewrite the checksums."""
    rows = rows_of(folder, name)
    for row in [row for row in rows if row[column]][:first]:
        row[column] = value
    with (folder / name).open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)
    write_sums(folder)


@pytest.mark.long
def test_verify_rejects_a_program_in_a_study_limited_to_pages(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    folder = tmp_path / "export"
    write_export(study, folder)
    assert main(folder) == 0
    # This person hasn't completed, so no table and no mark changes.
    alter(folder, "answers.csv", "shown_channel", "api", first=1)
    assert main(folder) == 1


def test_the_list_of_people_and_the_api_say_by_which_channel(ada, study):
    page = ada.get(reverse("people", args=[study.name])).content.decode()
    assert page.count("answered by a program") == 1
    rows = ada.get(reverse("api_answers", args=[study.name])).json()["results"]
    (seat,) = marks.by_program(study)
    assert seat.status == Status.COMPLETED
    for row in rows:
        channel = "api" if row["annotator"] == seat.pseudonym else "page"
        assert (row["shown_channel"], row["channel"]) == (channel, channel)
