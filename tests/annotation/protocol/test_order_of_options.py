"""If the design shuffles labels and options, each annotator sees a separate order."""

import json

import lxml.html
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, Kind, Participation
from tests import factories
from tests.analysis.export.tampering import Export

pytestmark = pytest.mark.django_db
NAMES = ["positive", "negative", "mixed", "neutral"]
LABELS = [*factories.LABELS, *({**factories.LABELS[0], "name": name} for name in NAMES[2:])]
CHOSEN = "descendant::*[contains(@class, 'turn-choice')]//*[@translate='no']"


@pytest.fixture
def task():
    return factories.make_task(labels=LABELS)


@pytest.fixture
def study(researcher, task):
    return factories.make_study(
        researcher, task, shots=[2], annotators=12, shuffles_options=True, programs_as_people=True
    )


def page_of(seat):
    return lxml.html.fromstring(Client().get(reverse("work", args=[seat.token])).content)


def shown(page):
    return [label.text_content() for label in page.xpath(CHOSEN)]


def send(seat, **fields):
    fields["turn"] = page_of(seat).xpath("string(//input[@name='turn']/@value)")
    return Client().post(reverse("answer", args=[seat.token]), fields, follow=True)


def test_labels_keep_the_card_s_order_by_default(researcher, task):
    study = factories.make_study(researcher, task, shots=[2], annotators=5)
    assert all(shown(page_of(factories.seat(study.scenarios.get()))) == NAMES for _ in range(5))


def test_each_annotator_has_one_order_of_labels_throughout(study):
    orders = set()
    for _ in range(12):
        seat = factories.seat(study.scenarios.get())
        page = page_of(seat)
        order = shown(page)
        assert sorted(order) == sorted(NAMES)
        keys = page.xpath("//input[@name='label']/@aria-keyshortcuts")
        assert (keys, page.xpath("//input[@name='label']/@value")) == (list("1234"), order)
        revealed = lxml.html.fromstring(send(seat, label=order[0]).content)
        assert shown(revealed) == order
        assert Answer.objects.get(turn__participation=seat).label == order[0]
        factories.go_on(seat.token)
        assert shown(page_of(seat)) == order
        orders.add(tuple(order))
    assert len(orders) > 4


def test_instructions_and_the_api_have_the_annotator_s_order(study):
    orders = set()
    for _ in range(8):
        seat = factories.join(study)
        call = {"headers": {"Authorization": f"Bearer {seat.token}"}}
        Client().post(reverse("api_consent"), {"agree": True}, "application/json", **call)
        instructions = page_of(seat).xpath("//details[@data-window]/@data-window")[:4]
        state = Client().post(reverse("api_begin"), {}, "application/json", **call).json()
        listed = [label["name"] for label in state["task"]["labels"]]
        assert [f"What does “{name}” mean?" for name in listed] == instructions
        assert listed == shown(page_of(seat))
        orders.add(tuple(listed))
    assert len(orders) > 1


def seats_of(researcher, kind, number=6, **fields):
    study = factories.make_study(
        researcher, factories.make_kind(kind), shots=[2], annotators=number,
        shuffles_options=True, training_order="file_order", **fields,
    )  # fmt: skip
    return [factories.seat(study.scenarios.get()) for _ in range(number)]


def test_a_chosen_option_is_stored_as_its_text(researcher):
    seats = seats_of(researcher, "option")
    orders = [shown(page_of(seat)) for seat in seats]
    assert len(set(map(tuple, orders))) > 1
    for seat, order in zip(seats, orders, strict=True):
        send(seat, option="2")
        assert Answer.objects.get(turn__participation=seat).values == [order[2]]
        send(seat, option="2")  # repeating the same answer is not a conflict
        assert Client().get(reverse("work", args=[seat.token])).status_code == 200


def test_several_options_are_stored_in_the_order_of_the_file(researcher):
    for seat in seats_of(researcher, "options"):
        listed = seat.latest_turn().example.options
        order = shown(page_of(seat))
        send(seat, **{"option-0": "1", "option-1": "1"})
        stored = Answer.objects.get(turn__participation=seat).values
        assert stored == sorted(order[:2], key=listed.index)


def test_equal_lists_of_options_are_shown_in_the_same_order(researcher):
    records = [
        factories.record("train", n, f"{n}", "?", "Oslo", options=options)
        for n, options in enumerate((["Oslo", "Lima", "Riga"], ["Riga", "Oslo", "Lima"]))
    ]
    task = factories.make_kind("option", train={2: records}, shots=[2])
    study = factories.make_study(researcher, task, shots=[2], shuffles_options=True)
    seat = factories.seat(study.scenarios.get())
    first = shown(page_of(seat))
    send(seat, option="0")
    factories.go_on(seat.token)
    assert shown(page_of(seat)) == first


@pytest.fixture
def exported(researcher, tmp_path):
    tasks = [factories.make_kind(kind) for kind in ("label", "option", "options", "number")]
    study = factories.make_study(researcher, *tasks, shots=[2], annotators=2, shuffles_options=True)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    return Export(tmp_path / "export")


def test_orders_are_exported_and_redrawn_from_the_seed(exported, capsys):
    assert exported.verify() == 0, capsys.readouterr().out
    rows = exported["answers.csv"]
    assert {row["s1"] for row in rows} == {"1.0"}
    orders = {row["choice_order"] for row in rows if row["task"] != "toy-number"}
    assert {tuple(sorted(json.loads(order))) for order in orders} >= {(0, 1), (0, 1, 2)}
    assert {row["choice_order"] for row in rows if row["task"] == "toy-number"} == {""}


def test_an_altered_order_of_options_is_found(exported, capsys):
    row = next(row for row in exported["answers.csv"] if row["task"] == "toy-option")
    row["choice_order"] = json.dumps(json.loads(row["choice_order"])[::-1])
    exported.write("answers.csv")
    assert exported.verify() == 1
    assert "choice_order" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("kind", ["label", "option", "options"])
def test_simulated_annotators_find_the_shown_options(researcher, kind):
    task = factories.make_kind(kind)
    study = factories.make_study(
        researcher, task, shots=[2], annotators=4, rehearsal=True, shuffles_options=True
    )
    call_command("simulate_workers", study.name, policy="gold", processes=1, verbosity=0)
    assert {seat.kind for seat in Participation.objects.all()} == {Kind.SIMULATED}
    assert set(Answer.objects.values_list("s1", flat=True)) == {1.0}
