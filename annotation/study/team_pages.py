"""The team section for owners on a study's Settings page (notices/pages.py)."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Max, Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Invitation, Member, Role, Study, Webhook
from annotation.study import team as members
from annotation.web.access import ResearcherRequest, signed_in, study_of
from annotation.web.fields import OnPage, PageForm, RowField, by_key, row_field
from annotation.web.posts import View
from annotation.web.rights import right_to

NO_ROLE = "Choose a role: owner, analyst or payer."
NO_WEBHOOK = "This webhook has already ended."
GONE = "This person is not a member of the team."


def _username() -> forms.CharField:
    return forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        error_messages={"required": "Enter the user name."},
    )


def _role() -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=Role.choices,
        initial=Role.ANALYST,
        error_messages={"required": NO_ROLE, "invalid_choice": NO_ROLE},
    )


class TaskMemberForm(PageForm):
    key = "team"
    username = _username()


class MemberForm(PageForm):
    key = "member"
    username = _username()
    role = _role()


class InvitationForm(PageForm):
    key = "invitation"
    email = forms.EmailField(
        label="Email (optional)",
        required=False,
        help_text="Used to send the link. If this server does not send email, copy the link.",
    )


class InviteForm(InvitationForm):
    key = "invite"
    role = _role()


class RemovalForm(PageForm):
    key = "removal"
    member = RowField(
        Member.objects.none(),
        widget=forms.HiddenInput,
        error_messages={"required": GONE, "invalid_choice": GONE},
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        row_field(self, "member").queryset = study.members.all()


class RoleForm(RemovalForm):
    """Form for a member's new role. `was` is the current role."""

    key = "role"
    was = forms.CharField(widget=forms.HiddenInput, required=False)
    role = _role()

    def in_row(self, member: Member) -> "RoleForm":
        """Return the form for a member's row, with the current role if it has been sent."""
        self.auto_id = f"role-{member.pk}-%s"
        self.fields["role"].widget.attrs["aria-label"] = f"Role of {member.user}"
        self.initial = {"member": member.pk, "was": member.role, "role": member.role}
        if self.is_bound:
            data = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
            data["was"] = member.role
            self.data = data
        return self


class WebhookForm(PageForm):
    key = "webhook"
    webhook = RowField(
        Webhook.objects.none(),
        error_messages={"required": NO_WEBHOOK, "invalid_choice": NO_WEBHOOK},
    )

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        row_field(self, "webhook").queryset = study.webhooks.all()


@signed_in("GET", "POST")
def team(request: ResearcherRequest, name: str, show: View) -> HttpResponse:
    """Change the team, its invitations or webhooks. `show` renders the Settings page."""
    if request.method == "GET":
        return redirect("study_settings", name)
    study = study_of(request, name, right_to("team"))
    match request.POST.get("action"):
        case "invite":
            return _invite(request, study, show)
        case "revoke":
            return _revoke(request, study, show)
        case "end_webhook":
            return _end_webhook(request, study, show)
        case "add":
            form: PageForm = MemberForm(request.POST)
        case "change":
            form = RoleForm(study, request.POST)
        case "remove":
            form = RemovalForm(study, request.POST)
        case _:
            return show(request, study, problem="This action does not exist.")
    if not form.is_valid() or not _change(form, study, request.user):
        return show(request, study, form)
    messages.success(request, "The team was changed.")
    is_owner = Study.objects.visible_to(request.user, "own").filter(pk=study.pk).exists()
    return redirect("study_settings", study.name) if is_owner else redirect("studies")


def _invite(request: ResearcherRequest, study: Study, show: View) -> HttpResponse:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return show(request, study, form)
    return show(request, study, status=201, **invited(request, study, form))


def invited(
    request: ResearcherRequest, study: Study | None, form: InvitationForm
) -> dict[str, Any]:
    """Create the invitation in a valid form and send it. Return the context for showing it."""
    email, role = form.cleaned_data["email"], form.cleaned_data.get("role")
    token, invitation = members.invite(study, role, email, request.user)
    link = request.build_absolute_uri(reverse("invitation", args=[token]))
    is_sent = members.send(invitation, link)
    return {"invitation": invitation, "invitation_link": link, "is_sent": is_sent}


def _revoke(request: ResearcherRequest, study: Study, show: View) -> HttpResponse:
    number = request.POST.get("invitation", "")
    try:
        pk = int(number) if re.fullmatch("[0-9]{1,18}", number) else 0
        members.revoke(study, pk, request.user)
    except members.InvitationError as error:
        return show(request, study, problem=str(error))
    messages.success(request, "The invitation was revoked.")
    return redirect("study_settings", study.name)


def _end_webhook(request: ResearcherRequest, study: Study, show: View) -> HttpResponse:
    form = WebhookForm(study, request.POST)
    if not form.is_valid():
        return show(request, study, form)
    form.cleaned_data["webhook"].end(by=request.user)
    messages.success(request, "The webhook was ended.")
    return redirect("study_settings", study.name)


def change(form: PageForm, study: Study, by: User) -> None:
    """Apply the change in a valid form. Raises TeamError."""
    data = form.cleaned_data
    if isinstance(form, MemberForm):
        members.add_colleague(study, data["username"], data["role"], by)
    elif isinstance(form, RoleForm):
        members.change(study, data["member"].pk, data["role"], by, data["was"])
    else:
        members.remove(study, data["member"].pk, by)


def _change(form: PageForm, study: Study, by: User) -> bool:
    try:
        change(form, study, by)
    except members.TeamError as error:
        form.add_error({MemberForm: "username", RoleForm: "role"}.get(type(form)), str(error))
    return form.is_valid()


def section(study: Study, bound_form: OnPage | None = None) -> dict[str, Any]:
    rows = []
    for member in study.members.select_related("user"):
        form = RoleForm(study)
        if isinstance(bound_form, RoleForm) and bound_form.data.get("member") == str(member.pk):
            form = bound_form
        rows.append((member, form.in_row(member)))
    context: dict[str, Any] = {"rows": rows}
    context["webhooks"] = study.webhooks.select_related("made_by").annotate(
        last_at=Max("deliveries__delivered_at"),
        failing=Count(
            "deliveries", filter=Q(deliveries__attempts__gt=0, deliveries__delivered_at=None)
        ),
    )
    context["waiting"] = Invitation.objects.open().filter(study=study)
    return context | by_key(MemberForm(), InviteForm(), sent=bound_form)
