"""A user's notices, a study's settings page, and webhooks in the API."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import AuditEntry, Delivery, Event, NoticeAbout, NoticeSwitch, Study, Topic
from annotation.notices import webhooks
from annotation.privacy import pages as retention
from annotation.study import lifecycle, team_pages
from annotation.study import pages as study_pages
from annotation.web import form_bodies
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import OnPage, PageForm, by_key
from annotation.web.paging import RowsView, small, small_list
from annotation.web.posts import StudyPost, Views, page, section, study_page
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView
from tasks import periodic
from tasks.clock import database_now
from tasks.columns import declared


def _events(label: str, help_text: str) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label, choices=NoticeAbout.choices, required=False, help_text=help_text,
        widget=forms.CheckboxSelectMultiple,
    )  # fmt: skip


class SwitchForm(PageForm):
    key = "notices"
    page = _events("Show here", "Events that appear as unread on the Notices page.")
    mail = _events("Send by email", "Events about which you'll also get an email.")

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        if not settings.EMAIL_HOST:  # the form submits the choice unchanged
            self.fields["mail"].widget = self.fields["mail"].hidden_widget()

    @classmethod
    def of(cls, switch: NoticeSwitch) -> "SwitchForm":
        initial = {
            name: [topic for topic in NoticeAbout.values if topic not in off]
            for name, off in (("page", switch.page_off), ("mail", switch.mail_off))
        }
        return cls(initial=initial)


PER_PAGE = 50


@signed_in("GET", "POST")
def notices(request: ResearcherRequest) -> HttpResponse:
    """List the user's notices on GET, unread first. On POST, open one or mark all as read."""
    visible = Study.objects.visible_to(request.user).values("pk")
    visible_notices = request.user.notices.filter(Q(study=None) | Q(study__in=visible))
    if request.method == "POST":
        unread = request.user.notices.filter(read_at=None)
        if "all" in request.POST:
            unread.update(read_at=database_now())
            return redirect("notices")
        number = request.POST.get("open", "")
        pk = int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else 0
        notice = get_object_or_404(visible_notices, pk=pk)
        unread.filter(pk=pk).update(read_at=database_now())
        return redirect(notice.page, *([notice.study.name] if notice.study else []))
    rows = visible_notices.select_related("study").order_by(
        F("read_at").asc(nulls_first=True), "-created_at", "-pk"
    )
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "is_overdue": periodic.is_overdue()}
    return render(request, "notices/notices.html", context)


class Switches(StudyPost):
    """Switch this user's notices about a study on or off."""

    row = "notice_switches"
    form_class = SwitchForm

    def do(self, study: Study, data: dict[str, Any], by: User) -> None:
        switch = study.notice_switches.filter(user=by).first() or NoticeSwitch()
        off = {
            f"{name}_off": [topic for topic in NoticeAbout.values if topic not in data[name]]
            for name in ("page", "mail")
        }
        with transaction.atomic():
            NoticeSwitch.objects.update_or_create(user=by, study=study, defaults=off)
            AuditEntry.objects.record(
                "notices switched", Topic.ACCOUNT, study=study, about=by.get_username(),
                before={"page_off": switch.page_off, "mail_off": switch.mail_off}, after=off,
            )  # fmt: skip


def show_settings(
    request: ResearcherRequest, study: Study, form: OnPage | None = None, **extra: Any
) -> HttpResponse:
    """Render the settings. `extra` is additional context for an error or a new invitation."""
    switch = study.notice_switches.filter(user=request.user).first() or NoticeSwitch()
    context = {
        "study": study, "can_be_deleted": lifecycle.can_be_deleted(study),
        "sends_mail": bool(settings.EMAIL_HOST), "address": request.user.email,
    } | by_key(SwitchForm.of(switch), sent=form)  # fmt: skip
    if "own" in study.rights:
        context |= team_pages.section(study, form) | retention.section(study, form)
    return render(request, "study/settings.html", context | extra)


study_settings = study_page(show_settings)
switches = section(Switches, show_settings, "study_settings", "notices")
study_delete = page(study_pages.Delete, show_settings, to=lambda *_of, name: redirect("studies"))
POSTS: Views = {
    **{
        post: section(post, show_settings, "study_settings", "archive")
        for post in (study_pages.Archive, study_pages.Unarchive)
    },
    retention.Retention: section(retention.Retention, show_settings, "study_settings", "retention"),
    retention.Erase: page(retention.Erase, show_settings, to=retention.to_deleted),
}

# Webhooks in the API.


DELIVERIES = declared(__file__, "deliveries", id=lambda delivery: str(delivery.key))


class WebhookShape(serializers.Serializer):
    """A webhook; `secret` is shown only on creation."""

    id = serializers.IntegerField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(Event.values))
    created_at = serializers.DateTimeField()


class NewWebhookShape(WebhookShape):
    secret = serializers.CharField(help_text="whsec_..., as in Standard Webhooks")


class WebhookBody(serializers.Serializer):
    url = serializers.CharField(help_text="https://..., with a public IP address")
    events = serializers.ListField(child=serializers.ChoiceField(Event.values))


class Webhooks(ApiView):
    """A study's webhooks, for its owners."""

    @small("Webhooks", "A study's webhooks", WebhookShape().get_fields())
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        return small_list(WebhookShape(study.webhooks.all(), many=True).data)

    @extend_schema(
        summary="Create a webhook", request=WebhookBody, responses={201: NewWebhookShape}
    )
    def post(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        data = form_bodies.read(WebhookBody, request.data)
        try:
            webhook, secret = webhooks.make(study, data["url"], data["events"], request.user)
        except webhooks.WebhookError as error:
            raise Unprocessable({"url": [str(error)]}) from None
        return Response({**WebhookShape(webhook).data, "secret": secret}, status=201)


class WebhookDetail(ApiView):
    @extend_schema(summary="Remove a webhook", responses={204: None})
    def delete(self, request: Request, name: str, pk: int) -> Response:
        study = study_of(request, name, "own")
        webhook = get_object_or_404(study.webhooks, pk=pk)
        webhook.end(by=request.user)
        return Response(status=204)


class Deliveries(RowsView):
    columns = DELIVERIES
    summary = "Deliveries to a webhook"
    filters: ClassVar = {"state": ("state", Delivery.State.values)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Delivery]:
        study = study_of(request, names["name"], "own")
        return get_object_or_404(study.webhooks, pk=names["pk"]).deliveries.all()
