"""The command that settles on Prolific itself what its documents leave open."""

import json

import pytest
from django.core.management import CommandError, call_command

from tests.annotation.prolific.fixtures import IDA


def check(capsys, *options) -> dict[str, str]:
    call_command("prolific_check", *options)
    lines = capsys.readouterr().out.splitlines()
    return dict(line.split(": ", 1) for line in lines)


def test_it_reports_the_platforms_behaviour_and_leaves_no_draft(fake, capsys):
    findings = check(capsys)
    assert findings["currency"] == "GBP"
    assert findings["longest time of 12 minutes"].startswith("12")
    assert findings["longest time of 10 minutes (too short)"].startswith("refused")
    assert findings["signed addresses"].startswith("Prolific answered 400")
    assert findings["paid screen-out"] == "accepted"
    assert findings["what REQUEST_RETURN does"] == "not checked (--study)"
    assert fake.studies() == []


def test_read_only_creates_nothing(fake, capsys):
    assert "paid screen-out" not in check(capsys, "--read-only")


def test_it_reports_a_token_and_the_outcome_of_return_requests(fake, signed, capsys):
    arrival = fake.arrive(signed.external_id, IDA)
    fake.complete(arrival["session_id"], signed.codes["no_consent"])
    findings = check(
        capsys, "--read-only", "--address", arrival["url"], "--study", signed.external_id
    )
    assert findings["audience of a token"] == "whole address"
    assert findings["key of the token is published"] == "True"
    assert findings["lifetime in seconds"] == "120"
    assert findings["subject is the submission"] == "True"
    assert "PROLIFIC_PID" in findings["names in the claim"]
    assert json.loads(findings["what REQUEST_RETURN does"]) == {"AWAITING_REVIEW": 1}
    assert IDA not in str(findings)


def test_an_address_without_a_token_is_reported(fake):
    with pytest.raises(CommandError, match="no readable token"):
        call_command("prolific_check", "--read-only", "--address", "https://x.example/?a=1")
