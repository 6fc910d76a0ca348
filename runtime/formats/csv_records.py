"""CSV as in RFC 4180 with a header line; fields by the header's names. A record may span lines."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.cells import CellColumns, Dialect
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Letters, bare, count_lines, lines_of
from ghcm.runtime.formats.fields import from_text_field
from ghcm.runtime.formats.schemas import Check, column_indices, union_check
from ghcm.types import Struct

CellReader: TypeAlias = tuple[str, Callable[[str], object], tuple[str, ...] | None]
"""A field's name, what reads its cell, and the tags with which a union has it; None: with all."""


class _MoreNeeded(LookupError):
    """The record goes on behind the chunk."""


class CsvRecords:
    """Decodes the records of one file after the other; what is saved is the header."""

    def __init__(self, schema: Struct, separator: str) -> None:
        self._schema = schema
        self._separator = separator
        tags = dict(schema.cases)
        self._readers = [(field.name, from_text_field(field.type), tags.get(field.name)) for field in schema.fields]
        self._check = union_check(schema)
        self._header: list[str] | None = None
        self._indices: list[int | None] = []
        self._columns: CellColumns | None = None
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))

    def save(self) -> object:
        """The header of the file, None before it was read."""
        return self._header

    def begin(self, saved: object) -> None:
        """A new file, or one whose header is known."""
        self._header = self._columns = None
        if saved is not None:
            self._use(cast("list[str]", saved), "")

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`. GhcmError where the header lacks a column."""
        _, size, lines = ([], 0, 0) if self._header is not None else self._records(chunk, letters, header=True)
        rest = chunk.behind(size, lines)
        if self._columns is not None:
            count = count_lines(rest.data)
            batch = self._block(rest, count, letters)
            if batch is not None:
                return batch, len(chunk.data), lines + count
        rows, more, count = self._records(rest, letters, header=False)
        return Batch.from_rows(self._schema, rows, partition=chunk.partition), size + more, lines + count

    def _block(self, chunk: Chunk, count: int, letters: Letters) -> Batch | None:
        assert self._columns is not None
        failed: list[tuple[str, str]] = []

        def single(line: bytes, number: int) -> Row | None:
            fields = next(csv.reader(_texts([line], last=False), delimiter=self._separator))
            return self._row(
                fields, line, f"{chunk.file}:{number}", lambda _, detail, text: failed.append((detail, text))
            )

        batch = self._columns.decode(chunk, count, single)
        for detail, text in failed if batch is not None else ():
            letters(BadRecord, detail, text)
        return batch

    def _records(self, chunk: Chunk, letters: Letters, *, header: bool) -> tuple[list[Row], int, int]:
        """Record by record, `header`: up to the header only. The bytes and lines that were used."""
        rows: list[Row] = []
        lines = list(lines_of(chunk.data))
        reader = csv.reader(_texts(lines, last=chunk.last), delimiter=self._separator)
        at, size = 0, 0
        while not (header and self._header is not None):
            fields: list[str] | csv.Error
            try:
                fields = next(reader)
            except (StopIteration, _MoreNeeded):
                break
            except csv.Error as error:
                fields = error
            raw = lines[at] if reader.line_num == at + 1 else b"".join(lines[at : reader.line_num])
            position, at, size = f"{chunk.file}:{chunk.number + at}", reader.line_num, size + len(raw)
            if self._header is None and _names(fields, raw):
                self._use(cast("list[str]", fields), chunk.file)
                continue
            row = self._row(fields, raw, position, letters)
            if row is not None:
                rows.append(row)
        return rows, size, at

    def _row(self, fields: list[str] | csv.Error, raw: bytes, position: str, letters: Letters) -> Row | None:
        """The record, or None for an empty line or a dead letter."""
        if fields == []:
            return None
        try:
            raw.decode()
            return self._record(fields)
        except UnicodeDecodeError:
            detail = "the text is not UTF-8"
        except ValueError as error:
            detail = str(error)
        letters(BadRecord, f"{position}: {detail}", bare(raw.decode("utf-8", "replace")))
        return None

    def _use(self, header: list[str], file: str) -> None:
        self._header = header
        self._indices = column_indices(file, header, self._schema)
        self._columns = CellColumns(self._schema, self._separator, len(header), self._indices, Dialect(), quotes=True)

    def _record(self, fields: list[str] | csv.Error) -> Row:
        if isinstance(fields, csv.Error):
            raise ValueError(f"no CSV: {fields}")
        assert self._header is not None
        if len(fields) != len(self._header):
            raise ValueError(f"expected {len(self._header)} fields as in the header, found {len(fields)}")
        return read_cells(fields, self._indices, self._readers, self._check)


def read_cells(cells: list[str], indices: list[int | None], readers: list[CellReader], check: Check | None) -> Row:
    """The record of the cells at these indices. ValueError that names the field where one does not fit."""
    row: list[object] = []
    for index, (name, read, tags) in zip(indices, readers, strict=True):
        try:
            row.append(None if index is None or (tags is not None and row[0] not in tags) else read(cells[index]))
        except ValueError as error:
            raise ValueError(f'field "{name}": {error}') from None
    made = tuple(row)
    if check is not None:
        check(made)
    return made


def _names(fields: list[str] | csv.Error, raw: bytes) -> bool:
    """Whether this is a header: the first record that can be read."""
    if isinstance(fields, csv.Error) or not fields:
        return False
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _texts(lines: list[bytes], *, last: bool) -> Iterator[str]:
    for line in lines:
        yield line.decode("utf-8", "replace")
    if not last:
        raise _MoreNeeded
