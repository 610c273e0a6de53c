"""Questions about the instructions, consent text, attention checks, exit questionnaire."""

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from analysis.scores import frames
from annotation.models import Answer, ExitAnswers, Step
from annotation.protocol import attention_checks, training_step
from annotation.protocol.answering import Conflict
from annotation.recruitment import consent, join_errors, seats
from annotation.study import design, lifecycle
from annotation.web import wording
from tasks.formats import FormatError
from tests import factories

QUESTIONS = """How often can you change an answer?
- As often as I like
* Never

What comes after the training step?
* Examples without the right answer
- Nothing
"""


@pytest.fixture
def asked(researcher):
    """A participant who has consented to a study with two questions."""
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], comprehension_questions=QUESTIONS
    )
    seat = factories.join(study)
    consent.record(seat, agree=True)
    return seat


def attempt(client, seat, first="1", second="0"):
    fields = {"question-1": first, "question-2": second}
    fields = {name: value for name, value in fields.items() if value}
    return client.post(reverse("comprehend", args=[seat.token]), fields)


def test_the_first_example_needs_the_right_answers(client, asked):
    page = client.get(reverse("work", args=[asked.token])).content.decode()
    assert "You have 2 attempts left" in page
    assert reverse("begin", args=[asked.token]) not in page
    with pytest.raises(Conflict):
        training_step.begin(asked.token)
    attempt(client, asked)
    assert (
        reverse("begin", args=[asked.token])
        in client.get(reverse("work", args=[asked.token])).content.decode()
    )


def test_a_wrong_attempt_names_the_question_and_allows_another(client, asked):
    reply = attempt(client, asked, second="1")
    assert reply.status_code == 422
    assert "question 2" in reply.content.decode()
    assert "You have 1 attempt left" in reply.content.decode()
    attempt(client, asked)
    asked.refresh_from_db()
    assert asked.comprehended_at is not None


def test_an_incomplete_attempt_does_not_count(client, asked):
    assert attempt(client, asked, second="").status_code == 422
    asked.refresh_from_db()
    assert asked.comprehension_attempts_used == 0


def test_a_failed_annotator_cannot_restart_with_the_same_link(client, asked):
    for _attempt in range(2):
        attempt(client, asked, first="0")
    asked.refresh_from_db()
    assert asked.status == "screened_out"
    worker = asked.worker
    with pytest.raises(join_errors.RecruitmentError) as refused:
        seats.join(asked.study_id, worker.key, worker.platform, worker.kind)
    assert refused.value.code == "done"


def test_the_last_wrong_attempt_is_a_paid_exit_not_a_rejection(client, asked):
    attempt(client, asked, "0", "0")
    attempt(client, asked, "0", "1")
    asked.refresh_from_db()
    assert (asked.status, asked.seat_number, asked.is_paid) == ("screened_out", None, True)


# Consent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "holds", "never"),
    [
        ("We **pay** you", "<strong>pay</strong>", ""),
        ("<script>alert(1)</script>", "&lt;script&gt;", "<script"),
        ("[x](javascript:alert(1))", "", "<a"),
        ("[x](https://example.org)", 'href="https://example.org"', ""),
        ("![x](https://example.org/a.png)", "", "<img"),
        ("# Title", "<h2>Title</h2>", "<h1"),
        ("<b onclick=x>y</b>", "", "<b"),
    ],
)
def test_consent_markdown_is_rendered_and_html_escaped(markdown, holds, never):
    html = wording.as_html(markdown)
    assert holds in html
    assert not never or never not in html


def test_the_consented_version_is_stored_and_new_text_is_another(researcher):
    study = factories.make_study(researcher, factories.make_task(), consent_text="First.")
    lifecycle.change_status(study, "draft")
    lifecycle.change_status(study, "open")
    assert study.consent_texts.count() == 1
    lifecycle.change_status(study, "draft")
    study.consent_text = "Second."
    design.save_draft(study, list(study.tasks.all()))
    lifecycle.change_status(study, "open")
    seat = factories.join(study)
    consent.record(seat, agree=True)
    seat.refresh_from_db()
    assert (seat.consent_text.version, seat.consent_text.text) == (2, "Second.")


# Attention checks --------------------------------------------------------------------------------


def check_file(folder, number=2):
    path = folder / "checks.jsonl"
    lines = [
        {
            "id": f"check-{index}",
            "context": f"This is attention check {index}: highlight the word Oslo.",
            "question": "Which places are named?",
            "answer": ["Oslo"],
        }
        for index in range(number)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


@pytest.fixture
def checked(researcher, tmp_path):
    task = factories.make_task(test_size=6)
    attention_checks.import_checks(task, check_file(tmp_path))
    study = factories.make_study(researcher, task, shots=[2], attention_checks=2)
    return factories.seat(study.scenarios.get())


def test_checks_are_spread_over_the_annotation_step_never_first(checked):
    order = checked.annotation_order
    assert len(order) == 8
    places = [order.index(pk) for pk in checked.checks]
    assert len(places) == 2
    assert 0 not in places


@pytest.mark.long
def test_checks_do_not_count_in_s1_but_their_result_is_stored(checked):
    def answer(turn):
        return [] if turn.step == Step.CHECK else list(dict.fromkeys(turn.example.gold))

    factories.work_through(checked, answer)
    checked.refresh_from_db()
    assert checked.status == "completed"
    assert attention_checks.results(checked) == (0, 2)
    row = frames.annotators(checked.study).iloc[0]
    assert (row["mean_s1"], row["n"], row["training_n"]) == (1.0, 6, 2)
    assert Answer.objects.count() == 10


def test_a_check_looks_like_any_other_example(client, checked):
    factories.work_through(checked, limit=2)
    factories.go_on(checked.token)
    seen = set()
    for _example in range(8):
        turn = checked.latest_turn()
        page = client.get(reverse("work", args=[checked.token])).content.decode()
        assert "Main part, example" in page
        assert 'data-step="annotation"' in page
        assert "check-" not in page
        seen.add(turn.step)
        factories.work_through(checked, limit=1)
    assert seen == {"annotation", "check"}


def test_a_second_file_of_checks_is_refused(checked, tmp_path):
    with pytest.raises(FormatError, match="already"):
        attention_checks.import_checks(checked.scenario.task, check_file(tmp_path))


# Exit questionnaire ------------------------------------------------------------------------------


def test_exit_questions_are_optional_and_the_first_answers_count(client, researcher):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], exit_questionnaire=True
    )
    seat = factories.seat(study.scenarios.get())
    address = reverse("questionnaire", args=[seat.token])
    client.post(address, {"comments": "too early"})
    assert not ExitAnswers.objects.exists()
    factories.work_through(seat)
    work = reverse("work", args=[seat.token])
    assert "A few last questions" in client.get(work).content.decode()
    assert client.post(address, {"ai_used": "maybe"}).status_code == 422
    client.post(address, {"ai_used": "no", "comments": "fine <b>"})
    client.post(address, {"ai_used": "yes"})
    stored = ExitAnswers.objects.get()
    assert (stored.ai_used, stored.seen_before, stored.comments) == ("no", "", "fine <b>")
    end = client.get(work).content.decode()
    assert "A few last questions" not in end
    assert "Your answers to the last questions are saved. Thank you!" in end


def test_checks_are_attached_on_the_tasks_page(client, researcher, tmp_path):
    task = factories.make_task(by=researcher)
    client.force_login(researcher)
    address = reverse("task_checks", args=[task.name, task.version])
    assert client.post(address).status_code == 422
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "1"}')
    long = SimpleUploadedFile("é" * 200 + ".jsonl", b"{}")
    assert client.post(address, {"checks": long}).status_code == 422
    with bad.open("rb") as file:
        reply = client.post(address, {"checks": file})
    assert "bad.jsonl, line 1, field context" in reply.content.decode()
    with check_file(tmp_path).open("rb") as file:
        assert client.post(address, {"checks": file}).status_code == 302
    page = client.get(reverse("task", args=[task.name, task.version])).content.decode()
    assert "checks.jsonl" in page
    assert 'name="checks"' not in page


def test_wrong_answers_are_reported_where_the_page_scrolls_to(client, asked):
    page = client.get(reverse("work", args=[asked.token])).content.decode()
    assert f'action="{reverse("comprehend", args=[asked.token])}#questions"' in page
    reply = attempt(client, asked, second="1").content.decode()
    assert reply.count('role="alert"') == 1
    assert reply.index('id="questions" tabindex="-1"') < reply.index("Please check question 2")


def test_right_answers_lead_to_the_begin_section_that_says_so(client, asked):
    reply = attempt(client, asked)
    assert reply["Location"] == reverse("work", args=[asked.token]) + "#begin"
    page = client.get(reverse("work", args=[asked.token])).content.decode()
    assert 'id="begin"' in page
    assert "All your answers are right. You can start." in page


def test_the_exit_page_names_the_failed_questions_as_the_reason(client, asked):
    for _attempt in range(2):
        attempt(client, asked, first="0")
    page = client.get(reverse("work", args=[asked.token])).content.decode()
    assert "You have no attempts left for the questions about the instructions" in page
    assert "Only some of the people" not in page


def test_instructions_without_questions_have_no_begin_section(client, researcher):
    seat = factories.join(factories.make_study(researcher, factories.make_task(), shots=[2]))
    consent.record(seat, agree=True)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert 'id="begin"' not in page


def test_the_title_of_a_help_window_is_one_element(client, researcher):
    """Its summary spreads its pieces over the whole line."""
    kind = {"match": "Which places?", "name": "places", "wording": "Which places?",
            "definition": "All places.", "example": "Oslo."}  # fmt: skip
    task = factories.make_task(question_types=[kind])
    seat = factories.join(factories.make_study(researcher, task, shots=[2]))
    consent.record(seat, agree=True)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    summaries = re.findall(r"<summary>(.*?)</summary>", page, re.DOTALL)
    titles = [title for title in summaries if "What counts as" in title]
    assert titles
    assert all(re.fullmatch(r"<span>.*</span>", title, re.DOTALL) for title in titles)
