"""The tokens of callers: a file of JSON that holds what a token may do, until when, and the hash of its secret.

A token is `ghcm_<id>_<secret>`. The id may be seen by all; the secret has 256 random bits, so one round of SHA-256 is
enough to keep it. Commands write the file, the HTTP process looks at it with each request: what is revoked is revoked
at once, whether a daemon runs or not.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ghcm.errors import GhcmError, listed, suggest
from ghcm.places import write_private
from ghcm.runtime.access.scopes import Scope, parse_scope

_PREFIX = "ghcm"
_NOBODY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret, of which it has the hash; times in seconds since 1970."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: str = field(repr=False)
    created: int
    expires: int
    revoked: int | None = None

    def state(self, now: float) -> str:
        """valid, expired or revoked."""
        return "revoked" if self.revoked is not None else "expired" if self.expires <= now else "valid"


@dataclass(slots=True)
class TokenFile:
    """The tokens in a file, which need not be there. For one process that looks, and commands that change it."""

    path: Path
    _seen: tuple[int, int, int] | None = None
    _tokens: dict[str, Token] = field(default_factory=dict[str, Token])

    def find(self, text: str, now: float | None = None) -> Token | None:
        """The token whose text this is, if it is valid. Takes as long for a wrong secret as for the right one."""
        _, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        token = self.all().get(id)
        digest = hashlib.sha256(secret.encode(errors="replace")).hexdigest()
        same = hmac.compare_digest(digest, _NOBODY if token is None else token.digest)
        valid = token is not None and token.state(time.time() if now is None else now) == "valid"
        return token if same and valid and text == f"{_PREFIX}_{id}_{secret}" else None

    def all(self) -> dict[str, Token]:
        """All tokens by their ids, the oldest first. GhcmError if the file cannot be read."""
        try:
            status = self.path.stat()
            seen = (status.st_mtime_ns, status.st_ino, status.st_size)
            if seen != self._seen:
                self._tokens = {each.id: each for each in map(_token, json.loads(self.path.read_bytes())["tokens"])}
                self._seen = seen
        except FileNotFoundError:
            self._tokens, self._seen = {}, None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, GhcmError) as error:
            hint = "restore it; or remove it, and create the tokens anew: ghcm token create."
            message = f'the tokens in "{self.path}" cannot be read'
            raise GhcmError(message, code="GHCM-632", detail=f"{error}.", hint=hint) from None
        return self._tokens

    def create(self, name: str, scopes: Sequence[Scope], seconds: int) -> tuple[Token, str]:
        """A new token that is valid for so long, and its text, which nobody can have again."""
        secret, now = secrets.token_urlsafe(32), int(time.time())
        digest = hashlib.sha256(secret.encode()).hexdigest()
        with self._changing() as tokens:
            id = next(id for id in iter(lambda: secrets.token_hex(4), None) if id not in tokens)
            token = tokens[id] = Token(id, name, tuple(scopes), digest, now, now + seconds)
        return token, f"{_PREFIX}_{id}_{secret}"

    def revoke(self, id: str) -> Token:
        """From now on the token of this id is none. GhcmError if there is none."""
        with self._changing() as tokens:
            if id not in tokens:
                detail, hint = f"There are {listed(tokens)}.", suggest(id, tokens) or "ghcm token list shows them."
                raise GhcmError(f'there is no token "{id}"', code="GHCM-631", detail=detail, hint=hint)
            if tokens[id].revoked is None:
                tokens[id] = replace(tokens[id], revoked=int(time.time()))
            return tokens[id]

    @contextmanager
    def _changing(self) -> Generator[dict[str, Token]]:
        """The tokens, to be changed by nobody else meanwhile; whoever looks sees those of before or of afterwards."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            tokens = dict(self.all())
            yield tokens
            document = {"tokens": [asdict(each) | {"scopes": [*map(str, each.scopes)]} for each in tokens.values()]}
            write_private(self.path, json.dumps(document, indent=1).encode())
        finally:
            os.close(folder)


def _token(document: dict[str, Any]) -> Token:
    for name, kind in (("id", str), ("name", str), ("created", int), ("expires", int)):
        if not isinstance(document[name], kind):
            raise ValueError(f'"{name}" cannot be {document[name]!r}')
    bytes.fromhex(document["digest"])  # ValueError if it is none
    scopes = tuple(map(parse_scope, document.pop("scopes")))
    return Token(scopes=scopes, **document)
