"""Task pages: the list, and one task with its card, data report, team and checks."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import get_valid_filename

from annotation.protocol import attention_checks
from annotation.study import team
from annotation.study.team_pages import TaskMemberForm
from annotation.web.access import ResearcherRequest, signed_in
from annotation.web.fields import PageForm, TextField, by_key
from tasks import checking, data_report, disk, exporting, listing, teams, upload_jobs, uploads
from tasks.cards import Card, CardError, parse_card
from tasks.columns import Column
from tasks.csv_files import download
from tasks.datasets import making
from tasks.formats import FormatError
from tasks.models import Example, Split, Task, TaskMember

# Maps card keys with a single text to the number of rows of their form field.
TEXTS = {
    "title": 1, "description": 2, "instructions": 8, "submit_hint": 1, "question": 2,
    "source": 1, "licence": 1,
}  # fmt: skip
# Maps tables of the card to their text keys, and the key that names an entry.
TABLES = {
    "labels": (("definition", "example"), "name"),
    "question_types": (("wording", "definition", "example"), "name"),
    "help": (("title", "definition", "example"), "title"),
}


MAX_CHECKS = 1_000_000  # bytes
MAX_NAME = 200  # bytes; file systems allow 255


class ChecksForm(PageForm):
    key = "checks"
    checks = forms.FileField(
        label="JSON Lines file",
        widget=forms.ClearableFileInput({"accept": ".jsonl"}),
        error_messages={"required": "Choose a file of at most 1 MB."},
    )

    def clean_checks(self) -> UploadedFile:
        file = self.cleaned_data["checks"]
        if file.size > MAX_CHECKS:
            raise forms.ValidationError("Choose a file of at most 1 MB.")
        file.name = get_valid_filename(file.name)
        if len(file.name.encode()) > MAX_NAME:
            raise forms.ValidationError(f"The file name is longer than {MAX_NAME} bytes.")
        return file


class CardTextsForm(PageForm):
    """Form with a field for each text in a card. `card` returns the edited card."""

    key = "card"

    def __init__(self, card: Card, *args: Any):
        super().__init__(*args)
        self.before = card.as_dict()
        for name, rows in TEXTS.items():
            if name in self.before or name == "question":
                self._add(name, name.replace("_", " "), self.before.get(name, ""), rows)
        self.fields["question"].required = False
        self.fields["question"].help_text = "Leave empty to use the questions in the data."
        for table, (texts, naming) in TABLES.items():
            for number, entry in enumerate(self.before.get(table, [])):
                for text in texts:
                    words = f"{table.replace('_', ' ')}, {entry[naming]}: {text}"
                    self._add(f"{table}-{number}-{text}", words, entry[text], 2)

    def _add(self, name: str, words: str, value: str, rows: int) -> None:
        widget = forms.TextInput() if rows == 1 else forms.Textarea({"rows": rows})
        label = words[:1].upper() + words[1:]
        kind = forms.CharField if rows == 1 else TextField
        self.fields[name] = kind(label=label, initial=value, widget=widget)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self._made = parse_card(self._changed(), "The card")
            except CardError as error:
                self.add_error(None, str(error))
        return cleaned

    def card(self) -> Card:
        return self._made

    def _changed(self) -> dict[str, Any]:
        data: dict[str, Any] = {**self.before}
        for table in TABLES:
            if table in data:
                data[table] = [dict(entry) for entry in data[table]]
        for name, value in self.cleaned_data.items():
            table, _dash, rest = name.partition("-")
            if rest:
                number, _dash, text = rest.partition("-")
                data[table][int(number)][text] = value
            elif value or name in self.before:
                data[name] = value
        if not data.get("question"):
            data.pop("question", None)
        return data


@signed_in("GET")
def tasks(request: ResearcherRequest) -> HttpResponse:
    """List the latest version of each task, excluding archived tasks unless requested."""
    rows = list(Task.objects.listed().select_related("imported_by"))
    families = {
        name: (
            name.replace("_", " ").capitalize(),
            lambda task, name=name: task.card.family == name,
        )
        for name in sorted({task.card.family for task in rows})
    }
    shown = listing.listing(
        request.GET, rows, COLUMNS, _text, families, is_archived=lambda row: bool(row.archived_at)
    )
    if listing.wants_csv(request.GET):
        return shown.as_csv("tasks.csv")
    return render(request, "library/tasks.html", {"listing": shown if rows else None})


# Columns of the list of tasks.
COLUMNS = [
    Column("task", "Task", get=str),
    Column("title", "Title", get=lambda task: task.card.title),
    Column("family", "Family", get=lambda task: task.card.family.replace("_", " ")),
    Column("answered_by", "Answered by", get=lambda task: task.card.answered_by),
    Column("metric", "Metric", get=lambda task: task.card.metric),
    Column("language", "Language", get=lambda task: task.card.language),
    Column("imported_at", "Imported (UTC)", show=lambda at: f"{at:%Y-%m-%d}"),
    Column("owner", "Owner", get=lambda task: str(task.imported_by or "")),
]


def _text(task: Task) -> str:
    card = task.card
    return f"{task} {card.title} {card.description} {card.family} {card.source} {card.language}"


@signed_in("GET")
def task(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    return _task_page(request, get_object_or_404(Task, name=name, version=version))


def _task_page(
    request: ResearcherRequest,
    its: Task,
    sent: PageForm | None = None,
    problem: str = "",
    status: int = 422,
) -> HttpResponse:
    context = {
        "task": its,
        "sent": sent,
        "problem": problem,
        "splits": its.splits.annotate(size=Count("examples")),
        "warnings": data_report.warnings(its.report),
        "counts": data_report.counts(its.report),
        "card": its.card,
        "has_checks": its.splits.filter(kind=Split.Kind.CHECK).exists(),
        "versions": Task.objects.filter(name=its.name).exclude(pk=its.pk),
        "owner": teams.owner(its.name),
        "members": TaskMember.objects.filter(task_name=its.name).select_related("user"),
        "may_change": teams.may_change(its.name, request.user),
    }
    context |= by_key(TaskMemberForm(), ChecksForm(), sent=sent)
    status = status if sent or problem else 200
    return render(request, "library/task.html", context, status=status)


# Columns of the list of a task's examples.
EXAMPLES = [
    Column("example", "Example", get=lambda example: example.source_id),
    Column("file", "File", get=lambda example: example.split.filename),
    Column("text", "Text", get=lambda example: " / ".join(example.context)),
    Column("question", "Question"),
    Column("options", "Options", get=lambda example: " / ".join(example.options)),
    Column("gold", "Gold", get=lambda example: " / ".join(example.gold)),
]


@signed_in("GET")
def task_examples(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    its = get_object_or_404(Task, name=name, version=version)
    rows = list(
        Example.objects.filter(split__task=its)
        .select_related("split")
        .order_by("split__kind", "split__shots", "split__number", "position")
    )
    files = dict.fromkeys(row.split.filename for row in rows)
    filters = {
        file: (file, lambda row, file=file: row.split.filename == file)
        for file in (files if len(files) > 1 else ())
    }
    shown = listing.listing(
        request.GET, rows, EXAMPLES,
        lambda row: " ".join([row.source_id, *row.context, row.question, *row.gold]), filters,
        by="file",
    )  # fmt: skip
    if listing.wants_csv(request.GET):
        return shown.as_csv(f"{its.name}-v{its.version}-examples.csv")
    return render(request, "library/task_examples.html", {"task": its, "listing": shown})


@signed_in("GET")
def task_card(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    its = get_object_or_404(Task, name=name, version=version)
    return download(making.toml(its.card.as_dict()), making.CARD_FILE, "application/toml")


@signed_in("GET")
def task_files(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """Download the card and files as a ZIP. Importing it gives the same content hash."""
    its = get_object_or_404(Task, name=name, version=version)
    content = exporting.as_zip(its)
    return download(content, f"{its.name}-v{its.version}.zip", "application/zip")


@signed_in("GET", "POST")
def task_edit(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """Edit the card in a form. The result is checked like an upload and saved as a new version."""
    its = get_object_or_404(Task, name=name, version=version)
    form = CardTextsForm(its.card, request.POST if request.method == "POST" else None)
    context = {"task": its, "form": form}
    status = 422 if form.is_bound else 200
    if not teams.may_change(name, request.user):
        context["problem"], status = str(teams.NotInTeam(name)), 403
    elif form.is_valid() and form.card() == its.card:
        form.add_error(None, "Nothing changed, so no new version was created.")
    elif form.is_valid():
        try:
            return redirect("task_upload", upload_jobs.of_task(its, form.card(), request.user).pk)
        except disk.DiskFull as error:
            form.add_error(None, str(error))
            status = 503
    return render(request, "library/task_edit.html", context, status=status)


@signed_in("POST")
def task_team(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    its = get_object_or_404(Task, name=name, version=version)
    form = TaskMemberForm(request.POST)
    if not form.is_valid():
        return _task_page(request, its, form)
    try:
        team.add_to_task(its.name, form.cleaned_data["username"], request.user)
    except teams.NotInTeam as error:
        return _task_page(request, its, problem=str(error), status=403)
    except teams.TeamError as error:
        form.add_error("username", str(error))
        return _task_page(request, its, form)
    return redirect("task", name, version)


@signed_in("POST")
def task_archive(
    request: ResearcherRequest, name: str, version: int, is_archived: bool
) -> HttpResponse:
    its = get_object_or_404(Task, name=name, version=version)
    try:
        teams.archive_task(its, is_archived, request.user)
    except teams.NotInTeam as error:
        return _task_page(request, its, problem=str(error), status=403)
    return redirect("task", name, version)


@uploads.takes_files(10 * MAX_CHECKS)  # files slightly above the limit get a form error
@signed_in("POST")
def task_checks(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    its = get_object_or_404(Task, name=name, version=version)
    if not teams.may_change(name, request.user):
        return _task_page(request, its, problem=str(teams.NotInTeam(name)), status=403)
    form = ChecksForm(request.POST, request.FILES)
    if not form.is_valid():
        return _task_page(request, its, form)
    file = form.cleaned_data["checks"]
    try:
        attention_checks.import_upload(its, file.name, file.read(), request.user)
    except (FormatError, checking.Busy) as error:
        form.add_error("checks", str(error))
        status = 503 if isinstance(error, checking.Busy) else 422
        return _task_page(request, its, form, status=status)
    return redirect("task", name, version)
