"""The source of lines from a TCP server: one partition that ends when the server closes."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters, Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Socket
from ghcm.types import Struct

_CONNECT_S = 10.0
_PIECE, _LARGEST = 256 << 10, 2 << 20
"""Bytes that are read at once, and that make a batch."""
_PREFETCHED = 2


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of what has come together, with what of it cannot be decoded. `last`: the server has closed."""

    batch: Batch | None
    failed: list[tuple[Failure, str, str]]
    last: bool


def _at_once() -> float:
    return 0.0


class SocketSource:
    """Lines as they come, read and decoded beside the loop. A socket cannot be replayed: after a crash the engine
    connects again and goes on with what the server sends then; what had been received and not yet committed is lost. It
    does not reconnect by itself.
    """

    replayable = False
    due: float | None = None

    def __init__(self, connector: Socket, schema: Struct, partition: str) -> None:
        self._address = (connector.host, connector.port)
        self._partition = partition
        self._ended = False
        self._lines = Lines(open_decoder(connector.format, schema), self._name, partition)
        self._mailbox = Mailbox[_Part](_PREFETCHED)
        self._socket: socket.socket | None = None
        self._rest: Callable[[], float] = _at_once

    @property
    def _name(self) -> str:
        return f"{self._address[0]}:{self._address[1]}"

    def pace(self, rest: Callable[[], float]) -> None:
        """As `Paced.pace`."""
        self._rest = rest

    def open(self, position: object, wake: Callable[[], None]) -> None:
        if position == "ended":
            self._ended = True
            return
        self._mailbox.feed("ghcm-socket", self._read, wake)

    def partitions(self) -> frozenset[str]:
        return frozenset() if self._ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of what has come together; what comes may be less than a line, and more has come already."""
        while not self._ended and (part := self._mailbox.take()) is not None:
            self._ended = part.last
            for reason, detail, text in part.failed:
                letters(reason, detail, text)
            if part.batch is not None:
                return part.batch
        return None

    @property
    def ended(self) -> bool:
        """Whether the server has closed and all was polled."""
        return self._ended

    def position(self) -> object:
        """Only whether it has ended."""
        return "ended" if self._ended else None

    def close(self) -> None:
        self._mailbox.close()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # the server was faster
                self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        """The thread: leave what comes in the mailbox."""
        try:
            with socket.create_connection(self._address, timeout=_CONNECT_S) as connection:
                self._socket = connection
                connection.settimeout(None)
                for data in _received(connection):
                    if not self._decoded(data, last=False):
                        return
                    time.sleep(self._rest())
                self._decoded(b"", last=True)
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "start the server that sends there, or correct host and port; it may also be a firewall."
            raise GhcmError(f'cannot read from "{self._name}": {reason}', code="GHCM-735", hint=hint) from error

    def _decoded(self, data: bytes, *, last: bool) -> bool:
        """Leave the records there; False if nobody takes them."""
        failed: list[tuple[Failure, str, str]] = []

        def fail(reason: Failure, detail: str, text: str) -> None:
            failed.append((reason, detail, text))

        batch = self._lines.add(data, last, fail)
        return (batch is None and not last) or self._mailbox.put(_Part(batch, failed, last))


def _received(connection: socket.socket) -> Iterator[bytes]:
    """What has come together, until the server closes; what breaks the connection is told behind what came before."""
    pieces: list[bytes] = []
    try:
        while piece := connection.recv(_PIECE):
            pieces.append(piece)
            with contextlib.suppress(BlockingIOError):
                while piece and sum(map(len, pieces)) < _LARGEST:
                    pieces.append(piece := connection.recv(_PIECE, socket.MSG_DONTWAIT))
            yield b"".join(pieces)
            pieces.clear()
    except OSError:
        if pieces:
            yield b"".join(pieces)
        raise
