"""The double fills in the placeholders of study links, and signs them if enabled."""

from urllib.parse import parse_qsl, quote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER = "https://www.prolific.com"
TOKEN_LIFE = 120  # seconds


class Signer:
    """Sign study links with a private key and publish the public key."""

    def __init__(self, key_id: str):
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._key_id = key_id

    def jwks(self) -> dict:
        key = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**key, "kid": self._key_id, "alg": "RS256", "use": "sig"}]}

    def signed(self, url: str, session: str, owners: dict[str, str], at: float, aud: str) -> str:
        """Return the link with its token.

        `owners` are the ids of the workspace and the organisation. `aud` selects the audience: the
        url (as documented), its origin, or a list of both.
        """
        site = urlsplit(url)
        origin = f"{site.scheme}://{site.netloc}"
        claims = {
            "iss": ISSUER,
            "aud": {"url": url, "origin": origin, "list": [url, origin]}[aud],
            "iat": int(at),
            "exp": int(at) + TOKEN_LIFE,
            "sub": session,
            # The claims use the parameter names of the study's URL.
            "prolific": {**dict(parse_qsl(site.query, keep_blank_values=True)), **owners},
        }
        return f"{url}{'&' if site.query else '?'}prolific_token={self.token(claims)}"

    def token(self, claims: dict) -> str:
        """Return a signed token with these claims."""
        return jwt.encode(claims, self._key, "RS256", headers={"kid": self._key_id})


def filled_in(template: str, ids: dict[str, str]) -> str:
    """Replace the placeholders {{%NAME%}} of a study URL."""
    for name, value in ids.items():
        template = template.replace("{{%" + name + "%}}", quote(value, safe=""))
    return template
