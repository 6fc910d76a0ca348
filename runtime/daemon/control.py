"""Where the daemon is reached: its side of the control socket, and the address of the HTTP process.

Reads a request, gives it to whoever does it and writes the answers; knows the protocol, not what requests mean.
"""

import asyncio
import contextlib
import errno
import logging
import os
import pwd
import socket
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from ghcm.errors import GhcmError
from ghcm.places import make_private
from ghcm.runtime.daemon.protocol import LONGEST_LINE, Document, decode, encode, error_document

log = logging.getLogger("ghcm.daemon")

Answers = Callable[[str, Document], AsyncIterator[Document]]
"""Given the name of a request and its arguments: its answers. What it raises as GhcmError is the last of them."""


Heard = Callable[[str, Document, "Peer"], None]
"""Told each request before it is answered, and who has made it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of the socket, by what the kernel says."""

    user: str
    process: int

    @staticmethod
    def of(connection: socket.socket) -> "Peer":
        """The peer of a Unix socket."""
        process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        try:
            return Peer(pwd.getpwuid(user).pw_name, process)
        except KeyError:  # as in a container
            return Peer(str(user), process)


class ControlServer:
    """Serves one Unix socket. Whoever may use the state directory may use it: it is open to its owner only."""

    def __init__(self, path: Path, answers: Answers, heard: Heard) -> None:
        self._path = path
        self._answers = answers
        self._heard = heard
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen. What another daemon has left at the path is removed: the lock says that it is gone."""
        make_private(self._path.parent)
        self._path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        try:
            # Not by a umask: processes that are started meanwhile, and what they start, would have it for good.
            os.fchmod(listener.fileno(), 0o600)
            listener.bind(str(self._path))
            self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=LONGEST_LINE)
        except BaseException:
            listener.close()
            raise

    async def close(self) -> None:
        """End all conversations and remove the socket."""
        if self._server is not None:
            self._server.close()
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        self._path.unlink(missing_ok=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer), name="control")
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if line := await reader.readline():
                await self._answer(line, reader, writer)
        except (ConnectionError, ValueError) as error:
            log.debug("a conversation on the control socket ended: %s", error)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Write the answers to the request; stop when the other side closes."""
        answering = asyncio.create_task(self._write(line, writer))
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answering, gone):
                task.cancel()
            results = await asyncio.gather(answering, gone, return_exceptions=True)
        if isinstance(results[0], Exception):
            raise results[0]

    async def _write(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        try:
            request = decode(line)
            op = str(request.pop("op", ""))
            self._heard(op, request, Peer.of(writer.get_extra_info("socket")))
            async for answer in self._answers(op, request):
                writer.write(encode(answer))
                await writer.drain()
            writer.write(encode({"end": True}))
        except GhcmError as error:
            writer.write(encode(error_document(error)))
        except ConnectionError:  # who asked has not waited for the answer
            raise
        except Exception:  # a mistake of ours ends this conversation, not the daemon
            log.exception("a request failed: %r", line[:200])
            hint = "report it with the daemon's log."
            writer.write(encode(error_document(GhcmError("the daemon has a bug", code="GHCM-799", hint=hint))))
        await writer.drain()


_PREDECESSOR_S = 3.0
"""How long what a daemon that was killed has left may hold its address: processes take a moment to end."""


def listen(host: str, port: int) -> socket.socket:
    """The socket that all HTTP processes take over, so that no caller is refused. GhcmError if it cannot be had."""
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


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine reaches it."""
    return ip_address(str(listener.getsockname()[0])).is_loopback


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
