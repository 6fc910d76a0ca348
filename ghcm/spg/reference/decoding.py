"""Raw bytes of one partition into records: text and JSON by lines, CSV by its header, Zeek's logs, whose `#` headers
may change in the middle, Parquet and Arrow as JSON of the same content; as strict as the language says.

Of a file that still grows the records that are whole are there, since the next byte may go on with the rest.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, assert_never, cast

from ghcm import types
from ghcm.errors import GhcmError
from ghcm.spg.connectors import Format
from ghcm.spg.reference import json_records
from ghcm.types import Struct
from ghcm.values import WrittenFloat, from_json

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put before UTF-8; it is no part of the text."""

LONGEST = 16_384
"""Characters of a raw text that a dead letter holds."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that does not fit: its raw text, and why."""

    text: str
    detail: str


def attempt(text: str, position: str, decode: Callable[[], tuple[object, ...]]) -> tuple[object, ...] | Bad:
    """The record, or the text and its position where there is none."""
    try:
        return decode()
    except (ValueError, RecursionError) as error:
        return Bad(text, f"{position}: {error}")


def numbered_lines(data: bytes, file: str) -> Iterator[tuple[int, str | Bad]]:
    """The lines without their ends (line feed, perhaps after carriage return), numbered from 1."""
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), 1):
        bare = line.removesuffix(b"\r")
        try:
            yield number, bare.decode()
        except UnicodeDecodeError:
            yield number, Bad(bare.decode(errors="replace"), f"{file}:{number}: the text is not UTF-8")


_ESCAPE = re.compile(rb"\\x([0-9A-Fa-f]{2})|\\\\")


@dataclass
class Log:
    """What the headers have said so far; `columns` is None before the first `#fields`."""

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    columns: list[str] | None = None

    def header(self, line: str) -> bool:
        """Take a line that begins with `#`; whether it has named the columns."""
        if line.startswith("#separator "):
            self.separator = _unescaped(line.removeprefix("#separator ").encode()).decode()
            return False
        word, *rest = line.split(self.separator)
        if word == "#fields":
            self.columns = rest
            return True
        if rest:
            self.set_separator = rest[0] if word == "#set_separator" else self.set_separator
            self.empty = rest[0] if word == "#empty_field" else self.empty
            self.unset = rest[0] if word == "#unset_field" else self.unset
        return False


def zeek_value(log: Log, cell: str, type_: types.Type, other: Callable[[str, types.Type], object]) -> object:
    """The value of a cell; `other` reads what is written as in CSV. ValueError where it does not fit."""
    match type_:
        case types.Nullable(of=of):
            return None if cell == log.unset else zeek_value(log, cell, of, other)
        case _ if cell == log.unset:
            raise ValueError(f"expected {type_}, found nothing")
        case types.String():
            return "" if cell == log.empty else _unescaped(cell.encode()).decode()
        case types.Enumeration():
            return other("" if cell == log.empty else _unescaped(cell.encode()).decode(), type_)
        case types.Bytes():
            return b"" if cell == log.empty else _unescaped(cell.encode())
        case types.Bool():
            if cell not in ("T", "F"):
                raise ValueError(f"expected T or F, found {cell[:60]!r}")
            return cell == "T"
        case types.List(item=item):
            parts = [] if cell == log.empty else cell.split(log.set_separator)
            return [zeek_value(log, part, item, other) for part in parts]
        case types.Map() | types.Struct():
            raise ValueError(f"expected {type_}, which no log of Zeek holds")
        case _:  # the others as in any cell of text
            return other(cell, type_)


def _unescaped(text: bytes) -> bytes:
    r"""The bytes for which `\xHH` and `\\` stand; another backslash stands for itself."""
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()) if found[1] else b"\\", text)


def cells(log: Log, line: str) -> Iterator[tuple[str, str]]:
    """The cells of a line with the names of their columns."""
    parts = line.split(log.separator)
    names = cast("list[str]", log.columns)
    if len(parts) != len(names):
        raise ValueError(f"expected {len(names)} fields as in #fields, found {len(parts)}")
    yield from zip(names, parts, strict=True)


_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|inf|-inf")


def csv_records(
    data: bytes, file: str, separator: str, element: types.Struct, *, keeps_empty: bool = False
) -> Iterator[tuple[object, ...] | Bad]:
    """RFC 4180: the first record names the columns; a record may hold line ends in quotes, 1,000 lines at most. Where
    quotes do not fit the line is no record. `keeps_empty`: of what may be null, `""` is an empty text.
    """
    raw = re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    csv.field_size_limit(2**31 - 1)
    header: list[str] | None = None
    start = end = 0
    while (start := end) < len(raw):
        failure = ""
        fields, end = _cells_of(raw, start, separator)
        if end == start:
            failure, end = "its quotes do not fit", start + 1
        own = b"".join(raw[start:end]).removesuffix(b"\n").removesuffix(b"\r")
        position = f"{file}:{start + 1}"
        text = own.decode(errors="replace")
        if not failure and not fields:
            continue
        if own != text.encode():
            yield Bad(text, f"{position}: the text is not UTF-8")
        elif failure:
            yield Bad(text, f"{position}: {failure}")
        elif header is None:
            header = fields
            json_records.check_columns(file, header, element)
        else:
            cells = quoted_apart(fields, text, separator) if keeps_empty else fields
            yield attempt(text, position, partial(_from_cells, header, cells, element))


def _cells_of(raw: list[bytes], start: int, separator: str) -> tuple[list[str], int]:
    """The cells of the record that begins with a line, and the line behind it; that line itself where it is none."""

    def texts(count: int = 1_000) -> Iterator[str]:
        return (line.decode(errors="replace") for line in islice(raw, start, start + count))

    reader, probe = csv.reader(texts(), delimiter=separator), csv.reader(chain(texts(), "\n"), delimiter=separator)
    try:
        cells, _ = next(reader), next(probe)
        if reader.line_num > 1:  # a record of one line may have text behind its quotes
            list(csv.reader(texts(reader.line_num), delimiter=separator, strict=True))
    except csv.Error:
        return [], start
    return (cells, start + reader.line_num) if probe.line_num == reader.line_num else ([], start)


class Quoted(str):
    """A cell of quotes around nothing."""

    __slots__ = ()


def quoted_apart(cells: list[str], text: str, separator: str) -> list[str]:
    """The cells of a record, those of quotes around nothing as `Quoted`: each is looked for character by character."""
    written, state = [""], "begun"
    for char in text:
        if char == separator and state != "quoted":
            written.append("")
            state = "begun"
            continue
        written[-1] += char
        match state, char:
            case ("begun" | "closed", '"'):
                state = "quoted"
            case "quoted", '"':
                state = "closed"
            case ("begun" | "closed", _):
                state = "open"
            case _:  # the cell goes on
                pass
    return [Quoted() if each == '""' else cell for each, cell in zip(written, cells, strict=False)] + cells[
        len(written) :
    ]


def _from_cells(header: list[str], cells: list[str], element: types.Struct) -> tuple[object, ...]:
    if len(cells) != len(header):
        raise ValueError(f"expected {len(header)} fields as in the header, found {len(cells)}")
    return _row(dict(zip(reversed(header), reversed(cells), strict=True)), element, _from_text)


def _row(
    cells: dict[str, str], element: types.Struct, value: Callable[[str, types.Type], object]
) -> tuple[object, ...]:
    """The record of the cells by column; a column that is not there is null, and so is what a union has not."""

    def read(field: types.Field) -> object:
        cell = cells.get(field.path or field.name)
        return None if cell is None else value(cell, field.type)

    return json_records.whole(json_records.record_of(element, read), element)


def zeek_records(data: bytes, file: str, element: types.Struct) -> Iterator[tuple[object, ...] | Bad]:
    """Zeek's logs: `#fields` names the columns of the lines behind it."""
    log = Log()
    for number, line in numbered_lines(data, file):
        text = line.text if isinstance(line, Bad) else line
        if text.startswith("#"):
            if log.header(text):
                json_records.check_columns(file, log.columns or [], element)
        elif isinstance(line, Bad):
            yield line
        elif log.columns is None and text:
            raise GhcmError(f'cannot read "{file}": no line "#fields" comes before line {number}')
        elif text:
            yield attempt(text, f"{file}:{number}", partial(_from_log, log, text, element))


def _from_log(log: Log, line: str, element: types.Struct) -> tuple[object, ...]:
    return _row(
        dict(reversed(list(cells(log, line)))), element, lambda cell, type_: zeek_value(log, cell, type_, _from_text)
    )


def _from_text(text: str, type_: types.Type) -> object:
    match type_:
        case types.Nullable(of=of):
            if isinstance(text, Quoted) and isinstance(of, types.String):
                return ""
            return _from_text(text, of) if text else None
        case types.String():
            return str(text)
        case types.Enumeration():
            return json_records.from_data(text, type_)
        case types.Null():
            return None if not text else json_records.misfit("nothing", text)
        case types.Bool():
            return text.lower() == "true" if text.lower() in ("true", "false") else json_records.misfit("bool", text)
        case types.Int() | types.Int32():
            whole = len(text) < 40 and _WHOLE.fullmatch(text)
            return json_records.from_data(int(text), type_) if whole else json_records.misfit(str(type_), text)
        case types.Float():
            found = float(text) if _REAL.fullmatch(text) else json_records.misfit("float", text)
            overflows = math.isinf(found) and text[-1].isdigit()
            return json_records.misfit("float", text) if overflows else found
        case types.Timestamp() | types.Duration():
            whole, real = len(text) < 40 and _WHOLE.fullmatch(text), _REAL.fullmatch(text)
            return json_records.from_data(int(text) if whole else float(text) if real else text, type_)
        case types.Date() | types.Decimal():
            return from_json(text, type_)
        case types.Bytes() | types.List() | types.Map() | types.Struct():
            return json_records.from_data(json.loads(text, parse_float=WrittenFloat), type_)
        case _:
            assert_never(type_)


def decoded(data: bytes, file: str, format_: Format, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The records of one partition in order. GhcmError where a header lacks a column that the record needs."""
    match format_.name:
        case "text":
            for number, text in numbered_lines(data, file):
                yield (text, file, number) if isinstance(text, str) else text
        case "json":
            for number, text in numbered_lines(data, file):
                if isinstance(text, Bad):
                    yield text
                elif text.strip(" \t\r\n"):
                    yield attempt(text, f"{file}:{number}", partial(_from_line, text, element))
        case "csv":
            yield from csv_records(data, file, format_.separator, element, keeps_empty=format_.keeps_empty)
        case "zeek":
            yield from zeek_records(data, file, element)
        case "parquet" | "arrow":
            yield from _table(data, file, format_.name, element)
        case _:
            raise ValueError(f'there is no format "{format_.name}"')


def _from_line(text: str, element: Struct) -> tuple[object, ...]:
    return json_records.whole(json_records.from_object(json_records.object_in(text), element), element)


def _from_row(row: dict[str, Any], element: Struct) -> tuple[object, ...]:
    return json_records.whole(json_records.from_object(row, element), element)


def _table(data: bytes, file: str, format_: str, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The rows of Parquet and Arrow files are read as JSON objects of the same content would be."""
    yield from from_rows(json_records.rows_of(data, file, format_, element), file, element)


def from_rows(
    rows: Iterable[dict[str, Any] | ValueError], file: str, element: Struct
) -> Iterator[tuple[object, ...] | Bad]:
    """The records of JSON objects, which are numbered from 1; a row that is none has no text."""
    for number, row in enumerate(rows, 1):
        if isinstance(row, ValueError):
            yield Bad("", f"{file}:{number}: {row}")
            continue
        text = json.dumps(json_records.spelt(row), ensure_ascii=False, separators=(",", ":"))
        yield attempt(text, f"{file}:{number}", partial(_from_row, row, element))


def whole_records(data: bytes, format_: Format) -> bytes:
    """The bytes up to the end of the last whole line, in CSV of the last whole record.

    >>> whole_records(b"a\\nb", Format("text"))
    b'a\\n'
    >>> whole_records(b'a,b\\n1,"x\\ny', Format("csv"))
    b'a,b\\n'
    """
    lines = re.findall(rb"[^\n]*\n", data)
    return b"".join(lines[: _records_end(lines, format_.separator)] if format_.name == "csv" else lines)


def _records_end(lines: list[bytes], separator: str) -> int:
    """Behind which line the last record ends that does not go on into a line that would come next."""
    texts = [line.decode(errors="replace") for line in lines]
    reader = csv.reader([*texts, "\n"], delimiter=separator)
    start = 0
    while start < len(lines):
        with suppress(csv.Error):
            next(reader)
        if reader.line_num > len(lines):
            return start
        start = reader.line_num
    return start
