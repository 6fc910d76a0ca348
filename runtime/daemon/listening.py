"""The address at which a daemon is called over HTTP."""

from __future__ import annotations

import errno
import socket

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from ghcm.errors import GhcmError

_PREDECESSOR_S = 3.0
"""How long what a daemon that was killed has left may hold its address: processes take a moment to end."""


def listen(host: str, port: int) -> socket.socket:
    """The socket that every successor of the HTTP process takes over, so that callers wait and are not refused.
    GhcmError where it cannot be had, or is another's.
    """
    retrying = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, OSError) and error.errno == errno.EADDRINUSE),
        stop=stop_after_delay(_PREDECESSOR_S),
        wait=wait_fixed(0.1),
        reraise=True,
    )
    try:
        return retrying(_bound, host, port)
    except OSError as error:
        raise GhcmError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            code="GHCM-725",
            hint="end who listens there, or choose another port: --port or GHCM_HTTP_PORT; 0 takes any free one.",
        ) from error


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener
