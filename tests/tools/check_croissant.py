"""MLCommons' library validates a bundle's Croissant metadata and loads its data."""

import csv
import json
import math

import mlcroissant
import pytest

from analysis.export import release
from analysis.export.columns import COLUMNS
from annotation.models import Kind
from annotation.monitoring import report_answers
from tests import factories


@pytest.fixture
def bundle(researcher, tmp_path):
    """A bundle of people and a simulated annotator on a span task and a label task.

    It has a licence and two authors.
    """
    study = factories.make_study(
        researcher, factories.make_task(), factories.make_task(name="toy-labels",
        labels=factories.LABELS), shots=[0, 2], annotators=2, title='A "study": of {people}',
    )  # fmt: skip
    for scenario in study.scenarios.all():
        wrong = (lambda turn: ["negative"]) if scenario.task.card.labels else (lambda turn: [])
        for answer in (None, wrong):
            factories.work_through(factories.seat(scenario), answer)
        factories.work_through(factories.seat(scenario, Kind.SIMULATED))
    answers = {"authors": "Lovelace, Ada\nThe Analytical Society", "licence": "CC-BY-4.0"}
    report_answers.save(study, answers, study.owner, report_answers.versions(study))
    release.write_release(study, tmp_path / "bundle")
    return tmp_path / "bundle"


def test_the_metadata_validates_without_errors_or_warnings(bundle, caplog):
    metadata = mlcroissant.Dataset(jsonld=bundle / "croissant.json").metadata
    assert not metadata.ctx.issues.errors
    assert not metadata.ctx.issues.warnings, metadata.ctx.issues.report()
    assert "WARNING" not in caplog.text  # such as a non-standard context
    assert {each.uuid for each in metadata.record_sets} == {
        name.removesuffix(".csv") for name in COLUMNS
    }


def rows(folder, name):
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_record_set_loads_with_the_values_of_its_file(bundle):
    dataset = mlcroissant.Dataset(jsonld=bundle / "croissant.json")
    filled = 0
    for name in COLUMNS:
        stem = name.removesuffix(".csv")
        written = rows(bundle, name)
        loaded = list(dataset.records(stem)) if written else []
        assert len(loaded) == len(written), name
        for cells, record in zip(written, loaded, strict=True):
            assert set(record) == {f"{stem}/{column}" for column in cells}
            for column, cell in cells.items():
                assert same(cell, record[f"{stem}/{column}"]), (name, column, cell)
        filled += bool(written)
    assert filled > 15


def same(cell: str, value: object) -> bool:
    """Return whether two cells are equal as text, number or time; an empty cell is missing."""
    if isinstance(value, bytes):
        return value.decode() == cell
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return cell in ("", "nan")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(cell) == pytest.approx(float(value), rel=1e-12)
    return str(value).replace(" ", "T")[:19] == cell[:19] or (str(value) == "NaT" and not cell)


def test_a_file_with_another_hash_is_refused(bundle):
    told = json.loads((bundle / "croissant.json").read_text())
    (own,) = [file for file in told["distribution"] if file["@id"] == "answers.csv"]
    own["sha256"] = "0" * 64
    (bundle / "croissant.json").write_text(json.dumps(told))
    with pytest.raises(Exception, match=r"Download\(answers\.csv\)"):
        list(mlcroissant.Dataset(jsonld=bundle / "croissant.json").records("answers"))
