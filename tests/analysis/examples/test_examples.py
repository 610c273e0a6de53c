"""The list of examples, hardest first, and the page with every answer to one example."""

import json
from collections.abc import Sequence

import lxml.html
import pytest
from django.urls import reverse

from analysis.examples import difficulty
from analysis.examples.difficulty import hardest
from annotation.models import Answer, Kind, Participation, Step, Study
from annotation.protocol import answering, blinding
from tasks.formats import Record
from tasks.importing import read_clues
from tasks.models import Example
from tests import factories

QUERIES = 13


@pytest.fixture(scope="module")
def stored(module_researcher):
    """At 0 and 2 shots, one annotator is always right and one always answers "no answer"."""
    study = factories.make_study(module_researcher, factories.make_task(), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.mark.long
def test_examples_are_searched_by_text_and_filtered_by_all_wrong(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=2)
    for _ in range(2):
        factories.work_through(
            factories.seat(study.scenarios.get()),
            lambda turn: (
                [] if turn.example.source_id.endswith("-1") else factories.right_texts(turn.example)
            ),
        )

    def listed(query: str) -> list[str]:
        reply = ada.get(reverse("examples", args=[study.name]) + query)
        return [example.source_id for example, *_rest in reply.context["rows"]]

    wrong = listed("?show=all-wrong")
    assert [name[-2:] for name in wrong] == ["-1"]
    assert len(listed("?show=all-right")) == len(listed("")) - 1
    text = study.tasks.get().test_split.examples.get(source_id=wrong[0]).context[0]
    assert listed(f"?q={text.split(':')[0].replace(' ', '+')}") == wrong
    shown = ada.get(reverse("examples", args=[study.name])).content.decode()
    assert text[:30] in shown


def test_the_hardest_come_first_with_their_means_by_shots(study):
    task = study.tasks.get()
    rows = hardest(study, task, Kind.PERSON)
    golds = {e.pk: e.gold for e in task.test_split.examples.all()}
    # All four annotators are right on the two of four examples that have no answer.
    assert [bool(golds[row.example]) for row in rows] == [True, True, False, False]
    assert [row.mean for row in rows] == [50, 50, 100, 100]
    assert rows[0].by_shots == [50, 50]
    assert rows[0].n == 4
    assert rows[0].pairwise_s1 == pytest.approx(100 / 3)


def test_the_list_links_to_each_example(ada, study):
    page = ada.get(reverse("examples", args=[study.name])).content.decode()
    for example in study.tasks.get().test_split.examples.all():
        assert reverse("example", args=[study.name, example.pk]) in page
    assert ada.get(reverse("examples", args=[study.name]), {"task": "none"}).status_code == 404
    assert ada.get(reverse("examples", args=[study.name]), {"kind": "none"}).status_code == 404


def address(study, example) -> str:
    return reverse("example", args=[study.name, example.pk])


def read(client, study, example, **query):
    """Return the parsed page of an example."""
    reply = client.get(address(study, example), query)
    assert reply.status_code == 200
    return lxml.html.fromstring(reply.content.decode())


def stretches(box) -> list[tuple[str, int | None, bool]]:
    """Return a layered text as (text, number who highlighted it or None, whether it is gold)."""
    parts = [(box.text or "", None, False)]
    for run in box:
        (text,) = run.find_class("layer-text")
        number = run.find("button")
        parts.append((text.text, int(number.text), "layer-gold" in run.get("class").split()))
        parts.append((run.tail or "", None, False))
    return [stretch for stretch in parts if stretch[0]]


def layers(page) -> list[list[tuple[str, int | None, bool]]]:
    return [stretches(box) for box in page.find_class("turn-text")]


def table(page, name: str) -> list[list[str]]:
    """Return the text of each cell in a table's body."""
    return [
        [" ".join(cell.text_content().split()) for cell in row]
        for row in page.find_class(name)[0].findall("tbody/tr")
    ]


def facts(page) -> dict[str, str]:
    rows = page.xpath("//dl[@class='facts']/div")
    return {row.find(".//tip-word").text: row.find("dd").text for row in rows}


def one_example(researcher, text: str, gold: Sequence[str], **card):
    """Return a study at 0 and 2 shots whose only test example has this text, and the example."""
    record = Record("it", (text,), "Which places?", tuple(gold), None)
    task = factories.make_task(test=[record], **card)
    study = factories.make_study(researcher, task, annotators=3)
    return study, task.test_split.examples.get()


def say(study, shots: int, *answers: Sequence[str], kind=Kind.PERSON) -> list[Participation]:
    """Seat an annotator for each answer, given to all test examples; training is answered right."""
    seats = []
    for texts in answers:
        seats.append(factories.seat(study.scenarios.get(shots=shots), kind))
        factories.work_through(
            seats[-1],
            lambda turn, texts=texts: texts if turn.step == Step.ANNOTATION else turn.example.gold,
        )
        blinding.show(seats[-1], None)
    return seats


TEXT = "\U0001f600 <b>Ann</b> met Bo\u0301 Lee in Rio & Rome, then left Rio."


def test_highlights_are_shown_in_layers_counted_and_escaped(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Rio"])
    say(study, 0, ["Bo\u0301 Lee", "Rio"], ["Lee in Rio"])
    say(study, 2, ["Bo\u0301 Lee"], [])
    (layer,) = layers(read(ada, study, example))
    assert layer == [
        ("\U0001f600 <b>Ann</b> met ", None, False),
        ("Bo\u0301 ", 2, False),
        ("Lee", 3, False),
        (" in ", 1, False),
        ("Rio", 2, True),
        (" & Rome, then left ", None, False),
        ("Rio", 0, True),
        (".", None, False),
    ]
    html = ada.get(address(study, example)).content.decode()
    assert "<b>Ann" not in html
    assert html.count("&lt;b&gt;Ann&lt;/b&gt; met ") == 1


def test_highlighted_markup_is_escaped_everywhere_on_the_page(ada, researcher):
    study, example = one_example(researcher, TEXT, ["<b>Ann</b>"])
    (_right, excluded) = say(study, 0, ["<b>Ann</b>"], ["<b>Ann</b> met"])
    excluded.in_analysis, excluded.seat_number = False, None
    excluded.save()
    assert ("<b>Ann</b>", 1, True) in layers(read(ada, study, example))[0]
    html = ada.get(address(study, example)).content.decode()
    assert "<b>Ann" not in html
    # Once in the text, three times as gold, once as a distinct answer, and in two lanes.
    assert html.count("&lt;b&gt;Ann") == 7


def test_a_run_names_the_annotators_that_highlighted_it(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Rio"])
    ann, bob, _other = say(study, 0, ["Rome"], ["Rome"], ["Rio"])
    (tip,) = [
        tip.text
        for tip in read(ada, study, example).xpath("//tip-word/*[@role='tooltip']")
        if tip.get("id").startswith("run-") and "Part of" not in tip.text
    ]
    first, second = sorted([ann.pseudonym, bob.pseudonym])
    assert tip == f"2 of 3 (67 %): {first}, {second}."


def test_a_question_that_can_be_highlighted_is_a_layer_too(ada, researcher):
    study, example = one_example(researcher, TEXT, ["places"], question_selectable=True)
    seat = factories.seat(study.scenarios.get(shots=0))
    span = {"field": "question", "start": 6, "end": 12}
    answering.submit(
        seat.token,
        seat.latest_turn().pk,
        {"answer": json.dumps({"v": 1, "no_answer": False, "spans": [span]})},
    )
    question, context = layers(read(ada, study, example))
    assert question == [("Which ", None, False), ("places", 1, True), ("?", None, False)]
    assert context == [(TEXT, None, False)]


def test_distinct_answers_and_agreement_on_one_example(ada, researcher):
    """Two {Ekeus, Allawi} and one {Ekeus}, as in docs/statistics.md#worked-examples."""
    study, example = one_example(researcher, "Ekeus met Allawi.", ["Ekeus", "Allawi"])
    both = ["Allawi", "Ekeus"]
    first, second, third = say(study, 0, both, ["Ekeus"], both)
    page = read(ada, study, example)
    rows = table(page, "table-distinct")
    assert [row[1:3] for row in rows] == [["2 of 3 (67 %)", "100.0"], ["1 of 3 (33 %)", "66.7"]]
    lanes = {row[0]: row[2] for row in table(page, "table-lanes")[1:]}
    scores = {first.pseudonym: "100.0", second.pseudonym: "66.7", third.pseudonym: "100.0"}
    assert lanes == scores
    assert facts(page) == {
        "Mean S1": "88.9 ± 19.2",
        "Pairwise S1": "77.8",
        "Most frequent answer": "2 of 3 (67 %)",
        "Distinct answers": "2",
        "Disagreement, nominal": "0.67",
        "Disagreement, Jaccard": "0.33",
        "Disagreement, MASI": "0.44",
        "Disagreement, 1 - S1": "0.22",
    }


def test_s1_by_shots_covers_all_shots_even_if_one_is_selected(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Rio"])
    say(study, 0, ["Rio"], [], ["Rome"])
    (learnt,) = say(study, 2, ["Rio"])
    page = read(ada, study, example, shots=2)
    assert table(page, "table-numbers") == [["0", "3", "33.3", "57.7"], ["2", "1", "100.0", "–"]]
    assert [row[0] for row in table(page, "table-lanes")] == ["Gold answer", learnt.pseudonym]
    assert facts(page)["Mean S1"] == "100.0 ± –"
    assert facts(page)["Pairwise S1"] == facts(page)["Disagreement, nominal"] == "–"
    assert layers(page)[0][1:4] == [("Rio", 1, True), (" & Rome, then left ", None, False),
                                    ("Rio", 0, True)]  # fmt: skip


def test_the_most_frequent_answer_may_be_tied(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Rio"])
    say(study, 0, ["Rio"], [])
    page = read(ada, study, example)
    assert facts(page)["Most frequent answer"] == "1 of 2 (50 %), each of 2 answers"
    assert "over the 1 pair of 2 annotators" in page.text_content()


def test_unchosen_labels_are_listed_too(ada, researcher):
    task = factories.make_task(labels=factories.LABELS)
    study = factories.make_study(researcher, task, annotators=3)
    say(study, 0, ["negative"], ["negative"])
    example = task.test_split.examples.get(position=1)
    page = read(ada, study, example)
    assert [row[:3] for row in table(page, "table-distinct")] == [
        ["correct: positive", "0 of 2 (0 %)", "100.0"],
        ["negative", "2 of 2 (100 %)", "0.0"],
    ]
    assert page.xpath("//meter/@value") == ["0", "2"]
    assert facts(page)["Distinct answers"] == "1"
    # For single labels, all distances are equal.
    assert [name for name in facts(page) if "Disagreement" in name] == ["Disagreement, nominal"]
    assert page.find_class("layer-run") == page.find_class("lane") == []


def test_kinds_never_mix_and_excluded_are_listed_separately(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Rio"])
    counted, excluded = say(study, 0, ["Rio"], ["Rome"])
    excluded.in_analysis, excluded.seat_number = False, None
    excluded.save()
    (simulated,) = say(study, 0, ["Ann"], kind=Kind.SIMULATED)
    page = read(ada, study, example)
    lanes, apart = page.find_class("table-lanes")
    assert counted.pseudonym in lanes.text_content()
    assert excluded.pseudonym not in lanes.text_content()
    assert "excluded from the analysis" in apart.text_content()
    assert excluded.pseudonym in apart.text_content()
    assert simulated.pseudonym not in page.text_content()
    assert facts(page)["Mean S1"].startswith("100.0")
    assert sum(number or 0 for _text, number, _gold in layers(page)[0]) == 1
    other = read(ada, study, example, kind="simulated")
    assert "Simulated (not people)" in other.text_content()
    assert [row[0] for row in table(other, "table-lanes")] == ["Gold answer", simulated.pseudonym]
    for query in ({"kind": "none"}, {"shots": "1"}, {"shots": "x"}):
        assert ada.get(address(study, example), query).status_code == 404


def test_an_annotator_still_working_is_not_counted(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0])
    seat = factories.seat(study.scenarios.get())
    factories.work_through(seat, limit=1)
    example = Answer.objects.get(turn__participation=seat).turn.example
    page = read(ada, study, example)
    assert "No annotator in the analysis has answered this example yet" in page.text_content()
    assert facts(page) == {}
    assert not any(number for _text, number, _gold in layers(page)[0])
    (gold, row) = table(page, "table-lanes")
    assert (gold[0], row[0], row[-1]) == ("Gold answer", "annotator 1", "in progress")


def test_gold_that_cannot_be_highlighted_is_reported(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Paris", "om"])
    say(study, 0, [])
    page = read(ada, study, example)
    text = " ".join(page.text_content().split())
    assert "Paris cannot be highlighted" in text
    assert "om cannot be highlighted" in text
    # A gold inside a word is still shown in its place, as in the reveal.
    assert ("om", 0, True) in layers(page)[0]


def test_previous_and_next_follow_the_order_of_the_list(ada, study):
    task = study.tasks.get()
    listed = [row.example for row in hardest(study, task, Kind.PERSON)]
    examples = Example.objects.in_bulk(listed)
    for place, key in enumerate(listed):
        page = read(ada, study, examples[key], shots=2)
        for rel, other in (("prev", place - 1), ("next", place + 1)):
            links = page.xpath(f"//a[@rel='{rel}']/@href")
            expected = listed[other] if 0 <= other < len(listed) else None
            assert links == (
                [f"{address(study, examples[expected])}?kind=person&shots=2"] if expected else []
            )
    html = ada.get(reverse("examples", args=[study.name])).content.decode()
    assert f"{address(study, examples[listed[0]])}?kind=person" in html


def test_example_page_query_count_is_constant_in_annotators(
    ada, researcher, django_assert_num_queries
):
    study, example = one_example(researcher, TEXT, ["Rio"])
    say(study, 0, ["Rio"])
    ada.get(address(study, example))
    with django_assert_num_queries(QUERIES):
        ada.get(address(study, example))
    say(study, 0, ["Rome", "Ann"], [])
    say(study, 2, ["Rome"])
    with django_assert_num_queries(QUERIES):
        ada.get(address(study, example))


@pytest.mark.long
@pytest.mark.real_data
def test_published_texts_stay_whole_in_layers(ada, researcher, clues):
    """The twelve contexts contain ampersands, quotation marks or angle brackets."""
    card, files = read_clues(clues, "CoNLL03")
    tested = next(file.records for file in files if file.kind == "test")
    records = [record for record in tested if set(record.context[0]) & set("&<>'\"")][:12]
    task = factories.make_task(test=records, **card.as_dict())
    study = factories.make_study(researcher, task, shots=[0], annotators=2)
    answered = factories.work_through(factories.seat(study.scenarios.get()))
    factories.work_through(factories.seat(study.scenarios.get()), lambda turn: [])
    assert answered == len(records) == 12
    for example in task.test_split.examples.all():
        (layer,) = layers(read(ada, study, example))
        assert "".join(text for text, _number, _gold in layer) == example.context[0]
        marked = {text for text, number, _gold in layer if number}
        assert marked == set(example.gold)
        assert all(is_gold for _text, number, is_gold in layer if number)


def test_an_example_without_answers_shows_a_notice(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Rio"])
    page = read(ada, study, example)
    assert "No annotator in the analysis has answered this example yet" in page.text_content()
    assert ("Rio", 0, True) in layers(page)[0]


def test_training_examples_and_foreign_examples_are_not_found(client, ada, study, other_researcher):
    task = study.tasks.get()
    training = task.train_split(2, 1).examples.first()
    test = task.test_split.examples.first()
    assert ada.get(reverse("example", args=[study.name, training.pk])).status_code == 404
    client.force_login(other_researcher)
    assert client.get(reverse("example", args=[study.name, test.pk])).status_code == 404
    assert client.get(reverse("examples", args=[study.name])).status_code == 404


def test_a_study_without_answers_says_so(ada, researcher):
    empty = factories.make_study(researcher, factories.make_task())
    page = ada.get(reverse("examples", args=[empty.name])).content.decode()
    assert "No annotator in the analysis has completed" in page


def test_the_gold_audit_counts_unanimous_answers(study):
    """The two annotators agree only on the examples without an answer."""
    tallies, doubts = difficulty.doubts(study, Kind.PERSON)
    (tally,) = tallies
    examples = study.tasks.get().test_split.examples
    assert (tally.examples, tally.unanimous, doubts) == (4, examples.filter(gold=[]).count(), [])
