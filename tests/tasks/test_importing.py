"""The real files are imported and reported on; everything invalid is refused."""

import hashlib
import json
import resource
import shutil
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from tasks import data_report, importing, uploads
from tasks.cards import CardError, load_card, parse_card
from tasks.formats import Record, SplitFile, canonical, content_hash
from tasks.importing import CARDS, CLUES
from tasks.models import Example, Split, Task, UnfinishedImport
from tests import factories

RECORD = {"id": "1", "context": "We saw Oslo.", "question": "Which places?", "answer": ["Oslo"]}


@pytest.fixture
def imported(db, clues):
    call_command("import_clues", str(clues), verbosity=0)
    return {task.name: task for task in Task.objects.all()}


@pytest.mark.long
@pytest.mark.real_data
def test_all_96_files_are_imported_with_the_published_baselines(imported):
    assert Split.objects.count() == 96
    assert Example.objects.count() == 5020
    baselines = {name: task.report["baseline"] for name, task in imported.items()}
    assert baselines.pop("ReCoRD") is None  # it allows no empty answer
    assert baselines == pytest.approx(
        {"SST-2": 56.19, "MNLI": 33.33, "CoNLL03": 51.33, "WikiANN": 62.83, "SQuADv2": 49.5},
        abs=0.005,
    )
    assert {name: task.report["ceiling"] for name, task in imported.items()} == pytest.approx(
        dict.fromkeys(CLUES, 100.0) | {"WikiANN": 98.5}
    )


@pytest.mark.long
@pytest.mark.real_data
def test_the_report_names_what_is_odd_in_the_data(imported):
    unreachable = {e["file"]: e["ids"] for e in imported["WikiANN"].report["unreachable"]}
    assert unreachable["wikiann_test.jsonl"] == [
        "1828_2", "320_2", "3120_1", "3140_2", "829_2", "7887_2", "4862_1", "2580_3", "3911_2",
    ]  # fmt: skip
    duplicates = {entry["file"]: entry["ids"] for entry in imported["CoNLL03"].report["duplicates"]}
    assert duplicates["conll_test.jsonl"] == ["3313_1", "3313_2", "3313_3"]
    for name in ("SST-2", "MNLI", "CoNLL03", "WikiANN"):
        assert imported[name].report["not_nested"] == []
    chains = {
        name: [tuple(chain.values()) for chain in imported[name].report["renumbering"].values()]
        for name in ("SQuADv2", "ReCoRD")
    }
    assert chains == {
        "SQuADv2": [(1, 5, 5), (2, 3, 1), (3, 1, 2), (4, 4, 4), (5, 2, 3)],
        "ReCoRD": [(1, 2, 1), (2, 5, 2), (3, 3, 4), (4, 1, 3), (5, 4, 5)],
    }


@pytest.mark.real_data
def test_rechain_makes_the_training_files_nested(db, clues):
    call_command("import_clues", str(clues), "--task", "ReCoRD", "--rechain", verbosity=0)
    task = Task.objects.get()
    assert task.rechained
    for number in range(1, 6):
        ten, twenty, thirty = (
            set(task.train_split(size, number).examples.values_list("content_hash", flat=True))
            for size in (10, 20, 30)
        )
        assert ten < twenty < thirty


@pytest.mark.long
@pytest.mark.real_data
def test_a_second_import_changes_nothing(imported, clues, capsys):
    before = list(Task.objects.values())
    call_command("import_clues", str(clues))
    assert list(Task.objects.values()) == before
    assert Example.objects.count() == 5020
    assert capsys.readouterr().out.count("unchanged") == 6


@pytest.mark.parametrize("name", list(CLUES))
def test_the_cards_of_clues_ship_with_the_project(name):
    card = load_card(CARDS / f"{name.lower()}.toml")
    assert card.name == name
    assert parse_card(card.as_dict(), "again") == card
    assert card.help_windows
    assert card.gold_rule == ("any_of" if name == "SQuADv2" else "set")


def card_text(**changes) -> str:
    """Return the toy card as TOML; all its values are valid as TOML and as JSON."""
    return "\n".join(f"{k} = {json.dumps(v)}" for k, v in factories.card_data(**changes).items())


def folder_of(tmp_path, test: bytes | str, card: str | None = None, **files: bytes | str):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "task.toml").write_text(card_text() if card is None else card)
    for name, content in {"toy_test": test, **files}.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / f"{name}.jsonl").write_bytes(data)
    return folder


def line(**changes) -> str:
    return json.dumps({**RECORD, **changes}) + "\n"


def without(field: str) -> str:
    return json.dumps({k: v for k, v in RECORD.items() if k != field}) + "\n"


def test_a_researchers_own_task_is_imported(tmp_path, db):
    train = "".join(line(id=str(n), context=f"{n}: we saw Oslo.") for n in range(2))
    call_command("import_task", str(folder_of(tmp_path, line(), toy_train_2_1=train)), verbosity=0)
    task = Task.objects.get()
    assert task.training_sizes == [2]
    assert task.test_split.examples.get().gold == ["Oslo"]


def test_changed_content_makes_a_new_version(tmp_path, db):
    folder = folder_of(tmp_path, line())
    call_command("import_task", str(folder), verbosity=0)
    (folder / "toy_test.jsonl").write_text(line(question="Where?"))
    call_command("import_task", str(folder), verbosity=0)
    assert [
        (t.version, t.test_split.examples.get().question) for t in Task.objects.order_by("pk")
    ] == [
        (1, "Which places?"),
        (2, "Where?"),
    ]


def test_a_task_is_hidden_until_its_last_piece_is_stored(tmp_path, db, monkeypatch):
    monkeypatch.setattr(importing, "PIECE", 0)
    seen = []

    def look(execute, sql, *arguments):
        if sql.startswith("INSERT") and '"tasks_example"' in sql:
            seen.append((Task.objects.exists(), Example.objects.count()))
        return execute(sql, *arguments)

    test = "".join(line(id=str(number)) for number in range(3))
    with connection.execute_wrapper(look):
        call_command("import_task", str(folder_of(tmp_path, test)), verbosity=0)
    assert seen == [(False, 0), (False, 1), (False, 2)]
    assert Task.objects.get().test_split.examples.count() == 3
    assert not UnfinishedImport.objects.exists()


@pytest.mark.parametrize("how", ["stopped", "broken"])
def test_an_interrupted_import_makes_no_task_and_can_continue(tmp_path, db, monkeypatch, how):
    monkeypatch.setattr(importing, "PIECE", 0)
    ends = KeyboardInterrupt if how == "stopped" else OSError
    left = [2]

    def end(execute, sql, *arguments):
        if sql.startswith("INSERT") and '"tasks_example"' in sql:
            left[0] -= 1
            if not left[0]:
                raise ends
        return execute(sql, *arguments)

    folder = folder_of(tmp_path, "".join(line(id=str(number)) for number in range(3)))
    with pytest.raises(ends), connection.execute_wrapper(end):
        call_command("import_task", str(folder), verbosity=0)
    assert not Task.objects.exists()
    assert Example.objects.count() == (1 if how == "stopped" else 0)
    call_command("import_task", str(folder), verbosity=0)
    assert [example.position for example in Example.objects.all()] == [0, 1, 2]
    assert (Task.objects.get().version, UnfinishedImport.objects.count()) == (1, 0)


def test_an_unfinished_import_is_deleted_after_a_day(tmp_path, db, settings):
    settings.VAR_DIR = tmp_path / "var"
    task = factories.make_task()
    UnfinishedImport.objects.create(task=task)
    uploads.drop_old()
    assert Task.with_unfinished.exists()
    UnfinishedImport.objects.update(begun_at=timezone.now() - timedelta(hours=25))
    uploads.drop_old()
    assert not Task.with_unfinished.exists()
    assert not Example.objects.exists()


def test_every_spelling_of_no_answer_is_the_empty_set(tmp_path, db):
    test = line(id="a", answer=[]) + line(id="b", answer=[""])
    call_command("import_task", str(folder_of(tmp_path, test)), verbosity=0)
    assert [example.gold for example in Example.objects.all()] == [[], []]


def test_an_explanation_is_stored_and_makes_a_new_version(tmp_path, db):
    versions = []
    folder = folder_of(tmp_path, line())
    for explanation in ("", "A city in Norway.", "A city in Norway."):
        train = line(explanation=explanation) if explanation else line()
        (folder / "toy_train_1_1.jsonl").write_text(train, encoding="utf-8")
        call_command("import_task", str(folder), verbosity=0)
        versions.append(Task.objects.latest("pk").version)
    assert versions == [1, 2, 2]
    trained = Example.objects.filter(split__kind="train").order_by("split__task__version")
    stored = trained.values_list("explanation", flat=True)
    assert list(stored) == ["", "A city in Norway."]


def test_the_hash_of_files_without_explanations_is_unchanged(db):
    record = Record("1", ("We saw Oslo.",), "Which places?", ("Oslo",))
    files = [SplitFile("train", 1, 1, "a_train_1_1.jsonl", [record])]
    card = parse_card(factories.card_data(), "card")
    listed = [["1", ["We saw Oslo."], "Which places?", ["Oslo"], None]]
    content = [card.as_dict(), [[["train", 1, 1, "a_train_1_1.jsonl"], listed]]]
    assert content_hash(card, files) == hashlib.sha256(canonical(content)).hexdigest()


def test_texts_are_stored_unaltered(tmp_path, db):
    text = " 😀 <b>&amp; e\u0301\r\n\u200e Oslo\u00a0 "
    call_command("import_task", str(folder_of(tmp_path, line(context=text))), verbosity=0)
    assert Example.objects.get().context == [text]


BAD = {
    "broken line": ('{"id": \n', "line 1: not valid JSON"),
    "not an object": ("[1]\n", "line 1: expected a JSON object"),
    "missing id": (without("id"), "line 1, field id: the field is missing"),
    "missing context": (without("context"), "field context: the field is missing"),
    "missing question": (without("question"), "field question: the field is missing"),
    "missing answer": (without("answer"), "field answer: the field is missing"),
    "unknown field": (line(labels=[]), "field labels: unknown field"),
    "answer is a text": (line(answer="Oslo"), "field answer: expected a list"),
    "answer holds a number": (line(answer=[1]), "field answer: expected a text"),
    "empty among answers": (line(answer=["Oslo", ""]), "field answer: expected non-empty texts"),
    "context is a number": (line(context=5), "field context: expected a text"),
    "context is empty": (line(context=" "), "field context: expected a non-empty text"),
    "too many segments": (line(context=["a", "b"]), "field context: expected 1 text"),
    "question is null": (line(question=None), "field question: expected a text"),
    "id is a boolean": (line(id=True), "field id: expected a text"),
    "id is empty": (line(id=""), "field id: expected an id"),
    "second line": (line() + "{\n", "line 2: not valid JSON"),
    "duplicate id": (line() + line(), "line 2, field id: '1' is already the id of line 1"),
    "empty file": ("", "the file is empty"),
    "only blank lines": ("\n\n", "the file is empty"),
    "invalid UTF-8": (b'{"id": "\xff"}\n', "line 1: not valid UTF-8"),
    "byte order mark": (b"\xef\xbb\xbf" + line().encode(), "line 1: begins with a byte order mark"),
    "U+0000": (line(context="a\0b"), "field context: contains U+0000"),
    "half a surrogate": (line(context="\ud83d"), "field context: contains an unpaired surrogate"),
    "NaN": ('{"id": NaN}\n', "NaN is not valid JSON"),
    "field twice": ('{"id": "1", "id": "2"}\n', "field id: the field appears twice"),
    "too deep": ("[" * 100_000 + "\n", "line 1: not valid JSON"),
    "too long a line": ("x" * 1_000_001, "line 1: the line is longer than"),
    "wrong offset": (
        line(answer=[{"text": "Oslo", "answer_start": 8}]),
        "field answer_start: the text at 8 is not 'Oslo'",
    ),
    "negative offset": (line(answer=[{"text": "Oslo", "answer_start": -1}]), "field answer_start"),
    "offset is a boolean": (
        line(answer=[{"text": "Oslo", "answer_start": True}]),
        "field answer_start",
    ),
    "explanation of a test example": (
        line(explanation="It is a city."),
        "field explanation: only allowed in training files",
    ),
    "explanation is null": (line(explanation=None), "field explanation: expected a text"),
    "explanation too long": (
        line(explanation="x" * 1001),
        "field explanation: expected at most 1,000 characters, found 1,001",
    ),
    "impossible but answered": (line(is_impossible=True), "field is_impossible"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_its_place(tmp_path, db, case):
    content, sentence = BAD[case]
    with pytest.raises(CommandError) as refused:
        call_command("import_task", str(folder_of(tmp_path, content)))
    assert "toy_test.jsonl" in str(refused.value)
    assert sentence in str(refused.value)
    assert not Task.objects.exists()


BAD_CARDS = {
    "missing key": (card_text(title=None), "missing key title"),
    "unknown key": (card_text(colour="red"), "unknown key colour"),
    "not TOML": ("title = ", "not valid TOML"),
    "wrong family": (card_text(family="parsing"), "key family"),
    "wrong gold rule": (card_text(gold_rule="best"), "key gold_rule"),
    "empty title": (card_text(title=" "), "key title"),
    "no segments": (card_text(segments=[]), "key segments"),
    "unknown granularity": (card_text(granularity="syllable"), "expected one of word, char"),
    "max_spans is a boolean": (card_text(max_spans=True), "key max_spans"),
    "bad name": (card_text(name="a/b"), "key name"),
}


@pytest.mark.parametrize("case", BAD_CARDS)
def test_a_bad_card_is_refused_by_its_key(tmp_path, db, case):
    card, sentence = BAD_CARDS[case]
    with pytest.raises(CommandError) as refused:
        call_command("import_task", str(folder_of(tmp_path, line(), card=card)))
    assert "task.toml" in str(refused.value)
    assert sentence in str(refused.value)
    assert not Task.objects.exists()


UNSPACED = line(context="東京都庁で小池百合子知事が記者会見を開いた。", answer=["小池百合子"])


def test_a_text_without_spaces_needs_granularity_char(tmp_path, db):
    """Words don't match the name in this text, so the error names the line and the solution."""
    folder = folder_of(tmp_path, line() + UNSPACED.replace('"1"', '"2"'))
    with pytest.raises(CommandError) as refused:
        call_command("import_task", str(folder))
    assert "toy_test.jsonl, line 2, field context" in str(refused.value)
    assert 'granularity = "char"' in str(refused.value)
    assert not Task.objects.exists()
    (folder / "task.toml").write_text(card_text(granularity="char"))
    call_command("import_task", str(folder))
    task = Task.objects.get()
    assert task.card.granularity == "char"
    assert task.report["unreachable"] == []
    assert task.report["ceiling"] == 100


def test_gold_that_ends_within_a_word_is_reported_as_not_selectable(tmp_path, db):
    folder = folder_of(tmp_path, line(answer=["Osl"]))
    (folder / "task.toml").write_text(card_text(), encoding="utf-8-sig")
    call_command("import_task", str(folder))
    (warning,) = data_report.warnings(Task.objects.get().report)
    assert warning.startswith("toy_test.jsonl: gold answers that cannot be highlighted (this can")


def test_files_whose_examples_all_have_one_label_are_reported(db):
    same = factories.label_records("same", 10)[1::2]
    train = {1: same[:1], 2: same[:2], 4: factories.label_records("mixed", 4)}
    report = factories.make_task(labels=factories.LABELS, train=train, test=same).report
    told = [sentence for sentence in data_report.warnings(report) if "have the label" in sentence]
    assert told == [
        "toy_test.jsonl: all examples have the label positive",
        "toy_train_2_1.jsonl: all examples have the label positive",
    ]
    empty = SplitFile("test", None, None, "test.jsonl", factories.place_records("empty", 1) * 2)
    assert "one_label" not in data_report.build(factories.span_card(), [empty])


def test_the_report_counts_labels_instead_of_empty_answers(db):
    records = factories.label_records("mixed", 5)
    report = factories.make_task(labels=factories.LABELS, test=records).report
    assert report["labels"]["toy_test.jsonl"] == {"negative": 3, "positive": 2}
    assert "toy_test.jsonl: 5 examples: 3 negative, 2 positive" in data_report.counts(report)
    spans = factories.make_task(name="spans").report
    assert "labels" not in spans
    assert "toy_test.jsonl: 4 examples, 50.0 % empty" in data_report.counts(spans)
    for older in (report, spans):  # reports stored before labels were counted
        assert data_report.counts({key: older[key] for key in older if key != "labels"})


def test_no_sentence_of_the_report_names_an_option_of_the_command_line(db):
    one, two = (factories.label_records(name, 4) for name in ("one", "two"))
    trains = {(2, 1): one[:2], (2, 2): two[:2], (4, 1): two, (4, 2): one}
    files = [
        SplitFile("train", shots, number, f"t_train_{shots}_{number}.jsonl", records)
        for (shots, number), records in trains.items()
    ]
    files.append(SplitFile("test", None, None, "t_test.jsonl", factories.label_records("t", 4)))
    card = parse_card(factories.card_data(labels=factories.LABELS), "task.toml")
    lines = data_report.lines(data_report.build(card, files))
    assert [line for line in lines if line.startswith("Renumbering the training files would nest")]
    assert not [line for line in lines if "--" in line]


def test_granularity_word_is_the_default_of_a_card():
    told = parse_card(factories.card_data(granularity="word"), "task.toml")
    assert told.as_dict() == parse_card(factories.card_data(), "task.toml").as_dict()


@pytest.mark.parametrize("language", ["!!", "English", "en_GB", "e", "en-", "en\n", "en de"])
def test_a_language_that_is_no_tag_is_refused_in_new_cards_only(tmp_path, language):
    (tmp_path / "task.toml").write_text(card_text(language=language))
    said = "^task.toml: key language: expected a language tag .BCP 47., such as en or pt-BR$"
    with pytest.raises(CardError, match=said):
        load_card(tmp_path / "task.toml")
    parse_card(factories.card_data(language=language), "a stored card")


@pytest.mark.parametrize("language", ["en", "gsw", "pt-BR", "zh-Hans", "ca-valencia", "es-419"])
def test_language_tags_are_accepted(language):
    assert parse_card(factories.card_data(language=language), "card", is_new=True)


@pytest.mark.parametrize("name", ["x" * 101, "two\nlines"])
def test_a_label_that_no_answer_could_hold_is_refused(name):
    labels = [factories.LABELS[0], {**factories.LABELS[1], "name": name}]
    with pytest.raises(CardError, match=r"labels\[1\].name: expected one line of at most 100"):
        parse_card(factories.card_data(labels=labels), "task.toml")


def test_an_unknown_file_name_is_refused(tmp_path, db):
    folder = folder_of(tmp_path, line(), toy_dev=line())
    with pytest.raises(CommandError, match="toy_dev.jsonl: unknown file name"):
        call_command("import_task", str(folder))


def test_a_training_file_must_hold_as_many_examples_as_named(tmp_path, db):
    folder = folder_of(tmp_path, line(), toy_train_2_1=line())
    with pytest.raises(CommandError, match="expected 2 examples for 2 shots, found 1"):
        call_command("import_task", str(folder))


def test_a_line_of_200_megabytes_is_refused_without_being_read(tmp_path, db):
    folder = folder_of(tmp_path, line())
    with (folder / "toy_test.jsonl").open("wb") as file:
        file.truncate(200_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CommandError, match="longer than"):
        call_command("import_task", str(folder))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000  # kilobytes


@pytest.mark.real_data
def test_one_bad_task_does_not_stop_the_others(tmp_path, db, clues):
    copy = tmp_path / "clues"
    for folder in ("SST-2", "MNLI"):
        shutil.copytree(clues / folder, copy / folder, copy_function=shutil.copyfile)
    copy.joinpath("MNLI").chmod(0o755)
    (copy / "MNLI" / "mnli_test.jsonl").write_text("{\n")
    with pytest.raises(CommandError, match="Not imported: MNLI"):
        call_command("import_clues", str(copy), "--task", "SST-2", "MNLI")
    assert [task.name for task in Task.objects.all()] == ["SST-2"]
