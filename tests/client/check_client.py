"""The client and its commands against a server over HTTP."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import handful
import pytest
from handful import ApiError, HandfulError
from handful.cli import main

DEMO = Path(__file__).parents[2] / "tasks" / "demo"
TEST = "sentiment_test.jsonl"


def test_studies_are_listed_and_looked_up(client):
    assert "pilot" in [row["name"] for row in client.studies.list()]
    study = client.studies["pilot"]
    assert (study.status, study.data["shots"]) == ("open", [0, 10])
    with pytest.raises(KeyError, match="No study 'unknown'"):
        client.studies["unknown"]


def test_tables_can_be_read_as_rows_or_data_frames(client):
    table = client.studies["pilot"].human_performance()
    rows = list(table)
    assert {row["kind"] for row in rows} >= {"simulated"}
    frame = table.to_pandas()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows)
    assert "demo-sentiment" in table.as_text("task", "shots", "kind", "mean")


def test_the_joint_table_names_the_kind_of_each_row(client):
    rows = list(client.studies["pilot"].joint_table())
    studied = [row for row in rows if row["source"] == "study"]
    assert {row["kind"] for row in studied} >= {"simulated"}
    assert {row["task"] for row in studied} == {"demo-sentiment", "demo-questions"}


def test_a_wrong_token_is_an_error(served):
    with handful.Client(served[0], "wrong") as client, pytest.raises(ApiError) as refused:
        list(client.studies.list())
    assert refused.value.status == 401


def test_an_unreachable_server_is_reported(home):
    with (
        handful.Client("http://127.0.0.1:9", "x", attempts=1) as client,
        pytest.raises(handful.NotReachable, match="does not respond"),
    ):
        list(client.studies.list())


@pytest.fixture
def logged_in(served, home, monkeypatch):
    monkeypatch.setattr("sys.stdin", _Line(served[1]))
    assert main(["login", served[0]]) == 0
    return home


class _Line:
    """Standard input with one line, as from a pipe."""

    def __init__(self, line):
        self.line = line

    def isatty(self):
        return False

    def readline(self):
        return f"{self.line}\n"


def test_login_stores_only_a_token_that_works(served, home, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", _Line("wrong"))
    assert main(["login", served[0]]) == 1
    assert not list(home.rglob("logins.json"))
    monkeypatch.setattr("sys.stdin", _Line(served[1]))
    assert main(["login", served[0]]) == 0
    said = capsys.readouterr()
    assert served[1] not in said.out + said.err
    (file,) = home.rglob("logins.json")
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_console_script_exports_a_study(logged_in, capfd):
    program = Path(sys.executable).with_name("handful")
    target = logged_in / "pilot.zip"
    assert subprocess.run([program, "export", "pilot", target], check=False).returncode == 0
    assert str(target) in capfd.readouterr().out


def test_an_unknown_study_is_an_error_message_without_traceback(logged_in, capsys):
    assert main(["export", "unknown", str(logged_in / "out")]) == 1
    assert capsys.readouterr().err == ("handful: No study 'unknown' is visible to this token.\n")


def test_a_study_is_run_and_exported(logged_in, client, capsys):
    """Import, design, open, close, export and verify."""
    task = client.tasks.import_files(DEMO / "inference")
    assert task == {"name": "demo-inference", "version": 1, "created": True}
    design = logged_in / "study.toml"
    design.write_text('name = "toml"\ntasks = ["demo-inference"]\nshots = [0]\nannotators = "x"\n')
    report = client.studies.validate(design)
    assert (report["valid"], list(report["problems"])) == (False, ["annotators"])
    with pytest.raises(ApiError, match="annotators"):
        client.studies.create(design)
    assert "toml" not in [row["name"] for row in client.studies.list()]
    design.write_text('name = "toml"\ntasks = ["demo-inference"]\nshots = [0]\nrehearsal = true\n')
    study = client.studies.create(str(design)).open()
    assert study.link.startswith("http")
    study.simulate("gold", number=1, progress=False)
    assert study.close().status == "closed"

    assert main(["export", "toml", str(logged_in / "out"), "--verify"]) == 0
    assert main(["export", "toml", str(logged_in / "out")]) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["export", "toml", str(logged_in / "out.zip")]) == 0
    assert zipfile.ZipFile(logged_in / "out.zip").testzip() is None


def test_predictions_are_scored(logged_in, client, capsys):
    rows = [json.loads(line) for line in (DEMO / "sentiment" / TEST).read_text().splitlines()]
    file = logged_in / "mine.jsonl"
    lines = [json.dumps({"id": row["id"], "predicted": row["answer"]}) for row in rows]
    file.write_text("\n".join(lines[:-1]))
    place = ["--task", "demo-sentiment", "--shots", "0"]
    assert main(["score", str(file), "--model", "gold", *place]) == 1
    assert "have no prediction" in capsys.readouterr().err
    file.write_text("\n".join(lines))
    assert main(["score", str(file), "--model", "gold", *place]) == 0
    assert "demo-sentiment  0      S1      1.000" in capsys.readouterr().out
    assert len(list(client.models.predictions("gold"))) == len(rows)
    client.models.delete("gold")
    with pytest.raises(ApiError):
        client.models.get("gold")


def test_an_invalid_design_names_its_keys(client):
    told = client.studies.validate({"name": "x", "tasks": ["unknown"], "shots": [0]})
    assert not told["valid"]
    with pytest.raises(ApiError) as refused:
        client.studies.create({"name": "x", "tasks": ["demo-sentiment"], "shots": [0], "seats": 3})
    assert refused.value.status == 422
    assert "seats" in str(refused.value)


def test_lists_are_read_from_every_page(client):
    study = client.studies["pilot"]
    some = list(client.connection.rows("studies/pilot/answers/", page_size=7))
    assert len(some) == len(list(study.answers())) > 7
    assert {row["kind"] for row in study.answers(kind="simulated")} == {"simulated"}
    # Other tests may have taken seats in this study.
    assert {row["kind"] for row in study.answers(kind="person")} <= {"person"}


def test_what_is_due_needs_a_token_with_the_pay_scope(client):
    with pytest.raises(ApiError) as refused:
        client.studies["pilot"].pay()
    assert refused.value.status == 403


def test_a_missing_file_is_an_error(client, tmp_path):
    with pytest.raises(HandfulError, match="no such file or folder"):
        client.tasks.import_files(tmp_path / "nowhere")
