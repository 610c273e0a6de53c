"""API tokens for Prolific, which belong to the account that drafted a study or to the server.

`client_of` returns the client for a study. Only this module reads stored tokens.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from annotation.models import AuditEntry, ProlificAccount, ProlificStudy, Topic
from annotation.prolific.client import Access, Client, ProlificError, environment
from annotation.recruitment import identities
from tasks.clock import database_now

FINISH_THERE = "Finish the studies on Prolific"


def client_of(draft: ProlificStudy | None, patient: bool = False) -> Client:
    """Return a study's client, or that of the environment. Raises ProlificError without a token."""
    return Client(access(draft.account if draft else None), patient)


def account_of(user: User) -> ProlificAccount | None:
    """Return the account for this user's drafts (the one with the newest token), or None."""
    return ProlificAccount.objects.filter(owner=user).exclude(token="").first()


def token_of(account: ProlificAccount | None) -> dict[str, str]:
    """Return the `label` of the token, or the `problem` that prevents its use."""
    try:
        access(account)
    except ProlificError as error:
        return {"problem": str(error)}
    if account is None:
        return {"label": "the token of the server"}
    return {"label": f"the token of {account.owner} ending in {account.last_characters}"}


@sensitive_variables("token")
def set_token(owner: User, token: str, workspace: str, project: str) -> ProlificAccount:
    """Store a token once Prolific has accepted it, with its workspace and project.

    If it belongs to another Prolific account, a new row is created, and earlier studies keep
    theirs. If this raises ProlificError, nothing has been stored.
    """
    client = Client(Access(token, workspace, project))
    external_id = client.me()[:40]
    workspace = client.workspace()
    project = client.project(workspace)
    with transaction.atomic():
        # Lock the user, so that a simultaneous closing of the account either waits or is noticed.
        if not User.objects.select_for_update(no_key=True).filter(pk=owner.pk, is_active=True):
            raise ProlificError("Your account was closed: the token was not stored.")
        account, _created = ProlificAccount.objects.update_or_create(
            owner=owner,
            external_id=external_id,
            defaults={
                "token": identities.encrypt(token),
                "last_characters": token[-4:],
                "workspace": workspace,
                "project": project,
                "set_at": database_now(),
            },
        )
        event = f"set Prolific token ending in {account.last_characters}"
        AuditEntry.objects.record(event, Topic.ACCOUNT, about=str(owner), by=owner)
    return account


def access(account: ProlificAccount | None) -> Access:
    """Return access through an account's stored token (None: environment). Raises ProlificError."""
    if account is None:
        return environment()
    owner, removal = account.owner, "The API token for these Prolific studies was removed"
    if not account.external_id:
        raise ProlificError(f"{removal} with the account of its owner. {FINISH_THERE}.")
    if not owner.is_active:
        raise ProlificError(
            f"{removal} because the account {owner} was closed. {FINISH_THERE}, or ask an"
            " administrator to open the account, so that its owner can set the token again."
        )
    if not account.token:
        raise ProlificError(f"{removal}. {owner} can set it again on the page Your account.")
    try:
        token = identities.decrypt(account.token)
    except identities.LostKey:
        raise ProlificError(
            "The API token for these Prolific studies cannot be decrypted: IDENTITY_KEY was"
            f" lost. {owner} can set it again on the page Your account."
        ) from None
    return Access(token, account.workspace, account.project)
