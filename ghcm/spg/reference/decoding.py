"""Raw bytes of one partition into records: text, JSON lines, CSV and Zeek's logs, as strict as the language says.

What does not fit is a `bad_record` whose input is the raw text, with replacement characters where it is no UTF-8.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn, assert_never, cast

from ghcm.errors import GhcmError, suggest
from ghcm.spg.connectors import Format
from ghcm.spg.reference.tables import rows_of, spelt
from ghcm.spg.reference.zeek import Log, cells, zeek_value
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
)
from ghcm.values import from_json

__all__ = ["LONGEST", "Bad", "decoded", "value_in"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|inf|-inf")
_ABSENT = object()
LONGEST = 16_384
"""Characters of a raw text that a dead letter holds."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that does not fit: the first characters of its raw text, and why."""

    text: str
    detail: str


def decoded(data: bytes, file: str, format_: Format, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The records of one partition in order. GhcmError where a header lacks a column that the record needs."""
    match format_.name:
        case "text":
            for number, text in _lines(data, file):
                yield (text, file, number) if isinstance(text, str) else text
        case "json":
            for number, text in _lines(data, file):
                if isinstance(text, Bad):
                    yield text
                elif text.strip(" \t\r\n"):
                    yield _attempt(text, f"{file}:{number}", lambda text: _from_object(_object(text), element))
        case "csv":
            yield from _csv(data, file, format_.separator, element)
        case "zeek":
            yield from _zeek(data, file, element)
        case "parquet" | "arrow":
            yield from _table(data, file, format_.name, element)
        case _:
            raise ValueError(f'there is no format "{format_.name}"')


def _attempt(text: str, place: str, decode: Callable[[str], tuple[object, ...]]) -> tuple[object, ...] | Bad:
    try:
        return decode(text)
    except (ValueError, RecursionError) as error:
        return Bad(text, f"{place}: {error}")


def _lines(data: bytes, file: str) -> Iterator[tuple[int, str | Bad]]:
    """The lines without their ends (line feed, perhaps after carriage return), numbered from 1."""
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), 1):
        bare = line.removesuffix(b"\r")
        try:
            yield number, bare.decode()
        except UnicodeDecodeError:
            yield number, Bad(bare.decode(errors="replace"), f"{file}:{number}: the text is not UTF-8")


# --- JSON ------------------------------------------------------------------------------------------------------------


def value_in(text: str, type_: Type) -> object:
    """The value of a JSON text; ValueError where it holds none of that type."""
    data: object = json.loads(text, parse_constant=lambda name: _misfit("JSON", name))
    return _from_data(data, type_)


def _object(text: str) -> dict[str, Any]:
    data: object = json.loads(text.strip(" \t\r\n"), parse_constant=lambda name: _misfit("JSON", name))
    return _members(data)


def _from_object(data: dict[str, Any], element: Struct) -> tuple[object, ...]:
    row: list[object] = []
    for field in element.fields:
        try:
            row.append(_from_data(_find(data, field.path or field.name), field.type))
        except ValueError as error:
            raise ValueError(f'field "{field.name}": {error}') from None
    return tuple(row)


def _find(data: dict[str, Any], path: str) -> object:
    """What stands at a path: a flat key first, then nested objects."""
    if path in data:
        return cast("object", data[path])
    place: object = data
    for name in path.split("."):
        if not isinstance(place, dict) or name not in place:
            return _ABSENT
        place = cast("dict[str, object]", place)[name]
    return place


def _from_data(data: Any, type_: Type) -> object:
    if data is None or data is _ABSENT:
        return None if is_nullable(type_) else _misfit(str(type_), None)
    match type_:
        case Nullable(of=of):
            return _from_data(data, of)
        case Null():
            _misfit("null", data)
        case Bool():
            return data if isinstance(data, bool) else _misfit("bool", data)
        case Int():
            return _within(data, INT_MIN, INT_MAX) if _is_whole(data) else _misfit("int", data)
        case Int32():
            return _within(data, -(2**31), 2**31 - 1) if _is_whole(data) else _misfit("int32", data)
        case Float():
            return _double(data) if _is_number(data) else _misfit("float", data)
        case String():
            return _whole_text(data) if isinstance(data, str) else _misfit("string", data)
        case Enumeration(values=values):
            return data if data in values else _misfit(f"one of {', '.join(values)}", data)
        case Timestamp():
            return (
                _micros(data)
                if _is_number(data)
                else _moment(data)
                if isinstance(data, str)
                else _misfit("timestamp", data)
            )
        case Duration():
            return _micros(data) if _is_number(data) else _misfit("duration", data)
        case Date() | Bytes() | Decimal():
            return from_json(data, type_)
        case List(item=item):
            return [_from_data(each, item) for each in _items(data)]
        case Map(key=key, value=value):
            return _map(data, key, value)
        case Struct():
            return _from_object(_members(data), type_)
        case _:
            assert_never(type_)


def _map(data: Any, key: Type, value: Type) -> object:
    if isinstance(key, String | Enumeration) and _is_object(data):
        return {_from_data(name, key): _from_data(each, value) for name, each in _members(data).items()}
    pairs = [_items(pair) for pair in _items(data)]
    if any(len(pair) != 2 for pair in pairs):
        _misfit("[key, value]", pairs)
    return {_from_data(name, key): _from_data(each, value) for name, each in pairs}


def _items(data: object) -> list[object]:
    return cast("list[object]", data) if isinstance(data, list) else _misfit("a list", data)


def _is_object(data: object) -> bool:
    return isinstance(data, dict)


def _members(data: object) -> dict[str, Any]:
    return cast("dict[str, Any]", data) if isinstance(data, dict) else _misfit("an object", data)


def _misfit(expected: str, data: object) -> NoReturn:
    raise ValueError(f"expected {expected}, found {str(data)[:60]!r}")


def _is_whole(data: object) -> bool:
    return isinstance(data, int) and not isinstance(data, bool)


def _is_number(data: object) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)


def _within(number: int, least: int, greatest: int) -> int:
    return number if least <= number <= greatest else _misfit("a smaller number", number)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        _misfit("float", number)


def _whole_text(text: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        _misfit("whole characters", ascii(text))
    return text


def _micros(seconds: float) -> int:
    """Microseconds, rounded half to even from the exact number."""
    if not math.isfinite(seconds):
        _misfit("seconds", seconds)
    return _within(round(Fraction(seconds) * 1_000_000), INT_MIN, INT_MAX)


def _moment(text: str) -> int:
    """ISO 8601; without an offset it is UTC, decimals behind the sixth are cut."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        _misfit("timestamp", text)
    day, hour, minute, second, decimals, sign, hours, minutes = found.groups()
    moment = datetime.fromisoformat(f"{day}T{hour or '00'}:{minute or '00'}:{second or '00'}+00:00")
    shift = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) // timedelta(microseconds=1)
    micros = (moment - _EPOCH) // timedelta(microseconds=1) + int(f"{decimals or ''}000000"[:6])
    return micros + (shift if sign == "-" else -shift)


def _from_row(row: dict[str, Any], element: Struct, _: str) -> tuple[object, ...]:
    return _from_object(row, element)


def _table(data: bytes, file: str, format_: str, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The rows of Parquet and Arrow files are read as JSON objects of the same content would be."""
    for number, row in enumerate(rows_of(data, file, format_, element), 1):
        text = json.dumps(spelt(row), ensure_ascii=False, separators=(",", ":"))
        yield _attempt(text, f"{file}:{number}", partial(_from_row, row, element))


# --- CSV -------------------------------------------------------------------------------------------------------------


def _csv(data: bytes, file: str, separator: str, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """RFC 4180: the first record names the columns; a record may hold line ends in quotes."""
    raw = re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader((line.decode(errors="replace") for line in raw), delimiter=separator)
    header: list[str] | None = None
    while (start := reader.line_num) < len(raw):
        failure = ""
        fields: list[str] = []
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            failure = str(error)
        own = b"".join(raw[start : reader.line_num]).removesuffix(b"\n").removesuffix(b"\r")
        place = f"{file}:{start + 1}"
        text = own.decode(errors="replace")
        if not failure and not fields:
            continue
        if own != text.encode():
            yield Bad(text, f"{place}: the text is not UTF-8")
        elif failure:
            yield Bad(text, f"{place}: {failure}")
        elif header is None:
            header = fields
            _check_header(file, header, element)
        else:
            yield _attempt(text, place, partial(_from_cells, header, fields, element))


def _from_cells(header: list[str], cells: list[str], element: Struct, _: str) -> tuple[object, ...]:
    if len(cells) != len(header):
        raise ValueError(f"expected {len(header)} fields as in the header, found {len(cells)}")
    return _row(dict(zip(reversed(header), reversed(cells), strict=True)), element, _from_text)


def _row(cells: dict[str, str], element: Struct, value: Callable[[str, Type], object]) -> tuple[object, ...]:
    """The record of the cells by column; a column that is not there is null."""
    row: list[object] = []
    for field in element.fields:
        cell = cells.get(field.path or field.name)
        try:
            row.append(None if cell is None else value(cell, field.type))
        except ValueError as error:
            raise ValueError(f'field "{field.name}": {error}') from None
    return tuple(row)


def _check_header(file: str, header: list[str], element: Struct) -> None:
    """That a file has every column that the record cannot do without."""
    for field in element.fields:
        name = field.path or field.name
        if name not in header and not is_nullable(field.type):
            raise GhcmError(f'cannot read "{file}": it has no column "{name}"', hint=suggest(name, header))


def _zeek(data: bytes, file: str, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """Zeek's logs: `#fields` names the columns of the lines behind it."""
    log = Log()
    for number, line in _lines(data, file):
        text = line.text if isinstance(line, Bad) else line
        if text.startswith("#"):
            if log.header(text):
                _check_header(file, log.columns or [], element)
        elif isinstance(line, Bad):
            yield line
        elif log.columns is None and text:
            raise GhcmError(f'cannot read "{file}": no line "#fields" comes before line {number}')
        elif text:
            yield _attempt(text, f"{file}:{number}", lambda text: _from_log(log, text, element))


def _from_log(log: Log, line: str, element: Struct) -> tuple[object, ...]:
    return _row(
        dict(reversed(list(cells(log, line)))), element, lambda cell, type_: zeek_value(log, cell, type_, _from_text)
    )


def _from_text(text: str, type_: Type) -> object:
    match type_:
        case Nullable(of=of):
            return _from_text(text, of) if text else None
        case String():
            return text
        case Enumeration():
            return _from_data(text, type_)
        case Null():
            return None if not text else _misfit("nothing", text)
        case Bool():
            return text.lower() == "true" if text.lower() in ("true", "false") else _misfit("bool", text)
        case Int() | Int32():
            return (
                _from_data(int(text), type_) if len(text) < 40 and _WHOLE.fullmatch(text) else _misfit(str(type_), text)
            )
        case Float():
            return float(text) if _REAL.fullmatch(text) else _misfit("float", text)
        case Timestamp() | Duration():
            if len(text) < 40 and _WHOLE.fullmatch(text):
                return _micros(int(text))
            return _micros(float(text)) if _REAL.fullmatch(text) else _from_data(text, type_)
        case Date() | Decimal():
            return from_json(text, type_)
        case Bytes() | List() | Map() | Struct():
            return _from_data(json.loads(text), type_)
        case _:
            assert_never(type_)
