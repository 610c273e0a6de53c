"""The fake Prolific, spoken to over HTTP: what a researcher's program may rely on."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from annotation.simulation.fake_prolific.platform import FakeProlific
from tests.annotation.prolific_http import (
    ANN,
    BEA,
    HEX_ID,
    Http,
    arrive,
    batch_of,
    code,
    come_back,
    paid,
    published,
    status_of,
)


@pytest.fixture
def fake():
    return FakeProlific()


@pytest.fixture
def api(fake):
    with fake.serve() as server:
        yield Http(server.url)


# The door


@pytest.mark.parametrize("token", ["", "another"])
def test_without_the_token_nothing_is_said(api, token):
    assert "credentials" in Http(api.url, token).refused("GET", "users/me/", status=401)
    assert HEX_ID.fullmatch(api.get("users/me/")["id"])


def test_an_address_means_the_same_without_its_final_slash(api):
    assert api.get("users/me") == api.get("users/me/")
    api.refused("GET", "nothing/", status=404)
    api.refused("DELETE", "studies/", status=405)


def test_a_body_that_is_no_json_object_is_refused(api):
    assert "object" in api.refused("POST", "studies/", ["a list"])


# Completion


@pytest.mark.parametrize(
    ("cc", "status", "kind", "cents"),
    [
        ("DONE", "APPROVED", "reward", 300),
        ("LOOK", "AWAITING REVIEW", None, 0),
        ("OUT", "SCREENED OUT", "screen_out", 100),
        ("NO", "AWAITING REVIEW", None, 0),
        ("GUESSED", "AWAITING REVIEW", None, 0),
        ("PAID", "AWAITING REVIEW", None, 0),  # the researcher's code says nothing here
    ],
)
def test_a_completion_code_does_what_it_was_set_up_for(api, cc, status, kind, cents):
    study = published(api)
    session = arrive(api, study, ANN)
    assert status in come_back(api, session, cc)
    submission = api.get(f"submissions/{session}/")
    assert (submission["status"], submission["entered_code"]) == (status, cc)
    assert submission["completed_at"]
    entries = api.get("/fake/books").get(ANN, {"entries": []})["entries"]
    expected = {"kind": kind, "cents": cents, "study": study, "submission": session}
    assert entries == ([expected] if kind else [])


def test_a_code_that_requests_a_return_only_asks(api):
    study = published(api, total_available_places=1)
    session = arrive(api, study, ANN)
    assert "asks you to return" in come_back(api, session, "NO")
    submission = api.get(f"submissions/{session}/")
    assert (submission["status"], bool(submission["return_requested"])) == ("AWAITING REVIEW", True)
    assert api.get(f"studies/{study}/")["places_taken"] == 1
    api.post("/fake/return_submission", {"session": session})
    assert status_of(api, session) == "RETURNED"
    assert api.get(f"studies/{study}/")["places_taken"] == 0


def test_coming_back_twice_pays_once_and_the_first_code_counts(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "DONE")
    assert "changed nothing" in come_back(api, session, "LOOK")
    come_back(api, session, "DONE")
    assert (status_of(api, session), paid(api, ANN)) == ("APPROVED", 300)


def test_a_code_is_shown_escaped(api):
    page = come_back(api, arrive(api, published(api), ANN), "<script>alert(1)</script>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_screen_out_slots_pause_the_study_when_they_are_used_up(api):
    screen_out = code("OUT", "FIXED_SCREEN_OUT_PAYMENT", fixed_screen_out_reward=100, slots=1)
    study = published(api, completion_codes=[screen_out])
    come_back(api, arrive(api, study, ANN), "OUT")
    assert api.get(f"studies/{study}/")["status"] == "PAUSED"


# Review


def test_a_rejection_needs_a_long_message_and_a_category(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    path = f"submissions/{session}/transition/"
    asked = {"action": "REJECT", "message": "x" * 99, "rejection_category": "OTHER"}
    assert "100" in api.refused("POST", path, asked)
    asked["message"] += "x"
    assert "category" in api.refused("POST", path, {**asked, "rejection_category": "BORING"})
    assert status_of(api, session) == "AWAITING REVIEW"
    assert api.post(path, asked)["status"] == "REJECTED"
    api.refused("POST", path, {"action": "APPROVE"})
    assert paid(api, ANN) == 0


# Time


def test_a_submission_times_out_and_its_place_is_free(api):
    study = published(api, total_available_places=1)
    session = arrive(api, study, ANN)
    api.post("/fake/advance", {"seconds": 59 * 60})
    assert status_of(api, session) == "ACTIVE"
    api.post("/fake/advance", {"seconds": 2 * 60})
    arrive(api, study, BEA)
    assert status_of(api, session) == "TIMED-OUT"
    assert "TIMED-OUT" in come_back(api, session, "DONE")
    assert paid(api, ANN) == 0


def test_what_nobody_reviews_is_approved_after_21_days(api):
    session = arrive(api, published(api), ANN)
    come_back(api, session, "LOOK")
    api.post("/fake/advance", {"seconds": 21 * 86400 - 60})
    assert status_of(api, session) == "AWAITING REVIEW"
    api.post("/fake/advance", {"seconds": 120})
    assert (status_of(api, session), paid(api, ANN)) == ("APPROVED", 300)


# Bonuses


def test_bonuses_are_paid_in_two_steps_in_cents(api):
    study = published(api)
    first, second = arrive(api, study, ANN), arrive(api, study, BEA)
    batch = batch_of(api, study, f"{ANN},1.50\n{second},0.2\n{ANN},30\n")
    assert (batch["amount"], paid(api, ANN)) == (3170, 0)
    assert batch["total_amount"] == batch["amount"] + batch["fees"]
    status, told, _ = api("POST", f"bulk-bonus-payments/{batch['id']}/pay/", {})
    assert (status, type(told)) == (202, str)
    assert (paid(api, ANN), paid(api, BEA)) == (3150, 20)
    assert api.get(f"submissions/{first}/")["bonus_payments"] == [150, 3000]
    cost = api.get(f"studies/{study}/cost/")
    assert cost["bonuses"]["rewards"]["amount"] == 3170


def test_a_batch_that_is_paid_twice_pays_twice_as_the_reference_warns(api):
    study = published(api)
    arrive(api, study, ANN)
    pay = f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},1.50')['id']}/pay/"
    api.post(pay)
    api.post(pay)
    assert paid(api, ANN) == 300


def test_a_second_payment_of_a_batch_can_be_refused(api):
    study = published(api)
    arrive(api, study, ANN)
    pay = f"bulk-bonus-payments/{batch_of(api, study, f'{ANN},1.50')['id']}/pay/"
    api.post("/fake/mode", {"pay_again": False})
    api.post(pay)
    assert "already paid" in api.refused("POST", pay)
    assert paid(api, ANN) == 150


@pytest.mark.parametrize("line", [f"{BEA},1.50", "1.50", f"{ANN},1.505", f"{ANN},0", f"{ANN},-1"])
def test_a_wrong_line_of_bonuses_is_named_and_nothing_is_set_up(api, line):
    study = published(api)
    arrive(api, study, ANN)
    asked = {"study_id": study, "csv_bonuses": f"{ANN},1.00\n{line}\n"}
    assert "line 2" in api.refused("POST", "submissions/bonus-payments/", asked)
    assert paid(api, ANN) == 0


# Bad days


@pytest.mark.parametrize(
    "setting",
    [{"sulk": 1}, {"slow": "x"}, {"webhooks": "maybe"}, {"signing": "yes"}, {"pay_again": 1}],
)
def test_a_mode_that_does_not_exist_is_refused(api, setting):
    api.refused("POST", "/fake/mode", setting)


# By hand, and from one day to the next


def test_a_whole_visit_by_hand(api):
    study = published(api, internal_name="<b>SST-2</b>")
    browser = Http(api.url, token="")
    home = browser.get("/")
    assert "&lt;b&gt;SST-2" in home
    assert "0 of 3" in home
    form = {"study_id": study, "participant_id": ANN}
    status, _, headers = browser("POST", "/fake/arrive", form=form)
    assert status == 303
    assert headers["Location"].startswith("https://handful.example:8443/r/prolific/?PROLIFIC_PID=")
    cookie = headers["Set-Cookie"].split(";")[0]
    session = cookie.removeprefix("fake_prolific_submission=")
    assert "1 of 3" in browser.get("/")
    status, page, _ = browser("GET", "/submissions/complete?cc=DONE", Cookie=cookie)
    assert "APPROVED" in page
    assert "reward 3.00" in browser.get("/")
    status, page, _ = browser("POST", "/fake/arrive", form=form)
    assert (status, "took part already" in page) == (409, True)
    status, page, _ = browser("POST", "/fake/time_out", form={"session": session})
    assert status == 409


def test_a_browser_that_nobody_knows_completes_nothing(api):
    assert Http(api.url, token="")("GET", "/submissions/complete?cc=DONE")[0] == 404


def start_command(state):
    command = [sys.executable, "manage.py", "fake_prolific", "--port", "0", "--token", "t"]
    process = subprocess.Popen(
        [*command, "--state", str(state)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [process.stdout.readline() for _ in range(3)]
    exports = dict(re.findall(r"(PROLIFIC_\w+)=(\S+)", "".join(lines)))
    return process, exports


@pytest.mark.long
def test_the_command_says_what_to_export_and_keeps_its_books(tmp_path):
    state = tmp_path / "fake.json"
    process, exports = start_command(state)
    try:
        api = Http(exports["PROLIFIC_APP_URL"], exports["PROLIFIC_TOKEN"])
        assert api.get(exports["PROLIFIC_URL"] + "/api/v1/users/me/")["id"]
        keys = api.get(exports["PROLIFIC_URL"] + "/.well-known/study/jwks.json")
        study = published(api)
        come_back(api, arrive(api, study, ANN), "DONE")
        books = api.get("/fake/books")
    finally:
        process.kill()  # not even a goodbye: what was answered is kept
        process.communicate()
    process, exports = start_command(state)
    try:
        api = Http(exports["PROLIFIC_APP_URL"], exports["PROLIFIC_TOKEN"])
        assert api.get("/fake/books") == books
        assert books[ANN]["paid_cents"] == 300
        assert api.get(exports["PROLIFIC_URL"] + "/.well-known/study/jwks.json") == keys
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 0
    finally:
        process.kill()
