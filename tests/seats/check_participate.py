"""Inspect's mock model takes part over HTTP."""

import json
from collections import Counter

import pytest
from conftest import KINDS, latest_question, mock_output
from handful import HandfulError
from inspect_ai.log import list_eval_logs, read_eval_log

SCENARIOS = 3  # per task: zero shots, and two shots on two splits


def of_models(files, name):
    return [row for row in files[name] if row.get("kind") == "model"]


def test_a_perfect_model_takes_every_seat_in_every_kind_of_task(serve):
    served = serve(*KINDS)
    assert served.annotate(served.right_answer, seed=3, temperature=0)
    files = served.exported()
    seats = of_models(files, "annotators.csv")
    assert Counter(row["status"] for row in seats) == {"completed": SCENARIOS * len(KINDS)}
    judged = [row for row in seats if row["task"] != "toy-long-text"]
    assert {row["mean_s1"] for row in judged} == {"1.0"}
    told = files["model_annotators.csv"]
    assert {(row["model"], row["temperature"], row["seed"]) for row in told} == {
        ("mockllm/model", "0.0", "3")
    }
    assert {row["invalid"] for row in told} == {"0"}
    assert all(int(row["input_tokens"]) > 0 < float(row["seconds"]) for row in told)
    people = [row for row in files["human_performance.csv"] if row["kind"] == "person"]
    assert {row["n"] for row in people} == {"0"}


def test_a_broken_reply_is_retried_and_invalid_output_is_counted(serve):
    served = serve("label", "spans")
    cut_off = set()

    def outputs(messages, *_more):
        asked = latest_question(messages)
        if (asked, len(messages)) not in cut_off:
            cut_off.add((asked, len(messages)))
            raise json.JSONDecodeError("half a reply", "{", 1)
        if "test 1:" in asked or "test 3:" in asked:
            return mock_output("I am not sure what you mean.")
        return served.right_answer(messages)

    assert served.annotate(outputs, retries=1, examples="shown", context="all")
    files = served.exported()
    told = files["model_annotators.csv"]
    assert {row["examples"] for row in told} == {"shown"}
    assert {row["answers"] for row in told} == {"4"}  # a shown training example isn't a question
    assert {row["invalid"] for row in told} == {"2"}
    given_up = [
        row for row in of_models(files, "answers.csv")
        if row["task"] == "toy-label" and row["answer"] == "[]" and row["step"] == "annotation"
    ]  # fmt: skip
    assert len(given_up) == 2 * SCENARIOS
    assert {row["s1"] for row in given_up} == {"0.0"}


def test_an_interrupted_run_continues_without_a_second_answer(serve):
    served = serve("spans")
    breaks = iter(range(1, 10))

    def outputs(*_asked):
        if next(breaks, None) is None:
            raise RuntimeError("the machine is gone")
        return mock_output('Answer: ["home"]')

    assert not served.annotate(outputs, shots="2")
    before = of_models(served.exported(), "answers.csv")
    assert any(row["answer"] for row in before)

    def again(*_asked):
        return mock_output('Answer: ["then"]')

    assert served.annotate(again, shots="2")
    files = served.exported()
    after = {
        (row["annotator"], row["step"], row["position"]): row
        for row in of_models(files, "answers.csv")
    }
    assert len(after) == len(of_models(files, "answers.csv")) == 2 * 6
    for row in before:
        if row["answer"]:
            stored = after[row["annotator"], row["step"], row["position"]]
            assert (stored["answer"], stored["submitted_at"]) == (
                row["answer"], row["submitted_at"],
            )  # fmt: skip
    assert {row["answer"] for row in after.values()} == {'["home"]', '["then"]'}
    told = files["model_annotators.csv"]
    assert {row["answers"] for row in told} == {"6"}
    # The third call finds nothing left to do.
    assert served.annotate(again, shots="2")
    assert served.exported()["answers.csv"] == files["answers.csv"]


def test_a_model_reads_what_people_see_and_no_gold_in_advance(serve):
    served = serve("label")
    seen: list[list[dict[str, str]]] = []

    def outputs(said, *_more):
        seen.append([{"role": one.role, "text": one.text} for one in said])
        return mock_output("Answer: positive")

    assert served.annotate(outputs, shots="2")
    asked = [said for said in seen if "about the instructions" not in said[-1]["text"]]
    system = asked[0][0]["text"]
    for words in ("Find the places in a sentence.", "Highlight every place.", "likes it"):
        assert words in system
    first = next(said for said in asked if len(said) == 2)
    assert "right answer is" not in json.dumps(first)
    second = next(said for said in asked if len(said) == 4)
    assert second[2]["text"] == "Answer: positive"
    assert "The right answer is: " in second[3]["text"]
    tested = [said for said in asked if len(said) == 6]  # two training examples, one test example
    assert len(tested) == 2 * 4
    assert all("right answer is" not in said[-1]["text"].split("\n\n")[-1] for said in tested)


def test_the_inspect_log_has_the_last_step_and_no_token(serve):
    served = serve("label")
    assert served.annotate(served.right_answer, shots="0")
    (info,) = list_eval_logs(str(served.folder / "logs"))
    log = read_eval_log(info)
    assert [sample.metadata["step"] for sample in log.samples] == ["finished"]
    assert log.results.scores[0].metrics["mean"].value == 0
    assert served.token not in log.model_dump_json()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"examples": "x"}, "expected one of"),
        ({"context": "x"}, "expected one of"),
        ({"shots": "ten"}, "has no scenario with these tasks, shots and"),
        ({"tasks": "nothing"}, "has no scenario with these tasks, shots and"),
        ({"replicates": 0}, "has no scenario with these tasks, shots and"),
    ],
)
def test_impossible_options_are_refused(serve, wrong, message):
    served = serve("label")
    with pytest.raises((ValueError, HandfulError), match=message):
        served.annotate(served.right_answer, **wrong)
