"""Keys: which are the same, and which group they belong to for ever."""

from __future__ import annotations

import decimal
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.runtime.data.columns import series
from ghcm.runtime.data.key_groups import groups_of, key_group
from ghcm.runtime.data.keys import identity_of, value_of
from ghcm.runtime.native.order import order_of
from ghcm.spg.reference.order import order_key
from ghcm.types import (
    INT_MAX,
    Bool,
    Bytes,
    Decimal,
    Field,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    tuple_of,
)
from ghcm.verification.compare import same_value
from tests.laws.spg_values import types, values_of


@pytest.mark.parametrize(
    ("key", "type_", "group"),
    [
        ("the", String(), 83),
        ("", String(), 0),
        ("größer", Nullable(String()), 46),
        (b"the", Bytes(), 83),
        (7, Int(), 102),
        (7, Int32(), 102),
        (-1, Int(), 11),
        (INT_MAX, Timestamp(), 55),
        (True, Bool(), 112),
        (0.5, Float(), 111),
        (math.nan, Float(), 92),
        (-0.0, Float(), 0),
        (None, Nullable(Int()), 42),
        (decimal.Decimal("1.50"), Decimal(9, 2), 9),
        ((1, "a"), tuple_of(Int(), String()), 11),
        ([1, 2], List(Int()), 91),
    ],
)
def test_a_group_never_changes(key: object, type_: Type, group: int) -> None:
    assert key_group(key, type_) == group
    assert groups_of(series("key", [key], type_), type_).to_list() == [group]


def test_values_that_are_equal_are_the_same_key() -> None:
    identity = identity_of(Float())
    assert identity is not None
    assert len({identity(each) for each in (0.0, -0.0)}) == 1
    assert len({identity(each) for each in (math.nan, float("nan"), -math.nan)}) == 1
    assert key_group(-0.0, Float()) == key_group(0.0, Float())
    assert key_group(float("nan"), Float()) == key_group(-math.nan, Float())


def test_keys_spread_over_all_groups() -> None:
    groups = Counter(key_group(f"host-{number}", String()) for number in range(12_800))
    assert len(groups) == 128
    assert max(groups.values()) < 200


@pytest.mark.parametrize("part", [Decimal(10, 2), List(Int()), String(), Float()], ids=str)
def test_a_struct_that_is_null_has_its_key_group_in_columns(part: Type) -> None:
    key = Nullable(Struct((Field("a", part),)))
    assert groups_of(series("key", [None], key), key).to_list() == [key_group(None, key)]


@given(st.data())
def test_identity_and_order_agree_with_the_reference(data: st.DataObject) -> None:
    type_ = data.draw(types(keys=True))
    left, right = data.draw(values_of(type_)), data.draw(values_of(type_))
    identity, order, back = identity_of(type_), order_of(type_), value_of(type_)
    one, two = (each if identity is None else identity(each) for each in (left, right))
    mine, other = order_key(left, type_), order_key(right, type_)
    assert (one == two or one is two) == (mine == other)
    assert (order(left) < order(right)) == (mine < other)  # type: ignore[operator]
    assert same_value(left if back is None else back(one), left, type_)
    if mine == other:
        assert key_group(left, type_) == key_group(right, type_)
    rows, columns = (
        [key_group(each, type_) for each in (left, right)],
        groups_of(series("", [left, right], type_), type_),
    )
    assert columns.to_list() == rows


def test_lists_can_be_keys() -> None:
    identity, back = identity_of(List(Float())), value_of(List(Float()))
    assert identity is not None and back is not None
    assert hash(identity([1.0, math.nan])) == hash(identity([1.0, math.nan]))
    assert back(identity([1.0, -0.0])) == [1.0, 0.0]
