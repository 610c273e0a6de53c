"""The page with a user's notices, and a study's settings page."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import F, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.models import AuditEntry, NoticeAbout, NoticeSwitch, Study, Topic
from annotation.privacy import pages as retention
from annotation.study import lifecycle, team_pages
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import OnPage, PageForm, by_key
from annotation.web.posts import StudyPost, Views, page, section
from tasks import periodic
from tasks.clock import database_now


def _events(label: str) -> forms.MultipleChoiceField:
    choices, widget = NoticeAbout.choices, forms.CheckboxSelectMultiple
    return forms.MultipleChoiceField(label=label, choices=choices, required=False, widget=widget)


class SwitchForm(PageForm):
    key = "notices"
    page = _events("Show here")
    mail = _events("Send by email")

    @classmethod
    def of(cls, switch: NoticeSwitch) -> "SwitchForm":
        """Return the form with the stored settings."""
        on = {
            name: [about for about in NoticeAbout.values if about not in off]
            for name, off in (("page", switch.page_off), ("mail", switch.mail_off))
        }
        return cls(initial=on)


PER_PAGE = 50


@signed_in("GET", "POST")
def notices(request: ResearcherRequest) -> HttpResponse:
    """List the user's notices on GET, unread first. On POST, open one, or mark all as read."""
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
    shown = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": shown, "is_overdue": periodic.is_overdue()}
    return render(request, "notices/notices.html", context)


class Switches(StudyPost):
    """Switch this user's notices about a study on or off."""

    row = "notice_switches"
    form_class = SwitchForm

    def do(self, about: Study, sent: dict[str, Any], by: User) -> None:
        before = about.notice_switches.filter(user=by).first() or NoticeSwitch()
        off = {
            f"{name}_off": [event for event in NoticeAbout.values if event not in sent[name]]
            for name in ("page", "mail")
        }
        with transaction.atomic():
            NoticeSwitch.objects.update_or_create(user=by, study=about, defaults=off)
            AuditEntry.objects.record(
                "notices switched", Topic.ACCOUNT, study=about, about=by.get_username(),
                before={"page_off": before.page_off, "mail_off": before.mail_off}, after=off,
            )  # fmt: skip


@signed_in("GET")
def study_settings(request: ResearcherRequest, name: str) -> HttpResponse:
    return show_settings(request, study_of(request, name, "see"))


def show_settings(
    request: ResearcherRequest, study: Study, sent: OnPage | None = None, **more: Any
) -> HttpResponse:
    """Render the settings. `more` is additional context for a problem or a new invitation."""
    status = more.pop("status", 422 if sent or more else 200)
    switch = study.notice_switches.filter(user=request.user).first() or NoticeSwitch()
    context = {
        "study": study, "can_be_deleted": lifecycle.can_be_deleted(study),
        "sends_mail": bool(settings.EMAIL_HOST), "address": request.user.email,
    } | by_key(SwitchForm.of(switch), sent=sent)  # fmt: skip
    if "own" in study.rights:
        context |= team_pages.section(study, sent) | retention.section(study, sent)
    return render(request, "study/settings.html", context | more, status=status)


switches = section(Switches, show_settings, "study_settings", "notices")
POSTS: Views = {
    retention.Retention: section(retention.Retention, show_settings, "study_settings", "retention"),
    retention.Erase: page(retention.Erase, show_settings, to=retention.to_deleted),
}
