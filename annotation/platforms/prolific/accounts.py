"""Which API token works on Prolific: the one of the account that drafted a study, or the server's.

`client_of` gives every client for a study there; nothing else reads a stored token.
"""

from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from annotation.models import AuditEntry, ProlificAccount, ProlificStudy, Topic
from annotation.platforms.prolific.client import Access, Client
from annotation.platforms.prolific.errors import ProlificError
from annotation.recruitment import identities
from tasks.clock import database_now

FINISH_THERE = "Finish the studies on Prolific itself"


def client_of(there: ProlificStudy | None, patient: bool = False) -> Client:
    """The client for a study on Prolific; for None the environment's.

    Raises ProlificError where the token is gone.
    """
    return client_of_account(there.account if there else None, patient)


def client_of_account(account: ProlificAccount | None, patient: bool = False) -> Client:
    """The same for what is drafted with this account."""
    return Client(_access(account) if account else None, patient)


def account_of(user: User) -> ProlificAccount | None:
    """The account that this user's drafts belong to: the one whose token was set last, if any."""
    return ProlificAccount.objects.filter(owner=user).exclude(token="").first()


class Token(NamedTuple):
    """Which token is used, or the problem why none can be."""

    words: str
    problem: str


def token_of(account: ProlificAccount | None) -> Token:
    """The token of an account, or that of the environment, for people."""
    try:
        client_of_account(account)
    except ProlificError as error:
        return Token("", str(error))
    if account is None:
        return Token("the token of the server", "")
    return Token(f"the token of {account.owner} ending {account.last_characters}", "")


@sensitive_variables("token")
def set_token(owner: User, token: str, workspace: str, project: str) -> ProlificAccount:
    """Store a token that Prolific accepts, with the workspace and the project that it works in.

    Another account on Prolific gets a row of its own: earlier studies keep theirs. Raises
    ProlificError, and stores nothing then.
    """
    client = Client(Access(token, workspace, project))
    external_id = client.me()[:40]
    workspace = client.workspace()
    project = client.project(workspace)
    with transaction.atomic():
        # An account that is closed meanwhile waits for this, or this finds it closed.
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
        what = f"set Prolific token ending {account.last_characters}"
        AuditEntry.objects.record(what, Topic.ACCOUNT, about=str(owner), by=owner)
    return account


def _access(account: ProlificAccount) -> Access:
    """The access that the stored token gives. Raises ProlificError."""
    owner, gone = account.owner, "The API token of these studies on Prolific was removed"
    if not account.external_id:
        raise ProlificError(f"{gone} with the account of its owner. {FINISH_THERE}.")
    if not owner.is_active:
        raise ProlificError(
            f"{gone}, as the account {owner} was closed. {FINISH_THERE}, or ask an administrator to"
            " open the account, so that its owner can set the token again."
        )
    if not account.token:
        raise ProlificError(f"{gone}. {owner} can set it again, on the page Prolific token.")
    try:
        token = identities.decrypt(account.token)
    except identities.LostKey:
        raise ProlificError(
            "The API token of these studies on Prolific cannot be decrypted: IDENTITY_KEY was"
            f" lost. {owner} can set it again, on the page Prolific token."
        ) from None
    return Access(token, account.workspace, account.project)
