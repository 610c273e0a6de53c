"""The client and its commands against a server over HTTP."""

import subprocess
import sys
from pathlib import Path

import handful
import pytest
from handful import ApiError
from handful.cli import main


def test_studies_are_listed_and_looked_at(client):
    assert [row["name"] for row in client.studies.list()] == ["pilot"]
    study = client.studies["pilot"]
    assert (study.status, study.data["shots"]) == ("open", [0, 10])
    with pytest.raises(KeyError, match="no study 'nobody'"):
        client.studies["nobody"]


def test_tables_are_rows_and_data_frames(client):
    table = client.studies["pilot"].human_performance()
    rows = list(table)
    assert {row["kind"] for row in rows} >= {"simulated"}
    frame = table.to_pandas()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows)
    assert "demo-sentiment" in table.as_text("task", "shots", "kind", "mean")


def test_the_joint_table_says_who_each_row_is(client):
    rows = list(client.studies["pilot"].joint_table())
    studied = [row for row in rows if row["source"] == "study"]
    assert {row["kind"] for row in studied} >= {"simulated"}
    assert {row["task"] for row in studied} == {"demo-sentiment", "demo-questions"}


def test_a_wrong_token_is_said(served):
    with handful.Client(served[0], "wrong") as client, pytest.raises(ApiError) as refused:
        list(client.studies.list())
    assert refused.value.status == 401


def test_nobody_at_that_address(home):
    with (
        handful.Client("http://127.0.0.1:9", "x", attempts=1) as client,
        pytest.raises(handful.NotReachable, match="does not answer"),
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


def test_login_keeps_a_token_that_works_and_no_other(served, home, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", _Line("wrong"))
    assert main(["login", served[0]]) == 1
    assert not list(home.rglob("logins.json"))
    monkeypatch.setattr("sys.stdin", _Line(served[1]))
    assert main(["login", served[0]]) == 0
    said = capsys.readouterr()
    assert served[1] not in said.out + said.err
    (file,) = home.rglob("logins.json")
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_console_script_lists_studies(logged_in, capfd):
    program = Path(sys.executable).with_name("handful")
    assert subprocess.run([program, "study", "list"], check=False).returncode == 0
    assert "pilot" in capfd.readouterr().out


def test_an_unknown_study_is_a_sentence_and_no_traceback(logged_in, capsys):
    assert main(["export", "nobody", str(logged_in / "out")]) == 1
    assert capsys.readouterr().err == (
        "handful: There is no study 'nobody' that this token may see.\n"
    )
