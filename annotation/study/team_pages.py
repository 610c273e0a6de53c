"""The team section on a study's Settings page (notices/pages.py), for owners."""

import re
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Max, Q
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.models import Invitation, Member, Role, Study
from annotation.study import team as members
from annotation.web.access import ResearcherRequest, right_to, signed_in, study_of
from annotation.web.fields import OnPage, PageForm, RowField, by_key
from annotation.web.posts import StudyPost, View, page, with_status

NO_ROLE = "Choose a role: owner, analyst or payer."
WHAT_ROLES_DO = "Owners can change everything, analysts read results, payers pay annotators."
NO_WEBHOOK = "This webhook has already ended."


def _username() -> forms.CharField:
    return forms.CharField(
        label="User name", max_length=150, help_text="The user name of an account on this server.",
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        error_messages={"required": "Enter the user name."},
    )  # fmt: skip


def _role(help_text: str = WHAT_ROLES_DO) -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=Role.choices, initial=Role.ANALYST, help_text=help_text,
        error_messages={"required": NO_ROLE, "invalid_choice": NO_ROLE},
    )  # fmt: skip


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
    username = forms.CharField(
        widget=forms.HiddenInput, error_messages={"required": members.NO_MEMBER}
    )


class RoleForm(RemovalForm):
    """The form for changing a member's role. `was` is the current role."""

    key = "role"
    was = forms.CharField(widget=forms.HiddenInput, required=False)
    role = _role(help_text="")  # it is inside a table row

    def in_row(self, member: Member) -> "RoleForm":
        """Return the form for a member's row. On submission, `was` becomes the current role."""
        self.auto_id = f"role-{member.pk}-%s"
        self.fields["role"].widget.attrs["aria-label"] = f"Role of {member.user}"
        name, role = member.user.get_username(), member.role
        self.initial = {"username": name, "was": role, "role": role}
        if self.is_bound:
            data = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
            data["was"] = role
            self.data = data
        return self


class WebhookForm(PageForm):
    key = "webhook"
    webhook = RowField(
        lambda study: study.webhooks.all(),
        error_messages={"required": NO_WEBHOOK, "invalid_choice": NO_WEBHOOK},
    )


class Team(StudyPost):
    """Add a member by user name, change a role, or remove a member."""

    row = "team"
    summary = "Add a member, change their role, or remove them"
    actions: ClassVar = {"add": MemberForm, "change": RoleForm, "remove": RemovalForm}
    faults: ClassVar = {members.StaleRole: "role", members.TeamError: "username"}
    shows_message = True

    def do(self, study: Study, data: dict[str, Any], by: User) -> str:
        match self.action:
            case "add":
                members.add_colleague(study, data["username"], data["role"], by)
            case "change":
                members.change(study, data["username"], data["role"], by, data["was"])
            case _:
                members.remove(study, data["username"], by)
        return "The team was changed."


@signed_in("GET", "POST")
def team(request: ResearcherRequest, name: str, show: View) -> HttpResponse:
    """Change the team, its invitations or webhooks. `show` renders the Settings page."""
    if request.method == "GET":
        return redirect("study_settings", name)
    views = {"invite": _invite, "revoke": _revoke, "end_webhook": _end_webhook}
    if view := views.get(request.POST.get("action", "")):
        return view(request, study_of(request, name, right_to("team")), show)
    return page(Team, show, to=_changed)(request, name=name)


def _changed(request: ResearcherRequest, _message: str, name: str) -> HttpResponse:
    """Show the settings again, unless the user is no longer an owner."""
    is_owner = Study.objects.visible_to(request.user, "own").filter(name=name).exists()
    return redirect("study_settings", name) if is_owner else redirect("studies")


def _invite(request: ResearcherRequest, study: Study, show: View) -> HttpResponse:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return with_status(show(request, study, form))
    return with_status(show(request, study, **invited(request, study, form)), 201)


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
        return with_status(show(request, study, problem=str(error)))
    messages.success(request, "The invitation was revoked.")
    return redirect("study_settings", study.name)


def _end_webhook(request: ResearcherRequest, study: Study, show: View) -> HttpResponse:
    form = WebhookForm(request.POST, subject=study)
    if not form.is_valid():
        return with_status(show(request, study, form))
    form.cleaned_data["webhook"].end(by=request.user)
    messages.success(request, "The webhook was ended.")
    return redirect("study_settings", study.name)


def section(study: Study, bound_form: OnPage | None = None) -> dict[str, Any]:
    rows = []
    for member in study.members.select_related("user"):
        form = RoleForm()
        if isinstance(bound_form, RoleForm) and bound_form.data.get("username") == str(member.user):
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
