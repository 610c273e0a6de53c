"""Prompts and parsed replies of a model: pure functions, without a server."""

import pytest
from handful.inspect import conversation
from handful.inspect.conversation import Declared


def task(kind: str, **changes):
    answer = {
        "kind": kind, "no_answer": False, "typed": False, "max_spans": None, "lowest": None,
        "highest": None, "step": None, "longest": 40,
    }  # fmt: skip
    labels = [{"name": name, "definition": ""} for name in ("yes", "no", "none")]
    return {
        "title": "Places", "description": "Find them.", "instructions": "Read.", "help": [],
        "labels": labels if kind == "label" else [], "answer": answer | changes,
    }  # fmt: skip


def asked(*options: str, step: str = "training", text: str = "We saw Oslo."):
    segments = [{"name": "Sentence", "text": text}]
    return {"step": step, "segments": segments, "question": "Where?", "options": list(options)}


READ = [
    ("label", "Answer: yes", {"label": "yes"}),
    ("label", "I think so.\n**Answer:** No.", {"label": "no"}),
    ("label", "Answer: none", {"label": "none"}),
    ("option", "Answer: 2", {"option": 1}),
    ("option", 'Answer: "Lima"', {"option": 1}),
    ("options", "Answer: [2, 1, 2]", {"options": [0, 1]}),
    ("number", "Answer: 3.50", {"number": "3.50"}),
    ("number", "Answer: 3 marks", {"number": "3"}),
    ("short text", 'Answer: "Oslo"', {"text": "Oslo"}),
    ("short text", "Answer: Oslo", {"text": "Oslo"}),
    ("long text", 'Answer: "one\\ntwo"', {"text": "one\ntwo"}),
    ("spans", 'Answer: ["Oslo", "Oslo"]', {"typed": ["Oslo"]}),
    ("spans", 'Answer: draft\nAnswer: ["Lima"]', {"typed": ["Lima"]}),
]
REFUSED = [
    ("label", "Answer: perhaps"),
    ("label", "yes"),
    ("option", "Answer: 3"),
    ("option", "Answer: true"),
    ("number", "Answer: null"),
    ("number", "Answer: true"),
    ("spans", 'Answer: [1, "Oslo"]'),
    ("spans", "Answer: []"),
    ("short text", "Answer:"),
]


@pytest.mark.parametrize(("kind", "reply", "answer"), READ)
def test_a_reply_becomes_an_answer(kind, reply, answer):
    assert conversation.parse(task(kind), asked("Oslo", "Lima"), reply) == answer


@pytest.mark.parametrize(("kind", "reply"), REFUSED)
def test_a_reply_without_an_answer_is_invalid(kind, reply):
    with pytest.raises(conversation.Invalid):
        conversation.parse(task(kind), asked("Oslo", "Lima"), reply)


@pytest.mark.parametrize("reply", ["Answer: null", "Answer: []", "Answer: None.", "Answer:"])
def test_no_answer_is_parsed_if_the_task_allows_it(reply):
    assert conversation.parse(task("spans", no_answer=True), asked(), reply) == {"no_answer": True}


@pytest.mark.parametrize("kind", ["label", "option", "options", "number", "short text", "spans"])
def test_the_line_of_a_stored_answer_is_parsed_to_the_same(kind):
    texts = {"label": ["no"], "number": ["2.5"]}.get(kind, ["Lima"])
    question = asked("Oslo", "Lima")
    line = conversation.answer_line(kind, question, texts)
    answer = conversation.parse(task(kind), question, line)
    expected = {
        "label": {"label": "no"}, "option": {"option": 1}, "options": {"options": [1]},
        "number": {"number": "2.5"}, "short text": {"text": "Lima"}, "spans": {"typed": ["Lima"]},
    }  # fmt: skip
    assert answer == expected[kind]


def past(step: str, given: list[str], gold: list[str] | None = None):
    told = {"task": task("spans"), "question": asked(step=step), "answer": {"texts": given}}
    revealed = {
        "gold": gold, "verdict": "wrong", "also_accepted": [], "explanation": "", "rule": None,
    }  # fmt: skip
    return told if gold is None else told | {"reveal": revealed}


def test_the_declared_options_determine_the_context():
    lead = {"task": task("spans"), "training_total": 1, "test_total": 2}
    history = [past("training", ["home"], ["Oslo"]), past("annotation", ["Lima"])]
    now = {"question": asked(step="annotation", text="We left Riga.")}
    texts = {}
    for examples in ("answered", "shown"):
        for context in ("each", "all"):
            said = conversation.messages(lead, history, now, Declared(examples, context))
            assert [one["role"] for one in said[:3]] == ["system", "user", "assistant"]
            assert "Riga" in said[-1]["content"]
            texts[examples, context] = [one["content"] for one in said]
    assert texts["answered", "each"][2] == 'Answer: ["home"]'
    assert texts["answered", "each"][3].startswith('Not right. The right answer is: "Oslo".')
    assert texts["shown", "each"][2] == 'Answer: ["Oslo"]'
    assert texts["shown", "each"][3].startswith("Sentence: ")
    assert len(texts["answered", "each"]) == 4
    assert texts["answered", "all"][4] == 'Answer: ["Lima"]'


def test_images_are_described_and_only_sent_if_declared():
    shown = asked(text="A red car.")
    shown["segments"][0]["image"] = "/images/abc.png"
    now = {"question": shown}
    lead = {"task": task("spans"), "training_total": 0, "test_total": 1}
    for declared, images in ((Declared(), None), (Declared(images="sent"), ["/images/abc.png"])):
        said = conversation.messages(lead, [], now, declared)[-1]
        assert "A red car." in said["content"]
        assert said.get("images") == images


def test_each_declared_option_changes_the_prompt_hash():
    hashes = {
        Declared(examples, context, retries, images).hash
        for examples in ("answered", "shown")
        for context in ("each", "all")
        for retries in (0, 2)
        for images in ("alt", "sent")
    }
    assert len(hashes) == 16
    for wrong in ({"examples": "x"}, {"context": "x"}, {"retries": -1}, {"images": "x"}):
        with pytest.raises(ValueError, match=":"):
            Declared(**wrong)
