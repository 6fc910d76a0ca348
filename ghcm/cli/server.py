"""The Supervisor that commands ask over HTTP: that of the daemon here, or one elsewhere; with a token and TLS where it
wants them.

A token comes from the environment (`GHCM_TOKEN`) or from a file (`GHCM_TOKEN_FILE`), never from an argument, which
everybody on a machine can read.
"""

import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

from ghcm.cli import terminal
from ghcm.errors import GhcmError

SERVER, TOKEN, TOKEN_FILE, AUTHORITY = "GHCM_SERVER", "GHCM_TOKEN", "GHCM_TOKEN_FILE", "GHCM_CA"


@dataclass(frozen=True, slots=True)
class Server:
    """Where it is; what lets us in; and whom we take for it, None where it has no TLS."""

    url: str
    token: str | None = field(default=None, repr=False)
    trusted: ssl.SSLContext | None = None

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "GET",
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The JSON answer to a body of JSON, or bytes whose type `headers` say; a problem is raised as GhcmError."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {"Content-Type": "application/json", **(headers or {})}
        if self.token is not None:
            named["Authorization"] = f"Bearer {self.token}"
        asked = urllib.request.Request(self.url + path, data, named, method=method)
        handlers: list[urllib.request.BaseHandler] = [_Stay(), urllib.request.HTTPSHandler(context=self.trusted)]
        if _is_here(urlsplit(self.url).hostname or ""):  # what a proxy elsewhere would read, and could not reach
            handlers.append(urllib.request.ProxyHandler({}))
        try:
            with urllib.request.build_opener(*handlers).open(asked, timeout=timeout) as answer:
                return cast("dict[str, Any]", json.load(answer))
        except urllib.error.HTTPError as refused:
            with refused:
                raise _problem(refused.read(), refused.code) from None
        except (OSError, HTTPException) as error:
            hint = f"name who has signed its certificate in {AUTHORITY}." if _untrusted(error) else ""
            message = f"the Supervisor at {self.url} does not answer"
            raise GhcmError(message, code="GHCM-727", detail=f"{error}.", hint=hint) from None
        except ValueError:
            message, hint = f"what answers at {self.url} is no Supervisor", "look at --server or GHCM_SERVER."
            raise GhcmError(message, code="GHCM-727", hint=hint) from None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: the token is for the server that was asked."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """No other request."""


def is_elsewhere(url: str | None, state: Path | None) -> bool:
    """Whether a command that has the control socket here is to ask a server instead: the one at this URL, or that of
    GHCM_SERVER unless a state directory is named.
    """
    return url is not None or (state is None and bool(os.environ.get(SERVER)))


def server_of(url: str | None, state: Path | None) -> Server:
    """The Supervisor at this URL, that of GHCM_SERVER, or that of the daemon whose state is there."""
    wanted, token = url or os.environ.get(SERVER), _token()
    if wanted is None:
        status = terminal.control(state).ask("status")
        certificate = cast("str | None", status.get("certificate"))
        return Server(str(status["url"]), token, None if certificate is None else _exactly(certificate))
    parts = urlsplit(wanted)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.rstrip("/"):
        raise GhcmError(f'"{wanted}" is no address of a server', code="GHCM-605", hint="write https://HOST:PORT.")
    if parts.scheme == "http" and not _is_here(parts.hostname):
        detail = "A token and the answers could be read on the way."
        raise GhcmError(f'"{wanted}" has no TLS', code="GHCM-605", detail=detail, hint="write https://HOST:PORT.")
    try:
        trusted = ssl.create_default_context(cafile=os.environ.get(AUTHORITY))
    except OSError as error:
        message = f'{AUTHORITY} names no certificates: "{os.environ[AUTHORITY]}"'
        raise GhcmError(message, code="GHCM-605", detail=f"{error}.") from None
    return Server(wanted.rstrip("/"), token, trusted)


def _exactly(certificate: str) -> ssl.SSLContext:
    """Trust in this certificate alone, whatever names it has: the daemon has told us on its control socket that it is
    its own.
    """
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _token() -> str | None:
    if TOKEN in os.environ:
        return os.environ[TOKEN].strip()
    if TOKEN_FILE not in os.environ:
        return None
    try:
        return Path(os.environ[TOKEN_FILE]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f'the token in "{os.environ[TOKEN_FILE]}" cannot be read'
        raise GhcmError(message, code="GHCM-605", detail=f"{error}.", hint=f"see {TOKEN_FILE}.") from None


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _untrusted(error: Exception) -> bool:
    return isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError)


def _problem(body: bytes, status: int) -> GhcmError:
    try:
        problem = json.loads(body)
        code, message = str(problem["code"]), str(problem["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the Supervisor answered with HTTP {status}"
        return GhcmError(message, code="GHCM-727", hint="ghcm logs http shows why.")
    hint = f"put a token into {TOKEN}, or its file into {TOKEN_FILE}." if status == 401 else problem.get("hint", "")
    return GhcmError(message, code=code, detail=str(problem.get("detail", "")), hint=str(hint))
