"""What has to be there before others than this machine reach a daemon: tokens, and TLS for them to travel in."""

import socket
import ssl
import time
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.access.tokens import TokenFile
from ghcm.runtime.daemon.control import is_loopback
from ghcm.runtime.settings import Settings


def refuse_exposed(listener: socket.socket, settings: Settings, state: Path) -> None:
    """GhcmError where a daemon of these settings and this state would be reached by who can neither be known nor kept
    from listening in, or where its certificate cannot be used.
    """
    secured = _has_certificate(settings)
    if is_loopback(listener):
        return
    now, tokens = time.time(), TokenFile(settings.tokens_at(state)).all().values()
    lacks: list[tuple[str, str]] = []
    if not settings.oidc.issuer and not any(token.state(now) == "valid" for token in tokens):
        lacks.append(("tokens", "make one: ghcm token create NAME --scope read:*,call:*."))
    if not secured:
        lacks.append(("TLS", "give a certificate: --certificate FILE --key FILE, or [http] certificate and key."))
    if lacks:
        what = " and ".join(name for name, _ in lacks)
        raise GhcmError(
            f"other machines would reach {settings.http.host} without {what}",
            code="GHCM-634",
            detail="Whoever calls may start programs' units, and whoever listens in may read what they answer.",
            hint=" Then ".join(todo for _, todo in lacks) + " Or listen for this machine alone: --host 127.0.0.1.",
        )


def _has_certificate(settings: Settings) -> bool:
    certificate, key = settings.http.certificate, settings.http.key
    if certificate is None and key is None:
        return False
    if certificate is None or key is None:
        lacking = "certificate" if certificate is None else "key"
        raise GhcmError(f"TLS lacks its {lacking}", code="GHCM-633", hint="give both: --certificate FILE --key FILE.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key, _no_password)
    except (OSError, ValueError) as error:  # errors of TLS are errors of the system, too
        raise GhcmError(
            f'the certificate "{certificate}" cannot be used with the key "{key}"',
            code="GHCM-633",
            detail=f"{getattr(error, 'strerror', None) or error}.",
            hint="both are PEM; the key is that of the certificate, has no password and can be read by this user.",
        ) from None
    return True


def _no_password() -> str:
    raise ValueError("the key asks for a password")  # else OpenSSL asks for it on the terminal, and waits
