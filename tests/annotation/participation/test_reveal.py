"""The reveal explains each mistake, but shows no gold of questions that are still open."""

import re
from dataclasses import replace
from datetime import timedelta

import lxml.html
import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotation import guards
from annotation.models import Activity, Answer, Reading, Turn
from annotation.protocol import answering, training_step
from tasks.cards import load_card
from tasks.formats import Record
from tasks.importing import CARDS
from tests import factories

KINDS = [
    {"match": f"List the {name}", "name": name, "wording": f"Which {name} are named?",
     "definition": f"All that are {name}.", "example": "None."}
    for name in ("people", "places")
]  # fmt: skip
TEXT = "Ann Lee went to Oslo with Bo."
GOLD = {"people": ("Ann Lee", "Bo"), "places": ("Oslo",)}


def rows(prefix: str, text: str = TEXT) -> list[Record]:
    """Return both questions about one text."""
    return [
        Record(f"{prefix}-{name}", (text,), f"List the {name}", gold) for name, gold in GOLD.items()
    ]


@pytest.fixture
def names(researcher):
    """Return a function that seats a participant in a task with these training and test records."""

    def put(train, test):
        task = factories.make_task(question_types=KINDS, train={1: train}, test=test)
        study = factories.make_study(researcher, task, shots=[1], training_order="file_order")
        return factories.seat(study.scenarios.get())

    return put


def answer(client, seat, texts) -> str:
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, texts)
    address = reverse("answer", args=[seat.token])
    reply = client.post(address, {"turn": turn.pk, **fields}, HTTP_HX_REQUEST="true")
    return " ".join(reply.content.decode().split())


def in_words(html: str) -> str:
    """Return the text without its tags."""
    return " ".join(re.sub("<[^>]*>", "", html).split())


OTHER = [Record("t", ("Kim saw Rome.",), "List the people", ("Kim",))]


def test_a_wrong_kind_is_revealed_after_all_questions_on_a_text(client, names):
    seat = names(rows("train"), OTHER)
    first = answer(client, seat, ["Ann Lee", "Oslo"])
    assert 'data-finding="extra"' in first
    assert "a different kind of answer" not in first
    factories.go_on(seat.token)
    last = answer(client, seat, ["Oslo", "Bo"])
    assert 'data-finding="other_kind"' in last
    assert "It belongs to people" in in_words(last)


def test_a_reveal_does_not_use_the_gold_of_annotation_questions(client, names):
    train = [*rows("train")[1:], Record("x", ("Bo slept.",), "List the people", ("Bo",))]
    seat = names(train, rows("test")[:1])
    reply = answer(client, seat, ["Oslo", "Bo"])
    assert 'data-finding="extra"' in reply
    assert "a different kind of answer" not in reply


def test_the_annotation_step_names_no_kind(client, names):
    seat = names(rows("train"), OTHER)
    for texts in (["Ann Lee"], ["Bo"]):
        answer(client, seat, texts)
        factories.go_on(seat.token)
    turn = seat.latest_turn()
    answering.submit(seat.token, turn.pk, factories.fields_for(turn.example, ["Rome"]))
    with pytest.raises(ValueError, match="training step"):
        training_step.reveal(turn)
    html = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "data-finding" not in html


@pytest.mark.parametrize(
    ("texts", "headline", "score"),
    [
        (["Ann Lee", "Bo"], "Right", 100),
        (["Ann Lee"], "Partly right", 67),
        (["Ann"], "Not right", 0),
    ],
)
def test_the_headline_depends_on_the_score(client, names, texts, headline, score):
    reply = answer(client, names(rows("train"), OTHER), texts)
    # A score of 0 or 100 is omitted, because it would only repeat the headline.
    said = f'<span class="reveal-score">Score: <b>{score}</b>/100' if 0 < score < 100 else "</div>"
    assert f"> {headline} </h2> {said}" in reply
    assert ("All that are people." in reply.split("data-finding")[-1]) == (score < 100)


def test_a_wrong_label_is_shown_with_the_right_labels_meaning(client, researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, shots=[2], training_order="file_order")
    reply = answer(client, factories.seat(study.scenarios.get()), ["positive"])
    verdict = reply.split("turn-columns")[0]
    assert "data-finding" not in verdict  # the choices show it instead
    assert re.search("turn-is-chosen.*?positive.*?<small>your answer</small>", verdict, re.DOTALL)
    assert "The writer dislikes it." in verdict
    assert "The writer likes it." not in verdict


def test_the_explanation_of_an_example_is_shown_in_the_reveal(client, names):
    train = rows("train")
    train[0] = replace(train[0], explanation="“Ann” <alone> is half a name.")
    seat = names(train, OTHER)
    work = reverse("work", args=[seat.token])
    assert "half a name" not in client.get(work).content.decode()
    reply = answer(client, seat, ["Ann"])
    assert "“Ann” &lt;alone&gt; is half a name." in reply
    assert "data-explanation" in reply


def test_the_drawer_has_instructions_and_the_asked_kind_first(client, researcher):
    train = list(reversed(rows("train")))
    task = factories.make_task(question_types=KINDS, train={1: train}, test=OTHER)
    study = factories.make_study(researcher, task, shots=[1], training_order="file_order")
    seat = factories.seat(study.scenarios.get())
    html = client.get(reverse("work", args=[seat.token])).content.decode()
    drawer = html.split("data-drawer")[1]
    assert "Highlight every place." in drawer
    windows = [part.split('"')[0] for part in drawer.split('data-window="')[1:]]
    assert windows == ["What counts as places?", "What counts as people?"]
    assert drawer.count('aria-current="true"') == 1
    assert 'data-window="What counts as places?" aria-current="true"' in drawer


# The end of the training step ------------------------------------------------------------------


def go_on(client, seat, leaving: str) -> str:
    address = reverse("continue", args=[seat.token])
    reply = client.post(address, {"leaving": leaving}, HTTP_HX_REQUEST="true")
    return " ".join(reply.content.decode().split())


@pytest.fixture
def last_reveal(client, names):
    """A participant at the last training reveal, with a highlight too short and a name missed."""
    seat = names(rows("train"), OTHER)
    answer(client, seat, ["Ann"])
    go_on(client, seat, "reveal")
    answer(client, seat, ["Oslo"])
    return seat


def test_common_mistakes_are_reviewed_before_the_annotation_step(client, last_reveal):
    seat = last_reveal
    review = go_on(client, seat, "reveal")
    assert 'data-state="review"' in review
    assert "You got 1 of 2 right" in review
    assert 'data-mistake="too_short"' in review
    assert 'data-mistake="missed"' in review
    assert in_words(review).count("What counts as people? All that are people.") == 1
    assert "What counts as places?" not in in_words(review)
    work = reverse("work", args=[seat.token])
    assert 'data-state="review"' in client.get(work).content.decode()
    assert seat.latest_turn().step == "training"
    assert "The main part starts" in go_on(client, seat, "review")
    assert seat.latest_turn().step == "annotation"


def test_the_review_shows_mistakes_in_their_texts_with_all_ticks(client, last_reveal):
    review = go_on(client, last_reveal, "reveal")
    assert review.count('<i class="reveal-tick">') == 1
    assert review.count("<i></i>") == 1
    cards = review.split('class="turn-sheet"')[1:]
    assert len(cards) == 2
    # The highlight that was too short is shown in its sentence.
    assert any("reveal-partial" in card and "Oslo" in in_words(card) for card in cards)


def test_the_review_has_no_links_to_marks(client, last_reveal):
    """A text may be in it twice, with the same marks."""
    review = go_on(client, last_reveal, "reveal")
    assert review.count("data-finding") == 4
    assert re.findall(r'href="#[^"]*"', review) == []
    assert re.findall(r'id="at[^"]*"|data-of="[^"]*"', review) == []


def test_the_help_element_is_preserved_through_the_review(client, last_reveal):
    """htmx preserves the help only if each reply contains it; replies contain it empty."""
    work = reverse("work", args=[last_reveal.token])
    for reply in (go_on(client, last_reveal, "reveal"), go_on(client, last_reveal, "review")):
        assert re.search(r'id="help"[^>]* hx-preserve="true"', reply)
        assert "What counts as" in client.get(work).content.decode()


def test_a_second_click_on_the_last_reveal_stays_at_the_review(client, last_reveal):
    for _click in range(3):
        assert 'data-state="review"' in go_on(client, last_reveal, "reveal")
    assert last_reveal.turns.count() == 2


def test_without_mistakes_the_annotation_step_follows_directly(client, names):
    seat = names(rows("train"), OTHER)
    answer(client, seat, ["Ann Lee", "Bo"])
    go_on(client, seat, "reveal")
    answer(client, seat, ["Oslo"])
    assert "The main part starts" in go_on(client, seat, "reveal")


def test_confused_labels_are_counted_by_pair(client, researcher):
    task = factories.make_task(labels=factories.LABELS, shots=[4])
    study = factories.make_study(researcher, task, shots=[4], training_order="file_order")
    seat = factories.seat(study.scenarios.get())
    for _example in range(4):
        answer(client, seat, ["positive"])
        review = go_on(client, seat, "reveal")
    assert "You chose positive, but negative was right 2 times" in in_words(review)


@pytest.mark.long
def test_the_tally_covers_the_last_ten_answers(client, researcher):
    task = factories.make_task(labels=factories.LABELS, shots=[12])
    study = factories.make_study(researcher, task, shots=[12], training_order="file_order")
    seat = factories.seat(study.scenarios.get())
    tallies = []
    for index in range(12):
        reply = answer(client, seat, ["negative" if index < 3 else "positive"])
        shown = reply.split("data-tally>")[1].split("</span>")[0]
        tallies.append(in_words(shown))
        go_on(client, seat, "reveal")
    assert tallies[:3] == ["1 of 1 right", "1 of 2 right", "2 of 3 right"]
    assert tallies[-1] == "6 of the last 10 right"


# Signs and words of findings ----------------------------------------------------------------------


def marks(html: str) -> list[str]:
    """Return the text of each mark for screen readers."""
    return [" ".join(said.split()) for said in re.findall(r"data-said lang=[^>]*>([^<]+)", html)]


@pytest.mark.parametrize(
    ("given", "said", "opened"),
    [
        (["Ann"], "too_short", "[too short:"),
        (["Ann Lee went"], "too_long", "[too long:"),
        (["Lee went"], "shifted", "[not exactly the answer:"),
        (["Ann Lee went to Oslo with Bo"], "joined", "[several answers in one:"),
    ],
)
def test_an_inexact_highlight_is_marked_with_its_finding(client, names, given, said, opened):
    reply = answer(client, names(rows("train"), OTHER), given)
    assert f'data-finding="{said}"' in reply
    missed = [] if said == "joined" else ["[missed:"]
    assert marks(reply) == [opened, *missed]
    assert reply.count("reveal-closes") == len([opened, *missed])
    assert "partly right" not in reply


def test_words_for_screen_readers_leave_the_direction_to_the_text(client, names):
    reply = answer(client, names(rows("train"), OTHER), ["Ann"])
    said = re.findall(r"data-said lang=[^>]*>", reply)
    assert said
    assert all('dir="auto"' in each for each in said)


def test_a_revealed_text_has_the_white_space_of_the_example_alone(client, names):
    seat = names(rows("train"), OTHER)
    sent = factories.fields_for(seat.latest_turn().example, ["Ann", "Bo"])
    reply = client.post(
        reverse("answer", args=[seat.token]),
        {"turn": seat.latest_turn().pk, **sent},
        headers={"HX-Request": "true"},
    )
    (text,) = lxml.html.fromstring(reply.content).xpath("//*[contains(@class, 'turn-text')]")
    for part in text.xpath(".//*[@data-said]"):
        part.drop_tree()
    assert text.text_content() == TEXT


def test_boundary_mistakes_quote_no_definition_of_the_kind(client, names):
    reply = answer(client, names(rows("train"), OTHER), ["Ann", "Bo"])
    assert 'data-finding="too_short"' in reply
    assert "All that are people." not in reply.split("data-finding")[-1]


def answers_of(html: str) -> list[str]:
    """Return the right answers at the top of the reveal, with the annotator's part in brackets."""
    top = html.split('class="reveal-answer"')[1].split("</p>")[0]
    wholes = re.findall(r'class="reveal-whole"[^>]*>(.*?)</(?:bdi|span)\s*>', top)
    return [re.sub("</?b>", "|", whole).strip() for whole in wholes]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["Ann Lee", "Bo"], ["|Ann Lee|", "|Bo|"]),
        (["Lee went", "Bo"], ["Ann |Lee|", "|Bo|"]),
        (["Ann Lee went"], ["|Ann Lee|", "Bo"]),
        (["Oslo"], ["Ann Lee", "Bo"]),
        ([], ["Ann Lee", "Bo"]),
    ],
)
def test_the_right_answers_come_first_with_ones_own_part(client, names, given, shown):
    reply = answer(client, names(rows("train"), OTHER), given)
    assert answers_of(reply) == shown
    assert reply.index("reveal-answer") < reply.index("data-findings")


@pytest.mark.parametrize(
    ("gold", "given", "said"),
    [
        (("1850",), ["1850s"], "1850s is too long. The answer is 1850"),
        (("Rio s",), ["Rio"], "Rio is not an answer."),
        (("Rio s", "1850s"), ["1850s"], "1850s is right."),
    ],
)
def test_gold_that_cannot_be_highlighted_is_the_only_answer_or_one_of_several(
    client, names, gold, given, said
):
    seat = names([Record("a", ("Rio 's in the 1850s.",), "List the places", gold)], OTHER)
    assert f"{said} {gold[0]} is an answer, but it cannot be highlighted in this text. This" in (
        in_words(answer(client, seat, given))
    )


def test_a_reveal_without_gold_shows_that_there_is_no_answer(client, names):
    train = [replace(row, gold=()) for row in rows("train")]
    seat = names(train, OTHER)
    assert answers_of(answer(client, seat, [])) == ["|No answer|"]
    go_on(client, seat, "reveal")
    assert answers_of(answer(client, seat, ["Bo"])) == ["No answer"]


def test_each_finding_links_to_its_own_marks_in_the_text(client, names):
    reply = answer(client, names(rows("train"), OTHER), ["Lee went", "Oslo"])
    linked = re.findall(r'data-finding="\w+"><a href="#([^"]+)"', reply)
    assert linked == ["at-0-4", "at-0-16", "at-0-26"]
    for name in linked:
        assert reply.count(f' id="{name}"') == 1
    assert reply.count('data-of="at-0-4"') == 3  # Ann, Lee, went


@pytest.mark.parametrize(
    "given", ["the University of Oslo", "of Oslo", "University of Oslo", "Oslo"]
)
def test_findings_on_an_answer_inside_another_link_to_marks(client, names, given):
    text, gold = "He left the University of Oslo.", ("University of Oslo", "Oslo")
    seat = names([Record("a", (text,), "List the places", gold)], OTHER)
    reply = answer(client, seat, [given])
    linked = re.findall(r'data-finding="\w+"><a href="#([^"]+)"', reply)
    assert len(linked) == 2
    assert all(f' id="{name}"' in reply for name in linked)


@pytest.mark.parametrize(
    ("gold", "given", "linked"),
    [
        (["New York"], ["New", "York"], ["at-0-13", "at-0-13"]),
        (["New York", "York City"], ["New", "York City"], ["at-0-13", "at-0-13"]),
        (["New York", "City"], ["New", "York City"], ["at-0-13", "at-0-13", "at-0-13"]),
        (["New York", "York City"], ["New York", "City"], ["at-0-13", "at-0-22"]),
    ],
)
def test_findings_on_parts_of_one_answer_link_to_its_marks(client, names, gold, given, linked):
    seat = names([Record("a", ("He went from New York City.",), "List the places", gold)], OTHER)
    reply = answer(client, seat, given)
    assert re.findall(r'data-finding="\w+"><a href="#([^"]+)"', reply) == linked
    assert all(f' id="{name}"' in reply for name in linked)


@pytest.mark.parametrize(
    ("gold", "verdict", "said"),
    [
        ((), "wrong", "He left. is not an answer."),
        (("He went.", "Gone."), "compare", "He left. Good answers He went.Gone. Continue"),
    ],
)
def test_a_long_text_is_compared_only_with_gold_that_is_shown_once(
    client, researcher, gold, verdict, said
):
    train = [Record("a", (TEXT,), "Why?", gold)]
    card = factories.KINDS["long text"][0] | {"no_answer": True, "gold_rule": "any_of"}
    task = factories.make_task(
        train={1: train}, shots=[], test=factories.long_records("t", 1), **card
    )
    seat = factories.seat(factories.make_study(researcher, task, shots=[1]).scenarios.get())
    reply = answer(client, seat, ["He left."])
    assert f'data-verdict="{verdict}"' in reply
    assert said in in_words(reply)
    assert "A good answer" not in reply


@pytest.mark.parametrize(
    ("given", "quoted"), [(["Ann", "Bo"], True), (["Ann Lee went"], True), (["Ann Lee"], False)]
)
def test_only_a_boundary_mistake_quotes_the_boundary_rule(client, researcher, given, quoted):
    train = rows("train")
    task = factories.make_task(
        question_types=KINDS, train={1: train}, test=OTHER, boundary_rule="The whole <name> only."
    )
    study = factories.make_study(researcher, task, shots=[1], training_order="file_order")
    seat = factories.seat(study.scenarios.get())
    assert ("The whole &lt;name&gt; only." in answer(client, seat, given)) is quoted
    go_on(client, seat, "reveal")
    answer(client, seat, seat.latest_turn().example.gold)
    review = go_on(client, seat, "reveal")
    assert ("The whole &lt;name&gt; only." in review) is quoted


def test_one_wrong_answer_of_at_most_one_is_a_single_mistake(client, researcher):
    train = [Record("a", (TEXT,), "Who?", ("Bo",)), Record("b", (TEXT,), "Who?", ("Bo",))]
    task = factories.make_task(max_spans=1, train={2: train}, shots=[])
    study = factories.make_study(researcher, task, shots=[2], training_order="file_order")
    seat = factories.seat(study.scenarios.get())
    reply = answer(client, seat, ["Oslo"])
    assert reply.count("data-finding=") == 1
    assert "You answered Oslo, but the answer is Bo" in in_words(reply)
    go_on(client, seat, "reveal")
    answer(client, seat, ["Oslo"])
    review = go_on(client, seat, "reveal")
    assert re.findall('data-mistake="([^"]+)"', review) == ["instead"]
    assert "2 times" in review


# A gap in the question ----------------------------------------------------------------------------


def test_the_gap_of_a_question_is_filled_only_in_the_reveal(client, researcher):
    asked = "Next to @placeholder lies the sea. What is @placeholder?"
    train = [Record("a", ("Oslo <b> is far.",), asked, ("Oslo <b>",))]
    task = factories.make_task(max_spans=1, train={1: train}, shots=[])
    seat = factories.seat(factories.make_study(researcher, task, shots=[1]).scenarios.get())
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert page.count('<span class="turn-gap">@placeholder</span>') == 2
    assert "data-filling" not in page
    reply = answer(client, seat, ["far"])
    assert reply.count('class="turn-gap" data-filling="Oslo &lt;b&gt;"') == 2


def test_the_review_fills_the_gaps_of_its_questions(client, researcher):
    train = [
        Record(name, ("Oslo is far.",), "What is @placeholder?", ("Oslo",)) for name in ("a", "b")
    ]
    task = factories.make_task(max_spans=1, train={2: train}, shots=[])
    seat = factories.seat(factories.make_study(researcher, task, shots=[2]).scenarios.get())
    for _example in range(2):
        answer(client, seat, ["far"])
        review = go_on(client, seat, "reveal")
    assert 'data-mistake="instead"' in review
    assert 'class="turn-gap" data-filling="Oslo"' in review


def test_the_review_cuts_text_without_spaces_near_the_mark(client, researcher):
    before, after = "他们昨天很早就" * 40, "然后又慢慢地走回家" * 40
    train = [Record("a", (f"{before}去上海{after}",), "哪里？", ("上海",))]
    task = factories.make_task(granularity="char", train={1: train}, shots=[])
    seat = factories.seat(factories.make_study(researcher, task, shots=[1]).scenarios.get())
    answer(client, seat, [])
    shown = in_words(go_on(client, seat, "reveal"))
    assert f"… {before[-79:]}去" in shown
    assert f"{after[:80]} …" in shown
    assert before not in shown


@pytest.mark.parametrize(("words", "is_cut"), [(60, False), (120, True)])
def test_the_review_cuts_text_without_marks_only_if_it_is_long(client, researcher, words, is_cut):
    text = " ".join(["then"] * words) + " home."
    train = [Record("a", (text,), "Where?", ("Oslo",), options=("Oslo", "Lima"))]
    task = factories.make_task(answer="option", no_answer=False, train={1: train}, shots=[])
    seat = factories.seat(factories.make_study(researcher, task, shots=[1]).scenarios.get())
    answer(client, seat, ["Lima"])
    shown = in_words(go_on(client, seat, "reveal"))
    assert ("…" in shown) == (text not in shown) == is_cut


def test_the_record_card_describes_the_gap_not_the_placeholder():
    card = load_card(CARDS / "record.toml")
    helps = [text for each in card.help for text in (each.definition, each.example)]
    assert "a sentence with a gap" in card.instructions
    told = " ".join([card.description, card.instructions, card.submit_hint, *helps])
    assert told.replace("screen readers say “@placeholder”", "").count("@placeholder") == 0


# Reading time ----------------------------------------------------------------------------------


def test_reading_time_is_stored_once_and_capped(client, names):
    seat = names(rows("train"), OTHER)
    answer(client, seat, ["Ann"])
    turn = seat.latest_turn()
    long_ago = timezone.now() - timedelta(hours=2)
    # Simulate an answer two hours ago, with a page that has been pinging since it was shown.
    guards.lift(connection)
    Turn.objects.filter(pk=turn.pk).update(shown_at=long_ago)
    Answer.objects.filter(pk=turn.pk).update(submitted_at=long_ago, active_seconds=0)
    Activity.objects.create(turn=turn, last_at=long_ago)
    go_on(client, seat, "reveal")
    reading = Reading.objects.get()
    assert reading.turn_id == turn.pk
    assert reading.seconds == seat.scenario.idle_cutoff.total_seconds()
    go_on(client, seat, "reveal")
    assert Reading.objects.count() == 1


def test_a_get_stores_no_reading_time(client, names):
    seat = names(rows("train"), OTHER)
    answer(client, seat, ["Ann"])
    client.get(reverse("work", args=[seat.token]))
    assert not Reading.objects.exists()
