"""Fields of raw records into canonical values: one function per type for JSON values and one for the text of CSV.

Strict: what is not said here does not fit. The functions raise ValueError that says what was expected and found.
"""

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import NoReturn, TypeAlias, assert_never, cast

from ghcm import types
from ghcm.types import INT_MAX, INT_MIN, Type
from ghcm.values import Json, WrittenFloat, has_decimal
from ghcm.values.reading import MISSING, make_reader, read_pair, read_string, refuse, refuse_value
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS, parse_date, parse_timestamp

Reader: TypeAlias = Callable[[Json], object]
"""From a JSON value (or `MISSING`) to a canonical one; ValueError where it does not fit."""

_FIRST_LIKELY, _LAST_LIKELY = 631_152_000_000_000, 4_102_444_800_000_000
"""Microseconds from 1990 to 2100: a number that is in these years by another unit was probably meant so."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|nan|inf|-inf", re.ASCII)
_OWN_FLOAT = re.compile(
    r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity)|nan", re.IGNORECASE | re.ASCII
)
_MICROSECONDS = re.compile(r"-?\d{1,15}\.\d{6}", re.ASCII)
"""Of a duration that a double cannot hold."""


def look_up(record: dict[str, Json], path: str) -> Json:
    """The value at a path: as a flat key first, then as a dotted path into nested objects; `MISSING` if there is none.

    >>> look_up({"id": {"orig_h": "a"}}, "id.orig_h"), look_up({"id.orig_h": "b"}, "id.orig_h")
    ('a', 'b')
    """
    found = record.get(path, MISSING)
    if found is not MISSING or "." not in path:
        return found
    here: Json = record
    for name in path.split("."):
        here = _child(here, name)
    return here


def _child(parent: Json, name: str) -> Json:
    return cast("dict[str, Json]", parent).get(name, MISSING) if isinstance(parent, dict) else MISSING


def from_json_field(type_: Type, *, own: bool = False) -> Reader:
    """The function that reads JSON values of a field of this type; `own`: also what only sinks write (floats that JSON
    has no numbers for, durations that no double holds, times of any year), by names instead of paths.
    """
    match type_:
        case types.Nullable(of=of):
            inner = from_json_field(of, own=own)
            return lambda data: None if data is None or data is MISSING else inner(data)
        case types.Null():
            return lambda data: None if data is None or data is MISSING else refuse("null", data)
        case types.Bool():
            return lambda data: data if data is True or data is False else refuse("bool", data)
        case types.Int():
            return lambda data: _integer(data, "int", INT_MIN, INT_MAX)
        case types.Int32():
            return lambda data: _integer(data, "int32", -(2**31), 2**31 - 1)
        case types.Float() if not own:
            return _float
        case types.String():
            return read_string
        case types.Enumeration():
            return _member(type_)
        case types.Timestamp():
            return _own_timestamp if own else _timestamp
        case types.Date():
            return lambda data: parse_date(data) if isinstance(data, str) else refuse("date", data)
        case types.Duration() if not own:
            return _duration
        case types.Decimal() | types.Bytes() | types.Float() | types.Duration():
            return make_reader(type_)
        case types.List(item=item):
            return _list(from_json_field(item, own=own))
        case types.Map(key=key, value=value):
            return _map(key, from_json_field(key, own=own), from_json_field(value, own=own))
        case types.Struct():
            return _struct(type_, own=own)
        case _:
            assert_never(type_)


class _Quoted(str):
    """A cell of CSV with quotes around nothing, where these mean something."""

    __slots__ = ()


QUOTED = _Quoted()


def from_text_field(type_: Type, *, own: bool = False) -> Callable[[str], object]:
    """The function that reads the text of a CSV field of this type; an empty field is null, or "" for a string. `own`
    as in `from_json_field`; bytes are as they are in JSON then, but without quotes.
    """
    match type_:
        case types.Nullable(of=types.String()):
            return lambda text: text or ("" if text is QUOTED else None)
        case types.Nullable(of=of):
            inner, read_empty = from_text_field(of, own=own), own and isinstance(of, types.Bytes)
            return lambda text: inner(text) if text or (read_empty and text is QUOTED) else None
        case types.String():
            return lambda text: text or ""
        case types.Enumeration():
            return _member(type_)
        case types.Int():
            return lambda text: _integer(_digits(text, "int"), "int", INT_MIN, INT_MAX)
        case types.Int32():
            return lambda text: _integer(_digits(text, "int32"), "int32", -(2**31), 2**31 - 1)
        case types.Float():
            return _own_float_text if own else _float_text
        case types.Bool():
            return _bool_text
        case types.Timestamp():
            moment = _own_timestamp if own else _timestamp
            return lambda text: moment(_number(text) if _FLOAT.fullmatch(text) else text)
        case types.Date():
            return parse_date
        case types.Duration():
            exact = make_reader(type_) if own else None
            return lambda text: exact(text) if exact and _MICROSECONDS.fullmatch(text) else _duration_text(text)
        case types.Decimal():
            return make_reader(type_)
        case types.Null():
            return lambda text: refuse("nothing", text) if text else None
        case types.Bytes() if own:
            return make_reader(type_)
        case types.Bytes() | types.List() | types.Map() | types.Struct():
            nested = from_json_field(type_, own=own)
            return lambda text: nested(_json(text, type_))
        case _:
            assert_never(type_)


def _integer(data: Json, name: str, least: int, greatest: int) -> int:
    if type(data) is not int:
        refuse(name, data)
    if not least <= data <= greatest:
        raise ValueError(f"the number does not fit into {name}")
    return data


def _is_number(data: Json) -> bool:
    return isinstance(data, float) or type(data) is int


def _float(data: Json) -> float:
    if type(data) is float:  # as JSON has it, which writes no infinity
        return data if math.isfinite(data) else _refuse_double()
    if isinstance(data, float):
        return _refuse_double() if isinstance(data, WrittenFloat) and data.overflows else float(data)
    if type(data) is not int:
        refuse("float", data)
    try:
        return float(data)
    except OverflowError:
        _refuse_double()


def _refuse_double() -> NoReturn:
    raise ValueError("the number does not fit into float") from None


def _float_text(text: str) -> float:
    found = float(text) if _FLOAT.fullmatch(text) else refuse("float", text)
    return found if math.isfinite(found) or not text[-1].isdigit() else _refuse_double()


def _own_float_text(text: str) -> float:
    return float(text) if _OWN_FLOAT.fullmatch(text) else refuse("float", text)


def _member(type_: types.Enumeration) -> Callable[[Json], object]:
    values = frozenset(type_.values)

    def read(data: Json) -> object:
        return data if isinstance(data, str) and data in values else refuse_value(type_, data)

    return read


def _micros(seconds: Json, name: str) -> int:
    """Microseconds of a number of seconds, rounded half to even from its exact value."""
    if isinstance(seconds, int):
        return seconds * 1_000_000
    number = cast("float", seconds)
    near = number * 1e6
    if not math.isfinite(near):
        raise ValueError(f"the number does not fit into {name}")
    micros = round(near)
    if abs(near - micros) + math.ulp(near) / 2 >= 0.5:  # the product's own rounding may have crossed a half
        micros = round(Fraction(number) * 1_000_000)
    return micros


def _duration(seconds: Json) -> int:
    micros = _micros(seconds, "duration") if _is_number(seconds) else refuse("duration", seconds)
    if not INT_MIN <= micros <= INT_MAX:
        raise ValueError("the number does not fit into duration")
    return micros


def _timestamp(data: Json) -> int:
    if isinstance(data, str):
        return _moment(data)
    return _in_years(_micros(data, "timestamp")) if _is_number(data) else refuse("timestamp", data)


def _in_years(micros: int) -> int:
    if not FIRST_MICROS <= micros <= LAST_MICROS:
        raise ValueError(f"the moment does not fit into the years 1 to 9999{_hint_of_unit(micros)}")
    return micros


def _hint_of_unit(micros: int) -> str:
    """What a number far too large may have counted instead of seconds."""
    for unit, parts in (("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)):
        if _FIRST_LIKELY <= micros // parts <= _LAST_LIKELY:
            return f": numbers count seconds since 1970; in {unit} it would be written timestamp in {unit}"
    return ""


def _own_timestamp(data: Json) -> int:
    """Of any year, as sinks write them; else as others do."""
    if isinstance(data, str):
        try:
            return parse_timestamp(data)
        except ValueError:
            return _moment(data)
    return _timestamp(data)


def _duration_text(text: str) -> int:
    return _duration(_number(text) if _FLOAT.fullmatch(text) else text)


def _moment(text: str) -> int:
    """Microseconds since 1970 of an ISO 8601 text; without an offset it is UTC, decimals behind the sixth are cut."""
    found = _ISO.fullmatch(text)
    if found is None:
        refuse("timestamp", text)
    year, month, day, hour, minute, second, decimals, offset = found.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
    except ValueError:
        refuse("timestamp", text)
    micros = (moment - _EPOCH) // _MICRO + int((decimals or "0")[:6].ljust(6, "0"))
    if offset and offset not in "Zz":
        hours, minutes = int(offset[1:3]), int(offset[3:].lstrip(":") or 0)
        shift = (hours * 60 + minutes) * 60_000_000
        micros -= shift if offset[0] == "+" else -shift
    return _in_years(micros)


def _list(item: Reader) -> Reader:
    def read(data: Json) -> object:
        if not isinstance(data, list):
            refuse("list", data)
        return [item(part) for part in cast("list[Json]", data)]

    return read


def _map(key: Type, of_key: Reader, of_value: Reader) -> Reader:
    def read_object(data: Json) -> object:
        if not isinstance(data, dict):
            return read_pairs(data)
        return {of_key(name): of_value(value) for name, value in cast("dict[str, Json]", data).items()}

    def read_pairs(data: Json) -> object:
        if not isinstance(data, list):
            refuse("map", data)
        pairs = map(read_pair, cast("list[Json]", data))
        return {of_key(name): of_value(value) for name, value in pairs}

    return read_object if isinstance(key, types.String | types.Enumeration) else read_pairs


def field_readers(type_: types.Struct, *, own: bool) -> list[tuple[str, Reader, tuple[str, ...] | None]]:
    """Of each field its path, the function that reads it, and the tags of the records of a union that have it (None:
    all). `own` as in `from_json_field`.
    """
    tags = dict(type_.cases)
    return [
        ((not own and part.path) or part.name, from_json_field(part.type, own=own), tags.get(part.name))
        for part in type_.fields
    ]


def _struct(type_: types.Struct, *, own: bool) -> Reader:
    fields = field_readers(type_, own=own)

    def read(data: Json) -> object:
        if not isinstance(data, dict):
            refuse("object", data)
        record = cast("dict[str, Json]", data)
        row: list[object] = []
        for path, part, owners in fields:
            row.append(part(look_up(record, path)) if owners is None or row[0] in owners else None)
        return tuple(row)

    return read


def _digits(text: str, name: str) -> int:
    return int(text) if len(text) < 40 and _INT.fullmatch(text) else refuse(name, text)


def _number(text: str) -> Json:
    return int(text) if len(text) < 40 and _INT.fullmatch(text) else float(text)


def _bool_text(text: str) -> bool:
    lowered = text.lower()
    return lowered == "true" if lowered in ("true", "false") else refuse("bool", text)


def _json(text: str, type_: Type) -> Json:
    try:
        return json.loads(text, parse_float=WrittenFloat if has_decimal(type_) else None)
    except (ValueError, RecursionError):
        refuse(str(type_), text)
