"""Commands make a task from a file and export it again."""

import json

import pytest
from django.core.management import CommandError, call_command

from tasks.cards import load_card
from tasks.data_report import lines, rechained
from tasks.datasets.mapping import question_of
from tasks.exporting import files_of
from tasks.folders import read_folder
from tasks.formats import content_hash
from tasks.models import Example, LanguageModel, Task
from tests.tasks.datasets import files

MOODS = [
    {"text": f"Film {n} was {'fine' if n % 3 else 'dull'}.", "mood": "good" if n % 3 else "bad"}
    for n in range(60)
]
SMALL = {"shots": [2, 4], "splits": 3, "test": 20, "seed": 7}


def make(path, capsys=None, *, kind="choice", name="moods", **options):
    given = {"text": ["text"], "gold": ["mood"], **SMALL, **options}
    call_command("make_task", str(path), kind=kind, name=name, verbosity=0, **given)
    return Task.objects.filter(name=name).order_by("-version").first()


def refusal(path, **options) -> str:
    with pytest.raises(CommandError) as caught:
        make(path, **options)
    assert not Task.with_unfinished.exists()
    assert not LanguageModel.objects.exists()
    return str(caught.value)


def content(task):
    return {
        split.filename: [(e.source_id, e.context, e.question, e.gold) for e in split.examples.all()]
        for split in task.splits.all()
    }


@pytest.fixture
def moods(tmp_path):
    return files.write_csv(tmp_path / "moods.csv", MOODS)


def test_a_csv_becomes_a_task_with_a_card_and_a_report(moods, db, capsys):
    task = make(moods, title="Moods", label=["bad=negative"], define=["good=It praises."])
    card = task.card
    assert (card.title, card.family, card.segments) == ("Moods", "classification", ("Text",))
    assert [label.name for label in card.labels] == ["negative", "good"]
    assert card.labels[1].definition == "It praises."
    assert card.source.startswith("moods.csv (SHA-256 ")
    in_files = {example.context[0] for example in Example.objects.all()}
    for label in card.labels:  # its example comes from a row outside all files
        assert label.example.strip("“”") in {row["text"] for row in MOODS} - in_files
    assert task.training_sizes == [2, 4]
    assert task.split_numbers(4) == [1, 2, 3]
    assert task.test_split.examples.count() == 20
    for number in (1, 2, 3):
        two, four = (
            set(task.train_split(size, number).examples.values_list("content_hash", flat=True))
            for size in (2, 4)
        )
        assert two < four
    out = capsys.readouterr().out
    assert "60 different texts; seed 7" in out
    assert "defaults on the card: description, instructions" in out
    assert "definition of negative" in out


def test_the_same_file_and_seed_give_the_same_task(moods, db, tmp_path):
    task = make(moods)
    assert make(moods) == task
    made_from = task.report["made_from"]
    assert (made_from["seed"], made_from["shots"], made_from["splits"]) == (7, [2, 4], 3)
    assert made_from["file"] == "moods.csv"
    assert any("drawn with seed 7" in line for line in lines(task.report))
    reversed_rows = files.write_csv(tmp_path / "moods2.csv", MOODS[::-1])
    again = make(reversed_rows, source=task.card.source)
    drawn = [sorted(c for _i, c, _q, _g in rows) for rows in content(again).values()]
    assert drawn == [sorted(c for _i, c, _q, _g in rows) for rows in content(task).values()]
    assert make(moods, seed=8).version == 3


@pytest.mark.parametrize("case", ["csv", "jsonl", "xlsx", "parquet"])
def test_every_format_makes_the_same_task(tmp_path, db, case):
    path = files.write_all(tmp_path / "f", MOODS)[case]
    task = make(path, source="the same")
    first = make(files.write_csv(tmp_path / "first.csv", MOODS), name="other", source="the same")
    contents = {
        name.replace("moods", "other"): [row[1:] for row in rows]
        for name, rows in content(task).items()
    }
    assert contents == {name: [r[1:] for r in rows] for name, rows in content(first).items()}


def test_the_order_of_labels_does_not_depend_on_their_frequency(tmp_path, db):
    """Exchanging the labels of all rows leaves the question unchanged."""
    other = {"good": "bad", "bad": "good"}
    turned = [{**row, "mood": other[row["mood"]]} for row in MOODS]
    for name, rows in (("a", MOODS), ("b", turned)):
        task = make(files.write_csv(tmp_path / f"{name}.csv", rows), name=name)
        assert [label.name for label in task.card.labels] == ["bad", "good"]
        assert {e.question for e in Example.objects.filter(split__task=task)} == {"bad or good?"}


def test_nothing_is_stored_in_a_dry_run(moods, db, capsys):
    assert make(moods, dry_run=True) is None
    out = capsys.readouterr().out
    assert "Nothing was stored" in out
    assert '"question": "bad or good?"' in out


# Spans ------------------------------------------------------------------------------------------

PLACES = [
    {
        "text": f"{n}: Ada went to {place} today.",
        "label": [[len(f"{n}: "), len(f"{n}: Ada"), "PER"]]
        + [[len(f"{n}: Ada went to "), len(f"{n}: Ada went to {place}"), "LOC"]] * (n % 2),
        "answer": {"text": [place], "answer_start": [len(f"{n}: Ada went to ")]},
        "place": place,
        "question": f"Where did Ada go on day {n}?",
    }
    for n in range(40)
    for place in [["Oslo", "Rome"][n % 2]]
]


def test_labelled_spans_give_a_question_per_label_and_text(tmp_path, db):
    path = files.write_jsonl(tmp_path / "admin.jsonl", PLACES)
    task = make(
        path, kind="spans", gold=["label"], format="doccano", label=["PER=people", "LOC=places"]
    )
    assert [kind.name for kind in task.card.question_types] == ["places", "people"]
    assert task.card.no_answer
    assert task.test_split.examples.count() == 40
    assert task.train_split(4, 1).examples.count() == 8
    by_context: dict[str, list[Example]] = {}
    for example in Example.objects.all():
        by_context.setdefault(example.context[0], []).append(example)
    for context, examples in by_context.items():
        row = next(row for row in PLACES if row["text"] == context)
        golds = {example.question: example.gold for example in examples}
        assert golds[question_of("people")] == ["Ada"]
        assert golds[question_of("places")] == ([row["place"]] if len(row["label"]) > 1 else [])
    only = make(path, name="loc", kind="spans", gold=["label"], labels=["LOC"])
    assert only.test_split.examples.count() == 20
    assert "spans with other labels were skipped: PER" in only.report["made_from"]["notes"]


def test_class_label_tags_and_conll_make_the_same_questions(tmp_path, db):
    sentences = [([f"S{n}", "Ada", "Lund", "in", "Oslo"], [0, 1, 2, 0, 3]) for n in range(40)]
    names = ["O", "B-PER", "I-PER", "B-LOC"]
    tags = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}
    rows = [{"tokens": tokens, "ner_tags": ids} for tokens, ids in sentences]
    table = files.write_parquet(
        tmp_path / "ner.parquet", rows, {"tokens": {"_type": "Sequence"}, "ner_tags": tags}
    )
    conll = tmp_path / "ner.conll"
    conll.write_text(
        "\n".join(
            "".join(f"{t} {names[i]}\n" for t, i in zip(tokens, ids, strict=True))
            for tokens, ids in sentences
        )
    )
    first = make(table, kind="spans", text=["tokens"], gold=["ner_tags"], name="a")
    second = make(conll, kind="spans", gold=["entities"], name="b")
    golds = [
        sorted((e.context[0], e.question, e.gold) for e in task.test_split.examples.all())
        for task in (first, second)
    ]
    assert golds[0] == golds[1]
    assert [kind.name for kind in first.card.question_types] == ["LOC", "PER"]
    assert ["Ada Lund"] in [gold for _c, _q, gold in golds[0]]


def test_answers_to_a_question_have_offsets_and_alternatives(tmp_path, db):
    path = files.write_jsonl(tmp_path / "qa.jsonl", PLACES)
    task = make(path, kind="spans", gold=["answer"], question="question", gold_rule="any_of")
    example = task.test_split.examples.first()
    assert example.gold_starts == [example.context[0].index(example.gold[0])]
    assert example.question.startswith("Where did Ada go on day ")
    assert (task.card.gold_rule, task.card.no_answer) == ("any_of", False)
    rows = [{"t": row["text"], "g": "Ada|" + row["place"]} for row in PLACES]
    path = files.write_csv(tmp_path / "two.csv", rows)
    task = make(
        path, name="two", kind="spans", text=["t"], gold=["g"], separator="|", ask="Which names?"
    )
    example = task.test_split.examples.first()
    assert example.gold[0] == "Ada"
    assert len(example.gold) == 2
    assert example.question == "Which names?"


def test_an_empty_gold_is_allowed_only_if_declared(tmp_path, db):
    rows = [{"text": row["text"], "mood": "" if n == 7 else "Ada"} for n, row in enumerate(PLACES)]
    path = files.write_csv(tmp_path / "x.csv", rows)
    assert 'x.csv, line 9, column mood: is empty; allow "no' in refusal(path, kind="spans")
    assert make(path, kind="spans", no_answer=True).card.no_answer


# Choices and typed answers ------------------------------------------------------------------------

CAPITALS = [
    {
        "q": f"Which town does line {n} end in?",
        "options": ["Bonn", "Oslo", f"Town {n}"],
        "a": "Oslo" if n % 2 else f"Town {n}",
    }
    for n in range(60)
]
NAMED = {
    "text": lambda row: row["a"],
    "index": lambda row: str(row["options"].index(row["a"])),
    "number": lambda row: 1 + row["options"].index(row["a"]),
    "letter": lambda row: "ABC"[row["options"].index(row["a"])],
}
SHAPES = {
    "a list": lambda row: {"o": row["options"]},
    "of Hugging Face": lambda row: {"o": {"text": row["options"], "label": ["A", "B", "C"]}},
    "in brackets": lambda row: {
        "o": " ".join(f"({sign}) {o}" for sign, o in zip("ABC", row["options"], strict=True))
    },
    "columns": lambda row: dict(zip(("o1", "o2", "o3"), row["options"], strict=True)),
}


@pytest.mark.parametrize("gold_is", NAMED)
@pytest.mark.parametrize("shape", SHAPES)
def test_options_are_read_in_every_shape_and_spelling_of_gold(tmp_path, db, shape, gold_is):
    rows = [{"q": r["q"], "g": NAMED[gold_is](r), **SHAPES[shape](r)} for r in CAPITALS]
    columns = [name for name in rows[0] if name.startswith("o")]
    task = make(
        files.write_jsonl(tmp_path / "x.jsonl", rows), kind="option", text=["q"], gold=["g"],
        options=columns, gold_is=gold_is,
    )  # fmt: skip
    assert task.card.answered_by == "option"
    told = {row["q"]: row for row in CAPITALS}
    for example in Example.objects.all():
        row = told[example.context[0]]
        assert (example.options, example.gold) == (row["options"], [row["a"]])


def test_lists_in_cells_are_read_as_json(tmp_path, db):
    rows = [{"q": r["q"], "o": json.dumps(r["options"]), "g": r["a"]} for r in CAPITALS]
    path = files.write_csv(tmp_path / "x.csv", rows)
    make(path, kind="option", text=["q"], gold=["g"], options=["o"])
    told = {row["q"]: row for row in CAPITALS}
    assert all(e.options == told[e.context[0]]["options"] for e in Example.objects.all())
    rows = [{"text": f"In Oslo {n}", "mood": '[[3, 7, "places"]]'} for n in range(60)]
    task = make(files.write_csv(tmp_path / "y.csv", rows), kind="spans", name="places")
    example = task.test_split.examples.first()
    assert (example.question, example.gold) == (question_of("places"), ["Oslo"])
    rows = [{"text": f"Letter {n}", "mood": '["joy", "fear"]'} for n in range(60)]
    task = make(files.write_csv(tmp_path / "z.csv", rows), kind="options", name="letters")
    assert task.test_split.examples.first().options == ["fear", "joy"]
    rows = [{"text": f"See [1] or [2], {n}", "mood": "[1]"} for n in range(60)]
    task = make(files.write_csv(tmp_path / "n.csv", rows), kind="spans", name="notes")
    assert task.test_split.examples.first().gold == ["[1]"]


def test_letters_are_the_option_labels_of_the_file(tmp_path, db):
    """ARC labels the options of some questions 1 to 4 and those of others A to D."""
    rows = [
        {"q": f"Question {n}", "o": {"text": ["x", f"y{n}"], "label": list(signs)}, "g": signs[1]}
        for n, signs in enumerate(["AB", "12"] * 30)
    ]
    path = files.write_jsonl(tmp_path / "arc.jsonl", rows)
    task = make(path, kind="option", text=["q"], gold=["g"], options=["o"], gold_is="letter")
    assert all(e.gold == [e.options[1]] for e in task.test_split.examples.all())


def test_gold_is_matched_only_by_the_declared_name_of_an_option(tmp_path, db):
    rows = [{"q": r["q"], "o": r["options"], "g": NAMED["index"](r)} for r in CAPITALS]
    path = files.write_jsonl(tmp_path / "x.jsonl", rows)
    given = {"kind": "option", "text": ["q"], "gold": ["g"], "options": ["o"]}
    told = refusal(path, **given)
    assert "x.jsonl, line 1, column g: '2' is not one of the options Bonn, Oslo, Town 0" in told
    assert "set --gold-is" in told
    assert "line 1, column g: '2' does not identify any of the 3 options" in refusal(
        path, **given, gold_is="letter"
    )
    rows[4]["g"] = 3
    path = files.write_jsonl(tmp_path / "y.jsonl", rows)
    assert ("y.jsonl, line 5, column g: '3' does not identify any") in refusal(
        path, **given, gold_is="index"
    )
    rows[4]["g"] = "9" * 5000
    path = files.write_jsonl(tmp_path / "long.jsonl", rows)
    assert "line 5, column g: '999" in refusal(path, **given, gold_is="index")
    rows[4] |= {"g": 0, "o": ["one"]}
    path = files.write_jsonl(tmp_path / "z.jsonl", rows)
    assert "z.jsonl, line 5, column o: expected at least two different options" in refusal(
        path, **given, gold_is="index"
    )
    assert "set the column with the options of each row" in refusal(path, **given | {"options": []})
    assert "column o: such answers (--as choice) have no options" in refusal(
        path, **given | {"kind": "choice"}
    )


def test_several_labels_of_a_row_are_a_set_of_options(tmp_path, db):
    rows = [{"text": f"Letter {n}", "mood": "joy; fear" if n % 2 else "joy"} for n in range(60)]
    path = files.write_csv(tmp_path / "x.csv", rows)
    task = make(path, kind="options", separator=";", label=["fear=being afraid"])
    for example in Example.objects.all():
        assert example.options == ["being afraid", "joy"]
        assert set(example.gold) in ({"joy"}, {"joy", "being afraid"})
    assert task.card.all_options
    rows = [{"t": f"Word {n}", "o": ["a", "b", f"c{n}"], "g": ["a", f"c{n}"]} for n in range(60)]
    path = files.write_jsonl(tmp_path / "y.jsonl", rows)
    task = make(path, name="own", kind="options", text=["t"], gold=["g"], options=["o"])
    assert not task.card.all_options
    assert all(e.gold == [e.options[0], e.options[2]] for e in task.test_split.examples.all())


def test_numbers_have_the_declared_range(tmp_path, db):
    rows = [{"text": f"Pair {n}", "mood": f"{n % 5}.50"} for n in range(60)]
    path = files.write_csv(tmp_path / "x.csv", rows)
    task = make(path, kind="number", lowest=0, highest=5, step=0.5, unit="marks")
    card = task.card
    assert (card.lowest, card.highest, card.step, card.unit) == (0, 5, 0.5, "marks")
    assert {example.gold[0] for example in task.test_split.examples.all()} <= {
        f"{n}.5" for n in range(5)
    }


def test_a_number_with_a_decimal_comma_is_refused(tmp_path, db):
    rows = [{"text": f"Pair {n}", "mood": "1,5" if n == 9 else "2.5"} for n in range(60)]
    path = files.write_csv(tmp_path / "x.csv", rows)
    told = refusal(path, kind="number", test=56, shots=[4], splits=1)  # uses all 60 rows
    assert "x.csv, line 11, column mood: '1,5' is not a number in plain digits" in told


def test_typed_answers_have_alternatives_and_a_sufficient_length(tmp_path, db):
    rows = [{"q": f"Who was {n}?", "a": [f"Ada {n}", "Ada" * 100]} for n in range(60)]
    path = files.write_jsonl(tmp_path / "x.jsonl", rows)
    card = make(path, kind="short-text", text=["q"], gold=["a"]).card
    assert (card.answered_by, card.gold_rule, card.longest) == ("short text", "any_of", 300)
    words = [{"q": f"Sum {n} up", "a": "word " * (n + 1)} for n in range(60)]
    path = files.write_jsonl(tmp_path / "y.jsonl", words)
    task = make(path, name="long", kind="long-text", text=["q"], gold=["a"])
    train = Example.objects.filter(split__task=task, split__kind="train")
    lengths = [len(example.gold[0].split()) for example in train]
    assert task.card.words == (min(lengths), max(lengths))  # only training examples count
    assert task.card.gold_rule == "set"
    assert task.card.metric == "S1"
    path = files.write_jsonl(tmp_path / "z.jsonl", words)
    assert (
        make(path, name="r", kind="long-text", text=["q"], gold=["a"], metric="Rouge-L").card.metric
        == "Rouge-L"
    )


def test_an_unnamed_task_is_named_after_its_file(tmp_path, db):
    path = files.write_csv(tmp_path / "my moods.csv", MOODS)
    assert make(path, name="") is None  # no task is called ""
    assert Task.objects.get().name == "my-moods"


# Refusals ---------------------------------------------------------------------------------------


REFUSED = {
    "unknown kind": ({"kind": "buttons"}, [], "unknown answer type 'buttons'"),
    "no column": ({"gold": ["label"]}, [], "column label: column not found; the columns"),
    "no gold": ({"gold": []}, [], "set the text column (--text) and the gold column (--gold)"),
    "too few": ({"test": 50}, [], "moods.csv: 60 different examples, but 62 are needed"),
    "empty text": ({}, [{"text": " ", "mood": "bad"}], "moods.csv, line 62, column text: is empty"),
    "no label": ({}, [{"text": "x", "mood": ""}], "line 62, column mood: has no label; fill it in"),
    "blank label": ({}, [{"text": "x", "mood": " "}], "line 62, column mood: has no label; fill"),
    "long label": ({}, [{"text": "x", "mood": "b" * 101}], "line 62, column mood: the label 'bbb"),
    "alike": ({}, [{"text": "x", "mood": "Bad "}],
              "line 62, column mood: the labels 'Bad ' and 'bad' differ only in case"),
    "numbers alike": ({}, [{"text": mood, "mood": mood} for mood in ("1", "1.0")],
                      "line 63, column mood: the labels '1' and '1.0' differ only in case, spac"),
    "other label": ({"labels": ["good"]}, [], "'bad' is not one of the labels good"),
    "id twice": ({"id": "mood"}, [], "line 4, column mood: 'good' is already the id of line 3"),
    "texts as labels": ({"gold": ["text"]}, [{"text": f"x{n}", "mood": "bad"} for n in range(60)],
                        "120 different values, but at most 100 labels"),
    "unknown name": ({"label": ["x=y"]}, [], "no row has the value 'x', which is named"),
    "unknown definition": ({"define": ["x=y"]}, [], "unknown label x (--define)"),
    "no pair": ({"label": ["good"]}, [], "--label good: expected VALUE=TEXT"),
    "bad name": ({"name": "a b"}, [], "invalid name 'a b' (--name); expected 1 to 60 letters"),
    "without spaces": ({"kind": "spans", "granularity": "word"},
                       [{"text": "东京都渋谷区东京都渋谷区", "mood": "东京"}] * 1, "has no spaces"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_unusable_data_are_refused_with_their_place(tmp_path, db, case):
    options, more, sentence = REFUSED[case]
    rows = MOODS
    if case == "without spaces":  # the error is found only if its row is drawn
        options = {**options, "shots": [1], "splits": 1, "test": 60}
    path = files.write_csv(tmp_path / "moods.csv", [*rows, *more])
    assert sentence in refusal(path, **options)


def test_an_empty_question_is_refused_with_its_place(tmp_path, db):
    rows = [{**row, "ask": "Good?" if n else " "} for n, row in enumerate(MOODS)]
    path = files.write_csv(tmp_path / "moods.csv", rows)
    told = refusal(path, question="ask")
    assert "moods.csv, line 2, column ask: is empty; fill it in or remove the row" in told


def test_spaces_around_a_label_are_not_shown(tmp_path, db):
    rows = [{"text": f"Film {n}", "mood": [" bad", "good "][n % 2]} for n in range(60)]
    task = make(files.write_csv(tmp_path / "x.csv", rows))
    assert [label.name for label in task.card.labels] == ["bad", "good"]
    example = task.test_split.examples.first()
    assert (example.question, *example.gold) in {("bad or good?", g) for g in ("bad", "good")}


def test_rows_without_a_label_are_skipped_if_declared(tmp_path, db):
    rows = [*MOODS, {"text": "x", "mood": ""}, {"text": "y", "mood": " "}, {"text": "z"}]
    path = files.write_jsonl(tmp_path / "x.jsonl", rows)
    task = make(path, skip_unlabelled=True)
    assert "rows without a label were skipped: 3" in task.report["made_from"]["notes"]


def test_an_offset_or_a_number_of_tags_that_is_wrong_is_refused_at_the_gold(tmp_path, db):
    wrong = [{"text": f"In Oslo {n}", "mood": {"text": ["Oslo"], "answer_start": [0]}}
             for n in range(60)]  # fmt: skip
    told = refusal(files.write_jsonl(tmp_path / "x.jsonl", wrong), kind="spans")
    assert ", column mood: the text at 0 is not 'Oslo'" in told
    tagged = [{"text": ["In", "Oslo", str(n)], "mood": ["O", "B-LOC", "O"]} for n in range(60)]
    tagged[7]["mood"].pop()
    told = refusal(files.write_jsonl(tmp_path / "y.jsonl", tagged), kind="spans")
    assert "line 8, column mood: 2 tags for 3 tokens; expected one for each" in told
    lists = [{"text": ["In", "Oslo", str(n)], "mood": ["happy", "sad"]} for n in range(60)]
    told = refusal(files.write_jsonl(tmp_path / "z.jsonl", lists), kind="short-text")
    assert "column text: expected a text, found a list" in told


def test_a_text_is_drawn_once_and_never_with_conflicting_golds(tmp_path, db):
    copies = [{**row, "text": row["text"].upper() + "  "} for row in MOODS[:6]]
    other = [{"text": MOODS[10]["text"], "mood": "bad"}]
    path = files.write_csv(tmp_path / "x.csv", [*MOODS, *copies, *other])
    task = make(path, test=40, shots=[6], splits=3)
    texts = [" ".join(e.context[0].casefold().split()) for e in Example.objects.all()]
    assert len(set(texts)) == len(texts) == 58
    assert MOODS[10]["text"].casefold() not in texts
    assert task.report["made_from"]["notes"] == [
        "rows whose text appears in an earlier row are not drawn: line 62, 63, 64, 65, 66, 67",
        "texts that appear several times with different gold are left out: line 12, 68",
    ]


# Out again --------------------------------------------------------------------------------------


def test_an_exported_task_imports_as_the_same_task(moods, db, tmp_path, capsys):
    task = make(moods, title="A “title”\\ with\tsigns\x7f", instructions="One.\n\nTwo.")
    call_command("export_task", "moods", str(tmp_path / "out"))
    card = load_card(tmp_path / "out" / "task.toml")
    assert card == task.card
    assert content_hash(card, read_folder(tmp_path / "out", card)) == task.content_hash
    call_command("import_task", str(tmp_path / "out"))
    assert "moods v1: unchanged" in capsys.readouterr().out
    assert task.content_hash in (tmp_path / "out" / "README.md").read_text()
    for folder, sentence in (("out", "already exists"), ("no/where", "is not a folder")):
        with pytest.raises(CommandError, match=sentence):
            call_command("export_task", "moods", str(tmp_path / folder))
    with pytest.raises(CommandError, match="does not exist. The imported tasks are: moods."):
        call_command("export_task", "toys", str(tmp_path / "toys"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moods.csv", "out"]


@pytest.mark.real_data
@pytest.mark.long
def test_the_six_clues_tasks_are_exported_with_equal_hashes(db, clues, tmp_path):
    call_command("import_clues", str(clues), "--rechain", verbosity=0)
    for task in Task.objects.all():
        call_command("export_task", task.name, str(tmp_path / task.name), verbosity=0)
        card = load_card(tmp_path / task.name / "task.toml")
        read = read_folder(tmp_path / task.name, card)
        assert content_hash(card, rechained(read)) == task.content_hash
    assert Task.objects.count() == 6


@pytest.mark.real_data
def test_sst2_examples_can_be_drawn_as_a_task(db, clues, tmp_path):
    rows = []
    for name in ["sst_test", *(f"sst_train_30_{n}" for n in range(1, 6))]:
        for line in (clues / "SST-2" / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            rows.append({"phrase": row["context"], "mood": row["answer"][0]})
    path = files.write_parquet(tmp_path / "sst.parquet", rows)
    task = make(path, text=["phrase"], shots=[10, 20, 30], splits=5, test=200)
    assert task.splits.count() == 16
    assert task.report["baseline"] == pytest.approx(57.0)  # 206 of 360 are positive
    assert task.report["duplicates"] == task.report["overlap_with_test"] == []
    assert task.report["not_nested"] == []


def test_a_column_with_strata_balances_the_sets_and_is_kept(tmp_path, db):
    rows = [row | {"genre": "letters" if n < 45 else "fiction"} for n, row in enumerate(MOODS)]
    path = files.write_csv(tmp_path / "moods.csv", rows)
    task = make(path, stratum="genre", test=11)
    tested = task.test_split.examples.values_list("stratum", flat=True)
    assert sorted([list(tested).count("letters"), list(tested).count("fiction")]) == [5, 6]
    assert task.report["made_from"]["method"] == "sha256-balanced-webster-1"
    assert "with equal numbers of each genre (stratum)" in lines(task.report)[0]
    assert content_hash(task.card, files_of(task)) == task.content_hash
    rows[3]["genre"] = " "
    path = files.write_csv(tmp_path / "moods.csv", rows)
    with pytest.raises(CommandError, match="line 5, column genre: expected a stratum of 1 to 100"):
        make(path, stratum="genre", name="other")
