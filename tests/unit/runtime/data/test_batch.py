"""Rows and columns say the same."""

from __future__ import annotations

import math
from decimal import Decimal as Number
from typing import assert_never

from hypothesis import given, settings
from hypothesis import strategies as st

from ghcm.runtime.data.batch import Batch
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Field,
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
)

_SCALARS: list[Type] = [
    Bool(),
    Int(),
    Int32(),
    Float(),
    String(),
    Bytes(),
    Timestamp(),
    Date(),
    Duration(),
    Decimal(20, 4),
    Enumeration(("tcp", "udp", "n/a")),
]


def _struct(parts: list[Type]) -> Struct:
    return Struct(tuple(Field(f"f{n}", part) for n, part in enumerate(parts)))


types = st.recursive(
    st.sampled_from([*_SCALARS, *map(Nullable, _SCALARS)]),
    lambda inner: st.one_of(
        inner.map(List),
        inner.map(lambda value: Map(String(), value)),
        st.lists(inner, min_size=1, max_size=3).map(_struct),
        st.one_of(inner.map(List), st.lists(inner, min_size=1, max_size=2).map(_struct)).map(Nullable),
    ),
    max_leaves=5,
)


def values(type_: Type) -> st.SearchStrategy[object]:
    match type_:
        case Nullable(of=of):
            return st.none() | values(of)
        case Null():
            return st.none()
        case Bool():
            return st.booleans()
        case Int() | Timestamp() | Duration():
            return st.integers(INT_MIN, INT_MAX)
        case Int32() | Date():
            return st.integers(-(2**31), 2**31 - 1)
        case Float():
            return st.floats()
        case String():
            return st.text(st.characters(exclude_categories=["Cs"]))
        case Enumeration(values=texts):
            return st.sampled_from(texts)
        case Bytes():
            return st.binary()
        case Decimal():
            return st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: Number(n).scaleb(-4))
        case List(item=item):
            return st.lists(values(item), max_size=3)
        case Map(key=key, value=value):
            return st.dictionaries(values(key), values(value), max_size=3)
        case Struct(fields=fields):
            return st.tuples(*(values(field.type) for field in fields))
        case _:
            assert_never(type_)


def same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


@settings(deadline=None)
@given(st.data(), st.lists(types, min_size=1, max_size=3), st.booleans())
def test_rows_to_columns_and_back(data: st.DataObject, parts: list[Type], timed: bool) -> None:
    schema = _struct(parts)
    hidden = (st.integers(INT_MIN, INT_MAX),) * 2 if timed else ()
    rows = data.draw(st.lists(st.tuples(*(values(part) for part in parts), *hidden), max_size=5))
    frame = Batch.from_rows(schema, rows, timed=timed).frame()
    assert frame.height == len(rows)
    back = list(Batch.from_frame(schema, frame, timed=timed).rows())
    assert same(back, rows)
    assert frame.schema == Batch.from_rows(schema, [], timed=timed).frame().schema


def test_slices_and_joins_of_batches() -> None:
    schema = _struct([Int()])
    rows = [(n,) for n in range(10)]
    for batch in (Batch.from_rows(schema, rows), Batch.from_frame(schema, Batch.from_rows(schema, rows).frame())):
        parts = [batch.slice(0, 3), batch.slice(3, 3), batch.slice(3, 10)]
        assert [len(part) for part in parts] == [3, 0, 7]
        assert list(Batch.concat(parts).rows()) == rows


def test_batches_are_joined_in_the_form_of_most_records() -> None:
    schema = _struct([Int()])
    rows = [(n,) for n in range(10)]
    frame = Batch.from_rows(schema, rows).frame()
    for many, few in ((10, 9), (9, 10)):
        parts = [Batch.from_rows(schema, rows[:few]), Batch.from_frame(schema, frame.head(many))]
        whole = Batch.concat(parts)
        assert whole.columnar == (many > few)
        assert list(whole.rows()) == [*rows[:few], *rows[:many]]
