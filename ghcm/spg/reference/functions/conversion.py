"""The meanings of the functions of conversion."""

from __future__ import annotations

import math
import re
from typing import Any, assert_never

from ghcm.functions import Failure
from ghcm.moments import date_text, timestamp_text
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail
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
)

__all__ = ["MEANINGS"]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|inf|-inf")


def _to_int(types: Types, value: Any) -> int:
    match types.first:
        case Float():
            if not math.isfinite(value):
                fail(Failure.BAD_CAST, f"{value} is no whole number")
            return checked(math.trunc(value))
        case String():
            if not _WHOLE.fullmatch(value):
                fail(Failure.BAD_CAST, f"{value!r} is no whole number")
            if len(value.lstrip("+-").lstrip("0")) > 19:
                fail(Failure.OVERFLOW, "the number has more than 64 bits")
            return checked(
                int(value[0] + value[1:].lstrip("0").zfill(1)) if value[0] in "+-" else int(value.lstrip("0") or 0)
            )
        case _:
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
        case Decimal() | Bytes() | Null() | List() | Map() | Struct() | Nullable():
            raise TypeError(f"{bare} has no text form")
        case _:
            assert_never(bare)


def _to_enum(types: Types, value: str, values: list[str]) -> str:
    return value if value in values else fail(Failure.BAD_CAST, f"{value!r} is no value of the enum")


MEANINGS: dict[str, Meaning] = {
    "widen": lambda _, a: a,
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "to_enum": _to_enum,
}
