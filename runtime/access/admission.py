"""What the settings say of who is let in over HTTP."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict

_STRICT = ConfigDict(extra="forbid", frozen=True)


class Access(BaseModel):
    """`[access]`: who is let in over HTTP."""

    model_config = _STRICT
    required: bool = False
    """Whether callers on this machine need a token, too; those from elsewhere always do."""
    tokens: Path | None = None
    """The file of tokens; None: in the state directory."""


def _key_set(value: object) -> object:
    here = ("localhost", "127.0.0.1", "::1")
    if isinstance(value, str) and (parts := urlsplit(value)).scheme:
        if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in here):
            return value
        raise ValueError("expected a file, or a URL that begins with https://")
    return value


class Oidc(BaseModel):
    """`[oidc]`: an issuer of OpenID Connect whose tokens let callers in; all or none are given."""

    model_config = _STRICT
    issuer: str = ""
    """As `iss` of its tokens says."""
    audience: str = ""
    """Which of its tokens are meant for this server: what `aud` says."""
    keys: Annotated[str, BeforeValidator(_key_set)] = ""
    """Its JSON web key set: a URL, or a file."""
    claim: str = "scope"
    """The claim that has the scopes, a text with blanks between them or a list."""
