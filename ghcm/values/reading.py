"""The functions that read the JSON form of canonical values, made once for each type.

What does not fit is said with its path, as ValueError.
"""

import base64
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal as Number
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, assert_never, cast

from ghcm import types
from ghcm.types import INT_MAX, INT_MIN, Type, member_text
from ghcm.values.decimals import WrittenFloat, fitted
from ghcm.values.texts import shown
from ghcm.values.timestamps import parse_date, parse_timestamp
from ghcm.values.writing import MICROS, Json

MISSING: Json = ...
"""Stands for what a record does not have; no JSON says it."""

_REASONABLE = 12
"""So many values of an enum a message lists."""
_DIGITS = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def make_reader(type_: Type) -> Callable[[Json], object]:
    """The function that gives the canonical value of JSON forms of `type_`; it raises ValueError."""
    match type_:
        case types.Null():
            return lambda data: None if data is None else refuse("null", data)
        case types.Bool():
            return lambda data: data if isinstance(data, bool) else refuse("bool", data)
        case types.Int():
            return lambda data: _read_int(data, "int", INT_MIN, INT_MAX)
        case types.Int32():
            return lambda data: _read_int(data, "int32", -(2**31), 2**31 - 1)
        case types.Float():
            return _read_float
        case types.Decimal():
            return lambda data: _read_decimal(data, type_)
        case types.String():
            return read_string
        case types.Enumeration():
            return lambda data: data if data in type_.values else refuse_value(type_, data)
        case types.Bytes():
            return _read_bytes
        case types.Timestamp():
            return lambda data: parse_timestamp(data) if isinstance(data, str) else refuse("timestamp", data)
        case types.Date():
            return lambda data: parse_date(data) if isinstance(data, str) else refuse("date", data)
        case types.Duration():
            return _read_duration
        case types.Nullable(of=of):
            inner = make_reader(of)
            return lambda data: None if data is None else inner(data)
        case types.List(item=item):
            return _list_reader(make_reader(item))
        case types.Map(key=key, value=held):
            return _map_reader(key, make_reader(key), make_reader(held))
        case types.Struct():
            return _struct_reader(type_)
        case _:
            assert_never(type_)


reader = lru_cache(maxsize=4096)(make_reader)
"""As `make_reader`, which is asked once for each type."""


def refuse(expected: str, data: Json) -> NoReturn:
    """Say what was expected, and what was found."""
    if data is MISSING:
        raise ValueError(f"expected {expected}, found nothing")
    raise ValueError(f"expected {expected}, found {shown(json.dumps(data, ensure_ascii=False, default=str))}")


def refuse_value(type_: types.Enumeration, data: Json) -> NoReturn:
    """Say that data is no value of an enum."""
    if data is MISSING:
        refuse(str(type_), data)
    values = ", ".join(map(member_text, type_.values[:_REASONABLE]))
    further = ", ..." if len(type_.values) > _REASONABLE else ""
    refuse(f"one of {values}{further}", data)


def _read_int(data: Json, name: str, least: int, greatest: int) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        refuse(name, data)
    if not least <= data <= greatest:
        raise ValueError(f"{data} does not fit into {name}")
    return data


def _read_float(data: Json) -> float:
    if isinstance(data, str) and data in _SPECIAL:
        return _SPECIAL[data]
    if not isinstance(data, int | float) or isinstance(data, bool):
        refuse("float", data)
    try:
        return float(data)
    except OverflowError:
        raise ValueError("the number does not fit into float") from None


def _read_decimal(data: Json, type_: types.Decimal) -> Number:
    if isinstance(data, WrittenFloat):
        digits = data.digits()
        return refuse(f"{type_}, without an exponent", data) if digits is None else _read_decimal(digits, type_)
    if isinstance(data, float):
        refuse(f"{type_} as a text or a whole number", data)
    if not isinstance(data, str | int) or isinstance(data, bool):
        refuse(str(type_), data)
    if isinstance(data, str) and not _DIGITS.fullmatch(data):
        refuse(str(type_), data)
    return fitted(data, type_)


def read_string(data: Json) -> str:
    """The text; ValueError where it is none, or holds half a surrogate pair."""
    if not isinstance(data, str):
        refuse("string", data)
    if not data.isascii():
        try:
            data.encode()
        except UnicodeEncodeError:
            raise ValueError("the string holds half a surrogate pair") from None
    return data


def _read_bytes(data: Json) -> bytes:
    if not isinstance(data, str):
        refuse("bytes", data)
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        refuse("bytes in base64", data)


def _read_duration(data: Json) -> int:
    micros: int
    if isinstance(data, str) and re.fullmatch(r"-?\d{1,15}\.\d{6}", data, re.ASCII):
        micros = int(data.replace(".", ""))
    elif isinstance(data, int) and not isinstance(data, bool):
        micros = data * MICROS
    elif isinstance(data, float) and math.isfinite(data):
        micros = round(Fraction(data) * MICROS)
    else:
        refuse("duration in seconds", data)
    if not INT_MIN <= micros <= INT_MAX:
        raise ValueError(f"{data} seconds do not fit into duration")
    return micros


def _list_reader(each: Callable[[Json], object]) -> Callable[[Json], object]:
    def read(data: Json) -> object:
        if not isinstance(data, list):
            refuse("list", data)
        return [_at(f"[{index}]", each, part) for index, part in enumerate(cast("list[Json]", data))]

    return read


def _map_reader(
    key: Type, of_key: Callable[[Json], object], of_value: Callable[[Json], object]
) -> Callable[[Json], object]:
    def read_object(data: Json) -> object:
        if not isinstance(data, dict):
            refuse("map as an object", data)
        pairs = cast("dict[str, Json]", data).items()
        return {_at(name, of_key, name): _at(name, of_value, held) for name, held in pairs}

    def read_pairs(data: Json) -> object:
        if not isinstance(data, list):
            refuse("map as an array of [key, value]", data)
        result: dict[object, object] = {}
        for index, pair in enumerate(cast("list[Json]", data)):
            name, held = read_pair(pair)
            result[_at(f"[{index}]", of_key, name)] = _at(f"[{index}]", of_value, held)
        return result

    return read_object if isinstance(key, types.String | types.Enumeration) else read_pairs


def read_pair(data: Json) -> list[Json]:
    """The key and the value of a map."""
    if not isinstance(data, list):
        refuse("[key, value]", data)
    pair = cast("list[Json]", data)
    return pair if len(pair) == 2 else refuse("[key, value]", pair)


def _struct_reader(type_: types.Struct) -> Callable[[Json], object]:
    parts = [
        (part.name, make_reader(part.type), isinstance(part.type, types.Nullable | types.Null)) for part in type_.fields
    ]
    names = set(type_.names)

    def read(data: Json) -> object:
        if not isinstance(data, dict):
            refuse("object", data)
        given = cast("dict[str, Json]", data)
        for name in given:
            if name not in names:
                raise ValueError(f'"{name}": there is no such field')
        for name, _, nullable in parts:
            if name not in given and not nullable:
                raise ValueError(f'"{name}": the field is missing')
        return tuple(_at(f'"{name}"', read_part, given.get(name)) for name, read_part, _ in parts)

    return read


def _at(path: str, read: Callable[[Json], object], data: Json) -> object:
    try:
        return read(data)
    except ValueError as error:
        text = str(error)
        join = "" if text.startswith("[") else "." if text.startswith('"') else ": "
        raise ValueError(f"{path}{join}{text}") from None
