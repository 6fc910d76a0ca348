"""The meanings of the functions of conversion."""

import math
import re
from typing import Any, assert_never

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail, number_of, units_of
from ghcm.types import (
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
    strip,
)
from ghcm.values.timestamps import date_text, timestamp_text

_WHOLE = re.compile(r"[+-]?[0-9]+")
_EXACT = re.compile(r"([+-]?)0*([0-9]+)(?:\.([0-9]*?)0*)?")
_REAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|inf|-inf")


def _to_int(types: Types, value: Any) -> int:
    match types.first:
        case Float():
            if not math.isfinite(value):
                fail(Failure.BAD_CAST, f"{value} is no whole number")
            return checked(math.trunc(value))
        case Decimal():
            return checked(math.trunc(value))
        case String():
            if not _WHOLE.fullmatch(value):
                fail(Failure.BAD_CAST, f"{value!r} is no whole number")
            if len(value.lstrip("+-").lstrip("0")) > 19:
                fail(Failure.OVERFLOW, "the number has more than 64 bits")
            return checked(
                int(value[0] + value[1:].lstrip("0").zfill(1)) if value[0] in "+-" else int(value.lstrip("0") or 0)
            )
        case _:  # whole numbers and bools
            return int(value)


def _to_float(types: Types, value: Any) -> float:
    if isinstance(types.first, String) and not _REAL.fullmatch(value):
        fail(Failure.BAD_CAST, f"{value!r} is no number")
    return float(value)


def _to_string(types: Types, value: Any) -> str:
    bare = types.first
    match bare:
        case Bool():
            return "true" if value else "false"
        case Timestamp():
            return timestamp_text(value)
        case Date():
            return date_text(value)
        case Duration():
            return f"{'-' if value < 0 else ''}{abs(value) // 1_000_000}.{abs(value) % 1_000_000:06d}"
        case Int() | Int32() | Float() | String() | Enumeration():
            return str(value)
        case Decimal(scale=scale):
            units = units_of(value, scale)
            digits = str(abs(units)).zfill(scale + 1)
            point = len(digits) - scale
            return ("-" if units < 0 else "") + (f"{digits[:point]}.{digits[point:]}" if scale else digits)
        case Bytes() | Null() | List() | Map() | Struct() | Nullable():
            raise TypeError(f"{bare} has no text form")
        case _:
            assert_never(bare)


def _to_decimal(types: Types, value: Any, shown: Any) -> Any:
    """Zeros ahead and behind count for nothing; what would be lost is looked for before what does not fit."""
    to = strip(types.result)
    assert isinstance(to, Decimal)
    text = f"{value:f}" if isinstance(types.first, Decimal) else str(value)
    found = _EXACT.fullmatch(text)
    if found is None or text.endswith("."):
        fail(Failure.BAD_CAST, f"{text[:60]!r} is no decimal")
    sign, whole, behind = found[1], found[2].lstrip("0"), found[3] or ""
    if len(behind) > to.scale:
        fail(Failure.BAD_CAST, f"{text[:60]} has more than {to.scale} digits behind the point")
    if len(whole) > to.precision - to.scale:
        fail(Failure.OVERFLOW, f"{text[:60]} has more than {to.precision - to.scale} digits ahead of the point")
    units = int((whole + behind.ljust(to.scale, "0")) or "0")
    return number_of(-units if sign == "-" else units, to.scale)


def _to_enum(types: Types, value: str, values: list[str]) -> str:
    return value if value in values else fail(Failure.BAD_CAST, f"{value!r} is no value of the enum")


MEANINGS: dict[str, Meaning] = {
    "widen": lambda _, a: a,
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "to_decimal": _to_decimal,
    "to_enum": _to_enum,
}
