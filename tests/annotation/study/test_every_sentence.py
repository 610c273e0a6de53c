"""Every sentence for annotators is marked for translation (docs/contributing.md#languages).

Here, translations are the English sentences in ⟦brackets⟧, and researchers' texts are in Greek
letters. So a Latin letter outside brackets, on any page, belongs to a sentence that isn't marked.
"""

import json

import pytest
from django.core import signing
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import translation

from analysis.export import pages_seen
from annotation.models import Panel, Participation, Status, Study, StudyStatus
from annotation.privacy import withdrawal
from annotation.recruitment import join_errors, seats
from tasks.formats import Record
from tests import factories, pseudo
from tests.pseudo import (
    Reader,
    answer,
    arrive,
    card_of,
    go_on,
    greek,
    in_greek,
    made_task,
    records,
    study_of,
)

pytestmark = pytest.mark.long

QUESTIONS = greek("Which?\n- This\n* That\n\nWhat?\n* One\n- Two")


@pytest.fixture(autouse=True)
def _pseudo(settings, tmp_path):
    pseudo.install(settings, tmp_path)


@pytest.fixture
def reader():
    made = Reader()
    yield made
    told = [
        f"{line!r} on {', '.join(sorted(set(names)))}" for line, names in made.forgotten.items()
    ]
    assert not told, "not marked:\n" + "\n".join(told)


def test_the_reader_finds_an_untranslated_sentence():
    page = '<p title="Hint">⟦Said <b>5 times⟧</b> forgotten</p><output>CODE</output>'
    assert pseudo.unmarked(page) == ["forgotten", "Hint"]


def unfit(card) -> list[dict]:
    """Return the fields of invalid answers, for each way of answering."""
    if card.labels:
        return [{}, {"label": greek("other")}, {"label": "α\0"}]
    spans = [
        [{"field": "context", "index": 0, "start": 0, "end": 2}],
        [{"field": "context", "index": 0, "start": 0, "end": 9999}],
        [{"field": "context", "index": 9, "start": 0, "end": 2}],
        [{"field": "question", "start": 0, "end": 2}],
        [{"field": "context", "index": 0, "start": 0, "end": 5}] * 2,
    ]
    text = greek("Ada Lund met Kim")
    typed = ["", text.lower(), text[:4] + "x", text[1:5], f"{text}\n{text[4:]}", greek("nothing")]
    sent = [{"v": 1, "no_answer": False, "spans": given} for given in [*spans, []]]
    sent += [
        {"v": 1, "no_answer": True, "spans": spans[0]},
        {"v": 1, "no_answer": True, "spans": []},
    ]
    return [
        *({"answer": json.dumps(payload)} for payload in sent),
        {"answer": "?"},
        *({"typed": line.replace("x", greek("x"))} for line in typed),
        {"typed": text, "no_answer": "1"},
        {"typed": "α\n" * 200},
    ]


def wrong(turn) -> list[str]:
    """Return an answer that differs from the gold: in turn too short, too long, extra, or none."""
    example = turn.example
    card = turn.participation.scenario.task.card
    if card.labels:
        names = [label.name for label in card.labels]
        return [names[(names.index(example.gold[0]) + turn.position % 2) % len(names)]]
    few = card.max_spans == 1
    given = [
        [greek("Ada")],
        [greek("Ada Lund met Kim Weir of")],
        [greek("today")],
        [greek("met Kim")] if few else [greek("Lund met"), greek("Acme in")],
        [] if card.no_answer else [greek("Rome")],
    ]
    return given[turn.position % len(given)]


@pytest.mark.parametrize("name", ["sst-2", "mnli", "conll03", "wikiann", "squadv2", "record"])
def test_a_participation_in_each_clues_task_is_translated(reader, researcher, name):
    card = card_of(name)
    study = study_of(
        researcher, made_task(card), exit_questionnaire=True, comprehension_questions=QUESTIONS,
        shots=[2], max_paid_hours="1.5", base_reward="2.50", minimum_pay="1.00",
    )  # fmt: skip
    seat = arrive(reader, study)
    comprehend = reverse("comprehend", args=[seat.token])
    reader.post(comprehend, {}, "questions, unanswered")
    reader.post(comprehend, {"question-1": "0", "question-2": "1"}, "questions, wrong")
    reader.post(comprehend, {"question-1": "1", "question-2": "0"}, "questions, right")
    try_the_tool(reader, seat)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    task_card = seat.scenario.task.card
    for index, fields in enumerate(unfit(task_card)):
        answer(reader, seat, fields, f"unfit {index}")
    reader.get(reverse("withdraw", args=[seat.token]), "withdraw?")
    while True:
        seat.refresh_from_db()
        if seat.status != Status.WORKING:
            break
        turn = seat.latest_turn()
        turn.participation = seat
        fields = factories.fields_for(turn.example, wrong(turn))
        answer(reader, seat, fields, f"{name}")
        if turn.position == 0:
            reader.get(reverse("work", args=[seat.token]), f"{name}, again")
            answer_again(reader, seat, turn)
        go_on(reader, seat, name)
    assert seat.status == Status.COMPLETED
    reader.get(reverse("work", args=[seat.token]), "the end")
    address = reverse("questionnaire", args=[seat.token])
    reader.post(address, {"seen_before": "?", "comments": "α" * 3000}, "questionnaire, refused")
    reader.post(address, {"seen_before": "no"}, "questionnaire")
    reader.get(reverse("landing", args=[study.link_code]), "landing, done")
    reader.post(reverse("withdraw", args=[seat.token]), {}, "withdrawn")
    reader.get(reverse("withdraw", args=[seat.token]), "withdrawn already")


UNFIT = (
    {}, {"no_answer": "1"}, {"number": "1,5"}, {"number": "9"}, {"number": "-1"}, {"number": "0.3"},
    {"text": "α" * 400}, {"text": "α\nβ"}, {"text": "\0"}, {"option": "9"}, {"option-9": "1"},
    {f"option-{place}": "1" for place in range(4)},
    {"no_answer": "1", "number": "1", "text": "α", "option": "0", "option-0": "1", "typed": "α"},
    {"typed": "α" * 1001},
)  # fmt: skip


@pytest.mark.parametrize(
    "kind", [kind for kind in factories.KINDS if kind not in ("spans", "label")]
)
@pytest.mark.parametrize("no_answer", [True, False])
def test_a_participation_in_each_other_kind_is_translated(reader, researcher, kind, no_answer):
    task = pseudo.task_of_kind(kind, no_answer=no_answer)
    study = study_of(researcher, task, shots=[2], refuse_pastes=no_answer)
    seat = arrive(reader, study)
    try_another_kind(reader, seat, kind)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    for index, fields in enumerate(UNFIT):
        if not (no_answer and fields == {"no_answer": "1"}):
            answer(reader, seat, fields, f"unfit {index}")
    seat.refresh_from_db()
    while seat.status == Status.WORKING:
        turn = seat.latest_turn()
        right = factories.right_texts(turn.example)
        other = ["1"] if kind == "number" else turn.example.options[-1:] or [greek("else")]
        fields = factories.fields_for(turn.example, right if turn.position else other)
        answer(reader, seat, fields, kind)
        go_on(reader, seat, kind)
        seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    reader.get(reverse("work", args=[seat.token]), "the end")


def try_another_kind(reader, seat, kind):
    """Try each of the three invented sentences with an invalid and a valid answer."""
    for number in (1, 2, 3):
        address = reverse("try_tool", args=[seat.token, number])
        reader.get(address, f"try {kind} {number}")
        given = {"number": "3", "text": "α", "option": "0", "option-0": "1", "typed": "α"}
        for fields in ({}, given):
            reader.post(address, {"turn": "0", **fields}, f"try {kind} {number}, answered")


def answer_again(reader, seat, turn):
    """Send a different answer to a turn that has been answered, which is refused."""
    card = seat.scenario.task.card
    other = {"label": card.labels[-1].name} if card.labels else {"typed": greek("met")}
    address = reverse("answer", args=[seat.token])
    reader.post(address, {"turn": turn.pk, **other}, "another answer")


def try_the_tool(reader, seat):
    """Try each of the three invented sentences with invalid, wrong and right answers."""
    for number in (1, 2, 3):
        address = reverse("try_tool", args=[seat.token, number])
        reader.get(address, f"try the tool {number}")
        reader.post(address, {"turn": "0", "typed": ""}, f"try the tool {number}, unfit")
        if seat.scenario.task.card.labels:
            labels = ("⟦animal⟧", "⟦vehicle⟧")
            sent = [{"label": label} for label in labels]
        else:
            sent = [{"typed": "⟦red"}, {"typed": "", "no_answer": "1"}, {"typed": "⟦red bicycle⟧"}]
        for fields in sent:
            reader.post(address, {"turn": "0", **fields}, f"try the tool {number}, answered")


FINDINGS = [
    # gold, answer, the reveal's finding
    (["Ada Lund"], ["Ada Lund"], "right"),
    (["Ada Lund"], ["Ada"], "too_short"),
    (["Ada Lund"], ["Ada Lund met Kim"], "too_long"),
    (["Kim Weir"], ["met Kim Weir of"], "too_long"),
    (["Ada Lund"], ["Lund met"], "shifted"),
    (["Ada Lund", "Kim Weir"], ["Ada Lund met Kim Weir"], "joined"),
    (["Ada Lund"], ["Ada Lund", "today"], "extra"),
    (["Ada Lund", "Kim Weir"], ["Ada Lund"], "missed"),
    (["Ada Lund", "nowhere"], ["Ada Lund"], "unreachable"),
    (["Ada Lund"], [], "missed"),
    ([], ["Ada Lund"], "extra"),
    ([], [], ""),
]


@pytest.mark.parametrize("gold_rule", ["set", "any_of"])
def test_each_finding_of_a_reveal_is_translated(reader, researcher, gold_rule):
    card = in_greek(factories.card_data(gold_rule=gold_rule, help=[
        {"title": "How?", "definition": "So.", "example": "Like this."}
    ]))  # fmt: skip
    text = greek("Ada Lund met Kim Weir of Acme in Porto today .")
    size = len(FINDINGS)
    train = [
        Record(f"r-{index}", (f"{index} {text}",), greek("Who?"), tuple(map(greek, gold)), None,
               explanation=greek("Because.") if index % 2 else "")
        for index, (gold, _answer, _kind) in enumerate(FINDINGS)
    ]  # fmt: skip
    task = factories.make_task(train={size: train}, test=records(card, "test", 50), **card)
    seat = arrive(reader, study_of(researcher, task, shots=[size], training_order="file_order"))
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    for _gold, given, kind in FINDINGS:
        turn = seat.latest_turn()
        fields = factories.fields_for(turn.example, list(map(greek, given)))
        page = answer(reader, seat, fields, kind).content.decode()
        if gold_rule == "set":
            assert kind == "" or f'data-finding="{kind}"' in page
        go_on(reader, seat, kind)
    assert seat.latest_turn().step == "annotation"
    for index in range(51 - size):  # enough to suggest a break
        turn = seat.latest_turn()
        if index > 48 - size:
            answer(reader, seat, factories.fields_for(turn.example, []), f"example {index}")
        else:
            factories.answering.submit(seat.token, turn.pk, factories.fields_for(turn.example, []))


def test_the_finding_of_another_kind_is_translated(reader, researcher):
    seat = arrive(reader, study_of(researcher, made_task(card_of("conll03")), shots=[2]))
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    pages = []
    for _example in range(6):
        turn = seat.latest_turn()
        fields = factories.fields_for(turn.example, [greek("Ada Lund"), greek("Acme")])
        pages.append(answer(reader, seat, fields, "another kind").content.decode())
        go_on(reader, seat, "another kind")
    assert any('data-finding="other_kind"' in page for page in pages)


def test_a_preview_is_translated(reader, ada, researcher):
    study = study_of(researcher, made_task(card_of("squadv2")))
    reader.client = ada
    scenario = study.scenarios.get(shots=2)
    for step in ("training", "annotation"):
        address = reverse("scenario_preview", args=[study.name, scenario.pk, step, 0])
        reader.get(address, f"preview, {step}")
        reader.post(
            address, {"turn": "0", "typed": greek("Ada Lund")}, f"preview, {step}, answered"
        )


def test_the_pages_of_a_release_are_those_that_annotators_saw(reader, researcher):
    study = study_of(researcher, made_task(card_of("conll03")))
    for name, html in pages_seen.pages(study).items():
        assert f'<html lang="{pseudo.LANGUAGE}">' in html
        body = html.split("<main")[1]
        assert not pseudo.unmarked(f"<main{body}".replace(pages_seen.NO_LINK, "")), name


def test_simulated_annotators_work_in_any_language(researcher):
    study = study_of(researcher, made_task(card_of("conll03")), annotators=1, rehearsal=True)
    call_command("simulate_workers", study.name, policy="gold", processes=1, verbosity=0)
    assert {seat.status for seat in study.participations.all()} == {Status.COMPLETED}


def test_reasons_for_refusing_a_seat_are_translated():
    with translation.override(pseudo.LANGUAGE):
        for sentence in map(str, join_errors.NO_SEAT.values()):
            assert sentence.startswith("⟦"), sentence


@pytest.mark.parametrize("status", [StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_pages_of_a_study_that_is_not_open_are_translated(reader, researcher, status):
    study = study_of(researcher, made_task(card_of("sst-2")))
    Study.objects.update(status=status)
    reader.get(reverse("landing", args=[study.link_code]), "landing")
    reader.post(reverse("start", args=[study.link_code]), {}, "start")


def test_landing_pages_are_translated(reader, researcher):
    """Covers two kinds of tasks, phones, volunteers, and a participant who has begun."""
    tasks = [made_task(card_of("sst-2")), made_task(card_of("squadv2"))]
    study = study_of(researcher, *tasks, shots=[0], computer_only=True, hourly_rate=0)
    address = reverse("landing", args=[study.link_code])
    phone = {"User-Agent": "Mobi"}
    reader.get(address, "landing, volunteers")
    reader.get(address, "landing, phone", headers=phone)
    reader.post(reverse("start", args=[study.link_code]), {}, "start, phone", headers=phone)
    seat = arrive(reader, study)
    reader.get(address, "landing, begun")
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    for ended in ("expired", "returned"):
        seats.release_seat(Participation.objects.get(), ended)
        reader.get(reverse("work", args=[seat.token]), ended)
        reader.get(address, f"landing, {ended}")
        reader.post(reverse("resume", args=[seat.token]), {}, "resumed")
    factories.work_through(Participation.objects.get())
    reader.get(reverse("work", args=[seat.token]), "a next task")
    reader.post(reverse("next_task", args=[seat.token]), {}, "the next task")


def test_declined_page_and_wrong_addresses_are_translated(reader, researcher):
    study = study_of(researcher, made_task(card_of("sst-2")))
    reader.post(reverse("start", args=[study.link_code]), {}, "consent")
    token = Participation.objects.get().token
    reader.post(reverse("consent", args=[token]), {"agree": "no"}, "declined")
    way_out = signing.dumps(["ΧΨΖ", "https://example.org/", greek("Panel")])
    address = reverse("declined")
    reader.get(address, "declined", data={"language": pseudo.LANGUAGE, "exit": way_out})
    panel = Panel.objects.create(study=study, name=greek("Panel"), id_parameter="παρ")
    reader.get(reverse("landing", args=[panel.code]), "panel, no id")
    reader.get(reverse("landing", args=[panel.code]), "panel, odd id", data={"παρ": "/"})
    reader.get(reverse("landing", args=[panel.code]), "panel, preview", data={"παρ": "{{"})
    strict = Client(enforce_csrf_checks=True)
    reader.read(strict.post(reverse("start", args=[study.link_code])), "csrf")


@pytest.mark.parametrize("rule", ["researcher", "minimum"])
def test_pages_after_the_training_step_are_translated(reader, researcher, rule):
    threshold = 90 if rule == "minimum" else None
    study = study_of(
        researcher, made_task(card_of("sst-2")), shots=[2], qualification=rule,
        qualification_threshold=threshold,
    )  # fmt: skip
    seat = arrive(reader, study)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    for _example in range(2):
        turn = seat.latest_turn()
        turn.participation = seat
        labels = [label.name for label in seat.scenario.task.card.labels]
        label = next(name for name in labels if name not in turn.example.gold)
        answer(reader, seat, {"label": label}, "training")
        go_on(reader, seat, "training")
    seat.refresh_from_db()
    assert seat.status == (Status.WAITING if rule == "researcher" else Status.SCREENED_OUT)
    reader.get(reverse("work", args=[seat.token]), seat.status)


@pytest.mark.parametrize("rule", ["researcher", "minimum"])
def test_the_screening_step_is_translated(reader, researcher, rule):
    threshold = 90 if rule == "minimum" else None
    study = study_of(
        researcher, made_task(card_of("sst-2")), shots=[0], qualification=rule,
        qualification_threshold=threshold, screening_examples=2,
    )  # fmt: skip
    reader.get(reverse("landing", args=[study.link_code]), "landing")
    seat = arrive(reader, study)
    reader.get(reverse("work", args=[seat.token]), "instructions")
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    for _example in range(2):
        turn = seat.latest_turn()
        reader.get(reverse("work", args=[seat.token]), "screening")
        turn.participation = seat
        labels = [label.name for label in seat.scenario.task.card.labels]
        label = next(name for name in labels if name not in turn.example.gold)
        answer(reader, seat, {"label": label}, "screening")
    seat.refresh_from_db()
    assert seat.status == (Status.WAITING if rule == "researcher" else Status.SCREENED_OUT)
    reader.get(reverse("work", args=[seat.token]), seat.status)
    card = card_of("sst-2")
    train = {shots: records(card, "train", shots) for shots in (2, 4)}
    both = study_of(
        researcher, factories.make_task(train=train, test=records(card, "test", 2), **card),
        shots=[0, 2], qualification=rule, qualification_threshold=threshold, screening_examples=1,
        anchor_examples=1,
    )  # fmt: skip
    reader.get(reverse("landing", args=[both.link_code]), "landing of both arms")


@pytest.mark.parametrize(
    "status", [Status.BETWEEN, Status.REFUSED, Status.REJECTED, Status.RETURNED]
)
def test_last_pages_of_each_status_are_translated(reader, researcher, status):
    study = study_of(researcher, made_task(card_of("sst-2")))
    seat = arrive(reader, study)
    live = {"seat_number": None} if status != Status.BETWEEN else {}
    Participation.objects.update(status=status, **live)
    reader.get(reverse("work", args=[seat.token]), status)


def test_the_page_after_a_late_withdrawal_is_translated(reader, researcher):
    study = study_of(researcher, made_task(card_of("sst-2")), shots=[0])
    seat = arrive(reader, study)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    factories.work_through(seat)
    withdrawal.withdraw(seat.token)
    reader.get(reverse("work", args=[seat.token]), "withdrawn after the end")


def test_numbers_in_attributes_are_not_localised(reader, researcher):
    """German text has 0,5 for 0.5, but browsers, scripts and style sheets can't parse that."""
    study = study_of(
        researcher, made_task(card_of("squadv2")), shots=[2], hourly_rate="12.50",
        max_paid_hours="1.5",
    )  # fmt: skip
    page = reader.get(reverse("landing", args=[study.link_code]), "landing").content.decode()
    assert "12,50 USD" in page
    seat = arrive(reader, study)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    pages = []
    for _example in range(4):
        turn = seat.latest_turn()
        fields = factories.fields_for(turn.example, list(turn.example.gold))
        pages.append(answer(reader, seat, fields, "example").content.decode())
        go_on(reader, seat, "example")
        pages.append(reader.get(reverse("work", args=[seat.token]), "example").content.decode())
    for page in pages:
        assert not pseudo.localised_attributes(page)
