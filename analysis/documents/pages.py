"""Pages for researchers' documents (preregistration, report), and files of their tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from analysis.documents import (
    blocks,
    checklists,
    front,
    paper_tables,
    preregistration,
    report,
    results,
    wording,
)
from analysis.documents.checklists import short_form
from analysis.examples import difficulty, gold_audit
from analysis.models import leaderboard
from analysis.scores import findings, findings_columns, means, performance
from analysis.scores import sensitivity as rules
from analysis.scores.columns import TableRows
from analysis.scores.overlap import OVERLAP
from analysis.scores.pages import chosen_kind, csv_file, study_and_kind
from annotation.models import Study
from annotation.monitoring import report_answers
from annotation.monitoring.sample import (
    LARGEST_EXPORT,
    ExportError,
    about_export,
    drop_export,
    store_export,
)
from annotation.protocol.blinding import scores_of
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from annotation.web.fields import PageForm, TextField, is_shown_again
from annotation.web.posts import StudyPost, page
from tasks.columns import Column
from tasks.csv_files import download
from tasks.jobs import poll

MAX_ANSWER = 5000  # characters


# Maps the name of an answer in the report to the question shown to researchers.
ASKED = {name: field.label for name, field in short_form.FIELDS.items()} | front.ASKED


class AnswersForm(forms.Form):
    def __init__(self, data: Mapping[str, Any], prefix: str | None = None):
        super().__init__(data, prefix=prefix)
        for item, label in ASKED.items():
            too_long = f"{label} Keep the answer under {MAX_ANSWER} characters."
            self.fields[item] = TextField(
                required=False, max_length=MAX_ANSWER, error_messages={"max_length": too_long}
            )

    def typed(self) -> dict[str, str]:
        """Return the submitted answers by item. If the form was restored, some may be missing."""
        names = {item: self.add_prefix(item) for item in ASKED}
        return {item: self.data[name] for item, name in names.items() if name in self.data}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("licence", "") not in ("", *front.LICENCES):
            choices = ", ".join(front.LICENCES)
            self.add_error("licence", f"Choose one of {choices}, or leave it empty.")
        for item in short_form.FIELDS:
            if message := short_form.problem(item, cleaned.get(item, "")):
                self.add_error(item, message)
        return cleaned

    @classmethod
    def of_page(cls, data: QueryDict) -> "AnswersForm":
        """Return the page's form. A browser submits the choices of a field one by one."""
        data, form = data.copy(), cls(data, prefix="item")
        ticked = (name for name, field in short_form.FIELDS.items() if field.choices)
        for name in map(form.add_prefix, ("exhibits", *ticked)):
            if name in data:
                data[name] = ", ".join(filter(None, data.getlist(name)))
        form.data = data
        return form

    def problems(self) -> dict[str, str]:
        return {item: " ".join(map(str, errors)) for item, errors in self.errors.items()}


class SampleForm(PageForm):
    """The form for Prolific's demographic export, which is read but not stored."""

    key = "sample"
    csv = forms.FileField(
        label="Demographic export of Prolific (CSV)",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text="The file is read once and not stored; only the table of counts is kept.",
    )

    def clean_csv(self) -> str:
        file = self.cleaned_data["csv"]
        if file.size > LARGEST_EXPORT:
            raise ValidationError(f"Choose a file of at most {LARGEST_EXPORT // 1_000_000} MB.")
        try:
            text: str = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValidationError(
                f"The file is not UTF-8 (byte {error.start + 1}). Choose the CSV exported by"
                " Prolific."
            ) from None
        return text


def opened_study(request: HttpRequest, name: str, right: str = "") -> Study:
    """Return a study that has been opened, to release it by default. Raises Http404 for drafts."""
    study = scores_of(request, name, right or right_to("release_prepare"))
    if study.is_draft:
        raise Http404("The study is a draft. Open it first.")
    return study


def markdown_file(document: blocks.Document | None, filename: str) -> HttpResponse:
    """Download a document as Markdown, or raise Http404 if it is None."""
    if document is None:
        raise Http404("A draft doesn't have one yet. It is created when you open the study.")
    return download(blocks.as_markdown(document), filename)


@signed_in("GET")
def preregistration_page(request: ResearcherRequest, name: str) -> HttpResponse:
    study = study_of(request, name, "read")
    context = {"study": study, "document": preregistration.for_study(study)}
    return render(request, "documents/preregistration.html", context)


@signed_in("GET")
def preregistration_file(request: ResearcherRequest, name: str) -> HttpResponse:
    document = preregistration.for_study(study_of(request, name, "read"))
    return markdown_file(document, f"{name}-preregistration.md")


@signed_in("GET", "POST")
def report_page(request: ResearcherRequest, name: str) -> HttpResponse:
    """Show the report (GET), or save the answers to its checklist (POST, owners only)."""
    if request.method == "GET":
        study = scores_of(request, name)
        if findings.waiting(job := None if study.is_draft else results.job_of(study)):
            return render(request, "documents/report.html", {"study": study, "job": job})
        return _report(request, study, job=job)
    study = opened_study(request, name, right_to("report"))
    form, made_from = AnswersForm.of_page(request.POST), request.POST.get("versions", "")
    answers = report_answers.touched(form.typed(), made_from)
    if is_shown_again(request):
        return _report(request, study, answers, versions=made_from)
    if not form.is_valid():
        rejected: dict[str, Any] = {"problems": form.problems(), "versions": made_from}
        return _report(request, study, answers, status=422, **rejected)
    try:
        changed = report_answers.save(study, answers, request.user, made_from)
    except report_answers.StaleAnswers as error:
        return _report(request, study, answers, stale=str(error), status=409)
    messages.success(request, f"Saved: {wording.count(changed, 'answer')} changed.")
    return redirect("report", study.name)


def _report(
    request: ResearcherRequest,
    study: Study,
    answers: Mapping[str, str] | None = None,
    *,
    problems: Mapping[str, str] | None = None,
    stale: str = "",
    versions: str | None = None,
    sample: SampleForm | None = None,
    job: Any = None,
    status: int = 200,
) -> HttpResponse:
    """Render the report page. If given, rejected `answers` are shown instead of the stored ones.

    `versions` come from the submitted page and default to the current ones. `sample` is a rejected
    sample form.
    """
    fields = list(_answer_fields(study, answers or {}, problems or {}))
    stated = {field["name"]: field["answer"] for field in fields if not field["wrong"]}
    context = {
        "study": study,
        "document": report.for_study(study, answers, job=job),
        "problem": stale
        or ("Some answers can't be stored. The reasons are given below them." if problems else ""),
        "answers_url": reverse("report", args=[study.name]) if "own" in study.rights else "",
        **({} if study.is_draft else front.to_publish(study, stated)),
        "answers_versions": report_answers.versions(study) if versions is None else versions,
        "pictures": reverse("figures", args=[study.name]),
        "of_picture": "?kind=person&width=double",
        "short_form": [field for field in fields if field["name"] in short_form.FIELDS],
        "title_page": [field for field in fields if field["name"] in front.ASKED],
        "licences": {name: title for name, (title, _address) in front.LICENCES.items()},
        "sample_form": sample or SampleForm(),
        "sample_export": about_export(study),
    }
    return render(request, "documents/report.html", context, status=status)


def _answer_fields(
    study: Study, answers: Mapping[str, str], problems: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    stored = dict(study.report_answers.values_list("item", "text")) | dict(answers)
    for name, question in ASKED.items():
        field, answer = short_form.FIELDS.get(name), stored.get(name, "")
        ticked = {part.strip() for part in answer.split(",")}
        choices = field.choices if field else {}
        choices = paper_tables.titles(study) if name == "exhibits" else choices
        yield {
            "name": name,
            "question": question,
            "help": field.help if field else "",
            "answer": answer,
            "wrong": problems.get(name, ""),
            "choices": [(key, label, key in ticked) for key, label in choices.items()],
        }


class SampleTable(StudyPost):
    """Create the sample table from a demographic export, or delete it."""

    row, form_class = "sample_upload", SampleForm
    summary = "Create the sample table from Prolific's demographic export, or delete it"
    faults: ClassVar = {ExportError: "csv"}
    shows_message = True

    def subject(self, request: HttpRequest, data: Any, **names: Any) -> Study:
        return opened_study(request, names["name"], right_to(self.row))

    def form(self, study: Study, data: Any, files: Any = None) -> SampleForm | None:
        return None if data.get("action") == "remove" else SampleForm(data, files)

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        if data.get("action") == "remove":
            drop_export(study, by)
            return "The table of the demographic export was deleted."
        counted = wording.count(store_export(study, data["csv"], by), "participant")
        return f"Read: {counted} in the analysis. The file was not stored."


sample_upload = page(
    SampleTable,
    lambda request, study, form: _report(request, study, sample=form, status=422),
    to="report",
)


@signed_in("GET")
def sample_file(request: ResearcherRequest, name: str, ext: str) -> HttpResponse:
    study = opened_study(request, name, "read")
    if ext not in ("csv", "json"):
        raise Http404
    return download(checklists.sample_file(study, ext), f"{name}-sample.{ext}")


@signed_in("GET")
def checklist_file(request: ResearcherRequest, name: str, form: str, ext: str) -> HttpResponse:
    filled = checklists.form_of(opened_study(request, name, "read"), form)
    if filled is None or ext not in ("tex", "json"):
        raise Http404
    make = checklists.as_latex if ext == "tex" else checklists.as_json
    return download(make(filled), f"{name}-{form}.{ext}")


@signed_in("POST")
def report_run(request: ResearcherRequest, name: str) -> HttpResponse:
    study = opened_study(request, name, right_to("report_run"))
    address = reverse("report", args=[study.name])
    job = results.job_of(study, owner=request.user)
    return redirect(address) if job is None else poll(request, job, address)


@signed_in("GET")
def report_style(request: ResearcherRequest, name: str) -> HttpResponse:
    study = study_of(request, name, "read")
    return HttpResponse(front.page_style(study), content_type="text/css; charset=utf-8")


@signed_in("GET")
def report_file(request: ResearcherRequest, name: str) -> HttpResponse:
    return markdown_file(report.for_study(scores_of(request, name)), f"{name}-report.md")


# Maps a table's name to its columns and to a function that returns the rows for one kind.
TABLES: dict[str, tuple[Sequence[Column], TableRows]] = {
    **{
        table.name: (table.columns, table.rows)
        for table in (
            *findings_columns.TABLES.values(),
            *findings_columns.ARM_TABLES,
            OVERLAP,
            means.STRATA,
        )
    },
    "sensitivity": (rules.COLUMNS, rules.table),
    "leaderboard": (leaderboard.COLUMNS, lambda *of: leaderboard.cells(leaderboard.boards(*of))),
    "gold-audit": (gold_audit.COLUMNS, lambda study, kind: difficulty.doubts(study, kind)[1]),
}


@signed_in("GET")
def table_file(request: HttpRequest, name: str, table: str) -> HttpResponse:
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    if table not in TABLES:
        raise Http404
    columns, rows = TABLES[table]
    return csv_file(f"{study.name}-{table}", columns, rows(study, kind), kind)


@signed_in("GET")
def latex_page(request: HttpRequest, name: str) -> HttpResponse:
    """List the tables that can be copied or downloaded as LaTeX, without computing most of them."""
    study, kind, context = study_and_kind(request, name)
    exhibits = study.report_answers.filter(item="exhibits").values_list("text", flat=True)
    titles = paper_tables.filled(study, kind)
    context |= {"titles": titles, "chosen": ", ".join(exhibits).split(", ")}
    return render(request, "scores/latex.html", context)


@signed_in("GET")
def table_latex(request: HttpRequest, name: str, table: str) -> HttpResponse:
    study = scores_of(request, name)
    if table not in paper_tables.titles(study):
        raise Http404
    kind = chosen_kind(request, performance.kinds(study))
    text = paper_tables.latex(study, kind, table)
    return download(text, f"{study.name}-{table}.tex")
