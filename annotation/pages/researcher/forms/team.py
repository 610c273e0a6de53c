"""The forms of a study's team, and of a task's."""

from typing import Any

from django import forms

from annotation.models import Member, Role, Study, Webhook
from annotation.pages.fields import PageForm, RowField, row_field

NO_ROLE = "Choose a role: owner, analyst or payer."
NO_WEBHOOK = "This webhook has ended already."
GONE = "They are not (or no longer) in the team."


def _username() -> forms.CharField:
    return forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        error_messages={"required": "Enter the name with which they sign in."},
    )


def _role() -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=Role.choices,
        initial=Role.ANALYST,
        error_messages={"required": NO_ROLE, "invalid_choice": NO_ROLE},
    )


class TaskMemberForm(PageForm):
    """Somebody to add to a task's team."""

    key = "team"
    username = _username()


class MemberForm(PageForm):
    """Somebody to add to a study's team."""

    key = "member"
    username = _username()
    role = _role()


class InviteForm(PageForm):
    """Somebody to invite into a study's team by a link."""

    key = "invite"
    email = forms.EmailField(
        label="E-mail (optional)",
        required=False,
        help_text="The link is sent there, where this server sends mail; otherwise you copy it.",
    )
    role = _role()


class RemovalForm(PageForm):
    """The member whose button was pressed."""

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
    """Another role for a member than `was` theirs."""

    key = "role"
    was = forms.CharField(widget=forms.HiddenInput, required=False)
    role = _role()

    def in_row(self, member: Member) -> "RoleForm":
        """The form as it stands in that member's row: sending it again is about the role of now."""
        self.auto_id = f"role-{member.pk}-%s"
        self.fields["role"].widget.attrs["aria-label"] = f"Role of {member.user}"
        self.initial = {"member": member.pk, "was": member.role, "role": member.role}
        if self.is_bound:
            data = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
            data["was"] = member.role
            self.data = data
        return self

    def is_about(self, member: Member) -> bool:
        return self.data.get("member") == str(member.pk)


class WebhookForm(PageForm):
    """The webhook whose button was pressed."""

    key = "webhook"
    webhook = RowField(
        Webhook.objects.none(),
        error_messages={"required": NO_WEBHOOK, "invalid_choice": NO_WEBHOOK},
    )

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        row_field(self, "webhook").queryset = study.webhooks.all()
