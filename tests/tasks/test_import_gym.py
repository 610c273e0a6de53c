"""Tasks of the NLP Few-shot Gym are imported as published, and every omission is reported."""

import io

import pytest
from django.core.management import CommandError, call_command

from annotation.study import minutes
from tasks import data_report
from tasks.formats import FormatError
from tasks.gym import making, reader
from tasks.models import Example, Split, Task
from tests import factories
from tests.tasks.test_gym import GYM, write

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("import_gym", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.real_data
def test_k_shots_are_k_of_each_label_and_seeds_are_splits():
    run(str(GYM), "--tasks", "superglue-cb", "sick")
    task = Task.objects.get(name="sick")
    card = task.card
    assert (card.ontology, card.segments) == ("cls/nli", ("Sentence 1", "Sentence 2"))
    assert [label.name for label in card.labels] == ["contradiction", "entailment", "neutral"]
    assert card.shots_per_label
    assert card.training_seeds == (13, 21, 42, 87, 100)
    assert task.split_numbers(16) == [1, 2, 3, 4, 5]
    third = task.train_split(16, 3).examples.order_by("position")
    assert third.count() == 48
    assert third[4].source_id == "sick_16_42_train:5"
    line = (GYM / "sick" / "sick_16_42_train.tsv").read_text().splitlines()[4]
    assert (
        line
        == f"sentence 1: {third[4].context[0]} [SEP] sentence 2: {third[4].context[1]}\t"
        + (third[4].gold[0])
    )
    # The corpus has fewer than K examples of one label.
    assert Task.objects.get(name="superglue-cb").train_split(16, 1).examples.count() == 37


@pytest.mark.real_data
def test_the_report_counts_the_labels_of_the_real_tasks():
    made = [making.make(making.read_source(folder)) for folder in GYM.iterdir() if folder.is_dir()]
    reports = {one.card.name: data_report.build(one.card, one.files) for one in made}
    labelled = [report for report in reports.values() if "labels" in report]
    assert (len(reports), len(labelled)) == (33, 20)
    counts = data_report.counts(reports["sick"])
    assert (
        "sick_train_16_1.jsonl: 48 examples: 16 contradiction, 16 entailment, 16 neutral" in counts
    )
    assert any(" and 37 more" in line for line in data_report.counts(reports["trec-finegrained"]))


@pytest.mark.real_data
def test_development_files_belong_to_their_training_files(researcher, tmp_path):
    run(str(GYM), "--tasks", "superglue-cb")
    task = Task.objects.get()
    dev = task.splits.filter(kind=Split.Kind.DEV).order_by("number")
    assert [(split.shots, split.number) for split in dev] == [(16, n) for n in range(1, 6)]
    lines = (GYM / task.name / "superglue-cb_16_21_dev.tsv").read_text().splitlines()
    texts = list(dev[1].examples.order_by("position").values_list("context", "gold"))
    assert len(texts) == len(lines)
    assert all(
        part in line for (context, gold), line in zip(texts, lines, strict=True)
        for part in [*context, *gold]
    )  # fmt: skip
    assert task.training_sizes == [16]
    # The announced minutes and the annotators' examples leave out the development file.
    study = factories.make_study(researcher, task, shots=[16], splits=[2])
    (load,) = minutes.workloads(study, [task])
    assert (load.training, load.test) == (37, 56)
    seat = factories.seat(study.scenarios.get())
    shown = {*seat.training_order, *seat.annotation_order}
    assert shown.isdisjoint(Example.objects.filter(split__in=dev).values_list("pk", flat=True))
    # Exporting the task and importing it again gives the same content.
    folder = tmp_path / "superglue-cb"
    call_command("export_task", task.name, str(folder), stdout=io.StringIO())
    assert (folder / "superglue-cb_dev_16_2.jsonl").exists()
    call_command("import_task", str(folder), stdout=io.StringIO())
    assert Task.objects.count() == 1


@pytest.mark.real_data
def test_span_tasks_have_questions_and_sets_are_split():
    out = run(str(GYM), "--tasks", "squad-with_context", "limit")
    squad, limit = Task.objects.get(name="squad-with_context"), Task.objects.get(name="limit")
    example = squad.test_split.examples.order_by("position")[0]
    line = (GYM / squad.name / f"{squad.name}_32_13_test.tsv").read_text().splitlines()[0]
    assert line.split("\t")[0] == f"question: {example.question} context: {example.context[0]}"
    assert (squad.card.gold_rule, squad.card.max_spans) == ("any_of", 1)
    assert (limit.card.gold_rule, limit.card.max_spans) == ("set", None)
    assert not limit.card.shots_per_label
    assert any(len(example.gold) > 1 for example in limit.train_split(32, 1).examples.all())
    assert "1 gold that does not occur in the text: limit_32_13_test.tsv:26" in out


@pytest.mark.real_data
def test_a_drawn_test_depends_on_the_seed_and_states_the_total():
    def drawn(seed: int) -> list[str]:
        made = making.make(making.read_source(GYM / "glue-rte"), making.Sample(20, seed))
        assert (made.card.test_of, made.card.test_seed) == (60, seed)
        test = next(file for file in made.files if file.kind == "test")
        return [record.id for record in test.records]

    assert drawn(5) == drawn(5) != drawn(6)
    out = run(str(GYM), "--tasks", "glue-rte", "--test", "20", "--seed", "5")
    assert "the test set has 20 of 60 examples, drawn with seed 5" in out
    assert "cls/nli, scored there by ACC; answered by label" in out
    assert Task.objects.get().test_split.examples.count() == 20
    # If fewer exist than are asked for, all are used, and the card states no sampling.
    made = making.make(making.read_source(GYM / "glue-rte"), making.Sample(61, 5))
    assert made.card.test_of is None


@pytest.mark.real_data
def test_an_exported_gym_task_imports_as_the_same_task(tmp_path):
    run(str(GYM), "--tasks", "anli", "--test", "30", "--seed", "1")
    call_command("export_task", "anli", str(tmp_path / "anli"), stdout=io.StringIO())
    out = io.StringIO()
    call_command("import_task", str(tmp_path / "anli"), stdout=out)
    assert "anli v1: unchanged" in out.getvalue()
    assert Task.objects.count() == 1


def test_a_line_without_input_or_output_is_omitted_and_reported(tmp_path):
    lost = "a\tyes\nvanished\t\n\tno\tyes\nb\tno\n"
    write(tmp_path, "glue-rte", {"21_train": lost, "13_test": "a\tyes\nc\t\nb\tno\n"})
    out = run(str(tmp_path))
    task = Task.objects.get()
    ids = task.train_split(2, 2).examples.order_by("position").values_list("source_id", flat=True)
    assert list(ids) == ["glue-rte_2_21_train:1", "glue-rte_2_21_train:4"]
    assert (task.test_split.examples.count(), task.card.test_of) == (2, 3)
    assert "3 of these lines no longer contain an example and are not imported" in out
    assert "glue-rte_2_21_train.tsv:3" in out


def test_the_kind_of_a_task_can_be_given(tmp_path):
    write(tmp_path, "web_questions", {})
    out = run(str(tmp_path), "--kind", "web_questions=label")
    assert "answered by label (as you chose)" in out
    assert [label.name for label in Task.objects.get().card.labels] == ["no", "yes"]


@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        ({"13_train": "a\tyes\tno\n"}, [], "line 1, field answer: expected exactly one of the lab"),
        ({"13_train": "a\tyes\nb\tyes\nc\tyes\n"}, [], "at most 2 examples of each label, found 3"),
        ({"13_test": "a\tyes\n\tno\n"}, ["--kind", "glue-rte=option"], "without options"),
        ({"13_test": "a\t" + "x" * 101}, [], "limit of a label|at most 100 characters"),
        ({}, ["--kind", "glue-rte=essay"], "unknown answer type 'essay'"),
        ({}, ["--kind", "sick=label"], "sick is not one of the imported tasks"),
        ({}, ["--kind", "label"], "expected VALUE=TEXT"),
        ({}, ["--seed", "3"], "Set both, or neither"),
        ({}, ["--test", "0"], "must be at least 1"),
    ],
)
def test_an_impossible_import_stores_nothing_and_names_the_place(tmp_path, files, arguments, said):
    write(tmp_path, "glue-rte", files)
    write(tmp_path, "glue-qnli", {})
    with pytest.raises(CommandError, match=said):
        run(str(tmp_path), *arguments)
    assert not Task.objects.exists()
    assert not Split.objects.exists()


def test_a_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(CommandError, match="does not contain the folder of any task"):
        run(str(tmp_path))


def test_hidden_folders_are_skipped(tmp_path):
    write(tmp_path, "glue-sst2", {})
    (tmp_path / ".ipynb_checkpoints").mkdir()
    assert "1 task read." in run(str(tmp_path), "--dry-run")


def test_a_task_that_is_named_twice_is_read_once(tmp_path):
    write(tmp_path, "glue-sst2", {})
    printed = run(str(tmp_path), "--dry-run", "--tasks", "glue-sst2", "glue-sst2")
    assert printed == run(str(tmp_path), "--dry-run", "--tasks", "glue-sst2")


def test_a_blank_text_is_reported_with_the_line_of_the_gym_file(tmp_path):
    lines = "premise: x [SEP] hypothesis: y\tyes\npremise: x [SEP] hypothesis:  \tno\n"
    parts = (f"{seed}_{part}" for seed in (13, 21) for part in reader.PARTS)
    folder = write(tmp_path, "glue-rte", dict.fromkeys(parts, lines))
    with pytest.raises(FormatError, match="glue-rte_2_13_dev.tsv, line 2, field context"):
        making.make(making.read_source(folder))


@pytest.mark.long
@pytest.mark.real_data
def test_all_33_real_tasks_can_be_imported():
    kinds = set()
    for folder in sorted(path for path in GYM.iterdir() if path.is_dir()):
        seen = making.read_source(folder)
        made = making.make(seen)
        kinds.add(made.card.answered_by)
        assert made.card.answered_by == seen.kind.name
        lines = seen.task.lines
        sizes = {file.number: len(file.records) for file in made.files if file.kind == "train"}
        assert sizes == {
            number: len(lines[seed, "train"]) for number, seed in enumerate(seen.task.seeds, 1)
        }
    assert kinds == {"label", "spans", "option", "options", "short text", "long text"}


@pytest.mark.real_data
def test_options_are_cut_from_the_text_in_order():
    run(str(GYM), "--tasks", "codah", "superglue-multirc", "commonsense_qa")
    example = Task.objects.get(name="codah").train_split(32, 1).examples.order_by("position")[0]
    assert example.options == [
        "folds up the board.", "uses the board to make a fort.", "rolls the die.",
        "jumps on the board.",
    ]  # fmt: skip
    assert example.gold == ["rolls the die."]
    assert "(A)" not in example.context[0]
    multirc = Task.objects.get(name="superglue-multirc")
    assert (multirc.card.answered_by, multirc.card.gold_rule) == ("options", "set")
    assert any(len(example.gold) > 1 for example in multirc.test_split.examples.all())
    for task in Task.objects.all():
        for example in task.test_split.examples.all():
            assert set(example.gold) <= set(example.options)


@pytest.mark.real_data
def test_texts_have_all_golds_and_lengths_from_training_only():
    run(str(GYM), "--tasks", "web_questions", "common_gen", "limit")
    web = Task.objects.get(name="web_questions")
    assert (web.card.answered_by, web.card.gold_rule) == ("short text", "any_of")
    line = (GYM / web.name / f"{web.name}_32_13_test.tsv").read_text().splitlines()[4]
    stored = web.test_split.examples.order_by("position")[4]
    assert [stored.context[0], *stored.gold] == line.split("\t")
    card = Task.objects.get(name="common_gen").card
    train = [
        len(gold.split())
        for path in (GYM / "common_gen").glob("*_train.tsv")
        for line in path.read_text().splitlines()
        for gold in line.split("\t")[1:]
    ]
    assert card.words == (min(train), max(train))
    assert Task.objects.get(name="limit").card.typed


def test_numbers_must_be_in_plain_digits(tmp_path):
    write(tmp_path, "google_wellformed_query", dict.fromkeys(["13_train"], "a\t3.50\nb\t4\n"))
    with pytest.raises(CommandError, match="not numbers in plain digits"):
        run(str(tmp_path), "--kind", "google_wellformed_query=number")
    parts = (f"{seed}_{part}" for seed in (13, 21) for part in ("train", "dev", "test"))
    (tmp_path / "n").mkdir()
    write(tmp_path / "n", "glue-rte", dict.fromkeys(parts, "a\t3.50\nb\t4\n"))
    run(str(tmp_path / "n"), "--kind", "glue-rte=number")
    task = Task.objects.get()
    assert [example.gold for example in task.test_split.examples.order_by("position")] == [
        ["3.5"], ["4"],
    ]  # fmt: skip
