"""The release bundle is complete, consistent, readable by other tools, and names no person."""

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow.parquet
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from analysis.documents.checklists import FORMS
from analysis.export import files, release, verify
from analysis.export.columns import COLUMNS
from analysis.figures import data as figure_data
from analysis.scores.columns import type_of
from annotation.models import Kind, Panel, Participation, ProlificStudy, Study
from annotation.protocol import exclusion, own_questions, training_step
from annotation.recruitment import consent
from annotation.recruitment.links import make_links
from tasks.csv_files import write_csv
from tasks.formats import Record
from tests import factories
from tests.analysis.export.tampering import SIGNER, make_key

pytestmark = pytest.mark.long

IDA, SESSION, THERE = "1da" * 8, "5e55" * 6, "57" * 12
PANEL_ID, PANEL_WORK = "connect-Twelve-77", "assignment-4242"
NAME = "Idalinde Quastenflosser"


@pytest.fixture(scope="module")
def stored(module_researcher):
    """People by open link, personal link, panel and Prolific; a simulated annotator; a model."""
    places = factories.make_task(test_size=5)
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, title="Labels")
    study = factories.make_study(
        module_researcher, places, labels, shots=[0, 2], annotators=3, exit_questionnaire=True,
        title="A study",
    )  # fmt: skip
    (link,) = make_links(study, NAME)
    panel = Panel.objects.create(
        study=study, name="Connect", id_parameter="who", submission_parameter="work",
        completed_code="PANELCODE77",
    )  # fmt: skip
    on_prolific = ProlificStudy.objects.create(
        study=study, name="there", external_id=THERE, reward_cents=100, minutes=5, max_minutes=9,
        places=3, codes={"completed": "C0DEDONE"}, signed=False,
    )  # fmt: skip
    on_prolific.scenarios.set(study.scenarios.all())
    prolific = {"PROLIFIC_PID": IDA, "STUDY_ID": THERE, "SESSION_ID": SESSION}
    for code, query in (
        (study.link_code, {}),
        (link.code, {}),
        (panel.code, {"who": PANEL_ID, "work": PANEL_WORK}),
        (on_prolific.code, prolific),
    ):
        reply = Client().post(reverse("start", args=[code], query=query))
        seat = Participation.objects.get(token=reply.url.split("/")[2])
        consent.record(seat, agree=True)
        training_step.begin(seat.token)
        factories.work_through(seat, lambda turn: list(dict.fromkeys(turn.example.gold)))
        told = {"seen_before": "no", "comments": f"=1+1, my id is {IDA}\nand {SESSION.upper()}"}
        own_questions.answer_exit(seat.token, told)
    exclusion.decide(seat, False, f"{NAME} asked for it; {PANEL_ID} too", module_researcher)
    factories.work_through(factories.seat(study.scenarios.first(), Kind.SIMULATED))
    factories.predict(module_researcher, "toy", places, 2, 1, lambda example: [])
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture(scope="module")
def written(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "bundle"
    release.write_release(Study.objects.get(pk=stored), folder)
    return folder


@pytest.fixture
def bundle(study, written, tmp_path):
    return Path(shutil.copytree(written, tmp_path / "bundle"))


def rows(folder, name) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


STYLES = ["pico", "tokens", "base", "worker", "highlighter", "reveal", "researcher", "print"]
STYLES += ["panel", "choices", "label-search", "pages", "plain", "visit"]


def test_the_bundle_has_every_expected_file(study, bundle):
    names = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    expected = {
        *COLUMNS, "manifest.json", "versions.json", "verify.py", "verify.txt", "README.md",
        "SHA256SUMS", "SHA256SUMS.bundle", "analysis.R",
        "report.md", "report.html", "preregistration.md",
        "preregistration.html", "materials/consent.md", "seen/consent.html",
        *(f"style/{name}.css" for name in STYLES),
        "style/page.css",
        *(f"figures/{name}.{ext}" for name in figure_data.NAMES
          for ext in ("svg", "pdf", "csv")),
        "CITATION.cff", "croissant.json", "checklists/sample.json",
        *(f"checklists/{form}.{ext}" for form in FORMS for ext in ("tex", "json")),
        *(f"parquet/{name.removesuffix('.csv')}.parquet" for name in COLUMNS),
        *(
            f"{place}{task}{end}"
            for task in ("toy-places", "toy-labels")
            for place, end in (
                ("materials/", ".md"), ("materials/", ".json"), ("seen/", "-instructions.html"),
                ("seen/", "-question.html"), ("seen/", "-reveal.html"),
            )
        ),
    }  # fmt: skip
    tables = {name for name in names if name.startswith("tables/")}
    assert names - tables == expected
    for stem in ("human-performance", "intervals", "contrasts", "sensitivity-toy-places"):
        for end in (".tex", ".csv"):
            assert any(f"tables/person/{stem}" in n and n.endswith(end) for n in tables), stem + end
    assert "tables/simulated/agreement.tex" in tables


def test_verify_in_the_bundle_gives_the_stored_output(bundle):
    assert (bundle / "verify.txt").read_text().endswith("no external hash was given.\n")
    done = subprocess.run(
        [sys.executable, "-I", str(bundle / "verify.py")],
        capture_output=True, text=True, env={}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout == (bundle / "verify.txt").read_text()


def test_every_file_has_a_checksum(bundle):
    sums = {
        name: dict(
            reversed(line.split("  ", 1)) for line in (bundle / name).read_text().splitlines()
        )
        for name in ("SHA256SUMS", "SHA256SUMS.bundle")
    }
    data = {*COLUMNS, "manifest.json", "versions.json", "verify.py"}
    assert set(sums["SHA256SUMS"]) == data
    assert not data & set(sums["SHA256SUMS.bundle"])
    listed = sums["SHA256SUMS"] | sums["SHA256SUMS.bundle"]
    files = {path.relative_to(bundle).as_posix(): path for path in bundle.rglob("*.*")}
    files = {name: path for name, path in files.items() if path.is_file()}
    assert set(listed) == {*files, "SHA256SUMS"} - {"verify.txt", "SHA256SUMS.bundle"}
    files["SHA256SUMS"] = bundle / "SHA256SUMS"
    for name, digest in listed.items():
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == digest


def test_the_report_names_the_hash_of_the_checksums(bundle):
    digest = hashlib.sha256((bundle / "SHA256SUMS").read_bytes()).hexdigest()
    assert digest in (bundle / "report.md").read_text()
    assert digest in (bundle / "report.html").read_text()
    assert f" --sums {digest}\n" in (bundle / "verify.txt").read_text()


def test_an_altered_page_is_noticed(bundle):
    page = bundle / "report.html"
    page.write_text(page.read_text() + "<!-- -->")
    done = subprocess.run(
        [sys.executable, "-I", str(bundle / "verify.py")],
        capture_output=True, text=True, env={}, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "report.html" in done.stdout


# No names -----------------------------------------------------------------------------------------


def secrets_of(study) -> dict[str, str]:
    secrets = {
        "prolific id": IDA, "session": SESSION, "study there": THERE, "panel id": PANEL_ID,
        "panel work": PANEL_WORK, "name": NAME, "researcher": "ada", "panel code": "PANELCODE77",
        "code there": "C0DEDONE", "link": study.link_code, "robots": study.simulated_link_code,
    }  # fmt: skip
    for number, row in enumerate(study.participations.select_related("worker")):
        secrets |= {
            f"token {number}": row.token,
            f"key {number}": row.worker.key,
            f"code {number}": row.completion_code,
        }
        if row.browser:
            secrets[f"browser {number}"] = row.browser
    for number, row in enumerate(study.submissions.all()):
        secrets |= {
            f"submission {number}": row.key,
            f"cipher {number}": row.person,
            f"reference {number}": row.reference,
        }
    for number, row in enumerate(study.personal_links.all()):
        secrets[f"personal link {number}"] = row.code
    secrets |= {f"panel link {row.pk}": row.code for row in study.panels.all()}
    secrets |= {f"study link {row.pk}": row.code for row in study.prolific_studies.all()}
    return secrets


def test_the_fixture_has_the_identities_that_are_searched_for(study):
    assert study.submissions.count() == 2
    assert {submission.platform for submission in study.submissions.all()} == {
        "prolific",
        "panel:Connect",
    }
    assert len(secrets_of(study)) > 30
    assert all(len(text) > 2 for text in secrets_of(study).values())


def test_no_byte_of_it_identifies_a_person(study, bundle):
    sought = secrets_of(study)
    words = re.compile(rb"\w+")
    for path in bundle.rglob("*"):
        if not path.is_file():
            continue
        content = readable = path.read_bytes().lower()
        if path.suffix == ".parquet":
            readable = pd.read_parquet(path).to_csv().encode().lower()
            content += readable
        for what, text in sought.items():
            needle = text.lower().encode()
            if what == "researcher":  # a short name, which compressed bytes may contain by chance
                assert needle not in words.findall(readable), f"{path.name}: {what}"
            else:
                assert needle not in content, f"{path.name}: {what}"


def test_only_ids_are_removed_from_texts_that_people_wrote(bundle):
    comments = {row["comments"] for row in rows(bundle, "questionnaire.csv")}
    assert comments == {"=1+1, my id is [id]\nand [id]"}
    assert [row["reason"] for row in rows(bundle, "decisions.csv")] == [
        "[id] asked for it; [id] too"
    ]
    assert r"\[id\] asked for it" in (bundle / "report.md").read_text()


def test_the_ordinary_export_leaves_texts_unaltered(study, tmp_path):
    files.write_export(study, tmp_path / "out")
    assert any(IDA in row["comments"] for row in rows(tmp_path / "out", "questionnaire.csv"))


def test_ids_that_cannot_be_read_stop_the_bundle(study, tmp_path, settings):
    settings.IDENTITY_KEY = "another"
    with pytest.raises(release.ReleaseError, match="IDENTITY_KEY"):
        release.write_release(study, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# Tables -------------------------------------------------------------------------------------------


def test_decisions_have_a_role_and_allocations_have_candidates(bundle):
    assert {row["role"] for row in rows(bundle, "decisions.csv")} == {"researcher"}
    (first, *_rest) = rows(bundle, "allocations.csv")
    assert len(json.loads(first["candidates"])) == 4
    assert first["arrival"] == "1"


def test_pay_files_have_the_amounts_of_the_ledger(study, bundle):
    entries = rows(bundle, "pay.csv")
    cents = sum(
        entry.cents
        for participation in study.participations.all()
        for entry in participation.ledger.all()
    )
    assert sum(int(row["cents"]) for row in entries) == cents > 0
    assert sum(int(row["cents"]) for row in rows(bundle, "pay_totals.csv")) == cents
    assert set(entries[0]) == {
        "study", "manifest", "annotator", "earning", "cents", "currency", "by_platform",
    }  # fmt: skip
    (prolific,) = study.submissions.filter(prolific_study__isnull=False)
    name = prolific.participation.pseudonym
    assert {row["annotator"] for row in entries if row["by_platform"] == "1"} <= {name}


def test_predictions_have_their_scores(bundle):
    predictions = rows(bundle, "predictions.csv")
    assert len(predictions) == 5
    assert [row["s1"] for row in predictions] == ["1.0", "0.0", "0.0", "1.0", "0.0"]
    (score,) = rows(bundle, "model_scores.csv")
    assert (score["model"], score["mean"], score["n"], score["of"]) == ("toy", "0.4", "1", "1")


def test_the_dictionary_describes_every_column_and_its_type(bundle):
    described = json.loads((bundle / "croissant.json").read_text())["recordSet"]
    assert [f"{of_file['name']}.csv" for of_file in described] == list(COLUMNS)
    read = {
        "sc:Integer": int, "sc:Float": float, "sc:DateTime": datetime.fromisoformat, "sc:Text": str,
    }  # fmt: skip
    for name, of_file in zip(COLUMNS, described, strict=True):
        assert [field["name"] for field in of_file["field"]] == list(COLUMNS[name])
        for row in rows(bundle, name):
            for field in of_file["field"]:
                if row[field["name"]]:
                    read[field["dataType"]](row[field["name"]])


def test_pandas_reads_every_file_by_the_types_of_the_dictionary(bundle):
    tables = (bundle / "README.md").read_text(encoding="utf-8").split("\n**")[1:]
    assert len(tables) == len(COLUMNS)
    for table in tables:
        name = table.partition("**")[0]
        types = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, flags=re.MULTILINE))
        assert list(types) == list(COLUMNS[name])
        times = [column for column, told in types.items() if told.startswith("datetime64")]
        read = pd.read_csv(
            bundle / name, keep_default_na=False, na_values=[""], parse_dates=times,
            dtype={column: told for column, told in types.items() if column not in times},
        )  # fmt: skip
        known = {re.sub(r"\[.*\]", "", str(kind)) for kind in read.dtypes}
        assert known <= {"Int64", "float64", "string", "datetime64", "object"}, name
        if "split" in types:
            assert str(read["split"].dtype) == "Int64"


def test_texts_that_look_like_formulas_or_na_are_unchanged(researcher, tmp_path):
    texts = ["NA", "=1+1", "-2", "@x", "+3", "null"]
    record = Record("1-2", (" ".join(texts),), "Which?", tuple(texts), None)
    task = factories.make_task(test=[record])
    study = factories.make_study(researcher, task, shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    bundle = tmp_path / "out"
    assert "Consistent" in release.write_release(study, bundle)
    # Read as README.md recommends.
    read = pd.read_csv(bundle / "spans.csv", keep_default_na=False, na_values=[""])
    assert sorted(read["text"]) == sorted(texts)
    assert set(pd.read_parquet(bundle / "parquet" / "spans.parquet")["text"]) == set(texts)
    assert list(read["example"].unique()) == ["1-2"]
    told = " ".join((bundle / "README.md").read_text().split())
    assert "texts that start with =, +, - or @ as" in told
    assert "keep_default_na=False" in told


def test_numbers_are_described_as_numbers(bundle):
    for name, columns in COLUMNS.items():
        for column in columns:
            cells = [row[column] for row in rows(bundle, name) if row[column]]
            are_numbers = all(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell) for cell in cells)
            if cells and are_numbers and column not in ("segment", "split_numbers"):
                assert type_of(column, name) != "string", f"{name}: {column}"


def test_parquet_holds_the_same_values(bundle, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 3000)
    for name in COLUMNS:
        listed = rows(bundle, name)
        files.write_parquet(bundle / name, bundle / "again.parquet")
        stored = bundle / "parquet" / f"{name.removesuffix('.csv')}.parquet"
        table = pyarrow.parquet.read_table(stored)
        assert table.equals(pyarrow.parquet.read_table(bundle / "again.parquet")), name
        assert table.column_names == list(COLUMNS[name])
        for row, record in zip(listed, table.to_pylist(), strict=True):
            for column, cell in row.items():
                assert as_text(record[column], like=cell) == cell, (name, column)


def test_a_text_longer_than_csv_readers_accept_is_released(researcher, tmp_path):
    (record,) = factories.KINDS["spans"][1]("test", 1)
    task = factories.make_task(
        test=[replace(record, context=(f"{'x ' * 70_000}{record.context[0]}",))]
    )
    study = factories.make_study(researcher, task, shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    assert "Consistent" in release.write_release(study, tmp_path / "bundle")
    stored = pd.read_parquet(tmp_path / "bundle" / "parquet" / "examples.parquet")
    assert stored["segments"].str.len().max() > 131_072


def test_without_pyarrow_a_bundle_lacks_parquet_files_and_says_nothing_of_them(
    study, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    release.write_release(study, tmp_path / "bundle")
    assert not (tmp_path / "bundle" / "parquet").exists()
    assert "parquet" not in (tmp_path / "bundle" / "README.md").read_text().lower()


def as_text(value, like: str) -> str:
    """Return a Parquet value as in the CSV; a number as `like` if they are equal."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, float) and like and float(like) == value:
        return like
    return "" if value is None else str(value)


# Pages --------------------------------------------------------------------------------------------


def test_pages_ask_for_nothing_that_is_not_in_the_bundle(bundle):
    for page in bundle.rglob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        for address in re.findall(r'(?:src|href|hx-post|action)="([^"]*)"', text):
            if address.startswith("#"):
                assert address == "#" or f' id="{address[1:]}"' in text, f"{page.name}: {address}"
            else:
                assert (page.parent / address).is_file(), f"{page.name}: {address}"


def test_documents_and_turns_link_the_styles_of_their_classes(bundle):
    def named(sheet: Path) -> set[str]:
        return set(re.findall(r"\.([a-z][\w-]*)(?=[^{}]*\{)", sheet.read_text()))

    styles = Path(settings.BASE_DIR) / "static" / "css"
    ruled = set[str]().union(*(named(sheet) for sheet in styles.glob("*.css")))
    for page in (*bundle.glob("*.html"), *bundle.glob("seen/toy-*.html")):
        text = page.read_text()
        used = {name for value in re.findall(r'class="([^"]*)"', text) for name in value.split()}
        linked = re.findall(r'<link rel="stylesheet" href="([^"]*)"', text)
        loaded = set[str]().union(*(named(page.parent / sheet) for sheet in linked))
        assert used & ruled - loaded == set(), page.name


def test_the_bundle_shows_the_question_and_the_reveal_of_a_task(bundle):
    question = (bundle / "seen" / "toy-places-question.html").read_text()
    assert 'data-state="question"' in question
    assert "Which places are named?" in question
    reveal = (bundle / "seen" / "toy-places-reveal.html").read_text()
    assert 'data-state="reveal"' in reveal
    assert 'data-state="reveal"' in (bundle / "seen" / "toy-labels-reveal.html").read_text()


def test_instructions_and_consent_are_literal(study, bundle):
    card = study.tasks.get(name="toy-labels").card
    text = (bundle / "materials" / "toy-labels.md").read_text()
    for part in (card.description, card.instructions, "I loved the soup."):
        assert part in text
    assert study.consent_text in (bundle / "materials" / "consent.md").read_text()
    stored = json.loads((bundle / "materials" / "toy-labels.json").read_text())
    assert stored == json.loads(study.manifest)["tasks"][0]["card"]


# Making it ----------------------------------------------------------------------------------------


def test_the_command_writes_a_folder_without_overwriting(study, tmp_path):
    output = io.StringIO()
    call_command("release_study", study.name, str(tmp_path / "one"), "--no-pictures", stdout=output)
    assert "Consistent" in output.getvalue()
    assert (tmp_path / "one" / "verify.txt").exists()
    assert (tmp_path / "one" / "parquet" / "answers.parquet").exists()
    with pytest.raises(CommandError, match="already exists"):
        call_command("release_study", study.name, str(tmp_path / "one"), stdout=output)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("key"))


def test_a_signature_reveals_a_change_that_sums_cannot(study, tmp_path, key, capsys):
    """Time away from the page is falsified, and all checksums agree."""
    target = tmp_path / "signed"
    call_command(
        "release_study", study.name, str(target), "--no-pictures", "--sign", str(key),
        stdout=io.StringIO(),
    )  # fmt: skip
    signers = ["--signers", str(key.with_name("allowed_signers"))]
    assert verify.main(target, signers) == 0
    assert csv.field_size_limit() == 131_072  # other readers still have Python's default
    printed = capsys.readouterr().out
    for name in ("SHA256SUMS", "SHA256SUMS.bundle"):
        assert f"the signature of {SIGNER} on {name}" in printed.splitlines()[-1]
    path = target / "answers.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0]["away_seconds"] = "7.0"
    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, list(rows[0]), (row.values() for row in rows))
    files.write_data_sums(target)
    files.write_bundle_sums(target)
    assert verify.main(target) == 0  # nothing inside the bundle exposes a false away_seconds
    capsys.readouterr()
    assert verify.main(target, signers) == 1
    printed = capsys.readouterr().out
    for name in ("SHA256SUMS", "SHA256SUMS.bundle"):
        assert f"{name}.sig: found 'no valid signature'" in printed


def test_a_key_that_cannot_sign_leaves_no_bundle(study, tmp_path):
    with pytest.raises(CommandError, match="ssh-keygen did not sign SHA256SUMS"):
        call_command(
            "release_study", study.name, str(tmp_path / "out"), "--no-pictures", "--sign",
            str(tmp_path / "no-key"),
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_where_verify_does_not_agree(study, tmp_path):
    seat = Participation.objects.get(kind="simulated")
    task, shots = seat.scenario.task, seat.scenario.shots
    tests = task.test_split.examples.order_by("position")
    contexts = [(example.pk, tuple(example.context)) for example in tests]
    seed = f"{study.seed}:{shots}:{task.name}"
    # Another pseudonym usually gives another order of the examples, but not always.
    for name in map("nobody-{}".format, range(50)):
        drawn = training_step.order_examples(
            contexts, study.annotation_order, f"{seed}:{name}:annotation"
        )
        if drawn != seat.annotation_order:
            break
    seat.pseudonym = name
    seat.save(update_fields=["pseudonym"])
    with pytest.raises(CommandError, match="verify.py does not agree"):
        call_command("release_study", study.name, str(tmp_path / "out"), "--no-pictures")
    assert list(tmp_path.iterdir()) == []


def test_a_draft_and_an_unknown_study_are_refused(researcher, tmp_path):
    draft = factories.make_study(researcher, factories.make_task(), status="draft")
    with pytest.raises(CommandError, match="draft"):
        call_command("release_study", draft.name, str(tmp_path / "out"))
    with pytest.raises(CommandError, match="The study 'nothing' does not exist"):
        call_command("release_study", "nothing", str(tmp_path / "out"))
    with pytest.raises(CommandError, match="name a folder"):
        call_command("release_study", draft.name, str(tmp_path / "out.zip"))


def test_an_open_study_without_annotators_can_be_released(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    assert "Consistent" in release.write_release(study, tmp_path / "out")
    assert not (tmp_path / "out" / "seen" / "toy-places-reveal.html").exists()
