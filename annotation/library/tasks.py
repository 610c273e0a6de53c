"""Task pages: the list, and a single task with its card, data report, team and checks."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import get_valid_filename

from annotation.protocol import attention_checks
from annotation.study import team
from annotation.study.team_pages import TaskMemberForm
from annotation.web.access import ResearcherRequest, may_run, signed_in
from annotation.web.fields import PageForm, TextField, by_key
from annotation.web.posts import Post, Views, page
from tasks import checking, data_report, disk, exporting, listing, teams, upload_jobs, uploads
from tasks.cards import Card, CardError, parse_card
from tasks.columns import Column
from tasks.csv_files import download
from tasks.datasets import making
from tasks.formats import FormatError
from tasks.models import Example, Split, Task, TaskMember

# Maps keys of the card that contain a single text to the number of rows of their form field.
TEXTS = {
    "title": 1, "description": 2, "instructions": 8, "submit_hint": 1, "question": 2,
    "source": 1, "licence": 1,
}  # fmt: skip
# Maps tables of the card to the keys of their texts, and the key that names an entry.
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
        label="JSON Lines file", widget=forms.ClearableFileInput({"accept": ".jsonl"}),
        help_text="One example per line, at most 1 MB.",
        error_messages={"required": "Choose a file of at most 1 MB."},
    )  # fmt: skip

    def clean_checks(self) -> UploadedFile:
        file = self.cleaned_data["checks"]
        if file.size > MAX_CHECKS:
            raise forms.ValidationError("Choose a file of at most 1 MB.")
        file.name = get_valid_filename(file.name)
        if len(file.name.encode()) > MAX_NAME:
            raise forms.ValidationError(f"The file name is longer than {MAX_NAME} bytes.")
        return file


class CardTextsForm(PageForm):
    """The form with one field per text of a card. `made` is the edited card, if it is valid."""

    key = "card"

    def __init__(self, card: Card, *args: Any):
        super().__init__(*args)
        self.before = card.as_dict()
        for name, rows in TEXTS.items():
            if name in self.before or name == "question":
                self._add(name, name.replace("_", " "), self.before.get(name, ""), rows)
        self.fields["question"].required = False
        self.fields["question"].help_text = "Leave blank to use the questions in the data."
        for table, (texts, name_key) in TABLES.items():
            for number, entry in enumerate(self.before.get(table, [])):
                for text in texts:
                    label = f"{table.replace('_', ' ')}, {entry[name_key]}: {text}"
                    self._add(f"{table}-{number}-{text}", label, entry[text], 2)

    def _add(self, name: str, title: str, value: str, rows: int) -> None:
        widget = forms.TextInput() if rows == 1 else forms.Textarea({"rows": rows})
        label = title[:1].upper() + title[1:]
        kind = forms.CharField if rows == 1 else TextField
        self.fields[name] = kind(label=label, initial=value, widget=widget)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self.made = parse_card(self._changed(), "The card")
            except CardError as error:
                self.add_error(None, str(error))
        return cleaned

    def _changed(self) -> dict[str, Any]:
        data: dict[str, Any] = {**self.before}
        for table in TABLES:
            if table in data:
                data[table] = [dict(entry) for entry in data[table]]
        for name, value in self.cleaned_data.items():
            table, _dash, entry_field = name.partition("-")
            if entry_field:
                number, _dash, text = entry_field.partition("-")
                data[table][int(number)][text] = value
            elif value or name in self.before:
                data[name] = value
        if not data.get("question"):
            data.pop("question", None)
        return data


@signed_in("GET")
def tasks(request: ResearcherRequest) -> HttpResponse:
    """List the latest version of each task, without archived tasks unless requested."""
    rows = list(Task.objects.listed().select_related("imported_by"))
    families = {
        name: (
            name.replace("_", " ").capitalize(),
            lambda task, name=name: task.card.family == name,
        )
        for name in sorted({task.card.family for task in rows})
    }
    table = listing.listing(
        request.GET, rows, COLUMNS, _text, families, is_archived=lambda row: bool(row.archived_at)
    )
    if listing.wants_csv(request.GET):
        return table.as_csv("tasks.csv")
    return render(request, "library/tasks.html", {"listing": table if rows else None})


# Columns for the list of tasks.
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
    request: ResearcherRequest, task: Task, form: PageForm | None = None, problem: str = ""
) -> HttpResponse:
    context = {
        "task": task, "sent": form, "problem": problem,
        "splits": task.splits.annotate(size=Count("examples")),
        "warnings": data_report.warnings(task.report), "counts": data_report.counts(task.report),
        "card": task.card, "has_checks": task.splits.filter(kind=Split.Kind.CHECK).exists(),
        "versions": Task.objects.filter(name=task.name).exclude(pk=task.pk),
        "owner": teams.owner(task.name),
        "members": TaskMember.objects.filter(task_name=task.name).select_related("user"),
        "may_change": teams.may_change(task.name, request.user),
    }  # fmt: skip
    context |= by_key(TaskMemberForm(), ChecksForm(), sent=form)
    return render(request, "library/task.html", context)


# Columns for the list of a task's examples.
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
    task = get_object_or_404(Task, name=name, version=version)
    rows = list(
        Example.objects.filter(split__task=task)
        .select_related("split")
        .order_by("split__kind", "split__shots", "split__number", "position")
    )
    files = dict.fromkeys(row.split.filename for row in rows)
    filters = {
        file: (file, lambda row, file=file: row.split.filename == file)
        for file in (files if len(files) > 1 else ())
    }
    table = listing.listing(
        request.GET, rows, EXAMPLES,
        lambda row: " ".join([row.source_id, *row.context, row.question, *row.gold]), filters,
        by="file",
    )  # fmt: skip
    if listing.wants_csv(request.GET):
        return table.as_csv(f"{task.name}-v{task.version}-examples.csv")
    return render(request, "library/task_examples.html", {"task": task, "listing": table})


@signed_in("GET")
def task_card(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    task = get_object_or_404(Task, name=name, version=version)
    return download(making.toml(task.card.as_dict()), making.CARD_FILE, "application/toml")


@signed_in("GET")
def task_files(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """Download the card and files as a ZIP. Importing it results in the same content hash."""
    task = get_object_or_404(Task, name=name, version=version)
    content = exporting.as_zip(task)
    return download(content, f"{task.name}-v{task.version}.zip", "application/zip")


@signed_in("GET", "POST")
def task_edit(request: ResearcherRequest, name: str, version: int) -> HttpResponse:
    """Edit the card in a form. The result is checked like an upload, and saved as a new version."""
    task = get_object_or_404(Task, name=name, version=version)
    form = CardTextsForm(task.card, request.POST if request.method == "POST" else None)
    context = {"task": task, "form": form}
    status = 422 if form.is_bound else 200
    if not teams.may_change(name, request.user):
        context["problem"], status = str(teams.NotInTeam(name)), 403
    elif form.is_valid() and form.made == task.card:
        form.add_error(None, "Nothing changed, so no new version was created.")
    elif form.is_valid():
        try:
            upload = upload_jobs.with_card(task, form.made, request.user)
            return redirect("task_upload", upload.pk)
        except disk.DiskFull as error:
            form.add_error(None, str(error))
            status = 503
    return render(request, "library/task_edit.html", context, status=status)


class TaskPost(Post[Task]):
    """A change to one version of a task, by a member of its team."""

    below = ("tasks/<str:name>/<int:version>/",) * 2

    def subject(self, request: HttpRequest, data: Mapping[str, Any], **names: Any) -> Task:
        may_run(request)
        task = get_object_or_404(Task, **names)
        if not teams.may_change(task.name, request.user):  # type: ignore[arg-type]  # signed in
            raise PermissionDenied(str(teams.NotInTeam(task.name)))
        return task


class TaskTeam(TaskPost):
    row, path = "task_team", "team/"
    form_class = TaskMemberForm
    summary = "Add a user to a task's team"
    faults: ClassVar = {teams.TeamError: "username"}

    def do(self, task: Task, data: dict[str, Any], by: User) -> str:
        team.add_to_task(task.name, data["username"], by)
        return f"{data['username']} was added to the {task.name} team."


class TaskArchive(TaskPost):
    """Archive or restore a task, depending on the URL."""

    row, path = "task_archive", "archive/"
    is_archived = True
    summary = "Hide a task version from the list of tasks, or show it again"

    def do(self, task: Task, data: dict[str, Any], by: User) -> str:
        teams.archive_task(task, self.is_archived, by)
        return f"{task} is {'archived' if self.is_archived else 'in the list again'}."


class TaskUnarchive(TaskArchive):
    row, path = "task_unarchive", "unarchive/"
    is_archived = False


class TaskChecks(TaskPost):
    row, form_class = "task_checks", ChecksForm
    summary = "Add a file of attention checks to a task"
    faults: ClassVar = {FormatError: "checks"}
    conflicts = (checking.Busy,)
    conflict_status = 503

    def do(self, task: Task, data: dict[str, Any], by: User) -> str:
        file = data["checks"]
        attention_checks.import_upload(task, file.name, file.read(), by)
        return f"{task} now has attention checks."


POSTS: Views = {
    post: page(post, _task_page, to="task") for post in (TaskTeam, TaskArchive, TaskUnarchive)
}
# Accept files slightly above the limit, so that they cause an error in the form.
task_checks = uploads.takes_files(10 * MAX_CHECKS)(page(TaskChecks, _task_page, to="task"))
