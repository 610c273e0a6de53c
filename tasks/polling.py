"""The poll of a page that waits for a job: each does about a second of the work."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh
from django_htmx.middleware import HtmxDetails

from tasks import jobs
from tasks.models import Job


def poll(request: HttpRequest, job: Job, address: str) -> HttpResponse:
    """Do a part, and say how far it is; when it has ended either way, the page itself again.

    `address` is that page. Without JavaScript a button asks for each part, and the page follows.
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
    return render(request, "researcher/_job_progress.html", context)


def go_to(request: HttpRequest, address: str) -> HttpResponse:
    """A redirect that the browser follows as a whole page, htmx or not."""
    return HttpResponseClientRedirect(address) if HtmxDetails(request) else redirect(address)
