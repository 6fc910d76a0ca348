"""Callers that an issuer of OpenID Connect vouches for: JSON web tokens, checked with the keys that it publishes.

The keys are asked for when a token names one that is not known, at most every ten seconds, and every five minutes
otherwise; while the issuer is away the last ones hold for a day.
"""

import asyncio
import json
import logging
import time
import urllib.request
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, cast

import jwt

from ghcm.errors import GhcmError
from ghcm.runtime.access.admission import Oidc
from ghcm.runtime.access.scopes import Caller, known_scopes

log = logging.getLogger("ghcm.supervisor")

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a private key alone: whoever knows the public one must not be able to make them."""

_KINDS = (None, "JWT", "AT+JWT", "APPLICATION/AT+JWT")
"""What tokens for servers call themselves, in large letters; those that do not say so are none."""
_OTHERS = ("at_hash", "c_hash", "events")
"""Claims of tokens that tell of somebody having signed in or out, which allow nothing."""

_FRESH_SECONDS, _PAUSE_SECONDS, _OLDEST_SECONDS = 300.0, 10.0, 86_400.0
_FETCH_SECONDS, _LONGEST = 5.0, 1_000_000
_LEEWAY_SECONDS = 30.0
"""By how much clocks may differ."""


@dataclass(slots=True)
class Issuer:
    """One issuer, for one event loop. `settings` are complete."""

    settings: Oidc
    _keys: dict[str | None, jwt.PyJWK] = field(default_factory=dict[str | None, jwt.PyJWK])
    _fetched: float = float("-inf")
    _tried: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _refreshing: asyncio.Task[None] | None = None

    async def caller(self, text: str) -> Caller | None:
        """Who bears this token; None if it is not valid. GhcmError where the issuer's keys cannot be had."""
        try:
            header = jwt.get_unverified_header(text)
            key = await self._key(header.get("kid"))
            if key is None or _kind(header) not in _KINDS:
                return None
            claims: dict[str, Any] = jwt.decode(
                text,
                key,
                algorithms=_ALGORITHMS,
                issuer=self.settings.issuer,
                audience=self.settings.audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.InvalidTokenError:
            return None
        if any(name in claims for name in _OTHERS):
            return None
        said = claims.get(self.settings.claim, "")
        words = said.split() if isinstance(said, str) else said
        texts = (
            [each for each in cast("list[object]", words) if isinstance(each, str)] if isinstance(words, list) else []
        )
        return Caller(f"{claims['sub']} of {self.settings.issuer}", known_scopes(texts))

    async def _key(self, id: str | None) -> jwt.PyJWK | None:
        now = time.monotonic()
        if now - self._fetched > _OLDEST_SECONDS:
            self._keys = {}
        if self._found(id) is None:
            async with self._lock:
                if self._found(id) is None and time.monotonic() - self._tried > _PAUSE_SECONDS:
                    await self._fetch()
        elif now - self._fetched > _FRESH_SECONDS and now - self._tried > _PAUSE_SECONDS:
            self._tried = now
            self._refreshing = asyncio.create_task(self._fetch(), name="keys of the issuer")
        if not self._keys:
            message = f'the keys of the issuer "{self.settings.issuer}" cannot be had'
            raise GhcmError(message, code="GHCM-636", hint="ask again in a moment; see that [oidc] keys can be read.")
        return self._found(id)

    def _found(self, id: str | None) -> jwt.PyJWK | None:
        """The key of that id; the only one where the token names none."""
        if id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(id)

    async def _fetch(self) -> None:
        self._tried = time.monotonic()
        try:
            document = await asyncio.to_thread(_read, self.settings.keys)
            self._keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(document).keys}
            self._fetched = time.monotonic()
        except (OSError, HTTPException, ValueError, AttributeError, jwt.PyJWTError) as error:
            log.error('the keys of the issuer "%s" cannot be read: %s', self.settings.issuer, error)


def _kind(header: dict[str, Any]) -> object:
    kind = header.get("typ")
    return kind.upper() if isinstance(kind, str) else kind


def issuer_of(settings: Oidc) -> Issuer | None:
    """The issuer that the settings name, if any. GhcmError where they are not complete."""
    if not settings.issuer and not settings.keys:
        return None
    missing = [name for name in ("issuer", "audience", "keys") if not getattr(settings, name)]
    if missing:
        hint = 'say issuer = "https://…", audience = "…" and keys, a file or URL of a JSON web key set.'
        raise GhcmError(f"[oidc] lacks {' and '.join(missing)}", code="GHCM-635", hint=hint)
    return Issuer(settings)


class _Stay(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: keys of another server are another's."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """No other request."""


def _read(place: str) -> dict[str, Any]:
    if "://" not in place:
        return cast("dict[str, Any]", json.loads(Path(place).read_bytes()))
    with urllib.request.build_opener(_Stay).open(place, timeout=_FETCH_SECONDS) as answer:
        return cast("dict[str, Any]", json.loads(answer.read(_LONGEST)))
