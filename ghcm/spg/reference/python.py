"""The user's Python functions: how they are found, what they are handed, by row and by batch, and how their results are
checked.

A function by batch is called with a table of one record at a time.
"""

import asyncio
import decimal
import enum
import importlib
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn, assert_never, cast

import pyarrow as pa

from ghcm import types
from ghcm.functions import Failure
from ghcm.schemas.arrow import arrow_type
from ghcm.spg.reference.functions import Failed
from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.decimals import fitted
from ghcm.values.reading import read_string

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_ONE = date(1970, 1, 1).toordinal()


def load(module: str, function: str, base: Path) -> Callable[[object], object]:
    """The function `module:function`, looked for in `base` first."""
    sys.path.insert(0, str(base))
    try:
        return cast("Callable[[object], object]", getattr(importlib.import_module(module), function))
    finally:
        sys.path.remove(str(base))


def awaited(function: Callable[[object], Any]) -> Callable[[object], object]:
    """An async function as one that gives its result."""

    def called(argument: object) -> object:
        async def call() -> object:
            return await function(argument)

        return asyncio.run(call())

    return called


def result_of(
    function: Callable[[object], object], value: object, takes: types.Collection, gives: types.Type
) -> object:
    """The canonical result for a canonical record; `Failed` with `python` or `wrong_result`."""
    return _called(lambda given: function(_hand(given, takes.element)), value, lambda given: take(given, gives))


def _called(function: Callable[[object], object], argument: object, taken: Callable[[object], object]) -> object:
    try:
        given = function(argument)
    except (
        Exception,
        asyncio.CancelledError,
        SystemExit,
    ) as error:  # whatever a user's function raises is this record's failure
        raise Failed(Failure.PYTHON, f"{type(error).__name__}: {error}") from None
    try:
        return taken(given)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise Failed(Failure.WRONG_RESULT, str(error)) from None


def _hand(value: Any, type_: types.Type) -> object:
    if value is None:
        return None
    match type_:
        case types.Nullable(of=of):
            return _hand(value, of)
        case types.Timestamp():
            return _EPOCH + timedelta(microseconds=value)
        case types.Duration():
            return timedelta(microseconds=value)
        case types.Date():
            return date.fromordinal(value + _DAY_ONE)
        case types.List(item=item):
            return [_hand(each, item) for each in value]
        case types.Map(key=key, value=held):
            return {_hand(name, key): _hand(each, held) for name, each in value.items()}
        case types.Struct(fields=fields):
            members = {field.name: property(itemgetter(index)) for index, field in enumerate(fields)}
            record = type(type_.name or "Record", (tuple,), members)
            return cast("object", record(_hand(each, field.type) for each, field in zip(value, fields, strict=True)))
        case types.Scalar() | types.Decimal() | types.Enumeration():  # Python's own already
            return cast("object", value)
        case _:
            assert_never(type_)


def take(value: object, type_: types.Type) -> object:
    """The canonical value of a result; TypeError, ValueError or OverflowError where it is of another type."""
    match type_:
        case types.Nullable(of=of):
            return None if value is None else take(value, of)
        case types.Null():
            return value if value is None else _wrong("None", value)
        case types.Bool():
            return value if isinstance(value, bool) else _wrong("bool", value)
        case types.Int():
            return _whole(value, INT_MIN, INT_MAX)
        case types.Int32():
            return _whole(value, -(2**31), 2**31 - 1)
        case types.Float():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return float(cast("float", value)) if number else _wrong("float", value)
        case types.String():
            return read_string(str(value)) if isinstance(value, str) else _wrong("str", value)
        case types.Enumeration(values=values):
            text = value.value if isinstance(value, enum.Enum) else value
            return str(text) if text in values else _wrong(f"one of {', '.join(values)}", text)
        case types.Bytes():
            return bytes(value) if isinstance(value, bytes) else _wrong("bytes", value)
        case types.Decimal():
            return fitted(value, type_) if isinstance(value, decimal.Decimal) else _wrong("Decimal", value)
        case types.Timestamp():
            if not isinstance(value, datetime):
                _wrong("datetime", value)
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return (aware - _EPOCH) // timedelta(microseconds=1)
        case types.Date():
            day = isinstance(value, date) and not isinstance(value, datetime)
            return cast("date", value).toordinal() - _DAY_ONE if day else _wrong("date", value)
        case types.Duration():
            elapsed = value if isinstance(value, timedelta) else _wrong("timedelta", value)
            return _whole(elapsed // timedelta(microseconds=1), INT_MIN, INT_MAX)
        case types.List(item=item):
            several = cast("list[object]", value) if isinstance(value, list | tuple) else _wrong("list", value)
            return [take(each, item) for each in several]
        case types.Map(key=key, value=held):
            pairs = cast("dict[object, object]", value) if isinstance(value, Mapping) else _wrong("mapping", value)
            return {take(name, key): take(each, held) for name, each in pairs.items()}
        case types.Struct():
            return _take_struct(value, type_)
        case _:
            assert_never(type_)


def _take_struct(value: object, type_: types.Struct) -> object:
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        if len(parts) != len(type_.fields):
            _wrong(f"{len(type_.fields)} fields", parts)
    elif isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        parts = tuple(
            mapping[name] if name in mapping else _wrong(f"the field {name}", mapping) for name in type_.names
        )
    else:
        parts = tuple(getattr(value, n) if hasattr(value, n) else _wrong(f"the field {n}", value) for n in type_.names)
    return tuple([take(each, field.type) for each, field in zip(parts, type_.fields, strict=True)])


def _whole(value: object, least: int, greatest: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
        _wrong("int", value)
    return int(value)


def _wrong(expected: str, found: object) -> NoReturn:
    raise TypeError(f"expected {expected}, found {type(found).__name__}")


def batch_result(
    function: Callable[[object], object], value: object, takes: types.Collection, gives: types.Type
) -> object:
    """The canonical result for a canonical record; `Failed` with `python` or `wrong_result`."""
    values = cast("tuple[object, ...]", value) if isinstance(takes.element, types.Struct) else (value,)
    fields = takes.columns.fields
    arrays = [pa.array([_plain(v, f.type)], arrow_type(f.type)) for v, f in zip(values, fields, strict=True)]
    table = pa.table(arrays, names=[field.name for field in fields])

    def only(given: object) -> object:
        (result,) = _rows(given, gives)
        return take(result, gives)

    return _called(function, table, only)


def _rows(given: object, gives: types.Type) -> list[object]:
    """The records of a result, as Python's own objects."""
    if isinstance(given, pa.Table | pa.RecordBatch):
        rows = cast("list[dict[str, object]]", given.to_pylist(maps_as_pydicts="strict"))
        return [each if isinstance(gives, types.Struct) else _only(each) for each in rows]
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return cast("list[object]", given.to_pylist(maps_as_pydicts="strict"))
    if isinstance(given, list):
        return cast("list[object]", given)
    raise TypeError(f"expected a table, an array or a list, found {type(given).__name__}")


def _only(row: dict[str, object]) -> object:
    (value,) = row.values()
    return value


def _plain(value: object, type_: types.Type) -> object:
    """A canonical value as pyarrow takes it."""
    if value is None:
        return None
    match type_:
        case types.Nullable(of=of):
            return _plain(value, of)
        case types.Map(key=key, value=held):
            return [
                (_plain(name, key), _plain(each, held)) for name, each in cast("dict[object, object]", value).items()
            ]
        case types.List(item=item):
            return [_plain(each, item) for each in cast("list[object]", value)]
        case types.Struct(fields=fields):
            parts = zip(fields, cast("tuple[object, ...]", value), strict=True)
            return {field.name: _plain(each, field.type) for field, each in parts}
        case _:  # scalars go out as they are
            return value
