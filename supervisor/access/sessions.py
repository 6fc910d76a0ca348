"""People in a browser: they sign in with a token, once, and look from then on by a cookie that no script can read.

A cookie is good for looking alone: requests that change something are not taken by it, so no page of another site can
have them sent. It ends with the token that it was given for, or when they sign out.
"""

import json
import logging
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from starlette.requests import HTTPConnection

from ghcm.places import write_private
from ghcm.runtime.access.scopes import Caller, known_scopes
from ghcm.runtime.access.tokens import TokenFile

log = logging.getLogger("ghcm.supervisor")

COOKIES = {True: "__Host-ghcm_session", False: "ghcm_session"}
"""The cookie over TLS, whose name has browsers take it from this host alone, and where there is none."""

_ALGORITHM = "HS256"
_DAYS = 7
_KEY_BYTES = 32
_MOST_ENDED = 10_000
"""Of more sessions that were ended those are forgotten whose time is over first."""


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
    ended: "Ended"

    def begin(self, caller: Caller, token: str | None, expires: float) -> Session:
        """A session of this caller, who has this token of ours or another's until it expires."""
        ends = int(min(expires, time.time() + _DAYS * 86_400))
        claims = {"sub": caller.name, "scope": " ".join(map(str, caller.scopes)), "exp": ends, "token": token}
        claims["jti"] = secrets.token_hex(16)
        return Session(jwt.encode(claims, self.key, _ALGORITHM), ends - int(time.time()))

    def end(self, connection: HTTPConnection) -> None:
        """End the sessions of a browser, also for whoever has copied its cookies."""
        for claims in self._claims(connection):
            self.ended.add(claims["jti"], claims["exp"])

    def caller(self, connection: HTTPConnection) -> Caller | None:
        """Who has signed in, where the request looks alone; None if nobody has."""
        claims = next(iter(self._claims(connection)), None)
        if claims is None or connection.scope["method"] not in ("GET", "HEAD"):
            return None
        if claims["token"] is not None:
            token = self.tokens.all().get(claims["token"])
            if token is None or token.state(time.time()) != "valid":
                return None
        return Caller(claims["sub"], known_scopes(claims["scope"].split()))

    def _claims(self, connection: HTTPConnection) -> list[dict[str, Any]]:
        """What the cookies say that have been given here, are not over and were not ended."""
        found = list[dict[str, Any]]()
        for name in COOKIES.values():
            with suppress(jwt.InvalidTokenError, KeyError):
                value, required = connection.cookies[name], ["exp", "sub", "jti"]
                claims: dict[str, Any] = jwt.decode(value, self.key, [_ALGORITHM], options={"require": required})
                found += [] if claims["jti"] in self.ended else [claims]
        return found


@dataclass(slots=True)
class Ended:
    """The ids of sessions that were ended before their time, each with the second in which that is over. In a file."""

    file: Path
    _until: dict[str, int] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._until = {}
        try:
            self._until = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            log.error("who has signed out is not known: %s: %s", self.file, error)

    def __contains__(self, id: str) -> bool:
        return id in self._until

    def add(self, id: str, until: int) -> None:
        """Note that a session is ended. Where that cannot be written it holds as long as this process."""
        with self._lock:
            lasting = {each: end for each, end in self._until.items() if end > time.time()} | {id: until}
            self._until = dict(sorted(lasting.items(), key=lambda each: each[1])[-_MOST_ENDED:])
            try:
                write_private(self.file, json.dumps(self._until).encode())
            except OSError as error:
                log.error("that somebody has signed out cannot be written: %s", error)


def key_in(path: Path) -> bytes:
    """The key in this file, for its owner alone; it is made where there is none, or a part of one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileNotFoundError):
        if len(key := path.read_bytes()) == _KEY_BYTES:
            return key
    write_private(path, secrets.token_bytes(_KEY_BYTES))
    return path.read_bytes()
