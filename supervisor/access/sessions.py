"""People in a browser: they sign in with a token, once, and look from then on by a cookie that no script can read.

A cookie is good for looking alone: requests that change something are not taken by it, so no page of another site can
have them sent. It ends with the token that it was given for.
"""

import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import jwt
from starlette.requests import HTTPConnection

from ghcm.places import write_private
from ghcm.runtime.access.scopes import Caller, known_scopes
from ghcm.runtime.access.tokens import TokenFile

COOKIES = {True: "__Host-ghcm_session", False: "ghcm_session"}
"""The cookie over TLS, whose name has browsers take it from this host alone, and where there is none."""

_ALGORITHM = "HS256"
_DAYS = 7
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """What a browser is given: the value of its cookie, good for so many seconds."""

    value: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Sessions:
    """Signs cookies with a key of its own, in a file, so that a process that starts anew takes those of the last."""

    key: bytes
    tokens: TokenFile

    def begin(self, caller: Caller, token: str | None, expires: float) -> Session:
        """A session of this caller, who has this token of ours or another's until it expires."""
        ends = int(min(expires, time.time() + _DAYS * 86_400))
        claims = {"sub": caller.name, "scope": " ".join(map(str, caller.scopes)), "exp": ends, "token": token}
        return Session(jwt.encode(claims, self.key, _ALGORITHM), ends - int(time.time()))

    def caller(self, connection: HTTPConnection) -> Caller | None:
        """Who has signed in, where the request looks alone; None if nobody has."""
        value = next((connection.cookies[name] for name in COOKIES.values() if name in connection.cookies), None)
        if value is None or connection.scope["method"] not in ("GET", "HEAD"):
            return None
        try:
            claims = jwt.decode(value, self.key, [_ALGORITHM], options={"require": ["exp", "sub"]})
        except jwt.InvalidTokenError:
            return None
        if claims["token"] is not None:
            token = self.tokens.all().get(claims["token"])
            if token is None or token.state(time.time()) != "valid":
                return None
        return Caller(claims["sub"], known_scopes(claims["scope"].split()))


def key_in(path: Path) -> bytes:
    """The key in this file, for its owner alone; it is made where there is none, or a part of one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileNotFoundError):
        if len(key := path.read_bytes()) == _KEY_BYTES:
            return key
    write_private(path, secrets.token_bytes(_KEY_BYTES))
    return path.read_bytes()
