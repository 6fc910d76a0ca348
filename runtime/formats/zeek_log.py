"""Zeek's logs: lines of cells under `#` headers, which may change in the middle of a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from ghcm.errors import GhcmError
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.cells import CellColumns, Dialect
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Letters, count_lines, lines_of
from ghcm.runtime.formats.csv_records import CellReader, read_cells
from ghcm.runtime.formats.fields import from_text_field
from ghcm.runtime.formats.schemas import column_indices, union_check
from ghcm.types import Bool, Bytes, Enumeration, List, Nullable, String, Struct, Type

_ESCAPE = re.compile(rb"\\x[0-9A-Fa-f]{2}|\\\\")
_SETTINGS = {"#separator": "\t", "#set_separator": ",", "#empty_field": "(empty)", "#unset_field": "-"}


class ZeekLog:
    """Decodes the logs of one file after the other; what is saved are the headers that hold."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema
        self._check = union_check(schema)
        self._settings = dict(_SETTINGS)
        self._header: list[str] | None = None
        self._indices: list[int | None] = []
        self._readers: list[CellReader] = []
        self._columns: CellColumns | None = None

    def save(self) -> object:
        """The headers that hold, None before there are any."""
        return None if self._header is None else {**self._settings, "#fields": self._header}

    def begin(self, saved: object) -> None:
        """A new file, or one whose headers are known."""
        self._settings, self._header, self._columns = dict(_SETTINGS), None, None
        if saved is not None:
            known = dict(cast("dict[str, str]", saved))
            self._header = cast("list[str]", known.pop("#fields"))
            self._settings = known
            self._use("")

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`. GhcmError where a header lacks a column or is missing."""
        batches: list[Batch] = []
        rest = chunk
        while rest.data:
            at = _header_at(rest.data)
            if at == 0 and rest.data.startswith(b"#"):
                end = rest.data.find(b"\n") + 1 or len(rest.data)
                self._take_header(rest.data[:end], rest.file)
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
        failed: list[tuple[str, str]] = []

        def single(line: bytes, number: int) -> Row | None:
            return self._row(line, f"{chunk.file}:{number}", failed)

        batch = self._columns.decode(chunk, count, single) if self._columns is not None else None
        if batch is None:
            failed.clear()
            rows = [single(line, number) for number, line in enumerate(lines_of(chunk.data), chunk.number)]
            kept = [row for row in rows if row is not None]
            batch = Batch.from_rows(self._schema, kept, partition=chunk.partition)
        for detail, text in failed:
            letters(BadRecord, detail, text)
        return [batch] if len(batch) else []

    def _row(self, line: bytes, position: str, failed: list[tuple[str, str]]) -> Row | None:
        own = line.removesuffix(b"\n").removesuffix(b"\r")
        if not own:
            return None
        try:
            text = own.decode()
        except UnicodeDecodeError:
            failed.append((f"{position}: the text is not UTF-8", own.decode(errors="replace")))
            return None
        if self._header is None:
            raise GhcmError(
                f'cannot read "{position}": there is no line "#fields" before it',
                code="GHCM-736",
                hint="logs of Zeek without headers are JSON lines: format = json.",
            )
        cells = text.split(self._settings["#separator"])
        try:
            if len(cells) != len(self._header):
                raise ValueError(f"expected {len(self._header)} fields as in #fields, found {len(cells)}")
            return read_cells(cells, self._indices, self._readers, self._check)
        except ValueError as error:
            failed.append((f"{position}: {error}", text))
            return None

    def _take_header(self, line: bytes, file: str) -> None:
        text = line.decode(errors="replace").removesuffix("\n").removesuffix("\r")
        if text.startswith("#separator "):
            self._settings["#separator"] = _unescaped(text.removeprefix("#separator ").encode()).decode()
            return
        word, *parts = text.split(self._settings["#separator"])
        if word == "#fields":
            self._header = parts
        elif word not in self._settings or not parts:
            return
        else:
            self._settings[word] = parts[0]
        if self._header is not None:
            self._use(file)

    def _use(self, file: str) -> None:
        """Make the readers of the headers that hold."""
        assert self._header is not None
        said = self._settings
        self._indices = column_indices(file, self._header, self._schema)
        dialect = Dialect(said["#unset_field"], said["#empty_field"], said["#set_separator"], "T", "F")
        tags = dict(self._schema.cases)
        self._readers = [
            (field.name, _reader(field.type, dialect), tags.get(field.name)) for field in self._schema.fields
        ]
        separator = said["#separator"]
        able = len(separator) == 1 and separator.isascii() and dialect.empty != dialect.unset
        columns = CellColumns(self._schema, separator, len(self._header), self._indices, dialect, quotes=False)
        self._columns = columns if able else None


def _header_at(data: bytes) -> int:
    """Where the next header begins; 0 where there is none behind the first line."""
    if b"#" not in data or data.startswith(b"#"):  # one byte is found much sooner than two
        return 0
    return data.find(b"\n#") + 1


def _reader(type_: Type, dialect: Dialect) -> Callable[[str], object]:
    """The function that reads a cell of this type."""
    match type_:
        case Nullable(of=of):
            inner = _reader(of, dialect)
            return lambda cell: None if cell == dialect.unset else inner(cell)
        case String():
            return _set(type_, dialect, _text, "")
        case Enumeration():
            member = from_text_field(type_)
            return _set(type_, dialect, lambda cell: member("" if cell == dialect.empty else _text(cell)), None)
        case Bytes():
            return _set(type_, dialect, lambda cell: _unescaped(cell.encode()), b"")
        case Bool():
            return _set(type_, dialect, _truth, None)
        case List(item=item):
            each = _reader(item, dialect)
            return _set(type_, dialect, lambda cell: [each(part) for part in cell.split(dialect.set_separator)], [])
        case _:  # cells of the other types are those of CSV
            return _set(type_, dialect, from_text_field(type_), None)


def _set(type_: Type, dialect: Dialect, read: Callable[[str], object], empty: object) -> Callable[[str], object]:
    """A reader of cells that are set: those that are not do not fit, those that are empty are `empty` where it has a
    meaning."""

    def reader(cell: str) -> object:
        if cell == dialect.unset:
            raise ValueError(f"expected {type_}, found nothing")
        return empty if cell == dialect.empty and empty is not None else read(cell)

    return reader


def _text(cell: str) -> str:
    return cell if "\\" not in cell else _unescaped(cell.encode()).decode()


def _truth(cell: str) -> bool:
    if cell not in ("T", "F"):
        raise ValueError(f'expected T or F, found "{cell[:60]}"')
    return cell == "T"


def _unescaped(text: bytes) -> bytes:
    r"""The bytes for which `\xHH` and `\\` stand; another backslash stands for itself."""
    return _ESCAPE.sub(lambda found: b"\\" if found[0] == b"\\\\" else bytes.fromhex(found[0][2:].decode()), text)
