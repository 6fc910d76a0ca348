"""The source of lines from a TCP server: one partition that ends when the server closes."""

import contextlib
import socket
from collections.abc import Callable

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters, Lines
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Socket
from ghcm.types import Struct

_CONNECT_S = 10.0
_PIECE = 64 << 10
_PREFETCHED = 16


class SocketSource:
    """Lines as they come. A socket cannot be replayed: after a crash the engine connects again and goes on with what
    the server sends then; what had been received and not yet committed is lost. It does not reconnect by itself.
    """

    replayable = False
    due: float | None = None

    def __init__(self, connector: Socket, schema: Struct, partition: str) -> None:
        self._address = (connector.host, connector.port)
        self._partition = partition
        self._ended = False
        self._lines = Lines(open_decoder(connector.format, schema), self._name, partition)
        self._mailbox = Mailbox[bytes](_PREFETCHED)
        self._socket: socket.socket | None = None

    @property
    def _name(self) -> str:
        return f"{self._address[0]}:{self._address[1]}"

    def open(self, position: object, wake: Callable[[], None]) -> None:
        if position == "ended":
            self._ended = True
            return
        self._mailbox.feed("ghcm-socket", self._read, wake)

    def partitions(self) -> frozenset[str]:
        return frozenset() if self._ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of the lines that have come; what comes may be less than a line, and more has come already."""
        while pieces := self._taken():
            batch = self._lines.add(b"".join(pieces), self._ended, letters)
            if batch is not None:
                return batch
        return None

    def _taken(self) -> list[bytes]:
        """What has come, about a piece."""
        pieces: list[bytes] = []
        while not self._ended and (piece := self._mailbox.take()) is not None:
            pieces.append(piece)
            self._ended = not piece
            if sum(map(len, pieces)) > _PIECE:
                break
        return pieces

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
        """The thread: leave what comes in the mailbox, at last an empty piece."""
        try:
            with socket.create_connection(self._address, timeout=_CONNECT_S) as connection:
                self._socket = connection
                connection.settimeout(None)
                while data := connection.recv(_PIECE):
                    if not self._mailbox.put(data):
                        return
            self._mailbox.put(b"")
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "start the server that sends there, or correct host and port; it may also be a firewall."
            raise GhcmError(f'cannot read from "{self._name}": {reason}', code="GHCM-735", hint=hint) from error
