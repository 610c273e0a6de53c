"""Exports: a journey from import to a CSV compared byte for byte, and verify.py."""

import csv
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.export import files
from analysis.export.columns import COLUMNS
from analysis.export.verify import deviation, main, mean
from analysis.scores import frames, performance, training
from analysis.scores.rendering import as_latex, as_markdown, notes
from annotation.models import Answer, Kind, Participation, Study
from annotation.protocol import exclusion, own_questions, training_step
from annotation.recruitment import consent
from tasks.csv_files import moment
from tasks.formats import Record
from tests import factories

OF_CROSS_TASK = ("upstream_pool.csv", "upstream.csv", "gains.csv")


@pytest.fixture(scope="module")
def stored(module_researcher):
    """Two tasks; people and a simulated annotator who completed, are working or never began."""
    places = factories.make_task()
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, title="Labels")
    study = factories.make_study(
        module_researcher, places, labels, shots=[0, 2, 4], annotators=2,
        own_questions="hard, after, text: What was hard?",
    )  # fmt: skip
    arrived = factories.join(study)
    consent.record(arrived, agree=True)
    training_step.begin(arrived.token)
    factories.work_through(arrived)
    for scenario in study.scenarios.all():
        for wrong in (False, True):
            if scenario != arrived.scenario or wrong:
                seat = factories.seat(scenario)
                factories.work_through(seat, _mostly_right if wrong else None)
    told = {"seen_before": "no", "ai_used": "unsure", "tools": "a pen", "comments": "=fine"}
    own_questions.answer_exit(arrived.token, told)
    own_questions.answer(arrived.token, "after", {"hard": "Nothing."})
    exclusion.decide(arrived, False, "too fast", module_researcher)
    exclusion.decide(arrived, True, "not so fast after all", module_researcher)
    factories.predict(module_researcher, "toy", places, 2, 1, lambda example: example.gold[:1])
    factories.predict(module_researcher, "toy", places, 4, 1)
    robot = factories.seat(study.scenarios.first(), Kind.SIMULATED)
    factories.work_through(robot, limit=3)
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def _mostly_right(turn):
    card = turn.example.split.task.card
    if card.labels:
        return ["positive"]
    return ["home"] if turn.position % 2 else turn.example.gold


@pytest.fixture(scope="module")
def exported(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "export"
    call_command("export_study", Study.objects.get(pk=stored).name, str(folder), verbosity=0)
    return folder


@pytest.fixture
def export(study, exported, tmp_path):
    return Path(shutil.copytree(exported, tmp_path / "export"))


def rows(export, name):
    with (export / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def verify(export) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-I", str(export / "verify.py")],
        capture_output=True, text=True, timeout=60, env={}, check=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.engines
def test_the_journey_from_import_to_a_csv_byte_for_byte(client, researcher, tmp_path):
    """A person without JavaScript takes part over HTTP; annotators.csv equals a literal."""
    task = factories.make_task(shots=[1], test_size=2)
    study = factories.make_study(researcher, task, shots=[1], annotators=1, name="journey", seed=3)
    client.post(reverse("start", args=[study.link_code]))
    seat = study.participations.get()
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    client.post(reverse("begin", args=[seat.token]))
    for answer in ({"no_answer": "1"}, {"no_answer": "1"}, {"no_answer": "1"}):
        turn = seat.latest_turn()
        client.post(reverse("answer", args=[seat.token]), {"turn": turn.pk, **answer})
        client.post(reverse("continue", args=[seat.token]))
    Participation.objects.filter(pk=seat.pk).update(pseudonym="A-JRNEY")
    call_command("export_study", "journey", str(tmp_path / "out"), verbosity=0)
    study.refresh_from_db()
    written = (tmp_path / "out" / "annotators.csv").read_bytes().decode()
    # Times differ between runs: total, active, paid and elapsed seconds, and the longest absence.
    written = re.sub(
        r",1,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,0.0,[0-9.e-]+,B1,",
        ",1,SECONDS,ACTIVE,WORKED,0.0,ELAPSED,B1,",
        written,
    )
    written = re.sub(r",2,[0-9.e-]+(,0){10},", ",2,ABSENCE,0,", written)
    assert written == (
        "study,manifest,task,task_version,shots,split,arm,annotator,kind,status,in_analysis,"
        "arrival,stage,mean_s1,sd_examples,n,training_s1,training_n,seconds,active_seconds,"
        "worked_seconds,waited_seconds,elapsed_seconds,browser,too_fast,"
        "modal_share,longest_run,longest_absence,blurs,pastes,copies,left_after_copy,automated,"
        "no_input,narrow,jumps,checks,checks_passed,flags\r\n"
        f"journey,{study.manifest_hash},toy-places,{task.version},1,1,,A-JRNEY,person,completed,1,"
        "1,qualified,0.5,0.7071067811865476,2,1.0,1,SECONDS,ACTIVE,WORKED,0.0,ELAPSED,B1,3,"
        "1.0,2,ABSENCE,0,too_fast\r\n"
    )
    spans = (tmp_path / "out" / "spans.csv").read_bytes()
    assert spans == (
        b"study,manifest,task,task_version,shots,split,step,annotator,example,hash,segment,start,"
        b"end,text\r\n"
    )


def test_every_file_has_the_documented_columns(export):
    for name, columns in COLUMNS.items():
        with (export / name).open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == list(columns), name


@pytest.mark.engines
def test_answers_csv_has_one_row_per_turn_and_empty_lists(study, export):
    answers = rows(export, "answers.csv")
    assert len(answers) == sum(p.turns.count() for p in study.participations.all())
    assert any(
        row["answer"] == "[]" and row["gold"] == "[]" and row["s1"] == "1.0" for row in answers
    )
    assert {row["step"] for row in answers} == {"training", "annotation"}
    open_turn = [row for row in answers if not row["submitted_at"]]
    assert len(open_turn) == 1
    assert open_turn[0]["answer"] == open_turn[0]["s1"] == open_turn[0]["seconds"] == ""


@pytest.mark.long
def test_texts_are_exported_unaltered(researcher, tmp_path):
    text = '=1+1, "quoted"\r\n 😀 e\u0301 <b>&amp;\u00a0'
    task = factories.make_task(
        test=[Record("=id", (text,), "+Which?", ("quoted",), None)], shots=[], name="odd"
    )
    study = factories.make_study(researcher, task, shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    folder = tmp_path / "out"
    call_command("export_study", study.name, str(folder), verbosity=0)
    (example,) = rows(folder, "examples.csv")
    assert json.loads(example["segments"]) == [text]
    assert (example["example"], example["question"]) == ("=id", "+Which?")
    assert rows(folder, "spans.csv")[0]["text"] == "quoted"
    assert verify(folder).returncode == 0


def test_no_secret_is_in_an_export(study, export):
    written = b"".join(path.read_bytes() for path in export.iterdir()).decode()
    for participation in study.participations.select_related("worker"):
        assert participation.token not in written
        assert participation.worker.key not in written
        assert participation.completion_code not in written
    assert study.link_code not in written
    assert study.simulated_link_code not in written


def test_an_export_never_overwrites_and_leaves_no_partial_files(study, tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_study", study.name, str(folder))
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "mine.txt"]


@pytest.mark.long
def test_the_browser_gets_the_same_as_a_zip(client, researcher, study, export):
    client.force_login(researcher)
    reply = client.get(reverse("export_zip", args=[study.name]))
    assert f'filename="{study.name}.zip"' in reply["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(reply.getvalue())) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name) for name in archive.namelist()}
    assert files == {f"{study.name}/{path.name}": path.read_bytes() for path in export.iterdir()}


@pytest.mark.engines
def test_the_zip_begins_before_the_database_is_asked(study, django_assert_num_queries):
    pieces = files.stream_export(study)
    with django_assert_num_queries(0):
        assert next(pieces).startswith(b"PK")
    pieces.close()


@pytest.mark.engines
def test_verify_agrees_with_an_untouched_export(export):
    done = verify(export)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Consistent; not anchored" in done.stdout


@pytest.mark.long
def test_the_checksums_hold_every_file(export, capsys):
    for name in COLUMNS:
        text = (export / name).read_bytes()
        (export / name).write_bytes(text + b"\r\n")
        assert main(export) == 1
        assert f"{name}, SHA-256: found" in capsys.readouterr().out
        (export / name).write_bytes(text)
    assert main(export) == 0


def resummed(export) -> int:
    """Rewrite the checksums after a change to a file; return the exit status of verify.py."""
    files.write_sums(export)
    return main(export)


def write_rows(export, name, table):
    with (export / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS[name], lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(table)


@pytest.mark.long
@pytest.mark.parametrize("name", ["examples.csv", "answers.csv", "annotators.csv", "spans.csv"])
def test_verify_accepts_a_file_with_rows_in_another_order(export, name):
    write_rows(
        export,
        name,
        sorted(rows(export, name), key=lambda row: row["hash" if "hash" in row else "mean_s1"]),
    )
    assert resummed(export) == 0


@pytest.mark.long
def test_a_missing_row_and_a_missing_cell_are_named(export, capsys):
    for name in ("answers.csv", "spans.csv", "examples.csv", "annotators.csv"):
        whole = (export / name).read_bytes()
        lines = whole.split(b"\r\n")
        (export / name).write_bytes(b"\r\n".join([lines[0], *lines[2:]]))
        assert resummed(export) == 1, name
        assert "found" in capsys.readouterr().out
        lines[1] = lines[1].rpartition(b",")[0]
        (export / name).write_bytes(b"\r\n".join(lines))
        assert resummed(export) == 1
        assert f"{name}, row 2: " in capsys.readouterr().out
        (export / name).write_bytes(whole)


@pytest.mark.long
def test_only_completed_annotators_are_in_the_analysis_in_files(study, export):
    """`df[df.in_analysis == 1]` must exclude participants who left half-way."""
    for name in ("answers.csv", "annotators.csv"):
        counts = {row["status"]: row["in_analysis"] for row in rows(export, name)}
        assert counts == {"completed": "1", "working": "0"}, name
    assert verify(export).returncode == 0
    path = export / "annotators.csv"
    path.write_bytes(path.read_bytes().replace(b"working,0", b"working,1"))
    files.write_sums(export)
    assert "in_analysis: found '1', expected '0'" in verify(export).stdout


def test_the_table_counts_people_only_and_states_exclusions(study):
    Participation.objects.filter(
        pk=study.participations.filter(status="completed").first().pk
    ).update(in_analysis=False, seat_number=None)
    people = performance.performance(study)
    assert sum(cell.n for cell in people.cells.values()) == 11
    assert people.not_counted == ["1 excluded from the analysis"]
    simulated = performance.performance(study, Kind.SIMULATED)
    assert simulated.heading == "Simulated annotators (not people)"
    assert sum(cell.n for cell in simulated.cells.values()) == 0
    assert simulated.not_counted == ["1 in progress"]


@pytest.mark.engines
def test_a_cell_is_the_mean_and_sd_over_annotators(study):
    table = performance.performance(study)
    means = [
        100 * statistics.fmean(turn.answer.s1 for turn in p.turns.filter(step="annotation"))
        for p in study.participations.filter(
            scenario__shots=2, scenario__task__name="toy-places", status="completed", kind="person"
        )
    ]
    cell = table.cells["toy-places", 2]
    assert cell.n == 2
    assert cell.mean == pytest.approx(statistics.fmean(means))
    assert cell.sd_ddof1 == pytest.approx(statistics.stdev(means))
    assert cell.sd_ddof0 == pytest.approx(statistics.pstdev(means))
    assert cell.text == f"{cell.mean:.1f} ± {cell.sd_ddof1:.1f}"


def test_one_annotator_has_no_sd(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    assert performance.performance(study).cells["toy-places", 0].text == "100.0 ± –"


def test_the_table_can_be_had_as_markdown_and_latex(study):
    table = performance.performance(study)
    assert "| 0 shots |" in as_markdown(table)
    assert "toy-places" in as_markdown(table)
    latex = as_latex(table)
    assert r"\toprule" in latex
    assert r"$\pm$" in latex
    assert "±" not in latex.split(r"\begin{tabular}")[1]
    # The recipe and notes are inside the table, so they are pasted with it.
    inside = latex.split(r"\begin{threeparttable}")[1].split(r"\end{threeparttable}")[0]
    below = inside.split(r"\begin{tablenotes}")[1]
    assert below.count(r"\item ") == len(notes(table, with_intervals=True))
    assert rf"\label{{tab:{study.name}-human-performance-person}}" in inside
    assert r"0 shots, 95 \% CI & " in inside
    assert "which generalises to other people and other examples" in below
    assert "| 0 shots, 95 % CI |" in as_markdown(table)
    assert r"Recipe: s1\textbar{}match:exact" in below
    assert "ddof 1" in below
    assert [line for line in latex.splitlines() if line.startswith("%")] == [
        r"% \usepackage{booktabs,threeparttable}"
    ]
    for name in re.findall(r"\\begin\{(\w+)\}", latex):
        assert rf"\end{{{name}}}" in latex


def test_the_training_table_distinguishes_examples_by_content(study):
    rows = {(row.task, row.shots): row for row in training.training(study)}
    four = rows["toy-places", 4]
    assert [score.block.name for score in four.scores] == [
        "in the 2",
        "in the 4",
        "the 2 new examples of the 4",
    ]
    assert rows["toy-places", 2].texts[1:] == ["–", "–"]
    assert all("not nested" not in row.texts for row in rows.values())


@pytest.mark.engines
def test_training_table_has_means_and_sds_of_sets_and_additions(study, exported):
    """Tables 8 and 9 are recomputed from answers.csv, with training examples matched by content."""
    files = {}
    for example in rows(exported, "examples.csv"):
        if example["file_kind"] == "train":
            files.setdefault((example["task"], example["shots"]), set()).add(example["hash"])
    written = rows(exported, "training.csv")
    assert len(written) == 2 * 2 * 2 * 3  # kinds, tasks, groups, blocks
    spreads = set()
    for row in written:
        block = files[row["task"], row["in_shots"]]
        block = block - files.get((row["task"], row["not_in_shots"]), set())
        of_each = {}
        for answer in rows(exported, "answers.csv"):
            keys = ("kind", "task", "shots")
            if (
                all(answer[key] == row[key] for key in keys)
                and answer["in_analysis"] == "1"
                and answer["step"] == "training"
                and answer["hash"] in block
            ):
                of_each.setdefault(answer["annotator"], []).append(float(answer["s1"]))
        if row["mean_s1"] == "":
            assert int(row["in_shots"]) > int(row["shots"]) or row["kind"] == "simulated"
            continue
        means = [statistics.fmean(scores) for scores in of_each.values()]
        assert (row["n"], row["nested"], row["split"]) == (str(len(means)), "1", "1")
        assert float(row["mean_s1"]) == pytest.approx(statistics.fmean(means), abs=1e-9)
        assert float(row["sd_ddof1"]) == pytest.approx(statistics.stdev(means), abs=1e-9)
        assert float(row["sd_ddof0"]) == pytest.approx(statistics.pstdev(means), abs=1e-9)
        spreads.add(row["sd_ddof1"])
    assert spreads - {"0.0"}
    places = {row.shots: row for row in training.training(study) if row.task == "toy-places"}
    assert [places[2].texts[0], places[4].texts[1]] == [
        f"{score.mean:.1f} ± {score.sd_ddof1:.1f}"
        for score in (places[2].scores[0], places[4].scores[1])
    ]


@pytest.mark.long
@pytest.mark.engines
def test_training_table_query_count_is_constant_in_tasks(researcher, django_assert_num_queries):
    for number in (1, 3):
        names = [f"toy-{number}-{index}" for index in range(number)]
        tasks = [factories.make_task(name=name) for name in names]
        study = factories.make_study(researcher, *tasks, shots=[2, 4], annotators=1)
        for scenario in study.scenarios.all():
            factories.work_through(factories.seat(scenario))
        with django_assert_num_queries(4):
            rows = training.training(study)
        once = "100.0 ± –"
        assert [row.texts for row in rows] == [[once, "–", "–"], [once] * 3] * number


@pytest.mark.long
def test_training_table_counts_completed_unexcluded_annotators(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], annotators=4)
    scenario = study.scenarios.get()
    for answer in (None, lambda turn: ["home"]):
        factories.work_through(factories.seat(scenario), answer)
    out = factories.seat(scenario)
    factories.work_through(out, lambda turn: ["home"])
    Participation.objects.filter(pk=out.pk).update(in_analysis=False, seat_number=None)
    factories.work_through(factories.seat(scenario), lambda turn: ["home"], limit=3)
    (row,) = training.training(study)
    assert (row.n, row.texts) == (2, ["50.0 ± 70.7"])
    assert row.scores[0].sd_ddof0 == 50
    assert training.training(study, Kind.SIMULATED)[0].n == 0


@pytest.mark.engines
def test_means_and_sds_of_annotators_are_exact(researcher, django_assert_num_queries):
    """They equal verify.py's to the last digit, whatever order the database returns answers in."""
    study = factories.make_study(
        researcher, factories.make_task(test_size=40), shots=[0], annotators=1
    )
    participation = factories.seat(study.scenarios.get())
    factories.work_through(participation, lambda turn: ["went", "home", *turn.example.gold][-3:])
    with django_assert_num_queries(2) as seen:
        frame = frames.annotators(study)
    # Completed participations store these numbers.
    assert not any('FROM "annotation_answer"' in query["sql"] for query in seen.captured_queries)
    s1 = [a.s1 for a in Answer.objects.filter(turn__participation__scenario__study=study)]
    assert len(set(s1)) > 2
    assert frame["mean_s1"][0] == mean(s1)
    assert frame["sd_examples"][0] == deviation(s1, 1)


@pytest.mark.long
@pytest.mark.sqlite
def test_on_sqlite_an_export_is_a_snapshot_during_answers(tmp_path):
    own = {"HANDFUL_VAR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'own.sqlite3'}"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("sqlite_snapshot.py")],
        env=os.environ | own,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "0 0 2", done.stderr


@pytest.mark.engines
def test_splits_that_are_not_nested_give_no_number(researcher):
    train = {2: factories.place_records("a", 2), 4: factories.place_records("b", 4)}
    study = factories.make_study(
        researcher, factories.make_task(train=train), shots=[2, 4], annotators=1
    )
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    by_shots = {row.shots: row.texts for row in training.training(study)}
    assert by_shots[2][0] == by_shots[4][1] == "100.0 ± –"
    assert [by_shots[4][0], by_shots[4][2]] == ["not nested", "not nested"]


@pytest.mark.long
def test_the_pages_show_the_tables(client, researcher, study):
    client.force_login(researcher)
    about = reverse("human_performance", args=[study.name], query={"kind": "simulated"})
    page = client.get(about).content.decode()
    assert "Simulated annotators (not people)" in page
    assert "s1|match:exact" in page
    for ext in ("csv", "md", "tex"):
        assert (
            client.get(reverse("human_performance_file", args=[study.name, ext])).status_code == 200
        )
    assert (
        client.get(reverse("human_performance_file", args=[study.name, "exe"])).status_code == 404
    )
    assert (
        "the 2 new examples of the 4"
        in client.get(reverse("training", args=[study.name]), follow=True).content.decode()
    )


def test_a_draft_can_be_exported_and_verified(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task(), status="draft")
    folder = tmp_path / "draft"
    call_command("export_study", study.name, str(folder), verbosity=0)
    assert verify(folder).returncode == 0
    shutil.rmtree(folder)


@pytest.mark.long
def test_a_blank_line_in_a_draft_file_is_named_without_traceback(researcher, tmp_path):
    study = factories.make_study(researcher, factories.make_task(), status="draft")
    folder = tmp_path / "draft"
    call_command("export_study", study.name, str(folder), verbosity=0)
    metrics = folder / "metrics.csv"
    metrics.write_bytes(metrics.read_bytes() + b"\r\n")
    done = verify(folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert "metrics.csv, SHA-256: found" in done.stdout


def test_the_export_names_what_its_numbers_were_computed_with(study, export):
    versions = json.loads((export / "versions.json").read_text())
    assert versions["numpy"] == np.__version__
    assert set(versions) == {
        "handful", "python", "numpy", "pandas", "seed", "opened_at", "closed_at",
    }  # fmt: skip
    assert versions["seed"] == study.seed
    assert versions["opened_at"] == moment(study.opened_at)
    assert versions["closed_at"] is None


UNREADABLE = {
    "UTF-16": lambda text: text.encode("utf-16"),
    "cp1252": lambda text: text.replace("toy", "t\xf6y").encode("cp1252"),
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "a quote that never ends": lambda text: text.encode() + b'"',
}


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_file_that_cannot_be_read_is_named_without_a_traceback(export, how):
    path = export / "annotators.csv"
    path.write_bytes(UNREADABLE[how](path.read_text()))
    files.write_sums(export)
    done = verify(export)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"FAILED.*\n?.*annotators\.csv", done.stdout)
    path.unlink()
    done = verify(export)
    assert (done.returncode, done.stderr) == (1, "")
    assert "annotators.csv, SHA-256: found 'missing'" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp1252", "utf-8"])
def test_verify_works_with_any_encoding_of_the_console(researcher, tmp_path, encoding):
    text = "\u0141\u00f3d\u017a \U0001f600 at home."
    task = factories.make_task(test=[Record("1", (text,), "?", ("home",), None)], shots=[])
    study = factories.make_study(researcher, task, shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    files.write_export(study, tmp_path / "out")
    path = tmp_path / "out" / "examples.csv"
    path.write_bytes(path.read_bytes().replace("\u0141".encode(), b"L"))
    done = subprocess.run(
        [sys.executable, str(path.with_name("verify.py"))],
        capture_output=True, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode(encoding).splitlines()[-1] == "Differences found."
