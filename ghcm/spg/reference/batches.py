"""Python functions by batch in the reference: called with a table of one record at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pyarrow as pa

from ghcm.functions import Failure
from ghcm.schemas.arrow import arrow_type
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.python import take
from ghcm.types import (
    Collection,
    List,
    Map,
    Nullable,
    Struct,
    Type,
)


def batch_result(function: Callable[[object], object], value: object, takes: Collection, gives: Type) -> object:
    """The canonical result for a canonical record; `Failed` with `python` or `wrong_result`."""
    values = cast("tuple[object, ...]", value) if isinstance(takes.element, Struct) else (value,)
    fields = takes.columns.fields
    arrays = [pa.array([_plain(v, f.type)], arrow_type(f.type)) for v, f in zip(values, fields, strict=True)]
    table = pa.table(arrays, names=[field.name for field in fields])
    try:
        given = function(table)
    except Exception as error:  # whatever a user's function raises is this record's failure
        raise Failed(Failure.PYTHON, f"{type(error).__name__}: {error}") from None
    try:
        (result,) = _rows(given, gives)
        return take(result, gives)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise Failed(Failure.WRONG_RESULT, str(error)) from None


def _rows(given: object, gives: Type) -> list[object]:
    """The records of a result, as Python's own objects."""
    if isinstance(given, pa.Table | pa.RecordBatch):
        rows = cast("list[dict[str, object]]", given.to_pylist(maps_as_pydicts="strict"))
        return [each if isinstance(gives, Struct) else _only(each) for each in rows]
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return cast("list[object]", given.to_pylist(maps_as_pydicts="strict"))
    if isinstance(given, list):
        return cast("list[object]", given)
    raise TypeError(f"expected a table, an array or a list, found {type(given).__name__}")


def _only(row: dict[str, object]) -> object:
    (value,) = row.values()
    return value


def _plain(value: object, type_: Type) -> object:
    """A canonical value as pyarrow takes it."""
    if value is None:
        return None
    match type_:
        case Nullable(of=of):
            return _plain(value, of)
        case Map(key=key, value=held):
            return [
                (_plain(name, key), _plain(each, held)) for name, each in cast("dict[object, object]", value).items()
            ]
        case List(item=item):
            return [_plain(each, item) for each in cast("list[object]", value)]
        case Struct(fields=fields):
            parts = zip(fields, cast("tuple[object, ...]", value), strict=True)
            return {field.name: _plain(each, field.type) for field, each in parts}
        case _:
            return value
