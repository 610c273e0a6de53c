"""Comprehension questions, the consent text, attention checks and the exit questionnaire."""

import json
import re

import pytest
from django.core.exceptions import ValidationError
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


def test_checks_count_as_examples_on_every_page(client, checked):
    arrival = client.get(reverse("landing", args=[checked.study.link_code])).content.decode()
    other = factories.join(checked.study)
    consent.record(other, agree=True)
    instructions = client.get(reverse("work", args=[other.token])).content.decode()
    pages, total = (arrival, instructions), re.compile(r"Main part:(?:</strong>)? (\d+)")
    assert [int(total.search(page)[1]) for page in pages] == [8, 8]


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


def asking(folder, question="Answer negative here.", **changes):
    """Write a file with one attention check, whose question says what to answer."""
    line = {"id": "1", "context": "A fine film.", "question": question, "answer": ["negative"]}
    path = folder / "asking.jsonl"
    path.write_text(json.dumps(line | changes))
    return path


@pytest.mark.parametrize("refused", [False, True])
def test_a_check_asks_its_own_question_if_copies_are_refused(client, researcher, tmp_path, refused):
    task = factories.make_task(labels=factories.LABELS, question="Is it positive?", test_size=2)
    attention_checks.import_checks(task, asking(tmp_path))
    options = {"attention_checks": 1, "refuse_copies": refused}
    seat = factories.join(factories.make_study(researcher, task, shots=[0], **options))
    address, sentence = reverse("work", args=[seat.token]), "You cannot copy the question"
    page = client.get(address).content.decode()
    assert (sentence in page) == ("Some questions only check" in page) == refused
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    asked = {}
    for _example in range(3):
        step = seat.latest_turn().step
        page = client.get(address).content.decode()
        problem = client.get(reverse("problem", args=[seat.token])).content.decode()
        assert ("uncopied" in page) == ("uncopied" in problem) == refused
        asked[step] = re.sub(r"<.*?>", "", re.search(r"data-question.*?</h1>", page, re.S)[0])
        factories.work_through(seat, limit=1, answer=lambda turn: ["negative"])
    assert "Is it positive?" in asked["annotation"]
    assert ("Answer negative here." in asked["check"]) == refused
    assert ("Is it positive?" in asked["check"]) != refused
    seat.refresh_from_db()
    assert attention_checks.results(seat) == (1, 1)


@pytest.mark.parametrize(
    ("card", "question", "reason"),
    [
        ({"labels": factories.LABELS}, "Is it positive or negative?", "must say what to answer"),
        ({"question_selectable": True}, "Mark Oslo.", "annotators select words of the question"),
    ],
)
def test_checks_that_could_be_copied_are_refused(researcher, tmp_path, card, question, reason):
    task = factories.make_task(**card)
    gold = ["positive"] if "labels" in card else ["Oslo"]
    question = task.test_split.examples.first().question if "labels" in card else question
    file = asking(tmp_path, question, context="They went to Oslo.", answer=gold)
    attention_checks.import_checks(task, file)
    with pytest.raises(ValidationError, match=reason):
        factories.make_study(researcher, task, attention_checks=1, refuse_copies=True)
    factories.make_study(researcher, task, attention_checks=1)


def test_a_check_of_a_task_with_kinds_can_ask_its_own_question(client, researcher, tmp_path):
    asked = factories.make_task().test_split.examples.first().question
    kind = {"match": asked, "name": "places", "wording": "Mark places.", "definition": "Places."}
    task = factories.make_task(name="typed", question_types=[kind | {"example": "Oslo."}])
    file = asking(tmp_path, "Mark only Rome.", context="Oslo and Rome.", answer=["Rome"])
    attention_checks.import_checks(task, file)
    options = {"attention_checks": 1, "refuse_copies": True, "annotation_order": "file_order"}
    seat = factories.join(factories.make_study(researcher, task, shots=[0], **options))
    consent.record(seat, agree=True)
    training_step.begin(seat.token)
    while seat.latest_turn().step != Step.CHECK:
        factories.work_through(seat, limit=1)
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "Mark only Rome." in page[page.index("data-question") :]


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
    """The summary spaces its children across the line, so the title must be a single child."""
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
