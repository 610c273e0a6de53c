"""Figures show the data that was answered, or a reason why nothing is drawn."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import altair as alt
import pytest
from django.urls import reverse

from analysis.figures import data as figure_data
from analysis.scores import performance
from annotation.models import Kind, Study
from annotation.protocol import attention_checks
from tests import factories

ROOT = Path(__file__).parents[3]

NAMES = ["shots", "learning", "drift"]


@pytest.fixture(scope="module")
def stored(module_researcher):
    """At 0 and 10 shots, one annotator is always right and one always answers "no answer"."""
    task = factories.make_task(shots=(2, 10), test_size=6)
    study = factories.make_study(module_researcher, task, shots=[0, 10], annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def rows_of(client, study, figure: str, **asked) -> list[dict[str, str]]:
    reply = client.get(reverse("figure_file", args=[study.name, figure, "csv"]), asked)
    return list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))


def annotators_of(client, study, **asked) -> list[dict[str, str]]:
    """Return the rows behind the shot curve that are about single annotators."""
    return [row for row in rows_of(client, study, "shots", **asked) if row["annotator"]]


def spec_of(client, study, figure: str, **asked) -> dict:
    reply = client.get(reverse("figure_file", args=[study.name, figure, "json"]), asked)
    assert reply["Content-Type"] == "application/json"
    return json.loads(reply.content)


def marks(spec: dict) -> list[dict]:
    return [layer["encoding"] for layer in spec["spec"]["layer"]]


def test_the_shot_curve_shows_the_means_of_the_table(ada, study):
    cells = performance.performance(study).cells
    means = [row for row in rows_of(ada, study, "shots") if row["what"] == "mean"]
    assert len(means) == 2
    for row in means:
        cell = cells[row["task"], int(row["shots"])]
        assert float(row["score"]) == pytest.approx(cell.mean / 100)
        assert row["metric"] == "S1"
        assert int(row["n"]) == cell.n
        # "No answer" is right on two of the six examples.
        assert float(row["baseline"]) == pytest.approx(1 / 3)
        # The interval around 100 and 33.3 is wider than the possible range of S1, so it is cut.
        assert (float(row["low_95"]), float(row["high_95"])) == (0, 1)


def test_the_figure_has_a_point_for_each_annotator(ada, study):
    people = [row for row in rows_of(ada, study, "shots") if row["what"] == "annotator"]
    assert len(people) == 4
    assert {round(float(row["score"]), 6) for row in people} == {1, 0.333333}


@pytest.mark.long
def test_one_annotator_has_no_interval(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    (mean,) = [row for row in rows_of(ada, study, "shots") if row["what"] == "mean"]
    assert (mean["low_95"], mean["high_95"]) == ("", "")
    assert spec_of(ada, study, "shots")


@pytest.mark.long
def test_the_learning_curve_follows_each_annotators_order(ada, researcher):
    task = factories.make_task(shots=(10,))
    study = factories.make_study(researcher, task, shots=[10], annotators=1)
    # The first five answers are wrong, and the rest are right.
    seat = factories.seat(study.scenarios.get())
    factories.work_through(
        seat, lambda turn: ["train"] if turn.position < 5 else list(turn.example.gold), limit=10
    )
    factories.work_through(seat)
    rows = rows_of(ada, study, "learning")
    means = [row for row in rows if row["what"] == "mean"]
    assert [float(row["s1"]) for row in means] == [0, 1]
    assert [(row["first"], row["last"]) for row in means] == [("1", "5"), ("6", "10")]


SCORES = {"s1", "score", "low", "high", "baseline"}  # drawn x 100
RENAMED = {"low": "low_95", "high": "high_95", "who": "name"}


@pytest.mark.long
@pytest.mark.parametrize("figure", NAMES)
def test_the_csv_is_the_data_of_the_figure(ada, study, figure):
    (drawn,) = spec_of(ada, study, figure)["datasets"].values()
    rows = rows_of(ada, study, figure)
    assert {row["kind"] for row in rows} == {"person"}
    assert len(drawn) == len(rows) > 0
    for mark, row in zip(drawn, rows, strict=True):
        for name, value in mark.items():
            text = row[RENAMED.get(name, name)]
            if value is None:
                assert text == ""
            elif isinstance(value, str):
                assert text == value
            else:
                scale = 100 if name in SCORES else 1
                assert scale * float(text) == pytest.approx(value)


@pytest.mark.long
@pytest.mark.parametrize("figure", NAMES)
def test_each_specification_matches_the_vega_lite_schema(ada, study, figure):
    alt.FacetChart.from_dict(spec_of(ada, study, figure), validate=True)


@pytest.mark.long
def test_the_figures_page_reads_no_answers_for_deferred_content(
    ada, study, django_assert_max_num_queries
):
    with django_assert_max_num_queries(21) as seen:
        page = reverse("human_performance", args=[study.name], query={"show": "figures"})
        assert ada.get(page).status_code == 200
    read = [query["sql"] for query in seen.captured_queries if "annotation_answer" in query["sql"]]
    counted = [sql for sql in read if "COUNT(*)" in sql and "LIMIT 3001" in sql]
    assert len(counted) == 1  # are there few answers?
    assert len(read) <= 5
    assert all("LIMIT 1" in sql for sql in read if sql not in counted)  # is there any answer?


@pytest.mark.parametrize("figure", ["learning", "drift"])
def test_groups_are_distinguishable_without_colour(ada, study, figure):
    spec = spec_of(ada, study, figure)
    for channel in ("strokeDash", "shape"):
        (encoding,) = [layer[channel] for layer in marks(spec) if channel in layer]
        assert encoding["scale"]["domain"] == [0, 10]
        looks = [json.dumps(look) for look in encoding["scale"]["range"]]
        assert len(set(looks)) == 2


def test_a_group_has_the_same_style_in_every_figure(ada, study):
    # The learning curve omits the group at 0 shots, but the group at 10 keeps its style.
    looks = [
        next(layer["shape"]["scale"] for layer in marks(spec) if "shape" in layer)
        for spec in (spec_of(ada, study, name) for name in ("learning", "drift"))
    ]
    assert looks[0] == looks[1]


@pytest.mark.long
def test_no_drift_is_drawn_where_all_met_the_order_of_the_file(ada, researcher):
    task = factories.make_task()
    study = factories.make_study(researcher, task, annotators=1, annotation_order="file_order")
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert "saw the test examples in file order" in page
    assert page.count("<vega-figure") == 2  # humans and models need a model, too
    for name, *rest in (
        ("figure_file", "drift", "json"), ("figure_numbers", "drift"), ("figure_table", "drift"),
    ):  # fmt: skip
        assert ada.get(reverse(name, args=[study.name, *rest])).status_code == 404


@pytest.mark.long
def test_drift_is_drawn_if_contexts_are_kept_together(ada, researcher):
    task = factories.make_task()
    study = factories.make_study(
        researcher, task, annotators=1, annotation_order="contexts_together"
    )
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    assert rows_of(ada, study, "drift")


def test_a_training_in_file_order_is_stated(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], annotators=1, training_order="file_order"
    )
    factories.work_through(factories.seat(study.scenarios.get()))
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert "a slope may reflect differences in their difficulty" in page


def test_without_models_the_page_says_what_to_add(ada, researcher, study):
    address = reverse("human_performance", args=[study.name], query={"show": "figures"})
    file = reverse("figure_file", args=[study.name, "models", "json"])
    without = ada.get(address).content.decode()
    assert figure_data.NO_MODELS in without
    assert file not in without
    assert ada.get(file).status_code == 200  # files and the API keep it
    factories.predict(researcher, "toy", study.tasks.get(), 0)
    with_models = ada.get(address).content.decode()
    assert figure_data.NO_MODELS not in with_models
    assert file in with_models


def test_a_study_of_zero_shots_has_no_learning_curve(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert "so there is no training step" in page
    assert page.count("<vega-figure") == 2  # humans and models need a model, too


@pytest.mark.long
@pytest.mark.parametrize(
    ("status", "words"), [("draft", "Open the study"), ("open", "share its link")]
)
def test_an_empty_study_says_what_to_do_next(ada, researcher, status, words):
    study = factories.make_study(researcher, factories.make_task(), status=status)
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert page.count("No annotator in the analysis has completed this study yet") == 1
    assert words in page
    assert "<vega-figure" not in page


@pytest.mark.long
def test_an_excluded_annotator_is_in_no_figure(ada, study):
    assert len(annotators_of(ada, study)) == 4
    out = study.participations.first()
    out.in_analysis, out.seat_number = False, None
    out.save()
    assert len(annotators_of(ada, study)) == 3
    for name in NAMES:
        assert out.pseudonym not in json.dumps(rows_of(ada, study, name))


def test_swapping_two_exclusions_changes_the_figures(ada, study):
    """The swap keeps the numbers of annotators and answers, so counting would miss it."""
    first, second = study.participations.filter(scenario__shots=0)
    shown = []
    for out, back in ((first, second), (second, first)):
        out.in_analysis, out.seat_number = False, None
        out.save()
        back.in_analysis, back.seat_number = True, 1
        back.save()
        (mean,) = [
            row
            for row in rows_of(ada, study, "shots")
            if row["what"] == "mean" and row["shots"] == "0"
        ]
        shown.append(round(float(mean["score"]), 3))
    assert shown == [0.333, 1]


def test_kinds_do_not_mix(ada, study):
    robot = factories.seat(study.scenarios.first(), Kind.SIMULATED)
    factories.work_through(robot)
    assert robot.pseudonym not in json.dumps(annotators_of(ada, study))
    (row,) = annotators_of(ada, study, kind="simulated")
    assert (row["annotator"], row["kind"]) == (robot.pseudonym, "simulated")
    page = ada.get(reverse("figures", args=[study.name]), {"kind": "simulated"}, follow=True)
    assert "simulated annotators (not people)" in page.content.decode()


@pytest.mark.long
def test_attention_checks_are_in_no_figure(ada, researcher, tmp_path):
    task = factories.make_task(test_size=20)
    path = tmp_path / "checks.jsonl"
    path.write_text(
        json.dumps(
            {"id": "c", "context": "Highlight Oslo.", "question": "Which?", "answer": ["Oslo"]}
        )
        + "\n"
    )
    attention_checks.import_checks(task, path)
    study = factories.make_study(researcher, task, shots=[0], annotators=1, attention_checks=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    tenths = [row for row in rows_of(ada, study, "drift") if row["what"] == "annotator"]
    # The twenty examples are in ten parts of two, wherever the check was placed.
    assert [(row["part"], row["n"]) for row in tenths] == [(str(k), "2") for k in range(1, 11)]


@pytest.mark.long
@pytest.mark.parametrize("figure", NAMES)
def test_the_numbers_of_a_figure_are_on_the_page_and_in_a_csv(ada, study, figure):
    reply = ada.get(reverse("figure_numbers", args=[study.name, figure]))
    rows = list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    assert len(rows) == {"learning": 1}.get(figure, 2)
    shown = figure_data.figure(study, Kind.PERSON, figure)
    assert len(shown.cells) == len(rows)
    address = reverse("figure_table", args=[study.name, figure])
    on_page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert f'hx-get="{address}?kind=person"' in on_page
    numbers = reverse("figure_numbers", args=[study.name, figure])
    assert f'<a href="{numbers}?kind=person">' in on_page  # without JavaScript
    page = ada.get(address).content.decode()
    for line in shown.cells:
        texts = ["0.0" if text == "+0.0" else text for text in line[1:]]
        assert "</td><td>".join(texts) in re.sub(r'<td\s+class="list-number">', "<td>", page)


@pytest.mark.long
@pytest.mark.parametrize(
    ("ext", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
@pytest.mark.parametrize("figure", NAMES)
def test_each_figure_can_be_had_as_a_picture(ada, study, figure, ext, begins):
    address = reverse("figure_file", args=[study.name, figure, ext])
    reply = ada.get(address)
    assert reply.status_code == 200
    assert reply.content.startswith(begins)
    if ext == "svg":
        assert b"toy-places" in reply.content
    assert address in ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()


def test_without_vl_convert_a_hint_replaces_the_picture_links(ada, study, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    reply = ada.get(reverse("figure_file", args=[study.name, "shots", "svg"]))
    assert reply.status_code == 501
    assert "pip install vl-convert-python" in reply.content.decode()
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert ".svg" not in page.partition("<main")[2]
    assert "pip install vl-convert-python" in page
    assert rows_of(ada, study, "shots")


def test_an_unknown_name_kind_or_format_is_not_found(ada, study):
    for figure, ext in (("nothing", "json"), ("shots", "exe"), ("nothing", "csv")):
        address = reverse("figure_file", args=[study.name, figure, ext])
        assert ada.get(address).status_code == 404
    assert (
        ada.get(reverse("figures", args=[study.name]), {"kind": "x"}, follow=True).status_code
        == 404
    )
    assert ada.get(reverse("figure_numbers", args=[study.name, "x"])).status_code == 404


def test_figures_of_another_researcher_are_not_found(client, other_researcher, study):
    addresses = [
        reverse("figures", args=[study.name]),
        reverse("figure_file", args=[study.name, "shots", "json"]),
        reverse("figure_numbers", args=[study.name, "shots"]),
        reverse("figure_table", args=[study.name, "shots"]),
    ]
    assert {client.get(address).status_code for address in addresses} == {302}
    client.force_login(other_researcher)
    assert {client.get(address, follow=True).status_code for address in addresses} == {404}


@pytest.mark.long
def test_vega_is_loaded_on_the_figures_page_only(ada, study):
    for name in ("study", "analysis", "human_performance", "examples", "sensitivity"):
        page = ada.get(reverse(name, args=[study.name]), follow=True).content.decode()
        assert "vega" not in page, name
    assert (
        "vega-embed" in ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    )
    assert reverse("human_performance", args=[study.name], query={"show": "figures"}) in (
        ada.get(reverse("human_performance", args=[study.name])).content.decode()
    )


def test_the_script_replaces_each_colour_of_the_figures():
    """On a dark page, colours without a token would stay dark. Grid lines are not replaced."""
    colours = re.compile(r"#[0-9a-f]{6}")
    of_figures = set(colours.findall((ROOT / "analysis/figures/config.json").read_text()))
    tokens = set(colours.findall((ROOT / "static/js/figure.js").read_text()))
    assert of_figures - tokens <= {"#ffffff", "#d9dbe0"}
