"""Every format gives the same rows; a bad file is refused with its place and what to do."""

import io
import json
import sys
import zipfile
from datetime import date, datetime, time

import openpyxl
import pyarrow
import pytest
from pyarrow import parquet

from tasks.cards import load_card
from tasks.datasets import table, tagged
from tasks.datasets.reading import Reading, format_of, read
from tasks.formats import FormatError, read_records
from tasks.importing import CARDS
from tests.tasks.datasets import files

CASES = [
    "csv", "excel's csv", "utf-16", "tsv", "json", "jsonl", "crlf", "xlsx", "parquet",
]  # fmt: skip


def texts(read_table, *columns):
    return [tuple(row.text(column) for column in columns) for row in read_table.rows]


@pytest.mark.parametrize("case", CASES)
def test_every_format_gives_the_same_texts(tmp_path, case):
    path = files.write_all(tmp_path / "f", files.ROWS)[case]
    read_table = read(path, Reading(**files.OPTIONS.get(case, {})))
    assert texts(read_table, "text", "label", "n") == [
        (row["text"], row["label"], str(row["n"])) for row in files.ROWS
    ]


@pytest.mark.real_data
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["SST-2/sst_test", "CoNLL2003/conll_test"])
def test_published_examples_are_unchanged_by_every_format(tmp_path, clues, name, case):
    lines = (clues / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows = [{**row, "answer": " | ".join(row["answer"]), "id": str(row["id"])} for row in rows]
    path = files.write_all(tmp_path / "f", rows)[case]
    read_table = read(path, Reading(**files.OPTIONS.get(case, {})))
    columns = ("id", "context", "question", "answer")
    # An empty cell is a missing text in a spreadsheet, and an empty text in other formats.
    given = [tuple(row.values[c] or "" for c in columns) for row in read_table.rows]
    assert given == [tuple(row[c] for c in columns) for row in rows]


def refusal(path, **how) -> str:
    with pytest.raises(FormatError) as caught:
        read(path, Reading(**how))
    return str(caught.value)


BAD = {
    "empty": ("x.csv", b"", "the file is empty"),
    "names alone": ("x.csv", b"a,b\n", "no rows below"),
    "too few fields": ("x.csv", b"a,b\n1,2\n3\n", "x.csv, line 3: expected 2 fields"),
    "too many fields": ("x.csv", b"a,b\n1,2,3\n", "as in the first line, but found 3"),
    "open quotation": ("x.csv", b'a,b\n1,2\n3,"4\n', "x.csv, line 3: cannot be read"),
    "text behind a quotation": ("x.csv", b'a,b\n1,"2"3\n', "x.csv, line 2: cannot be read"),
    "same name twice": ("x.csv", b"a,b,a\n1,2,3\n", "column 3: has the same name 'a' as column 1"),
    "no name": ("x.csv", b",b\n1,2\n", "line 1, column 1: has no name"),
    "other separator": ("x.csv", b"a;b\n1;2\n", "set --delimiter to semicolon"),
    "not utf-8": ("x.csv", b"a,b\n1,2\n\xe4,4\n", "x.csv, line 3: not valid UTF-8"),
    "nul": ("x.csv", b"a,b\n1,\0\n", "x.csv, line 2: contains U+0000"),
    "half of utf-16": ("x.csv", b"\xff\xfea\0,", "not valid UTF-16"),
    "columns": ("x.csv", ",".join(map(str, range(501))).encode() + b"\n1\n", "501 columns"),
    "long field": ("x.csv", b"a\n" + b"x" * 140_000 + b"\n", "line 2: cannot be read (field"),
    "no json": ("x.json", b"[{]", "not valid JSON"),
    "line of json": ("x.json", b'[{"a": 1},\n{"a" 2}]', "x.json, line 2: not valid JSON (Expec"),
    "nan": ("x.jsonl", b'{"a": NaN}\n', "x.jsonl, line 1: NaN is not valid JSON"),
    "huge": ("x.jsonl", b'{"a": 1e999}\n', "x.jsonl, line 1, column a: a number is too large"),
    "many digits": ("x.jsonl", b'{"a": ' + b"9" * 5000 + b"}\n", "x.jsonl, line 1: not valid JSON"),
    "deep": ("x.jsonl", b'{"a": ' + b"[" * 25 + b"]" * 25 + b"}\n", "nested more than 20 levels"),
    "very deep": ("x.jsonl", b'{"a": ' + b"[" * 99_999 + b"]" * 99_999 + b"}\n", "nested too deep"),
    "twice": ("x.jsonl", b'{"a": 1}\n{"a": 1, "a": 2}\n', "x.jsonl, line 2, field a: the field"),
    "no object": ("x.jsonl", b"[1]\n", "x.jsonl, line 1: expected an object, found list"),
    "columns of pandas": ("x.json", b'{"a": {"0": 1}}', "set the field that contains them"),
    "inner list": ("x.json", b'{"data": [{"a": 1}]}', "(--records), such as data"),
    "empty list": ("x.json", b"[]", "contains no rows"),
    "unknown ending": ("x.dat", b"a", "set --format to one of"),
    "no xlsx": ("x.xlsx", b"PK", "cannot be read as XLSX"),
    "no parquet": ("x.parquet", b"PAR1", "x.parquet: cannot be read"),
    "broken parquet": ("x.parquet", b"PAR1" + b"\0" * 20 + b"PAR1", "to read.); save it again"),
    "no tag": ("x.conll", b"Oslo B-LOC\nis it\n", "x.conll, line 2, column 2: 'it' is not a tag"),
    "lost column": ("x.conll", b"Oslo NNP B-LOC\nis O\n", "x.conll, line 2: expected 3 columns"),
    "no doccano": ("x.jsonl", b'{"data": "a"}\n', "expected the fields text and label"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_its_place_and_what_to_do(tmp_path, case):
    name, content, sentence = BAD[case]
    (tmp_path / name).write_bytes(content)
    how = {"format": "doccano"} if case == "no doccano" else {}
    assert sentence in refusal(tmp_path / name, **how)


def test_rows_columns_and_bytes_are_limited(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("a\n" * 12)
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n' * 12)
    monkeypatch.setattr("tasks.datasets.table.MAX_ROWS", 10)
    for name in ("x.csv", "x.jsonl"):
        assert "more than 10 rows" in refusal(tmp_path / name)
    monkeypatch.setattr("tasks.datasets.reading.MAX_BYTES", 10)
    assert "the limit" in refusal(tmp_path / "x.csv")


def test_encoding_separator_and_missing_header_are_as_declared(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("Käse|gut\r\nMüll|schlecht\r\n".encode("cp1252"))
    how = Reading(encoding="windows-1252", delimiter="bar", no_header=True)
    assert texts(read(path, how), "1", "2") == [("Käse", "gut"), ("Müll", "schlecht")]
    assert "unknown encoding 'klingon'" in refusal(path, encoding="klingon")
    assert "unknown encoding 'a\\x00'" in refusal(path, encoding="a\0")
    assert "--sheet is not valid for csv" in refusal(path, sheet="A")


def test_quotation_marks_of_a_tsv_are_text_with_a_note(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('text\tlabel\n"whole"\tgood\n"half\tbad\n', encoding="utf-8")
    read_table = read(path, Reading())
    assert texts(read_table, "text") == [('"whole"',), ('"half',)]
    assert "1 values begin and end with a quotation mark" in read_table.notes[0]


def test_a_missing_column_and_a_non_text_cell_are_named(tmp_path):
    path = files.write_jsonl(
        tmp_path / "x.jsonl",
        [{"doc": {"text": "a"}, "n": True, "list": []}, {"doc": {}}],
    )
    read_table = read(path, Reading())
    first, second = read_table.rows
    assert first.text("doc.text") == "a"
    assert first.text("n") == "true"
    with pytest.raises(table.DatasetError, match="column not found; the columns are: doc,"):
        read_table.check("text")
    for row, column, sentence in (
        (first, "doc", "line 1, column doc: expected a text, found an object; select one of"),
        (first, "list", "found a list"),
        (second, "n", "line 2, column n: expected a text, found nothing"),
        (second, "doc.text", "line 2, column doc.text: is missing in this row; fill it in"),
    ):
        with pytest.raises(table.DatasetError, match=sentence):
            row.text(column)
    for value, sentence in (
        (float("nan"), "NaN"), ("a\0", "U\\+0000"), ("\ud800", "an unpaired surrogate"),
        ("x" * 100_001, "at most 100,000"),
    ):  # fmt: skip
        with pytest.raises(table.DatasetError, match=sentence):
            first.text("n", value)


# Spreadsheets -----------------------------------------------------------------------------------


def test_formulas_errors_and_several_sheets_are_refused(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["text", "label"])
    book.active.append(["a", '=IF(A2="a","x","y")'])
    book.save(tmp_path / "formula.xlsx")
    assert "row 2, column B: holds a formula: copy the column" in refusal(tmp_path / "formula.xlsx")
    book.active["B2"] = "#REF!"
    book.active["B2"].data_type = "e"
    book.save(tmp_path / "error.xlsx")
    assert "holds the error #REF!" in refusal(tmp_path / "error.xlsx")
    several = files.write_xlsx(tmp_path / "several.xlsx", files.ROWS, ("Notes",))
    assert "has 2 sheets: select one (--sheet): Sheet, Notes" in refusal(several)
    assert len(read(several, Reading(sheet="Sheet")).rows) == 3
    assert "the sheets are: Sheet, Notes" in refusal(several, sheet="Other")
    assert "is empty" in refusal(several, sheet="Notes")


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (date(2020, 1, 1), "yyyy-mm-dd", "2020-01-01"),
        (datetime(2020, 1, 1), "dd/mm/yyyy", "2020-01-01"),
        (datetime(2020, 1, 1), '[$-zh-CN]d "the" mmmm yyyy', "2020-01-01"),
        (datetime(2020, 1, 1), "yyyy-mm-dd h:mm:ss", "2020-01-01 00:00:00"),
        (datetime(2020, 1, 1, 13, 30), "yyyy-mm-dd", "2020-01-01 13:30:00"),
        (time(0, 0), "h:mm", "00:00:00"),
    ],
)
def test_a_day_in_a_spreadsheet_has_no_time(tmp_path, value, number_format, text):
    book = openpyxl.Workbook()
    book.active.append(["day", "label"])
    book.active.append([value, "a"])
    book.active["A2"].number_format = number_format
    book.save(tmp_path / "days.xlsx")
    (row,) = read(tmp_path / "days.xlsx", Reading()).rows
    assert row.values["day"] == text


def test_a_spreadsheet_with_entities_or_too_large_is_refused(tmp_path, monkeypatch):
    path = files.write_xlsx(tmp_path / "x.xlsx", files.ROWS)
    bomb = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bomb, "w") as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename == "xl/worksheets/sheet1.xml":
                entities = "".join(
                    f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "x" * 10}">' for n in range(10)
                )
                head = f"<!DOCTYPE x [{entities}]>".encode()
                data = head + data.replace(b"<sheetData>", b"<sheetData>&e9;")
            new.writestr(member.filename, data)
    (tmp_path / "bomb.xlsx").write_bytes(bomb.getvalue())
    assert "cannot be read as XLSX" in refusal(tmp_path / "bomb.xlsx")
    monkeypatch.setattr("tasks.datasets.binary.MAX_BYTES", 1000)
    assert "unpacked, the limit" in refusal(path)


# Parquet and datasets ---------------------------------------------------------------------------

NAMES = {"names": ["bad", "good"], "_type": "ClassLabel"}


def test_the_integers_of_a_class_label_become_its_names(tmp_path):
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": NAMES,
        "tags": {"feature": NAMES, "_type": "Sequence"},
        "inner": {"feature": {"tag": NAMES}, "_type": "List"},
    }
    rows = [
        {"text": "a", "label": 1, "tags": [0, 1], "inner": [{"tag": 0}]},
        {"text": "b", "label": -1, "tags": [], "inner": []},
    ]
    path = files.write_parquet(tmp_path / "x.parquet", rows, features)
    first, second = read(path, Reading()).rows
    assert first.values == {
        "text": "a", "label": "good", "tags": ["bad", "good"], "inner": [{"tag": "bad"}],
    }  # fmt: skip
    assert second.values["label"] is None
    wrong = files.write_parquet(tmp_path / "y.parquet", [{**rows[0], "label": 2}] * 2, features)
    assert "row 1, column label: no label has the number 2" in refusal(wrong)


def test_binary_columns_are_skipped_and_named_on_request(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"text": ["a"], "image": [b"\x89PNG"]}), path)
    read_table = read(path, Reading())
    assert read_table.columns == ["text"]
    with pytest.raises(table.DatasetError, match="its values have the type binary"):
        read_table.check("image")


def test_invalid_utf_8_is_refused_and_timestamps_become_text(tmp_path):
    offsets, data = (pyarrow.py_buffer(b) for b in (b"\0\0\0\0\1\0\0\0", b"\x80"))
    broken = pyarrow.StringArray.from_buffers(1, offsets, data)
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"text": broken}), path)
    assert "x.parquet: cannot be read (" in refusal(path)
    later = pyarrow.array([1_700_000_000_000_000_001], pyarrow.timestamp("ns"))
    parquet.write_table(pyarrow.table({"text": ["a"], "at": later}), path)
    (row,) = read(path, Reading()).rows
    assert row.values["at"].startswith("2023-11-14 22:13:20")


def test_a_folder_is_refused_with_what_to_do(tmp_path):
    assert "expected a file; save a Hugging Face dataset with to_parquet()" in refusal(tmp_path)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = files.write_parquet(tmp_path / "rows.parquet", files.ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    message = refusal(path)
    assert "rows.parquet: requires pyarrow" in message
    assert "pip install pyarrow" in message
    assert "save the data as CSV" in message


# Tagged texts -----------------------------------------------------------------------------------

CONLL = """-DOCSTART- -X- O O

# id = 1
Maria NNP I-NP B-PER
Lopez NNP I-NP I-PER
of IN I-PP O
Acme NNP I-NP B-ORG
Acme NNP I-NP B-ORG
# SYM X O

Oslo NNP I-NP I-LOC
"""


def entities(row):
    return [(row.values["text"][e["start"] : e["end"]], e["label"]) for e in row.values["entities"]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_sentences_of_a_conll_file_have_texts_and_entities(tmp_path, end):
    (tmp_path / "x.conll").write_bytes(CONLL.replace("\n", end).encode())
    first, second = read(tmp_path / "x.conll", Reading()).rows
    assert (first.number, second.number) == (4, 11)
    assert first.values["text"] == "Maria Lopez of Acme Acme #"
    assert entities(first) == [("Maria Lopez", "PER"), ("Acme", "ORG"), ("Acme", "ORG")]
    assert entities(second) == [("Oslo", "LOC")]


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-A I-A O", ["a b"]), ("I-A I-A I-B", ["a b", "c"]), ("I-A B-A I-A", ["a", "b c"]),
        ("B-A E-A S-A", ["a b", "c"]), ("U-A B-A L-A", ["a", "b c"]), ("O I-A B-B", ["b", "c"]),
        ("S-A I-A O", ["a", "b"]), ("B-A E-A I-A", ["a b", "c"]),
    ],
)  # fmt: skip
def test_tags_are_read_as_iob1_bio_and_bioes(tags, spans):
    assert [
        "a b c"[s.start : s.end] for s in tagged.tagged_spans(list("abc"), tags.split())
    ] == spans


@pytest.mark.real_data
def test_names_of_conll03_survive_conversion_to_tags(tmp_path, clues):
    """Tags made from the gold give the same gold when they are read."""
    card = load_card(CARDS / "conll03.toml")
    from_file = read_records(clues / "CoNLL2003" / "conll_test.jsonl", card)
    sentences: dict[str, dict[str, tuple[str, ...]]] = {}
    for record in from_file:
        sentences.setdefault(record.context[0], {})[record.question.split()[3]] = record.gold
    expected, lines = [], []
    for text, golds in sentences.items():
        tokens, tags = text.split(" "), {}
        for kind, gold in golds.items():
            for name in gold:
                words = name.split(" ")
                for at in range(len(tokens)):
                    if tokens[at : at + len(words)] == words and not any(
                        place in tags for place in range(at, at + len(words))
                    ):
                        tags |= {at + n: f"{'I' if n else 'B'}-{kind}" for n in range(len(words))}
                        break
        lines += [f"{token} {tags.get(n, 'O')}" for n, token in enumerate(tokens)] + [""]
        expected.append({kind: set(gold) for kind, gold in golds.items()})
    (tmp_path / "x.bio").write_text("\n".join(lines), encoding="utf-8")
    rows = read(tmp_path / "x.bio", Reading()).rows
    given = [
        {kind: {t for t, label in entities(row) if label == kind} for kind in golds}
        for row, golds in zip(rows, expected, strict=True)
    ]
    same = sum(a == b for a, b in zip(given, expected, strict=True))
    assert same >= 195  # of 199: tags can't express two overlapping golds


def test_spans_are_read_in_every_format_and_checked():
    one = table.Table("x", "line", ["label"])
    one.add(7, {})
    text = "🎉 Oslo and Rome"
    spellings = [
        [[2, 6, "LOC"]],
        [{"start": 2, "end": 6, "label": "LOC"}],
        [{"start_offset": 2, "end_offset": 6, "label": "LOC", "id": 4}],
        [{"start": 2, "end": 6, "labels": ["LOC"], "text": "Oslo"}],
        [{"start": 3, "end": 7, "labels": ["LOC"], "text": "Oslo"}],  # in UTF-16 code units
    ]
    for gold in spellings:
        assert tagged.are_spans(gold)
        assert tagged.spans_of(one.rows[0], "label", gold, text) == [(2, 6, "LOC")]
    for gold, sentence in (
        ([[2, 99, "LOC"]], "span 1: 2 to 99 is outside the text"),
        ([[6, 2, "LOC"]], "is outside"),
        ([["2", 6, "LOC"]], "expected \\[start, end, label\\]"),
        ([{"start": 2, "end": 6, "label": "LOC", "text": "Rome"}], "is not 'Rome'"),
    ):
        with pytest.raises(table.DatasetError, match=f"x, line 7, column label: .*{sentence}"):
            tagged.spans_of(one.rows[0], "label", gold, text)


# Annotation tools -------------------------------------------------------------------------------


def test_doccano_and_label_studio_become_texts_with_labels(tmp_path):
    path = files.write_jsonl(
        tmp_path / "admin.jsonl", [{"id": 1, "text": "We saw Oslo", "entities": [[7, 11, "LOC"]]}]
    )
    doccano = read(path, Reading(format="doccano"))
    assert doccano.rows[0].values["label"] == [[7, 11, "LOC"]]
    assert "offsets were read as code points" in doccano.notes[0]
    path = files.write_jsonl(tmp_path / "mood.jsonl", [{"text": "A film", "label": ["good"]}])
    assert read(path, Reading(format="doccano")).notes == []
    region = {
        "from_name": "ner", "type": "labels",
        "value": {"start": 7, "end": 11, "text": "Oslo", "labels": ["LOC"]},
    }  # fmt: skip
    choice = {"from_name": "mood", "type": "choices", "value": {"choices": ["good"]}}
    right = {"result": [region, choice], "ground_truth": True}
    task = {"id": 5, "data": {"text": "We saw Oslo"}, "annotations": [right]}
    (tmp_path / "ls.json").write_text(json.dumps([task]))
    (row,) = read(tmp_path / "ls.json", Reading(format="label-studio")).rows
    assert row.values["mood"] == "good"
    assert row.values["ner"] == [{"start": 7, "end": 11, "label": ["LOC"], "text": "Oslo"}]
    skipped = {"result": [], "was_cancelled": True}
    for listed, expected in (
        ([right, skipped], None), ([right, {"result": []}], None),
        ([{"result": []}] * 2, "2 annotations"), ([skipped], "0 annotations"),
        ([{"result": [{"type": "brush", "value": {}}]}], "type brush are not supported"),
    ):  # fmt: skip
        (tmp_path / "ls.json").write_text(json.dumps([{**task, "annotations": listed}]))
        if expected:
            assert expected in refusal(tmp_path / "ls.json", format="label-studio")
        else:
            assert read(tmp_path / "ls.json", Reading(format="label-studio")).rows


def test_a_format_is_recognised_by_the_file_name(tmp_path):
    for name, known in (
        ("a.CSV", "csv"), ("x.iob2", "conll"), ("a.jsonl", "jsonl"),
    ):  # fmt: skip
        assert format_of(tmp_path / name) == known
    assert "unknown format 'doc'" in refusal(tmp_path / "a", format="doc")
