"""Import a dataset: the file, its columns and card; then it goes on as an import of a task.

After these two pages the files of the task are there: task_import shows their report and ten
examples as annotators will see them, and confirms.
"""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import ResearcherRequest, upload_of
from annotation.pages.researcher.forms.datasets import ColumnsForm, DatasetForm, in_fields, refuse
from tasks import dataset_uploads, uploads
from tasks.datasets.reading import Reading
from tasks.formats import FormatError


@uploads.takes_files(uploads.MAX_BYTES)
@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def dataset_import(request: ResearcherRequest) -> HttpResponse:
    """GET shows the form; POST stores the file and goes on to its columns."""
    form = DatasetForm(request.POST, request.FILES) if request.method == "POST" else DatasetForm()
    if form.is_bound:
        uploads.drop_old()
        if form.is_valid():
            try:
                upload = dataset_uploads.begin(
                    form.cleaned_data["dataset"], form.reading, request.user
                )
            except dataset_uploads.DatasetRefused as error:
                refuse(form, str(error), "dataset")
            else:
                return redirect("dataset_columns", upload.pk)
    context = {"form": form, "usual": form["dataset"], "others": list(form)[1:]}
    return render(request, "researcher/dataset.html", context, status=422 if form.is_bound else 200)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def dataset_columns(request: ResearcherRequest, pk: UUID) -> HttpResponse:
    """GET shows the form as last sent, or a proposal; POST makes the files of the task."""
    upload = upload_of(request, pk)
    path = dataset_uploads.path_of(upload)
    if path is None:
        raise Http404
    seen = dataset_uploads.seen(upload)
    names = [name for name, _values in seen["columns"]]
    data = request.POST if request.method == "POST" else None
    form = ColumnsForm(names, path.name, data, initial=dataset_uploads.fields(upload))
    if form.is_bound and form.is_valid():
        try:
            dataset_uploads.store_fields(upload, {field.name: field.value() for field in form})
            wanted = form.wanted(Reading(**seen["reading"]))
            dataset_uploads.make(upload, wanted, request.user)
        except (dataset_uploads.DatasetRefused, FormatError) as error:
            refuse(form, str(error))
        else:
            return redirect("task_upload", upload.pk)
    notes = [in_fields(note) for note in seen["notes"]]
    context = {"form": form, "upload": upload, "seen": seen, "notes": notes, "file": path.name}
    status = 422 if form.is_bound else 200
    return render(request, "researcher/dataset_columns.html", context, status=status)
