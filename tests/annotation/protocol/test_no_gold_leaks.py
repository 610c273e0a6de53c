"""Invariant 3: a page doesn't depend on gold that must still be hidden.

The tests walk through two tasks with the same answers. The tasks differ only in their gold and its
explanations. Until an answer is stored, and throughout the annotation step, all pages, replies and
headers must be identical, except for names that differ between any two participations, which are
masked.
"""

import re
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Step, Study
from tasks.formats import Record
from tests import factories

MASKS = [
    (rb'csrfmiddlewaretoken" value="[^"]+', b"CSRF"),
    (rb'name="arrival" value="[^"]+', b"ARRIVAL"),
    (rb'"X-CSRFToken": ?"[^"]+', b"CSRF"),
    (rb"(?<=/work/)[\w-]{20,}", b"TOKEN"),
    (rb"(?<=/join/)[\w-]{10,}", b"LINK"),
    (rb'(?<=name="turn" value=")\d+', b"TURN"),
    (rb'(?<=data-key=")[^"]+', b"TURN"),
    # Time worked and earnings, which depend only on the clock (one cent every three seconds).
    (rb'(?<=data-worked=")\d+">\d+ min', b"WORKED"),
    (rb'(?<= value=")\d+\.\d\d">\d+\.\d\d', b"EARNED"),
    (rb'(?s)data-minutes-left="\d+".*?\d+ min', b"LEFT"),
    (rb"\b\d+(\.\d\d USD| min| s)\b", b"EARNED OR WORKED"),
    (rb"\b[A-Z2-9]{8}\b", b"CODE"),
]
# The last page repeats the training results, which have already been revealed.
LEARNED = re.compile(rb'<div class="visit-learned">.*?</div>', re.DOTALL)


def masked(reply) -> tuple[int, bytes, dict[str, str]]:
    body = reply.content
    for pattern, mask in MASKS:
        body = re.sub(pattern, mask, body)
    headers = {
        name: re.sub(r"(?<=/work/)[\w-]{20,}", "TOKEN", value)
        for name, value in reply.headers.items()
        if name not in ("Content-Length", "Expires", "Last-Modified", "X-Request-ID")
    }
    return reply.status_code, body, headers


def records(prefix: str, gold: list[tuple[str, ...]]) -> list[Record]:
    return [
        Record(
            f"{prefix}{i}",
            (f"{prefix} {i}: Oslo and Lima and Rome.",),
            "Which?",
            answer,
            explanation=f"Because of {gold}." if prefix == "train" else "",
        )
        for i, answer in enumerate(gold)
    ]


GOLDS = (
    [("Oslo",), (), ("Oslo", "Lima", "Rome")],
    [(), ("Rome",), ("Lima",)],
)
# For each kind, two different answers that are valid for every example, and an invalid one.
ANSWERS = {
    "spans": ({"typed": "Oslo"}, {"typed": "Rome"}, {"typed": "nowhere"}),
    "typed": ({"typed": "Bergen"}, {"typed": "Nice"}, {"typed": ""}),
    "label": ({"label": "positive"}, {"label": "negative"}, {"label": "neither"}),
    "option": ({"option": "0"}, {"option": "1"}, {"option": "9"}),
    "options": ({"option-0": "1"}, {"option-1": "1"}, {}),
    "number": ({"number": "1.5"}, {"number": "2"}, {"number": "1,5"}),
    "short text": ({"text": "Nice"}, {"text": "Bergen"}, {"text": "a" * 99}),
    "long text": ({"text": "They were in."}, {"text": "It rained."}, {"text": " "}),
}


def with_other_gold(made: list[Record]) -> list[Record]:
    """Return the examples with other valid gold: another option, or the next example's gold."""
    golds = [
        record.options[-1:] if record.options[-1:] != record.gold else record.options[:1]
        for record in made
    ]
    if not made[0].options:
        golds = [record.gold for record in [*made[1:], made[0]]]
    return [replace(record, gold=gold) for record, gold in zip(made, golds, strict=True)]


def files_of(kind: str, gold, trained_on) -> dict:
    """Return training and test records with this gold; other kinds use it only as a version."""
    if kind == "spans":
        return {"train": {3: records("train", trained_on or gold)}, "test": records("test", gold)}
    make = factories.KINDS[kind][1]
    made = {prefix: make(prefix, 3) for prefix in ("train", "test")}
    if gold is GOLDS[1]:
        made = {prefix: with_other_gold(rows) for prefix, rows in made.items()}
    return {"train": {3: made["train"]}, "test": made["test"]}


def walk(
    researcher, gold, owner_name, trained_on=None, kind="spans", **design
) -> list[tuple[str, bool, tuple]]:
    """Walk from Start to the end; return (step, is a reveal, masked reply) of each state."""
    given, other, refused_one = ANSWERS[kind]
    task = factories.make_kind(
        kind, name=f"toy-{owner_name}", title="Same", **files_of(kind, gold, trained_on)
    )
    options = {"shots": [3], "seed": 11, "title": "Same"} | design
    study = factories.make_study(researcher, task, **options)
    client = Client()
    seen = [("landing", False, masked(client.get(reverse("landing", args=[study.link_code]))))]
    client.post(reverse("start", args=[study.link_code]))
    # Use the same pseudonym in both walks, because the seed of the orders depends on it.
    Participation.objects.filter(study=study).update(pseudonym="A-SAME2")
    seat = study.participations.get()
    work = reverse("work", args=[seat.token])
    seen.append(("consent", False, masked(client.get(work))))
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    seen.append(("instructions", False, masked(client.get(work))))
    client.post(reverse("begin", args=[seat.token]))
    for _example in range(6):
        turn = seat.latest_turn()
        seen.append((turn.step, False, masked(client.get(work))))
        problem = client.get(reverse("problem", args=[seat.token]))
        seen.append((turn.step, False, masked(problem)))
        fields = {"turn": turn.pk, **given}
        address = reverse("answer", args=[seat.token])
        refused = client.post(address, {"turn": turn.pk, **refused_one}, HTTP_HX_REQUEST="true")
        seen.append((turn.step, False, masked(refused)))
        reply = client.post(address, fields, HTTP_HX_REQUEST="true")
        seen.append((turn.step, turn.step == Step.TRAINING, masked(reply)))
        again = client.post(address, {"turn": turn.pk, **other}, HTTP_HX_REQUEST="true")
        assert (refused.status_code, reply.status_code) == (422, 200)
        seen.append((turn.step, turn.step == Step.TRAINING, masked(again)))
        if turn.step == Step.TRAINING:
            for leaving in ("reveal", "review"):
                client.post(reverse("continue", args=[seat.token]), {"leaving": leaving})
    seen.append(("finished", False, masked(client.get(work))))
    return seen


@pytest.fixture
def same_orders(monkeypatch, settings):
    """Use file order, because shuffled orders depend on the task's name."""
    for field in ("training_order", "annotation_order"):
        monkeypatch.setattr(Study.design_field(field), "default", Study.Order.FILE_ORDER)


@pytest.mark.parametrize("kind", factories.KINDS)
def test_nothing_derived_from_gold_is_shown_before_the_answer(researcher, same_orders, kind):
    pages, others = (
        walk(researcher, gold, name, kind=kind)
        for gold, name in zip(GOLDS, ("a", "b"), strict=True)
    )
    assert len(pages) == len(others) > 20
    for (step, is_reveal, first), (_step, _reveal, second) in zip(pages, others, strict=True):
        if step == "finished":
            first, second = (
                (code, LEARNED.sub(b"", body)) for code, body, _headers in (first, second)
            )
        if not is_reveal:
            assert first == second, f"differs in {step}"


SCREENED = {
    "shots": [0], "screening_examples": 3,
    # The other rules have too few examples. Participants who are screened out may learn this much
    # about the gold.
    "qualification": "points_below", "qualification_threshold": 20,
}  # fmt: skip


@pytest.mark.parametrize(
    ("own_step", "design"),
    [("screening", SCREENED), ("anchor", {"shots": [0], "anchor_examples": 3})],
)
def test_an_unrevealed_step_shows_nothing_derived_from_gold(
    researcher, same_orders, own_step, design
):
    pages, others = (walk(researcher, gold, "same", **design) for gold in GOLDS)
    assert {own_step, "annotation", "finished"} <= {step for step, _reveal, _page in pages}
    assert len(pages) == len(others) > 20
    for (step, _reveal, first), (_step, _other, second) in zip(pages, others, strict=True):
        assert first == second, f"differs in {step}"


def test_the_last_page_reveals_nothing_of_the_annotation_step(researcher, same_orders):
    ends = [
        walk(researcher, gold, name, trained_on=GOLDS[0])[-1]
        for gold, name in zip(GOLDS, ("a", "b"), strict=True)
    ]
    assert LEARNED.search(ends[0][2][1])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("kind", factories.KINDS)
def test_reveals_differ_so_the_comparison_can_fail(researcher, same_orders, kind):
    pages, others = (
        walk(researcher, gold, name, kind=kind)
        for gold, name in zip(GOLDS, ("a", "b"), strict=True)
    )
    reveals = [
        first != second
        for (_s, is_reveal, first), (_t, _r, second) in zip(pages, others, strict=True)
        if is_reveal
    ]
    assert reveals
    assert any(reveals)


def test_an_explanation_is_shown_in_reveals_only(researcher, same_orders):
    """Explanations appear only after the answer, even if both tasks have the same gold."""
    seen = walk(researcher, GOLDS[0], "c")
    with_it = [is_reveal for _step, is_reveal, (_s, body, _h) in seen if b"Because of" in body]
    assert with_it == [True] * 6
    assert [is_reveal for _step, is_reveal, _reply in seen].count(True) == 6
