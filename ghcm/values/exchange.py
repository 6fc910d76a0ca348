"""Canonical values handed out to users' Python functions as Python's own objects, and results checked and taken back.

A timestamp is an aware `datetime` in UTC (a naive one is taken as UTC), a duration a `timedelta`, a date a `date`, a
struct a tuple with attributes. What a function gives back for a struct may be such an object, a tuple, a mapping or
any object with the attributes; for an enum, a member of Python's; for a list, a tuple.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, assert_never, cast

from ghcm import types
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.decimals import fitted
from ghcm.values.reading import read_string

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Exchange:
    """How canonical values of one type go out to Python, and results come back as such; `take` raises `TypeError` or
    `ValueError` where a result is of another type, or no value of this one.
    """

    hand: Callable[[Any], Any]
    take: Callable[[Any], Any]


def exchange_of(type_: types.Type) -> Exchange:
    """The exchange of a type."""
    match type_:
        case types.Nullable(of=of):
            return _optional(exchange_of(of))
        case types.List(item=item):
            return _items(exchange_of(item))
        case types.Map(key=key, value=value):
            return _mapped(exchange_of(key), exchange_of(value))
        case types.Struct(fields=fields):
            return _record(type_.name or "Record", {field.name: exchange_of(field.type) for field in fields})
        case types.Null():
            return Exchange(_same, _take_null)
        case types.Bool():
            return Exchange(_same, _taking(bool))
        case types.Int():
            return Exchange(_same, _taking_whole("int", INT_MIN, INT_MAX))
        case types.Int32():
            return Exchange(_same, _taking_whole("int32", -(2**31), 2**31 - 1))
        case types.Float():
            return Exchange(_same, _take_float)
        case types.Decimal():
            return Exchange(_same, _taking_decimal(type_))
        case types.String():
            return Exchange(_same, lambda value: read_string(_take_text(value)))
        case types.Enumeration(values=values):
            return Exchange(_same, _taking_one(values))
        case types.Bytes():
            return Exchange(_same, _taking(bytes))
        case types.Timestamp():
            return Exchange(lambda micros: _EPOCH + timedelta(microseconds=micros), _take_datetime)
        case types.Date():
            return Exchange(lambda days: date.fromordinal(days + _EPOCH_DAY), _take_date)
        case types.Duration():
            return Exchange(lambda micros: timedelta(microseconds=micros), _take_timedelta)
        case _:
            assert_never(type_)


# --- scalars ---------------------------------------------------------------------------------------------------------


def _same(value: object) -> object:
    return value


def _wrong(expected: str, found: object) -> TypeError:
    return TypeError(f"expected {expected}, found {type(found).__name__} {repr(found)[:200]}")


def _taking(class_: type[bool] | type[str] | type[bytes]) -> Callable[[object], object]:
    def take(value: object) -> object:
        if type(value) is class_:
            return value
        if isinstance(value, class_) and not isinstance(value, bool):
            return class_(cast("Any", value))
        raise _wrong(class_.__name__, value)

    return take


_take_text = _taking(str)


def _take_null(value: object) -> None:
    if value is not None:
        raise _wrong("None", value)


def _taking_decimal(type_: types.Decimal) -> Callable[[object], object]:
    def take(value: object) -> object:
        if not isinstance(value, Decimal):
            raise _wrong("Decimal", value)
        return fitted(value, type_)

    return take


def _taking_whole(name: str, least: int, greatest: int) -> Callable[[object], object]:
    def take(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(name, value)
        if not least <= value <= greatest:
            raise ValueError(f"{value} does not fit {name}")
        return int(value)

    return take


_take_micros = _taking_whole("duration", INT_MIN, INT_MAX)


def _taking_one(values: tuple[str, ...]) -> Callable[[object], object]:
    def take(value: object) -> object:
        text = value.value if isinstance(value, enum.Enum) else value
        if not isinstance(text, str) or text not in values:
            raise _wrong(f"one of {', '.join(values)}", text)
        return str(text)

    return take


def _take_float(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong("float", value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError("the number does not fit float") from None


def _take_datetime(value: object) -> object:
    if not isinstance(value, datetime):
        raise _wrong("a datetime", value)
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def _take_timedelta(value: object) -> object:
    if not isinstance(value, timedelta):
        raise _wrong("a timedelta", value)
    return _take_micros(value // _MICROSECOND)


def _take_date(value: object) -> object:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _wrong("a date", value)
    return value.toordinal() - _EPOCH_DAY


# --- values of values ------------------------------------------------------------------------------------------------


def _optional(of: Exchange) -> Exchange:
    hand, take = of.hand, of.take
    return Exchange(
        lambda value: None if value is None else hand(value), lambda value: None if value is None else take(value)
    )


def _items(each: Exchange) -> Exchange:
    def take(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise _wrong("a list", value)
        return list(map(each.take, cast("list[object]", value)))

    return Exchange(lambda value: list(map(each.hand, value)), take)


def _mapped(key: Exchange, held: Exchange) -> Exchange:
    def take(value: object) -> object:
        if not isinstance(value, Mapping):
            raise _wrong("a mapping", value)
        return {key.take(name): held.take(each) for name, each in cast("Mapping[object, object]", value).items()}

    return Exchange(lambda value: {key.hand(name): held.hand(each) for name, each in value.items()}, take)


def _record(name: str, fields: Mapping[str, Exchange]) -> Exchange:
    """A struct: handed out as a tuple whose fields are also attributes."""
    names = tuple(fields)
    members: dict[str, object] = {part: property(itemgetter(index)) for index, part in enumerate(names)}
    members |= {"__slots__": (), "__repr__": _shown(name, names)}
    class_: type[tuple[object, ...]] = type(name, (tuple,), members)
    hands, takes = [each.hand for each in fields.values()], [each.take for each in fields.values()]

    def take(value: object) -> object:
        parts = _parts(value, names)
        if len(parts) != len(names):
            raise TypeError(f"expected {len(names)} fields ({', '.join(names)}), found {len(parts)}")
        return tuple(map(_part, names, takes, parts))

    return Exchange(lambda value: class_([hand(each) for hand, each in zip(hands, value, strict=False)]), take)


def _shown(name: str, names: tuple[str, ...]) -> Callable[[tuple[object, ...]], str]:
    return lambda self: f"{name}({', '.join(f'{part}={each!r}' for part, each in zip(names, self, strict=True))})"


def _parts(value: object, names: tuple[str, ...]) -> tuple[object, ...]:
    if isinstance(value, tuple):
        return cast("tuple[object, ...]", value)
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        if missing := [name for name in names if name not in fields]:
            raise TypeError(f"the result has no field {', '.join(missing)}")
        return tuple([fields[name] for name in names])
    if missing := [name for name in names if not hasattr(value, name)]:
        raise TypeError(f"the result, {type(value).__name__}, has no attribute {', '.join(missing)}")
    return tuple([getattr(value, name) for name in names])


def _part(name: str, take: Callable[[object], object], value: object) -> object:
    try:
        return take(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
