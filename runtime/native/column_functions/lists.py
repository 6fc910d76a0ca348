"""Lists in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

from ghcm.runtime.native.columns import decimal

_LONGEST_LIST = 2**31 - 2


def item(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """The item at `index`, which counts from the end where it is negative; null outside."""
    found = items.list.get(index.clip(-_LONGEST_LIST, _LONGEST_LIST), null_on_oob=True)
    return pl.when(index.is_not_null()).then(found)  # which is one value where the list is null for all


def item_fails(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """Where the index is outside."""
    length = items.list.len().cast(pl.Int64)
    return (index < -length) | (index >= length)


def joined(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The items of one list and then those of another; null where either is null."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.concat_list(left, right))


def _if_any(items: pl.Expr, value: pl.Expr) -> pl.Expr:
    """The value where there is an item that is not null."""
    return pl.when(items.list.drop_nulls().list.len() > 0).then(value)


def _wide_sum(items: pl.Expr) -> pl.Expr:
    numbers = items.list.drop_nulls().list.eval(pl.element().to_physical().cast(pl.Int128))
    return _if_any(items, numbers.list.sum())


def whole_sum(items: pl.Expr, dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
    """The sum of whole numbers or durations; null where it leaves 64 bits."""
    return _wide_sum(items).cast(pl.Int64, strict=False).cast(dtype)


def exact_sum(items: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """The sum of decimals, for which 128 bits have room."""
    return decimal(_wide_sum(items), precision, scale)


def sum_fails(items: pl.Expr) -> pl.Expr:
    """Where the sum leaves 64 bits."""
    total = _wide_sum(items)
    return total.is_not_null() & total.cast(pl.Int64, strict=False).is_null()


def float_sum(items: pl.Expr) -> pl.Expr:
    """The sum of floats."""
    return _if_any(items, items.list.drop_nulls().list.sum())


def float_mean(items: pl.Expr) -> pl.Expr:
    """The mean of floats."""
    return float_sum(items) / items.list.drop_nulls().list.len()


def whole_mean(items: pl.Expr) -> pl.Expr:
    """The mean of whole numbers, which add up in 128 bits."""
    return _wide_sum(items).cast(pl.Float64) / items.list.drop_nulls().list.len()


def least(items: pl.Expr) -> pl.Expr:
    """The least item."""
    return items.list.drop_nulls().list.sort().list.first()


def greatest(items: pl.Expr) -> pl.Expr:
    """The greatest item; NaN is greatest."""
    return items.list.drop_nulls().list.sort().list.last()


def sort(items: pl.Expr, *, descending: bool) -> pl.Expr:
    """The items in order; nulls first, last in descending order."""
    return items.list.sort(descending=descending, nulls_last=descending)


def sort_by(entries: pl.Expr, *, descending: bool) -> pl.Expr:
    """The values of structs in the order of their keys, equal ones as they stood."""
    key, value = pl.element().struct.field("key"), pl.element().struct.field("value")
    ordered = value.sort_by(key, descending=descending, nulls_last=descending, maintain_order=True)
    return entries.list.eval(ordered)
