"""Aggregates that keep values, in columns: what is kept of a group is a list, or the one record that comes first or
last, and such states are merged without Python.
"""

from __future__ import annotations

from ghcm.codegen.native.column_text import Unsupported
from ghcm.codegen.native.column_types import dtype_text
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.reducers import Partial
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Int,
    Int32,
    List,
    Map,
    Null,
    String,
    Struct,
    Timestamp,
    Type,
    is_nullable,
    strip,
)

_F = AggregateFunction
_KEPT = ".explode(empty_as_null=False, keep_nulls=False)"


def gathered(column: str, type_: Type) -> str:
    """The column of that expression text such that its values are canonical in a list."""
    match strip(type_):
        case Struct() | List() | Map() | Decimal() | Null():
            raise Unsupported(f"lists of {type_} are not canonical in Polars")
        case Timestamp() | Duration():
            return f"{column}.cast(pl.Int64)"
        case Date():
            return f"{column}.cast(pl.Int32)"
        case _:
            return column


def listed(aggregate: Aggregate, type_: Type, column: str, prefix: str, summary: str) -> Partial:
    """Polars gathers the values of a group, of which the state is made."""
    values, kept = gathered(column, type_), f'pl.col("{prefix}")'
    if is_nullable(type_):
        values = f"{values}.drop_nulls()"
    state = f"{summary}.of({prefix})"
    plain = strip(type_)
    match aggregate.function:
        case _F.DISTINCT_COUNT if _is_exact(plain):
            merged, result = f"{kept}{_KEPT}.unique()", f"{kept}.list.len().cast(pl.Int64)"
            return Partial(((prefix, f"{values}.unique()"),), state, merged=(merged,), result=result)
        case _F.TOP_K if isinstance(plain, Int | Timestamp | Duration):
            assert aggregate.limit is not None
            result = f"{kept}.list.sort(descending=True).cast(pl.List({dtype_text(plain)}))"
            best = (f'columns.best("{prefix}", {aggregate.limit})',)
            return Partial(((prefix, values),), state, merged=(f"{kept}{_KEPT}",), result=result, then=best)
        case _F.APPROX_DISTINCT if _is_exact(plain):
            places = f"map_batches({summary}.places, return_dtype=pl.UInt32, is_elementwise=True)"
            partial = f"{gathered(column, type_)}.{places}{'.drop_nulls()' if is_nullable(type_) else ''}"
            return Partial(((prefix, partial),), f"{summary}.of_places({prefix})", merged=(f"{kept}{_KEPT}.unique()",))
        case _:
            return Partial(((prefix, values),), state)


def chosen(
    aggregate: Aggregate, names: Names, prefix: str, summary: str, value: str, place: str, record: str
) -> Partial:
    """The record that comes first or last, as a struct of place, record and value; lists of all where Polars orders
    records otherwise than the language."""
    assert aggregate.argument is not None
    type_, taken = aggregate.argument.body.type, aggregate.argument.parameters[0].type
    by = Timestamp() if aggregate.order is None else aggregate.order.body.type
    last = aggregate.function is _F.LAST
    if not (_is_exact(strip(by)) and _flat(taken) and _flat(type_)):
        place_of, record_of = names.new(f"{prefix}_place"), names.new(f"{prefix}_record")
        columns = (
            (place_of, gathered(place, by)),
            (record_of, gathered(record, taken)),
            (prefix, gathered(value, type_)),
        )
        return Partial(columns, f"{summary}.of({place_of}, {record_of}, {prefix})")
    there = f"{value}.is_not_null()" if is_nullable(type_) else "None"
    whole = ", ".join(
        f'{text}.alias("{name}")'
        for name, text in (
            ("place", gathered(place, by)),
            ("record", _canonical(record, taken)),
            ("value", _canonical(value, type_)),
        )
    )
    kept = f'pl.col("{prefix}")'
    parts = [f'{kept}.struct.field("place")', *_fields(f'{kept}.struct.field("record")', taken)]
    first = f"columns.chosen(pl.struct({whole}), [{', '.join([place, *_fields(record, taken)])}], {there}, last={last})"
    result = f'{kept}.struct.field("value").cast({dtype_text(type_)})'
    made, state = ((prefix, first),), f"columns.canonical({prefix})"
    if not is_nullable(type_):
        of_all = f"columns.chosen({kept}, [{', '.join(parts)}], None, last={last})"
        return Partial(made, state, merged=(of_all,), result=result)
    merged = f"columns.chosen({kept}, [{', '.join(parts)}], {kept}.is_not_null(), last={last})"
    order = (f"{kept}.is_{'not_' if last else ''}null()", *parts)
    in_order = (f"{kept}.{'last' if last else 'first'}()",)
    return Partial(made, state, (), (merged,), result, order=order, in_order=in_order)


def _is_exact(type_: Type) -> bool:
    """Whether Polars tells such values apart and orders them as the language does."""
    return isinstance(type_, Bool | Int | Int32 | String | Bytes | Timestamp | Date | Duration)


def _flat(type_: Type) -> bool:
    """Whether it is an exact value, or a struct of such that is there."""
    if isinstance(type_, Struct):
        return bool(type_.fields) and all(_is_exact(strip(field.type)) for field in type_.fields)
    return _is_exact(strip(type_))


def _fields(column: str, type_: Type) -> list[str]:
    if not isinstance(type_, Struct):
        return [column]
    return [f'{column}.struct.field("{field.name}")' for field in type_.fields]


def _canonical(column: str, type_: Type) -> str:
    """The column such that its values are canonical, but for structs, which are dicts."""
    if not isinstance(type_, Struct):
        return gathered(column, type_)
    texts = zip(_fields(column, type_), type_.fields, strict=True)
    return (
        f"pl.struct({', '.join(f'{gathered(text, field.type)}.alias({_quoted(field.name)})' for text, field in texts)})"
    )


def _quoted(name: str) -> str:
    return f'"{name}"'
