"""Polls of a page that waits for a job: each does about a second of the work."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh
from django_htmx.middleware import HtmxDetails

from tasks import jobs
from tasks.models import Job


def poll(request: HttpRequest, job: Job, address: str) -> HttpResponse:
    """Advance the job and return its progress; after its end, make the browser reload the page.

    `address` is that page. Without JavaScript a button starts each poll and redirects to the page.
    """
    if "again" in request.POST:
        jobs.retry(job)
    jobs.advance(job)
    if not HtmxDetails(request):
        return redirect(address)
    if job.is_done or job.has_failed:
        return HttpResponseClientRefresh()
    context = {
        "job": job,
        "job_address": request.get_full_path(),
        "has_queue": jobs.send is not None,
    }
    return render(request, "web/_job_progress.html", context)


def go_to(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect the whole page, also for htmx requests."""
    return HttpResponseClientRedirect(address) if HtmxDetails(request) else redirect(address)
