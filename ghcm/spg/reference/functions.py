"""The meaning of each function of `ghcm.functions`, on arguments that are not null (but where it handles nulls itself).

`and`, `or` and `coalesce` do not evaluate all of their arguments and stand in `ghcm.spg.reference.expressions`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias, assert_never, cast

from ghcm.functions import Failure
from ghcm.spg.reference.order import order_key
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
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
    strip,
)
from ghcm.values import date_text, timestamp_text

__all__ = ["MEANINGS", "Failed", "call", "checked"]


class Failed(Exception):
    """The record at hand fails."""

    def __init__(self, reason: Failure, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


_One: TypeAlias = Callable[[Type, Any], Any]
_Two: TypeAlias = Callable[[Type, Any, Any], Any]
_Three: TypeAlias = Callable[[Type, Any, Any, Any], Any]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|nan|inf|-inf")
_ASCII_SPACE = " \t\n\r\v\f"


def _fail(reason: Failure, detail: str) -> NoReturn:
    raise Failed(reason, detail)


def checked(number: int) -> int:
    """The number, which must have 64 bits."""
    return number if INT_MIN <= number <= INT_MAX else _fail(Failure.OVERFLOW, f"{number} has more than 64 bits")


def _arithmetic(compute: Callable[[Any, Any], Any]) -> _Two:
    """Whole numbers are checked; floats go on to infinity; strings are joined."""

    def meaning(_: Type, left: Any, right: Any) -> Any:
        result = compute(left, right)
        return checked(result) if isinstance(result, int) else result

    return meaning


def _divisor(compute: Callable[[Any, Any], Any]) -> _Two:
    def meaning(type_: Type, left: Any, right: Any) -> Any:
        if right == 0:
            _fail(Failure.ZERO_DIVISOR, f"{left} is divided by {right}")
        return _arithmetic(compute)(type_, left, right)

    return meaning


def _comparison(holds: Callable[[Any, Any], bool]) -> _Two:
    return lambda type_, left, right: holds(order_key(left, type_), order_key(right, type_))


def _to_int(type_: Type, value: Any) -> int:
    match strip(type_):
        case Float():
            if not math.isfinite(value):
                _fail(Failure.BAD_CAST, f"{value} is no whole number")
            return checked(math.trunc(value))
        case String():
            if not _WHOLE.fullmatch(value):
                _fail(Failure.BAD_CAST, f"{value!r} is no whole number")
            if len(value.lstrip("+-").lstrip("0")) > 19:
                _fail(Failure.OVERFLOW, "the number has more than 64 bits")
            return checked(
                int(value[0] + value[1:].lstrip("0").zfill(1)) if value[0] in "+-" else int(value.lstrip("0") or 0)
            )
        case _:
            return int(value)


def _to_float(type_: Type, value: Any) -> float:
    if isinstance(strip(type_), String) and not _REAL.fullmatch(value):
        _fail(Failure.BAD_CAST, f"{value!r} is no number")
    return float(value)


def _to_string(type_: Type, value: Any) -> str:
    bare = strip(type_)
    match bare:
        case Bool():
            return "true" if value else "false"
        case Timestamp():
            return timestamp_text(value)
        case Date():
            return date_text(value)
        case Duration():
            return f"{'-' if value < 0 else ''}{abs(value) // 1_000_000}.{abs(value) % 1_000_000:06d}"
        case Int() | Int32() | Float() | String():
            return str(value)
        case Decimal() | Bytes() | Null() | List() | Map() | Struct() | Nullable():
            raise TypeError(f"{bare} has no text form")
        case _:
            assert_never(bare)


def _substring(_: Type, text: str, start: int, count: int) -> str:
    if start < 0 or count < 0:
        _fail(Failure.OUT_OF_RANGE, f"no substring from {start} of {count}")
    return text[start : start + count]


def _split(_: Type, text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else _fail(Failure.BAD_PATTERN, "the separator is empty")


def _contains(type_: Type, whole: Any, part: Any) -> bool:
    bare = strip(type_)
    if isinstance(bare, List):
        return any(order_key(each, bare.item) == order_key(part, bare.item) for each in whole)
    return part in whole


def _pattern(text: str) -> re.Pattern[str]:
    """The pattern as Python reads it: `$` outside of a class is the end of the text."""
    tokens = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", text, re.DOTALL)
    try:
        return re.compile("".join(r"\Z" if token == "$" else token for token in tokens), re.ASCII)
    except re.error as error:
        _fail(Failure.BAD_PATTERN, f"{text!r} is no pattern: {error}")


def _get(_: Type, items: list[Any], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else _fail(Failure.OUT_OF_RANGE, f"no item {index} of {len(items)}")


def _truncate(_: Type, time: int, unit: int) -> int:
    return checked(time - time % unit) if unit > 0 else _fail(Failure.ZERO_DIVISOR, f"a unit of {unit} is not positive")


_ONE: dict[str, _One] = {
    "neg": lambda _, a: checked(-a) if isinstance(a, int) else -a,
    "abs": lambda _, a: checked(abs(a)) if isinstance(a, int) else abs(a),
    "not": lambda _, a: not a,
    "is_null": lambda _, a: a is None,
    "is_not_null": lambda _, a: a is not None,
    "known": lambda _, a: a,
    "widen": lambda _, a: a,
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "length": lambda _, a: len(a),
    "lower": lambda _, a: a.lower(),
    "upper": lambda _, a: a.upper(),
    "trim": lambda _, a: a.strip(_ASCII_SPACE),
    "to_micros": lambda _, a: a,
    "from_micros": lambda _, a: a,
}
_TWO: dict[str, _Two] = {
    "add": _arithmetic(lambda a, b: a + b),
    "sub": _arithmetic(lambda a, b: a - b),
    "mul": _arithmetic(lambda a, b: a * b),
    "div": _divisor(lambda a, b: a / b),
    "floordiv": _divisor(lambda a, b: a // b),
    "mod": _divisor(lambda a, b: a % b),
    "eq": _comparison(lambda a, b: a == b),
    "ne": _comparison(lambda a, b: a != b),
    "lt": _comparison(lambda a, b: a < b),
    "le": _comparison(lambda a, b: a <= b),
    "gt": _comparison(lambda a, b: a > b),
    "ge": _comparison(lambda a, b: a >= b),
    "least": lambda type_, a, b: a if order_key(a, type_) <= order_key(b, type_) else b,
    "greatest": lambda type_, a, b: a if order_key(a, type_) >= order_key(b, type_) else b,
    "starts_with": lambda _, a, b: a.startswith(b),
    "ends_with": lambda _, a, b: a.endswith(b),
    "contains": _contains,
    "split": _split,
    "matches": lambda _, a, pattern: _pattern(pattern).search(a) is not None,
    "extract_all": lambda _, a, pattern: [found.group(0) for found in _pattern(pattern).finditer(a)],
    "get": _get,
    "truncate": _truncate,
}
_THREE: dict[str, _Three] = {
    "replace": lambda _, a, old, new: a.replace(old, new) if old else a,
    "substring": _substring,
}
MEANINGS = frozenset((*_ONE, *_TWO, *_THREE))
"""The functions that `call` knows."""


def call(name: str, type_: Type, arguments: list[object]) -> object:
    """The function of these arguments, of which the first has that type; `Failed` where the record fails.

    What arithmetic means for timestamps and durations follows from their canonical values.
    """
    match arguments:
        case [a]:
            return cast("object", _ONE[name](type_, a))
        case [a, b]:
            return cast("object", _TWO[name](type_, a, b))
        case [a, b, c]:
            return cast("object", _THREE[name](type_, a, b, c))
        case _:
            raise TypeError(f"{name} of {len(arguments)} arguments")
