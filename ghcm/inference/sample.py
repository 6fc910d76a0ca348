"""The first records of a file of lines, and what a record makes of them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ghcm.functions import Failure
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import BYTE_ORDER_MARK, Chunk, lines_of
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.sources.local_files import open_file
from ghcm.spg.ops import Format
from ghcm.types import Struct

_LONGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """What came of a sample: its records, and why others are none. `whole`: there is no more in the file."""

    rows: list[Row]
    dead: list[str]
    whole: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """Whole lines from the start of a file; `last`: there are no more."""

    file: str
    format: Format
    data: bytes
    last: bool

    def lines(self) -> list[str]:
        """The lines without their ends."""
        return [line.decode(errors="replace").rstrip("\r\n") for line in lines_of(self.data)]

    def decode(self, struct: Struct) -> Decoded:
        """The records as the engine reads them. GhcmError where a header lacks a column."""
        dead: list[str] = []

        def note(_: Failure, detail: str, text: str) -> None:
            dead.append(detail)

        batch, _, _ = open_decoder(self.format, struct).decode(
            Chunk(self.data, self.file, 1, "sample", self.last), note
        )
        return Decoded(list(batch.rows()), dead, self.last)


def take(path: Path, format_: Format, rows: int) -> Sample:
    """The lines of so many records, headers besides. `UNREADABLE` as it comes."""
    taken: list[bytes] = []
    left = rows + (format_.name == "csv")
    with io.BufferedReader(cast("io.RawIOBase", open_file(path, "ending", 0))) as stream:
        if stream.peek(3).startswith(BYTE_ORDER_MARK):
            stream.read(len(BYTE_ORDER_MARK))
        while left and (line := stream.readline(_LONGEST)):
            taken.append(line)
            left -= bool(line.strip()) and not (format_.name == "zeek" and line.startswith(b"#"))
        last = not stream.peek(1)
    return Sample(path.name, format_, b"".join(taken), last)
