"""Calls of users' Python functions: canonical values handed out as Python's own objects, results checked and taken
back.

A timestamp is an aware `datetime` in UTC (a naive one is taken as UTC), a duration a `timedelta`, a date a `date`, a
struct an object with attributes. What a function gives back for a struct may be such an object, a tuple, a mapping or
any object with the attributes. How values of a type are exchanged is written out in generated code
(`ghcm.codegen.native.rows.text`), or made from the type while a program runs (`exchange_of`).
"""

from __future__ import annotations

import decimal
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import Protocol, TypeAlias, assert_never, cast

from ghcm import types
from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure
from ghcm.types import INT_MAX, INT_MIN

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_LONGEST_DETAIL = 2000


class Exchange(Protocol):
    """How values of one type go out to Python and come back."""

    def hand(self, value: object) -> object:
        """The canonical value as a Python function is handed it."""

    def take(self, value: object) -> object:
        """The canonical value of a result; `TypeError` or `ValueError` where it is of another type."""


def _wrong(expected: str, found: object) -> TypeError:
    text = repr(found)
    return TypeError(f"expected {expected}, found {type(found).__name__} {text[:200]}")


@dataclass(frozen=True, slots=True)
class _Same:
    """A value that is the same on both sides."""

    name: str
    classes: tuple[type, ...]

    def hand(self, value: object) -> object:
        return value

    def take(self, value: object) -> object:
        if type(value) in self.classes:
            return value
        if isinstance(value, self.classes) and not isinstance(value, bool):
            return self.classes[0](value)
        raise _wrong(self.name, value)


@dataclass(frozen=True, slots=True)
class _Whole:
    name: str
    least: int
    greatest: int

    def hand(self, value: object) -> object:
        return value

    def take(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(self.name, value)
        if not self.least <= value <= self.greatest:
            raise ValueError(f"{value} does not fit {self.name}")
        return int(value)


@dataclass(frozen=True, slots=True)
class _Float:
    def hand(self, value: object) -> object:
        return value

    def take(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong("float", value)
        return float(value)


@dataclass(frozen=True, slots=True)
class _Timestamp:
    def hand(self, value: object) -> object:
        assert isinstance(value, int)
        return _EPOCH + timedelta(microseconds=value)

    def take(self, value: object) -> object:
        if not isinstance(value, datetime):
            raise _wrong("a datetime", value)
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Duration:
    def hand(self, value: object) -> object:
        assert isinstance(value, int)
        return timedelta(microseconds=value)

    def take(self, value: object) -> object:
        if not isinstance(value, timedelta):
            raise _wrong("a timedelta", value)
        return value // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Date:
    def hand(self, value: object) -> object:
        assert isinstance(value, int)
        return date.fromordinal(value + _FIRST_DAY)

    def take(self, value: object) -> object:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise _wrong("a date", value)
        return value.toordinal() - _FIRST_DAY


BOOL = _Same("bool", (bool,))
INT = _Whole("int", INT_MIN, INT_MAX)
INT32 = _Whole("int32", -(2**31), 2**31 - 1)
FLOAT = _Float()
STRING = _Same("str", (str,))
BYTES = _Same("bytes", (bytes,))
DECIMAL = _Same("Decimal", (decimal.Decimal,))
TIMESTAMP = _Timestamp()
DURATION = _Duration()
DATE = _Date()


class Optional:
    """A value that may be None."""

    def __init__(self, of: Exchange) -> None:
        self._of = of

    def hand(self, value: object) -> object:
        """The value, or None."""
        return None if value is None else self._of.hand(value)

    def take(self, value: object) -> object:
        """The value, or None."""
        return None if value is None else self._of.take(value)


class OneOf:
    """A value of an enum; results may be members of Python's enums too."""

    def __init__(self, *values: str) -> None:
        self._values = values

    def hand(self, value: object) -> object:
        """A text."""
        return value

    def take(self, value: object) -> object:
        """A text."""
        text = value.value if isinstance(value, enum.Enum) else value
        if not isinstance(text, str) or text not in self._values:
            raise _wrong(f"one of {', '.join(self._values)}", text)
        return str(text)


class Items:
    """A list; results may be tuples too."""

    def __init__(self, each: Exchange) -> None:
        self._each = each

    def hand(self, value: object) -> object:
        """A list."""
        return list(map(self._each.hand, cast("list[object]", value)))

    def take(self, value: object) -> object:
        """A list."""
        if not isinstance(value, list | tuple):
            raise _wrong("a list", value)
        return list(map(self._each.take, cast("list[object]", value)))


class Mapped:
    """A map."""

    def __init__(self, key: Exchange, value: Exchange) -> None:
        self._key, self._value = key, value

    def hand(self, value: object) -> object:
        """A dict."""
        pairs = cast("dict[object, object]", value).items()
        return {self._key.hand(key): self._value.hand(each) for key, each in pairs}

    def take(self, value: object) -> object:
        """A dict."""
        if not isinstance(value, Mapping):
            raise _wrong("a mapping", value)
        pairs = cast("Mapping[object, object]", value).items()
        return {self._key.take(key): self._value.take(each) for key, each in pairs}


class Record:
    """A struct: handed out as a tuple whose fields are also attributes."""

    def __init__(self, name: str, /, **fields: Exchange) -> None:
        self._names = tuple(fields)
        self._fields = tuple(fields.values())
        members: dict[str, object] = {part: property(itemgetter(index)) for index, part in enumerate(fields)}
        members |= {"__slots__": (), "__repr__": _shown(name, self._names)}
        self._type: type[tuple[object, ...]] = type(name, (tuple,), members)

    def hand(self, value: object) -> object:
        """The record."""
        parts = zip(self._fields, cast("tuple[object, ...]", value), strict=False)
        return self._type([part.hand(each) for part, each in parts])

    def take(self, value: object) -> object:
        """A tuple."""
        parts = self._parts(value)
        if len(parts) != len(self._fields):
            raise TypeError(f"expected {len(self._fields)} fields ({', '.join(self._names)}), found {len(parts)}")
        return tuple([self._part(index, each) for index, each in enumerate(parts)])

    def _parts(self, value: object) -> tuple[object, ...]:
        if isinstance(value, tuple):
            return cast("tuple[object, ...]", value)
        if isinstance(value, Mapping):
            fields = cast("Mapping[object, object]", value)
            if missing := [name for name in self._names if name not in fields]:
                raise TypeError(f"the result has no field {', '.join(missing)}")
            return tuple([fields[name] for name in self._names])
        if missing := [name for name in self._names if not hasattr(value, name)]:
            raise TypeError(f"the result, {type(value).__name__}, has no attribute {', '.join(missing)}")
        return tuple(getattr(value, name) for name in self._names)

    def _part(self, index: int, value: object) -> object:
        try:
            return self._fields[index].take(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self._names[index]}: {error}") from error


def _shown(name: str, names: tuple[str, ...]) -> Callable[[tuple[object, ...]], str]:
    def shown(self: tuple[object, ...]) -> str:
        return f"{name}({', '.join(f'{part}={each!r}' for part, each in zip(names, self, strict=True))})"

    return shown


UserFunction: TypeAlias = Callable[[object], object]


class Call:
    """A call of a user's function for one record; raises `RecordFailure` with `python` or `wrong_result`."""

    def __init__(self, argument: Exchange, result: Exchange) -> None:
        self._argument, self._result = argument, result

    def __call__(self, function: UserFunction, record: object) -> object:
        """The canonical result for the canonical record."""
        try:
            outcome = function(self._argument.hand(record))
        except Exception as error:  # whatever a user's function raises is this record's failure
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise RecordFailure(Failure.PYTHON, detail[:_LONGEST_DETAIL]) from None
        try:
            return self._result.take(outcome)
        except (TypeError, ValueError, OverflowError) as error:
            raise RecordFailure(Failure.WRONG_RESULT, str(error)[:_LONGEST_DETAIL]) from None


def exchange_of(type_: types.Type) -> Exchange:
    """The exchange of a type."""
    match type_:
        case types.Nullable(of=of):
            return Optional(exchange_of(of))
        case types.List(item=item):
            return Items(exchange_of(item))
        case types.Map(key=key, value=value):
            return Mapped(exchange_of(key), exchange_of(value))
        case types.Struct(fields=fields):
            parts = {field.name: exchange_of(field.type) for field in fields}
            return Record(type_.name or "Record", **parts)
        case types.Null():
            return Optional(BOOL)
        case types.Bool():
            return BOOL
        case types.Int():
            return INT
        case types.Int32():
            return INT32
        case types.Float():
            return FLOAT
        case types.Decimal():
            return DECIMAL
        case types.String() | types.Enumeration():
            return STRING
        case types.Bytes():
            return BYTES
        case types.Timestamp():
            return TIMESTAMP
        case types.Date():
            return DATE
        case types.Duration():
            return DURATION
        case _:
            assert_never(type_)
