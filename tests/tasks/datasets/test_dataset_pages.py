"""A dataset becomes a task in the browser: file, columns, report and examples, confirmation."""

import io
import json
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.library.dataset_import import with_field_labels
from tasks import checking, dataset_uploads, datasets, uploads
from tasks.models import Job, Task, TaskUpload
from tests.tasks.browser_import import act, settle, stored_folders, text
from tests.tasks.datasets import files
from tests.tasks.datasets.test_make_task import MOODS, PLACES, make

pytestmark = pytest.mark.long

DRAW = {"shots": "2 4", "splits": "1", "test": "20", "seed": "7", "name": "moods"}
OPTION = re.compile(r"--([a-z][a-z-]*[a-z])")
CHOICE = {**DRAW, "kind": "choice", "text": ["text"], "gold": "mood"}


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    return settings.VAR_DIR


def send(client, path, **how):
    with path.open("rb") as file:
        sent = SimpleUploadedFile(path.name, file.read())
    return client.post(reverse("task_add"), {"upload": sent, **how}, follow=True)


def draw(client, page, **fields):
    address = reverse("dataset_columns", args=[page.context["upload"].pk])
    return settle(client, client.post(address, fields, follow=True))


@pytest.mark.parametrize("case", ["csv", "xlsx", "parquet", "jsonl"])
def test_a_dataset_is_mapped_previewed_and_confirmed(ada, tmp_path, case):
    page = send(ada, files.write_all(tmp_path / "f", MOODS)[case])
    assert page.context["contents"]["rows"] == 60
    assert "Film 0 was dull." in text(page)
    page = draw(ada, page, **{**CHOICE, "labels": "bad | negative | It is dull.\ngood"})
    assert len(page.context["examples"]) == 10
    assert "Default values are used for title, description" in text(page)
    assert "moods_test.jsonl: 20 examples" in text(page)
    preview = ada.get(reverse("task_upload_preview", args=[page.context["upload"].pk, 1]))
    assert "negative" in text(preview)
    assert not Task.objects.exists()
    page = act(ada, page, "confirm")
    task = Task.objects.get()
    assert page.redirect_chain[-1][0] == "/tasks/moods/1/"
    first = task.card.labels[0]
    assert (first.name, first.definition) == ("negative", "It is dull.")
    made_from = task.report["made_from"]
    assert (made_from["seed"], made_from["columns"]["gold"]) == (7, ["mood"])
    assert "drawn with seed 7" in text(page)
    assert not TaskUpload.objects.exists()


def test_only_the_sample_that_a_tab_shows_can_be_imported_from_it(ada, tmp_path):
    first = draw(ada, send(ada, files.write_csv(tmp_path / "moods.csv", MOODS)), **CHOICE)
    second = draw(ada, first, **{**CHOICE, "seed": "11"})
    page = act(ada, first, "confirm")
    assert page.status_code == 409
    assert "The files have changed since you opened that page." in text(page)
    assert not Task.objects.exists()
    act(ada, second, "confirm")
    assert Task.objects.get().report["made_from"]["seed"] == 11


def test_the_page_makes_the_same_task_as_the_command(ada, tmp_path):

    path = files.write_csv(tmp_path / "moods.csv", MOODS)
    page = draw(ada, send(ada, path), **{**CHOICE, "splits": "3"})
    act(ada, page, "confirm")
    assert make(path) == Task.objects.get()


def test_options_and_numbers_are_mapped_on_the_page_too(ada, tmp_path):
    rows = [{"text": f"Sum {n}", "o": ["a", f"b{n}"], "mood": n % 2} for n in range(60)]
    page = send(ada, files.write_jsonl(tmp_path / "moods.jsonl", rows))
    page = draw(ada, page, **{**CHOICE, "kind": "option", "options": ["o"], "gold_is": "index"})
    preview = ada.get(reverse("task_upload_preview", args=[page.context["upload"].pk, 1]))
    assert "<choice-answer" in preview.content.decode()
    act(ada, page, "confirm")
    first = Task.objects.get().test_split.examples.first()
    assert first.gold == [first.options[int(first.context[0].split()[1]) % 2]]
    page = send(ada, files.write_jsonl(tmp_path / "marks.jsonl", rows))
    marks = {"name": "marks", "kind": "number", "lowest": "0", "highest": "1", "unit": "points"}
    act(ada, draw(ada, page, **{**CHOICE, **marks}), "confirm")
    card = Task.objects.get(name="marks").card
    assert (card.lowest, card.highest, card.step, card.unit) == (0, 1, None, "points")


@pytest.mark.parametrize(
    "changes",
    [{}, {"labels": "bad | negative | It is dull.\ngood", "instructions": "Read.", "seed": "11"}],
)
def test_the_form_of_columns_starts_with_the_previous_values(ada, tmp_path, changes):
    sent = {**CHOICE, **changes}
    page = draw(ada, send(ada, files.write_csv(tmp_path / "moods.csv", MOODS)), **sent)
    upload = page.context["upload"]
    page = ada.get(reverse("task_upload", args=[upload.pk]) + "?show=columns")
    form = page.context["form"]
    again = {f.name: f.value() for f in form if f.value() not in (None, "", [], False)}
    assert again == {**sent, "text": ["text"]}
    before = dataset_uploads.origin(upload)
    draw(ada, page, **again)
    assert dataset_uploads.origin(upload) == before


def test_the_preview_of_an_import_shows_the_options_of_the_row(ada, tmp_path):
    rows = [{"text": f"Sum {n}", "o": ["alpha", f"beta{n}"], "mood": n % 2} for n in range(60)]
    page = send(ada, files.write_jsonl(tmp_path / "moods.jsonl", rows))
    page = draw(ada, page, **{**CHOICE, "kind": "option", "options": ["o"], "gold_is": "index"})
    number = page.context["examples"][0]["context"][0].split()[1]
    preview = ada.get(reverse("task_upload_preview", args=[page.context["upload"].pk, 1]))
    assert {"alpha", f"beta{number}"} <= set(text(preview).split())


def test_columns_are_proposed_by_name(ada, tmp_path):
    rows = [{"Review": "a", "x": "b", "label": "c"}]
    form = send(ada, files.write_csv(tmp_path / "my data.v2.csv", rows)).context["form"]
    assert form.initial["text"] == ["Review"]
    assert form.initial["gold"] == "label"
    assert form.initial["name"] == "my-data"


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(600, ("10 20 30", 5, 200)), (120, ("10 20 30", 2, 60)), (40, ("10 20", 1, 20))],
)
def test_the_proposed_sizes_fit_the_number_of_rows(ada, tmp_path, rows, sizes):
    page = send(ada, files.write_csv(tmp_path / "moods.csv", numbered(rows)))
    form = page.context["form"]
    assert tuple(form.initial[name] for name in ("shots", "splits", "test")) == sizes
    sent = {f.name: f.value() for f in form if f.value() not in (None, "", [], False)}
    report = text(draw(ada, page, **sent))
    assert f"moods_test.jsonl {sizes[-1]}" in report


def numbered(rows):
    return [{"text": f"Film {n} was long.", "mood": ["bad", "good"][n % 2]} for n in range(rows)]


def rows_of(**columns):
    return [{name: made(n) for name, made in columns.items()} for n in range(120)]


@pytest.mark.parametrize(
    ("rows", "proposal"),
    [
        (rows_of(uid=lambda n: f"u{n}", said=lambda n: f"Film {n} was long.",
                 mood=lambda n: ["bad", "good"][n % 2]),
         {"kind": "choice", "text": ["said"], "gold": "mood", "options": [], "id": "uid"}),
        (rows_of(stem=lambda n: f"Which is {n}?", choices=lambda n: [f"{n}", "none"],
                 answer=lambda n: f"{n}"),
         {"kind": "option", "text": ["stem"], "gold": "answer", "options": ["choices"]}),
        (rows_of(text=lambda n: f"Sum {n}", answer=lambda n: f"It is {n}"),
         {"kind": "short-text", "text": ["text"], "gold": "answer"}),
        (rows_of(text=lambda n: f"Oslo {n}", entities=lambda n: [{"text": "Oslo"}]),
         {"kind": "spans", "text": ["text"], "gold": "entities"}),
        (rows_of(text=lambda n: f"Sum {n}"), {"kind": "choice", "text": ["text"], "gold": ""}),
        (rows_of(text=lambda n: f"Oslo {n}", entities=lambda n: [[0, 4, "LOC"]] if n > 9 else []),
         {"kind": "spans", "text": ["text"], "gold": "entities"}),
        (rows_of(tokens=lambda n: ["Oslo", f"{n}"], ner_tags=lambda n: ["B-LOC", "O"]),
         {"kind": "spans", "text": ["tokens"], "gold": "ner_tags"}),
        (rows_of(text=lambda n: f"Film {n}", labels=lambda n: ["sad", "long"][n % 2 :]),
         {"kind": "options", "text": ["text"], "gold": "labels"}),
        (rows_of(question=lambda n: f"Who is {n}?", answers=lambda n: [f"a {n}", f"b {n}"]),
         {"kind": "short-text", "text": ["question"], "gold": "answers", "question": ""}),
        (rows_of(sentence1=lambda n: f"A {n}", sentence2=lambda n: f"B {n}", score=lambda n: n / 9),
         {"kind": "number", "text": ["sentence1", "sentence2"], "gold": "score"}),
        (rows_of(premise=lambda n: f"A {n}", hypothesis=lambda n: "B", label=lambda n: n % 77),
         {"kind": "choice", "text": ["premise", "hypothesis"], "gold": "label"}),
        (rows_of(context=lambda n: f"Oslo {n}", question=lambda n: "Where is the long way to it?",
                 answers=lambda n: {"text": ["Oslo"], "answer_start": [0]}),
         {"kind": "spans", "text": ["context"], "gold": "answers", "question": "question"}),
        (rows_of(question=lambda n: f"Which is {n}?", answerKey=lambda n: "A",
                 choices=lambda n: {"text": ["a", "b"], "label": ["A", "B"]}),
         {"kind": "option", "text": ["question"], "gold": "answerKey", "options": ["choices"]}),
        (rows_of(doc=lambda n: {"text": f"Film {n}", "label": "ab"[n % 2]}),
         {"kind": "choice", "text": ["doc.text"], "gold": "doc.label"}),
    ],
)  # fmt: skip
def test_the_kind_and_the_roles_are_proposed_from_the_values(ada, tmp_path, rows, proposal):
    form = send(ada, files.write_jsonl(tmp_path / "x.jsonl", rows)).context["form"]
    assert {name: form.initial[name] for name in proposal} == proposal


def test_the_first_five_rows_and_numbers_of_values_are_shown(ada, tmp_path):
    page = send(ada, files.write_csv(tmp_path / "moods.csv", MOODS))
    assert [name for name, _values, _count in page.context["contents"]["columns"]] == list(MOODS[0])
    assert page.context["rows"] == [tuple(row.values()) for row in MOODS[:5]]
    shown = text(page)
    assert "mood Text Question Answer Options ID Stratum Ignore 2 distinct values" in shown
    assert "60 rows, of which the first 5 are shown." in shown


ROLED = {key: value for key, value in CHOICE.items() if key not in ("text", "gold")}


def columns_of(page):
    return reverse("dataset_columns", args=[page.context["upload"].pk])


def test_the_page_says_why_a_column_is_missing(ada, tmp_path):
    rows = [{"text": b"Film", "said": "Film"}, {"text": b"Play", "said": "Play"}]
    page = send(ada, files.write_parquet(tmp_path / "x.parquet", rows))
    assert [name for name, *_rest in page.context["form"].columns] == ["said"]
    assert "column text cannot be used: its values have the type binary" in text(page)


def test_an_export_of_label_studio_read_as_json_is_recognised(ada, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"data": {"text": "Oslo"}, "annotations": []}]))
    told = "for an export of Label Studio, set “Format” label-studio"
    assert told in text(send(ada, path))
    path.write_text(json.dumps([{"data": "Oslo", "label": "a"}]))
    assert told not in text(send(ada, path))


def test_roles_above_the_columns_make_the_same_task(ada, tmp_path):
    path = files.write_csv(tmp_path / "moods.csv", MOODS)
    role = ["gold" if name == "mood" else "text" if name == "text" else "" for name in MOODS[0]]
    page = draw(ada, send(ada, path), **{**ROLED, "splits": "3", "role": role})
    act(ada, page, "confirm")
    assert make(path) == Task.objects.get()


def test_the_example_is_shown_as_annotators_will_see_it(ada, tmp_path):
    rows = [{"stem": f"Which is {n}?", "a": f"{n}", "b": "none", "key": f"{n}"} for n in range(40)]
    page = send(ada, files.write_jsonl(tmp_path / "x.jsonl", rows))
    sent = {**ROLED, "kind": "option", "role": ["text", "options", "options", "gold"]}
    shown = ada.post(columns_of(page), {**sent, "example": "1"})
    assert shown.status_code == 200
    assert shown.content.decode().count('<p class="visit-choice"') == 2
    assert "Answer in the file: 0" in text(shown)
    assert uploads.names(page.context["upload"]) == []
    shown = ada.post(columns_of(page), {**sent, "example": "1", "role": ["text", "", "", ""]})
    assert shown.status_code == 422
    assert '<a href="#columns-gold">Answer</a>: Choose a column' in shown.content.decode()


def test_a_changed_answer_column_proposes_a_kind_of_answer(ada, tmp_path):
    rows = [{"text": f"Sum {n}", "long": f"It is {n}", "mood": "ab"[n % 2]} for n in range(120)]
    page = send(ada, files.write_csv(tmp_path / "x.csv", rows))
    assert page.context["form"].initial["kind"] == "choice"
    sent = {**ROLED, "kind": "choice", "role": ["text", "gold", ""], "example": "1"}
    shown = ada.post(columns_of(page), sent)
    assert shown.context["form"]["kind"].value() == "short-text"
    # A kind that the user chose is kept.
    chosen = {**sent, "kind": "number", "role": ["text", "", "gold"]}
    assert ada.post(columns_of(page), chosen).context["form"]["kind"].value() == "number"


def test_going_back_retains_each_field_and_the_seed(ada, tmp_path):
    page = send(ada, files.write_csv(tmp_path / "moods.csv", MOODS))
    seed = page.context["form"]["seed"].value()
    assert ada.get(columns_of(page), follow=True).context["form"]["seed"].value() == seed
    typed = {**CHOICE, "instructions": "Read.", "title": "Moods", "test": "many", "example": "1"}
    assert ada.post(columns_of(page), typed).status_code == 422
    form = ada.get(columns_of(page), follow=True).context["form"]
    again = {name: form[name].value() for name in ("instructions", "title", "test", "seed", "gold")}
    assert again == {name: typed[name] for name in again}


def test_a_role_for_two_columns_is_refused_at_the_role(ada, tmp_path):
    rows = [{"text": f"Sum {n}", "one": "a", "other": "b"} for n in range(40)]
    page = send(ada, files.write_csv(tmp_path / "x.csv", rows))
    sent = {**ROLED, "role": ["text", "gold", "gold"]}
    errors = ada.post(columns_of(page), sent).context["form"].errors
    assert errors == {"gold": ["Choose this role for only one column."]}


def test_an_error_in_a_column_is_shown_at_its_role(ada, tmp_path):
    rows = [
        *({"text": f"Sum {n}", "mood": "ab"[n % 2]} for n in range(40)),
        {"text": "", "mood": "a"},
    ]
    page = send(ada, files.write_csv(tmp_path / "x.csv", rows))
    shown = ada.post(columns_of(page), {**ROLED, "role": ["text", "gold"], "example": "1"})
    assert list(shown.context["form"].errors) == ["text"]
    assert "line 42, column text: is empty" in text(shown)


def test_columns_can_be_changed_until_the_task_is_confirmed(ada, tmp_path):
    path = files.write_jsonl(tmp_path / "admin.jsonl", PLACES)
    page = send(ada, path, format="doccano")
    page = draw(ada, page, **{**DRAW, "kind": "spans", "text": ["text"], "gold": "label"})
    assert page.context["card"].question_types
    page = draw(
        ada, page,
        **{**DRAW, "kind": "spans", "text": ["text"], "gold": "place", "question": "question"},
    )  # fmt: skip
    assert not page.context["card"].question_types
    assert len(page.context["files"]) == 4
    page = act(ada, page, "files", remove="moods_train_2_1.jsonl")
    act(ada, settle(ada, page), "confirm")
    # The files have changed since they were drawn, so the report doesn't say how they were made.
    assert "made_from" not in Task.objects.get().report


@pytest.mark.parametrize(
    ("name", "content", "how", "sentence"),
    [
        ("x.dat", b"a", {}, "set “Format” to one of csv, tsv, xlsx, json, jsonl, parquet, conll,"),
        ("x.csv", b"a;b\n1;2\n", {}, "set “Separator” to semicolon"),
        ("x.csv", b"a,b\n1\n", {}, "x.csv, line 2: expected 2 fields"),
        ("x.xlsx", b"PK\3\4", {}, "cannot be read as XLSX"),
        ("x.parquet", b"PAR1" * 9, {}, "x.parquet: cannot be read"),
        ("x.csv", b"", {}, "x.csv: empty."),
        ("x.csv", b"a\n1\n", {"sheet": "A"}, "“Sheet” is not valid for csv"),
        ("x.csv", b"a\n1\n", {"format": "datasets"}, "Select a valid choice"),
    ],
)
def test_an_unreadable_file_is_refused_at_its_field(
    ada, var, tmp_path, name, content, how, sentence
):
    (tmp_path / name).write_bytes(content)
    page = send(ada, tmp_path / name, **how)
    assert page.status_code == 422
    assert sentence in " ".join(
        error for errors in page.context["form"].errors.values() for error in errors
    )
    assert not TaskUpload.objects.exists()
    assert not (var / "uploads").exists() or stored_folders(var) == []


def test_errors_are_shown_at_the_fields_they_name(ada, tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a;b\n1;2\n")
    page = send(ada, path)
    assert list(page.context["form"].errors) == ["delimiter"]
    assert '<a href="#add-delimiter">Separator</a>' in page.content.decode()
    rows = [{"q": f"Which {n}?", "o": ["Oslo", "Bonn", "Rome"], "g": 1} for n in range(40)]
    page = send(ada, files.write_jsonl(tmp_path / "y.jsonl", rows))
    address = reverse("dataset_columns", args=[page.context["upload"].pk])
    sent = {**DRAW, "kind": "option", "text": ["q"], "gold": "g", "options": ["o"]}
    for gold_is, said in (
        ("text", "positions or letters, set “The correct option is given as”"),
        ("letter", "3 options (“The correct option is given as”: its letter)"),
    ):
        errors = ada.post(address, {**sent, "gold_is": gold_is}).context["form"].errors
        assert list(errors) == ["gold_is"]
        assert said in errors["gold_is"][0]
    errors = ada.post(address, {**sent, "test": "60"}).context["form"].errors
    assert list(errors) == ["gold_is"]
    errors = ada.post(address, {**sent, "gold_is": "index", "test": "60"}).context["form"].errors
    assert "lower “Test examples”, “Training sets per size” or" in errors["test"][0]


def test_every_option_named_in_an_error_is_a_field():
    sources = Path(datasets.__file__).parent.glob("*.py")
    named = {f"--{option}" for file in sources for option in OPTION.findall(file.read_text())}
    assert all(with_field_labels(each) != each for each in named)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gold": "text"}, "row 2"), ({"gold": ""}, "Choose a column for this role."),
        ({"kind": "buttons"}, "Select a valid choice"), ({"text": ["x"]}, "Select a valid choice"),
        ({"test": "60"}, "60 different examples, but 64 are needed"),
        ({"shots": "ten"}, "Enter numbers separated"), ({"shots": "4 4"}, "different sizes"),
        ({"name": "a b"}, "expected 1 to 60 letters"), ({"seed": "-1"}, "greater than or equal"),
        ({"labels": "|x"}, "Enter each line as"), ({"labels": "good"}, "'bad' is not one of"),
        ({"id": "mood"}, "is already the id of line"), ({"title": "a\0b"}, "Null characters"),
    ],
)  # fmt: skip
def test_unusable_columns_are_refused_and_the_last_draw_remains(ada, tmp_path, changes, sentence):
    more = (
        [{"text": f"x{n}", "mood": "bad"} for n in range(120)]
        if "text" in changes.get("gold", "")
        else []
    )
    page = send(ada, files.write_csv(tmp_path / "moods.csv", [*MOODS, *more]))
    upload = page.context["upload"]
    assert draw(ada, page, **CHOICE).context["examples"]
    page = ada.post(reverse("dataset_columns", args=[upload.pk]), {**CHOICE, **changes})
    assert page.status_code == 422
    said = " ".join(e for errors in page.context["form"].errors.values() for e in errors)
    if changes.get("gold") == "text":
        sentence = "different values, but at most 100 labels"
    assert sentence in said
    assert settle(ada, ada.get(reverse("task_upload", args=[upload.pk]))).context["examples"]


def test_columns_cannot_be_changed_during_the_import(ada, tmp_path):
    page = draw(ada, send(ada, files.write_csv(tmp_path / "moods.csv", MOODS)), **CHOICE)
    upload = page.context["upload"]
    Job.objects.filter(pk=upload.job_id).update(kind=uploads.IMPORT, state="waiting", done=0)
    reply = ada.post(reverse("dataset_columns", args=[upload.pk]), CHOICE)
    assert reply.status_code == 422
    assert "The upload is being imported and can no longer be changed." in text(reply)


def test_a_dataset_belongs_to_its_owner_and_can_be_discarded(ada, var, tmp_path):
    page = send(ada, files.write_csv(tmp_path / "moods.csv", MOODS))
    upload = page.context["upload"]
    address = reverse("dataset_columns", args=[upload.pk])
    other = get_user_model().objects.create_user("other")
    stranger = Client()
    assert stranger.get(address).status_code == 302
    stranger.force_login(other)
    assert stranger.get(address, follow=True).status_code == 404
    assert ada.get(address, follow=True).context["form"].key == "columns"
    act(ada, page, "discard")
    assert stored_folders(var) == []
    assert ada.get(address, follow=True).status_code == 404


def test_a_file_that_takes_too_long_is_refused(ada, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 1)
    rows = [{"text": f"a{n}", "label": "x"} for n in range(400_000)]
    page = send(ada, files.write_jsonl(tmp_path / "x.jsonl", rows))
    assert page.status_code == 422
    assert "too complex" in page.context["form"].errors["upload"][0]
    assert not TaskUpload.objects.exists()
    monkeypatch.undo()


def test_a_file_name_with_a_path_stays_in_its_folder(ada, var):
    file = io.BytesIO(b"text,mood\na,b\n")
    file.name = "../../evil.csv"
    reply = ada.post(reverse("task_add"), {"upload": file}, follow=True)
    upload = reply.context["upload"]
    path = dataset_uploads.path_of(upload)
    assert path is not None
    assert path.parent.parent == uploads.folder_of(upload)
    assert json.loads((uploads.folder_of(upload) / ".seen.json").read_text())["rows"] == 1


def test_the_new_study_has_the_imported_task_selected(ada, tmp_path):
    page = draw(ada, send(ada, files.write_csv(tmp_path / "m.csv", MOODS)), **CHOICE)
    page = act(ada, page, "confirm", next="study")
    assert page.redirect_chain[-1][0] == "/new-study/?task=moods"
    assert page.context["form"].initial["tasks"] == [Task.objects.get()]
    assert not ada.get("/new-study/?task=nothing").context["form"].initial.get("tasks")


def sent(name: str, data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


MOODS_CSV = b"text,mood\n" + b"".join(
    f"Film {n} was {'dull' if n % 2 else 'fun'}.,{'bad' if n % 2 else 'good'}\n".encode()
    for n in range(40)
)


def test_of_several_datasets_a_refused_one_stores_none(ada):
    both = [sent("one.csv", MOODS_CSV), sent("two.csv", b"")]
    assert ada.post(reverse("task_add"), {"upload": both}).status_code == 422
    assert not TaskUpload.objects.exists()


def test_several_datasets_are_imported_one_after_the_other(ada):
    abandoned = ada.post(reverse("task_add"), {"upload": sent("old.csv", MOODS_CSV)}, follow=True)
    three = [sent(f"{name}.csv", MOODS_CSV) for name in ("one", "two", "three")]
    page = ada.post(reverse("task_add"), {"upload": three}, follow=True)
    for name in ("one", "two", "three"):
        assert f"{name}.csv" in text(page)
        page = draw(ada, page, **{**CHOICE, "name": name})
        page = act(ada, page, "confirm", next="add")
    assert page.request["PATH_INFO"] == reverse("task_add")
    assert set(Task.objects.values_list("name", flat=True)) == {"one", "two", "three"}
    assert TaskUpload.objects.get() == abandoned.context["upload"]


@pytest.mark.parametrize("odd", ["\ud800", "\0"])
@pytest.mark.parametrize("path", ["odd.json", "odd.jsonl"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_a_column_whose_name_cannot_be_stored_is_refused(ada, tmp_path, odd, path, is_nested):
    name = {f"na{odd}me": "x"}
    row = json.dumps({"text": "a", "doc": name} if is_nested else {"text": "a", **name})
    (tmp_path / path).write_text(f"[{row}]" if path == "odd.json" else row)
    page = send(ada, tmp_path / path)
    assert page.status_code == 422
    (problem,) = page.context["form"].errors["upload"]
    name = ascii(f"na{odd}me")
    assert f"the name {name} contains a character that cannot be stored" in problem
