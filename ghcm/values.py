"""The JSON forms of canonical values: how values stand in calls, replies, sinks, dead letters and in the SPG.

`writer` and `reader` make the conversion of one type once, for loops over many values. This module neither compares
nor evaluates, and it does not decode raw records of sources, which follow looser rules.

    bool, int, int32 -> the same      float -> number, or "NaN", "Infinity", "-Infinity"      decimal -> string
    string -> string                  bytes -> base64 string                                  null -> null
    timestamp -> "2026-01-02T03:04:05.000006Z"     date -> "2026-01-02"     duration -> number of seconds
    list -> array      struct -> object      map -> object where keys are strings, else array of [key, value]
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal as Number
from decimal import InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, TypeAlias, assert_never, cast

from ghcm.moments import date_text, parse_date, parse_timestamp, timestamp_text
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
    member_text,
    strip,
)

__all__ = [
    "Json",
    "date_text",
    "decode",
    "encode",
    "encoder",
    "from_json",
    "key_text",
    "parse_date",
    "parse_timestamp",
    "reader",
    "refuse_value",
    "timestamp_text",
    "to_json",
    "writer",
]

Json: TypeAlias = object
"""What the `json` module reads and writes: None, bool, int, float, str, list and dict of these."""

_MICROS = 1_000_000
_REASONABLE = 12
"""So many values of an enum a message lists."""
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(value: object, type_: Type) -> Json:
    """The JSON form of a canonical value of `type_`.

    >>> from ghcm.types import Field
    >>> to_json((1, None), Struct((Field("at", Timestamp()), Field("label", Nullable(String())))))
    {'at': '1970-01-01T00:00:00.000001Z', 'label': None}
    """
    return writer(type_)(value)


def from_json(data: Json, type_: Type) -> object:
    """The canonical value behind a JSON form; ValueError says what did not fit and where.

    >>> from_json(["a", 1], List(String()))
    Traceback (most recent call last):
    ValueError: [1]: expected string, found 1
    """
    return reader(type_)(data)


def encode(value: object, type_: Type) -> str:
    """The JSON form as compact text; equal values give equal text."""
    return _COMPACT.encode(writer(type_)(value))


def encoder(type_: Type) -> Callable[[object], str]:
    """The function that does `encode` for many values of one type."""
    if isinstance(type_, String):
        return cast("Callable[[object], str]", json.encoder.encode_basestring)
    write, text = writer(type_), _COMPACT.encode
    return lambda value: text(write(value))


def decode(text: str, type_: Type) -> object:
    """The inverse of `encode`; ValueError where the text is no JSON or does not fit."""
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the JSON text is nested too deeply") from None
    return reader(type_)(data)


def key_text(value: object, type_: Type) -> str:
    """The text of a sink key: a string as itself, another scalar as JSON without quotes, a struct as compact array.

    >>> from ghcm.types import tuple_of
    >>> key_text((1, "a"), tuple_of(Int(), String()))
    '[1,"a"]'
    """
    inner = strip(type_)
    if isinstance(inner, Struct) and value is not None:
        parts = cast("tuple[object, ...]", value)
        return _COMPACT.encode([to_json(part, field.type) for part, field in zip(parts, inner.fields, strict=True)])
    data = to_json(value, type_)
    return data if isinstance(data, str) else _COMPACT.encode(data)


# --- writing ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def writer(type_: Type) -> Callable[[object], Json]:
    """The function that gives the JSON form of values of `type_`."""
    match type_:
        case Null() | Bool() | Int() | Int32() | String() | Enumeration():
            return _same
        case Float():
            return _write_float
        case Decimal():
            return str
        case Bytes():
            return lambda value: base64.b64encode(cast("bytes", value)).decode("ascii")
        case Timestamp():
            return lambda value: timestamp_text(cast("int", value))
        case Date():
            return lambda value: date_text(cast("int", value))
        case Duration():
            return _write_duration
        case Nullable(of=of):
            inner = writer(of)
            return inner if inner is _same else lambda value: None if value is None else inner(value)
        case List(item=item):
            each = writer(item)
            return lambda value: [each(part) for part in cast("list[object]", value)]
        case Map(key=key, value=held):
            return _map_writer(key, writer(key), writer(held))
        case Struct(fields=fields):
            parts = [(part.name, writer(part.type)) for part in fields]
            return lambda value: {
                name: write(part) for (name, write), part in zip(parts, cast("tuple[object, ...]", value), strict=True)
            }
        case _:
            assert_never(type_)


def _same(value: object) -> Json:
    return value


def _write_float(value: object) -> Json:
    number = cast("float", value)
    if math.isfinite(number):
        return float(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _write_duration(value: object) -> Json:
    micros = cast("int", value)
    if micros % _MICROS == 0:
        return micros // _MICROS
    seconds = micros / _MICROS
    if round(Fraction(seconds) * _MICROS) == micros:
        return seconds
    sign, size = "-" if micros < 0 else "", abs(micros)  # too long for a double: the digits as text
    return f"{sign}{size // _MICROS}.{size % _MICROS:06d}"


def _map_writer(
    key: Type, of_key: Callable[[object], Json], of_value: Callable[[object], Json]
) -> Callable[[object], Json]:
    if isinstance(key, String | Enumeration):
        return lambda value: {name: of_value(held) for name, held in cast("dict[str, object]", value).items()}
    return lambda value: [[of_key(k), of_value(held)] for k, held in cast("dict[object, object]", value).items()]


# --- reading ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def reader(type_: Type) -> Callable[[Json], object]:
    """The function that gives the canonical value of JSON forms of `type_`; it raises ValueError."""
    match type_:
        case Null():
            return lambda data: None if data is None else _refuse("null", data)
        case Bool():
            return lambda data: data if isinstance(data, bool) else _refuse("bool", data)
        case Int():
            return lambda data: _read_int(data, "int", INT_MIN, INT_MAX)
        case Int32():
            return lambda data: _read_int(data, "int32", -(2**31), 2**31 - 1)
        case Float():
            return _read_float
        case Decimal():
            return lambda data: _read_decimal(data, type_)
        case String():
            return _read_string
        case Enumeration():
            return lambda data: data if data in type_.values else refuse_value(type_, data)
        case Bytes():
            return _read_bytes
        case Timestamp():
            return lambda data: parse_timestamp(data) if isinstance(data, str) else _refuse("timestamp", data)
        case Date():
            return lambda data: parse_date(data) if isinstance(data, str) else _refuse("date", data)
        case Duration():
            return _read_duration
        case Nullable(of=of):
            inner = reader(of)
            return lambda data: None if data is None else inner(data)
        case List(item=item):
            return _list_reader(reader(item))
        case Map(key=key, value=held):
            return _map_reader(key, reader(key), reader(held))
        case Struct():
            return _struct_reader(type_)
        case _:
            assert_never(type_)


def _refuse(expected: str, data: Json) -> NoReturn:
    text = json.dumps(data, ensure_ascii=False, default=str)
    raise ValueError(f"expected {expected}, found {text if len(text) <= 60 else text[:57] + '...'}")


def refuse_value(type_: Enumeration, data: Json) -> NoReturn:
    """Say that a text is no value of an enum."""
    values = ", ".join(map(member_text, type_.values[:_REASONABLE]))
    further = ", ..." if len(type_.values) > _REASONABLE else ""
    _refuse(f"one of {values}{further}", data)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _read_int(data: Json, name: str, least: int, greatest: int) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        _refuse(name, data)
    if not least <= data <= greatest:
        raise ValueError(f"{data} does not fit into {name}")
    return data


def _read_float(data: Json) -> float:
    if isinstance(data, str) and data in _SPECIAL:
        return _SPECIAL[data]
    if not isinstance(data, int | float) or isinstance(data, bool):
        _refuse("float", data)
    try:
        return float(data)
    except OverflowError:
        raise ValueError("the number does not fit into float") from None


def _read_decimal(data: Json, type_: Decimal) -> Number:
    if not isinstance(data, str | int) or isinstance(data, bool):
        _refuse(str(type_), data)
    try:
        number = Number(data)
        exact = number.quantize(Number(1).scaleb(-type_.scale))
    except InvalidOperation:
        _refuse(str(type_), data)
    if exact != number or len(exact.as_tuple().digits) > type_.precision:
        raise ValueError(f"{data} does not fit into {type_}")
    return exact


def _read_string(data: Json) -> str:
    if not isinstance(data, str):
        _refuse("string", data)
    if not data.isascii():
        try:
            data.encode()
        except UnicodeEncodeError:
            raise ValueError("the string holds half a surrogate pair") from None
    return data


def _read_bytes(data: Json) -> bytes:
    if not isinstance(data, str):
        _refuse("bytes", data)
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        _refuse("bytes in base64", data)


def _read_duration(data: Json) -> int:
    micros: int
    if isinstance(data, str) and re.fullmatch(r"-?\d{1,15}\.\d{6}", data, re.ASCII):
        micros = int(data.replace(".", ""))
    elif isinstance(data, int) and not isinstance(data, bool):
        micros = data * _MICROS
    elif isinstance(data, float) and math.isfinite(data):
        micros = round(Fraction(data) * _MICROS)
    else:
        _refuse("duration in seconds", data)
    if not INT_MIN <= micros <= INT_MAX:
        raise ValueError(f"{data} seconds do not fit into duration")
    return micros


def _list_reader(each: Callable[[Json], object]) -> Callable[[Json], object]:
    def read(data: Json) -> object:
        if not isinstance(data, list):
            _refuse("list", data)
        return [_at(f"[{index}]", each, part) for index, part in enumerate(cast("list[Json]", data))]

    return read


def _map_reader(
    key: Type, of_key: Callable[[Json], object], of_value: Callable[[Json], object]
) -> Callable[[Json], object]:
    def read_object(data: Json) -> object:
        if not isinstance(data, dict):
            _refuse("map as an object", data)
        pairs = cast("dict[str, Json]", data).items()
        return {_at(name, of_key, name): _at(name, of_value, held) for name, held in pairs}

    def read_pairs(data: Json) -> object:
        if not isinstance(data, list):
            _refuse("map as an array of [key, value]", data)
        result: dict[object, object] = {}
        for index, pair in enumerate(cast("list[Json]", data)):
            name, held = _two(pair)
            result[_at(f"[{index}]", of_key, name)] = _at(f"[{index}]", of_value, held)
        return result

    return read_object if isinstance(key, String | Enumeration) else read_pairs


def _two(data: Json) -> list[Json]:
    pair: list[Json] = cast("list[Json]", data) if isinstance(data, list) else [data]
    return pair if len(pair) == 2 else _refuse("[key, value]", pair)


def _struct_reader(type_: Struct) -> Callable[[Json], object]:
    parts = [(part.name, reader(part.type), isinstance(part.type, Nullable | Null)) for part in type_.fields]
    names = set(type_.names)

    def read(data: Json) -> object:
        if not isinstance(data, dict):
            _refuse("object", data)
        given = cast("dict[str, Json]", data)
        for name in given:
            if name not in names:
                raise ValueError(f'"{name}": there is no such field')
        for name, _, nullable in parts:
            if name not in given and not nullable:
                raise ValueError(f'"{name}": the field is missing')
        return tuple(_at(f'"{name}"', read_part, given.get(name)) for name, read_part, _ in parts)

    return read


def _at(place: str, read: Callable[[Json], object], data: Json) -> object:
    try:
        return read(data)
    except ValueError as error:
        text = str(error)
        join = "" if text.startswith("[") else "." if text.startswith('"') else ": "
        raise ValueError(f"{place}{join}{text}") from None
