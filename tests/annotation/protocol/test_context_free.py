"""Some annotators answer test questions without the context, for a comparison with zero shots."""

import csv
import io
import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.models import Avg
from django.urls import reverse
from django.utils import translation
from django.utils.html import escape
from scipy.stats import ttest_ind

from analysis.documents.study_record import StudyRecord
from analysis.export import other_tools
from analysis.export.pages_seen import pages
from analysis.scores import anchors
from annotation.models import Answer, Arm, Kind, Status, Step, Study
from annotation.protocol import attention_checks
from annotation.study import consequences, minutes
from tasks.models import Task
from tests import factories
from tests.analysis.export.tampering import Export
from tests.factories import PLACES, record
from tests.tasks.test_gym import GYM

HTMX = {"HTTP_HX_REQUEST": "true"}


def questions(prefix: str, number: int) -> list:
    """Return different questions, each with three options and a context that answers it."""
    records = []
    for index in range(number):
        options = [PLACES[(index + step) % len(PLACES)] for step in range(3)]
        text = f"{prefix} {index}: the secret harbour of number {index} is {options[1]}."
        question = f"Which harbour has number {index}?"
        records.append(record(prefix, index, text, question, options[1], options=options))
    return records


def make_task(**changes) -> Task:
    defaults = {"answer": "option", "no_answer": False, "name": "harbours", "title": "Harbours"}
    examples = {"train": {2: questions("train", 2)}, "test": questions("test", 8)}
    return factories.make_task(**(defaults | examples | changes))


def make_study(researcher, task=None, **fields):
    defaults = {"shots": [0, 2], "annotators": 2, "context_free_annotators": 3}
    return factories.make_study(researcher, task or make_task(), **(defaults | fields))


@pytest.fixture
def study(researcher):
    return make_study(researcher)


def alone(study):
    return study.scenarios.get(arm=Arm.QUESTION)


def test_each_task_gets_further_seats_without_training(study):
    cells = study.scenarios.values_list("shots", "arm", "seats").order_by("shots", "arm")
    assert list(cells) == [(0, "", 2), (0, "question", 3), (2, "", 2)]
    assert consequences.for_study(study).seats == 7
    assert json.loads(study.manifest)["context_free_annotators"] == 3


def test_no_page_contains_the_context_until_the_end(client, study):
    seat, pages = factories.join(study), []
    study.participations.filter(pk=seat.pk).update(scenario=alone(study))
    url = reverse("work", args=[seat.token])
    client.post(reverse("consent", args=[seat.token]), {"agree": "yes"})
    pages.append(client.get(url).content.decode())
    assert "We leave out the text on purpose." in pages[-1]
    client.post(reverse("begin", args=[seat.token]))
    for number in range(8):
        pages.append(client.get(url).content.decode())
        turn = seat.latest_turn()
        assert turn.step == Step.ANNOTATION
        assert turn.example.question in pages[-1]
        assert "data-passage" not in pages[-1]
        fields = {"turn": turn.pk, "option": turn.example.options.index(turn.example.gold[0]) + 1}
        reply = client.post(reverse("answer", args=[seat.token]), fields, **HTMX)
        assert reply.status_code == 200, number
        pages.append(reply.content.decode())
    pages.append(client.get(url).content.decode())
    pages.append(client.get(reverse("own_data", args=[seat.token])).content.decode())
    seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    assert "number 7?" in pages[-1]
    assert not [page for page in pages if "secret harbour" in page]


def test_the_control_with_context_gets_it_on_its_page(client, study):
    seat = factories.seat(study.scenarios.get(shots=0, arm=""))
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "secret harbour" in page
    assert "We leave out the text on purpose." not in page


def test_the_api_sends_no_context(client, study):
    seat = factories.seat(alone(study), Kind.MODEL)
    bearer = {"Authorization": f"Bearer {seat.token}"}
    state = client.get(reverse("api_work"), headers=bearer)
    assert state.json()["question"]["segments"] == []
    assert state.json()["task"]["instructions"].startswith("We leave out the text on purpose.")
    sent = [state.content.decode()]
    for _ in range(8):
        asked = client.get(reverse("api_work"), headers=bearer).json()["question"]
        body = {"turn": asked["turn"], "answer": {"option": 0}}
        reply = client.post(reverse("api_answer"), body, "application/json", headers=bearer)
        assert reply.status_code == 200
        sent.append(reply.content.decode())
    sent.append(client.get(reverse("api_history"), headers=bearer).content.decode())
    assert reply.json()["step"] == "finished"
    assert not [text for text in sent if "secret harbour" in text]


def test_the_preview_and_the_pages_of_a_bundle_hide_it_too(ada, study):
    scenario = alone(study)
    for step, position in (("instructions", 0), ("annotation", 3)):
        url = reverse("scenario_preview", args=[study.name, scenario.pk, step, position])
        page = ada.get(url).content.decode()
        assert "We leave out the text on purpose." in page
        assert "secret harbour" not in page
    seen = pages(study)
    assert "secret harbour" in seen["harbours-question"]
    assert "secret harbour" not in seen["harbours-question-alone"]


def test_the_sentence_is_in_the_annotators_language(client, researcher):
    study = make_study(researcher, interface_language="de")
    seat = factories.seat(alone(study))
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    assert "We leave out the text" not in page
    with translation.override("de"):
        told = translation.gettext(
            "We leave out the text on purpose. Answer from the question alone, as well as you can."
        )
    assert told in page


def test_announced_minutes_do_not_count_the_context(researcher):
    long = [
        record("test", n, "word " * 900, f"Number {n}?", PLACES[0], options=PLACES[:3])
        for n in range(20)
    ]
    task = make_task()
    other = factories.make_task(
        train={2: questions("train", 2)}, test=long, answer="option", no_answer=False, name="long"
    )
    study = factories.make_study(
        researcher, task, other, shots=[0], context_free_annotators=1, estimated_minutes=None
    )
    told = {arm: study.scenarios.get(task=other, arm=arm).minutes for arm in ("", "question")}
    assert told == {"": 80, "question": 5}
    assert [load.words for load in minutes.workloads(study, [other])] == [902, 2]


def wrong_in(*numbers: int):
    def answer(turn):
        right = turn.example.gold[0]
        if turn.example.position not in numbers:
            return [right]
        return [next(text for text in turn.example.options if text != right)]

    return answer


@pytest.fixture
def answered(study):
    """A study with scores of 100 and 75 with the context, and 50, 25 and 37.5 without it."""
    zero = study.scenarios.get(shots=0, arm="")
    for scenario, wrong in (
        (zero, ()), (zero, (0, 1)),
        (alone(study), (0, 1, 2, 3)), (alone(study), (2, 3, 4, 5, 6, 7)),
        (alone(study), (0, 2, 4, 6, 7)),
    ):  # fmt: skip
        factories.work_through(factories.seat(scenario), wrong_in(*wrong))
    return study


def test_page_csv_and_api_show_the_difference(ada, answered):
    page = ada.get(reverse("analysis", args=[answered.name])).content.decode()
    assert '<h2 id="question_alone">Question alone</h2>' in page
    assert "37.5 ± 12.5 (n = 3)" in page
    assert "87.5 ± 17.7 (n = 2)" in page
    url = reverse("analysis_file", args=[answered.name, "question_alone"])
    (row,) = csv.DictReader(io.StringIO(ada.get(url).content.decode()))
    assert (row["n_alone"], row["n_context"]) == ("3", "2")
    assert float(row["difference"]) == pytest.approx(0.5)
    assert float(row["low_95"]) < 0.5 < float(row["high_95"])
    welch = ttest_ind([1, 0.75], [0.5, 0.25, 0.375], equal_var=False)  # over annotators
    t = float(row["difference"]) / float(row["people_se"])
    assert (t, float(row["people_df"])) == pytest.approx((welch.statistic, welch.df))
    api = ada.get(reverse("api_analysis", args=[answered.name])).json()[0]["question_alone"]
    assert api[0]["difference"] == pytest.approx(0.5)


def test_the_main_table_leaves_them_out_and_says_so(ada, answered):
    page = ada.get(reverse("human_performance", args=[answered.name])).content.decode()
    assert "87.5 ± 17.7" in page
    assert "37.5" not in page
    assert "Annotators who saw no context appear only in the table “Question alone”." in page
    assert "3 completed in the question arm" in page


def test_the_export_names_the_arm_and_agrees(researcher, tmp_path, capsys):
    task = make_task()
    lines = [
        {"id": "check", "context": "Choose Oslo.", "question": "Which one?", "answer": ["Oslo"],
         "options": PLACES[:3]}
    ]  # fmt: skip
    checks = tmp_path / "checks.jsonl"
    checks.write_text("\n".join(map(json.dumps, lines)))
    attention_checks.import_checks(task, checks)
    study = make_study(researcher, task, attention_checks=1)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario), wrong_in(1))
    call_command("export_study", study.name, str(tmp_path / "export"), verbosity=0)
    export = Export(tmp_path / "export")
    assert export.verify() == 0, capsys.readouterr().out
    arms = [row["arm"] for row in export["annotators.csv"]]
    assert sorted(arms) == ["", "", "question"]
    checked = {row["annotator"] for row in export["answers.csv"] if row["step"] == "check"}
    assert len(checked) == 2
    assert export["question_alone.csv"][0]["n_alone"] == "1"


@pytest.mark.long
def test_simulated_annotators_show_the_known_difference(researcher):
    study = make_study(
        researcher,
        make_task(test=questions("test", 200)),
        shots=[0], annotators=8, context_free_annotators=8, rehearsal=True, try_the_tool=False,
    )  # fmt: skip
    call_command("simulate_workers", study.name, policy="contextual:0.9:0.4", processes=1)
    (row,) = anchors.alone(study, Kind.SIMULATED)
    assert (row.n_from, row.n_to) == (8, 8)
    assert row.low < 50 < row.high
    assert row.difference == pytest.approx(50, abs=6)
    assert row.mean_alone == pytest.approx(40, abs=5)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"shots": [2]}, "They are compared with zero-shot annotators"),
        ({"anchor_examples": 1}, "Anchor and screening examples are answered with their context."),
    ],
)
def test_a_design_without_a_comparison_is_refused(researcher, fields, told):
    with pytest.raises(ValidationError) as refused:
        make_study(researcher, **fields)
    assert refused.value.message_dict["context_free_annotators"][0].startswith(told)


@pytest.mark.real_data
def test_multirc_has_questions_of_its_own_and_rte_has_not(client, researcher):
    names = ["superglue-multirc", "glue-rte"]
    call_command("import_gym", str(GYM), tasks=names, test=12, seed=3, stdout=io.StringIO())
    multirc, rte = (Task.objects.get(name=name) for name in names)
    study = make_study(researcher, multirc, shots=[0])
    seat = factories.seat(alone(study))
    page = client.get(reverse("work", args=[seat.token])).content.decode()
    example = seat.latest_turn().example
    assert escape(example.options[0]) in page
    assert escape(example.context[0][:60]) not in page
    with pytest.raises(ValidationError, match="glue-rte asks the same question"):
        make_study(researcher, rte, shots=[0])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("spans", "toy-spans is answered with spans of the context."),
        ("label", "toy-label asks the same question about every context."),
    ],
)
def test_tasks_without_a_question_of_their_own_are_refused(researcher, kind, told):
    with pytest.raises(ValidationError) as refused:
        make_study(researcher, factories.make_kind(kind))
    assert refused.value.message_dict["context_free_annotators"][0].startswith(told)


def test_the_database_refuses_anchors_for_them(researcher):
    study = make_study(researcher, status="draft")
    rule = "annotators_without_contexts_see_none"
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(anchor_examples=1)


def test_harness_samples_hold_the_prompt_that_was_shown(answered, tmp_path):
    other_tools.write_harness_samples(answered, tmp_path)
    samples = {"question": [], "": []}
    for file in tmp_path.glob("*/samples_*.jsonl"):
        (results,) = file.parent.glob("results_*.json")
        arm = json.loads(results.read_text())["config"]["model_args"]["arm"]
        samples[arm or ""] += map(json.loads, file.read_text().splitlines())
    prompts = {
        arm: [sample["arguments"]["gen_args_0"]["arg_0"] for sample in own]
        for arm, own in samples.items()
    }
    assert len(prompts["question"]) == 3 * 8
    assert not any("secret" in prompt for prompt in prompts["question"])
    assert all("secret" in prompt for prompt in prompts[""])


def test_times_and_counts_of_the_report_leave_them_out(ada, answered):
    record = StudyRecord(answered)
    shown = Answer.objects.filter(turn__participation__scenario__arm="")
    mean = shown.aggregate(mean=Avg("active_seconds"))["mean"]
    assert record.seconds_per_answer == pytest.approx(mean)
    report = " ".join(ada.get(reverse("report", args=[answered.name])).content.decode().split())
    assert "We planned to recruit 2 annotators for each of the 2 scenarios" in report
    plan = ada.get(reverse("preregistration", args=[answered.name])).content.decode()
    assert "number of shots, or the questions of a task alone)" in " ".join(plan.split())


def test_plan_and_report_describe_the_group(ada, answered):
    plan = ada.get(reverse("preregistration", args=[answered.name])).content.decode()
    assert "an additional group of 3 annotators is given the test questions without" in plan
