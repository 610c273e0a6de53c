"""The page on which researchers assign a dataset's columns and describe the task to make.

Before this page, task_import has stored the dataset. After it, task_import shows the data report
and ten examples as annotators will see them, and asks for confirmation.
"""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from annotation.participation.question import Question
from annotation.web.access import ResearcherRequest, signed_in, upload_of
from annotation.web.fields import PageForm, TextField, WholeNumberField, optional_text
from tasks import dataset_uploads, disk, uploads
from tasks.answers import KINDS
from tasks.cards import parse_card
from tasks.datasets.kinds import GOLD_IS, Columns
from tasks.datasets.making import Plan, TaskSpec, name_of
from tasks.datasets.reading import READERS, Reading
from tasks.formats import FormatError
from tasks.models import Example, TaskUpload

# Column names that suggest a role. Users can change the suggestion.
TEXTS = ("text", "sentence", "context", "review", "tokens", "content")
PAIRS = (("premise", "hypothesis"), ("sentence1", "sentence2"), ("question1", "question2"))
GOLDS = ("label", "labels", "gold", "answer", "answers", "answerkey", "target", "entities",
         "ner_tags", "class")  # fmt: skip
OPTIONS, IDS = ("options", "choices", "endings"), ("id", "uid", "guid")
QUESTIONS = ("question", "query")
FEW, MOST = 20, 100  # maximum of distinct values: in a likely gold column, and for choices
# How cells begin that contain several texts, spans, no spans, or tags for a list of tokens.
LISTS = re.compile(r'\["(?!O"|[BIESLUM]-).*", "')
SPANS = re.compile(r'\[[\[{]|\{|\["(O"|[BIESLUM]-)|\[\]')
NUMBER = re.compile(r"-?\d+(\.\d+)?")
FORMATS = [("", "Detect from the file name"), *((name, name) for name in READERS)]
KIND_NAMES = {kind.argument: kind.title for kind in KINDS.values()}
GOLD_NAMES = {
    "text": "its text", "index": "its position, from 0", "number": "its position, from 1",
    "letter": "its letter",
}  # fmt: skip


class ReadingForm(PageForm):
    """The form for how to read a dataset (reading.Reading). Defaults depend on the file name."""

    key = "reading"
    format = forms.ChoiceField(
        label="Format", choices=FORMATS, required=False, help_text="Needed if it isn't detected."
    )
    encoding = optional_text("Encoding", 40, "Such as windows-1252.")
    delimiter = optional_text("Separator", 9, "Tab, comma, semicolon, bar or another character.")
    sheet = optional_text("Sheet", 100, "Name of the sheet, if an XLSX file has several.")
    records = optional_text(
        "JSON field that contains the examples", 100, "Such as data, if the file isn't a list."
    )
    quoted = forms.BooleanField(
        label="TSV fields are quoted", required=False, help_text="As in CSV files."
    )
    no_header = forms.BooleanField(
        label="The file has no header line; name the columns 1, 2, 3", required=False,
        help_text="If this is off, the first line contains the column names.",
    )  # fmt: skip

    @property
    def reading(self) -> Reading:
        return Reading(**{name: self.cleaned_data[name] for name in ReadingForm.base_fields})


ColumnSamples = Sequence[tuple[str, list[str], int]]  # as in tasks/check_process.py
ROLES = {"text": "Text", "question": "Question", "gold": "Answer", "options": "Options", "id": "ID",
         "stratum": "Stratum"}  # fmt: skip
RARE = "Details of answers"  # a group of fields, collapsed unless used
NO_COLUMN = {"required": "Choose a column for this role."}
NO_LIMIT = "Answers beyond this are refused. Leave blank for no limit."


def proposed(columns: ColumnSamples) -> dict[str, Any]:
    """Guess the roles of columns (tasks/check_process.py) and the answer type."""

    def find(names: Sequence[str]) -> str:
        return next((name for name, *_rest in columns if name.lower() in names), "")

    gold, options, question = find(GOLDS) or find(("score",)), find(OPTIONS), find(QUESTIONS)
    candidates = [column for column in columns if column[0] not in (gold, options)]
    longest = max(candidates, key=lambda column: sum(map(len, column[1])), default=("",))
    pairs = ([find((first,)), find((second,))] for first, second in PAIRS)
    text = next(filter(all, pairs), [find(TEXTS) or longest[0]])
    gold = gold or next(
        (n for n, _v, count in candidates if n not in (*text, question) and 1 < count <= FEW), ""
    )
    return {
        "kind": kind_for(columns, gold, options), "text": text, "gold": gold, "id": find(IDS),
        "question": "" if question in text else question, "options": [options] if options else [],
    }  # fmt: skip


def proposed_sizes(rows: int) -> dict[str, Any]:
    """Propose sizes for training sets and the test file. Training gets at most half the rows."""
    sizes = [size for size in (10, 20, 30) if 2 * size <= rows] or [1]
    sets = min(5, max(1, rows // 2 // sizes[-1]))
    test = min(200, max(1, rows - sets * sizes[-1]))
    return {"shots": " ".join(map(str, sizes)), "splits": sets, "test": test}


def kind_for(columns: ColumnSamples, gold: str, options: Any) -> str:
    values, count = next(((v, n) for name, v, n in columns if name == gold), ([], 0))
    if options:
        return "option"
    if any(map(LISTS.match, values)):
        return "short-text" if count > MOST else "options"
    if any(map(SPANS.match, values)):
        return "spans"
    if all(map(NUMBER.fullmatch, values)) and count > (FEW if "." in "".join(values) else MOST):
        return "number"
    return "short-text" if count > MOST else "choice"


class ColumnsForm(PageForm):
    """The form for column roles, sampling, and the card."""

    key = "columns"
    name = forms.CharField(
        label="Task name", max_length=60,
        help_text="If you already have a task with this name, this becomes a new version.",
    )  # fmt: skip
    kind = forms.ChoiceField(
        label="Answer type", widget=forms.RadioSelect, help_text="Suggested by the answers."
    )
    text = forms.MultipleChoiceField(label=ROLES["text"], error_messages=NO_COLUMN)
    gold = forms.ChoiceField(label=ROLES["gold"], error_messages=NO_COLUMN)
    labels = TextField(
        label="Labels", required=False, max_length=10_000, widget=forms.Textarea({"rows": 3}),
        help_text="Optional. One per line: value | name shown to annotators | meaning. Default: all"
        " values in alphabetical order.",
    )  # fmt: skip
    question = forms.ChoiceField(label=ROLES["question"], required=False)
    ask = optional_text("One question for all rows", 500, "Shown above each text.")
    separator = optional_text(
        "Separator between multiple correct answers or options in a cell", 10,
        "Such as | or a semicolon. If empty, a cell is one answer.",
    )  # fmt: skip
    options = forms.MultipleChoiceField(label=ROLES["options"], required=False)
    gold_is = forms.ChoiceField(
        label="The correct option is given as", required=False,
        choices=[(name, GOLD_NAMES[name]) for name in GOLD_IS],
        help_text="In the column with the answers, if there are options.",
    )  # fmt: skip
    typed = forms.BooleanField(
        label="Spans can also be typed, because some correct answers are not in the text",
        required=False, help_text="Annotators get a field for an answer in their own words.",
    )  # fmt: skip
    lowest = forms.FloatField(label="Lowest number", required=False, help_text=NO_LIMIT)
    highest = forms.FloatField(label="Highest number", required=False, help_text=NO_LIMIT)
    step = forms.FloatField(
        label="Step between numbers", required=False, help_text="Such as 0.5. Empty: any number."
    )
    unit = optional_text("Unit of the numbers", 30, "Shown after the field, such as km.")
    no_answer = forms.BooleanField(
        label="“No answer” can be correct", required=False,
        help_text="Annotators get a button for it; it is correct in rows with an empty answer.",
    )  # fmt: skip
    skip_unlabelled = forms.BooleanField(
        label="Skip rows without a label", required=False, help_text="Otherwise, they are errors."
    )
    id = forms.ChoiceField(label=ROLES["id"], required=False)
    stratum = forms.ChoiceField(label=ROLES["stratum"], required=False)
    shots = forms.RegexField(
        r"\A\s*[0-9]{1,5}(\s+[0-9]{1,5})*\s*\Z",
        label="Training set sizes",
        help_text="The numbers of shots that studies can use. Larger sets contain smaller ones.",
        error_messages={"invalid": "Enter numbers separated by spaces, such as 10 20 30."},
    )
    splits = WholeNumberField(
        label="Training sets per size", min_value=1, max_value=100,
        help_text="Different samples, so that results do not depend on one of them.",
    )  # fmt: skip
    test = WholeNumberField(
        label="Test examples", min_value=1, max_value=100_000,
        help_text="Each annotator answers all of them. None is in a training set.",
    )  # fmt: skip
    seed = WholeNumberField(
        label="Seed", min_value=0, help_text="The same file and seed always give the same task."
    )
    title = optional_text("Title", 200, "Annotators see it above their work.")
    description = optional_text("Short description", 500, "One sentence on what annotators do.")
    instructions = TextField(
        label="Instructions", required=False, max_length=10_000,
        help_text="Annotators read them before the first example, and can open them later.",
    )  # fmt: skip
    language = optional_text("Language", 20, "Code of the texts, such as en.")
    domain = optional_text("Domain", 200, "Such as movie reviews.")
    source = optional_text("Source", 500, "Where the texts come from; reports cite it.")
    licence = optional_text("Licence", 500, "Of the texts, such as CC BY 4.0; bundles state it.")

    groups = (
        ("Answers", ("kind", "labels", "ask")),
        (RARE, ("separator", "gold_is", "no_answer", "skip_unlabelled", "lowest",
                "highest", "step", "unit", "typed")),
        ("Sampling", ("shots", "splits", "test", "seed")),
        ("The card", ("name", "title", "description", "instructions", "language", "domain",
                      "source", "licence")),
    )  # fmt: skip

    def __init__(self, upload: TaskUpload, data: Any = None):
        path = dataset_uploads.path_of(upload)
        assert path is not None
        contents = dataset_uploads.inspection(upload)
        self.columns: ColumnSamples = contents["columns"]
        proposal = {
            "name": name_of(path), **proposed(self.columns), **proposed_sizes(contents["rows"]),
            "seed": upload.pk.int % 2**31,  # random, but the same until the import
        }  # fmt: skip
        super().__init__(data, initial=dataset_uploads.fields(upload) or proposal)
        heads = [(name, name) for name, *_rest in self.columns]
        choices = {key: [("", "–"), *heads] for key in ROLES} | {"text": heads, "options": heads}
        for field, options in {**choices, "kind": list(KIND_NAMES.items())}.items():
            self.fields[field].choices = options  # type: ignore[attr-defined]

    def clean_labels(self) -> list[list[str]]:
        """Parse each line into [value, name, meaning]."""
        lines = [line for line in self.cleaned_data["labels"].split("\n") if line.strip()]
        parts = [[part.strip() for part in line.split("|")] for line in lines]
        if any(len(part) > 3 or not part[0] for part in parts):
            raise forms.ValidationError("Enter each line as value | name | meaning.")
        return [[part[0], *part[1:], *[""] * (3 - len(part))] for part in parts]

    def clean_shots(self) -> list[int]:
        return [*map(int, self.cleaned_data["shots"].split())]

    def data_of(self, post_data: QueryDict) -> QueryDict:
        """Return the data, converting the role chosen above each column to values of fields.

        If the answer or options column has changed, the answer type is proposed again.
        """
        data = post_data.copy()
        for (name, *_rest), role in zip(self.columns, data.getlist("role"), strict=False):
            if role in ROLES:
                data.appendlist(role, name)
        current, start = (data.get("gold", ""), data.getlist("options")), self.initial
        if current != (start["gold"], start["options"]) and data.get("kind") == start["kind"]:
            data["kind"] = kind_for(self.columns, *current)
        return data

    def clean(self) -> None:
        for role in ("question", "gold", "id", "stratum"):
            if isinstance(self.data, QueryDict) and len(self.data.getlist(role)) > 1:
                self.add_error(role, "Choose this role for only one column.")

    @property
    def roles(self) -> list[tuple[str, list[str], int, str]]:
        roles: dict[str, str] = {}
        for role in ROLES:
            value = self[role].value() or []
            roles |= dict.fromkeys(value if isinstance(value, list) else [value], role)
        return [(*column, roles.get(column[0], "")) for column in self.columns]

    @property
    def grouped(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        used = {f.name for f in self if f.errors or f.value() not in (None, "", False, GOLD_IS[0])}
        return [
            (title, [self[name] for name in names], title == RARE and not used & {*names})
            for title, names in self.groups
        ]

    def spec(self, reading: Reading) -> TaskSpec:
        """Return the task described by the form. Raises FormatError if it is impossible."""
        data = self.cleaned_data
        labels = data["labels"]
        columns = Columns(
            gold=[data["gold"]],
            labels=[value for value, _name, _meaning in labels],
            names={value: name for value, name, _meaning in labels if name},
            gold_is=data["gold_is"] or GOLD_IS[0],
            **{key: data[key] for key in (
                "kind", "text", "question", "ask", "id", "stratum", "separator", "options",
                "no_answer", "skip_unlabelled",
            )},
        )  # fmt: skip
        keys = ("title", "description", "instructions", "language", "domain", "source", "licence",
                "unit", "typed", "lowest", "highest", "step")  # fmt: skip
        return TaskSpec(
            data["name"], columns, Plan(data["shots"], data["splits"], data["test"], data["seed"]),
            reading,
            {key: data[key] for key in keys if data[key] or type(data[key]) is float},  # keep 0
            {name or value: meaning for value, name, meaning in labels if meaning},
        )  # fmt: skip


# Maps options of make_task, which are named in messages of tasks/datasets, to form fields.
_RENAMED = {"as": "kind", "label": "labels", "define": "labels"}
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])(?: ([a-z-]+))?")
_FIELDS: dict[str, Any] = {**ReadingForm.base_fields, **ColumnsForm.base_fields}
_VALUES = {"kind": KIND_NAMES, "gold_is": GOLD_NAMES}


def _field_of(option: str) -> str:
    return _RENAMED.get(option, option.replace("-", "_"))


def with_field_labels(message: str) -> str:
    """Replace options in a message of tasks/datasets with the labels of the form's fields."""

    def label(match: re.Match[str]) -> str:
        name, value = _field_of(match[1]), match[2] or ""
        if name not in _FIELDS:
            return match[0]
        field = f"“{_FIELDS[name].label}”"
        if value in _VALUES.get(name, {}):
            return f"{field}: {_VALUES[name][value]}"
        return f"{field} {value}" if value else field

    return _OPTION.sub(label, message)


def add_problem(form: PageForm, message: str, default: str | None = None) -> None:
    """Show an error at the first field that its message names, or else at `default`."""
    fields = (_field_of(match[1]) for match in _OPTION.finditer(message))
    form.add_error(
        next((name for name in fields if name in form.fields), default), with_field_labels(message)
    )


@never_cache
@signed_in("GET", "POST")
def dataset_columns(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """Show the form. A POST creates the task files or, with `example`, shows the first example."""
    upload = upload_of(request, pk)
    path = dataset_uploads.path_of(upload)
    if path is None:
        raise Http404
    contents, form = dataset_uploads.inspection(upload), ColumnsForm(upload)
    example: dict[str, Any] = {}
    if request.method == "POST":
        data = form.data_of(request.POST) if "role" in request.POST else request.POST
        form = ColumnsForm(upload, data)
        try:
            dataset_uploads.store_fields(upload, {field.name: field.value() for field in form})
            if form.is_valid():
                spec = form.spec(Reading(**contents["reading"]))
                if "example" not in request.POST:
                    dataset_uploads.make(upload, spec, request.user)
                    return redirect("task_upload", upload.pk)
                example = dataset_uploads.example(upload, spec, request.user)
                card = parse_card(example["card"], "the card")
                example |= {"card": card, "question": Question(card, Example(**example["fields"]))}
        except (uploads.UploadError, FormatError, disk.DiskFull) as error:
            columns = (role for name, *_v, role in form.roles if f"column {name}: " in str(error))
            add_problem(form, str(error), next(columns, None) or None)
    context = example | {
        "form": form, "upload": upload, "contents": contents, "file": path.name, "roles": ROLES,
        "role_fields": [form[role] for role in ROLES], "is_example": "example" in request.POST,
        "notes": [with_field_labels(note) for note in contents["notes"]],
        "rows": list(zip(*(values for _name, values, _count in form.columns), strict=True)),
    }  # fmt: skip
    status = 422 if form.errors else 200
    return render(request, "library/dataset_columns.html", context, status=status)
