"""Humans and models at the column widths of a paper; several studies in a figure and table."""

import csv
import io
import json
import re

import altair as alt
import lxml.html
import pypdf
import pytest
import vl_convert
from django.urls import reverse

from analysis.figures import data as figure_data
from analysis.figures import humans_models, paper_widths
from annotation.models import Kind
from tests import factories
from tests.analysis.documents.latex_reader import problems

pytestmark = pytest.mark.long

SMALLEST = 6.0  # points, in print


def smallest_letter(drawn: str) -> float:
    """Return the size of the smallest letters of such an SVG, in points on paper."""
    width = re.search(r'<svg[^>]*? width="([\d.]+)in"', drawn)
    box = re.search(r'viewBox="0 0 ([\d.]+) ', drawn)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', drawn)]
    assert width is not None
    assert box is not None
    return min(sizes) * float(width[1]) * paper_widths.POINTS / float(box[1])


def done(study):
    for scenario in study.scenarios.all():
        for number in range(2):
            factories.work_through(factories.seat(scenario), (lambda turn: []) if number else None)
    return study


@pytest.fixture
def task(db):
    return factories.make_task()


@pytest.fixture
def study(researcher, task):
    factories.predict(researcher, "a-model", task, 0)
    factories.predict(researcher, "a-model", task, 2, 1)
    return done(factories.make_study(researcher, task, title="First wave", annotators=2))


def numbers(client, address, args, **query) -> list[dict[str, str]]:
    text = client.get(reverse(address, args=args), query).content.decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_studies_ticked_in_the_list_are_compared(ada, researcher, task):
    first = factories.make_study(researcher, task, title="First wave")
    page = lxml.html.fromstring(ada.get(reverse("studies")).content)
    assert not page.xpath("//input[@form='compare']")  # nothing to compare it with
    second = factories.make_study(researcher, task, title="Second wave")
    page = lxml.html.fromstring(ada.get(reverse("studies")).content)
    (form,) = page.xpath("//form[@id='compare']")
    boxes = page.xpath("//input[@form='compare']")
    assert {box.get("value") for box in boxes} == {first.name, second.name}
    sent = {boxes[0].get("name"): [box.get("value") for box in boxes]}
    page = lxml.html.fromstring(ada.get(form.get("action"), sent).content)
    chosen = page.xpath("//input[@name='study'][@checked]")
    assert {box.get("value") for box in chosen} == {first.name, second.name}


def test_the_figure_has_people_with_intervals_and_models(ada, study):
    rows = numbers(ada, "figure_numbers", [study.name, "models"])
    by = {(row["name"], row["shots"]): row for row in rows}
    assert set(by) == {(who, k) for who in ("People", "a-model") for k in ("0", "2")}
    assert by["People", "0"]["score"] == "0.75"
    shots = numbers(ada, "figure_numbers", [study.name, "shots"])
    assert [row["low_95"] for row in rows if row["name"] == "People"] == [
        r["low_95"] for r in shots
    ]
    assert by["People", "0"]["low_95"]
    assert by["People", "0"]["question"] == humans_models.BOTH
    assert by["a-model", "0"]["score"] == "1.0"
    assert by["a-model", "0"]["low_95"] == ""  # one run has no interval
    page = ada.get(reverse("figures", args=[study.name]), follow=True).content.decode()
    assert "figures/models.json?kind=person" in page
    assert "width=single" in page


def test_published_figures_are_marked_and_have_no_interval():
    row = humans_models.SeriesRow
    nan = float("nan")
    own = row("t", "S1", 0, "People", "study", "x", 50, 40, 60, 3, "annotators", "")
    quoted = row("t", "S1", 0, "People (CLUES)", "published", "", 60, nan, nan, 3, "annotators", "")
    models = [
        row("t", "S1", 0, f"m{n}", "uploaded", "", n, nan, nan, 1, "runs", "") for n in range(9)
    ]
    drawn = humans_models.top_series([quoted, *models, own])
    # People first, then the best models, as many as can be distinguished.
    assert [each.who for each in drawn] == ["People", "m8", "m7", "m6", "m5", "m4"]
    text = str(figure_data.charts.humans_and_models(humans_models.frame([own, quoted])))
    assert "datum.source === 'published'" in text
    assert "isValid(datum.low)" in text


def series(*names: str, scores: list[float], tasks: str = "a") -> dict:
    """Return the figure of these series, which have one score each at 0 and 2 shots."""
    row, nan = humans_models.SeriesRow, float("nan")
    rows = [
        row(task, "S1", shots, name, source, "", score, nan, nan, 3, "", "")
        for task in tasks
        for shots in (0, 2)
        for name, score in zip(names, scores, strict=True)
        for source in ["study" if name == "People" else "uploaded"]
    ]  # fmt: skip
    return figure_data.charts.humans_and_models(humans_models.frame(rows))


def test_models_are_thin_grey_lines_behind_those_of_people():
    layers = series("People", "gpt", scores=[80, 20])["spec"]["layer"]
    models, people = (layer for layer in layers if layer["mark"]["type"] == "line")
    assert models["mark"]["strokeWidth"] < people["mark"]["strokeWidth"]
    scale = people["encoding"]["color"]["scale"]
    assert scale == {"domain": ["People", "gpt"], "range": ["#1b1b1f", "#53565f"]}


@pytest.mark.parametrize(
    ("names", "scores", "tasks", "are_at_ends"),
    [
        (["People", "gpt"], [80, 20], "ab", True),
        (["People", "gpt"], [80, 20], "abcd", True),
        (["People", "$names"], [80, 20], "a", True),  # not a reference in charts.json
        (["People", "a-model"], [80, 20], "ab", True),
        (["People", "a-model"], [80, 20], "abcd", False),  # too long for four panels in a column
        (["People", "gpt", "bert"], [80, 22, 20], "a", False),  # they would overlap
        (["People", "a model with a long name"], [80, 20], "a", False),
    ],
)
def test_names_are_at_the_ends_of_lines_if_they_fit_else_in_a_legend(
    names, scores, tasks, are_at_ends
):
    spec = series(*names, scores=scores, tasks=tasks)
    alt.FacetChart.from_dict(spec, validate=True)
    drawn = vl_convert.vegalite_to_svg(json.dumps(spec))
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", drawn)
    assert [texts.count(name) for name in names] == [1] * len(names)  # in one panel, or the legend
    layers = spec["spec"]["layer"]
    assert any(layer["mark"]["type"] == "text" for layer in layers) is are_at_ends
    assert ("role-legend" in drawn) is not are_at_ends


def test_panels_fill_their_rows_evenly_and_share_their_axes():
    columns = {}
    for panels in (1, 2, 3, 4, 5, 7):
        spec = series("People", scores=[50], tasks="abcdefg"[:panels])
        assert "scale" not in spec["resolve"]
        widths = [paper_widths.laid_out(spec, width)["columns"] for width in ("single", "double")]
        columns[panels] = [spec["columns"], *widths]
    assert columns == {
        1: [1, 1, 1], 2: [2, 1, 2], 3: [3, 2, 3], 4: [2, 2, 2], 5: [3, 2, 3], 7: [3, 2, 3]
    }  # fmt: skip


@pytest.mark.parametrize(("width", "inches"), [("single", 3.25), ("double", 6.75)])
def test_a_picture_is_exactly_as_wide_as_the_column_and_legible(ada, study, width, inches):
    def picture(ext):
        address = reverse("figure_file", args=[study.name, "models", ext])
        reply = ada.get(address, {"width": width})
        assert reply.status_code == 200
        assert f"models-{width}.{ext}" in reply["Content-Disposition"]
        return reply.content

    drawn = picture("svg").decode()
    assert f'width="{inches}in"' in drawn
    assert smallest_letter(drawn) >= SMALLEST
    png = picture("png")
    assert abs(int.from_bytes(png[16:20], "big") - 300 * inches) <= 2
    pdf = picture("pdf")
    sides = re.search(rb"/MediaBox\s*\[([\d. ]+)\]", pdf)
    assert sides is not None
    assert float(sides[1].split()[2]) == pytest.approx(72 * inches, abs=0.5)


def test_every_figure_is_legible_in_both_widths(study):
    for name in figure_data.NAMES:
        figure = figure_data.figure(study, Kind.PERSON, name)
        for width in paper_widths.INCHES if not figure.why_not else ():
            drawn = paper_widths.picture(figure.spec, "svg", width).decode()
            assert smallest_letter(drawn) >= SMALLEST, (name, width)


def test_several_studies_share_a_figure_and_a_design_table(ada, study, researcher, task):
    second = done(
        factories.make_study(
            researcher, task, title="Second wave", shots=[2], annotators=3, hourly_rate=15,
            qualification="minimum", qualification_threshold=2, consent_text="Another consent.",
        )
    )  # fmt: skip
    query = {"study": [study.name, second.name]}
    rows = numbers(ada, "compare_file", ["csv"], **query)
    assert [(row["name"], row["shots"], row["n"]) for row in rows] == [
        ("First wave", "0", "2"), ("First wave", "2", "2"), ("Second wave", "2", "2"),
    ]  # fmt: skip
    assert {row["study"] for row in rows} == {study.name, second.name}
    address = reverse("compare")
    page = lxml.html.fromstring(ada.get(address, query).content)
    told = {
        row[0].text_content(): [cell.text_content() for cell in row[1:]]
        for row in page.xpath("//*[@aria-labelledby='designs']//tbody/tr")
    }
    assert told["shots"] == ["0, 2", "2"]
    assert told["seats of a scenario"] == ["2", "3"]
    assert told["pay per hour"][1] == "15.00" or told["pay per hour"][1] == "15"
    assert told["rule after training"] == ["none", "minimum"]
    assert "consent text" in told
    assert not any("test set" in what for what in told)  # the same task
    tex = ada.get(reverse("compare_file", args=["tex"]), query).content.decode()
    assert problems(tex) == []
    assert second.manifest_hash in tex
    key = factories.bearer(researcher, "read")
    api = ada.get(reverse("api_compare"), query, headers=key).json()
    assert [row["score"] for row in api["rows"]] == [float(row["score"]) for row in rows]
    assert {row["what"] for row in api["differing"]} == set(told)
    spec = ada.get(reverse("compare_file", args=["json"]), query).json()
    assert spec["config"]


def test_a_foreign_study_cannot_be_added_to_a_comparison(
    client, study, other_researcher, researcher, task
):
    own = factories.make_study(other_researcher, task)
    client.force_login(other_researcher)
    for address, args in (("compare", []), ("compare_file", ["csv"]), ("compare_design", [])):
        reply = client.get(reverse(address, args=args), {"study": [own.name, study.name]})
        assert reply.status_code == 404
    assert study.title not in client.get(reverse("compare")).content.decode()
    one = factories.bearer(researcher, "read", study=study)
    mine = factories.make_study(researcher, task)
    reply = client.get(
        reverse("api_compare"), {"study": [study.name, mine.name]}, headers=one
    )  # a token for one study gives access to no other
    assert reply.status_code == 404


def test_the_pdf_has_the_width_of_the_column(ada, study, tmp_path):
    address = reverse("figure_file", args=[study.name, "models", "pdf"])
    file = tmp_path / "figure.pdf"
    file.write_bytes(ada.get(address, {"width": "single"}).content)
    (page,) = pypdf.PdfReader(file).pages
    assert float(page.mediabox.width) == pytest.approx(234, abs=1)
