"""Files of the NLP Few-shot Gym are read as in the Gym, and their quirks are reported."""

import csv
import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tasks.formats import FormatError
from tasks.gym import catalogue, findings, making, reader
from tasks.metrics import METRICS
from tests.conftest import SHARED

GYM = SHARED / "data" / "gym"
# Answer type in the manifest of the real files -> our answer type.
KINDS = {
    "choice": "label",
    "sentence": "label",
    "option": "option",
    "multi": "options",
    "short": "short text",
    "span": "spans",
    "long": "long text",
}


def report(*arguments: str) -> str:
    out = io.StringIO()
    call_command("import_gym", *arguments, "--dry-run", stdout=out)
    return out.getvalue()


def write(folder: Path, name: str, files: dict[str, str | bytes]) -> Path:
    """Write a task of K = 2 with two seeds; `files` can replace "a<TAB>yes", "b<TAB>no"."""
    (folder / name).mkdir()
    for seed in (13, 21):
        for part in reader.PARTS:
            content = files.get(f"{seed}_{part}", "a\tyes\nb\tno\n")
            path = folder / name / f"{name}_2_{seed}_{part}.tsv"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def inspect(task: reader.GymTask) -> tuple[making.Kind, list[str]]:
    shape = reader.shape_of([line.input for line in task.all_lines()])
    kind = making.infer(task, shape, catalogue.tasks()[task.name])
    return kind, list(findings.findings(task, shape, kind.name))


@pytest.mark.long
@pytest.mark.real_data
def test_the_kind_of_answer_of_all_33_real_tasks_is_inferred():
    with (GYM / "manifest.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 33
    for row in rows:
        task = reader.read_task(GYM / row["task"])
        assert [len(task.lines[13, part]) for part in reader.PARTS] == [
            int(row[f"{part}_lines"]) for part in reader.PARTS
        ]
        kind, _told = inspect(task)
        assert kind.name == KINDS[row["kind"].split("-")[0]], row
        published = catalogue.tasks()[task.name]
        assert (published.ontology, published.metric) == (row["ontology"], row["metric"])


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("limit", "1 gold that does not occur in the text: limit_32_13_test.tsv:26"),
        ("commonsense_qa", "2 lines whose gold is such a text"),
        ("e2e_nlg_cleaned", "seed 100: 3 inputs of train are also in dev"),
        ("sick", "seed 100: 1 input of train is also in test"),
        ("superglue-cb", "seed 13: fewer than 16 training lines of 'neutral'"),
        ("web_questions", "151 lines with several golds (at most 10)"),
        ("trec-finegrained", "47 different outputs in training"),
    ],
)
def test_quirks_of_real_tasks_are_reported(name, said):
    assert said in report(str(GYM), "--tasks", name)


@pytest.mark.long
@pytest.mark.real_data
def test_shared_texts_and_the_leak_of_a_partition_are_reported():
    told = report(str(GYM))
    assert "33 tasks read." in told
    assert "squad-no_context and squad-with_context have 128 texts in common" in told
    assert "trec and trec-finegrained have 906 texts in common" in told
    told = report(str(GYM), "--partition", "train_non_nli_test_nli")
    assert "sick is both an upstream and a held-out task, as published" in told
    assert "17 tasks present, 47 missing." in told


@pytest.mark.real_data
def test_texts_and_options_are_separated():
    task = reader.read_task(GYM / "superglue-multirc")
    shape = reader.shape_of([line.input for line in task.all_lines()])
    assert shape.names == ("question", "context")
    for line in task.all_lines():
        options = shape.options(line.input)
        question, context = shape.texts(line.input)
        assert len(options) >= 2
        assert "(A)" not in question
        assert line.input.endswith(context)
        assert {text.strip() for text in line.golds[0].split(reader.SEPARATOR)} <= set(options)


def test_the_crossfit_catalogue_is_complete():
    assert len(catalogue.tasks()) == 160
    assert {task.metric for task in catalogue.tasks().values()} == set(METRICS) - {"S1"}
    partitions = catalogue.partitions()
    assert len(partitions) == 9
    for partition in partitions.values():
        assert {*partition.upstream, *partition.dev, *partition.held_out} <= set(catalogue.tasks())
        assert partition.held_out
    assert {p.name: p.leaked for p in partitions.values() if p.leaked} == {
        "train_non_nli_test_nli": ("sick",)
    }


def test_people_can_do_every_task_of_held_out_glue():
    offered = catalogue.offer(catalogue.partitions()["train_nonglue_test_glue"])
    glue = ["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "wnli"]
    assert offered.held_out == tuple(f"glue-{name}" for name in glue)
    assert (len(offered.upstream), offered.leaked) == (56, ())
    assert all(catalogue.tasks()[name].ontology.startswith("cls/") for name in offered.held_out)


def test_people_can_do_most_tasks_of_every_partition():
    """The shares are those that docs/researchers/designs.md#cross-task-studies states."""
    of_fit, of_all = {}, {}
    for name, partition in catalogue.partitions().items():
        offered = catalogue.offer(partition)
        lists = (offered.upstream, partition.upstream), (offered.held_out, partition.held_out)
        of_all[name] = [(len(own), len(published)) for own, published in lists]
        of_fit[name] = [
            (len(own), sum(not catalogue.why_not(task) for task in published))
            for own, published in lists
        ]
    part = {name: of for name, of in of_fit.items() if any(n < every for n, every in of)}
    assert part == {"train_non_nli_test_nli": [(56, 57), (7, 8)]}
    few = {name: of for name, of in of_all.items() if min(n / every for n, every in of) < 0.9}
    assert few == part | {"train_nonclassification_test_classification": [(40, 45), (10, 10)]}
    assert len(of_all) == 9
    told = catalogue.why_not("wikisql"), catalogue.why_not("squad-no_context")
    assert told == ("its answers are in SQL", "")


def test_a_subset_names_what_it_leaves_out_and_why():
    told = catalogue.left_out("train_non_nli_test_nli", ["glue-rte", "glue-mnli"], ["glue-sst2"])
    assert told.startswith("Of the partition train_non_nli_test_nli, 2 of 8 held-out and 1 of 57")
    assert "not suitable: sick (in two of the published lists); not chosen: " in told
    assert "anli" in told.partition("not chosen: ")[2]
    assert "glue-rte" not in told
    assert "break-QDMR (its answers are in a formal" in catalogue.left_out("random", [], [])
    whole = catalogue.partitions()["train_nonglue_test_glue"]
    assert catalogue.left_out(whole.name, whole.held_out, whole.upstream) == (
        "Of the partition train_nonglue_test_glue, 8 of 8 held-out and 56 of 56 upstream tasks are"
        " used."
    )


def test_lines_damaged_by_reading_are_reported_and_not_repaired(tmp_path):
    content = "a\tyes\nvanished\t\n shifted\tno\nb\tno\n"
    task = reader.read_task(write(tmp_path, "glue-rte", {"21_train": content}))
    lines = task.lines[21, "train"]
    assert [line.golds for line in lines] == [("yes",), (), ("no",), ("no",)]
    told = inspect(task)[1]
    assert any("no output" in each and "_21_train.tsv:2" in each for each in told)
    assert any("begins with a space" in each and "_21_train.tsv:3" in each for each in told)


def test_files_that_differ_and_unseen_labels_are_reported(tmp_path):
    folder = write(tmp_path, "glue-rte", {"21_test": "a\tyes\nc\tmaybe\n"})
    told = inspect(reader.read_task(folder))[1]
    assert any(
        each.startswith("the test file of seed 13 differs from that of 1 other seed: 21")
        for each in told
    )
    assert any("seed 21: the label 'maybe' is in no training line" in each for each in told)


def test_an_option_that_loses_blanks_is_reported(tmp_path):
    lines = "Go? (A) home (B) away\t home\nSit? (A) down (B) up\tup\n"
    parts = (f"{seed}_{part}" for seed in (13, 21) for part in reader.PARTS)
    task = reader.read_task(write(tmp_path, "codah", dict.fromkeys(parts, lines)))
    kind, told = inspect(task)
    assert kind.name == "option"
    assert any("golds are matched to the option without spaces" in each for each in told)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "glue-rte_2_13_train.tsv: the file is empty"),
        (b"a\tyes\n\nb\tno\n", "train.tsv, line 2, field column 1: the line is blank"),
        (b"a\tyes\nb\t \tno\n", "line 2, field column 2: is blank"),
        (b"a\tyes\n\xff\tno\n", "line 2: not valid UTF-8"),
        (b"\xef\xbb\xbfa\tyes\n", "line 1: begins with a byte order mark"),
        (b"a\0\tyes\n", r"line 1: the character U\+0000"),
        (b"a" + b"\ty" * 201, "line 1: 201 outputs; at most 200"),
    ],
)
def test_a_malformed_file_names_file_line_and_column(tmp_path, content, said):
    with pytest.raises(FormatError, match=said):
        reader.read_task(write(tmp_path, "glue-rte", {"13_train": content}))


def test_a_folder_that_is_not_a_gym_task_is_refused(tmp_path):
    folder = write(tmp_path, "glue-rte", {})
    with pytest.raises(CommandError, match="glue-xyz: is not one of the Gym's 160 tasks"):
        report(str(tmp_path), "--tasks", "glue-xyz")
    (folder / "glue-rte_2_13_dev.tsv").unlink()
    with pytest.raises(CommandError, match="no dev file for seed 13"):
        report(str(tmp_path))
    (folder / "glue-rte_4_13_dev.tsv").write_text("a\tyes\n")
    with pytest.raises(CommandError, match="the files of one K, found 2, 4"):
        report(str(tmp_path))
    (folder / "other_2_13_dev.tsv").write_text("a\tyes\n")
    with pytest.raises(CommandError, match="other_2_13_dev.tsv: expected glue-rte_K_SEED"):
        report(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where? (A) at home (B) abroad", ("Where?", ("at home", "abroad"))),
        (
            "Vitamin (A) or none? (A) yes (B) no (C) (B)",
            ("Vitamin (A) or none?", ("yes", "no", "(B)")),
        ),
        ("Nothing to choose (A) here", ("Nothing to choose (A) here", ())),
        ("(B) (A)", ("(B) (A)", ())),
    ],
)
def test_options_are_split_in_the_order_of_their_letters(text, expected):
    assert reader.split_options(text) == expected
