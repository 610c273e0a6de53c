"""A bundle as a dataset: citation, licence, Croissant and dataset card; names only on request."""

import csv
import hashlib
import json

import pytest
import yaml

from analysis.export import publishing, release
from analysis.export.columns import COLUMNS
from analysis.export.publishing import CONTEXT
from annotation.monitoring import report_answers
from tasks.csv_files import csv_text
from tests import factories
from tests.analysis.documents.latex_reader import problems

pytestmark = pytest.mark.long

HOSTILE = 'A "study": of {people} & models # 1'


@pytest.fixture
def study(researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotators=2, title=HOSTILE
    )
    for answer in (None, lambda turn: []):
        factories.work_through(factories.seat(study.scenarios.get()), answer)
    return study


def bundle(study, folder, **answers):
    report_answers.save(study, answers, study.owner, report_answers.versions(study))
    release.write_release(study, folder)
    return folder


def test_the_citation_names_the_authors_of_the_title_page(study, tmp_path):
    plain = bundle(study, tmp_path / "plain")
    cited = yaml.safe_load((plain / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["title"] == " ".join(HOSTILE.split()) or cited["title"] == HOSTILE
    assert cited["authors"] == [{"name": f"The researchers of the study {study.name}"}]
    assert "license" not in cited
    assert not (plain / "LICENSE").exists()
    assert study.owner.username not in (plain / "CITATION.cff").read_text()
    named = bundle(
        study, tmp_path / "named", title="People\nafter a handful",
        authors="Lovelace, Ada\nThe Analytical Society", licence="CC-BY-SA-4.0",
    )  # fmt: skip
    cited = yaml.safe_load((named / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "dataset"
    assert cited["title"] == "People after a handful"
    assert cited["authors"] == [
        {"family-names": "Lovelace", "given-names": "Ada"}, {"name": "The Analytical Society"},
    ]  # fmt: skip
    assert cited["license"] == "CC-BY-SA-4.0"
    assert study.manifest_hash[:12] in cited["version"]
    licence = (named / "LICENSE").read_text()
    assert "SPDX-License-Identifier: CC-BY-SA-4.0" in licence
    assert "remain under the licences of their sources" in licence
    head = (named / "README.md").read_text().split("---\n")[1]
    card = yaml.safe_load(head)
    assert card["license"] == "cc-by-sa-4.0"
    assert card["pretty_name"] == "People after a handful"
    assert {"config_name": "answers", "data_files": "answers.csv"} in card["configs"]


def test_custom_terms_are_written_as_the_licence(study, tmp_path):
    folder = bundle(study, tmp_path / "own", licence="own", **{"own-terms": "Ask the board."})
    assert (folder / "LICENSE").read_text().startswith("Ask the board.\n")
    assert "license" not in yaml.safe_load((folder / "CITATION.cff").read_text())


def test_croissant_describes_every_file_and_column(study, tmp_path):
    folder = bundle(study, tmp_path / "one", licence="CC0-1.0")
    told = json.loads((folder / "croissant.json").read_text())
    assert told["@context"] == CONTEXT
    assert told["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert told["license"] == "https://creativecommons.org/publicdomain/zero/1.0/"
    assert {file["@id"] for file in told["distribution"]} == set(COLUMNS)
    for file in told["distribution"]:
        content = (folder / file["contentUrl"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
    for records in told["recordSet"]:
        with (folder / f"{records['name']}.csv").open(newline="") as file:
            header = next(csv.reader(file))
        assert [field["source"]["extract"]["column"] for field in records["field"]] == header
    sums = (folder / "SHA256SUMS.bundle").read_text()
    for name in ("CITATION.cff", "LICENSE", "croissant.json", "README.md"):
        assert f"  {name}\n" in sums


def test_the_bundle_has_every_table_as_latex_and_csv(study, tmp_path):
    folder = bundle(study, tmp_path / "one") / "tables" / "person"
    for path in folder.glob("*.tex"):
        assert problems(path.read_text(encoding="utf-8")) == [], path
    with (folder / "intervals.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["n"] == "2"
    assert row["Mean"] in (folder / "intervals.tex").read_text()


def test_a_gold_text_may_be_longer_than_a_field_of_the_csv_module(researcher, tmp_path):
    gold = "word " * 27_000 + "end"
    test = [factories.record("test", 0, f"{gold}.", "Which part?", gold)]
    study = factories.make_study(
        researcher, factories.make_task(test=test), shots=[0], annotators=1
    )
    factories.work_through(factories.seat(study.scenarios.get()))
    release.write_release(study, tmp_path / "bundle", round_times="hour")
    (line,) = (tmp_path / "bundle" / "answers.csv").read_text().splitlines()[1:]
    assert line.count(gold) == 2


def test_other_columns_and_rows_keep_their_bytes(tmp_path):
    texts = ["", " ", "NA", "1.0", "a\r\nb", "\r", "\n", 'a "b", c', "'=1", "\t\u2028é", "\ufeff"]
    path, columns = tmp_path / "questionnaire.csv", list(COLUMNS["questionnaire.csv"])
    rows = [[text] * len(columns) for text in texts]
    path.write_text(csv_text(columns, rows), "utf-8", newline="")
    publishing.change_columns(path, {"comments": str.upper})
    at = columns.index("comments")
    changed = [[*row[:at], row[at].upper(), *row[at + 1 :]] for row in rows]
    assert path.read_bytes() == csv_text(columns, changed).encode()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
