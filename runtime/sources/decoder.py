"""Raw lines into batches: text, JSON lines and CSV, a chunk at a time.

A decoder is given the whole lines of a chunk in order; a record that does not fit is a dead letter with its raw text,
and the rest goes on. CSV records may span lines, so a decoder says how much of the chunk it has used.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn, Protocol, cast

import polars as pl

from ghcm.runtime.batch import Batch, Row
from ghcm.runtime.sources.fields import MISSING, from_json_field, from_text_field, look_up
from ghcm.runtime.sources.source import BadRecord, Letters
from ghcm.spg.ops import Format
from ghcm.types import Struct, is_nullable
from ghcm.values import Json

__all__ = ["Chunk", "Decoder", "open_decoder"]

_COLUMNAR_FROM = 256


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of one file (or connection): `data` ends with a line end unless `last`; `number` is that of the first
    line (from 1).
    """

    data: bytes
    file: str
    number: int
    partition: str
    last: bool


class Decoder(Protocol):
    """Decodes the lines of one partition after the other."""

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """The records, and the bytes and lines of the chunk that they took; the rest has to come again with more
        behind it.
        """
        ...

    def save(self) -> object:
        """What has to be known of this file to go on in its middle (JSON)."""
        ...

    def begin(self, saved: object) -> None:
        """A new file begins, or (`saved`) goes on."""
        ...


def open_decoder(format_: Format, schema: Struct) -> Decoder:
    """The decoder of a format for records of this schema."""
    match format_.name:
        case "json":
            return _JsonLines(schema)
        case "csv":
            return _Csv(schema, format_.separator)
        case _:
            return _Text(schema)


class _Stateless:
    def save(self) -> object:
        return None

    def begin(self, saved: object) -> None:
        pass


class _Text(_Stateless):
    """Records `{text, file, number}`; large chunks become frames without a Python string per line."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        data = chunk.data
        lines = _count(data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self._by_line(chunk, letters), len(data), lines
        if lines < _COLUMNAR_FROM:
            return self._by_line(chunk, letters), len(data), lines
        body = pl.Series("text", [text.removesuffix("\n")]).str.split("\n").explode()
        if "\r" in text:
            body = body.str.strip_suffix("\r")
        first = chunk.number
        frame = pl.DataFrame(
            [
                body.alias("text"),
                pl.repeat(chunk.file, body.len(), dtype=pl.String, eager=True).alias("file"),
                pl.int_range(first, first + body.len(), dtype=pl.Int64, eager=True).alias("number"),
            ]
        )
        frame.columns = list(self._schema.names)
        return Batch.from_frame(self._schema, frame, partition=chunk.partition), len(data), lines

    def _by_line(self, chunk: Chunk, letters: Letters) -> Batch:
        rows: list[Row] = [(text, chunk.file, number) for number, text in _texts(chunk, letters)]
        return Batch.from_rows(self._schema, rows, partition=chunk.partition)


class _JsonLines(_Stateless):
    """One object a line, fields by path."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema
        self._scan = json.JSONDecoder(parse_constant=_no_constant).raw_decode
        self._fields = [
            (path, "." not in path, from_json_field(field.type))
            for field in schema.fields
            for path in [field.path or field.name]
        ]

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        rows: list[Row] = []
        for number, text in _texts(chunk, letters):
            bare = text.strip(" \t\r\n")
            if not bare:
                continue
            try:
                rows.append(self._record(bare))
            except ValueError as error:
                letters(BadRecord, f"{chunk.file}:{number}: {error}", text)
        return Batch.from_rows(self._schema, rows, partition=chunk.partition), len(chunk.data), _count(chunk.data)

    def _record(self, text: str) -> Row:
        try:
            found, end = self._scan(text)
        except json.JSONDecodeError:
            raise ValueError("no JSON") from None
        except RecursionError:
            raise ValueError("the JSON text is nested too deeply") from None
        if end != len(text):
            raise ValueError("no JSON: there is more behind the value")
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        record = cast("dict[str, Json]", found)
        row: list[object] = []
        try:
            for path, flat, read in self._fields:
                data = record.get(path, MISSING)
                row.append(read(data if flat or data is not MISSING else look_up(record, path)))
        except ValueError as error:
            raise ValueError(f'field "{self._schema.names[len(row)]}": {error}') from None
        return tuple(row)


class _MoreNeeded(Exception):
    """The record goes on behind the chunk."""


class _Csv:
    """RFC 4180 with a header line; fields by the header's names."""

    def __init__(self, schema: Struct, separator: str) -> None:
        self._schema = schema
        self._separator = separator
        self._header: list[str] | None = None
        self._columns: list[tuple[str, int | None, Callable[[str], object], bool]] = []
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))

    def save(self) -> object:
        return self._header

    def begin(self, saved: object) -> None:
        self._header = None
        if saved is not None:
            self._use(cast("list[str]", saved))

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        rows: list[Row] = []
        lines = list(_lines(chunk.data))
        reader = csv.reader(_texts_of(lines, chunk.last), delimiter=self._separator)
        at, size = 0, 0
        while True:
            fields: list[str] | csv.Error
            try:
                fields = next(reader)
            except (StopIteration, _MoreNeeded):
                break
            except csv.Error as error:
                fields = error
            raw = lines[at] if reader.line_num == at + 1 else b"".join(lines[at : reader.line_num])
            number, at, size = chunk.number + at, reader.line_num, size + len(raw)
            row = self._row(fields, raw, chunk.file, number, letters)
            if row is not None:
                rows.append(row)
        return Batch.from_rows(self._schema, rows, partition=chunk.partition), size, at

    def _row(self, fields: list[str] | csv.Error, raw: bytes, file: str, number: int, letters: Letters) -> Row | None:
        """The record, or None for a header, an empty line or a dead letter."""
        if fields == []:
            return None
        try:
            raw.decode()
            if self._header is None and not isinstance(fields, csv.Error):
                self._use(fields)
                return None
            return self._record(fields)
        except UnicodeDecodeError:
            detail = "the text is not UTF-8"
        except ValueError as error:
            detail = str(error)
        letters(BadRecord, f"{file}:{number}: {detail}", _bare(raw.decode("utf-8", "replace")))
        return None

    def _use(self, header: list[str]) -> None:
        self._header = header
        self._columns = []
        for field in self._schema.fields:
            path = field.path or field.name
            place = header.index(path) if path in header else None
            self._columns.append((field.name, place, from_text_field(field.type), is_nullable(field.type)))

    def _record(self, fields: list[str] | csv.Error) -> Row:
        if isinstance(fields, csv.Error):
            raise ValueError(f"no CSV: {fields}")
        assert self._header is not None
        if len(fields) != len(self._header):
            raise ValueError(f"expected {len(self._header)} fields as in the header, found {len(fields)}")
        row: list[object] = []
        for name, place, read, nullable in self._columns:
            if place is None:
                if not nullable:
                    raise ValueError(f'field "{name}": there is no such column')
                row.append(None)
                continue
            try:
                row.append(read(fields[place]))
            except ValueError as error:
                raise ValueError(f'field "{name}": {error}') from None
        return tuple(row)


def _texts_of(lines: list[bytes], last: bool) -> Iterator[str]:
    for line in lines:
        yield line.decode("utf-8", "replace")
    if not last:
        raise _MoreNeeded


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines with their ends."""
    start = 0
    while (end := data.find(b"\n", start) + 1) > 0:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]


def _count(data: bytes) -> int:
    """How many lines it has."""
    return data.count(b"\n") + (len(data) > 0 and not data.endswith(b"\n"))


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _texts(chunk: Chunk, letters: Letters) -> Iterator[tuple[int, str]]:
    """The lines without their ends, with their numbers; those that are not UTF-8 become dead letters."""
    if not chunk.data:
        return
    body = chunk.data.removesuffix(b"\n")
    try:
        for number, text in enumerate(body.decode().split("\n"), chunk.number):
            yield number, text.removesuffix("\r")
    except UnicodeDecodeError:
        for number, line in enumerate(body.split(b"\n"), chunk.number):
            try:
                text = line.removesuffix(b"\r").decode()
            except UnicodeDecodeError:
                text = line.removesuffix(b"\r").decode("utf-8", "replace")
                letters(BadRecord, f"{chunk.file}:{number}: the text is not UTF-8", text)
                continue
            yield number, text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"no JSON: {name}")
