"""From chunks of bytes to chunks of whole lines, with the place of each for positions and dead letters."""

from __future__ import annotations

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import BYTE_ORDER_MARK, Chunk, Decoder
from ghcm.runtime.sources.source import Letters

_LONGEST = 64 << 20


class Lines:
    """Decodes one file (or connection) whose bytes come in pieces. `offset` and `number`: bytes and lines used so
    far. A byte order mark at the beginning belongs to no line.
    """

    def __init__(self, decoder: Decoder, file: str, partition: str, *, offset: int = 0, number: int = 0) -> None:
        self.offset = offset
        self.number = number
        self._decoder = decoder
        self._file = file
        self._partition = partition
        self._rest = b""

    def add(self, data: bytes, last: bool, letters: Letters) -> Batch | None:
        """Decode what is whole in what has come; `last`: nothing more comes."""
        whole = self._rest + data if self._rest else data
        if self.offset == 0 and whole.startswith(BYTE_ORDER_MARK):
            whole, self.offset = whole[len(BYTE_ORDER_MARK) :], len(BYTE_ORDER_MARK)
        end = len(whole) if last else whole.rfind(b"\n") + 1
        if end == 0:
            self._keep(whole)
            return None
        chunk = Chunk(whole[:end], self._file, self.number + 1, self._partition, last)
        batch, used, lines = self._decoder.decode(chunk, letters)
        self.offset += used
        self.number += lines
        self._keep(whole[used:])
        return batch

    def _keep(self, rest: bytes) -> None:
        if len(rest) > _LONGEST:
            raise GhcmError(
                f'cannot read "{self._file}": the record at line {self.number + 1} has more than 64 MiB',
                code="GHCM-736",
                hint="check that the format is the right one and that lines end in a newline",
            )
        self._rest = rest
