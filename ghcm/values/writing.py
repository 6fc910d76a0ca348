"""The functions that give the JSON form of canonical values, made once for each type."""

import base64
import math
from collections.abc import Callable, Iterable
from decimal import Decimal as Number
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias, assert_never, cast

from ghcm import types
from ghcm.types import Type
from ghcm.values.decimals import at_scale, decimal_text
from ghcm.values.timestamps import date_text, timestamp_text

Json: TypeAlias = object
"""What the `json` module reads and writes: None, bool, int, float, str, list and dict of these."""
MICROS = 1_000_000


def make_writer(type_: Type, *, in_order: bool = False) -> Callable[[object], Json]:
    """The function that gives the JSON form of values of `type_`; maps `in_order` of their keys, else as they are."""
    match type_:
        case types.Null() | types.Bool() | types.Int() | types.Int32() | types.String() | types.Enumeration():
            return _same
        case types.Float():
            return _write_float
        case types.Decimal(scale=scale):
            return lambda value: decimal_text(at_scale(cast("Number", value), scale))
        case types.Bytes():
            return lambda value: base64.b64encode(cast("bytes", value)).decode("ascii")
        case types.Timestamp():
            return lambda value: timestamp_text(cast("int", value))
        case types.Date():
            return lambda value: date_text(cast("int", value))
        case types.Duration():
            return _write_duration
        case types.Nullable(of=of):
            inner = make_writer(of, in_order=in_order)
            return inner if inner is _same else lambda value: None if value is None else inner(value)
        case types.List(item=item):
            each = make_writer(item, in_order=in_order)
            return lambda value: [each(part) for part in cast("list[object]", value)]
        case types.Map(key=key, value=held):
            return _map_writer(key, make_writer(key), make_writer(held, in_order=in_order), in_order=in_order)
        case types.Struct(fields=fields):
            parts = [(part.name, make_writer(part.type, in_order=in_order)) for part in fields]
            return lambda value: {
                name: write(part) for (name, write), part in zip(parts, cast("tuple[object, ...]", value), strict=True)
            }
        case _:
            assert_never(type_)


writer = lru_cache(maxsize=4096)(make_writer)
"""As `make_writer`, which is asked once for each type."""


def own_writer(type_: Type) -> Callable[[object], Json]:
    """As `writer`, but of a union only the fields of the record that it is are given, and the tag."""
    match type_:
        case types.Nullable(of=of):
            inner = own_writer(of)
            return lambda value: None if value is None else inner(value)
        case types.List(item=item):
            each = own_writer(item)
            return lambda value: [each(part) for part in cast("list[object]", value)]
        case types.Map(key=key, value=held):
            return _map_writer(key, make_writer(key), own_writer(held))
        case types.Struct(fields=fields, cases=cases):
            tags = dict(cases)
            parts = [(part.name, own_writer(part.type), tags.get(part.name)) for part in fields]
            return lambda value: _own_fields(parts, cast("tuple[object, ...]", value))
        case _:  # no part of other types is a union
            return make_writer(type_)


_Parts: TypeAlias = list[tuple[str, Callable[[object], Json], tuple[str, ...] | None]]
"""Of fields the names, writers, and the tags by which they are there; None: by all."""


def _own_fields(parts: _Parts, value: tuple[object, ...]) -> Json:
    tag = value[0] if value else None
    return {
        name: write(part) for (name, write, tags), part in zip(parts, value, strict=True) if tags is None or tag in tags
    }


def _same(value: object) -> Json:
    return value


def _write_float(value: object) -> Json:
    number = cast("float", value)
    if math.isfinite(number):
        return float(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _write_duration(value: object) -> Json:
    micros = cast("int", value)
    if micros % MICROS == 0:
        return micros // MICROS
    seconds = micros / MICROS
    if round(Fraction(seconds) * MICROS) == micros:
        return seconds
    sign, size = "-" if micros < 0 else "", abs(micros)  # too long for a double: the digits as text
    return f"{sign}{size // MICROS}.{size % MICROS:06d}"


def _map_writer(
    key: Type, of_key: Callable[[object], Json], of_value: Callable[[object], Json], *, in_order: bool = False
) -> Callable[[object], Json]:
    def pairs(value: object) -> Iterable[tuple[str, object]]:
        held = cast("dict[str, object]", value)
        return sorted(held.items(), key=itemgetter(0)) if in_order else held.items()

    if isinstance(key, types.String | types.Enumeration):
        return lambda value: {name: of_value(held) for name, held in pairs(value)}
    return lambda value: [[of_key(name), of_value(held)] for name, held in pairs(value)]
