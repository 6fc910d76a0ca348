"""From the name of a format to what decodes it: raw lines into batches, a chunk at a time.

A decoder is given the whole lines of a chunk in order; a record that does not fit is a dead letter with its raw text,
and the rest goes on. CSV records may span lines, so a decoder says how much of the chunk it has used. How a record
stands in its format is said in `ghcm.formats`.
"""

from typing import TypeAlias, cast

import polars as pl

from ghcm.formats.csv_records import CsvRecords, csv_records
from ghcm.formats.files import bare
from ghcm.formats.zeek_log import Dialect, ZeekLog
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.cells import CellColumns
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Decoder, Letters, count_lines, lines_of, texts_of
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.spg.connectors import Format
from ghcm.types import Struct

_COLUMNAR_FROM = 256

_Failed: TypeAlias = list[tuple[str, str]]
"""Of records that do not fit the detail and the raw text."""


class TextLines:
    """Decodes lines of text; nothing of a file has to be known to go on in its middle."""

    threads = 2

    def __init__(self, schema: Struct) -> None:
        self._schema = schema

    def alone(self, chunk: Chunk) -> bool:
        """Always."""
        return True

    def save(self) -> object:
        """Nothing."""
        return None

    def begin(self, saved: object) -> None:
        """Nothing to do."""

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`."""
        data = chunk.data
        lines = chunk.count()
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
        rows: list[Row] = [(text, chunk.file, number) for number, text in texts_of(chunk, letters)]
        return Batch.from_rows(self._schema, rows, partition=chunk.partition)


class CsvLines:
    """Decodes CSV, plain lines by columns; what is saved is the header."""

    threads = 2

    def __init__(self, schema: Struct, format_: Format) -> None:
        self._schema = schema
        self._separator = format_.separator
        self._records = CsvRecords(schema, kept_by=format_.separator if format_.keeps_empty else "")
        self._columns: CellColumns | None = None

    def alone(self, chunk: Chunk) -> bool:
        """As `Decoder.alone`: behind the header, where no record spans lines."""
        return self._columns is not None and b'"' not in chunk.data

    def save(self) -> object:
        """The header of the file, None before it was read."""
        return self._records.header

    def begin(self, saved: object) -> None:
        """A new file, or one whose header is known."""
        self._records.begin(cast("list[str] | None", saved))
        self._columns = None

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`. GhcmError where the header lacks a column."""
        failed: _Failed = []
        _, size, lines = ([], 0, 0) if self._records.header is not None else self._rows(chunk, failed, header=True)
        rest = chunk.behind(size, lines)
        found = self._block(rest, failed)
        if found is None:
            rows, more, count = self._rows(rest, failed, header=False)
            found = Batch.from_rows(self._schema, rows, partition=chunk.partition), more, count
        _tell(letters, failed)
        batch, more, count = found
        return batch, size + more, lines + count

    def _block(self, chunk: Chunk, failed: _Failed) -> tuple[Batch, int, int] | None:
        """All records at once, where that can be, with the bytes and lines that were used."""
        header, cells = self._records.header, self._records.cells
        if header is None or cells is None:
            return None
        if self._columns is None:
            self._columns = CellColumns(
                self._schema, self._separator, len(header), cells.indices, Dialect(), quotes=True
            )
        odd: _Failed = []

        def single(line: bytes, number: int) -> Row | None:
            for found, raw, _ in csv_records([line], self._separator, last=False):
                return self._row(found, raw, chunk.file, number, odd)
            raise LookupError("the record goes on behind the line")

        lines = count_lines(chunk.data)
        batch = self._columns.decode(chunk, lines, single)
        if batch is None:
            return None
        failed += odd
        return batch, len(chunk.data), lines

    def _rows(self, chunk: Chunk, failed: _Failed, *, header: bool) -> tuple[list[Row], int, int]:
        """Record by record, `header`: up to the header only. The bytes and lines that were used."""
        rows: list[Row] = []
        size, lines = 0, 0
        for cells, raw, count in csv_records(lines_of(chunk.data), self._separator, last=chunk.last):
            row = self._row(cells, raw, chunk.file, chunk.number + lines, failed)
            if row is not None:
                rows.append(row)
            size, lines = size + len(raw), lines + count
            if header and self._records.header is not None:
                break
        return rows, size, lines

    def _row(self, cells: list[str] | Exception, raw: bytes, file: str, number: int, failed: _Failed) -> Row | None:
        try:
            return self._records.take(cells, raw, file)
        except ValueError as error:
            failed.append((f"{file}:{number}: {error}", bare(raw)))
            return None


class ZeekLines:
    """Decodes Zeek's logs, lines between headers by columns; what is saved are the headers that hold."""

    threads = 2

    def __init__(self, schema: Struct) -> None:
        self._schema = schema
        self._log = ZeekLog(schema)
        self._columns: CellColumns | None = None

    def alone(self, chunk: Chunk) -> bool:
        """As `Decoder.alone`: between headers."""
        return self._columns is not None and not chunk.data.startswith(b"#") and not _header_at(chunk.data)

    def save(self) -> object:
        """The headers that hold, None before there are any."""
        return None if self._log.header is None else {**self._log.settings, "#fields": self._log.header}

    def begin(self, saved: object) -> None:
        """A new file, or one whose headers are known."""
        known = dict(cast("dict[str, str]", saved or {}))
        header = cast("list[str] | None", known.pop("#fields", None))
        self._log.begin(known, header)
        self._use()

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`. GhcmError where a header lacks a column or is missing."""
        batches: list[Batch] = []
        rest = chunk
        while rest.data:
            at = _header_at(rest.data)
            if at == 0 and rest.data.startswith(b"#"):
                end = rest.data.find(b"\n") + 1 or len(rest.data)
                self._log.take_header(rest.data[:end], rest.file)
                self._use()
                rest = rest.behind(end, 1)
                continue
            data = rest.data[:at] if at else rest.data
            part = Chunk(data, rest.file, rest.number, rest.partition, rest.last)
            count = count_lines(data)
            batches += self._part(part, count, letters)
            rest = rest.behind(len(data), count)
        batch = Batch.concat(batches) if batches else Batch.from_rows(self._schema, [], partition=chunk.partition)
        return batch, len(chunk.data), rest.number - chunk.number

    def _part(self, chunk: Chunk, count: int, letters: Letters) -> list[Batch]:
        """The records of lines without headers."""
        failed: _Failed = []

        def single(line: bytes, number: int) -> Row | None:
            try:
                return self._log.take(line, chunk.file, number)
            except ValueError as error:
                failed.append((f"{chunk.file}:{number}: {error}", bare(line)))
                return None

        batch = self._columns.decode(chunk, count, single) if self._columns is not None else None
        if batch is None:
            failed.clear()
            rows = [single(line, number) for number, line in enumerate(lines_of(chunk.data), chunk.number)]
            kept = [row for row in rows if row is not None]
            batch = Batch.from_rows(self._schema, kept, partition=chunk.partition)
        _tell(letters, failed)
        return [batch] if len(batch) else []

    def _use(self) -> None:
        """Read by columns as the headers say, where that can be."""
        header, cells = self._log.header, self._log.cells
        self._columns = None
        separator, dialect = self._log.settings["#separator"], self._log.dialect
        if header is None or cells is None or len(separator) != 1 or not separator.isascii():
            return
        if dialect.empty != dialect.unset:
            self._columns = CellColumns(self._schema, separator, len(header), cells.indices, dialect, quotes=False)


def _tell(letters: Letters, failed: _Failed) -> None:
    for detail, text in failed:
        letters(BadRecord, detail, text)


def _header_at(data: bytes) -> int:
    """Where the next header begins; 0 where there is none behind the first line."""
    if b"#" not in data or data.startswith(b"#"):  # one byte is found much sooner than two
        return 0
    return data.find(b"\n#") + 1


def open_decoder(format_: Format, schema: Struct) -> Decoder:
    """The decoder of a format of lines for records of this schema."""
    match format_.name:
        case "json":
            return JsonLines(schema)
        case "csv":
            return CsvLines(schema, format_)
        case "zeek":
            return ZeekLines(schema)
        case _:
            return TextLines(schema)
