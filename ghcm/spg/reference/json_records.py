"""JSON objects into records, as strict as the language says; the rows of Parquet and Arrow files are the JSON objects
of the same content.

Of unions that come from outside each has all the fields of the record that its tag names.
"""

import base64
import decimal
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any, NoReturn, assert_never, cast

import pyarrow as pa
from pyarrow import ipc, parquet

from ghcm import types
from ghcm.errors import GhcmError, suggest
from ghcm.types import INT_MAX, INT_MIN, is_nullable
from ghcm.values import WrittenFloat, from_json
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS


def whole(row: tuple[object, ...], element: types.Struct) -> tuple[object, ...]:
    """The record itself; ValueError where a union in it lacks a field of the record that it says it is."""
    _look(row, element)
    return row


def _look(value: object, type_: types.Type) -> None:
    match type_:
        case types.Nullable(of=of) if value is not None:
            _look(value, of)
        case types.List(item=item):
            for part in cast("Sequence[object]", value):
                _look(part, item)
        case types.Map(value=held):
            for part in cast("dict[object, object]", value).values():
                _look(part, held)
        case types.Struct(fields=fields):
            parts = cast("tuple[object, ...]", value)
            _look_at_tag(parts, type_)
            for part, field in zip(parts, fields, strict=True):
                _look(part, field.type)
        case _:  # the others hold no records
            pass


def _look_at_tag(parts: tuple[object, ...], union: types.Struct) -> None:
    for tag, field, record in union.needs:
        if parts[0] == tag and parts[union.names.index(field)] is None:
            raise ValueError(f'field "{field}" of "{record}" is missing')


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
_ABSENT = object()


def value_in(text: str, type_: types.Type) -> object:
    """The value of a JSON text; ValueError where it holds none of that type."""
    data: object = json.loads(text, parse_float=WrittenFloat, parse_constant=lambda name: misfit("JSON", name))
    return from_data(data, type_)


def object_in(text: str) -> dict[str, Any]:
    """The object of a JSON text; ValueError where it holds none."""
    bare = text.strip(" \t\r\n")
    data: object = json.loads(bare, parse_float=WrittenFloat, parse_constant=lambda name: misfit("JSON", name))
    return _members(data)


def from_object(data: dict[str, Any], element: types.Struct) -> tuple[object, ...]:
    """The record of an object: each field by its path; ValueError says which field does not fit. A union has the fields
    of the record that its tag names, whatever else the object holds.
    """
    return record_of(element, lambda field: from_data(_find(data, field.path or field.name), field.type))


def record_of(element: types.Struct, read: Callable[[types.Field], object]) -> tuple[object, ...]:
    """The record of what is read for its fields, but for those that a union of its tag has not."""
    row: list[object] = []
    tags = dict(element.cases)
    for field in element.fields:
        try:
            row.append(read(field) if field.name not in tags or row[0] in tags[field.name] else None)
        except ValueError as error:
            raise ValueError(f'field "{field.name}": {error}') from None
    return tuple(row)


def _find(data: dict[str, Any], path: str) -> object:
    """What stands at a path: a flat key first, then nested objects."""
    if path in data:
        return cast("object", data[path])
    node: object = data
    for name in path.split("."):
        if not isinstance(node, dict) or name not in node:
            return _ABSENT
        node = cast("dict[str, object]", node)[name]
    return node


def from_data(data: Any, type_: types.Type) -> object:
    """The value of a type behind parsed JSON; ValueError where it holds none."""
    if data is None or data is _ABSENT:
        return None if is_nullable(type_) else misfit(str(type_), None)
    match type_:
        case types.Nullable(of=of):
            return from_data(data, of)
        case types.Null():
            misfit("null", data)
        case types.Bool():
            return data if isinstance(data, bool) else misfit("bool", data)
        case types.Int():
            return _within(data, INT_MIN, INT_MAX) if _is_whole(data) else misfit("int", data)
        case types.Int32():
            return _within(data, -(2**31), 2**31 - 1) if _is_whole(data) else misfit("int32", data)
        case types.Float():
            return _double(data) if _is_number(data) else misfit("float", data)
        case types.String():
            return _whole_text(data) if isinstance(data, str) else misfit("string", data)
        case types.Enumeration(values=values):
            return data if data in values else misfit(f"one of {', '.join(values)}", data)
        case types.Timestamp():
            return moment(data)
        case types.Duration():
            return micros(data) if _is_number(data) else misfit("duration", data)
        case types.Date() | types.Bytes() | types.Decimal():
            return from_json(data, type_)
        case types.List(item=item):
            return [from_data(each, item) for each in _items(data)]
        case types.Map(key=key, value=value):
            return _map(data, key, value)
        case types.Struct():
            return from_object(_members(data), type_)
        case _:
            assert_never(type_)


def _map(data: Any, key: types.Type, value: types.Type) -> object:
    if isinstance(key, types.String | types.Enumeration) and isinstance(data, dict):
        return {from_data(name, key): from_data(each, value) for name, each in _members(cast("object", data)).items()}
    pairs = [_items(pair) for pair in _items(data)]
    if any(len(pair) != 2 for pair in pairs):
        misfit("[key, value]", pairs)
    return {from_data(name, key): from_data(each, value) for name, each in pairs}


def _items(data: object) -> list[object]:
    return cast("list[object]", data) if isinstance(data, list) else misfit("a list", data)


def _members(data: object) -> dict[str, Any]:
    return cast("dict[str, Any]", data) if isinstance(data, dict) else misfit("an object", data)


def misfit(expected: str, data: object) -> NoReturn:
    """Say what was expected."""
    raise ValueError(f"expected {expected}, found {str(data)[:60]!r}")


def _is_whole(data: object) -> bool:
    return isinstance(data, int) and not isinstance(data, bool)


def _is_number(data: object) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)


def _within(number: int, least: int, greatest: int) -> int:
    return number if least <= number <= greatest else misfit("a smaller number", number)


def _double(number: float) -> float:
    if isinstance(number, WrittenFloat) and math.isinf(number):
        misfit("float", number)
    try:
        return float(number)
    except OverflowError:
        misfit("float", number)


def _whole_text(text: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        misfit("whole characters", ascii(text))
    return text


def micros(seconds: float) -> int:
    """Microseconds, rounded half to even from the exact number."""
    if not abs(seconds) < math.inf:
        misfit("seconds", seconds)
    return _within(round(Fraction(seconds) * 1_000_000), INT_MIN, INT_MAX)


def moment(data: Any) -> int:
    """The timestamp that a number of seconds or a text of ISO 8601 says; ValueError outside of the years 1 to 9999."""
    found = micros(data) if _is_number(data) else _moment(data) if isinstance(data, str) else misfit("timestamp", data)
    return _within(found, FIRST_MICROS, LAST_MICROS)


def _moment(text: str) -> int:
    """ISO 8601; without an offset it is UTC, decimals behind the sixth are cut."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        misfit("timestamp", text)
    day, hour, minute, second, decimals, sign, hours, minutes = found.groups()
    moment = datetime.fromisoformat(f"{day}T{hour or '00'}:{minute or '00'}:{second or '00'}+00:00")
    shift = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) // timedelta(microseconds=1)
    micros = (moment - _EPOCH) // timedelta(microseconds=1) + int(f"{decimals or ''}000000"[:6])
    return micros + (shift if sign == "-" else -shift)


def check_columns(file: str, known: list[str], element: types.Struct) -> None:
    """GhcmError where a file lacks a column that the record cannot do without."""
    for field in element.fields:
        name = field.path or field.name
        if name not in known and not is_nullable(field.type):
            raise GhcmError(f'cannot read "{file}": it has no column "{name}"', hint=suggest(name, known))


def rows_of(data: bytes, file: str, format_: str, element: types.Struct) -> Iterator[dict[str, Any] | ValueError]:
    """The rows with the columns that the record names, or why one is none: a text of it is not UTF-8. GhcmError where a
    column is missing.
    """
    table: Any = _table(data, format_)
    check_columns(file, list(_paths(table.schema)), element)
    wanted = [field.path or field.name for field in element.fields]
    chosen = [
        name for name in table.column_names if any(path == name or path.startswith(name + ".") for path in wanted)
    ]
    for row in _python_rows(table.select(chosen)):
        yield row if isinstance(row, ValueError) else {name: said(value) for name, value in row.items()}


def _python_rows(table: Any) -> Iterator[dict[str, Any] | ValueError]:
    try:
        yield from table.to_pylist()
    except UnicodeDecodeError as error:
        if table.num_rows == 1:
            yield error
            return
        for number in range(table.num_rows):
            yield from _python_rows(table.slice(number, 1))


def _table(data: bytes, format_: str) -> Any:
    arrow: Any = pa
    tables: Any = parquet
    if format_ == "parquet":
        return tables.read_table(arrow.BufferReader(data), coerce_int96_timestamp_unit="us")
    if data.startswith(b"ARROW1"):
        return ipc.open_file(data).read_all()
    return ipc.open_stream(data).read_all()


def _paths(fields: Any, before: str = "") -> Iterator[str]:
    for field in fields:
        yield before + field.name
        if isinstance(field.type, pa.StructType):
            yield from _paths(list(field.type), f"{before}{field.name}.")


def said(value: object) -> object:
    """A value as JSON says it."""
    if isinstance(value, dict):
        return {name: said(part) for name, part in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [said(part) for part in cast("list[object]", value)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, float) and math.isfinite(value):
        return WrittenFloat(repr(value))  # as the JSON object of the same content would be read
    return f"{value:f}" if isinstance(value, decimal.Decimal) else value


def spelt(value: object) -> object:
    """The value with what JSON has no numbers for as text."""
    if isinstance(value, dict):
        return {name: spelt(part) for name, part in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [spelt(part) for part in cast("list[object]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
