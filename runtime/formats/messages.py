"""The messages of a topic into batches, by whole blocks: the decoders of lines take as lines what stood in messages,
and fields that hold more of messages than their values are columns beside.

A block counts as decoded if each of its messages was one line and gave one record or one dead letter. Otherwise it is
halved until a message stands alone: one that is blank, holds a line break, an open quote or two records moves none of
its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl

from ghcm.formats.avro_schema import other_schema
from ghcm.formats.messages import value_of
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, series
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Letters, count_ends
from ghcm.runtime.formats.decoder import open_decoder
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.runtime.formats.message_parts import part_column
from ghcm.runtime.formats.placed_lines import PlacedLines
from ghcm.spg.connectors import Kafka
from ghcm.types import Struct

if TYPE_CHECKING:
    from ghcm.runtime.formats.avro import AvroValues

_COLUMNAR_FROM = 256

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Block:
    """Messages of one partition in order, with their offsets. `place`: what dead letters call the partition. `parts`:
    what else is asked for of each message, by its word. `lines`: all values, none of which is missing, where whoever
    gives them has them so.
    """

    values: Sequence[bytes | None]
    offsets: Sequence[int]
    place: str
    partition: str
    parts: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    lines: PlacedLines | None = None

    def slice(self, start: int, stop: int) -> Block:
        """Those messages of it, without what else there is of them."""
        return Block(self.values[start:stop], self.offsets[start:stop], self.place, self.partition)


class Messages:
    """Decodes blocks of messages into records of this schema, in the format and with the fields of a connector."""

    def __init__(self, connector: Kafka, schema: Struct) -> None:
        self._schema = schema
        self._value = value_of(connector.fields, schema)
        self._name = connector.format.name
        self._absent = connector.absent.encode() or None
        held = [*connector.fields, *(("value", name) for name in self._value.names if self._name == "raw")]
        self._columns = [part_column(word, schema.field_of(name)) for word, name in held]
        self._decoder = open_decoder(connector.format, self._value)
        self._avro: AvroValues | None = None
        if self._name == "csv":
            self._decoder.begin([field.path or field.name for field in self._value.fields])
        elif self._name == "avro":
            from ghcm.runtime.formats.avro import AvroValues  # few programs need its library

            self._avro = AvroValues(connector.schema, connector.schema_id, self._value)

    def decode(self, block: Block, letters: Letters) -> Batch:
        """The records of the messages."""
        parts = {**block.parts, "value": block.values}
        if self._absent is not None and None in block.values:
            filled = [self._absent if value is None else value for value in block.values]
            block = replace(block, values=filled, lines=None)
        dead = _Dead(block, letters)
        columns = {
            column.field.name: column.values(parts[column.word], lambda at, why: dead.add(block.offsets[at], why))
            for column in self._columns
        }
        if self._name == "raw":
            made = [dead.others(columns[name]) for name in self._schema.names]
            return _batch(self._schema, made, block.partition)
        for at, why in self._unread(block):
            dead.add(block.offsets[at], why)
        batch = self._values(dead.living(), dead)
        if not columns:
            return batch
        return self._joined(batch, {name: dead.others(column) for name, column in columns.items()})

    def _unread(self, block: Block) -> Iterator[tuple[int, str]]:
        """The indices of values that nothing has to decode, since they are none, or of another schema; and why."""
        values, head = block.values, b"" if self._avro is None else self._avro.head
        if (block.lines is not None or None not in values) and (
            not head or all(map(methodcaller("startswith", head), values))
        ):
            return
        for index, value in enumerate(values):
            if value is None:
                yield index, "the message has no value"
            elif not value.startswith(head):
                yield index, other_schema(value)

    def _joined(self, batch: Batch, columns: Mapping[str, Sequence[object]]) -> Batch:
        """What values hold, with the columns beside."""
        if batch.columnar:
            made = [series(name, columns[name], self._schema.field_of(name).type) for name in columns]
            frame = batch.frame().with_columns(made)
            return Batch.from_frame(self._schema, frame, partition=batch.partition)
        held = dict(zip(self._value.names, zip(*batch.rows(), strict=True), strict=True)) if len(batch) else {}
        rows = list(zip(*({**held, **columns}[name] for name in self._schema.names), strict=True)) if held else []
        return Batch.from_rows(self._schema, rows, partition=batch.partition)

    def _values(self, block: Block, dead: _Dead) -> Batch:
        if self._name == "text":
            return self._texts(block, dead)
        batches = list(self._parts(block, dead)) if block.values else []
        return Batch.concat(batches) if batches else Batch.from_rows(self._value, (), partition=block.partition)

    def _parts(self, block: Block, dead: _Dead) -> Iterator[Batch]:
        size = len(block.values)
        try:
            yield self._whole(block, dead)
        except _NotOne as error:
            if size == 1:
                dead.add(block.offsets[0], str(error))
                return
            yield from self._parts(block.slice(0, size // 2), dead)
            yield from self._parts(block.slice(size // 2, size), dead)

    def _whole(self, block: Block, dead: _Dead) -> Batch:
        """The records of a block; _NotOne where not every message has given one thing."""
        values = cast("Sequence[bytes]", block.values)
        if self._avro is not None:
            try:
                return _batch(self._value, self._avro.columns(values), block.partition)
            except ValueError as error:
                raise _NotOne(str(error)) from error
        size, failed = len(values), list[str]()

        def note(_: object, detail: str, __: str) -> None:
            failed.append(detail)

        batch = self._alike(block, note)
        if batch is None or len(batch) + len(failed) != size:
            failed.clear()
            batch, _, _ = self._decoder.decode(self._chunk(block), note)
        if len(batch) + len(failed) != size:
            raise _NotOne
        for detail in failed:
            _, number, why = detail.split(":", 2)
            dead.add(block.offsets[int(number) - 1 if size > 1 else 0], why.strip())
        return batch

    def _alike(self, block: Block, letters: Letters) -> Batch | None:
        """The records of lines of JSON that are spelt alike, without a copy of them."""
        if block.lines is None or not isinstance(self._decoder, JsonLines):
            return None
        return self._decoder.alike(block.lines, block.partition, letters)

    def _chunk(self, block: Block) -> Chunk:
        """The messages as lines; _NotOne where they are more."""
        values, size = cast("Sequence[bytes]", block.values), len(block.values)
        data = b"\n".join(values) if block.lines is None else block.lines.content()
        ends = count_ends(data) - (block.lines is not None)
        if ends >= size and self._name == "json":
            # Both are blanks between the parts of an object, and neither may stand in a text.
            data, ends = b"\n".join([value.replace(b"\n", b"\r") for value in values]), size - 1
        if size > 1 and ends >= size:
            raise _NotOne
        return Chunk(data, "", 1, block.partition, last=True)

    def _texts(self, block: Block, dead: _Dead) -> Batch:
        values, offsets = cast("Sequence[bytes]", block.values), block.offsets
        if len(values) < _COLUMNAR_FROM:
            found, offsets = self._readable(block, dead)
            rows: list[Row] = list(zip(found, repeat(block.place), offsets, strict=False))
            return Batch.from_rows(self._schema, rows, partition=block.partition)
        try:
            texts = pl.Series(values, dtype=pl.Binary).cast(pl.String)
        except pl.exceptions.ComputeError:
            found, offsets = self._readable(block, dead)
            texts = pl.Series(found, dtype=pl.String)
        places = pl.repeat(block.place, len(texts), dtype=pl.String, eager=True)
        columns = texts, places, pl.Series(offsets, dtype=pl.Int64)
        names = self._schema.names
        frame = pl.DataFrame([column.alias(name) for name, column in zip(names, columns, strict=True)])
        return Batch.from_frame(self._schema, frame, partition=block.partition)

    @staticmethod
    def _readable(block: Block, dead: _Dead) -> tuple[list[str], list[int]]:
        """The texts of those messages that are UTF-8."""
        found: list[tuple[str, int]] = []
        for value, offset in zip(cast("Sequence[bytes]", block.values), block.offsets, strict=True):
            try:
                found.append((value.decode(), offset))
            except UnicodeDecodeError:
                dead.add(offset, "the text is not UTF-8")
        return [text for text, _ in found], [offset for _, offset in found]


def _batch(schema: Struct, columns: Sequence[Sequence[object]], partition: str) -> Batch:
    """Canonical values in the order of the schema."""
    if len(columns[0]) < _COLUMNAR_FROM:
        return Batch.from_rows(schema, list(zip(*columns, strict=True)), partition=partition)
    pairs = zip(schema.fields, columns, strict=True)
    frame = pl.DataFrame([series(field.name, column, field.type) for field, column in pairs])
    return Batch.from_frame(schema, frame, partition=partition)


class _NotOne(Exception):
    """Among the messages is one that is not one record."""

    def __init__(self, why: str = "the message is not one record") -> None:
        super().__init__(why)


class _Dead:
    """Messages of a block that are no records, each a dead letter once."""

    def __init__(self, block: Block, letters: Letters) -> None:
        self._block = block
        self._letters = letters
        self._offsets: set[int] = set()

    def add(self, offset: int, why: str) -> None:
        """One more, if it is none yet."""
        if offset not in self._offsets:
            self._offsets.add(offset)
            value = self._block.values[bisect_left(self._block.offsets, offset)]
            self._letters(BadRecord, f"{self._block.place}:{offset}: {why}", (value or b"").decode("utf-8", "replace"))

    def living(self) -> Block:
        """The other messages, without what else there is of them."""
        block = self._block
        if not self._offsets:
            return block
        others = self.others(block.values), self.others(block.offsets)
        return Block(*others, block.place, block.partition)

    def others(self, column: Sequence[T]) -> Sequence[T]:
        """What of a column of the block belongs to the other messages."""
        if not self._offsets:
            return column
        return list(compress(column, (offset not in self._offsets for offset in self._block.offsets)))
