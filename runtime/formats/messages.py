"""The messages of a topic into batches, by whole blocks: the decoders of lines take as lines what stood in messages.

A block counts as decoded if each of its messages was one line and gave one record or one dead letter. Otherwise it is
halved until a message stands alone: one that is blank, holds a line break, an open quote or two records moves none of
its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import cast

import polars as pl

from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Letters
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.spg.connectors import Format
from ghcm.types import Struct

_COLUMNAR_FROM = 256


@dataclass(frozen=True, slots=True)
class Block:
    """Messages of one partition in order, with their offsets. `place`: what dead letters call the partition."""

    values: Sequence[bytes]
    offsets: Sequence[int]
    place: str
    partition: str

    def part(self, start: int, stop: int) -> Block:
        """Those messages of it."""
        return Block(self.values[start:stop], self.offsets[start:stop], self.place, self.partition)


class Messages:
    """Decodes blocks of messages of a format into records of this schema."""

    def __init__(self, format_: Format, schema: Struct) -> None:
        self._schema = schema
        self._name = format_.name
        self._decoder = open_decoder(format_, schema)
        if self._name == "csv":
            self._decoder.begin([field.path or field.name for field in schema.fields])

    def decode(
        self, values: Sequence[bytes | None], offsets: Sequence[int], place: str, partition: str, letters: Letters
    ) -> Batch:
        """The records of messages of one partition, whose batch has that `partition`; `place` as in `Block`."""
        if None in values:
            pairs = list(zip(offsets, values, strict=True))
            for offset in [offset for offset, value in pairs if value is None]:
                letters(BadRecord, f"{place}:{offset}: the message has no value", "")
            offsets = [offset for offset, value in pairs if value is not None]
            values = [value for value in values if value is not None]
        block = Block(cast("Sequence[bytes]", values), offsets, place, partition)
        if self._name == "text":
            return self._texts(block, letters)
        batches = list(self._parts(block, letters)) if block.values else []
        return Batch.concat(batches) if batches else Batch.from_rows(self._schema, (), partition=partition)

    def _parts(self, block: Block, letters: Letters) -> Iterator[Batch]:
        found, size = self._whole(block, letters), len(block.values)
        if found is not None:
            yield found
        elif size == 1:
            detail = f"{block.place}:{block.offsets[0]}: the message is not one record"
            letters(BadRecord, detail, _text(block.values[0]))
        else:
            yield from self._parts(block.part(0, size // 2), letters)
            yield from self._parts(block.part(size // 2, size), letters)

    def _whole(self, block: Block, letters: Letters) -> Batch | None:
        """The records of a block; None where not every message has given one thing."""
        size, data = len(block.values), b"\n".join(block.values)
        if self._name == "json" and data.count(b"\n") >= size:
            # Both are blanks between the parts of an object, and neither may stand in a text.
            data = b"\n".join([value.replace(b"\n", b"\r") for value in block.values])
        if size > 1 and data.count(b"\n") >= size:
            return None
        failed: list[tuple[Failure, str]] = []

        def note(reason: Failure, detail: str, text: str) -> None:
            failed.append((reason, detail))

        batch, _, _ = self._decoder.decode(Chunk(data, "", 1, block.partition, last=True), note)
        if len(batch) + len(failed) != size:
            return None
        for reason, detail in failed:
            _, number, why = detail.split(":", 2)
            index = int(number) - 1 if size > 1 else 0
            letters(reason, f"{block.place}:{block.offsets[index]}:{why}", _text(block.values[index]))
        return batch

    def _texts(self, block: Block, letters: Letters) -> Batch:
        try:
            texts, offsets = list(map(bytes.decode, block.values)), block.offsets
        except UnicodeDecodeError:
            texts, offsets = self._readable(block, letters)
        if len(texts) < _COLUMNAR_FROM:
            rows: list[Row] = list(zip(texts, repeat(block.place), offsets, strict=False))
            return Batch.from_rows(self._schema, rows, partition=block.partition)
        places = pl.repeat(block.place, len(texts), dtype=pl.String, eager=True)
        columns = pl.Series(texts, dtype=pl.String), places, pl.Series(offsets, dtype=pl.Int64)
        names = self._schema.names
        frame = pl.DataFrame([column.alias(name) for name, column in zip(names, columns, strict=True)])
        return Batch.from_frame(self._schema, frame, partition=block.partition)

    @staticmethod
    def _readable(block: Block, letters: Letters) -> tuple[list[str], list[int]]:
        """The texts of those messages that are UTF-8."""
        found: list[tuple[str, int]] = []
        for value, offset in zip(block.values, block.offsets, strict=True):
            try:
                found.append((value.decode(), offset))
            except UnicodeDecodeError:
                letters(BadRecord, f"{block.place}:{offset}: the text is not UTF-8", _text(value))
        return [text for text, _ in found], [offset for _, offset in found]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
