"""The notice pages: a user's notices, and the settings for a study."""

from django import forms
from django.conf import settings
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import F, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.models import AuditEntry, NoticeAbout, NoticeSwitch, Study, Topic
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import PageForm
from annotation.web.rights import right_to
from tasks import periodic
from tasks.clock import database_now


class SwitchForm(PageForm):
    """Selected events are notified; the others are switched off."""

    key = "notices"
    page = forms.MultipleChoiceField(
        label="Show here",
        choices=NoticeAbout.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    mail = forms.MultipleChoiceField(
        label="Send by email",
        choices=NoticeAbout.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    @classmethod
    def of(cls, switch: NoticeSwitch) -> "SwitchForm":
        """Return the form with the stored settings."""
        on = {
            name: [about for about in NoticeAbout.values if about not in off]
            for name, off in (("page", switch.page_off), ("mail", switch.mail_off))
        }
        return cls(initial=on)

    def off(self) -> dict[str, list[str]]:
        """Return the events that are switched off, by row field."""
        sent = self.cleaned_data
        return {
            f"{name}_off": [about for about in NoticeAbout.values if about not in sent[name]]
            for name in ("page", "mail")
        }


PER_PAGE = 50


@signed_in("GET", "POST")
def notices(request: ResearcherRequest) -> HttpResponse:
    """List the user's notices on GET, unread first; on POST, open one and mark it read, or all."""
    visible = Study.objects.visible_to(request.user).values("pk")
    mine = request.user.notices.filter(Q(study=None) | Q(study__in=visible))
    if request.method == "POST":
        unread = request.user.notices.filter(read_at=None)
        if "all" in request.POST:
            unread.update(read_at=database_now())
            return redirect("notices")
        number = request.POST.get("open", "")
        pk = int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else 0
        notice = get_object_or_404(mine, pk=pk)
        unread.filter(pk=pk).update(read_at=database_now())
        return redirect(notice.page, *([notice.study.name] if notice.study else []))
    ordered = mine.select_related("study").order_by(
        F("read_at").asc(nulls_first=True), "-created_at", "-pk"
    )
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "is_overdue": periodic.is_overdue()}
    return render(request, "notices/notices.html", context)


@signed_in("GET", "POST")
def switches(request: ResearcherRequest, name: str) -> HttpResponse:
    """Show this study's notice settings on GET; store them on POST."""
    study = study_of(request, name, right_to("notice_switches"))
    switch = NoticeSwitch.objects.filter(user=request.user, study=study).first() or NoticeSwitch()
    form = SwitchForm.of(switch)
    if request.method == "POST":
        form = SwitchForm(request.POST)
        if form.is_valid():
            _store(request, study, switch, form.off())
            return redirect("notice_switches", study.name)
    context = {
        "study": study, "form": form,
        "sends_mail": bool(settings.EMAIL_HOST), "address": request.user.email,
    }  # fmt: skip
    status = 422 if form.is_bound else 200
    return render(request, "notices/notice_switches.html", context, status=status)


def _store(
    request: ResearcherRequest, study: Study, before: NoticeSwitch, off: dict[str, list[str]]
) -> None:
    with transaction.atomic():
        NoticeSwitch.objects.update_or_create(user=request.user, study=study, defaults=off)
        AuditEntry.objects.record(
            "notices switched", Topic.ACCOUNT, study=study, about=request.user.get_username(),
            before={"page_off": before.page_off, "mail_off": before.mail_off}, after=off,
        )  # fmt: skip
