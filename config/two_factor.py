"""The second step of signing in: a code of an app (TOTP) or a recovery code.

django-allauth does it; here stand what it stores, encrypted, and the QR code in the page's colours.
"""

from allauth.mfa.adapter import DefaultMFAAdapter
from django.contrib.auth.base_user import AbstractBaseUser

from annotation.pages.qr import svg
from annotation.recruitment import identities


class TwoFactor(DefaultMFAAdapter):
    """Secrets are stored under IDENTITY_KEY, which is kept apart from the database."""

    def encrypt(self, text: str) -> str:
        return identities.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises identities.LostKey under another IDENTITY_KEY."""
        return identities.decrypt(encrypted_text)

    def get_totp_label(self, user: AbstractBaseUser) -> str:
        return user.get_username()

    def build_totp_svg(self, url: str) -> str:
        return svg(url)
